"""Noun phrases: what an English sentence asks about, fit for any sentence of an answer."""

import pytest

from mockserver.generation.prompts.noun_phrases import gerund, noun_phrase


@pytest.mark.parametrize(
    "sentence, phrase",
    [
        ("Tell me a joke", "a joke"),
        ("What's the weather like in Paris today?", "the weather in Paris today"),
        ("Explain how a suspension bridge carries its load", "how a suspension bridge carries its load"),
        ("Write a haiku about autumn", "autumn"),
        ("Why is the sky blue?", 'the question "Why is the sky blue?"'),
        ("Hello, who are you?", 'the question "who are you?"'),
        ("Give me 5 names for a coffee shop", "5 names for a coffee shop"),
        ("ping", "ping"),
        ("Write a Python function that reverses a string", "a Python function that reverses a string"),
        ("What are the pros and cons of remote work?", "the pros and cons of remote work"),
        ("How many r's are in strawberry?", "how many r's are in strawberry"),
        ("What is 2+2?", "2+2"),
        ("Who won the world cup in 2018?", "who won the world cup in 2018"),
        ("List three fruits", "three fruits"),
        ("Please provide a summary of the meeting notes below", "a summary of the meeting notes below"),
        ("I want to cancel my subscription", "canceling your subscription"),
        (
            "Generate a product description for a stainless steel water bottle",
            "a product description for a stainless steel water bottle",
        ),
        ("What's the capital of Australia?", "the capital of Australia"),
        ("Is Python faster than Go?", 'the question "Is Python faster than Go?"'),
        ("Compare iPhone and Android", "iPhone and Android"),
        ("Write an email to my boss asking for a raise", "an email to your boss asking for a raise"),
        ("Give me a recipe for pancakes", "a recipe for pancakes"),
        ("How do I center a div in CSS?", "centering a div in CSS"),
        ("What does the fox say?", 'the question "What does the fox say?"'),
        ("Hey, can you explain what a monad is?", "a monad"),
        ("write me a poem about the sea", "the sea"),
        ("How do I boil an egg", "boiling an egg"),
        ("Could you please review my cover letter?", "your cover letter"),
        ("I need help with my taxes", "help with your taxes"),
        ("I'd like to book a table for two tonight", "booking a table for two tonight"),
        ("Explain how to deploy a Django app to AWS in detail", "deploying a Django app to AWS"),
        ("Explain to me what a black hole is in simple terms", "a black hole"),
        ("Describe your favourite food", "my favourite food"),
        ("Who is Ada Lovelace?", "Ada Lovelace"),
        ("Who are you?", 'the question "Who are you?"'),
        ("Where is Oslo?", "where Oslo is"),
        ("When was Rome founded?", 'the question "When was Rome founded?"'),
        ("What happens when you heat water?", "what happens when you heat water"),
        ("Which is better, tea or coffee?", "which is better"),
        ("Why do cats purr?", "why cats purr"),
        ("How much does a car cost?", 'the question "How much does a car cost?"'),
        ("What are the three laws of thermodynamics?", "the three laws of thermodynamics"),
        (
            "Tell me about the history of the Roman Empire and its influence on modern law and culture",
            "the history of the Roman Empire and its influence",
        ),
        (
            "What is the difference between a list and a tuple in Python?",
            "the difference between a list and a tuple in Python",
        ),
        ("it doesn't work", '"it doesn\'t work"'),
        ("Is it going to rain?", 'the question "Is it going to rain?"'),
        ("Should I use Postgres?", 'the question "Should I use Postgres?"'),
        ("Give me a short summary of War and Peace", "a short summary of War and Peace"),
        ("Write a haiku", "a haiku"),
        ("What time is it?", 'the question "What time is it?"'),
        ("Tell me a fun fact about octopuses", "octopuses"),
        ("Plan a 3-day trip to Rome", "a 3-day trip to Rome"),
        ("my laptop won't start", "your laptop"),
        ("What do you think about remote work?", "remote work"),
        ("What can you do?", 'the question "What can you do?"'),
        ("How are you?", 'the question "How are you?"'),
        ("How old is the universe?", "how old the universe is"),
        ("Recommend a book on stoicism", "a book on stoicism"),
        ("Name the largest planet", "the largest planet"),
        ("What's wrong with my code?", "what is wrong with your code"),
        ("Brainstorm ideas for a blog", "ideas for a blog"),
        (
            "Create a marketing plan for a startup that sells eco-friendly shoes to young urban professionals",
            "a marketing plan for a startup that sells eco-friendly shoes",
        ),
        ("How does photosynthesis work?", "how photosynthesis works"),
        ("Let's play chess", "playing chess"),
        ("Let's talk about music", "music"),
        ("I'm looking for a new phone under $500", "a new phone under $500"),
        ("Can you help me debug my Python code", "debugging your Python code"),
        ("In one sentence, what is recursion?", "recursion"),
        ("Fix this bug", "fixing this bug"),
        ("test", "test"),
        ("My order #12345 hasn't arrived yet", "your order #12345"),
        ("Thanks! That was helpful", '"That was helpful"'),
        ("Lorem ipsum dolor sit amet", "Lorem ipsum dolor sit amet"),
        ("Please, ", ""),
        ("Say this is a test", '"this is a test"'),
        ("Summarize this article for me", "this article"),
        ("Test message", "Test message"),
        ("Test this message", "testing this message"),
        ("Design patterns in Go", "Design patterns in Go"),
        ("Design a logo", "a logo"),
        ("Based on the given text, generate two questions", "two questions"),
        ("Extract the names from: John met Mary in Rome", "the names"),
    ],
)
def test_what_a_sentence_asks_about_is_a_noun_phrase(sentence: str, phrase: str) -> None:
    assert noun_phrase(sentence) == phrase


def test_a_verb_in_the_infinitive_gets_its_form_in_ing() -> None:
    verbs = [
        "make",
        "be",
        "see",
        "tie",
        "run",
        "sit",
        "fix",
        "play",
        "debug",
        "cancel",
        "begin",
        "help",
        "quit",
        "boil",
    ]
    assert [gerund(verb) for verb in verbs] == [
        *("making", "being", "seeing", "tying", "running", "sitting", "fixing", "playing", "debugging", "canceling"),
        *("beginning", "helping", "quitting", "boiling"),
    ]


def test_a_phrase_is_bounded_however_long_the_sentence_is() -> None:
    for sentence in ("Explain " + "why " * 300, "Is " + "it " * 300 + "?", "word " * 300, "a, " * 300, "x" * 600):
        assert len(noun_phrase(sentence).split()) <= 18

"""Dictated answers: orders to say a text or to choose a word are obeyed verbatim, and nothing else counts as one."""

import json
import random
import time
from typing import Any

import pytest

from mockserver.core.generation import Message, Prompt
from mockserver.core.seeding import Draws
from mockserver.model import tokens
from mockserver.model.intent import detect_intent
from mockserver.model.literal_answers import closing_word, literal_answers, sentiment
from mockserver.model.output_formats import writers
from mockserver.model.prose import write_prose
from tests.support.prompts import chat, text_of

LABELS = ("positive", "negative", "neutral")
VERDICTS = ("[[A]]", "[[B]]", "[[C]]")
RATINGS = ("Rating: [[1]]", "Rating: [[2]]", "Rating: [[3]]")


@pytest.mark.parametrize(
    "prompt, said",
    [
        (
            "CREATE TABLE staff (name TEXT)\nOnly output the SQL query and nothing else.\nWho is there?",
            "SELECT * FROM staff LIMIT 10;",
        ),
        ('Say "hello world"', "hello world"),
        ("Say 'it's fine' and nothing else.", "it's fine"),
        ("Reply with exactly: OK", "OK"),
        ("Reply with OK", "OK"),
        ("Reply only with PONG", "PONG"),
        ("Reply with the word pong", "pong"),
        ("Please respond with the single word 'ready'.", "ready"),
        ("Respond with only the word yes", "yes"),
        ("Output the number 42 only", "42"),
        ("You are a test double. Reply with exactly 'pong'.", "pong"),
        ("Repeat after me: the cat sat", "the cat sat"),
        ('Repeat the following text verbatim: Hello, "World"!', 'Hello, "World"!'),
        ("Echo: abc123", "abc123"),
        ("Say the word 'test' once", "test"),
        ("Reply with exactly this one word and nothing else: alpha", "alpha"),
        ("Please answer again with exactly these three words: still being ready", "still being ready"),
        ("Repeat exactly these three words, one per line, and nothing else: a b c", "a\nb\nc"),
        ("Count from 1 to 5", "1, 2, 3, 4, 5"),
        ("Count to 3, slowly", "1, 2, 3"),
        ("Count from 3 to 1", "3, 2, 1"),
        ("Output the following text exactly: foo-bar_42", "foo-bar_42"),
        ("Return the following message unchanged:\nHi, Bo!", "Hi, Bo!"),
        ("Print nothing but DONE", "DONE"),
        ("You must only answer 'fine'", "fine"),
        ("Скажи «привет»", "привет"),
        ("Ответь только: готово", "готово"),
    ],
)
def test_what_a_prompt_dictates_is_said(prompt: str, said: str) -> None:
    assert literal_answers(prompt) == (said,)


@pytest.mark.parametrize(
    "prompt, choices",
    [
        ("Is the earth round? Answer yes or no.", ("yes", "no")),
        ("Is the earth round? Yes or no?", ("Yes", "No")),
        ("Answer in one word: yes or no?", ("yes", "no")),
        ("Reply with YES or NO only", ("YES", "NO")),
        ("Return only true or false.", ("true", "false")),
        ("Is it good?\nAnswer as a bool", ("true", "false")),
        ("Classify it.\nAnswer with any of the categories:\nCategory\n----\n- Refund\n- Log in", ("Refund", "Log in")),
        ("Choose one of the following options:\n1. a: the first\n2. b: the other\nText: hi", ("a", "b")),
        ("Answer with one of these labels:\n\n* **spam**\n* `ham`\n", ("spam", "ham")),
        ("Answer yes, no or maybe", ("yes", "no", "maybe")),
        ("Reply with just one word: positive, negative or neutral. I have it.", LABELS),
        ('Think first. Then print only the single character "Y" or "N" (no quotes) on a line.', ("Y", "N")),
        ("Respond with only the letter of the right answer:\nA. red\nB. blue\nC. green", ("A", "B", "C")),
        ("Answer with the correct letter: (A) red (B) blue", ("A", "B")),
        ("Rate it from 1 to 3. Respond with only a number.", ("1", "2", "3")),
        ("On a scale of 0 to 2, how good is it?\nReturn only the score.", ("0", "1", "2")),
        ('Give your verdict as "[[A]]" if A is better, "[[B]]" if B is, "[[C]]" for a tie. Answer.', VERDICTS),
        ('Rate it on a scale of 1 to 3 by this format: "[[rating]]", such as: "Rating: [[2]]".', RATINGS),
        ("Which is best? Answer with A, B, C, or D only.", ("A", "B", "C", "D")),
        ("Classify the sentiment of this review as positive, negative or neutral: I saw it", LABELS),
        ("Classify the text into one of: spam, ham\n\nText: buy now", ("spam", "ham")),
        ("Label this as 'bug', 'feature request' or 'question': it crashes", ("bug", "feature request", "question")),
        ("Choose one of the following: red, green, blue.", ("red", "green", "blue")),
        ("Rate it as good/bad", ("good", "bad")),
        ("Is it the same? yes/no", ("yes", "no")),
        ("Is it right? (true / false)", ("true", "false")),
        ("Please answer with a single letter (a/b/c).", ("a", "b", "c")),
        ("You must answer yes or no. Is it cold?", ("yes", "no")),
        ("Choose between 'approve' and 'reject'. Output only your choice.", ("approve", "reject")),
        ("Which category is it? Options: sports, arts, tech. Text: They won.", ("sports", "arts", "tech")),
        ("Intents: greet, order, bye. Which intent is it?", ("greet", "order", "bye")),
        ("Select the best option: (A) cat (B) dog. Answer with the letter only", ("A", "B")),
        ("Score it on a scale of 0 to 100. Only output the score.", tuple(map(str, range(101)))),
        ("Give me a random number from 5 to 7", ("5", "6", "7")),
        ("Pick a random number", tuple(map(str, range(1, 101)))),
        ("Ответь одним словом: да или нет?", ("да", "нет")),
    ],
)
def test_what_a_prompt_lets_the_model_choose_from_is_known(prompt: str, choices: tuple[str, ...]) -> None:
    assert literal_answers(prompt) == choices


@pytest.mark.parametrize(
    "prompt",
    [
        "Say something nice",
        "Say hello",
        "Say hi in five words",
        "Say 'hi' to Bob",
        "Say goodbye to the users in a friendly way",
        "Write 'hello world' in C",
        'Print "hello" in Python',
        "Translate to French: Say hello",
        "Answer the following: what is 2+2?",
        "Reply with exactly: what?",
        "Respond with JSON",
        "Respond with exactly one word",
        "If the user is rude, reply with 'Please stop'.",
        "Write a function that returns true or false",
        "Write a story about yes or no",
        "What do you say to one or two people?",
        "write one or two sentences about cats",
        "Explain how to reply with a 404 or 500",
        "Count the words from 1 to 5",
        "Count to 100000",
        "Write about one of the following topics:\n- cats\n- dogs",
        "Choose one of the topics and write an essay:\n- cats\n- dogs",
        "Answer with one of the labels:\n- only",
        "Write a letter to a friend from 1 to 2 pages long",
        "Answer with the letter that comes first",
        "Respond with a number of examples",
        "Link to [[Home]], [[A]] and [[B]] in the wiki, and return the page",
        "Write a function that returns [[1]] for a score of 2",
        "Answer as an integer programming expert",
        "Output only valid code",
        "Print nothing",
        "Answer the following question: is it raining?",
        "Give me a list of options: red, green, blue, and explain each",
        "The labels: small, medium, large are on the box",
        "Explain the difference between cats and dogs",
        "Write a script to generate a random number from 1 to 10",
        "Choose between 1 and 10 words",
        "CREATE TABLE staff (name TEXT)\nExplain this SQL to me.",
    ],
)
def test_what_only_looks_like_it_dictates_nothing(prompt: str) -> None:
    assert literal_answers(prompt) == ()


def prompt_of(*messages: tuple[str, str], chat: bool = True) -> Prompt:
    told = tuple(Message(role, text) for role, text in messages)
    text = "\n".join(message.text for message in told)
    return Prompt(text, told[-1].text, tokens.count(text), chat=chat, messages=told if chat else ())


def answered(prompt: Prompt, key: int = 7) -> str:
    return text_of(write_prose(prompt, Draws(key)))


@pytest.mark.parametrize(
    "order, word",
    [
        ("Reply with TERMINATE when the task has been completed.", "TERMINATE"),
        ('Reply "TERMINATE" in the end when everything is done.', "TERMINATE"),
        ("Respond with 'APPROVE' once your feedback is addressed.", "APPROVE"),
        ("Say TERMINATE if the task is not done.", None),
        ("Answer UNKNOWN if you cannot tell.", None),
        ("Write MARKDOWN when you are done.", None),
    ],
)
def test_an_agent_ends_with_the_word_that_says_that_all_is_done(order: str, word: str | None) -> None:
    assert closing_word(order) == word
    turns = (Message("system", order), Message("user", "Tell me about tides"))
    said = text_of(write_prose(Prompt(order, turns[-1].text, 1, chat=True, messages=turns), Draws(1)))
    assert said.endswith(f"\n\n{word}") == (word is not None)


def test_an_answer_is_what_was_dictated_and_ends_with_it() -> None:
    assert answered(prompt_of(("user", "Reply with exactly: OK"))) == "OK"


@pytest.mark.parametrize("asked", ["Say this is a test", "Please say this is a test!", "say that this is a test."])
def test_a_chat_says_a_sentence_that_it_is_told_to_say(asked: str) -> None:
    assert answered(prompt_of(("user", asked))) == "This is a test."
    # A text to be completed goes on as it likes.
    assert "This is a test" not in answered(prompt_of(("user", asked), chat=False))


@pytest.mark.parametrize("asked", ["Say it is fine to your friend", "Say something nice", "Say what you think of me"])
def test_a_sentence_about_how_to_say_something_is_not_said(asked: str) -> None:
    assert not answered(prompt_of(("user", asked))).lower().startswith(asked[4:].lower())


def test_whoever_is_told_to_say_hello_greets() -> None:
    assert "ello" in answered(prompt_of(("user", "Say hello!"))) or "Hi" in answered(prompt_of(("user", "Say hello!")))


def test_a_text_to_be_completed_is_answered_behind_its_end() -> None:
    assert answered(prompt_of(("user", "Reply with exactly: OK"), chat=False)) == "\n\nOK"
    few = "Classify the tweet as positive, negative or neutral.\n\nTweet: I loved it\nLabel:"
    assert answered(prompt_of(("user", few), chat=False)).removeprefix(" ") in LABELS


def test_a_choice_is_drawn_anew_for_each_key_and_all_of_them_come() -> None:
    asked = prompt_of(("user", "Classify it as positive, negative or neutral."))
    assert {answered(asked, key) for key in range(40)} == set(LABELS)
    assert answered(asked, 3) == answered(asked, 3)


def test_instructions_hold_for_every_question_and_a_question_knows_better() -> None:
    rule = ("system", "You label reviews. Answer with positive, negative or neutral.")
    assert answered(prompt_of(rule, ("user", "It broke after a day."))) in LABELS
    assert answered(prompt_of(rule, ("user", "Reply with 'ready'."))) == "ready"


def test_the_most_hostile_text_is_read_in_some_milliseconds() -> None:
    words = [
        "say",
        "one of",
        "a,",
        "/",
        "or",
        "'x'",
        "classify",
        "as",
        "label",
        "is",
        "yes",
        ":",
        "count to",
        "1",
        ":\n",
        "- a\n",
        "[[A]]",
        "Rating: [[1]]",
        "A. a",
        "a number from 1 to 9",
    ]
    draws = random.Random(5)
    texts = [" ".join(draws.choices(draws.sample(words, 4), k=300))[:1200] for _ in range(300)]
    # Pages of nothing are as hostile as any.
    texts += [
        f"{order}{blank * 1100}x"
        for order in ("say", "answer with a or", "yes", "one of the labels:")
        for blank in "\n "
    ]
    took = []
    for text in texts:
        began = time.process_time()
        literal_answers(text)
        took.append(time.process_time() - began)
    assert sum(took) / len(took) < 0.02
    assert max(took) < 0.5


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"sentiment": {"type": "string", "enum": list(LABELS)}},
    "required": ["sentiment"],
}
JUDGED = [
    ("I love this product!", "positive"),
    ("The food was terrible and the waiter was rude.", "negative"),
    ("It was not good at all.", "negative"),
    ("I don't hate it.", "positive"),
    ("The parcel arrived on Tuesday.", "neutral"),
    ("Great screen, terrible battery.", "neutral"),
    ("Отличный фильм, рекомендую!", "positive"),
    ("Ужасный сервис.", "negative"),
]


def written(kind: str, instructions: str, text: str, schema: dict[str, Any] | None = None) -> str:
    asked = chat(Message("system", instructions), Message("user", text))
    return text_of(write_prose(asked, Draws(7)) if schema is None else writers()[kind](asked, 7, schema))


@pytest.mark.parametrize("text, expected", JUDGED)
def test_the_label_fits_the_words_of_praise_and_blame(text: str, expected: str) -> None:
    assert sentiment(LABELS, text) == expected


@pytest.mark.parametrize("text, expected", JUDGED)
def test_a_chat_that_is_told_to_choose_a_sentiment_answers_with_the_one_that_fits(text: str, expected: str) -> None:
    assert written("", "Classify the sentiment as positive, negative or neutral.", text) == expected


@pytest.mark.parametrize("text, expected", JUDGED)
def test_an_enumeration_of_sentiments_takes_the_one_that_fits(text: str, expected: str) -> None:
    assert json.loads(written("json_schema", "Classify it.", text, SCHEMA)) == {"sentiment": expected}


def test_a_prompt_that_names_all_the_labels_is_judged_by_its_text() -> None:
    text = "Is it positive, negative or neutral? What an awful day!"
    assert json.loads(written("json_schema", "Classify it.", text, SCHEMA)) == {"sentiment": "negative"}


@pytest.mark.parametrize(
    "labels, expected",
    [
        (("POSITIVE", "NEGATIVE", "MIXED"), "MIXED"),
        (("pos", "neg"), None),
        (("Позитивный", "Негативный", "Нейтральный"), "Нейтральный"),
        (("good", "bad"), None),
    ],
)
def test_praise_and_blame_together_are_mixed_or_else_neutral(labels: tuple[str, ...], expected: str | None) -> None:
    assert sentiment(labels, "Great screen, terrible battery.") == expected


def test_what_follows_the_last_label_is_judged() -> None:
    examples = "Text: I hate it\nLabel: negative\nText: I love it\nLabel: positive\n"
    assert sentiment(LABELS, f"{examples}Text: a terrible idea\nLabel:") == "negative"
    assert sentiment(LABELS, "I love it. Is that positive, negative or neutral?") == "positive"


def test_a_text_that_may_hold_only_instructions_is_not_called_neutral() -> None:
    assert sentiment(LABELS, "Classify it.", may_hold_nothing=True) is None


def test_a_prompt_that_asks_for_the_sentiment_gets_it() -> None:
    assert detect_intent("Classify the sentiment: I love this product!").literal_answers == ("Positive",)
    assert detect_intent("What is the sentiment of this review? It is useless.").literal_answers == ("Negative",)
    assert detect_intent("Определи тональность: отличный фильм").literal_answers == ("Positive",)
    assert detect_intent("Answer positive or negative: what a terrible day").literal_answers == ("negative",)
    assert detect_intent("What is sentiment analysis?").literal_answers == ()

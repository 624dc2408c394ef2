"""Questions about passages of a prompt: answered with the sentence that has the words of the question."""

import json
from itertools import takewhile

import pytest

from mockserver.core.generation import Message, Prompt
from mockserver.generation import corpus
from mockserver.generation.forms.json_answers import write_complete
from mockserver.generation.prompts.passages import answer_in, gives_passages, question_in
from mockserver.generation.prose.texts import write_prose

STOPWORDS = corpus.stopwords("en")
CONTEXT = """Answer the question based only on the following context:

[1] Acme Corp was founded in 1987 by Maria Lopez in Toledo. The company makes bicycles and scooters.
[2] Refunds are possible within 30 days of purchase, if the item is unused. Shipping costs are not refunded.

If you don't know the answer, just say that you don't know.
"""


def said(topic: str, *messages: Message) -> str:
    text = ""
    for phrase in write_prose(
        Prompt("".join(each.text for each in messages) or topic, topic, 1, True, messages=messages), 7
    ):
        if phrase is None:
            break
        text += "".join(phrase.texts)
    return text


@pytest.mark.parametrize(
    "question, answer",
    [
        ("Who founded Acme Corp?", "Acme Corp was founded in 1987 by Maria Lopez in Toledo."),
        ("Are shipping costs refunded?", "Shipping costs are not refunded."),
        (
            "How many days do I have to return an item?",
            "Refunds are possible within 30 days of purchase, if the item is unused.",
        ),
        ("Which company makes a scooter?", "The company makes bicycles and scooters."),
        ("What is the tallest mountain of Peru?", "I don't know."),
    ],
)
def test_the_sentence_of_the_context_that_has_the_words_of_the_question_answers_it(question: str, answer: str) -> None:
    assert said(f"{CONTEXT}\nQuestion: {question}\nHelpful Answer:") == answer
    messages = (Message("system", CONTEXT), Message("user", question))
    assert said(question, *messages) == answer


def test_an_object_holds_the_answer_that_a_passage_gives() -> None:
    topic = f"{CONTEXT}\nWho founded Acme Corp? Answer in JSON."
    schema = {"type": "object", "properties": {"answer": {"type": "string"}, "page": {"type": "integer"}}}
    phrases = write_complete(Prompt(topic, topic, 1, True), 7, schema)
    held = json.loads("".join(part for each in takewhile(bool, phrases) if each for part in each.texts))
    assert held["answer"] == "Acme Corp was founded in 1987 by Maria Lopez in Toledo."


def test_without_an_answer_in_the_prompt_a_question_is_answered_as_any_other() -> None:
    told = CONTEXT.replace("If you don't know the answer, just say that you don't know.", "")
    assert answer_in([told], "What is the tallest mountain of Peru?", STOPWORDS) is None
    assert len(said(f"{told}\nQuestion: What is the tallest mountain of Peru?")) > 60
    assert answer_in(["Too short."], "Is it short?", STOPWORDS) is None


def test_instructions_are_no_passages() -> None:
    instructions = (
        "You are an assistant that answers questions about the weather in Paris. Be polite at all times. " * 2
    )
    assert not gives_passages(instructions)
    assert gives_passages(f"Use this context:\n{CONTEXT}")
    assert not gives_passages(f"{'Be polite. ' * 1000}Use this context:\n{CONTEXT}"), "which is too far behind"
    assert answer_in([instructions], "What is the weather in Paris?", STOPWORDS) is None


def test_the_last_question_is_the_one_that_is_asked() -> None:
    assert question_in("Is it so? It is. Why?\nWhere is Oslo?") == "Where is Oslo?"
    assert (question_in("No question."), question_in("??")) == (None, None)


def test_a_long_prompt_is_read_in_part() -> None:
    text = "Something about the weather in Oslo today. " * 20_000
    assert answer_in([text + "Acme was founded by Ann."], "Who founded Acme?", STOPWORDS) is None
    assert answer_in(["Acme was founded by Ann. " + text], "Who founded Acme?", STOPWORDS) == "Acme was founded by Ann."

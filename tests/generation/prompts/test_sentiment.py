"""The sentiment of a text, chosen from labels: in the words of a chat and in structured output."""

import json
from typing import Any

import pytest

from mockserver.core.generation import Message, Prompt
from mockserver.generation.forms import WRITERS
from mockserver.generation.prompts.brief import brief
from mockserver.generation.prompts.sentiment import sentiment
from mockserver.generation.prose.texts import write_prose

LABELS = ("positive", "negative", "neutral")
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
    messages = (Message("system", instructions), Message("user", text))
    asked = Prompt(f"{instructions}\n{text}", text, 20, chat=True, messages=messages)
    phrases = write_prose(asked, 7) if schema is None else WRITERS[kind](asked, 7, schema)
    told = ""
    for phrase in phrases:
        if phrase is None:
            break
        told += "".join(phrase.texts)
    return told


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
    assert brief("Classify the sentiment: I love this product!").sayings == ("Positive",)
    assert brief("What is the sentiment of this review? It is useless.").sayings == ("Negative",)
    assert brief("Определи тональность: отличный фильм").sayings == ("Positive",)
    assert brief("Answer positive or negative: what a terrible day").sayings == ("negative",)
    assert brief("What is sentiment analysis?").sayings == ()

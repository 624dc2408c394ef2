"""Prose: in the prompt's language, on its subject, in the form that it asks for."""

import pytest

from mockserver.core.generation import Message, Prompt
from mockserver.core.seeding import Draws
from mockserver.model import languages
from mockserver.model.prose import write_prose
from tests.support.prompts import text_of

KEYS = range(12)


def prose(topic: str, key: int, *, chat: bool = True, messages: tuple[Message, ...] = ()) -> str:
    return text_of(write_prose(Prompt(topic, topic, 1, chat, messages=messages), Draws(key)))


@pytest.mark.parametrize("key", KEYS)
def test_an_answer_takes_up_the_subject(key: int) -> None:
    assert "the harbour of Bergen" in prose("What is the harbour of Bergen?", key)


@pytest.mark.parametrize("language", languages.LANGUAGES)
def test_every_language_answers_in_itself(language: str) -> None:
    names = {
        "en": "English", "ru": "Russian", "de": "German", "fr": "French", "es": "Spanish", "it": "Italian",
        "pt": "Portuguese", "tr": "Turkish", "uk": "Ukrainian", "zh": "Chinese", "ja": "Japanese", "ko": "Korean",
    }  # fmt: skip
    entries = languages.sentences(language)
    openers = {entry.partition("{subject}")[0].strip() for entry in entries["openers"]}
    said = prose(f"What about tides, please answer in {names[language]}", 3)
    assert any(said.startswith(opener) for opener in openers)


@pytest.mark.parametrize("key", KEYS)
def test_an_unfinished_text_is_continued_and_a_question_answered(key: int) -> None:
    assert prose("Once upon a time", key, chat=False).startswith(", ")
    assert prose("It was late. ", key, chat=False)[0].isupper()
    assert prose("It was late.", key, chat=False).startswith(" ")
    assert prose("What is a tide?", key, chat=False).startswith("\n\n")


def test_a_dialogue_is_answered_and_begun_code_is_gone_on_with() -> None:
    assert prose("Q: What is a tide?\nA:", 1, chat=False).startswith(" ")
    assert prose("def fibonacci(n):", 1, chat=False).startswith("\n    ")
    assert prose("function sum(a, b) {", 1, chat=False).startswith("\n")


def test_no_sentence_comes_twice_in_an_ordinary_answer() -> None:
    for key in range(50):
        sentences = [s for s in prose("Tell me about tides", key).replace("\n\n", " ").split(". ") if "tides" not in s]
        assert len(sentences) == len(set(sentences))


@pytest.mark.parametrize("language", languages.LANGUAGES)
def test_every_corpus_keeps_to_its_form(language: str) -> None:
    sections = languages.sentences(language)
    for section in ("openers", "subject"):
        assert all(entry.count("{subject}") == 1 and not entry.startswith("{") for entry in sections[section])
    for section in ("body", "closers", "short", "continuations"):
        assert all("{" not in entry for entry in sections[section])
        assert len(set(sections[section])) == len(sections[section])


@pytest.mark.parametrize("key", KEYS)
def test_forms_look_like_what_they_are(key: int) -> None:
    assert "```python\n" in prose("Write a Python function that reverses a string", key)
    assert prose("List some ideas for a birthday", key).count("\n- ") >= 3
    assert prose("List seven tips for tidy desks", key).count("\n- ") == 7
    assert "\n3. " in prose("Give me a numbered list of 3 rivers", key)
    article = prose("Write a long essay about rivers", key)
    assert article.startswith("# Rivers\n\n")
    assert article.count("\n\n## ") >= 2
    assert len(prose("Answer in one word: is water wet?", key).split()) <= 8
    assert prose("Hello!", key) in languages.sentences("en")["greetings"]


@pytest.mark.parametrize("words", [1, 5, 20, 150, 600])
def test_an_answer_of_so_many_words_has_as_many(words: int) -> None:
    said = prose(f"Write {words} words about tea", 1)
    assert len(said.split()) == words
    assert said.endswith(".")


@pytest.mark.parametrize("count", [1, 2, 3, 12])
def test_an_answer_of_so_many_sentences_has_as_many(count: int) -> None:
    said = prose(f"Explain tides in {count} sentences", 1)
    sections = languages.sentences("en")
    assert sum(entry in said for entry in sections["body"]) == count - 1
    assert any(said.startswith(entry.partition("{subject}")[0]) for entry in sections["openers"])

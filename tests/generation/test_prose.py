"""Prose: in the prompt's language, on its subject, in the form that it asks for."""

import pytest

from mockserver.core.generation import Prompt
from mockserver.generation import corpus
from mockserver.generation.prose import write_prose

KEYS = range(12)


def prose(topic: str, key: int, *, chat: bool = True) -> str:
    text = ""
    for phrase in write_prose(Prompt(topic, topic, 1, chat), key):
        if phrase is None:
            return text
        text += "".join(phrase.texts)
    raise AssertionError("prose never ends by itself")


@pytest.mark.parametrize("key", KEYS)
def test_an_answer_takes_up_the_subject(key: int) -> None:
    assert "the harbour of Bergen" in prose("What is the harbour of Bergen?", key)


@pytest.mark.parametrize("key", KEYS)
def test_an_answer_begins_with_the_fact_it_is_asked_for_and_goes_on(key: int) -> None:
    answer = prose("What is the capital of Turkey?", key)
    assert "Ankara" in answer[:40]
    assert len(answer) > 100


@pytest.mark.parametrize("key", KEYS)
def test_a_sentence_that_breaks_off_before_a_known_fact_is_completed_with_it(key: int) -> None:
    completed = prose("The capital of the Netherlands is", key, chat=False)
    assert completed.startswith((" Amsterdam. ", " Amsterdam, of course. "))
    assert prose("The capital of the Netherlands is ", key, chat=False).startswith("Amsterdam")


def test_a_fact_that_is_asked_for_alone_is_the_whole_answer() -> None:
    assert prose("What is the capital of France? Answer in one word.", 7) == "Paris"
    assert prose("What is 12 * 12? Reply with only the number.", 7) == "144"


@pytest.mark.parametrize("language", corpus.LANGUAGES)
def test_every_language_answers_in_itself(language: str) -> None:
    names = {
        "en": "English", "ru": "Russian", "de": "German", "fr": "French", "es": "Spanish", "it": "Italian",
        "pt": "Portuguese", "tr": "Turkish", "uk": "Ukrainian", "zh": "Chinese", "ja": "Japanese", "ko": "Korean",
    }  # fmt: skip
    entries = corpus.language(language)
    openers = {entry.partition("{subject}")[0].strip() for entry in entries["openers"]}
    said = prose(f"What about tides, please answer in {names[language]}", 3)
    assert any(said.startswith(opener) for opener in openers)


@pytest.mark.parametrize("key", KEYS)
def test_forms_look_like_what_they_are(key: int) -> None:
    assert "```python\n" in prose("Write a Python function that reverses a string", key)
    assert prose("List some ideas for a birthday", key).count("\n") >= 6
    assert prose("Write a long essay about rivers", key).startswith("# Rivers\n\n")
    assert len(prose("Answer in one word: yes or no?", key).split()) <= 8
    assert prose("Generate some sample customers", key).count("\n- ") == 5


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


def test_so_many_items_come_as_are_asked_for() -> None:
    assert prose("Give me 3 sample customers", 1).count("\n- ") == 3
    assert prose("List seven tips for tidy desks", 1).count("\n") == 7 + 1 + 2


def test_an_answer_of_so_many_words_has_about_as_many() -> None:
    for words in (20, 150, 600):
        assert words <= len(prose(f"Write {words} words about tea", 1).split()) <= words + 30


def test_no_sentence_comes_twice_in_an_ordinary_answer() -> None:
    for key in range(50):
        sentences = [s for s in prose("Tell me about tides", key).replace("\n\n", " ").split(". ") if "tides" not in s]
        assert len(sentences) == len(set(sentences))


@pytest.mark.parametrize("language", corpus.LANGUAGES)
def test_every_corpus_keeps_to_its_form(language: str) -> None:
    sections = corpus.language(language)
    for section in ("openers", "subject"):
        assert all(entry.count("{subject}") == 1 and not entry.startswith("{") for entry in sections[section])
    for section in ("body", "closers", "short", "continuations"):
        assert all("{" not in entry for entry in sections[section])
        assert len(set(sections[section])) == len(sections[section])

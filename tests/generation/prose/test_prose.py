"""Prose: in the prompt's language, on its subject, in the form that it asks for."""

import pytest

from mockserver.core.generation import Message, Prompt
from mockserver.generation import corpus
from mockserver.generation.prose.texts import write_prose

KEYS = range(12)


def prose(topic: str, key: int, *, chat: bool = True, messages: tuple[Message, ...] = ()) -> str:
    text = ""
    for phrase in write_prose(Prompt(topic, topic, 1, chat, messages=messages), key):
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
def test_letters_poems_jokes_and_names_look_like_what_they_are(key: int) -> None:
    letter = prose("Write an email to my boss asking for a raise", key)
    assert letter.startswith("Subject: A raise\n\n")
    assert "a raise" in letter[20:]
    assert letter.endswith("[Your name]")
    assert prose("Напиши письмо коллегам об отпуске", key).startswith("Тема: Отпуске\n\n")
    poem = prose("Write me a poem about the sea", key)
    assert poem.startswith("**The sea**\n\n")
    assert [stanza.count("\n") for stanza in poem.split("\n\n")[1:]] in ([3, 3], [3, 3, 3])
    assert prose("Write a haiku about autumn", key).count("\n") == 2 + 2
    assert prose("Tell me a joke", key) in corpus.language("en")["jokes"]
    names = prose("Give me 3 names for a coffee shop", key)
    assert [line.partition(". ")[0] for line in names.split("\n")] == ["1", "2", "3"]


def test_a_message_that_refers_to_the_one_before_is_on_its_subject() -> None:
    asked = (Message("user", "Explain tides"), Message("assistant", "They come and go."))
    for follow_up in ("Tell me more", "Can you elaborate?", "why?", "OK, continue please", "Make it shorter", "ещё"):
        assert "tides" in prose(follow_up, 4, messages=(*asked, Message("user", follow_up)))
    german = prose("In German, please", 4, messages=(*asked, Message("user", "In German, please")))
    assert "„tides“" in german
    assert "tides" not in prose("Why do cats purr?", 4, messages=(*asked, Message("user", "Why do cats purr?")))
    assert prose("Thanks!", 4, messages=(*asked, Message("user", "Thanks!"))) in corpus.language("en")["thanks"]


def test_a_genre_that_a_language_lacks_is_answered_plainly() -> None:
    assert "Gedicht" not in corpus.language("de")
    assert len(prose("Schreibe mir bitte ein Gedicht (poem) über das Meer", 3)) > 100


@pytest.mark.parametrize("key", KEYS)
def test_a_summary_is_made_of_sentences_of_the_text(key: int) -> None:
    said = prose("Summarize this: The fox came. It saw a dog. It ran. Nobody followed it.", key)
    lead = next(lead for lead in corpus.language("en")["summaries"] if said.startswith(lead))
    assert said == f"{lead} The fox came. It ran."
    listed = prose("Summarize in 3 bullet points:\nThe fox came. It saw a dog. It ran.", key)
    assert listed.partition("\n")[2] == "- The fox came.\n- It saw a dog.\n- It ran."


def test_instructions_may_ask_for_summaries_of_all_messages() -> None:
    said = prose("The fox came. It ran.", 1, messages=(Message("system", "Summarize what the user sends."),))
    assert said.endswith(" The fox came.")


@pytest.mark.parametrize("key", KEYS)
def test_a_translation_is_in_the_other_language_and_as_long(key: int) -> None:
    german = corpus.language("de")["continuations"]
    said = prose("Translate to German: I like coffee. It is warm.", key)
    assert any(said == f"{first} {second}" for first in german for second in german)
    assert prose("Переведи на английский: Доброе утро", key) in corpus.language("en")["continuations"]


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

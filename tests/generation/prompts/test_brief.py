"""What a prompt is about: language, subject, and the genre of text that it asks for."""

import re
from collections.abc import Callable

import pytest

from mockserver.core.seeding import Draws
from mockserver.generation.prompts.brief import brief
from mockserver.generation.prompts.genres import GENRES


@pytest.mark.parametrize(
    "topic, language, subject",
    [
        ("What is the capital of Turkey?", "en", "the capital of Turkey"),
        ("Please explain asyncio streams to me.", "en", "asyncio streams"),
        ("Расскажи об отпуске в Карелии", "ru", "отпуске в Карелии"),
        ("Was ist der Unterschied zwischen Listen und Tupeln?", "de", "Unterschied zwischen Listen und Tupeln"),
        ("Что такое Kubernetes?", "ru", "Kubernetes"),
        ("Compare Node.js and Deno. Be brief.", "en", "Node.js and Deno"),
        ("Write a mail to ann@example.com for me", "en", "a mail to ann@example.com"),
        ("Tell me about St. Petersburg.", "en", "St. Petersburg"),
        ("Explain recursion in French", "fr", "recursion"),
        ("Describe Oslo as a JSON object with its rivers", "en", "Oslo"),
        ("List three rivers in JSON format", "en", "three rivers"),
        ("Explain how to parse dates in JSON", "en", "parse dates in JSON"),
        ("日本の庭について教えてください", "ja", "日本の庭"),
        ("서울에 대해 알려줘", "ko", "서울"),
        ("什么是人工智能？", "zh", "人工智能"),
        ("Erkläre mir Photosynthese kurz", "de", "Photosynthese"),
        ("Türkiye'nin başkenti nedir?", "tr", "Türkiye'nin başkenti"),
        ("", "en", "this topic"),
        ("?!", "en", "this topic"),
        ("12345", "en", "12345"),
        ("Current Task: Write a haiku about the sea", "en", "the sea"),
        ("Question: What is the capital of France?", "en", "the capital of France"),
        ("Please answer concisely: what is photosynthesis?", "en", "photosynthesis"),
        ("Reply in one sentence: how do bridges work?", "en", "bridges work"),
        ("**Topic:** volcanoes", "en", "volcanoes"),
        ("Task:\nExplain tides", "en", "tides"),
        ("Тема: вулканы", "ru", "вулканы"),
        ("Rule of thumb: keep it short", "en", "Rule of thumb"),
    ],
)
def test_language_and_subject_are_the_prompts(topic: str, language: str, subject: str) -> None:
    about = brief(topic)
    assert (about.language, about.subject) == (language, subject)


@pytest.mark.parametrize(
    "topic, genre",
    [
        ("Write a Python function that reverses a string", "code"),
        ("List five ideas for a birthday", "list"),
        ("Write a long essay about rivers", "long"),
        ("Answer in one word: is water wet?", "short"),
        ("Briefly, what is entropy?", "brief"),
        ("Generate three sample customers", "people"),
        ("Напиши функцию сортировки", "code"),
        ("Перечисли шаги", "list"),
        ("How are you?", "mood"),
        ("Hello, who are you?", "introduction"),
        ("Thanks a lot!", "thanks"),
        ("Thank you. And what is a tide?", "plain"),
        ("Is Python faster than Go?", "plain"),
        ("How do I sort a list in Python?", "code"),
        ("Give me 5 names for a café", "names"),
        ("Write a short email to my landlord", "letter"),
        ("What is my email address?", "plain"),
        ("Hello!", "greeting"),
        ("Привет! Как дела?", "mood"),
        ("Hello, please explain recursion to me", "plain"),
        ("Summarize it in one sentence", "sentence"),
    ],
)
def test_the_genre_is_the_one_that_is_asked_for(topic: str, genre: str) -> None:
    assert brief(topic).genre == genre


def test_a_length_in_words_or_sentences_is_heard() -> None:
    assert (brief("Write 150 words about tea").words, brief("In 3 sentences, why?").words) == (150, 42)


def test_the_number_of_things_asked_for_is_heard() -> None:
    assert [brief(text).items for text in ("Give me 3 names", "List five tips", "Explain tides")] == [3, 5, None]


def test_a_prompt_of_a_megabyte_is_read_in_part() -> None:
    about = brief("Explain tides. " + "filler " * 200_000)
    assert about.subject == "tides"


_SAID = [
    *(word for genre in GENRES for word in (*genre.words, *genre.stems)),
    "одним словом",
    "да или нет",
    "шаги",
    "статья",
]
_OTHERS = [
    "one",
    "single",
    "yes or",
    "in a",
    "give me",
    "pros and cons",
    "bridges",
    "мост",
    "don't",
    "my_code",
    "code-like",
]


@pytest.mark.parametrize(
    "spell", [str, str.upper, str.capitalize, lambda text: text.replace("s", "ſ").replace("i", "İ")]
)
def test_no_genre_is_missed_for_the_sake_of_speed(spell: Callable[[str], str]) -> None:
    draws = Draws(7)
    for _ in range(500):
        words = [draws.pick(_SAID) if draws.below(2) else draws.pick(_OTHERS) for _ in range(1 + draws.below(5))]
        topic = spell(draws.pick((" ", ", ", "\n", "_", "-", "")).join(words))
        asked = next((genre.name for genre in GENRES if re.search(genre.pattern, topic, re.IGNORECASE)), "plain")
        assert (topic, brief(topic).genre) == (topic, asked)

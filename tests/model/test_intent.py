"""What a prompt asks for: language, subject, and the kind and length of the answer."""

import pytest

from mockserver.model.intent import detect_intent


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
    about = detect_intent(topic)
    assert (about.language, about.subject) == (language, subject)


@pytest.mark.parametrize(
    "topic, kind",
    [
        ("Write a Python function that reverses a string", "code"),
        ("How do I sort a list in Python?", "code"),
        ("Напиши функцию сортировки", "code"),
        ("List five ideas for a birthday", "list"),
        ("Explain tides as bullets", "list"),
        ("Перечисли шаги", "list"),
        ("Write a long essay about rivers", "article"),
        ("Answer in one word: is water wet?", "word"),
        ("Summarize it in one sentence", "sentence"),
        ("Briefly, what is entropy?", "brief"),
        ("Hello!", "greeting"),
        ("Hello, please explain recursion to me", "plain"),
        ("Is Python faster than Go?", "plain"),
        ("What is my email address?", "plain"),
        ("Translate 'good morning' to Spanish", "plain"),
    ],
)
def test_the_kind_of_answer_is_the_one_that_is_asked_for(topic: str, kind: str) -> None:
    assert detect_intent(topic).kind == kind


def test_a_length_in_words_or_sentences_is_heard() -> None:
    asked = [detect_intent(text) for text in ("Write 150 words about tea", "In three sentences, why?")]
    assert [(intent.words, intent.sentences) for intent in asked] == [(150, None), (None, 3)]
    assert detect_intent("In 3 sentences, why?").length == 42


def test_the_number_of_things_asked_for_is_heard() -> None:
    assert [detect_intent(text).items for text in ("Give me 3 names", "List five tips", "Explain tides")] == [
        3,
        5,
        None,
    ]


def test_a_prompt_of_a_megabyte_is_read_in_part() -> None:
    about = detect_intent("Explain tides. " + "filler " * 200_000)
    assert about.subject == "tides"

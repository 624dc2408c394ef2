"""Terms: where a text contains words, whatever their case."""

import re

import pytest

from mockserver.model.terms import place_of


@pytest.mark.parametrize(
    "words, text, place",
    [
        ("get_weather", "Please call get_weather for Oslo.", 12),
        ("Get_Weather", "please call get_weather", 12),
        ("straße", "Die STRASSE ist lang, die Straße breit", 26),
        ("Погода", "какая погода?", 6),
        ("a+b", "is a+b right", 3),
        ("weather", "get_weather", None),
        ("option 1", "option 10 or option 1", 13),
        ("", "anything", None),
    ],
)
def test_words_are_found_in_any_case_and_only_as_whole_words(words: str, text: str, place: int | None) -> None:
    assert place_of(words, text) == place


def test_words_that_are_nowhere_in_a_text_need_no_expression(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(re, "search", lambda *given: pytest.fail("an expression is compiled"))
    assert [place_of(f"option {number}", "What would you choose?") for number in range(1_000)] == [None] * 1_000

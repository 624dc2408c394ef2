"""Literals of regular expressions: which texts every match has one of, and where none can be told."""

import pytest

from mockserver.core.regexes import read_regex


@pytest.mark.parametrize(
    "pattern, literals",
    [
        ("question 17", ("question 17",)),
        (r"^Hello,? world\.$", (" world.",)),
        ("weather|forecast for", ("weather", "forecast for")),
        ("(?i)Weather in Oslo", ("weather in oslo",)),
        ("(?s)(?i)Weather", ("weather",)),
        (r"\bOslo\b", ("Oslo",)),
        (r"order \d+ of (?:today|now)", ("order ",)),
        ("abc*", ("ab",)),
        ("abc+d{0,3}e{2}fghi", ("fghi",)),
        ("x{i}", ("x{i}",)),
        ("weather|", ()),
        ("weather|.", ()),
        ("(weather)", ()),
        ("(?x) wea ther", ()),
        ("(?i)Wetter für", ()),
        ("a?b*", ()),
        (r"\x41\x42 or more", ()),
        (r"\u0041bc", ()),
        (r"(.)\1 and more", ()),
    ],
)
def test_the_literals_of_a_pattern_are_outside_of_groups_and_quantifiers(
    pattern: str, literals: tuple[str, ...]
) -> None:
    assert read_regex(pattern)._literals == literals


def test_a_text_without_a_literal_is_not_searched_even_if_that_would_take_too_long() -> None:
    hostile = "a" * 5000 + "!"
    assert read_regex("(a|aa)+$").search(hostile) is None
    assert read_regex("(a|aa)+ and more$").search(hostile) is False


@pytest.mark.parametrize("text", ["WEATHER in Oslo", "the weather\u212a", "WEATHER\u0130"])
def test_case_is_ignored_in_any_text_if_a_pattern_says_so(text: str) -> None:
    assert read_regex("(?i)weather").search(text) is True


@pytest.mark.parametrize(
    "pattern, text",
    [
        (r"\x41", "A"),
        (r"\x41b+", "Abb"),
        (r"(?i)\u0041", "a"),
        (r"\101b", "Ab"),
        (r"(a)\1b", "aab"),
        ("ab{0,2}cd", "acd"),
    ],
)
def test_a_pattern_matches_whatever_its_escapes_and_quantifiers_stand_for(pattern: str, text: str) -> None:
    assert read_regex(pattern).search(text) is True

"""TOML of strangers is read in a time that its length bounds, or refused in words."""

from time import process_time

import pytest

from mockserver.core.toml import TomlError, read_toml, read_toml_value


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("{ " + "a." * 200_000 + "a = 1 }", "a key has more than 100 parts"),
        ("{ " + '"a=". ' * 200_000 + "a = 1 }", "a key has more than 100 parts"),
        ("{a=" * 100_000, "it is nested too deeply"),
        ("[" * 400 + "]" * 400, "it is nested too deeply"),
        ("{ a = " + "9" * 5000 + " }", "a number has too many digits"),
        ("[1, -" + "9" * 4301 + "]", "a number has too many digits"),
    ],
    ids=lambda text: text[:12],
)
def test_what_would_take_long_is_refused_at_once(text: str, complaint: str) -> None:
    began = process_time()
    with pytest.raises(TomlError, match=complaint):
        read_toml_value(text)
    assert process_time() - began < 0.5


def test_a_table_header_of_many_parts_is_refused() -> None:
    with pytest.raises(TomlError, match="a key has more than 100 parts"):
        read_toml("[" + "a." * 100_000 + "a]")


@pytest.mark.parametrize(
    "text",
    [
        '"' + "a." * 300 + "[" * 300 + '"',
        "'" + "a." * 300 + "{" * 300 + "'",
        '"""' + "a.\n" * 300 + '[[{{"" ' * 300 + '"""',
        "[" + "1.5, " * 300 + "2.5]",
        "[" + "{ a.b = 1.5 }, " * 300 + "[]] # " + "a." * 300 + "[" * 300,
    ],
    ids=lambda text: text[:12],
)
def test_what_is_in_strings_and_comments_and_side_by_side_does_not_count(text: str) -> None:
    read_toml_value(text)

"""TOML: what strangers write is read in a time that its length bounds, or refused; what is written is read again."""

import tomllib
from time import process_time
from typing import Any

import pytest

from mockserver.core.toml import TomlError, is_writable, read_toml, read_toml_value, toml_of


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


TEXTS = [
    *("", "plain", 'a "quote"', "it's", "'''", '"it\'s"', '"two\nlines"\n', "\"it's\"\nso'", "'\"\n", "\"''\n'", '\n"'),
    *('"\r\n"', '"\x7f"', "\x00\x1b\t\\", "\\", '"\\"', "é中😀", '"tab\there"', '"\u2028"', "\"\n'''\n\""),
]


@pytest.mark.parametrize("text", TEXTS)
def test_every_text_comes_back(text: str) -> None:
    table = {"a": text, "b.c": {text: text, "inner": {"deep": [text]}}, "d": [{"e": text}]}
    assert tomllib.loads(toml_of("stub", [table, table])) == {"stub": [table, table]}


def test_a_table_has_its_parts_below_its_values() -> None:
    table = {"name": "n", "match": {"model": "m", "body": {"$.t": 0.5}}, "replies": [{"status": 200}, {"text": '"'}]}
    assert toml_of("stub", [table]) == (
        '[[stub]]\nname = "n"\n'
        '[stub.match]\nmodel = "m"\nbody = { "$.t" = 0.5 }\n'
        "[[stub.replies]]\nstatus = 200\n"
        "[[stub.replies]]\ntext = '\"'\n"
    )


@pytest.mark.parametrize("value", [True, 0, -3, 2**70, 0.1, 1e-7, 1e22, [], [1, "a", [True]], {}, {"a": {}}])
def test_every_other_value_comes_back(value: Any) -> None:
    assert tomllib.loads(toml_of("t", [{"x": [0, value], "y": value}])) == {"t": [{"x": [0, value], "y": value}]}


def test_null_is_found_wherever_it_is() -> None:
    assert [is_writable(value) for value in (None, [1, None], {"a": [{"b": None}]}, {"a": [0, ""]})] == [
        *(False, False, False, True)
    ]

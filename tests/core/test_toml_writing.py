"""Tables as TOML: what is read from it is what was written."""

import tomllib
from typing import Any

import pytest

from mockserver.core.toml import is_writable, toml_of

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

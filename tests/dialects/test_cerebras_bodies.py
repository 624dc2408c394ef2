"""What Cerebras' parser says of a broken body: pydantic's words, with line and column."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_core import from_json

from mockserver.dialects.cerebras.bodies import json_fault

WHOLE = '{"model": "m", "prompt": "é \\u00e9 \\ud83d\\ude00", "n": -0.5e1,\n "x": [true, false, null, {"a": []}]}'


def words_of_pydantic(body: bytes) -> str | None:
    """What pydantic's parser says, None if it reads the body."""
    try:
        from_json(body)
    except ValueError as error:
        return str(error)
    return None


@pytest.mark.parametrize(
    "body",
    [
        "", " ", "{", '{"a', '{"a"', '{"a":', '{"a":1', '{"a":1,', "[", "[1", "[1,", '"\\u12', "tru", "-", "1.", "1e+",
        "\n", "x", "truz", "None", "01", "-x", "1.x", ".5", '{"a":1,}', "[1,]", "[,]", '{"a":1,2', "{'a':1}", '{"a" 1}',
        "{}x", '{"a":1 x', '{"a":1]', "[1}", "[1 2]", '{"a":1.2.3}', "\n\n{\n x", '"\\x"', '"\\u12g4"', '"a\x01"',
        '"a\nb"', '"\\ud800"', '"\\udc00"', '"\\ud800\\u0041"', '"\\ud800\\n"', "\ufeff{}",
    ],
)  # fmt: skip
def test_a_broken_body_is_described_as_pydantic_does(body: str) -> None:
    assert json_fault(body.encode()) == words_of_pydantic(body.encode())


@settings(max_examples=300)
@given(start=st.integers(0, len(WHOLE)), length=st.integers(0, 3), new=st.text('{}[]",:\\ \n0-1eutn.x', max_size=3))
def test_any_change_of_a_body_that_breaks_it_is_described_as_pydantic_does(start: int, length: int, new: str) -> None:
    body = (WHOLE[:start] + new + WHOLE[start + length :]).encode()
    expected = words_of_pydantic(body)
    assert expected is None or json_fault(body) == expected


def test_a_text_that_is_not_utf_8_is_reported_at_its_first_wrong_byte() -> None:
    body = b'{"a": "b\xff"}'
    assert json_fault(body) == words_of_pydantic(body) == "invalid unicode code point at line 1 column 9"


@pytest.mark.parametrize(
    "body, words",
    [
        (b'{"a": NaN}', "expected value at line 1 column 7"),
        (b'{"a": 1e999}', "number out of range at line 1 column 11"),
        (b"[" * 300, "recursion limit exceeded at line 1 column 101"),
    ],
)
def test_what_only_this_server_does_not_read_is_named_in_the_same_form(body: bytes, words: str) -> None:
    assert json_fault(body) == words


def test_of_a_very_long_body_the_place_of_the_fault_is_reported() -> None:
    body = b'{"prompt": "' + b"a" * 100_000 + b'", "n": x}'
    assert json_fault(body) == "expected value at line 1 column 100021"
    assert json_fault(b"[" * 100_000 + b"]" * 100_000) == "recursion limit exceeded at line 1 column 1026"

"""How many values a JSON text has, told without parsing it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.core.json_values import has_more_values

VALUES = st.recursive(
    st.none() | st.integers() | st.text('a\\",[{\n é', max_size=8),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text('b\\",[', max_size=4), inner, max_size=5),
    max_leaves=30,
)


def starts(value: Any) -> int:
    """Commas and opening brackets, counted in the value itself."""
    if not isinstance(value, dict | list):
        return 0
    within = value.values() if isinstance(value, dict) else value
    return 1 + max(len(value) - 1, 0) + sum(map(starts, within))


@given(VALUES, st.booleans())
def test_values_are_counted_whatever_their_strings_hold(value: Any, ascii: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii).encode()
    count = starts(value)
    assert not has_more_values(text, count)
    assert count == 0 or has_more_values(text, count - 1)


@pytest.mark.parametrize("text", [b'"', b'"\\', b'["', b'[",,,,', b'[,"\\"', b"\\" * 9 + b'"'])
def test_what_is_broken_off_is_counted_as_far_as_it_goes(text: bytes) -> None:
    assert not has_more_values(text, 2)


@pytest.mark.parametrize("length", [4094, 4095, 4096, 4097, 8191, 8192, 8193, 12_289])
def test_a_quote_ends_a_string_unless_an_odd_number_of_backslashes_is_before_it(length: int) -> None:
    within, behind = b",", b"," * 2
    text = b'["' + b"\\" * length + b'"' + within + b'"' + behind
    assert [has_more_values(text, most) for most in (1, 2, 3)] == [True, length % 2 == 1, False]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"prompt": "one, two; " * 100_000}),
        json.dumps(["a"] * 100_000),
        json.dumps({"prompt": '"[]"' * 50_000}),
        json.dumps(list(range(100_000))),
        json.dumps("\\" * 500_000 + "," * 100_000),
    ],
    ids=["prose", "strings", "quotes", "numbers", "backslashes"],
)
def test_no_piece_is_large_and_nothing_is_looked_at_often(text: str) -> None:
    data = Watched(text.encode())
    assert has_more_values(data, 99_000) is text.startswith("[")
    assert data.looked_at < 8 * len(data)


class Watched(bytes):
    """Bytes that know how many of them were searched, counted or copied."""

    looked_at = 0

    def find(self, what: Any, start: Any = 0, end: Any = None) -> int:
        found = super().find(what, start)
        self.looked_at += (found if found >= 0 else len(self)) - start
        return found

    def count(self, what: Any, start: Any = 0, end: Any = None) -> int:
        assert end - start <= 131_072
        self.looked_at += end - start
        return super().count(what, start, end)

    def __getitem__(self, index: Any) -> Any:
        self.looked_at += index.stop - index.start
        return super().__getitem__(index)

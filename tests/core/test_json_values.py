"""JSON values: which are equal, their keys in sets and dictionaries; how many a text has, told without parsing it; what
is complete of an object that is cut short."""

import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.core.json_values import ValueSet, has_more_values, identity, kept_object, may_nest_deeper
from mockserver.model.schema.numbers import exactly


@pytest.mark.parametrize(
    "one, other",
    [(1, 1.0), (None, None), (True, True), ([1, [2]], (1.0, (2,))), ({"a": 1, "b": []}, {"b": [], "a": 1.0})],
)
def test_values_that_are_written_in_other_ways_are_the_same(one: Any, other: Any) -> None:
    assert identity(one) == identity(other)


@pytest.mark.parametrize(
    "one, other",
    [(1, True), (0, False), (None, False), ([1], [True]), ({"a": 0}, {"a": False}), ([], {}), ("1", 1), ([1], [1, 1])],
)
def test_values_that_mean_something_else_differ(one: Any, other: Any) -> None:
    assert identity(one) != identity(other)


def test_values_are_kept_once_in_order_and_found_however_they_are_written() -> None:
    values = ValueSet([1, "1", True, 1.0, [1], (1,), {"a": 2}])
    values.add(0.5)
    assert list(values) == [1, "1", True, [1], {"a": 2}, 0.5]
    assert (len(values), values.numbers) == (6, {1, 0.5})
    assert [value in values for value in (1.0, True, False, [True], {"a": 2.0}, None)] == [
        True,
        True,
        *[False] * 2,
        True,
        False,
    ]


def test_a_number_is_what_its_digits_say_until_floats_have_none_for_decimals() -> None:
    assert exactly(0.1) == Fraction(1, 10)
    assert exactly(10**30) == 10**30
    assert exactly(1e30) == Fraction(1e30) != 10**30


@pytest.mark.parametrize("text", [b"", b"x" * 100_000], ids=["short", "long"])
@pytest.mark.parametrize("brackets", [b"[" * 3, b"{" * 3, b"[{}]["], ids=bytes.decode)
def test_only_what_has_more_brackets_than_levels_may_nest_deeper(brackets: bytes, text: bytes) -> None:
    body = text.join(bytes([bracket]) for bracket in brackets) + text
    assert [may_nest_deeper(body, levels) for levels in (1, 2, 3, 4)] == [True, True, False, False]


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


@pytest.mark.parametrize(
    "text, limited, stopped",
    [
        ("", "", "{}"),
        ('{"a": 12', "", "{}"),
        ('{"a": 12,', '{"a": 12', '{"a": 12}'),
        ('{"a": {"b": 1, "c": "x', "", '{"a": {"b": 1, "c": "x"}}'),
        ('{"a": {"b": 1}, "c', '{"a": {"b": 1}', '{"a": {"b": 1}}'),
        ('{"a": ["x", "y', "", '{"a": ["x", "y"]}'),
        ('{"a": "x\\u00e', "", '{"a": "x"}'),
        ('{"a": "\\\\', "", '{"a": "\\\\"}'),
        ('{"a": "x{"}', '{"a": "x{"}', '{"a": "x{"}'),
    ],
)
def test_of_an_object_that_is_cut_short_the_complete_properties_are_kept(text: str, limited: str, stopped: str) -> None:
    assert (kept_object(text, closes=False), kept_object(text, closes=True)) == (limited, stopped)

"""JSON values: which are equal, and their keys in sets and dictionaries."""

from fractions import Fraction
from typing import Any

import pytest

from mockserver.core.json_values import ValueSet, identity, may_nest_deeper
from mockserver.model.schema.keywords import exactly


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

"""JSON values: which of them are the same one, and which number one says."""

from typing import Any

import pytest

from mockserver.core.json_values import among, same


@pytest.mark.parametrize(
    "one, other",
    [(1, 1.0), (None, None), (True, True), ([1, [2]], (1.0, (2,))), ({"a": 1, "b": []}, {"b": [], "a": 1.0})],
)
def test_values_that_are_written_in_other_ways_are_the_same(one: Any, other: Any) -> None:
    assert same(one, other)
    assert same(other, one)


@pytest.mark.parametrize(
    "one, other",
    [(1, True), (0, False), (None, False), ([1], [True]), ({"a": 0}, {"a": False}), ([], {}), ("1", 1), ([1], [1, 1])],
)
def test_values_that_mean_something_else_differ(one: Any, other: Any) -> None:
    assert not same(one, other)
    assert not same(other, one)


def test_a_value_is_among_others_whatever_they_are() -> None:
    assert among([0], ["0", False, [0.0]])
    assert not among(0, ["0", False, [0]])

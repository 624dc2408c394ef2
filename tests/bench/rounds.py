"""Rounds: measurements that alternate, so that other activity of the machine affects all of them alike."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import ceil
from statistics import median
from typing import TypeVar

Value = TypeVar("Value")


def alternate(measures: Mapping[str, Callable[[], Value]], rounds: int) -> dict[str, list[Value]]:
    """The results of each measure in every round; the order is reversed from round to round."""
    names = list(measures)
    taken: dict[str, list[Value]] = {name: [] for name in names}
    for number in range(rounds):
        for name in names if number % 2 == 0 else reversed(names):
            taken[name].append(measures[name]())
    return taken


def ratio(values: Sequence[float], bases: Sequence[float]) -> float:
    """The median of the quotients, each formed within its round; a zero base counts as NaN."""
    pairs = zip(values, bases, strict=True)
    return median(value / base if base else float("nan") for value, base in pairs)


def excess(values: Sequence[float], bases: Sequence[float]) -> float:
    """The median of the differences, each formed within its round."""
    return median(value - base for value, base in zip(values, bases, strict=True))


def percentile(values: Iterable[float], percent: float) -> float:
    """The value that so many percent of all values do not exceed (nearest rank); NaN if there are none."""
    ranked = sorted(values)
    if not ranked:
        return float("nan")
    return ranked[max(0, ceil(len(ranked) * percent / 100) - 1)]

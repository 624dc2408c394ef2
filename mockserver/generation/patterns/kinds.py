"""Kinds of characters: classes that a pattern does not distinguish, so that one member can be tried for all."""

from bisect import bisect_left
from collections import defaultdict
from typing import NamedTuple

from mockserver.generation.patterns.characters import Characters, usual
from mockserver.generation.patterns.places import Beside, beside
from mockserver.generation.patterns.trees import PatternError

_MOST_SETS = 400


class Kind(NamedTuple):
    """Characters that the pattern does not distinguish, with what each is `beside` a place, and one as a `sample`.

    The lower the `rank`, the more usual they are in texts.
    """

    found: Characters
    beside: Beside
    rank: int
    sample: str


def kinds_of(sets: set[Characters]) -> tuple[Kind, ...]:
    """The characters of all sets, partitioned so that each set is a union of kinds."""
    if len(sets) > _MOST_SETS:
        raise PatternError(f"more than {_MOST_SETS} different sets of characters are not supported here")
    ordered = sorted(sets, key=lambda found: found.ranges)
    borders = sorted({border for found in ordered for low, high in found.ranges for border in (low, high + 1)})
    marks = [0] * len(borders)
    for number, found in enumerate(ordered):
        for low, high in found.ranges:
            for place in range(bisect_left(borders, low), bisect_left(borders, high + 1)):
                marks[place] |= 1 << number
    ranges: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for place, mark in enumerate(marks):
        if mark:
            ranges[mark].append((borders[place], borders[place + 1] - 1))
    return tuple(_kind(Characters(tuple(found))) for found in ranges.values())


def _kind(found: Characters) -> Kind:
    sample = usual(found)[0]
    rank = 0 if sample.isascii() and sample.isalnum() else 1 if sample in " -_.@" else 2 if " " < sample < "\x7f" else 4
    return Kind(found, beside(sample), rank, sample)

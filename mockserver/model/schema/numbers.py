"""Numbers within bounds: exact arithmetic, so that 19.99 is a multiple of 0.01 to every validator.

Numbers are multiples of a step: of 1, of a hundredth, of what the schema asks for. Which of them are usual says the
name of a property, or its description (`range_of`), as far as the schema's bounds leave it a say (`_usual`).
"""

import re
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from fractions import Fraction
from functools import cache, lru_cache
from math import ceil, floor, inf, isfinite, lcm
from typing import NamedTuple

from mockserver.core.seeding import Draws
from mockserver.model.schema.merged_schema import ALL_WHOLE, MergedSchema, exactly
from mockserver.model.schema.texts import name_parts, table

_ATTEMPTS = 20
# The bits of the largest number of which all have to be multiples.
_MOST_BITS = 20_000
# The most decimal places of a float.
_FINEST = 320
# Decimal places are added until there are so many steps between bounds that are close together: fewer of what is
# counted in whole numbers, as long as they are a choice.
_STEPS, _WHOLE_STEPS = 20, 4
# Bounds that are so many times as far apart as the nearer of them is from 0 only keep out what is absurd.
_ABSURD = 10**6
# What bounds leave of a usual range is too little below this share of it, or when it is fewer multiples than this.
_SHARE, _FEW = 5, 5
# At least so many more multiples are taken where the usual ones are too few, or none.
_BEYOND = 9
# Large numbers are taken from a range of so many bits less than they have, lest they be one and the same float.
_COARSE = 40


# What is tried where nothing usual will do.
_UNUSUAL = (0, -1, 0.5, 10**6, -(10**6), 10**12, -(10**12))


class Range(NamedTuple):
    """Usual numbers: the lowest, the highest, and how many decimal places they have.

    Bounds mean two things. An age from 0 to 150 is guarded against mistakes, and still is between 18 and 79; a score
    from 0 to 10 lies on a scale whose ends the bounds are. Of what lies on a scale `scale` says from which hundredth
    of it on; it is None for what has a size of its own.
    """

    low: float
    high: float
    places: int = 0
    scale: int | None = None


_WRITTEN = re.compile(r"(\S+) to ([^\s,]+)(?:, (\d) places?)?(?:, scale (\d+))?")
# Of a number that nothing is known of its bounds say most.
_UNKNOWN = Range(1, 100, 2, scale=0)


@lru_cache(maxsize=1024)
def range_of(name: str, about: str, *, whole: bool) -> Range:
    """The usual numbers of a property. Of shares that can only be whole they are percentages."""
    parts = (*reversed(name_parts(name)), *name_parts(about[:200]))
    known = table("numbers")
    found = next((_range(known[part]) for part in parts if part in known), _UNKNOWN)
    if whole and found.high <= 1:
        return found._replace(low=100 * found.low, high=100 * found.high)
    return found


@cache
def _range(written: str) -> Range:
    """A range as `values.txt` has it: "1 to 5, 1 place, scale 0"."""
    low, high, places, scale = _WRITTEN.fullmatch(written).groups()  # type: ignore[union-attr]
    low, high = (float(bound) if {".", "e"} & {*bound} else int(bound) for bound in (low, high))
    return Range(low, high, int(places or 0), None if scale is None else int(scale))


def numbers(
    way: MergedSchema, draws: Draws, usual: Range, taken: Collection[int | float] = ()
) -> Iterator[int | float]:
    """Numbers that keep to a merged schema and are not taken, if possible usual ones; none if there is none."""
    multiples = way.all("multipleOf")
    for finer in (0,) if multiples or way.whole else (0, 2, 6):
        grid = _grid(way, usual, finer)
        if grid is None:
            continue
        numerator, denominator = grid.step.as_integer_ratio()
        for strictly in (True, False) if multiples else (True,):
            for index in _indexes(grid, draws, len(taken)):
                for number in _as_json(index * numerator, denominator, whole=way.whole):
                    if number not in taken and _meets(way, number, strictly=strictly):
                        yield number
                        break
    yield from (number for number in _UNUSUAL if number not in taken and _meets(way, number, strictly=False))


class _Grid(NamedTuple):
    """The multiples of a step: the usual ones from `start` to `end`, all of them from `first` to `last`."""

    step: Fraction
    start: int
    end: int
    first: int | None
    last: int | None


def _grid(way: MergedSchema, usual: Range, finer: int) -> _Grid | None:
    """The multiples that a merged schema allows, with the usual ones; None when there is none. Kept with the way."""
    key = usual, finer
    if key not in way.grids:
        way.grids[key] = _laid(way, usual, finer)
    found: _Grid | None = way.grids[key]
    return found


def _laid(way: MergedSchema, usual: Range, finer: int) -> _Grid | None:
    # Each with what says which whole number is next to it on its inner side.
    lows, highs = (
        [(exactly(way.rules[keyword]), nearest) for keyword, nearest in ends.items() if keyword in way.rules]
        for ends in _BOUNDS
    )
    step = _step(way)
    if step is None:
        # How far apart the bounds are; 0 is one, where there is none but a positive maximum.
        highest = min((high for high, _ in highs), default=Fraction(-1))
        step = _fine(highest - max((low for low, _ in lows), default=0), usual.places, finer)
    elif step == 0 or step.numerator.bit_length() > _MOST_BITS:
        return None
    first = max((least(bound / step) for bound, least in lows), default=None)
    last = min((most(bound / step) for bound, most in highs), default=None)
    if first is not None and last is not None and first > last:
        return None
    start, end = ceil(exactly(usual.low) / step), floor(exactly(usual.high) / step)
    if way.all("multipleOf") and step >= 1 and end - start < 2:
        # The step is so coarse that hardly anything is usual.
        end = start + _BEYOND
    return _Grid(step, *_usual(start, end, first, last, ceil(1 / step), usual.scale), first, last)


_BOUNDS: tuple[dict[str, Callable[[Fraction], int]], ...] = (
    {"minimum": ceil, "exclusiveMinimum": lambda bound: floor(bound) + 1},
    {"maximum": floor, "exclusiveMaximum": lambda bound: ceil(bound) - 1},
)


def _step(way: MergedSchema) -> Fraction | None:
    """What every number must be a multiple of; None when any number will do."""
    parts = [*way.all("multipleOf"), *([Fraction(1)] if way.whole else [])]
    if not parts:
        return None
    denominator = lcm(*(part.denominator for part in parts))
    return Fraction(lcm(*(part.numerator * (denominator // part.denominator) for part in parts)), denominator)


def _fine(room: Fraction | int, places: int, finer: int) -> Fraction:
    """A power of ten with so many decimal places, more where there is little room, and `finer` ones beyond those."""
    least = _STEPS if places else _WHOLE_STEPS
    while room > 0 and least > room * 10**places and places < _FINEST:
        places += 1
    return Fraction(1, 10 ** (places + finer))


def _usual(start: int, end: int, first: int | None, last: int | None, one: int, scale: int | None) -> tuple[int, int]:
    """The usual multiples, from `start` to `end` where there are no bounds, that bounds leave; or others instead.

    `first` and `last` are the bounds, `one` is the multiple that 1 is. On a scale the bounds say what is usual. Else
    they do so where they leave nothing usual, or too little of it to choose from: all between them, or where they are
    open, or absurdly far apart, what is nearest to the usual.
    """
    bounds = _bounds(first, last, one)
    if scale is not None:
        # A scale that has an upper end only begins at 0.
        ends = _bounds(0, last, one) if first is None and last is not None and last > start >= 0 else bounds
        if ends is not None:
            unusual = 0 if start <= ends[0] and ends[1] <= end else (ends[1] - ends[0]) * scale // 100
            return ends[0] + unusual, ends[1]
    low = start if first is None else max(first, start)
    high = end if last is None else min(last, end)
    count, left = end - start + 1, high - low + 1
    room = count if bounds is None else min(count, bounds[1] - bounds[0] + 1)
    if left > 0 and (left == count or (left * _SHARE >= room and left >= min(room, _FEW))):
        return low, high
    return bounds or _nearest(start, end, first, last)


def _nearest(start: int, end: int, first: int | None, last: int | None) -> tuple[int, int]:
    """The multiples within bounds that are nearest to usual ones; they are below 0 only where usual ones may be."""
    if last is not None and last < max(start, end):
        low = last - _span(start, end, last)
        low = max(low, 0) if start >= 0 < last else low
        return low if first is None else max(first, low), last
    low = start if first is None else max(first, start)
    high = low + _span(start, end, low)
    return low, high if last is None else min(last, high)


def _bounds(first: int | None, last: int | None, one: int) -> tuple[int, int] | None:
    """The bounds, if there are two of them and they are not absurdly far apart."""
    if first is None or last is None:
        return None
    nearer = 0 if first <= 0 <= last else min(abs(first), abs(last))
    return None if last - first > _ABSURD * max(nearer, one) else (first, last)


def _span(start: int, end: int, bound: int) -> int:
    """How many multiples beyond a bound are taken: as many as are usual; of very large ones more, lest all be alike."""
    return max(end - start, _BEYOND, abs(bound) >> _COARSE)


def _indexes(grid: _Grid, draws: Draws, excluded: int) -> Iterator[int]:
    """The multiples to be tried: some at random, then one after another, beyond the usual ones too."""
    index = grid.start
    for _ in range(_ATTEMPTS):
        index = grid.start + draws.below(grid.end - grid.start + 1)
        yield index
    yield from range(index + 1, min(grid.end, index + excluded + _ATTEMPTS) + 1)
    yield from range(grid.start, min(index, grid.start + excluded + _ATTEMPTS))
    low = grid.start - excluded - _ATTEMPTS
    yield from range(grid.start - 1, (low if grid.first is None else max(low, grid.first)) - 1, -1)
    high = grid.end + excluded + _ATTEMPTS
    yield from range(grid.end + 1, (high if grid.last is None else min(high, grid.last)) + 1)


def _as_json(numerator: int, denominator: int, *, whole: bool) -> Iterator[int | float]:
    """A number as JSON writes it: whole, or the nearest float; of a large one first what those read for whom every
    number is a float."""
    number: int | float = numerator // denominator
    if numerator % denominator or not (whole or abs(number) < ALL_WHOLE):
        with suppress(OverflowError):
            yield numerator / denominator
        return
    if abs(number) >= ALL_WHOLE:
        with suppress(OverflowError):
            yield int(float(number))
    yield number


def _meets(way: MergedSchema, number: float, *, strictly: bool) -> bool:
    """Whether it still keeps to the merged schema, rounded as it may be."""
    get = way.rules.get
    return (
        (isinstance(number, int) or not way.whole)
        and get("minimum", -inf) <= number <= get("maximum", inf)
        and get("exclusiveMinimum", -inf) < number < get("exclusiveMaximum", inf)
        and all(_divides(part, number, strictly=strictly) for part in get("multipleOf", ()))
    )


def _divides(part: Fraction, number: float, *, strictly: bool) -> bool:
    """Whether a number is a multiple, exactly and (strictly) by the floats' division that many validators use."""
    if (exactly(number) / part).denominator != 1:
        return False
    if not strictly or (part.denominator == 1 and isinstance(number, int)):
        return True
    try:
        rough = number / float(part)
    except (OverflowError, ZeroDivisionError):
        return True
    return not isfinite(rough) or rough == int(rough)

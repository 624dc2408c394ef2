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
from mockserver.model.schema.merged_schema import MergedSchema
from mockserver.model.schema.texts import name_parts, table

# From here on all floats are whole numbers, and not all whole numbers are floats.
_ALL_WHOLE = 2**53
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
# More multiples than any number has of the finest step: the bound where there is none.
_OPEN = 10**700
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
    for finer in (0,) if way.whole or way.all("multipleOf") else (0, 4):
        key = usual, finer
        if key not in way.grids:
            way.grids[key] = _grid(way, usual, finer)
        grid: _Grid | None = way.grids[key]
        if grid is None:
            continue
        numerator, denominator = grid.step.as_integer_ratio()
        for index in _indexes(grid, draws, len(taken)):
            for number in _as_json(index * numerator, denominator, whole=way.whole):
                if number not in taken and _meets(way, number):
                    yield number
                    break
    for number in (*(way.rules[each] for each in ("minimum", "maximum") if each in way.rules), *_UNUSUAL):
        if number not in taken and _meets(way, number):
            yield number


class _Grid(NamedTuple):
    """The multiples of a step: the usual ones from `start` to `end`, all of them from `first` to `last`."""

    step: Fraction
    start: int
    end: int
    first: int
    last: int


def _grid(way: MergedSchema, usual: Range, finer: int) -> _Grid | None:
    """The multiples that a merged schema allows, with the usual ones; None when there is none."""
    # Each with what says which whole number is next to it on its inner side.
    lows, highs = (
        [(exactly(way.rules[keyword]), nearest) for keyword, nearest in ends.items() if keyword in way.rules]
        for ends in _BOUNDS
    )
    parts = [*(abs(exactly(each)) for each in way.all("multipleOf")), *([Fraction(1)] if way.whole else [])]
    if parts:
        denominator = lcm(*(part.denominator for part in parts))
        step = Fraction(lcm(*(part.numerator * (denominator // part.denominator) for part in parts)), denominator)
        if step == 0 or step.numerator.bit_length() > _MOST_BITS:
            return None
    else:
        # A power of ten. How far apart the bounds are; 0 is one, where there is none but a positive maximum.
        highest = min((high for high, _ in highs), default=Fraction(-1))
        room = highest - max((low for low, _ in lows), default=0)
        places, least = usual.places, _STEPS if usual.places else _WHOLE_STEPS
        while room > 0 and least > room * 10**places and places < _FINEST:
            places += 1
        step = Fraction(1, 10 ** (places + finer))
    first = max((least(bound / step) for bound, least in lows), default=-_OPEN)
    last = min((most(bound / step) for bound, most in highs), default=_OPEN)
    if first > last:
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


def _usual(start: int, end: int, first: int, last: int, one: int, scale: int | None) -> tuple[int, int]:
    """The usual multiples, from `start` to `end` where there are no bounds, that bounds leave; or others instead.

    `first` and `last` are the bounds, `one` is the multiple that 1 is. On a scale the bounds say what is usual. Else
    they do so where they leave nothing usual, or too little of it to choose from: all between them, or where they are
    open, or absurdly far apart, what is nearest to the usual.
    """
    # A scale that has an upper end only begins at 0.
    lowest = 0 if scale is not None and first == -_OPEN and last > start >= 0 else first
    nearer = 0 if lowest <= 0 <= last else min(abs(lowest), abs(last))
    is_closed = last - lowest <= _ABSURD * max(nearer, one)
    if scale is not None and is_closed:
        unusual = 0 if start <= lowest and last <= end else (last - lowest) * scale // 100
        return lowest + unusual, last
    low, high = max(first, start), min(last, end)
    count, left = end - start + 1, high - low + 1
    room = min(count, last - first + 1) if is_closed else count
    if left > 0 and (left == count or (left * _SHARE >= room and left >= min(room, _FEW))):
        return low, high
    return (first, last) if is_closed else _nearest(start, end, first, last)


def _nearest(start: int, end: int, first: int, last: int) -> tuple[int, int]:
    """The multiples within bounds that are nearest to usual ones, and as many; of very large ones more, lest all be
    alike. They are below 0 only where usual ones may be."""
    bound = last if last < max(start, end) else max(first, start)
    span = max(end - start, _BEYOND, abs(bound) >> _COARSE)
    if bound == last:
        return max(first, last - span, 0 if start >= 0 < last else first), last
    return bound, min(last, bound + span)


def _indexes(grid: _Grid, draws: Draws, excluded: int) -> Iterator[int]:
    """The multiples to be tried: some at random, then those next to the last of them, beyond the usual ones too."""
    index = grid.start
    for _ in range(_ATTEMPTS):
        index = grid.start + draws.below(grid.end - grid.start + 1)
        yield index
    yield from range(index + 1, min(grid.last, index + excluded + _ATTEMPTS) + 1)
    yield from range(index - 1, max(grid.first, index - excluded - _ATTEMPTS) - 1, -1)


def _as_json(numerator: int, denominator: int, *, whole: bool) -> Iterator[int | float]:
    """A number as JSON writes it: whole, or the nearest float; of a large one first what those read for whom every
    number is a float."""
    number: int | float = numerator // denominator
    if numerator % denominator or not (whole or abs(number) < _ALL_WHOLE):
        with suppress(OverflowError):
            yield numerator / denominator
        return
    if abs(number) >= _ALL_WHOLE:
        with suppress(OverflowError):
            yield int(float(number))
    yield number


def _meets(way: MergedSchema, number: float) -> bool:
    """Whether it still keeps to the merged schema, rounded as it may be."""
    get = way.rules.get
    return (
        (isinstance(number, int) or not way.whole)
        and get("minimum", -inf) <= number <= get("maximum", inf)
        and get("exclusiveMinimum", -inf) < number < get("exclusiveMaximum", inf)
        and all(_divides(part, number) for part in get("multipleOf", ()))
    )


def _divides(part: float, number: float) -> bool:
    """Whether a number is a multiple, exactly and by the floats' division that many validators use."""
    if (exactly(number) / exactly(part)).denominator != 1:
        return False
    if isinstance(part, int) and isinstance(number, int):
        return True
    try:
        rough = number / part
    except (OverflowError, ZeroDivisionError):
        return True
    return not isfinite(rough) or rough == int(rough)


def exactly(number: float) -> Fraction:
    """A number as it is written: 0.1 is a tenth. Of a large float the digits are rounded: it is what it holds."""
    if isinstance(number, int) or abs(number) >= _ALL_WHOLE:
        return Fraction(number)
    return Fraction(repr(number))

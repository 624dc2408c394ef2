"""Numbers within bounds: exact arithmetic, so that 19.99 is a multiple of 0.01 to every validator.

Numbers are multiples of a step: of 1, of a hundredth, of what the schema asks for. Which of them are usual says the
name of a property (`ranges.py`), as far as the schema's bounds leave it a say (`_usual`).
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import filterfalse
from math import ceil, floor, isfinite, lcm
from typing import Any, NamedTuple

from mockserver.core.seeding import Draws
from mockserver.model.schema.demands import Demand
from mockserver.model.schema.exact import ALL_WHOLE, exactly
from mockserver.model.schema.ranges import Range

_ATTEMPTS = 20
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


def write_number(demand: Demand, draws: Draws, usual: Range) -> Any:
    """A number that meets the demand, if possible a usual one. None when there is none."""
    if not (demand.multiples or demand.no_multiples or demand.excluded or demand.low_open or demand.high_open):
        if demand.whole:
            grid = _grid(demand, usual, 0)
            return None if grid is None else grid.start + draws.below(grid.end - grid.start + 1)
        if demand.whole is None and demand.low is None and demand.high is None:
            return _decimal(draws, usual)
    excluded = set[int | float]().union(*(values.numbers for values in demand.excluded))
    for finer in (0, 2, 6):
        grid = _grid(demand, usual, finer)
        if grid is None:
            continue
        for strictly in (True, False):
            indexes = _indexes(grid, draws, len(excluded))
            if demand.whole and grid.step == 1:
                # What has been drawn before needs no arithmetic to be passed over.
                indexes = filterfalse(excluded.__contains__, indexes)
            for index in indexes:
                number = _as_json(index * grid.step, whole=demand.whole)
                if number is not None and number not in excluded and _meets(demand, number, strictly=strictly):
                    return number
        if demand.multiples or demand.whole:
            break
    return None


def _decimal(draws: Draws, usual: Range) -> int | float:
    """What the first draw of the general way would give for numbers without bounds, without its arithmetic."""
    start, end, scale = _decimals(usual)
    index = start + draws.below(end - start + 1)
    return index // scale if index % scale == 0 else index / scale


@lru_cache(maxsize=256)
def _decimals(usual: Range) -> tuple[int, int, int]:
    """The first and the last whole number that is, divided by the third, usual."""
    scale: int = 10**usual.places
    return ceil(exactly(usual.low) * scale), floor(exactly(usual.high) * scale), scale


class _Grid(NamedTuple):
    """The multiples of a step: the usual ones from `start` to `end`, all of them from `first` to `last`."""

    step: Fraction
    start: int
    end: int
    first: int | None
    last: int | None


def _step(demand: Demand) -> Fraction | None:
    """What every number must be a multiple of; None when any number will do."""
    parts = [*demand.multiples, *([Fraction(1)] if demand.whole else [])]
    if not parts:
        return None
    denominator = lcm(*(part.denominator for part in parts))
    return Fraction(lcm(*(part.numerator * (denominator // part.denominator) for part in parts)), denominator)


def _fine(demand: Demand, places: int, finer: int) -> Fraction:
    """A power of ten with so many decimal places, more where there is little room, and `finer` ones beyond those."""
    least, room = _STEPS if places else _WHOLE_STEPS, _room(demand)
    while room and least > room * 10**places and places < _FINEST:
        places += 1
    return Fraction(1, 10 ** (places + finer))


def _room(demand: Demand) -> Fraction | None:
    """How far apart the bounds are; 0 is one, where there is none but a positive maximum."""
    if demand.high is None:
        return None
    low = demand.low or Fraction(0)
    return demand.high - low if low < demand.high else None


def _grid(demand: Demand, usual: Range, finer: int) -> _Grid | None:
    """The multiples that a demand allows, with the usual ones; None when there is none. Kept with the demand."""
    key = usual, finer
    if key not in demand.grids:
        demand.grids[key] = _laid(demand, _step(demand) or _fine(demand, usual.places, finer), usual)
    found: _Grid | None = demand.grids[key]
    return found


def _laid(demand: Demand, step: Fraction, usual: Range) -> _Grid | None:
    first = None if demand.low is None else ceil(demand.low / step)
    last = None if demand.high is None else floor(demand.high / step)
    if first is not None and demand.low_open and first * step == demand.low:
        first += 1
    if last is not None and demand.high_open and last * step == demand.high:
        last -= 1
    if first is not None and last is not None and first > last:
        return None
    start, end = ceil(exactly(usual.low) / step), floor(exactly(usual.high) / step)
    if demand.multiples and step >= 1 and end - start < 2:
        # The step is so coarse that hardly anything is usual.
        end = start + _BEYOND
    return _Grid(step, *_usual(start, end, first, last, ceil(1 / step), usual.scale), first, last)


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


def _as_json(number: Fraction, *, whole: bool | None) -> Any:
    """A number as JSON writes it: whole, or the nearest float, as all large ones are that need not be whole."""
    if number.denominator == 1 and (whole or abs(number) < ALL_WHOLE):
        return int(number)
    try:
        return float(number)
    except OverflowError:
        return None


def _meets(demand: Demand, number: Any, *, strictly: bool) -> bool:
    """Whether it still meets the demand, rounded as it may be; strictly: to the arithmetic of floats too."""
    if isinstance(number, float) and not isfinite(number):
        return False
    exact = exactly(number)
    if not _is_within(demand, exact) or (strictly and not _is_within(demand, _rounded(exact))):
        return False
    if demand.whole is not None and (exact.denominator == 1) is not demand.whole:
        return False
    if not all(_divides(part, number, strictly=strictly) for part in demand.multiples):
        return False
    return not any(_divides(part, number, strictly=False) for part in demand.no_multiples)


def _is_within(demand: Demand, exact: Fraction) -> bool:
    if demand.low is not None and (exact < demand.low or (demand.low_open and exact == demand.low)):
        return False
    return demand.high is None or (exact < demand.high or (not demand.high_open and exact == demand.high))


def _rounded(exact: Fraction) -> Fraction:
    """A whole number as those read it for whom every number is a float."""
    if exact.denominator != 1 or abs(exact) < ALL_WHOLE:
        return exact
    try:
        return Fraction(float(exact))
    except OverflowError:
        return exact


def _divides(part: Fraction, number: Any, *, strictly: bool) -> bool:
    """Whether a number is a multiple, exactly and (strictly) by the floats' division that many validators use."""
    if part == 0:
        return False
    quotient = exactly(number) / part
    if not strictly or (part.denominator == 1 and isinstance(number, int)):
        return quotient.denominator == 1
    try:
        rough = number / float(part)
    except (OverflowError, ZeroDivisionError):
        return quotient.denominator == 1
    return quotient.denominator == 1 and (not isfinite(rough) or rough == int(rough))

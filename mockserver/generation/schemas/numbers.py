"""Numbers within bounds: exact arithmetic, so that 19.99 is a multiple of 0.01 to every validator."""

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, isfinite, lcm
from typing import Any, NamedTuple

from mockserver.core.json_values import exactly
from mockserver.core.seeding import Draws
from mockserver.generation.schemas.demands import Demand

_ATTEMPTS = 20
# The most decimal places of a float.
_FINEST = 320


def write_number(demand: Demand, draws: Draws, low: float, high: float, places: int) -> Any:
    """A number that meets the demand, if possible one from `low` to `high` with so many decimal places.

    None when there is none.
    """
    if not (demand.multiples or demand.no_multiples or demand.excluded or demand.low_open or demand.high_open):
        if demand.whole:
            return _whole_number(demand, draws, low, high)
        if demand.whole is None and demand.low is None and demand.high is None:
            return _decimal(draws, low, high, places)
    step = _step(demand)
    excluded = {value for value in demand.excluded if isinstance(value, int | float) and not isinstance(value, bool)}
    for finer in (0, 2, 6):
        grid = _grid(demand, step or _fine(demand, places + finer), low, high)
        if grid is None:
            continue
        for strictly in (True, False):
            for index in _indexes(grid, draws, len(excluded)):
                number = _as_json(index * grid.step)
                if number is not None and number not in excluded and _meets(demand, number, strictly=strictly):
                    return number
        if step is not None:
            break
    return None


def _whole_number(demand: Demand, draws: Draws, low: float, high: float) -> int | None:
    """What the first draw of the general way would give, without its arithmetic."""
    first = None if demand.low is None else ceil(demand.low)
    last = None if demand.high is None else floor(demand.high)
    if first is not None and last is not None and first > last:
        return None
    start, end = _usual(*_multiples(low, high, 1), first, last)
    return start + draws.below(end - start + 1)


def _decimal(draws: Draws, low: float, high: float, places: int) -> int | float:
    """The same for numbers without bounds, with so many decimal places."""
    scale: int = 10**places
    start, end = _usual(*_multiples(low, high, scale), None, None)
    index = start + draws.below(end - start + 1)
    return index // scale if index % scale == 0 else index / scale


@lru_cache(maxsize=256)
def _multiples(low: float, high: float, scale: int) -> tuple[int, int]:
    """The first and the last whole number that is, divided by the scale, within the usual range."""
    return ceil(exactly(low) * scale), floor(exactly(high) * scale)


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


def _fine(demand: Demand, places: int) -> Fraction:
    """A power of ten with so many decimal places; with more where the bounds are closer together."""
    step = Fraction(1, 10**places)
    if demand.low is not None and demand.high is not None and demand.low < demand.high:
        while step * 4 > demand.high - demand.low and places < _FINEST:
            places += 1
            step /= 10
    return step


def _grid(demand: Demand, step: Fraction, low: float, high: float) -> _Grid | None:
    """The multiples within the bounds, the usual ones as near to the usual range as they allow; None when none is."""
    first = None if demand.low is None else ceil(demand.low / step)
    last = None if demand.high is None else floor(demand.high / step)
    if first is not None and demand.low_open and first * step == demand.low:
        first += 1
    if last is not None and demand.high_open and last * step == demand.high:
        last -= 1
    if first is not None and last is not None and first > last:
        return None
    return _Grid(step, *_usual(ceil(exactly(low) / step), floor(exactly(high) / step), first, last), first, last)


def _usual(start: int, end: int, first: int | None, last: int | None) -> tuple[int, int]:
    """The usual range between bounds; where nothing usual is allowed, or no multiple is there, what is nearest."""
    span = max(end - start, 9)
    start = start if first is None else max(first, start)
    end = end if last is None else min(last, end)
    if start > end:
        if last is not None and last < start:
            start, end = last - span, last
        else:
            end = start + span
        start = start if first is None else max(first, start)
        end = end if last is None else min(last, end)
    return start, end


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


def _as_json(number: Fraction) -> Any:
    """A number as JSON writes it: whole, or the nearest float."""
    if number.denominator == 1:
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
    if demand.low is not None and (exact < demand.low or (demand.low_open and exact == demand.low)):
        return False
    if demand.high is not None and (exact > demand.high or (demand.high_open and exact == demand.high)):
        return False
    if demand.whole is not None and (exact.denominator == 1) is not demand.whole:
        return False
    if not all(_divides(part, number, strictly=strictly) for part in demand.multiples):
        return False
    return not any(_divides(part, number, strictly=False) for part in demand.no_multiples)


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

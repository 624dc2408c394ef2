"""Usual numbers: how large what a property's name, or its description, speaks of mostly is."""

from functools import lru_cache
from typing import NamedTuple

from mockserver.model.schema.values import name_parts


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


_RANGE_ROWS: tuple[tuple[Range, str], ...] = (
    (Range(18, 79), "age"),
    (Range(2005, 2025), "year"),
    (Range(1, 12), "month|hours|weeks|months|quantity|qty"),
    (Range(1, 28), "day"),
    (Range(0, 23), "hour"),
    (Range(0, 59), "minute|second"),
    (Range(5, 90), "minutes"),
    (Range(1, 59), "seconds"),
    (Range(1, 30), "days"),
    (Range(1, 20), "years|position|rank|order|floor"),
    (Range(5, 120), "duration"),
    (Range(5, 500, 2), "price|cost"),
    (Range(5, 900, 2), "amount"),
    (Range(20, 900, 2), "total|subtotal"),
    (Range(1, 50, 2), "fee"),
    (Range(0, 30, 2), "discount"),
    (Range(1, 90, 2), "tax"),
    (Range(100, 5000, 2), "balance"),
    (Range(1000, 90000, 2), "budget"),
    (Range(28000, 140000), "salary|income"),
    (Range(10000, 900000, 2), "revenue"),
    (Range(1, 40), "count|page"),
    (Range(0, 200), "stock"),
    (Range(1, 5, 1, scale=0), "rating"),
    (Range(1, 5, scale=0), "stars|priority"),
    (Range(1, 5), "bedrooms"),
    (Range(0, 1, 2, scale=0), "score|probability|likelihood|similarity|relevance|ratio|rate|share|fraction|alpha"),
    (Range(0.5, 1, 2, scale=50), "confidence"),
    (Range(0, 100, 1, scale=0), "percent|percentage"),
    (Range(-5, 34, 1), "temperature"),
    (Range(20, 95), "humidity"),
    (Range(-60, 70, 4), "latitude|lat"),
    (Range(-170, 170, 4), "longitude|lon|lng"),
    (Range(100, 210), "height"),
    (Range(20, 1200), "width"),
    (Range(1, 200), "length"),
    (Range(1, 90), "depth"),
    (Range(1, 90, 1), "weight"),
    (Range(1, 900, 1), "distance"),
    (Range(1, 900), "size"),
    (Range(20, 400, 1), "area"),
    (Range(5, 120, 1), "speed"),
    (Range(20000, 9000000), "population"),
    (Range(1024, 49151), "port"),
    (Range(1000, 99999), "id"),
    (Range(1, 999), "number"),
    (Range(0, 9), "index"),
    (Range(1, 10, scale=0), "level"),
    (Range(80, 600), "pages"),
    (Range(1.68e9, 1.76e9), "timestamp"),
    (Range(100, 90000), "views"),
    (Range(5, 4000), "likes"),
    (Range(80, 900), "calories"),
    (Range(1, 8), "servings"),
    (Range(1, 9), "version"),
    (Range(100, 999), "code"),
    (Range(200, 204), "status"),
    (Range(0, 255), "red|green|blue"),
    (Range(10000, 99999), "zip"),
    (Range(500, 900000), "bytes"),
    (Range(1, 6), "rooms|guests"),
    (Range(1, 3), "bathrooms"),
    (Range(2, 60), "seats"),
    (Range(0, 500, scale=0), "x|y|z"),
    (Range(0, 5), "retries"),
    (Range(5, 60), "timeout"),
    (Range(10, 100), "limit"),
    (Range(0, 100), "offset"),
)
_RANGES = {name: numbers for numbers, names in _RANGE_ROWS for name in names.split("|")}
# Of a number that nothing is known of its bounds say most.
_UNKNOWN = Range(1, 100, 2, scale=0)


@lru_cache(maxsize=1024)
def range_of(name: str, about: str, *, whole: bool) -> Range:
    """The usual numbers of a property. Of shares that can only be whole they are percentages."""
    parts = (*reversed(name_parts(name)), *name_parts(about[:200]))
    found = next((_RANGES[part] for part in parts if part in _RANGES), _UNKNOWN)
    if whole and found.high <= 1:
        return found._replace(low=100 * found.low, high=100 * found.high)
    return found

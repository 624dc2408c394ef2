"""Cron expressions: five fields (minute, hour, day of the month, month, day of the week), or one of the usual names.

A field is `*`, a number, a name (`JAN`, `MON`), a range (`1-5`), each with a step (`*/5`), or a list of them. If both
the day of the month and the day of the week are restricted, one of them has to fit. A time zone may precede them, as in
`CRON_TZ=America/New_York 0 9 * * *`; without it, times are in UTC.
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import NamedTuple

_NAMES: Mapping[str, str] = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_UTC: tzinfo = UTC
_ZONES = ("CRON_TZ=", "TZ=")
# A 29th of February may be eight years away.
_MOST_DAYS = 8 * 366


class _Field(NamedTuple):
    """A field: its name, the least and the greatest number, and the names of numbers, from `first` on."""

    name: str
    least: int
    most: int
    names: tuple[str, ...] = ()
    first: int = 0


_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of month", 1, 31),
    _Field("month", 1, 12, _MONTHS, 1),
    _Field("day of week", 0, 7, _WEEKDAYS),
)


class Cron(NamedTuple):
    """When a schedule is triggered. `days` or `weekdays` are None if the field is `*`; Sunday is 0."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int] | None
    months: frozenset[int]
    weekdays: frozenset[int] | None
    zone: tzinfo = _UTC

    def next_after(self, instant: float) -> float | None:
        """The first time after an instant, both in Unix seconds; None if there is none in eight years."""
        today = datetime.fromtimestamp(instant, self.zone).date()
        for ahead in range(_MOST_DAYS):
            day = today + timedelta(ahead)
            if self._fits(day):
                times = (self._at(day, hour, minute) for hour in self.hours for minute in self.minutes)
                found = next((time for time in times if time > instant), None)
                if found is not None:
                    return found
        return None

    def _at(self, day: date, hour: int, minute: int) -> float:
        return datetime(day.year, day.month, day.day, hour, minute, tzinfo=self.zone).timestamp()

    def _fits(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        # Monday is 1.
        weekday = day.isoweekday() % 7
        if self.days is None or self.weekdays is None:
            return (self.days is None or day.day in self.days) and (self.weekdays is None or weekday in self.weekdays)
        return day.day in self.days or weekday in self.weekdays


def read_cron(text: str) -> Cron:
    """A cron expression. Raises ValueError."""
    words, zone = text.split(), _UTC
    prefix = next((prefix for prefix in _ZONES if text.startswith(prefix)), None)
    if prefix is not None:
        zone = _zone(words[0].removeprefix(prefix))
        del words[0]
    words = _NAMES.get(" ".join(words).lower(), " ".join(words)).split()
    if len(words) != len(_FIELDS):
        raise ValueError(f"expected exactly {len(_FIELDS)} fields, found {len(words)}: [{' '.join(words)}]")
    minutes, hours, days, months, weekdays = map(_read_field, words, _FIELDS)
    return Cron(
        tuple(sorted(minutes)),
        tuple(sorted(hours)),
        None if words[2] in ("*", "?") else days,
        months,
        None if words[4] in ("*", "?") else frozenset(number % 7 for number in weekdays),
        zone,
    )


def _zone(name: str) -> tzinfo:
    # Few schedules have a time zone.
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"unknown time zone {name}") from None


def _read_field(text: str, field: _Field) -> frozenset[int]:
    return frozenset(number for part in text.split(",") for number in _read_part(part, field))


def _read_part(text: str, field: _Field) -> range:
    """The numbers of a range with or without a step."""
    span, slash, step = text.partition("/")
    low, dash, high = span.partition("-")
    # Sunday is both the first and the last day of the week.
    end = field.most - (field.names == _WEEKDAYS)
    if span in ("*", "?"):
        first, last = field.least, end
    else:
        first = _number(low, field)
        # A single number with a step goes on to the end.
        last = _number(high, field) if dash else end if slash else first
    width = int(step) if step.isdecimal() and step.isascii() and len(step) < 4 else 0
    if first > last or (slash and not width):
        raise ValueError(f"invalid {field.name} {text!r}")
    return range(first, last + 1, width if slash else 1)


def _number(text: str, field: _Field) -> int:
    name = text.upper()
    if name in field.names:
        return field.names.index(name) + field.first
    number = int(text) if text.isdecimal() and text.isascii() and len(text) < 4 else -1
    if not field.least <= number <= field.most:
        raise ValueError(f"invalid {field.name} {text!r}: it must be from {field.least} to {field.most}")
    return number

"""Dates and times that a prompt states, as the formats of JSON Schema write them: "December 10, 1815" is 1815-12-10,
"7:30 am" is 07:30:00Z."""

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, time

MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)"
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# Year, month and day; month, day and year, as in the USA where it is all numbers; day, month and year.
_DATES = (
    re.compile(r"(?<!\d)(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)(?!\d)"),
    re.compile(
        rf"(?<![\w/])(?P<month>{MONTH}\.?|\d{{1,2}}(?=/))[ /](?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:,? |/)"
        r"(?P<year>\d{4})\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month>{MONTH})\.?,? (?P<year>\d{{4}})\b", re.IGNORECASE
    ),
)
_TIME = re.compile(
    r"(?<![\d:.,$+-])(\d{1,2})(?::([0-5]\d)(?::([0-5]\d))?)?(?: ?([ap])\.?m\b|(?<=:\d\d)(?![\d:]))", re.I
)
_DATE_TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?[+-]\d\d:\d\d\b")


def moments(text: str, form: str) -> Iterator[str]:
    """The values of a `date`, `time` or `date-time` in a text; a time is that of the date before it, or of the first.

    None for any other format.
    """
    if form not in ("date", "time", "date-time"):
        return
    dates = sorted(found for pattern in _DATES for match in pattern.finditer(text) for found in _date(match))
    if form == "date":
        yield from (day for _, day in dates)
        return
    times = [found for match in _TIME.finditer(text) for found in _time(match)]
    if form == "time":
        yield from (hour for _, hour in times)
        return
    yield from _DATE_TIME.findall(text)
    for place, hour in times if dates else ():
        yield f"{max((each for each in dates if each[0] < place), default=dates[0])[1]}T{hour}"
    yield from () if times else (f"{day}T00:00:00Z" for _, day in dates)


def _date(match: re.Match[str]) -> Iterator[tuple[int, str]]:
    """Where a date is, and how it is written; none if there is no such day."""
    month = match["month"]
    number = int(month) if month.isdigit() else _MONTHS.index(month[:3].casefold()) + 1
    with suppress(ValueError):
        yield match.start(), date(int(match["year"]), number, int(match["day"])).isoformat()


def _time(match: re.Match[str]) -> Iterator[tuple[int, str]]:
    hour, minute, second = (int(part or 0) for part in match.group(1, 2, 3))
    if match[4]:
        hour = hour % 12 + 12 * (match[4].lower() == "p")
    with suppress(ValueError):
        yield match.start(), f"{time(hour, minute, second).isoformat()}Z"

"""Durations as QStash writes them (`1d10h30m`), and the waits that answers ask for."""

import re
from email.utils import parsedate_to_datetime

from mockserver.core.timeline import RawHeaders

# "Each delay is capped at 1 day."
DAY = 86_400.0
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": DAY}
_PART = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)(ns|us|µs|ms|s|m|h|d)")
_WHOLE = re.compile(rf"(?:{_PART.pattern})+")
_NUMBER = re.compile(r"\d{1,12}(?:\.\d{1,9})?")
# The headers of an answer that say when to retry, in this order.
_RESETS = (b"retry-after", b"x-ratelimit-reset", b"x-ratelimit-reset-requests", b"x-ratelimit-reset-tokens")
# A number of seconds above this is a Unix time.
_LONG_AGO = 1e9


def duration(text: str) -> float:
    """A duration such as `50s` or `1d10h30m`, in seconds. Raises ValueError."""
    text = text.strip()
    if not _WHOLE.fullmatch(text):
        raise ValueError(f"{text!r} is no duration, such as 10s, 5m, 2h or 1d10h30m")
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))


def wanted_wait(headers: RawHeaders, now: float) -> float | None:
    """The wait before the next retry that an answer asks for, in seconds; None if it asks for none of up to a day."""
    found: dict[bytes, str] = {}
    for name, value in reversed(headers):
        found[name.lower()] = value.decode("latin-1").strip()
    for name in _RESETS:
        wait = _wait(found[name], now) if name in found else None
        # "If you specify a value beyond this limit, the backoff algorithm will be applied."
        if wait is not None and wait <= DAY:
            return max(wait, 0.0)
    return None


def _wait(text: str, now: float) -> float | None:
    """The seconds that a header states as a number, a duration, a date or a Unix time; None if it is none of these."""
    if _NUMBER.fullmatch(text):
        seconds = float(text)
        return seconds - now if seconds > _LONG_AGO else seconds
    if _WHOLE.fullmatch(text):
        return duration(text)
    try:
        return parsedate_to_datetime(text).timestamp() - now
    except (ValueError, OverflowError, IndexError, TypeError):
        return None

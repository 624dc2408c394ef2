"""The results of reading recorded traffic: exchanges, incomplete exchanges, and errors."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

# Statuses that are due to the state of the vendor or the caller, not to the request.
CIRCUMSTANCES = (401, 402, 403, 408, 429, *range(500, 600))


class RecordingError(ValueError):
    """A text that is not a recording; the message says what would have been one."""


class Recorded(NamedTuple):
    """One exchange as it was recorded: `place` is where in the recording, `dialect` whose API it used, if known.

    Header names are in lower case. `first` is when the answer began, in seconds after the request, `gap` the average
    time between the events of a stream; both are None if they were not recorded. `times` are when the events of a
    stream arrived; empty if that was not recorded of each.
    """

    place: str
    method: str
    host: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes
    status: int
    answered: Mapping[str, str]
    answer: bytes
    dialect: str | None = None
    first: float | None = None
    gap: float | None = None
    times: tuple[float, ...] = ()


class Lost(NamedTuple):
    """An exchange that cannot be replayed, and why."""

    place: str
    why: str


class LostError(Exception):
    """An exchange lacks what is needed to replay it; the message says what."""


def by_lower_name(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Headers by their names in lower case; the first of equal names counts. HTTP/2 pseudo-headers are left out."""
    headers: dict[str, str] = {}
    for name, value in pairs:
        if not name.startswith(":"):
            headers.setdefault(name.lower(), value)
    return headers

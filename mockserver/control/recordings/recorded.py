"""What is read of recorded traffic: exchanges, those of which something is lost, and texts that are no recording."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class RecordingError(ValueError):
    """A text that is no recording; the text says what would have been one."""


class Recorded(NamedTuple):
    """One exchange as it was recorded: `place` is where it stands, `dialect` whose it was, where that is known.

    Header names are in lower case. `first` is when the answer began, in seconds after the request, `gap` the time
    between the events of a stream in the middle; None where nobody has looked.
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


class Lost(NamedTuple):
    """What cannot be given again, and why."""

    place: str
    why: str


class LostError(Exception):
    """An exchange lacks what it would take to give it again; the text says what."""


def lower(pairs: Any) -> dict[str, str]:
    """Headers by their names in lower case; the first of equal names counts. HTTP/2's own have a colon in front."""
    headers: dict[str, str] = {}
    for name, value in pairs:
        if not name.startswith(":"):
            headers.setdefault(name.lower(), value)
    return headers

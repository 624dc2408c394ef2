"""Recorded exchanges, whatever they were read from: as values, as calls to a dialect, and as events of an answer."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import orjson

from mockserver.core.calls import Call, Headers
from mockserver.core.json_values import nests_absurdly
from mockserver.core.secrets import is_secret
from mockserver.routes import Routes, choose_rival
from mockserver.state.context import RouteMatch

# Statuses that are due to the state of the vendor or the caller, not to the request.
CIRCUMSTANCES = (401, 402, 403, 408, 429, *range(500, 600))
# The headers by which clients decide what to do next, and the ids by which vendors find requests.
_SIGNIFICANT = re.compile(r"retry-after(?:-ms)?|x-should-retry|.*rate-?limit.*|(?:x-)?request-id|www-authenticate")
# The prefix of headers that our server would obey.
_OVERRIDES = "x-mockserver-"
# An answered request had a key, which hardly any recording keeps.
_KEY = (b"authorization", b"Bearer recorded")
_END_OF_EVENT = re.compile(rb"\r?\n\r?\n")


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


class RecordedEvent(NamedTuple):
    """One event: the names of its fields as they were written (`data: `), and its data.

    `value` is the data as JSON, or as text if it is not JSON, such as `[DONE]`.
    """

    fields: tuple[str, ...]
    value: Any


def route_of(recorded: Recorded, router: Routes) -> RouteMatch | None:
    """Where a request lands: at its dialect if that is known, else by the longest end of its path that is served. A
    route of the user's own takes precedence."""
    parts = recorded.path.split("/")[1:]
    ends = ["/" + "/".join(parts[start:]) for start in range(len(parts))]
    known = [f"/{recorded.dialect}{end}" for end in ends] if recorded.dialect is not None else []
    for path, host in ((recorded.path, recorded.host), *((path, "") for path in (*known, *ends))):
        route = router.find(recorded.method, path, host)
        if route is None or route.operation is None:
            continue
        if route.rivals and recorded.dialect is None:
            return choose_rival(route, call_of(recorded, route).headers, recorded.body, {})
        if route.configured is not None or recorded.dialect in (None, route.dialect.name):
            return route
    return None


def call_of(recorded: Recorded, route: RouteMatch) -> Call:
    """The call at the dialect's own path with a made-up key, without secrets and headers that would be obeyed here."""
    plain = ((name, value) for name, value in recorded.headers.items() if not (is_secret(name) or _OVERRIDES in name))
    sent = ((name.encode("latin-1", "replace"), value.encode("latin-1", "replace")) for name, value in plain)
    return Call(recorded.method, route.path, Headers([_KEY, *sent]), recorded.body, recorded.query)


def is_significant(name: str, value: str) -> bool:
    """Whether a header of a recorded answer tells its client something: of retries, limits or ids, and no secret."""
    return bool(_SIGNIFICANT.fullmatch(name)) and not is_secret(name) and can_be_sent(value)


def can_be_sent(value: str) -> bool:
    """Whether a header of an answer can have this value."""
    return value.isprintable() and value == value.strip() and all(ord(letter) < 256 for letter in value)


def events_of(answer: bytes, *, streamed: bool) -> list[RecordedEvent]:
    """The events of an answer, in order."""
    if not streamed:
        return [RecordedEvent((), _value(answer))]
    return [_event(block) for block in _END_OF_EVENT.split(answer) if block.strip()]


def _event(block: bytes) -> RecordedEvent:
    fields, data = [], []
    for line in block.splitlines():
        name, colon, rest = line.partition(b":")
        blank = b" " if rest.startswith(b" ") else b""
        fields.append((name + colon + blank).decode(errors="replace"))
        if name == b"data":
            data.append(rest.removeprefix(b" "))
    return RecordedEvent(tuple(fields), _value(b"\n".join(data)))


def _value(data: bytes) -> Any:
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return data.decode(errors="replace")
    return data.decode() if nests_absurdly(data, value) else value

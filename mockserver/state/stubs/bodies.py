"""Bodies as they are sent, in no vendor's format: from a reply itself, or from a file that it names."""

import re
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Callable
from itertools import pairwise
from pathlib import PurePath

from mockserver.latency.traces import Recording, TraceError, read_trace
from mockserver.state.stubs.registry import Raw
from mockserver.state.stubs.values import StubError, Table, header_of, json_of, list_of, seconds_of, text_of, whole_of

# Reads the file that a reply names; raises OSError.
Files = Callable[[str], bytes]

_BODIES = ("body", "body_base64", "file")
RAW = (*_BODIES, "status", "content_type", "event_times")
_TYPES = {
    ".json": "application/json",
    ".sse": "text/event-stream",
    ".html": "text/html; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
}
_PLAIN_TEXT = _TYPES[".txt"]
_EVENT_END = re.compile(rb"(?<=\n\n)|(?<=\r\n\r\n)")


def events_in(body: bytes) -> list[bytes]:
    """The server-sent events of a body, each with the blank line after it; joined, they are the body."""
    return [event for event in _EVENT_END.split(body) if event]


def with_files(table: Table, place: str, files: Files | None) -> Table:
    """The table with the contents of the files that it names: its body, and the times of the body's events."""
    return _with_body(_with_times(table, place, files), place, files)


def _with_times(table: Table, place: str, files: Files | None) -> Table:
    if not isinstance(table.get("event_times"), str):
        return table
    name = text_of(table["event_times"], f"{place}.event_times")
    data = _content(name, f"{place}.event_times", "a list", files)
    try:
        return {**table, "event_times": read_trace(Recording(name), data)}
    except TraceError as error:
        raise StubError(f"{place}.event_times: {error}") from None


def _content(name: str, place: str, otherwise: str, files: Files | None) -> bytes:
    """The content of the file of that name."""
    if files is None:
        raise StubError(f"{place}: only stub files and config files can name files; use {otherwise}")
    try:
        return files(name)
    except OSError as error:
        raise StubError(f"{place}: {name}: {error.strerror or error}") from None


def _with_body(table: Table, place: str, files: Files | None) -> Table:
    if "file" not in table:
        return table
    both = next((key for key in ("body", "body_base64") if key in table), None)
    if both is not None:
        raise StubError(f"{place}: can have only one of {', '.join(_BODIES)}, not both file and {both}")
    name = text_of(table["file"], f"{place}.file")
    data = _content(name, f"{place}.file", "body or body_base64", files)
    kind = {"content_type": table.get("content_type", _TYPES.get(PurePath(name).suffix) or _kind_of(data))}
    rest = {key: value for key, value in table.items() if key != "file"}
    try:
        return {**rest, **kind, "body": data.decode()}
    except UnicodeDecodeError:
        return {**rest, **kind, "body_base64": b64encode(data).decode()}


def read_body(table: Table, place: str) -> Raw:
    """The body of a reply, with its status and content type. Raises StubError."""
    given = [key for key in _BODIES if key in table]
    if len(given) > 1:
        raise StubError(f"{place}: can have only one of {', '.join(_BODIES)}, not both {' and '.join(given)}")
    body, guess = _body(table, place)
    status = whole_of(table.get("status", 200), f"{place}.status", 200, 599)
    if status in (204, 304) and body:
        raise StubError(f"{place}.status: an answer with status {status} cannot have a body")
    kind = header_of(table.get("content_type", guess), f"{place}.content_type").decode("latin-1")
    return Raw(status, body, kind, _times(table, place, body, kind))


def is_stream(content_type: str) -> bool:
    """Whether a body of this type is a stream of server-sent events."""
    return content_type.partition(";")[0].strip().lower() == "text/event-stream"


def _times(table: Table, place: str, body: bytes, kind: str) -> tuple[float, ...]:
    """When the events of a body are sent; none if the latency decides."""
    if "event_times" not in table:
        return ()
    place = f"{place}.event_times"
    if not is_stream(kind):
        raise StubError(f"{place}: a body of type {kind} is sent at once; only text/event-stream has events")
    if "latency" in table:
        raise StubError(f"{place}: cannot be combined with latency, which also sets when events are sent")
    times = tuple(seconds_of(each, place) for each in list_of(table["event_times"], place))
    events = len(events_in(body))
    if len(times) != events:
        raise StubError(f"{place}: has {len(times)} times, but the body has {events} events")
    if any(later < earlier for earlier, later in pairwise(times)):
        raise StubError(f"{place}: an event cannot be sent before the previous one")
    return times


def _body(table: Table, place: str) -> tuple[bytes, str]:
    """The body, and its probable content type."""
    if "body_base64" in table:
        return _decoded(table["body_base64"], f"{place}.body_base64"), "application/octet-stream"
    body = table.get("body", "")
    if not isinstance(body, str):
        return json_of(body, f"{place}.body").encode(), "application/json"
    data = text_of(body, f"{place}.body").encode()
    return data, _kind_of(data)


def _kind_of(data: bytes) -> str:
    """The probable content type of a text, by its beginning."""
    begin = data.lstrip()[:6]
    if begin.startswith((b"{", b"[")):
        return _TYPES[".json"]
    return _TYPES[".sse"] if begin.startswith((b"data:", b"event:", b":")) else _PLAIN_TEXT


def _decoded(value: object, place: str) -> bytes:
    try:
        return b64decode(text_of(value, place), validate=True)
    except (Base64Error, ValueError):
        raise StubError(f"{place}: is not valid base64") from None

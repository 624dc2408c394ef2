"""Recorded traffic read again: a journal (`journal.jsonl`), or an HTTP Archive (HAR) of a browser, a proxy or our own.

What is no whole exchange (no body kept, a WebSocket, an answer that broke off) becomes a `Lost`, with its reason.
"""

import base64
from binascii import Error as Base64Error
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import orjson

_WANTED = "wanted is a journal (journal.jsonl of the admin API), or an HTTP Archive (HAR)"
# A journal tells no more events of one answer than these.
_MOST_EVENTS = 20_000


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


class _LostError(Exception):
    """An exchange lacks what it would take to give it again; the text says what."""


def read_recording(data: bytes) -> list[Recorded | Lost]:
    """Every exchange of a recording, in its order. Raises RecordingError."""
    try:
        whole = orjson.loads(data)
    except orjson.JSONDecodeError:
        return list(_each("line", _lines(data), _of_journal))
    if isinstance(whole, dict) and isinstance(whole.get("log"), dict):
        entries = whole["log"].get("entries")
        if isinstance(entries, list):
            return list(_each("entry", list(enumerate(entries, 1)), _of_archive))
    if isinstance(whole, dict) and "number" in whole:
        return list(_each("line", [(1, whole)], _of_journal))
    raise RecordingError(f"is JSON, but no recording; {_WANTED}")


def _lines(data: bytes) -> list[tuple[int, Any]]:
    lines = []
    for number, line in enumerate(data.splitlines(), 1):
        try:
            lines += [(number, orjson.loads(line))] if line.strip() else []
        except orjson.JSONDecodeError as error:
            raise RecordingError(f"line {number}: is no JSON ({error}); {_WANTED}") from None
    if not lines:
        raise RecordingError(f"is empty; {_WANTED}")
    return lines


def _each(word: str, items: Sequence[tuple[int, Any]], read: Any) -> Iterator[Recorded | Lost]:
    for number, value in items:
        place = f"{word} {number}"
        try:
            yield read(place, value)
        except _LostError as error:
            yield Lost(place, str(error))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise RecordingError(f"{place}: is no exchange ({type(error).__name__}: {error}); {_WANTED}") from None


# --- a line of a journal -----------------------------------------------------------------------------------------


def _of_journal(place: str, exchange: Mapping[str, Any]) -> Recorded:
    if "answer" not in exchange:
        raise _LostError("is told without its answer; save journal.jsonl, which has it")
    request, answer, outcome = exchange["request"], exchange["answer"], exchange["outcome"]
    if exchange["decision"]["by"] == "denial":
        raise _LostError(f"nothing is served at {exchange['path']}")
    if answer["ending"] is not None:
        raise _LostError(f"its answer broke off ({answer['ending']}): that is said by a fault")
    if outcome["closed_by"] != "server":
        raise _LostError("its answer was left, or still open, before its end")
    events = answer["events"]
    if len(events) >= _MOST_EVENTS:
        raise _LostError("its answer has more events than a journal tells")
    streamed = exchange["streamed"]
    times = [event["sent"] for event in events if event["sent"] is not None]
    return Recorded(
        place=place,
        method=exchange["method"],
        host=request["headers"].get("host", ""),
        path=exchange["path"],
        query=request["query"],
        headers=request["headers"],
        body=_bytes_under("body", request),
        status=answer["status"],
        answered=_lower(answer["headers"].items()),
        answer=b"".join(_bytes_under("data", event) for event in events) if streamed else _bytes_under("body", answer),
        dialect=exchange.get("dialect"),
        first=times[0] if times else None,
        gap=_middle([later - earlier for earlier, later in pairwise(times)]) if streamed else None,
    )


def _bytes_under(key: str, table: Mapping[str, Any]) -> bytes:
    """The bytes that a journal has under a key: as base64, as text, or as a JSON value."""
    if f"{key}_base64" in table:
        return base64.b64decode(table[f"{key}_base64"], validate=True)
    value = table.get(f"{key}_text", table.get(key, ""))
    return value.encode() if isinstance(value, str) else orjson.dumps(value)


def _middle(gaps: Sequence[float]) -> float | None:
    return sum(gaps) / len(gaps) if gaps else None


# --- an entry of an archive --------------------------------------------------------------------------------------


def _of_archive(place: str, entry: Mapping[str, Any]) -> Recorded:
    request, response = entry["request"], entry["response"]
    target, status = urlsplit(request["url"]), response["status"]
    if target.scheme in ("ws", "wss") or status == 101:
        raise _LostError("is a WebSocket")
    if not 200 <= status <= 599:
        raise _LostError(f"has no answer (status {status})")
    if response.get("_error"):
        raise _LostError(f"its answer broke off ({response['_error']}): that is said by a fault")
    own = entry.get("_mockserver", {})
    if own.get("outcome", {}).get("closed_by", "server") != "server":
        raise _LostError("its answer was left, or still open, before its end")
    body = _content(response.get("content", {}))
    if body is None:
        raise _LostError("the body of its answer was not recorded")
    sent = _posted(request)
    if sent is None:
        raise _LostError("the body of its request was not recorded")
    timings, events = entry.get("timings", {}), body.count(b"\n\n") or body.count(b"\r\n\r\n")
    return Recorded(
        place=place,
        method=request["method"],
        host=target.hostname or "",
        path=target.path or "/",
        query=target.query,
        headers=_lower((each["name"], each["value"]) for each in request.get("headers", ())),
        body=sent,
        status=status,
        answered=_lower((each["name"], each["value"]) for each in response.get("headers", ())),
        answer=body,
        dialect=own.get("dialect"),
        first=_seconds(timings.get("wait")),
        gap=_shared(_seconds(timings.get("receive")), events - 1),
    )


def _content(content: Mapping[str, Any]) -> bytes | None:
    """The body of an answer; None where it was not kept."""
    text = content.get("text")
    if not text:
        return b"" if text == "" or content.get("size") == 0 else None
    return _unpacked(text, content.get("encoding"))


def _posted(request: Mapping[str, Any]) -> bytes | None:
    """The body of a request; None where it was not kept."""
    posted = request.get("postData") or {}
    text = posted.get("text")
    if text:
        return _unpacked(text, posted.get("encoding"))
    return None if request.get("bodySize", -1) > 0 or request["method"] == "POST" else b""


def _unpacked(text: str, encoding: str | None) -> bytes:
    if encoding != "base64":
        return text.encode()
    try:
        return base64.b64decode(text, validate=True)
    except Base64Error:
        raise _LostError("a body in base64 is none") from None


def _lower(pairs: Any) -> dict[str, str]:
    """Headers by their names in lower case; the first of equal names counts. HTTP/2's own have a colon in front."""
    headers: dict[str, str] = {}
    for name, value in pairs:
        if not name.startswith(":"):
            headers.setdefault(name.lower(), value)
    return headers


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None or milliseconds < 0 else milliseconds / 1000


def _shared(seconds: float | None, count: int) -> float | None:
    return None if seconds is None or count < 1 else seconds / count

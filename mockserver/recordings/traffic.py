"""Reading recorded traffic: a journal (`journal.jsonl`), an HTTP Archive (HAR) of a browser, a proxy or our own, or a
cassette of vcrpy.

An incomplete exchange (no body kept, a WebSocket, an answer that broke off) becomes a `Lost`, with the reason.
"""

import base64
import re
import zlib
from binascii import Error as Base64Error
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from math import inf
from typing import Any
from urllib.parse import urlsplit

import orjson

from mockserver.core.json_values import DEEPEST
from mockserver.recordings import Lost, LostError, Recorded, RecordingError, by_lower_name, event_times
from mockserver.state.journal.transcripts import MOST_EVENTS
from mockserver.state.settings import ConfigError
from mockserver.state.stubs.parse_replies import events_in, is_stream

_WANTED = "expected a journal (journal.jsonl of the admin API), an HTTP Archive (HAR) or a cassette of vcrpy"
# The content encodings that can be decompressed here, and what lets zlib find out by itself which it is.
_PACKINGS, _EITHER = ("gzip", "deflate"), 32 + zlib.MAX_WBITS
# What is compressed, or repeated by aliases, comes to at most so many times its bytes, and so many more.
_MOST_TIMES, _MOST_SMALL = 100, 65_536
# The beginning of a YAML cassette.
_CASSETTE = re.compile(rb"(?:\s|#.*\n|---)*(?:interactions|version):")


def exchanges_in(command: str, data: bytes, source: str) -> list[Recorded | Lost]:
    """The exchanges of a recording from the file `source`. Raises ConfigError, which names the command."""
    try:
        return read_recording(data)
    except RecordingError as error:
        raise ConfigError(f"{command}: {source}: {error}") from None


def read_recording(data: bytes) -> list[Recorded | Lost]:
    """Every exchange of a recording, in order. Raises RecordingError."""
    # HAR 1.2 asks readers to ignore a byte order mark.
    data = data.removeprefix(BOM_UTF8)
    try:
        whole = _yaml(data) if _CASSETTE.match(data) else orjson.loads(data)
    except orjson.JSONDecodeError:
        return list(_each("line", _lines(data), _of_journal))
    table = whole if isinstance(whole, dict) else {}
    log = table.get("log")
    for word, items, read in (
        ("entry", log.get("entries") if isinstance(log, dict) else None, _of_archive),
        ("interaction", table.get("interactions"), _of_cassette),
        ("line", [table] if "number" in table else None, _of_journal),
    ):
        if isinstance(items, list):
            return list(_each(word, enumerate(items, 1), read))
    raise RecordingError(f"is not a recording; {_WANTED}")


def _yaml(data: bytes) -> object:
    try:
        import yaml
    except ModuleNotFoundError:
        raise RecordingError("is YAML, which needs PyYAML: pip install pyyaml") from None
    # The C loader, if available, reads a long cassette ten times as fast.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        value = yaml.load(data, loader)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise RecordingError(f"is not valid YAML: {' '.join(str(error).split())}") from None
    if _written_size(value, {}) > _most_unpacked(data):
        raise RecordingError("repeats its parts (*alias) too often, or nests too deeply")
    return value


def _written_size(value: object, known: dict[int, float], depth: int = 0) -> float:
    """The characters of a value of YAML, its aliases written out; infinity if it is in itself, or nests absurdly."""
    if not isinstance(value, dict | list | tuple | set):
        return len(value) + 1 if isinstance(value, str | bytes) else 1
    if id(value) not in known:
        # What is asked for again before it is known is within itself.
        known[id(value)] = inf
        parts = [*value, *value.values()] if isinstance(value, dict) else value
        if depth < DEEPEST:
            known[id(value)] = 1 + sum(_written_size(part, known, depth + 1) for part in parts)
    return known[id(value)]


def _lines(data: bytes) -> list[tuple[int, Any]]:
    """The lines with their numbers; those that are no whole JSON are Lost, if any other is."""
    lines: list[tuple[int, Any]] = []
    torn: str | None = None
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            lines.append((number, orjson.loads(line)))
        except orjson.JSONDecodeError as error:
            torn = torn or f"line {number}: is not valid JSON ({error}); {_WANTED}"
            lines.append((number, Lost(f"line {number}", f"is no whole exchange ({error})")))
    if not lines:
        raise RecordingError(f"is empty; {_WANTED}")
    if torn and not any(isinstance(value, dict) and "number" in value for _, value in lines):
        raise RecordingError(torn)
    return lines


def _each(
    word: str, items: Iterable[tuple[int, Any]], read: Callable[[str, Any], Recorded]
) -> Iterator[Recorded | Lost]:
    for number, value in items:
        place = f"{word} {number}"
        if isinstance(value, Lost):
            yield value
            continue
        try:
            recorded = read(place, value)
            _check_types(recorded)
            yield recorded
        except LostError as error:
            yield Lost(place, str(error))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise RecordingError(f"{place}: is not an exchange ({type(error).__name__}: {error}); {_WANTED}") from None


def _check_types(recorded: Recorded) -> None:
    """Raise TypeError, or ValueError, if an exchange has values that no HTTP message has."""
    texts: list[tuple[str, object]] = [(name, getattr(recorded, name)) for name in ("method", "host", "path", "query")]
    for name, text in (*texts, *recorded.headers.items(), *recorded.answered.items()):
        if not isinstance(text, str):
            raise TypeError(f"{name}: not a text")
        # Half a character cannot be sent.
        text.encode()
    if not isinstance(recorded.dialect, str | None):
        raise TypeError("dialect: not a text")
    if not isinstance(recorded.status, int) or not 100 <= recorded.status <= 599:
        raise ValueError("status: not a status")
    if [0.0, *recorded.times] != sorted([0.0, *recorded.times]):
        raise ValueError("times: not in order")


# --- a line of a journal -----------------------------------------------------------------------------------------


def _of_journal(place: str, exchange: Mapping[str, Any]) -> Recorded:
    if "answer" not in exchange:
        raise LostError("has no answer; save journal.jsonl, which contains answers")
    request, answer, outcome = exchange["request"], exchange["answer"], exchange["outcome"]
    if exchange["decision"]["by"] == "simulator_error":
        raise LostError(f"nothing is served at {exchange['path']}")
    if answer["ending"] is not None:
        raise LostError(f"its answer broke off ({answer['ending']}); use a fault for that")
    if outcome["closed_by"] != "server":
        raise LostError("its answer was not complete: the client left, or it was still open")
    events = answer["events"]
    if MOST_EVENTS <= len(events) < outcome["events_sent"]:
        raise LostError("its answer has more events than a journal keeps")
    streamed = exchange["streamed"]
    answered = by_lower_name(answer["headers"].items())
    pieces = [_bytes_under("data", event) for event in events] if streamed else []
    body = b"".join(pieces) if streamed else _bytes_under("body", answer)
    read = _decompressed(body, answered)
    sent = [event["sent"] for event in events if event["sent"] is not None]
    if streamed:
        # Of a compressed stream the pieces are no events.
        times = event_times(events_in(body), pieces, sent) if len(sent) == len(pieces) and read is body else []
    else:
        times = sent[:1]
    return Recorded(
        place=place,
        method=exchange["method"],
        host=request["headers"].get("host", ""),
        path=exchange["path"],
        query=request["query"],
        headers=request["headers"],
        body=_bytes_under("body", request),
        status=answer["status"],
        answered=answered,
        answer=read,
        dialect=exchange.get("dialect"),
        times=tuple(times),
    )


def _bytes_under(key: str, table: Mapping[str, Any]) -> bytes:
    """The bytes that a journal has under a key: from base64, text or a JSON value."""
    if f"{key}_base64" in table:
        return base64.b64decode(table[f"{key}_base64"], validate=True)
    value = table.get(f"{key}_text", table.get(key, ""))
    return value.encode() if isinstance(value, str) else orjson.dumps(value)


# --- an entry of an archive --------------------------------------------------------------------------------------


def _of_archive(place: str, entry: Mapping[str, Any]) -> Recorded:
    request, response = entry["request"], entry["response"]
    target, own = urlsplit(request["url"]), entry.get("_mockserver", {})
    _check_whole(target.scheme, response, own)
    body, sent = _content(response.get("content", {})), _posted(request)
    answered = by_lower_name((each["name"], each["value"]) for each in response.get("headers", ()))
    events = len(events_in(body)) if is_stream(answered.get("content-type", "")) else 1
    first, receiving = (_seconds(entry.get("timings", {}).get(name)) for name in ("wait", "receive"))
    gap = (receiving or 0.0) / max(events - 1, 1)
    return Recorded(
        place=place,
        method=request["method"],
        host=target.hostname or "",
        path=target.path or "/",
        query=target.query,
        headers=by_lower_name((each["name"], each["value"]) for each in request.get("headers", ())),
        body=sent,
        status=response["status"],
        answered=answered,
        answer=body,
        dialect=own.get("dialect"),
        times=() if first is None else tuple(first + number * gap for number in range(events)),
    )


def _check_whole(scheme: str, response: Mapping[str, Any], own: Mapping[str, Any]) -> None:
    """Raise LostError unless an exchange has a complete HTTP answer; `own` are the fields that our journals add."""
    status = response["status"]
    if scheme in ("ws", "wss") or status == 101:
        raise LostError("is a WebSocket connection")
    if not 200 <= status <= 599:
        raise LostError(f"has no answer (status {status})")
    if response.get("_error"):
        raise LostError(f"its answer broke off ({response['_error']}); use a fault for that")
    if own.get("outcome", {}).get("closed_by", "server") != "server":
        raise LostError("its answer was not complete: the client left, or it was still open")


def _content(content: Mapping[str, Any]) -> bytes:
    """The body of an answer. Raises LostError if it was not kept."""
    text = content.get("text")
    if text is None and content.get("size") != 0:
        raise LostError("the body of its answer was not recorded")
    return _unpacked(text or "", content.get("encoding"))


def _posted(request: Mapping[str, Any]) -> bytes:
    """The body of a request. Raises LostError if it was not kept."""
    posted = request.get("postData") or {}
    text = posted.get("text")
    if not text and (request.get("bodySize", -1) > 0 or request["method"] == "POST"):
        raise LostError("the body of its request was not recorded")
    return _unpacked(text or "", posted.get("encoding"))


def _unpacked(text: str, encoding: str | None) -> bytes:
    if encoding != "base64":
        return text.encode()
    try:
        return base64.b64decode(text, validate=True)
    except Base64Error:
        raise LostError("a body is not valid base64") from None


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None or milliseconds < 0 else milliseconds / 1000


# --- an interaction of a cassette --------------------------------------------------------------------------------


def _of_cassette(place: str, interaction: Mapping[str, Any]) -> Recorded:
    request, response = interaction["request"], interaction["response"]
    target = urlsplit(request["uri"])
    answered = _headers_of(response)
    # Older versions have the status elsewhere.
    status = response["status"]["code"] if "status" in response else response["status_code"]
    return Recorded(
        place=place,
        method=request["method"],
        host=target.hostname or "",
        path=target.path or "/",
        query=target.query,
        headers=_headers_of(request),
        body=_body_of(request, "body"),
        status=status,
        answered=answered,
        answer=_decompressed(_body_of(response, "content" if "content" in response else "body"), answered),
    )


def _headers_of(message: Mapping[str, Any]) -> Mapping[str, str]:
    pairs = (
        (name, value[0] if isinstance(value, list) else value) for name, value in message["headers"].items() if value
    )
    return by_lower_name((name, str(value)) for name, value in pairs)


def _body_of(message: Mapping[str, Any], key: str) -> bytes:
    """A body: text, bytes, nothing, a table with one of them, or (from some serializers) parsed JSON."""
    if "parsed_body" in message:
        return orjson.dumps(message["parsed_body"])
    value = message.get(key)
    if isinstance(value, Mapping):
        if "base64_string" in value:
            return base64.b64decode(value["base64_string"], validate=True)
        value = value.get("string")
    if value is None:
        return b""
    if isinstance(value, str):
        return value.encode()
    if not isinstance(value, bytes):
        raise TypeError(f"{key}: not a string or bytes")
    return value


def _most_unpacked(data: bytes) -> int:
    return _MOST_SMALL + _MOST_TIMES * len(data)


# --- compressed bodies -------------------------------------------------------------------------------------------


def _decompressed(body: bytes, headers: Mapping[str, str]) -> bytes:
    """A body as the client read it, decompressed. Raises LostError."""
    packing = headers.get("content-encoding", "identity").strip().lower()
    if not body or packing == "identity" or body[:1] in (b"{", b"[") or body.startswith((b"data:", b"event:")):
        # Some recorders decompress bodies but keep the header.
        return body
    if packing not in _PACKINGS:
        raise LostError(
            f"its answer is compressed ({packing}); record it decompressed (vcrpy: decode_compressed_response=True)"
        )
    most, stream = _most_unpacked(body), zlib.decompressobj(_EITHER)
    with suppress(zlib.error):
        read = stream.decompress(body, most)
        if stream.eof:
            return read
        if len(read) == most:
            raise LostError(f"its answer is compressed to less than a {_MOST_TIMES}th, which no text of a vendor is")
    raise LostError(f"its answer is not compressed, although its header says so ({packing})")

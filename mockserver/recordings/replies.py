"""Recorded answers as replies of stubs: status, content type, relevant headers, and the body byte for byte."""

import re
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from mockserver.core.secrets import is_secret, masked_body
from mockserver.recordings.recorded import Recorded
from mockserver.state.stubs.bodies import is_stream

# Longer bodies are written to files of their own, as are streams.
_LONG = 1500
# The headers by which clients decide what to do next, and the ids by which vendors find requests.
_TELLING = re.compile(r"retry-after(?:-ms)?|x-should-retry|.*rate-?limit.*|(?:x-)?request-id|www-authenticate")
_PASSING = re.compile(r".*rate-?limit.*|(?:x-)?request-id")
_SUFFIXES = {"text/event-stream": ".sse", "application/json": ".json", "text/html": ".html", "text/plain": ".txt"}
_STREAM = "text/event-stream"
_TIMES_HEAD = "# When each event was sent, in seconds after the request.\n"
# Times are rounded to microseconds.
_DIGITS = 6


class Answers:
    """Makes replies, and collects the files that they name, in a folder that is not searched for stub files."""

    def __init__(self, name: str, *, paced: bool) -> None:
        self.files: dict[str, bytes] = {}
        self._folder, self._paced = f"_{name}", paced
        self._names: dict[tuple[bytes, str], str] = {}

    def reply(self, recorded: Recorded, name: str, *, asks_model: bool) -> dict[str, Any]:
        """The reply that replays a recorded answer; `name` is the name of its file, if it needs one."""
        kind = recorded.answered.get("content-type", "").strip()
        reply: dict[str, Any] = {"status": recorded.status}
        if recorded.answer and recorded.status not in (204, 304):
            reply |= {"content_type": kind} if kind and _can_be_sent(kind) else {}
            reply |= self._body(masked_body(recorded.answer), kind.partition(";")[0].strip().lower(), name)
        headers = {key: value for key, value in recorded.answered.items() if is_telling(key, value)}
        reply |= {"headers": headers} if headers else {}
        if self._paced and asks_model:
            reply |= self._timing(recorded, name, streamed=bool(recorded.answer) and is_stream(kind))
        return reply

    def _timing(self, recorded: Recorded, name: str, *, streamed: bool) -> Mapping[str, str]:
        """When the answer is sent: each event of a stream at its recorded time, else by the average gap."""
        if streamed and recorded.times:
            lines = "".join(f"{round(time, _DIGITS):.{_DIGITS}f}\n" for time in recorded.times)
            return {"event_times": self._file(f"{_TIMES_HEAD}{lines}".encode(), name, ".times")}
        return {"latency": _latency(recorded.first, recorded.gap)} if recorded.first is not None else {}

    def _body(self, body: bytes, kind: str, name: str) -> Mapping[str, str]:
        """The body in the stub itself, or in a file next to it."""
        text = _text(body)
        if kind != _STREAM and len(body) <= _LONG:
            return {"body_base64": b64encode(body).decode()} if text is None else {"body": text}
        return {"file": self._file(body, name, _SUFFIXES.get(kind, ".bin" if text is None else ".txt"))}

    def _file(self, data: bytes, name: str, suffix: str) -> str:
        """The name of the file with this content; equal contents share a file."""
        known = self._names.get((data, suffix))
        if known is None:
            stem = f"{self._folder}/{name}"
            taken = sum(each.endswith(suffix) and each.startswith((f"{stem}.", f"{stem}-")) for each in self.files)
            known = f"{stem}{f'-{taken + 1}' if taken else ''}{suffix}"
            self._names[data, suffix], self.files[known] = known, data
        return known


def essence(reply: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a reply that is the same for equal replies: without times, the state of limits and request ids."""
    timing = ("latency", "event_times")
    headers = {name: value for name, value in reply.get("headers", {}).items() if not _PASSING.fullmatch(name)}
    return {**{key: value for key, value in reply.items() if key not in timing}, "headers": headers}


def _text(body: bytes) -> str | None:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None


def is_telling(name: str, value: str) -> bool:
    """Whether a header of a recorded answer tells its client something: of retries, limits or ids, and no secret."""
    return bool(_TELLING.fullmatch(name)) and not is_secret(name) and _can_be_sent(value)


def _can_be_sent(value: str) -> bool:
    """Whether a header of an answer can have this value."""
    return value.isprintable() and value == value.strip() and all(ord(letter) < 256 for letter in value)


def _latency(first: float, gap: float | None) -> str:
    """A latency with the same time to the first token, and the same average time between events."""
    between = f", itl={round(gap * 1000, _DIGITS - 3):g}ms" if gap is not None else ""
    return f"ttft={round(first * 1000, _DIGITS - 3):g}ms{between}"

"""Replays: the answers that a recording already has, so that only new requests are forwarded."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import NamedTuple

import orjson

from mockserver.core.calls import Call
from mockserver.core.json_values import nests_absurdly
from mockserver.core.matching.whole_requests import whole_request
from mockserver.core.regexes import renew_patience
from mockserver.core.secrets import is_secret, masked_body, masked_text
from mockserver.core.timeline import RawHeaders
from mockserver.recordings.recorded import CIRCUMSTANCES, Lost, Recorded
from mockserver.recordings.traffic import exchanges_in
from mockserver.server.recording.upstreams import Target
from mockserver.state.settings import ConfigError
from mockserver.state.stubs.parse_replies import events_in, is_stream

# Headers that concern the connection or the recorded form of the body.
_OF_CONNECTION = ("connection", "keep-alive", "transfer-encoding", "content-length", "content-encoding")
_BODILESS = (204, 304)


class _Request(NamedTuple):
    """What is equal in equal requests: whose API is asked, where, and a digest of what is sent."""

    dialect: str
    method: str
    path: str
    sent: bytes


class Replay(NamedTuple):
    """A recorded answer as it is sent again; `place` is where in the recording it is."""

    place: str
    status: int
    headers: RawHeaders
    pieces: tuple[bytes, ...]


class Replays:
    """The answers of a recording, by their requests: equal requests get theirs in turn, and the last one again.

    What is `volatile` in requests (`core/matching/whole_requests.py`) does not make them differ. Answers that
    were not complete, and those that are due to the state of the vendor or the caller (limits, keys, outages), do not
    count: their requests are forwarded again.
    """

    def __init__(self, exchanges: Iterable[Recorded | Lost], volatile: Sequence[str] = ()) -> None:
        self._volatile = volatile
        self._answers: dict[_Request, list[Recorded]] = {}
        self._asked: dict[_Request, count[int]] = {}
        for each in exchanges:
            if isinstance(each, Recorded) and each.status not in CIRCUMSTANCES:
                request = self._request(each.dialect or "", each.method, each.path, each.query, each.body)
                self._answers.setdefault(request, []).append(each)

    def __len__(self) -> int:
        return len(self._answers)

    def answer(self, target: Target, call: Call) -> Replay | None:
        """The next recorded answer to a request; None if there is none."""
        name = target.route.dialect.name
        request = self._request(name, call.method, target.path, call.query, call.body)
        known = self._answers.get(request)
        if known is None:
            return None
        turn = next(self._asked.setdefault(request, count()))
        return _replay(known[min(turn, len(known) - 1)])

    def _request(self, dialect: str, method: str, path: str, query: str, body: bytes) -> _Request:
        """What identifies a request, wherever the client has found the dialect: below its name, or at its bare
        paths."""
        prefix = f"/{dialect}/"
        native = path[len(prefix) - 1 :] if path.startswith(prefix) else path
        return _Request(dialect, method, masked_text(native), _digest(body, query, self._volatile))


def replays_in(path: Path, volatile: Sequence[str] = ()) -> Replays:
    """The answers in a file of recorded lines, which need not exist. Raises ConfigError."""
    if path.suffix.lower() != ".jsonl":
        raise ConfigError("record: --only-new needs a .jsonl, to which new exchanges are appended")
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        data = b""
    except OSError as error:
        raise ConfigError(f"record: {path}: {error.strerror}") from None
    return Replays(exchanges_in("record", data, str(path)) if data.strip() else (), volatile)


def _digest(body: bytes, query: str, volatile: Sequence[str]) -> bytes:
    """A digest of a body and a query, the same for equal requests with equal ids."""
    value, rest = None, masked_body(body)
    with suppress(orjson.JSONDecodeError):
        parsed = orjson.loads(rest)
        if not nests_absurdly(rest, parsed):
            value, rest = parsed, b""
    renew_patience()
    sent = whole_request(value, query, volatile, with_ids=True).encode()
    return blake2b(rest + b"\n" + sent, digest_size=16).digest()


def _replay(recorded: Recorded) -> Replay:
    headers = [
        (name.encode("latin-1", "replace"), value.encode("latin-1", "replace"))
        for name, value in recorded.answered.items()
        if name not in _OF_CONNECTION and not is_secret(name)
    ]
    body, streamed = recorded.answer, is_stream(recorded.answered.get("content-type", ""))
    if not streamed and recorded.status not in _BODILESS:
        headers.append((b"content-length", b"%d" % len(body)))
    return Replay(recorded.place, recorded.status, tuple(headers), tuple(events_in(body) if streamed else [body]))

"""HTTP as a load client needs it: requests as bytes, and a reader that recognises the end of an answer."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, repeat
from typing import Any

_LENGTH = re.compile(rb"\r\n[Cc]ontent-[Ll]ength: *(\d+)")
_CHUNKED = re.compile(rb"\r\n[Tt]ransfer-[Ee]ncoding: *chunked")
_LAST_CHUNK = b"\r\n0\r\n\r\n"
_EVENT = b"data: "
# The placeholder in a body for the number of the request.
NUMBER = "#########"


class BadAnswerError(Exception):
    """An answer that must not be counted: not a 200, or not HTTP."""


def request(path: str, body: Mapping[str, Any] | None = None) -> bytes:
    """A request as bytes: POST with a JSON body, or GET without one."""
    data = json.dumps(body).encode() if body is not None else b""
    lines = [
        f"{'GET' if body is None else 'POST'} {path} HTTP/1.1",
        "host: localhost",
        "authorization: Bearer bench",
        "content-type: application/json",
        f"content-length: {len(data)}",
    ]
    return "\r\n".join((*lines, "", "")).encode() + data


def again(sent: bytes) -> Iterator[bytes]:
    """The same request forever."""
    return repeat(sent)


def numbered(sent: bytes, first: int = 0) -> Iterator[bytes]:
    """A new request each time: the pattern with a running number in the place of `NUMBER`."""
    before, mark, after = sent.partition(NUMBER.encode())
    assert mark, "the pattern has a place for the number"
    return (b"%b%09d%b" % (before, number, after) for number in count(first))


def growing(turns: Sequence[bytes], conversations: int) -> Iterator[bytes]:
    """The requests of so many conversations at once, turn by turn; after their last turns come as many others."""
    for first in count(0, conversations):
        for turn in turns:
            for number in range(first, first + conversations):
                yield turn.replace(NUMBER.encode(), b"%09d" % number)


class Reader:
    """Reads the answers of one connection, one at a time. `events` is the number of server-sent events of all answers:
    counted in the first stream, and estimated by the size of later ones, since counting costs more than reading.
    """

    __slots__ = ("_density", "_head", "_left", "_size", "_tail", "body", "events", "keeps")

    def __init__(self, *, keeps: bool = False) -> None:
        """With `keeps` the raw body of the latest answer (including its chunks' sizes) is kept in `body`."""
        self.events = 0.0
        self.keeps = keeps
        self.body = b""
        self._head = b""
        # How many bytes of the body are still expected; -1 if it is chunked, None before the head.
        self._left: int | None = None
        self._tail = b""
        # The bytes of the current stream so far, and its events per byte once they are known.
        self._size = 0
        self._density = 0.0

    def feed(self, data: bytes) -> bool:
        """Process received data; True if it ends an answer. BadAnswerError if the answer must not be counted."""
        if self._left is None:
            data = self._head + data
            end = data.find(b"\r\n\r\n") + 4
            if end < 4:
                self._head = data
                return False
            self._open(data[:end])
            data = data[end:]
        if self.keeps:
            self.body += data
        return self._feed_chunks(data) if self._left == -1 else self._feed_length(len(data))

    def _open(self, head: bytes) -> None:
        if head[9:12] != b"200":
            raise BadAnswerError(head.decode("latin-1"))
        length = _LENGTH.search(head)
        if length is None and not _CHUNKED.search(head):
            raise BadAnswerError("neither a length nor chunks: " + head.decode("latin-1"))
        self._left = int(length[1]) if length else -1
        self._head, self._tail, self.body = b"", b"\r\n", b""

    def _feed_length(self, size: int) -> bool:
        assert self._left is not None
        self._left -= size
        if self._left > 0:
            return False
        self._left = None
        return True

    def _feed_chunks(self, data: bytes) -> bool:
        self._size += len(data)
        if not self._density:
            self.events += data.count(_EVENT)
        ending = data if len(data) >= len(_LAST_CHUNK) else self._tail + data
        self._tail = ending[-len(_LAST_CHUNK) :]
        if not ending.endswith(_LAST_CHUNK):
            return False
        if self._density:
            self.events += self._size * self._density
        self._density = self._density or self.events / self._size
        self._left, self._size = None, 0
        return True

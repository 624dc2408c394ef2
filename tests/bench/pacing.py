"""Pacing: many slow streams at once, and the timing errors of their tokens.

Instants are those at which the kernel received a token (if it reports them, as Linux does), so that a client which
reads late does not increase the server's errors.
"""

import gc
import socket
import struct
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from tests.bench.load import Address, Poll, connect
from tests.bench.rounds import percentile

# The socket option for the kernel's timestamps in nanoseconds, which Python has no name for.
_TIMESTAMPS = 35
_STAMP = struct.Struct("@qq")
_SPACE = socket.CMSG_SPACE(_STAMP.size) if hasattr(socket, "CMSG_SPACE") else 0
_CHUNK = 64 * 1024
_EVENT = b"data: "
_END = b"0\r\n\r\n"
# Streams that are later than this, in seconds, are abandoned and not counted.
_LATE = 10.0


@dataclass(frozen=True, slots=True)
class Pace:
    """The requested pace of every stream: seconds to the first token and between tokens, the number of tokens, and how
    many events precede the first token."""

    ttft: float
    itl: float
    tokens: int
    before: int = 0

    @property
    def length(self) -> float:
        """The time from the request to the last token, in seconds."""
        return self.ttft + (self.tokens - 1) * self.itl


@dataclass(frozen=True, slots=True)
class Precision:
    """Errors in seconds, over all tokens: of gaps, and against each token's own instant. `drift` is the median error of
    a stream's length, as a share of it; `longest` the longest time in which none of the streams got a token."""

    gap_p50: float
    gap_p99: float
    schedule_p50: float
    schedule_p99: float
    drift: float
    longest: float
    tokens: int
    share: float


@dataclass(slots=True)
class Heard:
    """One received stream: the instants of its request and of its events, in seconds."""

    asked: float
    instants: list[float] = field(default_factory=list)
    whole: bool = False


class _Stream:
    """One connection that requests one stream after the other."""

    __slots__ = ("_sent", "heard", "socket")

    def __init__(self, address: Address, sent: bytes) -> None:
        self.socket = connect(address)
        self.heard: list[Heard] = []
        self._sent = sent
        if sys.platform == "linux":
            self.socket.setsockopt(socket.SOL_SOCKET, _TIMESTAMPS, 1)

    def ask(self) -> None:
        """Request a stream."""
        self.heard.append(Heard(time.time()))
        self.socket.send(self._sent)

    def read(self) -> bool:
        """Read events and record their instant; True if they end the stream. ConnectionError if the server closes."""
        data, notes, _, _ = self.socket.recvmsg(_CHUNK, _SPACE)
        if not data:
            raise ConnectionError("The server has closed a stream.")
        heard = self.heard[-1]
        if count := data.count(_EVENT):
            heard.instants += [_instant(notes)] * count
        heard.whole = data.endswith(_END)
        return heard.whole


def _instant(notes: list[tuple[int, int, bytes]]) -> float:
    for level, kind, value in notes:
        if level == socket.SOL_SOCKET and kind == _TIMESTAMPS and len(value) >= _STAMP.size:
            seconds, nanoseconds = _STAMP.unpack_from(value)
            return float(seconds + nanoseconds / 1e9)
    return time.time()


def pace(address: Address, sent: bytes, wanted: Pace, streams: int, seconds: float) -> Precision:
    """Keep so many streams running at once, with starts spread evenly over one stream's length, and measure those that
    were requested while all were running: for some seconds, at least one from each connection."""
    poll = Poll()
    opened = {(it := _Stream(address, sent)).socket.fileno(): it for _ in range(streams)}
    for number in opened:
        poll.watch(number, poll.reads)
    gc.disable()
    try:
        cpu, began = time.process_time(), time.perf_counter()
        steady = _play(poll, opened, wanted.length, seconds)
        share = (time.process_time() - cpu) / (time.perf_counter() - began)
    finally:
        gc.enable()
        poll.close()
        for it in opened.values():
            it.socket.close()
    whole = [heard for it in opened.values() for heard in it.heard if heard.whole and heard.asked >= steady]
    return precision(whole, wanted, share)


def _play(poll: Poll, streams: dict[int, _Stream], length: float, seconds: float) -> float:
    """Start the streams one after the other, keep all of them running for so long, then let them end; returns the
    instant from which on all were running."""
    waiting, left = _starts(list(streams.values()), length), len(streams)
    begin, following = next(waiting)
    steady = time.time() + (length if len(streams) > 1 else 0.0)
    last = steady + seconds
    while left:
        now = time.time()
        while following is not None and begin <= now:
            following.ask()
            begin, following = next(waiting)
        for number, _ in poll.wait((begin if following is not None else now + 1.0) - now):
            if streams[number].read():
                # Each connection requests another stream until the time is over, so that its last one was in time.
                if (now := time.time()) <= last:
                    streams[number].ask()
                else:
                    left -= 1
        if now > last + length + _LATE:
            break
    return steady


def _starts(streams: list[_Stream], length: float) -> Iterator[tuple[float, _Stream | None]]:
    began = time.time()
    for number, stream in enumerate(streams):
        yield began + number / len(streams) * length, stream
    while True:
        yield float("inf"), None


def precision(heard: list[Heard], wanted: Pace, share: float = 0.0) -> Precision:
    """The errors of streams that were received as a whole."""
    gaps: list[float] = []
    schedule: list[float] = []
    drifts: list[float] = []
    everything: list[float] = []
    for one in heard:
        instants = one.instants[wanted.before : wanted.before + wanted.tokens]
        due = one.asked + wanted.ttft
        gaps += [abs(b - a - wanted.itl) for a, b in pairwise(instants)]
        schedule += [abs(at - due - number * wanted.itl) for number, at in enumerate(instants)]
        span = (len(instants) - 1) * wanted.itl
        drifts += [(instants[-1] - instants[0]) / span - 1] if span > 0 else []
        everything += instants
    everything.sort()
    return Precision(
        gap_p50=percentile(gaps, 50),
        gap_p99=percentile(gaps, 99),
        schedule_p50=percentile(schedule, 50),
        schedule_p99=percentile(schedule, 99),
        drift=median(drifts) if drifts else float("nan"),
        longest=max((b - a for a, b in pairwise(everything)), default=float("nan")),
        tokens=len(schedule),
        share=share,
    )

"""Exchanges with a vendor: what it answers to one request, and when; and a journal of them.

A recorded answer is a plan whose timeline is what happened, so everything that tells of a journal tells of it too.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from mockserver.core.failures import SimulatorError
from mockserver.core.http import Call, ClosedBy, ConnectionFault, Headers, RawHeaders, Record, TimedFrames, Timeline
from mockserver.recordings import event_times
from mockserver.server.recording.upstreams import Target
from mockserver.state.journal.exchanges import Exchange, Journal
from mockserver.state.plan import NOTHING_YET, Plan
from mockserver.state.stubs.parse_replies import events_in, is_stream

# Headers that concern one connection only (RFC 9110, 7.6.1), with those that proxies have taken for such.
_HOP_BY_HOP = frozenset(
    (
        *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection"),
        *(b"te", b"trailer", b"transfer-encoding", b"upgrade"),
    )
)
# The content encodings that httpx always decompresses, and what the vendor said of such a body.
_PACKINGS = (b"gzip", b"deflate")
_OF_PACKED = (b"content-encoding", b"content-length")
# Statuses without a body, whatever their headers say.
BODILESS = (204, 304)


@dataclass(slots=True)
class RecordedExchange:
    """One answer while it is relayed, and its exchange in a journal, which is told of the answer when that has ended.
    Times are in seconds after the request was received.

    `pieces` are the parts of the body as the client is given them, each with its time in `times`. `closed_by` is who
    ended the answer, and `ending` how it was broken off, if it was. One that `is_kept` has been recorded; one that
    `is_packed` comes compressed all the same.
    """

    target: Target
    exchange: Exchange
    status: int = 0
    headers: RawHeaders = ()
    head: float = 0.0
    pieces: list[bytes] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    closed_by: ClosedBy | None = None
    ending: ConnectionFault | None = None
    seconds: float = 0.0
    is_kept: bool = False
    is_packed: bool = False
    _left: int | None = None

    def answered(self, status: int, headers: RawHeaders, instant: float) -> None:
        """The head of the answer has come."""
        self.status, self.headers, self.head = status, end_to_end(headers), instant - self.exchange.arrived
        known = dict(reversed(self.headers))
        if self.exchange.call.method != "HEAD" and status not in BODILESS:
            self.is_packed = known.get(b"content-encoding", b"").lower() in _PACKINGS
            self._left = None if self.is_packed else int(known.get(b"content-length", b"-1"))
        dropped = _OF_PACKED if self.is_packed else _OF_PACKED[1:] if status in BODILESS else ()
        self.headers = tuple(each for each in self.headers if each[0] not in dropped)

    def add(self, data: bytes, instant: float) -> None:
        """A part of the body has come, decompressed."""
        if self._left is not None:
            self._left -= len(data)
        self.pieces.append(data)
        self.times.append(instant - self.exchange.arrived)

    @property
    def is_whole(self) -> bool:
        """Whether as much of the body has come as the client has been told to expect."""
        return self._left == 0

    @property
    def first(self) -> float | None:
        """When the body began; None if there is none."""
        return self.times[0] if self.times else None

    @property
    def content_type(self) -> str:
        """The type of the body; empty if it is not said."""
        return next((value.decode("latin-1") for name, value in self.headers if name == b"content-type"), "")

    def end(self, closer: ClosedBy, instant: float, ending: ConnectionFault | None = None) -> None:
        """The answer has ended, properly unless there is an ending."""
        self.closed_by, self.ending, self.seconds = closer, ending, instant - self.exchange.arrived


def _played(recorded: RecordedExchange) -> tuple[Timeline, Record]:
    """What was recorded as a timeline that has been played. Each event of a stream is as late as its last part."""
    body, streamed = b"".join(recorded.pieces), is_stream(recorded.content_type)
    events = events_in(body) if streamed else [body]
    if streamed:
        times = event_times(events, recorded.pieces, recorded.times)
    else:
        times = [recorded.times[-1] if recorded.times else recorded.head]
    runs = (TimedFrames(events, times, (0,) * len(events)),)
    timeline = Timeline(recorded.status, recorded.headers, runs, streamed, recorded.ending)
    record = Record(closed_by=recorded.closed_by, seconds=recorded.seconds, given_up=recorded.ending is not None)
    for instant in times:
        record.wrote(1, 0, instant)
    return timeline, record


class RecorderJournal:
    """Notes in a journal what comes and what is answered, at the instants of a clock."""

    def __init__(self, journal: Journal, clock: Callable[[], float]) -> None:
        self._journal, self._clock = journal, clock

    def begin(self, target: Target, plan: Plan) -> RecordedExchange:
        """A request is forwarded; the plan says what its dialect understands of it."""
        return RecordedExchange(target, self._open(target, plan, NOTHING_YET))

    def end(self, recorded: RecordedExchange) -> None:
        """The vendor's answer has ended."""
        exchange = recorded.exchange
        if exchange.plan is not None:
            exchange.plan.timeline, exchange.record = _played(recorded)
            self._journal.notify(exchange)

    def give_up(self, exchange: Exchange, simulator_error: SimulatorError) -> None:
        """The vendor has not answered; the client is given an answer of our own."""
        exchange.plan, exchange.simulator_error = None, simulator_error
        exchange.record.seconds = self._clock() - exchange.arrived
        self._close(exchange)

    def deny(self, method: str, path: str, headers: Headers, simulator_error: SimulatorError) -> None:
        """A request is not forwarded."""
        call = Call(method, path, headers, b"", "", time.time())
        self._close(self._journal.open("", path, call, simulator_error=simulator_error, arrived=self._clock()))

    def replay(self, target: Target, plan: Plan) -> None:
        """A request is answered from the recording, at once."""
        exchange = self._open(target, plan, plan.timeline)
        for run in plan.timeline.runs:
            exchange.record.wrote_each(run.tokens, 0.0)
        self._close(exchange)

    def _open(self, target: Target, plan: Plan, timeline: Timeline) -> Exchange:
        """An exchange with what the dialect understands of a request; the answer is not the dialect's."""
        asked = Plan(plan.context, plan.request, timeline=timeline)
        return self._journal.open(target.namespace, target.path, plan.context.call, asked, arrived=self._clock())

    def _close(self, exchange: Exchange) -> None:
        exchange.record.closed_by = "server"
        self._journal.notify(exchange)


def end_to_end(headers: Iterable[tuple[bytes, bytes]]) -> RawHeaders:
    """The headers, with lower-case names, that a proxy passes on."""
    lowered = [(name.lower(), value) for name, value in headers]
    named = chain.from_iterable(value.split(b",") for name, value in lowered if name == b"connection")
    dropped = _HOP_BY_HOP | {name.strip().lower() for name in named}
    return tuple(each for each in lowered if each[0] not in dropped)


def by_vendor(told: Mapping[str, Any]) -> dict[str, Any]:
    """What is told of an exchange, without what only a simulator can say of it."""
    known = {key: value for key, value in told.items() if key not in ("seed", "edition")}
    return known | {"decision": {"by": "vendor", "faults": [], "applied_faults": []}}

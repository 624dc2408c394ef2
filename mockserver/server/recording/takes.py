"""Takes: what a vendor answers to one request, and when, as an exchange of a journal.

A recorded answer is a plan whose timeline is what happened, so everything that tells of a journal tells of it too.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any

import orjson

from mockserver.core.calls import Call
from mockserver.core.timeline import Closer, Ending, RawHeaders, Record, Run, Timeline
from mockserver.recordings.events import events_of
from mockserver.recordings.packing import Unpacker
from mockserver.recordings.speeches import speaks
from mockserver.server.recording.forwarding import end_to_end
from mockserver.server.recording.targets import Target
from mockserver.state.context import make_context
from mockserver.state.journal.archives import har_entry
from mockserver.state.journal.exchanges import Exchange
from mockserver.state.journal.transcripts import exact_transcript_of
from mockserver.state.plan import Plan
from mockserver.state.settings import Settings
from mockserver.state.stubs.bodies import events_in, is_stream

# What the vendor said of a body that the client is given in another form.
_OF_PACKED = (b"content-encoding", b"content-length")
# Statuses without a body, whatever their headers say.
_BODILESS = (204, 304)


@dataclass(slots=True)
class Take:
    """One answer while it is relayed. Times are in seconds after the request was received, at `began`.

    `pieces` are the parts of the body as the client is given them, each with its time in `times`. `closed_by` is who
    ended the answer, and `ending` how it was broken off, if it was. One that `is_kept` has been recorded. `noted` is
    its exchange in a journal, if there is one.
    """

    target: Target
    call: Call
    began: float
    status: int = 0
    headers: RawHeaders = ()
    head: float = 0.0
    pieces: list[bytes] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    closed_by: Closer | None = None
    ending: Ending | None = None
    seconds: float = 0.0
    is_kept: bool = False
    noted: Exchange | None = None
    _unpacker: Unpacker | None = None
    _left: int | None = None

    def answered(self, status: int, headers: RawHeaders, instant: float) -> None:
        """The head of the answer has come."""
        self.status, self.headers, self.head = status, end_to_end(headers), instant - self.began
        known = dict(reversed(self.headers))
        if self.call.method != "HEAD" and status not in _BODILESS:
            self._unpacker = Unpacker.of(known.get(b"content-encoding", b"").decode("latin-1"))
            self._left = int(known.get(b"content-length", b"-1")) if self._unpacker is None else None
        dropped = _OF_PACKED if self._unpacker is not None else _OF_PACKED[1:] if status in _BODILESS else ()
        self.headers = tuple(each for each in self.headers if each[0] not in dropped)

    def add(self, data: bytes, instant: float) -> bytes:
        """A part of the body has come; return what the client is given of it."""
        if self._left is not None:
            self._left -= len(data)
        return self._note(data if self._unpacker is None else self._unpacker.feed(data), instant)

    def rest(self, instant: float) -> bytes:
        """The body has ended; return what the client has not been given of it yet."""
        return b"" if self._unpacker is None else self._note(self._unpacker.rest(), instant)

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

    def end(self, closer: Closer, instant: float, ending: Ending | None = None) -> None:
        """The answer has ended, properly unless there is an ending."""
        self.closed_by, self.ending, self.seconds = closer, ending, instant - self.began

    def _note(self, data: bytes, instant: float) -> bytes:
        if data:
            self.pieces.append(data)
            self.times.append(instant - self.began)
        return data


def exchange_of(take: Take, number: int, settings: Settings) -> Exchange:
    """A take as an exchange of a journal. Each event of a stream is as late as its last part."""
    body, streamed = b"".join(take.pieces), is_stream(take.content_type)
    events = events_in(body) if streamed else [body]
    times = _arrivals(events, take) if streamed else [take.times[-1] if take.times else take.head]
    runs = (Run(events, times, (0,) * len(events)),)
    timeline = Timeline(take.status, take.headers, runs, streamed, take.ending)
    record = Record(closed_by=take.closed_by, seconds=take.seconds, given_up=take.ending is not None)
    for time in times:
        record.wrote(1, 0, time)
    target = take.target
    plan = Plan(make_context(take.call, target.route, settings), timeline=timeline)
    return Exchange(number, target.namespace, target.path, take.call, plan, arrived=take.began, record=record)


def journal_line(take: Take, number: int, settings: Settings) -> bytes:
    """A take as a line of a journal, with all its events, where it came from, and its timing."""
    exchange = exchange_of(take, number, settings)
    whole = exact_transcript_of(exchange, most_events=None)
    model = whole["request"]["body"].get("model") if isinstance(whole["request"].get("body"), dict) else None
    named = {"model": model} if isinstance(model, str) else {}
    line = _in_a_file(whole) | named | {"upstream": take.target.url, "timing": _timing(take, exchange)}
    return orjson.dumps(line)


def archive_entry(take: Take, number: int, settings: Settings) -> bytes:
    """A take as an entry of an HTTP Archive, with the URL of the vendor."""
    entry = har_entry(exchange_of(take, number, settings))
    request = entry["request"] | {"url": take.target.url}
    return orjson.dumps(entry | {"request": request, "_mockserver": _in_a_file(entry["_mockserver"])})


def _timing(take: Take, exchange: Exchange) -> dict[str, Any]:
    """When the first token came, and the gaps between the events from there on.

    A stream may begin with events that only announce an answer, such as `response.created`.
    """
    instants, announced = [*exchange.record.event_instants()], 0
    if is_stream(take.content_type):
        events = events_in(b"".join(take.pieces))
        announced = next(
            (place for place, event in enumerate(events) if any(map(speaks, events_of(event, streamed=True)))), 0
        )
    gaps = [later - earlier for earlier, later in pairwise(instants[announced:])]
    return {"ttft": instants[announced] if announced else take.first, "gaps": gaps}


def by_vendor(told: Mapping[str, Any]) -> dict[str, Any]:
    """What is told of an exchange, without what only a simulator can say of it."""
    known = {key: value for key, value in told.items() if key not in ("seed", "edition")}
    return known | {"decision": {"by": "vendor", "faults": [], "struck": []}}


def _in_a_file(told: Mapping[str, Any]) -> dict[str, Any]:
    """The same without times on clocks that run within one process, since a file may be appended to by another."""
    return {key: value for key, value in by_vendor(told).items() if key not in ("arrived", "ahead")}


def _arrivals(events: list[bytes], take: Take) -> list[float]:
    """When each event of a stream was complete."""
    arrivals: list[float] = []
    pieces = zip(accumulate(map(len, take.pieces)), take.times, strict=True)
    end, time = 0, take.head
    for wanted in accumulate(map(len, events)):
        while end < wanted:
            end, time = next(pieces)
        arrivals.append(time)
    return arrivals

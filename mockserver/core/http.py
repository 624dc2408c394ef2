"""HTTP as values: a request as it came in; and what goes out for it, and when: frames without time (a reply), and with
it (a timeline).

Events are stored column by column, one object per run of events rather than one per event, because the cost of a
stream is its cost per event. A run is a few hundred events long at most, and runs may be made lazily, so that the
longest answer never blocks the others.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, repeat
from typing import Generic, Literal, NamedTuple, TypeVar, cast, overload
from urllib.parse import parse_qsl

from mockserver.core.seeding import fingerprint

Item = TypeVar("Item", covariant=True)

RawHeaders = tuple[tuple[bytes, bytes], ...]


class Headers(dict[str, str]):
    """Request headers by lower-case name, and `raw` as received; of several with the same name the first counts."""

    __slots__ = ("raw",)

    def __init__(self, raw: Iterable[tuple[bytes, bytes]] = ()) -> None:
        self.raw = tuple(raw)
        for name, value in reversed(self.raw):
            self[name.decode("latin-1")] = value.decode("latin-1")


class Call(NamedTuple):
    """One request. Once routed, `path` is the dialect's native path; `received_at` is in Unix seconds."""

    method: str
    path: str
    headers: Headers
    body: bytes = b""
    query: str = ""
    received_at: float = 0.0

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the body."""
        return fingerprint(self.body)

    def query_value(self, name: str) -> str | None:
        """The first value of a query parameter, or None."""
        return next((value for key, value in parse_qsl(self.query, keep_blank_values=True) if key == name), None)


def by_name(headers: RawHeaders) -> dict[str, str]:
    """Headers as text by name; of several with the same name the first counts."""
    found: dict[str, str] = {}
    for name, value in headers:
        found.setdefault(name.decode("latin-1"), value.decode("latin-1"))
    return found


def joined(first: RawHeaders, rest: RawHeaders) -> RawHeaders:
    """Headers before others; of these, names that the first ones have are left out."""
    names = {name for name, _ in first}
    return (*first, *(header for header in rest if header[0] not in names))


# Who ended an answer.
ClosedBy = Literal["server", "client"]

# How many events a run has at most.
RUN_LENGTH = 256
# The step of frames that come just before the first token.
OPENING = -1
# The step of frames that come when the engine takes the request.
TAKEN = -2
# The step of frames that come when the request has been read.
AT_ONCE = -3


class TemplatedFrames(Sequence[bytes]):
    """Frames that differ in one text alone: each is `before`, its text, and `after`.

    Single frames are made when one is looked at; `joined` makes many of them into one piece, at a fraction of the cost.
    """

    __slots__ = ("_after", "_before", "_changed", "_ends", "_made", "_texts")

    def __init__(self, before: bytes, texts: Sequence[bytes], after: bytes) -> None:
        self._before, self._texts, self._after = before, texts, after
        self._made: list[bytes] | None = None
        self._ends: list[int] | None = None
        self._changed: tuple[Callable[[bytes], bytes], list[bytes]] | None = None

    def __len__(self) -> int:
        return len(self._texts)

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> list[bytes]: ...
    def __getitem__(self, index: int | slice) -> bytes | list[bytes]:
        return self._frames()[index]

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._frames())

    def _frames(self) -> list[bytes]:
        if self._made is None:
            before, after = self._before, self._after
            self._made = [before + text + after for text in self._texts]
        return self._made

    def changed(self, change: Callable[[bytes], bytes]) -> list[bytes]:
        """Each frame as a function changes it. The latest result is kept: several streams may have the same frames."""
        if self._changed is None or self._changed[0] is not change:
            before, after = self._before, self._after
            self._changed = change, [change(before + text + after) for text in self._texts]
        return self._changed[1]

    def ends(self) -> Sequence[int]:
        """The same as of a run of frames."""
        if self._ends is None:
            around = len(self._before) + len(self._after)
            self._ends = [*accumulate(map(around.__add__, map(len, self._texts)), initial=0)]
        return self._ends

    def joined(self, start: int, stop: int) -> bytes:
        """The same as of a run of frames."""
        between = self._after + self._before
        return b"".join((self._before, between.join(self._texts[start:stop]), self._after))


class FrameBatch(NamedTuple):
    """A run of frames. A frame is one whole event of a stream, or a whole body.

    `step[k]` is the decoding step after which frame k can be sent: 0 is that of the first token, OPENING precedes it.
    A run that is sent when the engine takes the request, before its prefill, has TAKEN for every frame; one that does
    not wait for the engine, AT_ONCE.
    `tokens[k]` is how many generated tokens it carries.
    """

    data: Sequence[bytes]
    step: Sequence[int]
    tokens: Sequence[int]


class TimedFrames(NamedTuple):
    """A run of frames and their due times: `due[k]` in seconds after the request was received, never decreasing."""

    data: Sequence[bytes]
    due: Sequence[float]
    tokens: Sequence[int]

    def joined(self, start: int, stop: int) -> bytes:
        """The frames from `start` up to but not including `stop` (at least one) as one piece."""
        data = self.data
        if type(data) is TemplatedFrames:
            return data.joined(start, stop)
        return data[start] if stop == start + 1 else b"".join(data[start:stop])

    def ends(self) -> Sequence[int]:
        """The offsets, in bytes, at which the frames begin in all of them joined, and at which the last one ends."""
        data = self.data
        return data.ends() if type(data) is TemplatedFrames else [*accumulate(map(len, data), initial=0)]


@dataclass(frozen=True, slots=True)
class LazyFrames(Generic[Item]):
    """An iterable that makes its items anew for each iteration: the same ones every time, none of them kept."""

    make: Callable[[], Iterator[Item]]

    def __iter__(self) -> Iterator[Item]:
        return self.make()


class Reply(NamedTuple):
    """An answer before it is timed: status, headers and frames; `streamed` if it is a stream of events.

    `orders` are what it sets going, for the dialect's webhook queue, or changes in the dialect's history: functions.
    """

    status: int
    headers: RawHeaders
    frames: Iterable[FrameBatch]
    streamed: bool = False
    orders: tuple[object, ...] = ()


class TokenTiming(NamedTuple):
    """How long an engine takes over a generation, in seconds.

    `queue` lasts until it takes up the request, `prefill` from there to the first token, `decode` from there to the
    last. `schedule[k]` is when decoding step k is on the wire, counted from the arrival of the request. An empty
    schedule means that nothing waits (latency is off); the three figures are then those of a very fast engine.
    """

    queue: float = 0.0
    prefill: float = 0.0
    decode: float = 0.0
    schedule: Sequence[float] = ()

    def due(self, steps: Sequence[int]) -> list[float]:
        """When each of the steps is due, in seconds after arrival; any step beyond the last is due with it."""
        if not self.schedule or (steps and steps[0] == AT_ONCE):
            return [0.0] * len(steps)
        if steps and steps[0] == TAKEN:
            return [max(self.schedule[0] - self.prefill, 0.0)] * len(steps)
        last = len(self.schedule) - 1
        return [self.schedule[min(max(step, 0), last)] for step in steps]


def instant(steps: int) -> TokenTiming:
    """The pace if latency is off: nothing waits, and the stated times are a few microseconds, since clients divide by
    them."""
    return TokenTiming(queue=0.000_01, prefill=0.000_05, decode=0.000_002 * steps)


class ConnectionFault(NamedTuple):
    """How an answer ends if it does not end properly.

    After its frames the bytes `raw` are sent as they are, outside of HTTP framing; then the connection is reset,
    closed, kept open in silence (`hang`), or dead without the client's knowledge (`half_open`: whatever it sends is
    answered with a reset). With `head` the status and headers are sent even if no frame is.
    """

    how: Literal["reset", "close", "hang", "half_open"]
    raw: bytes = b""
    head: bool = False


class Timeline(NamedTuple):
    """What is sent, and when: the head together with the first run, then run after run.

    It ends properly unless it has an `ending`: after its last frame, and not before the instant `until` (in seconds
    after the request was received).
    """

    status: int
    headers: RawHeaders
    runs: Iterable[TimedFrames]
    streamed: bool = False
    ending: ConnectionFault | None = None
    until: float = 0.0

    @property
    def held(self) -> int:
        """How many bytes its frames take in memory: none if they are made anew each time."""
        return sum(len(frame) for run in self.runs for frame in run.data) if isinstance(self.runs, tuple) else 0


def to_timeline(reply: Reply, timing: TokenTiming) -> Timeline:
    """The reply with absolute due times, in seconds after the request arrived, computed as lazily as its frames."""
    status, headers, frames, streamed, _ = reply
    if isinstance(frames, tuple) and len(frames) == 1:
        # Most answers are one body.
        data, step, tokens = frames[0]
        return Timeline(status, headers, (TimedFrames(data, timing.due(step), tokens),), streamed)
    runs = tuple(_due(frames, timing)) if isinstance(frames, tuple) else LazyFrames(lambda: _due(frames, timing))
    return Timeline(status, headers, runs, streamed)


def _due(frames: Iterable[FrameBatch], timing: TokenTiming) -> Iterator[TimedFrames]:
    for batch in frames:
        if type(batch) is not FrameBatch or isinstance(batch.data, bytes):
            raise TypeError(f"the frames of a reply come in FrameBatches of several bytes each, not as {batch!r:.80}")
        data, step, tokens = batch
        yield TimedFrames(data, timing.due(step), tokens)


# Every answer has a record, so its array is created in C, without a call of a Python function.
_numbers = cast("Callable[[], array[float]]", partial(array, "d"))


@dataclass(slots=True)
class Record:
    """How far a timeline has been played: what has been sent so far, and when.

    `instants` has the instant of each write, in seconds after arrival. A write carries one event of one token; `others`
    has the numbers of events and tokens of those that do not, by their index. `closed_by` is who ended the answer, None
    while it goes on, and `seconds` when; `given_up` if the server ended it before it was complete. Everything is
    recorded before the client can notice it.
    """

    # One number per token: a thousand streams take turns, and each time nothing of a stream is left in the CPU's cache.
    instants: "array[float]" = field(default_factory=_numbers)
    others: dict[int, tuple[int, int]] = field(default_factory=dict)
    closed_by: ClosedBy | None = None
    seconds: float = 0.0
    given_up: bool = False

    def wrote(self, events: int, tokens: int, instant: float) -> None:
        """Record one write of so many events, which carry so many tokens."""
        if events != 1 or tokens != 1:
            self.others[len(self.instants)] = events, tokens
        self.instants.append(instant)

    def wrote_each(self, tokens: Sequence[int], instant: float) -> None:
        """Record several writes at one instant, of one event each; `tokens` is how many tokens each event carries."""
        for count in tokens:
            self.wrote(1, count, instant)

    @property
    def events_sent(self) -> int:
        """How many events were sent."""
        return len(self.instants) + sum([events - 1 for events, _ in self.others.copy().values()])

    @property
    def tokens_sent(self) -> int:
        """How many tokens they carried."""
        return len(self.instants) + sum([tokens - 1 for _, tokens in self.others.copy().values()])

    @property
    def first_write(self) -> float | None:
        """When the first write was sent, in seconds after arrival; None if there was none."""
        return self.instants[0] if self.instants else None

    @property
    def first_token(self) -> float | None:
        """When the first token was sent; None if none was."""
        others = self.others
        return next((at for write, at in enumerate(self.instants) if write not in others or others[write][1]), None)

    def token_instants(self) -> list[float]:
        """When tokens were sent: the instant of each write that carried any."""
        instants = self.instants.tolist()
        for write in [write for write, (_, tokens) in self.others.copy().items() if not tokens][::-1]:
            del instants[write : write + 1]
        return instants

    def event_instants(self) -> Iterator[float]:
        """When each event was sent, in order."""
        others = self.others
        for write, at in enumerate(self.instants):
            yield from repeat(at, others[write][0] if write in others else 1)

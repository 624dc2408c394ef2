"""What goes out, and when: frames without time (a reply), and with it (a timeline).

Events are kept column by column: one object per run of events, not one per event, because a stream's cost is paid
per event. A run is at most a few hundred events long, and runs may be made lazily, so that the longest answer never
holds up the others.
"""

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, Literal, NamedTuple, TypeVar

Item = TypeVar("Item", covariant=True)

RawHeaders = tuple[tuple[bytes, bytes], ...]

RUN_LENGTH = 256
OPENING = -1


class Frames(NamedTuple):
    """A run of frames. A frame is one whole event of a stream, or a whole body.

    `step[k]` is the decoding step with which frame k can leave: 0 is the first token's, OPENING comes just before it.
    `tokens[k]` is how many generated tokens it carries.
    """

    data: Sequence[bytes]
    step: Sequence[int]
    tokens: Sequence[int]


class Run(NamedTuple):
    """A run of frames that are due: `due[k]` in seconds after the request was received, never decreasing."""

    data: Sequence[bytes]
    due: Sequence[float]
    tokens: Sequence[int]


@dataclass(frozen=True, slots=True)
class Lazy(Generic[Item]):
    """An iterable that is made anew each time it is walked: the same items every time, none of them kept."""

    make: Callable[[], Iterator[Item]]

    def __iter__(self) -> Iterator[Item]:
        return self.make()


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer before time: status, headers and frames. `streamed` tells a stream of events from one body."""

    status: int
    headers: RawHeaders
    frames: Iterable[Frames]
    streamed: bool = False


@dataclass(frozen=True, slots=True)
class Pace:
    """How long an engine takes over a generation, in seconds.

    `queue`: until it takes the request; `prefill`: from there to the first token; `decode`: from there to the last.
    `schedule[k]` is when decoding step k is on the wire, counted from the arrival of the request. An empty schedule
    means that nothing waits (latency is off); the three figures then say what a very fast engine would have stated.
    """

    queue: float = 0.0
    prefill: float = 0.0
    decode: float = 0.0
    schedule: Sequence[float] = ()

    def due(self, steps: Sequence[int]) -> list[float]:
        """When each of the steps is due, in seconds after arrival; steps past the last leave with it."""
        if not self.schedule:
            return [0.0] * len(steps)
        last = len(self.schedule) - 1
        return [self.schedule[min(max(step, 0), last)] for step in steps]


@dataclass(frozen=True, slots=True)
class Ending:
    """How an answer ends when it does not end well.

    After its frames the bytes `raw` go out behind the back of HTTP; then the connection is reset, closed, or held
    without another word. With `head` the answer's head goes out even when none of its frames does.
    """

    how: Literal["reset", "close", "hang"]
    raw: bytes = b""
    head: bool = False


@dataclass(frozen=True, slots=True)
class Timeline:
    """What goes out, and when: the head with the first run, then run after run. Without an `ending` it ends well."""

    status: int
    headers: RawHeaders
    runs: Iterable[Run]
    streamed: bool = False
    ending: Ending | None = None


@dataclass(slots=True)
class Record:
    """How a timeline is being played: what has gone out so far, and when.

    Write number k went out at `instants[k]` (seconds after arrival) and brought the events sent to `sent[k]`.
    `closed_by` says who ended the answer, None while nobody has, and `seconds` when. All of it is written before the
    client can see what it tells of.
    """

    instants: "array[float]" = field(default_factory=lambda: array("d"))
    sent: "array[int]" = field(default_factory=lambda: array("q"))
    tokens_sent: int = 0
    closed_by: Literal["server", "client"] | None = None
    seconds: float = 0.0

    @property
    def events_sent(self) -> int:
        """How many events have gone out."""
        return self.sent[-1] if self.sent else 0

    def wrote(self, events: int, tokens: int, instant: float) -> None:
        """Note a write of some events, which carry some tokens."""
        self.instants.append(instant)
        self.sent.append(self.events_sent + events)
        self.tokens_sent += tokens

    def sent_at(self, event: int) -> float | None:
        """When an event (from 0) went out, in seconds after arrival; None when it did not."""
        write = bisect_right(self.sent, event)
        return self.instants[write] if write < len(self.sent) else None

"""What goes out, and when: frames without time (a reply), and with it (a timeline).

Events are kept column by column: one object per run of events, not one per event, because a stream's cost is paid
per event. A run is at most a few hundred events long, and runs may be made lazily, so that the longest answer never
holds up the others.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, chain, compress, repeat
from typing import Generic, Literal, NamedTuple, TypeVar, cast, overload

Item = TypeVar("Item", covariant=True)

RawHeaders = tuple[tuple[bytes, bytes], ...]

# Who has ended an answer.
Closer = Literal["server", "client"]

RUN_LENGTH = 256
OPENING = -1
TAKEN = -2


class Wrapped(Sequence[bytes]):
    """Frames that have all but one text in common: `before`, the text, `after`.

    Single frames are made when somebody looks at one; `joined` gives many of them as one piece, at a fraction of that
    price.
    """

    __slots__ = ("_after", "_before", "_ends", "_made", "_texts")

    def __init__(self, before: bytes, texts: Sequence[bytes], after: bytes) -> None:
        self._before, self._texts, self._after = before, texts, after
        self._made: list[bytes] | None = None
        self._ends: list[int] | None = None

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

    def ends(self) -> Sequence[int]:
        """Where each frame begins, in bytes, were all of them one piece; and last, where that would end."""
        if self._ends is None:
            around = len(self._before) + len(self._after)
            self._ends = [*accumulate(map(around.__add__, map(len, self._texts)), initial=0)]
        return self._ends

    def joined(self, start: int, stop: int) -> bytes:
        """The frames from `start` up to `stop` (one at least) as one piece."""
        between = self._after + self._before
        return b"".join((self._before, between.join(self._texts[start:stop]), self._after))


class Frames(NamedTuple):
    """A run of frames. A frame is one whole event of a stream, or a whole body.

    `step[k]` is the decoding step with which frame k can leave: 0 is the first token's, OPENING comes just before it.
    A run of which all leave when the engine takes the request, a prefill earlier, has TAKEN for every one.
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


class Reply(NamedTuple):
    """An answer before time: status, headers and frames. `streamed` tells a stream of events from one body."""

    status: int
    headers: RawHeaders
    frames: Iterable[Frames]
    streamed: bool = False


class Pace(NamedTuple):
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
        if steps and steps[0] == TAKEN:
            return [max(self.schedule[0] - self.prefill, 0.0)] * len(steps)
        last = len(self.schedule) - 1
        return [self.schedule[min(max(step, 0), last)] for step in steps]


class Ending(NamedTuple):
    """How an answer ends when it does not end well.

    After its frames the bytes `raw` go out as they are, outside of HTTP framing; then the connection is reset, closed,
    kept open in silence (`hang`), or dead without the client's knowing (`half_open`: whatever it sends is answered by a
    reset). With `head` the answer's head goes out even when none of its frames does.
    """

    how: Literal["reset", "close", "hang", "half_open"]
    raw: bytes = b""
    head: bool = False


class Timeline(NamedTuple):
    """What goes out, and when: the head with the first run, then run after run. Without an `ending` it ends well.

    It ends after its last frame, and not before the instant `until` (in seconds after the request was received).
    """

    status: int
    headers: RawHeaders
    runs: Iterable[Run]
    streamed: bool = False
    ending: Ending | None = None
    until: float = 0.0

    @property
    def held(self) -> int:
        """What its frames take in memory, in bytes: nothing where they are made anew each time."""
        return sum(len(frame) for run in self.runs for frame in run.data) if isinstance(self.runs, tuple) else 0


# Each answer has a record of its own: what it notes in is made without a step through Python.
_numbers = cast("Callable[[], array[float]]", partial(array, "d"))


@dataclass(slots=True)
class Record:
    """How a timeline is being played: what has gone out so far, and when.

    In all there were `events_sent` and `tokens_sent`. `closed_by` says who ended the answer, None while nobody has, and
    `seconds` when; one that the server has `given_up` was not over. All of it is written before the client can see what
    it tells of.
    """

    # Of each write three numbers: its instant in seconds after arrival, its events and their tokens. They lie together
    # because a thousand streams take turns, and what lies elsewhere is no longer at hand.
    writes: "array[float]" = field(default_factory=_numbers)
    events_sent: int = 0
    tokens_sent: int = 0
    closed_by: Closer | None = None
    seconds: float = 0.0
    given_up: bool = False

    def wrote(self, events: int, tokens: int, instant: float) -> None:
        """Note a write of some events, which carry some tokens."""
        self.events_sent += events
        self.tokens_sent += tokens
        self.writes.extend((instant, events, tokens))

    def wrote_each(self, tokens: Sequence[int], instant: float) -> None:
        """Note writes of one event each, which carry so many tokens."""
        self.events_sent += len(tokens)
        self.tokens_sent += sum(tokens)
        self.writes.extend(chain.from_iterable(zip(repeat(instant), repeat(1), tokens)))

    @property
    def first_write(self) -> float | None:
        """When the first write went out, in seconds after arrival; None when there was none."""
        return self.writes[0] if self.writes else None

    @property
    def first_token(self) -> float | None:
        """When the first token went out."""
        return next(iter(self.token_instants()), None)

    def token_instants(self) -> list[float]:
        """When tokens went out: an instant for each write that brought any."""
        return list(compress(self.writes[::3], self.writes[2::3]))

    def event_instants(self) -> Iterator[float]:
        """When each event went out, in their order; as many as there were."""
        return chain.from_iterable(map(repeat, self.writes[::3], map(int, self.writes[1::3])))

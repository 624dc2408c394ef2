"""The journal of a namespace: every exchange from the moment its answer is decided, bounded in count and bytes.

An exchange keeps its plan: details of an answer (its events, when they were due, its tokens) are computed only on
request. Forgotten exchanges are counted, so that the rest is not mistaken for everything.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from mockserver.core.failures import SimulatorError
from mockserver.core.http import Call, Record
from mockserver.state.plan import Plan

# The weights, in bytes, of an exchange without its body, of each value that was read from this, of each token of its
# answer, of each position with log-probabilities, and of each alternative there: about what they take in memory.
_OWN_WEIGHT = 4_096
_VALUE_WEIGHT = 96
_TOKEN_WEIGHT = 96
_POSITION_WEIGHT = 256
_ALTERNATIVE_WEIGHT = 88

# Writing the transcript of an exchange of more weight, or with a longer head, takes some milliseconds.
_LONG_WEIGHT = 128 * 1024
_LONG_HEAD = 8 * 1024

# The limit for all journals of a server together, in bytes.
MOST_BYTES = 64 * 1024 * 1024

Watcher = Callable[..., None]


class Subscribers:
    """Functions that are called when something has happened, until they are stopped.

    To tell them, call `each`; adding or stopping one meanwhile does not disturb that.
    """

    __slots__ = ("each",)

    def __init__(self) -> None:
        self.each: tuple[Watcher, ...] = ()

    def add(self, watcher: Watcher) -> Callable[[], None]:
        """Add a watcher; the result stops it."""
        self.each = (*self.each, watcher)

        def stop() -> None:
            self.each = tuple(other for other in self.each if other is not watcher)

        return stop


@dataclass(slots=True, eq=False)
class Exchange:
    """One request and its answer. `number` counts from 1 within the namespace, `path` is the requested path.

    The answer is a `plan` or a `simulator_error`; the record says how far it has been sent. The request arrived at the
    instant `arrived` of the namespace's clock, which was `ahead` by so many seconds then. Its `weight` is about what it
    takes in memory, in bytes.
    """

    number: int
    namespace: str
    path: str
    call: Call
    plan: Plan | None = None
    simulator_error: SimulatorError | None = None
    arrived: float = 0.0
    ahead: float = 0.0
    record: Record = field(default_factory=Record)
    weight: int = field(init=False)

    def __post_init__(self) -> None:
        plan, body = self.plan, self.call.body
        self.weight = len(body) + _OWN_WEIGHT
        if plan is not None and plan.request is not None:
            # Schemas and lists are kept as they were read.
            self.weight += _VALUE_WEIGHT * body.count(b",")
        if plan is None or plan.generation is None:
            return
        choices, alternatives = plan.generation.choices, plan.generation.request.output.logprobs
        if not choices:
            # Embeddings are many times as long as their texts, and have no completion tokens.
            self.weight += plan.timeline.held
            return
        self.weight += _TOKEN_WEIGHT * plan.generation.usage.completion_tokens
        if alternatives is not None:
            positions = sum(len(choice.positions) + len(choice.echo_positions) for choice in choices)
            self.weight += (_POSITION_WEIGHT + _ALTERNATIVE_WEIGHT * alternatives) * positions

    @property
    def is_question(self) -> bool:
        """Whether it is a request to a model; one to an unserved path counts too, since it was meant for some model."""
        operation = self.plan.context.route.operation if self.plan is not None else None
        return operation is None or operation.handler is None

    @property
    def is_long(self) -> bool:
        """Whether writing its transcript may take more than some milliseconds."""
        call = self.call
        head = len(self.path) + len(call.query) + sum([len(name) + len(value) for name, value in call.headers.raw])
        return head > _LONG_HEAD or self.weight > _LONG_WEIGHT


@dataclass(slots=True)
class Budget:
    """The memory limit for all journals of a server, and how much they use, in bytes."""

    most: int = MOST_BYTES
    held: int = 0


class Forgotten(NamedTuple):
    """How many exchanges a journal has forgotten, and how many of them were requests to a model."""

    exchanges: int = 0
    questions: int = 0


NOTHING = Forgotten()


class Journal:
    """The latest exchanges of a namespace, oldest first. Listing is thread-safe.

    `opened` is how many there have been, and `asked` how many of these were requests to a model, `forgotten` ones
    included: those that were dropped to make room. `held` is the approximate size in memory of the others, in bytes.
    The `watchers` are called in the server's thread with each exchange that begins or ends.
    """

    __slots__ = ("_budget", "_exchanges", "_most", "_unended", "asked", "forgotten", "held", "opened", "watchers")

    def __init__(self, most: int = 1000, budget: Budget | None = None) -> None:
        self._most = most
        self._budget = budget or Budget()
        self._exchanges: deque[Exchange] = deque()
        self.held = 0
        self.watchers = Subscribers()
        self.opened = self.asked = 0
        self.forgotten = NOTHING
        # Exchanges whose answers have not ended, including forgotten ones.
        self._unended: set[Exchange] = set()

    @property
    def is_idle(self) -> bool:
        """Whether every answer has ended, including those of forgotten exchanges."""
        return not self._unended

    def exchanges(self) -> list[Exchange]:
        """The exchanges that are kept, oldest first."""
        return list(self._exchanges)

    def find(self, number: int) -> Exchange | None:
        """The exchange with this number, if it is kept."""
        # Numbers have no gaps.
        place = number - 1 - (self.opened - len(self._exchanges))
        return self._exchanges[place] if 0 <= place < len(self._exchanges) else None

    def open(
        self,
        namespace: str,
        path: str,
        call: Call,
        plan: Plan | None = None,
        simulator_error: SimulatorError | None = None,
        *,
        arrived: float = 0.0,
        ahead: float = 0.0,
    ) -> Exchange:
        """Record an exchange whose answer is decided."""
        self.opened += 1
        exchange = Exchange(self.opened, namespace, path, call, plan, simulator_error, arrived, ahead)
        self.asked += exchange.is_question
        self._unended.add(exchange)
        self._exchanges.append(exchange)
        self.held += exchange.weight
        self._budget.held += exchange.weight
        if len(self._exchanges) > self._most:
            self.forget_oldest()
        for watcher in self.watchers.each:
            watcher(exchange)
        return exchange

    def forget_oldest(self) -> bool:
        """Drop the oldest exchange; return False if there is none."""
        if not self._exchanges:
            return False
        exchange = self._exchanges.popleft()
        self.held -= exchange.weight
        self._budget.held -= exchange.weight
        exchanges, questions = self.forgotten
        self.forgotten = Forgotten(exchanges + 1, questions + exchange.is_question)
        return True

    def clear(self) -> None:
        """Forget every exchange without counting it as forgotten, and number from 1 again."""
        while self.forget_oldest():
            pass
        self._unended.clear()
        self.opened = self.asked = 0
        self.forgotten = NOTHING

    def notify(self, exchange: Exchange) -> None:
        """Call the watchers because an exchange has begun or ended."""
        if exchange.record.closed_by is not None:
            self._unended.discard(exchange)
        for watcher in self.watchers.each:
            watcher(exchange)

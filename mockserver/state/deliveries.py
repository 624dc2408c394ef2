"""What the dialects of a namespace send by themselves: their webhook queues, and a record of each request to an
application.

`Delivered` is a delivery as tests and the admin API see it. Requests that the server answers itself are not recorded
here: they are exchanges in the journal.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from mockserver.core.caches import Bounded
from mockserver.core.dialect_state import WebhookQueue, WebhookRequest, WebhookResult
from mockserver.core.dialects import Dialect
from mockserver.core.secrets import masked_body, masked_headers, masked_text
from mockserver.state.journal.exchanges import Subscribers

# How many deliveries a namespace keeps, and how many bytes their requests may have together; the oldest are forgotten.
_MOST, _MOST_BYTES = 1_000, 16 * 1024 * 1024
# How many bytes are shown of what was sent, and of the answer.
_SHOWN, _ANSWER = 1_048_576, 4_096


@dataclass(slots=True, eq=False)
class Delivery:
    """One request to an application of the user's. It began at the Unix time `at` of the namespace's clock.

    `number` counts from 1 within the namespace. There is no outcome while it is under way.
    """

    number: int
    dialect: str
    task: WebhookRequest
    at: float
    outcome: WebhookResult | None = None
    seconds: float = 0.0


class Deliveries:
    """The webhook queues of a namespace, and the latest deliveries from them, oldest first.

    The `watchers` are called in the server's thread with each delivery that ends.
    """

    __slots__ = ("_closers", "_kept", "_queues", "begun", "ended", "watchers")

    def __init__(self) -> None:
        self._queues: dict[str, WebhookQueue] = {}
        self._kept: Bounded[int, Delivery] | None = None
        self._closers: tuple[Callable[[], None], ...] = ()
        self.watchers = Subscribers()
        self.begun = self.ended = 0

    def webhooks(self, dialect: Dialect) -> WebhookQueue | None:
        """The webhook queue of a dialect; None if it sends nothing by itself."""
        if dialect.webhooks is None:
            return None
        known = self._queues.get(dialect.name)
        if known is None:
            known = self._queues[dialect.name] = dialect.webhooks()
        return known

    def all(self) -> list[Delivery]:
        """The deliveries that are kept, oldest first."""
        return list(self._kept or ())

    def begin(self, dialect: str, task: WebhookRequest, at: float) -> Delivery:
        """Record a delivery that begins."""
        if self._kept is None:
            self._kept = Bounded(_MOST, _MOST_BYTES, lambda each: _size_of(each.task))
        self.begun += 1
        # Only what is shown is kept.
        delivery = Delivery(self.begun, dialect, task._replace(body=task.body[:_SHOWN]), at)
        self._kept.add(delivery.number, delivery)
        return delivery

    def end(self, delivery: Delivery, outcome: WebhookResult, seconds: float) -> None:
        """Record its outcome."""
        # Only what is shown is kept.
        delivery.outcome, delivery.seconds = outcome._replace(headers=(), body=outcome.body[:_ANSWER]), seconds
        self.ended += 1
        for watcher in self.watchers.each:
            watcher(delivery)

    def on_reset(self, closer: Callable[[], None]) -> None:
        """Call `closer` when the webhook queues are emptied, so that it stops what it has begun for them."""
        self._closers = (*self._closers, closer)

    def reset(self) -> None:
        """Empty the webhook queues and forget every delivery; nothing more is sent."""
        closers, self._closers = self._closers, ()
        for close in closers:
            close()
        self._queues.clear()
        self._kept = None
        self.begun = self.ended = 0


def _size_of(task: WebhookRequest) -> int:
    return len(task.url) + len(task.body) + sum(len(name) + len(value) for name, value in task.headers)


class Delivered(NamedTuple):
    """A request that a dialect has made to an application by itself.

    - `message`: the id of what was delivered; `attempt` counts its attempts from 0; `at` is a Unix time.
    - `headers`: with names in lower case. Bodies that are no text are shown as well as they can be.
    - `status`: the application's answer; None if there was none, and `error` says why; `answer` is the
      beginning of its body.
    - `ended`: whether it is over, after so many `seconds` on the namespace's clock.
    """

    number: int
    at: float
    dialect: str
    message: str
    attempt: int
    method: str
    url: str
    headers: Mapping[str, str]
    body: str
    status: int | None
    error: str
    answer: str
    seconds: float
    ended: bool

    @property
    def line(self) -> str:
        """It on one line."""
        result = self.status or self.error if self.ended else "under way"
        return f"   #{self.number} {self.method} {self.url} -> {result} (attempt {self.attempt + 1}, {self.message})"


def shown(delivery: Delivery) -> Delivered:
    """A delivery for people and tests, its secrets masked."""
    task, outcome = delivery.task, delivery.outcome
    return Delivered(
        number=delivery.number,
        at=delivery.at,
        dialect=delivery.dialect,
        message=task.message,
        attempt=task.attempt,
        method=task.method,
        url=masked_text(task.url),
        headers=masked_headers(tuple((name.lower(), value) for name, value in task.headers)),
        body=masked_body(task.body).decode("utf-8", "replace"),
        status=None if outcome is None else outcome.status,
        error="" if outcome is None else masked_text(outcome.error),
        answer="" if outcome is None else masked_body(outcome.body).decode("utf-8", "replace"),
        seconds=delivery.seconds,
        ended=outcome is not None,
    )

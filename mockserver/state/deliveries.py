"""What the dialects of a namespace send by themselves: their webhook queues, and a record of each request to an
application.

Requests that the server answers itself are not recorded here: they are exchanges in the journal.
"""

from collections.abc import Callable, Mapping
from sys import getsizeof
from typing import NamedTuple

from mockserver.core.caches import Bounded
from mockserver.core.dialect_state import WebhookQueue, WebhookRequest, WebhookResult
from mockserver.core.dialects import Dialect
from mockserver.core.http import by_name
from mockserver.core.secrets import masked, masked_body, masked_text
from mockserver.state.journal.exchanges import Subscribers

# How many deliveries a namespace keeps, and how many bytes their requests may have together; the oldest are forgotten.
_MOST, _MOST_BYTES = 1_000, 16 * 1024 * 1024
# How many bytes are shown of what was sent, and of the answer.
_SHOWN, _ANSWER = 1_048_576, 4_096


class Delivered(NamedTuple):
    """A request that a dialect has made to an application by itself, as tests and the admin API see it.

    - `number` counts from 1 within the namespace.
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
    status: int | None = None
    error: str = ""
    answer: str = ""
    seconds: float = 0.0
    ended: bool = False

    @property
    def line(self) -> str:
        """It on one line."""
        result = self.status or self.error if self.ended else "under way"
        return f"   #{self.number} {self.method} {self.url} -> {result} (attempt {self.attempt + 1}, {self.message})"


class Deliveries:
    """The webhook queues of a namespace, and the latest deliveries from them, oldest first.

    The `watchers` are called in the server's thread with the number of each delivery that ends.
    """

    __slots__ = ("_closers", "_kept", "_queues", "begun", "ended", "watchers")

    def __init__(self) -> None:
        self._queues: dict[str, WebhookQueue] = {}
        self._kept: Bounded[int, Delivered] = Bounded(_MOST, _MOST_BYTES, _size_of)
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

    def all(self) -> list[Delivered]:
        """The deliveries that are kept, oldest first, with their secrets masked."""
        return [*map(_masked, self._kept)]

    def begin(self, dialect: str, task: WebhookRequest, at: float) -> int:
        """Record a delivery that begins, and return its number."""
        self.begun += 1
        delivered = Delivered(
            number=self.begun,
            at=at,
            dialect=dialect,
            message=task.message,
            attempt=task.attempt,
            method=task.method,
            url=task.url,
            headers=by_name(tuple((name.lower(), value) for name, value in task.headers)),
            body=task.body[:_SHOWN].decode("utf-8", "replace"),
        )
        self._kept.add(self.begun, delivered)
        return self.begun

    def end(self, number: int, outcome: WebhookResult, seconds: float) -> None:
        """Record the outcome of a delivery."""
        begun = self._kept.get(number)
        if begun is not None:
            answer = outcome.body[:_ANSWER].decode("utf-8", "replace")
            ended = begun._replace(
                status=outcome.status, error=outcome.error, answer=answer, seconds=seconds, ended=True
            )
            self._kept.replace(number, ended)
        self.ended += 1
        for watcher in self.watchers.each:
            watcher(number)

    def on_reset(self, closer: Callable[[], None]) -> None:
        """Call `closer` when the webhook queues are emptied, so that it stops what it has begun for them."""
        self._closers = (*self._closers, closer)

    def reset(self) -> None:
        """Empty the webhook queues and forget every delivery; nothing more is sent."""
        closers, self._closers = self._closers, ()
        for close in closers:
            close()
        self._queues.clear()
        self._kept = Bounded(_MOST, _MOST_BYTES, _size_of)
        self.begun = self.ended = 0


def _masked(delivered: Delivered) -> Delivered:
    """It with its secrets masked, which takes long if there are many: only when it is shown."""
    return delivered._replace(
        url=masked_text(delivered.url),
        headers={name: masked(name, value) for name, value in delivered.headers.items()},
        body=masked_body(delivered.body.encode()).decode(),
        error=masked_text(delivered.error),
        answer=masked_body(delivered.answer.encode()).decode(),
    )


def _size_of(delivered: Delivered) -> int:
    """The bytes that it was begun with: whatever its outcome is, it weighs the same."""
    headers = sum(len(name) + len(value) for name, value in delivered.headers.items())
    return len(delivered.url) + getsizeof(delivered.body) + headers

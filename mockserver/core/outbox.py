"""Requests that a dialect makes by itself, after the answer that has ordered them: to deliver messages and callbacks.

An operation's answer may carry `orders`, values of the dialect's own. The dialect's outbox, one in each namespace,
takes them and decides which requests are due and what follows from their outcomes. It never waits and never sends
anything: a sender (in `serving`) performs the tasks that it hands out. Times are Unix seconds.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from mockserver.core.timeline import RawHeaders


class Task(NamedTuple):
    """A request to make.

    - `message`: the id of what it delivers; `attempt` counts its attempts from 0.
    - `url`: absolute for an application of the user's. A mere path is one of the dialect's own: the server answers it
      itself, as if a client had asked, and the exchange is in the journal.
    - `timeout`: how many seconds of the namespace's clock it may take.
    """

    message: str
    method: str
    url: str
    headers: RawHeaders = ()
    body: bytes = b""
    attempt: int = 0
    timeout: float = 60.0

    @property
    def is_internal(self) -> bool:
        """Whether the server itself answers it."""
        return self.url.startswith("/")


class Outcome(NamedTuple):
    """The answer to a task; without a `status` there was none, and `error` says why."""

    status: int | None = None
    headers: RawHeaders = ()
    body: bytes = b""
    error: str = ""


class Times(NamedTuple):
    """The present: `now` on the namespace's clock, which tests may have advanced, and the `real` time."""

    now: float
    real: float


class Outbox(Protocol):
    """What a dialect still has to send in a namespace. It is used by one thread; answers may read it from any."""

    def take(self, order: object, now: float) -> None:
        """Carry out what an answer has ordered."""

    def due(self, times: Times, most: int) -> Sequence[Task]:
        """The tasks to begin now, `most` at most. Each is handed out once, and its outcome is reported later."""

    def next_due(self) -> float | None:
        """When the next task is due; None if none is waiting."""

    def done(self, task: Task, outcome: Outcome, now: float) -> None:
        """Take note of the outcome of a task."""

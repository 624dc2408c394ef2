"""What the dialects of a namespace send by themselves: their outboxes, and a record of each request to an application.

Requests that the server answers itself are not recorded here: they are exchanges in the journal.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from mockserver.core.dialects import Dialect
from mockserver.core.outbox import Outbox, Outcome, Task

if TYPE_CHECKING:
    from mockserver.core.bounded import Bounded

# How many deliveries a namespace keeps, and how many bytes their bodies may have together; the oldest are forgotten.
_MOST, _MOST_BYTES = 1_000, 16 * 1024 * 1024
# How many bytes are shown of what was sent, and of the answer.
_SHOWN, _ANSWER = 1_048_576, 4_096


class Delivery:
    """One request to an application of the user's. It began at the Unix time `at` of the namespace's clock.

    `number` counts from 1 within the namespace. There is no outcome while it is under way.
    """

    __slots__ = ("at", "dialect", "number", "outcome", "seconds", "task")

    def __init__(self, number: int, dialect: str, task: Task, at: float) -> None:
        self.number, self.dialect, self.task, self.at = number, dialect, task, at
        self.outcome: Outcome | None = None
        self.seconds = 0.0


class Deliveries:
    """The outboxes of a namespace, and the latest deliveries from them, oldest first."""

    __slots__ = ("_closers", "_kept", "_outboxes", "_watchers", "begun", "ended")

    def __init__(self) -> None:
        self._outboxes: dict[str, Outbox] = {}
        self._kept: Bounded[int, Delivery] | None = None
        self._closers: tuple[Callable[[], None], ...] = ()
        self._watchers: tuple[Callable[[], None], ...] = ()
        self.begun = self.ended = 0

    def outbox(self, dialect: Dialect) -> Outbox | None:
        """The outbox of a dialect; None if it sends nothing by itself."""
        if dialect.outbox is None:
            return None
        known = self._outboxes.get(dialect.name)
        if known is None:
            known = self._outboxes[dialect.name] = dialect.outbox()
        return known

    def all(self) -> list[Delivery]:
        """The deliveries that are kept, oldest first."""
        return list(self._kept or ())

    def begin(self, dialect: str, task: Task, at: float) -> Delivery:
        """Record a delivery that begins."""
        if self._kept is None:
            # Every server has namespaces, but hardly any delivers anything.
            from mockserver.core.bounded import Bounded

            self._kept = Bounded(_MOST, _MOST_BYTES, lambda each: len(each.task.body))
        self.begun += 1
        # Only what is shown is kept.
        delivery = Delivery(self.begun, dialect, task._replace(body=task.body[:_SHOWN]), at)
        self._kept.add(delivery.number, delivery)
        return delivery

    def end(self, delivery: Delivery, outcome: Outcome, seconds: float) -> None:
        """Record its outcome."""
        delivery.outcome, delivery.seconds = outcome._replace(body=outcome.body[:_ANSWER]), seconds
        self.ended += 1
        for watcher in self._watchers:
            watcher()

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Call `watcher` in the server's thread whenever a delivery ends, until the result is called."""
        self._watchers = (*self._watchers, watcher)

        def stop() -> None:
            self._watchers = tuple(other for other in self._watchers if other is not watcher)

        return stop

    def on_reset(self, closer: Callable[[], None]) -> None:
        """Call `closer` when the outboxes are emptied, so that it stops what it has begun for them."""
        self._closers = (*self._closers, closer)

    def reset(self) -> None:
        """Empty the outboxes and forget every delivery; nothing more is sent."""
        closers, self._closers = self._closers, ()
        for close in closers:
            close()
        self._outboxes.clear()
        self._kept = None
        self.begun = self.ended = 0

"""Queues: messages that are delivered in order, so many at a time.

"The next message will be ACTIVE only after the last message is either DELIVERED or FAILED", and it "will wait for
callbacks or failure callbacks to finish": a message keeps its place until nothing that belongs to it is left to
deliver.
"""

from collections import deque
from dataclasses import dataclass, field

from mockserver.dialects.upstash.qstash.values import Standing


@dataclass(slots=True, eq=False)
class Line:
    """One queue. `waiting` are the messages whose turn has not come; `busy` counts, for each whose turn it is, what
    is left to deliver: the message itself, and its callbacks."""

    name: str
    created: float
    updated: float
    parallelism: int = 1
    paused: bool = False
    waiting: deque[str] = field(default_factory=deque)
    busy: dict[str, int] = field(default_factory=dict)

    @property
    def standing(self) -> Standing:
        """The queue as its owner sees it."""
        lag = len(self.waiting) + len(self.busy)
        return Standing(self.name, self.created, self.updated, self.parallelism, self.paused, lag)

    def admitted(self) -> list[str]:
        """The messages whose turn has come just now."""
        admitted = []
        while self.waiting and not self.paused and len(self.busy) < self.parallelism:
            admitted.append(self.waiting.popleft())
            self.busy[admitted[-1]] = 1
        return admitted

    def join(self, message: str) -> None:
        """Count a callback of a message whose turn it is."""
        if message in self.busy:
            self.busy[message] += 1

    def leave(self, message: str) -> None:
        """Take note that a message, or a callback of it, is delivered, has failed, or is cancelled."""
        if message in self.busy:
            self.busy[message] -= 1
            if not self.busy[message]:
                del self.busy[message]
        elif message in self.waiting:
            self.waiting.remove(message)

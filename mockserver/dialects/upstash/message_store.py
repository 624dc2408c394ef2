"""The message store of a namespace: what has become of every message, and what has to be sent next.

It is QStash's webhook queue: answers order changes of it, and a sender makes the requests that are due. An attempt
that fails is repeated later, or the message goes to the dead letter queue. Every attempt of a message with a callback
makes a message of its own, whose outcome nobody is told. Messages and queues belong to their publisher, the bearer of a
token, and are shown to nobody else.
"""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Any

from mockserver.core.caches import Bounded
from mockserver.core.dialect_state import WebhookRequest, WebhookResult
from mockserver.core.dialects import RequestScope
from mockserver.core.http import Call
from mockserver.dialects.upstash.attempts import (
    attempt,
    callback,
    is_delivered,
    may_repeat,
    signing_key,
    wait_before,
)
from mockserver.dialects.upstash.errors import token
from mockserver.dialects.upstash.values import (
    DeadLetter,
    LogEvent,
    QueuedMessage,
    size_of,
    size_with_outcome,
)

# How many messages there may be at once, and how many dead ones; the oldest are dropped.
_MOST_MESSAGES, _MOST_DEAD = 10_000, 1_000
# "Only the last 10.000 logs are kept and older logs are removed automatically."
_MOST_EVENTS = 10_000
# How many bytes each of these may take.
_MOST_BYTES = 64 * 1024 * 1024
# How many identities and keys are remembered.
_MOST_KNOWN = 20_000
# With so many queues, those without messages are forgotten.
_MOST_QUEUES = 10_000
# How much longer than its messages the heap of due times may become before what is stale in it is dropped.
_MOST_STALE = 1_000
# "If a message with the same deduplication ID was published in the last 10 minutes, the new message will be ignored."
_REMEMBERED = 600.0
# "Messages are removed from the database shortly after they're delivered": after so many seconds.
_SHORTLY = 60.0

# A queue by its owner's token and its name.
_QueueKey = tuple[str, str]


@dataclass(slots=True, eq=False)
class _Entry:
    """A message that is not delivered yet, and how often it has been retried. It is `due` at that time, unless it is
    being delivered or waits in a queue. `queue` is the one whose messages wait for it."""

    message: QueuedMessage
    queue: _QueueKey | None = None
    retried: int = 0
    due: float | None = None


@dataclass(slots=True, eq=False)
class Queue:
    """A queue, whose messages are delivered in order, so many at a time. `waiting` are those whose turn has not come;
    `busy` counts, for each whose turn it is, what is left to deliver: the message itself, and its callbacks.

    "The next message will be ACTIVE only after the last message is either DELIVERED or FAILED", and it "will wait for
    callbacks or failure callbacks to finish".
    """

    owner: str
    name: str
    created: float
    updated: float
    parallelism: int = 1
    paused: bool = False
    waiting: OrderedDict[str, None] = field(default_factory=OrderedDict)
    busy: dict[str, int] = field(default_factory=dict)

    @property
    def lag(self) -> int:
        """How many of its messages are not delivered yet."""
        return len(self.waiting) + len(self.busy)

    def admitted(self) -> list[str]:
        """The messages whose turn has come just now."""
        admitted = []
        while self.waiting and not self.paused and len(self.busy) < self.parallelism:
            admitted.append(self.waiting.popitem(last=False)[0])
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
        else:
            self.waiting.pop(message, None)


class MessageStore:
    """The messages of a namespace. Answers read it; only orders and outcomes change it."""

    def __init__(self) -> None:
        # What has given way to newer messages, until it has left its queue.
        self._dropped: list[_Entry] = []
        self._entries: Bounded[str, _Entry] = Bounded(
            _MOST_MESSAGES, _MOST_BYTES, lambda entry: size_of(entry.message), self._dropped.append
        )
        # What was delivered or has failed, and until when it can still be read.
        self._ended: Bounded[str, tuple[QueuedMessage, float]] = Bounded(
            _MOST_MESSAGES, _MOST_BYTES // 4, lambda ended: size_of(ended[0])
        )
        self._waiting: list[tuple[float, int, str]] = []
        self._count = 0
        self._queues: dict[_QueueKey, Queue] = {}
        self._dead: Bounded[str, DeadLetter] = Bounded(_MOST_DEAD, _MOST_BYTES, size_with_outcome)
        self._latest_dead = (0, 0)
        self._events: Bounded[int, LogEvent] = Bounded(_MOST_EVENTS, _MOST_BYTES, size_with_outcome)
        self._copies: OrderedDict[int, int] = OrderedDict()
        self._keys: OrderedDict[str, tuple[str, float]] = OrderedDict()
        self.rotations = 0

    # --- what answers read ---------------------------------------------------------------------------------------

    def copies(self, identity: int) -> int:
        """How many messages have been published by a request with this identity."""
        return self._copies.get(identity, 0)

    def duplicated(self, key: str, now: float) -> str | None:
        """The id of the message of which one with this key would be a duplicate; None if there is none."""
        known = self._keys.get(key)
        return known[0] if known is not None and known[1] > now else None

    def messages(self, owner: str) -> list[QueuedMessage]:
        """The messages of a publisher that are not delivered yet, oldest first."""
        return [entry.message for entry in self._entries if entry.message.token == owner]

    def pending(self, owner: str, id: str) -> QueuedMessage | None:
        """The message of a publisher with this id, unless it has been delivered or has failed."""
        entry = self._entries.get(id)
        return None if entry is None or entry.message.token != owner else entry.message

    def message(self, owner: str, id: str, now: float) -> QueuedMessage | None:
        """The same, or one that has been delivered or has failed a short time ago."""
        ended = self._ended.get(id)
        if ended is not None and ended[0].token == owner and ended[1] > now:
            return ended[0]
        return self.pending(owner, id)

    def dead(self, owner: str) -> list[DeadLetter]:
        """The dead letter queue of a publisher, oldest first."""
        return [each for each in self._dead if each.message.token == owner]

    def dead_letter(self, owner: str, id: str) -> DeadLetter | None:
        """The dead message of a publisher with this id of the dead letter queue."""
        dead = self._dead.get(id)
        return None if dead is None or dead.message.token != owner else dead

    def events(self, owner: str) -> list[LogEvent]:
        """The log of a publisher's messages, latest first."""
        return [each for each in self._events if each.message.token == owner][::-1]

    def queues(self, owner: str) -> list[Queue]:
        """Every queue of a publisher, oldest first."""
        return [queue for queue in list(self._queues.values()) if queue.owner == owner]

    def queue(self, owner: str, name: str) -> Queue | None:
        """The queue of a publisher of that name."""
        return self._queues.get((owner, name))

    @property
    def signing_keys(self) -> tuple[str, str]:
        """The current signing key and the next one."""
        return signing_key(self.rotations), signing_key(self.rotations + 1)

    # --- what answers order --------------------------------------------------------------------------------------

    def publish(self, message: QueuedMessage, identity: int, key: str | None, now: float) -> None:
        """Deliver a message, published by a request with this identity. Another one with the same `key` is a duplicate
        for some time."""
        _remember(self._copies, identity, self.copies(identity) + 1)
        if key is not None:
            _remember(self._keys, key, (message.id, now + _REMEMBERED))
        self._add(message, None, now)

    def cancel(self, ids: Iterable[str], now: float) -> None:
        """Do not deliver these messages."""
        for entry in filter(None, map(self._entries.get, ids)):
            self._note("CANCEL_REQUESTED", entry, now)
            self._note("CANCELED", entry, now)
            self._remove(entry)

    def drop_dead_letters(self, ids: Iterable[str]) -> None:
        """Remove these from the dead letter queue."""
        for id in ids:
            self._dead.remove(id)

    def set_queue(
        self, owner: str, name: str, now: float, parallelism: int | None = None, paused: bool | None = None
    ) -> None:
        """Make a queue of a publisher, or change it where a value is given."""
        queue = self._made_queue(owner, name, now)
        queue.updated = now
        queue.parallelism = queue.parallelism if parallelism is None else parallelism
        queue.paused = queue.paused if paused is None else paused
        self._let_in(queue)

    def remove_queue(self, owner: str, name: str) -> None:
        """Remove a queue of a publisher, and the messages that wait in it."""
        removed = self._queues.pop((owner, name), None)
        for id in () if removed is None else removed.waiting:
            self._entries.remove(id)

    def rotate_keys(self) -> None:
        """Sign with the next key from now on."""
        self.rotations += 1

    # --- what the sender does -----------------------------------------------------------------------------------

    def due(self, now: float, real: float, most: int) -> list[WebhookRequest]:
        """The requests to begin now."""
        tasks: list[WebhookRequest] = []
        while len(tasks) < most and self._forget_stale() and self._waiting[0][0] <= now:
            entry = self._entries.get(heappop(self._waiting)[2])
            assert entry is not None, "what is stale has been forgotten"
            entry.due = None
            self._note("ACTIVE", entry, now)
            tasks.append(attempt(entry.message, entry.retried, self.signing_keys[0], real))
        return tasks

    def next_due(self) -> float | None:
        """When the next request is due."""
        return self._waiting[0][0] if self._forget_stale() else None

    def done(self, task: WebhookRequest, outcome: WebhookResult, now: float) -> None:
        """Take note of the outcome of an attempt: report it, and repeat the attempt or remove the message."""
        entry = self._entries.get(task.message)
        if entry is None or entry.due is not None:
            return
        message, options, retried = entry.message, entry.message.options, entry.retried
        if options.callback is not None:
            self._add(callback(message, options.callback, outcome, retried, now), entry.queue, now)
        if is_delivered(outcome):
            self._note("DELIVERED", entry, now)
            self._end(entry, now)
            return
        self._note("ERROR", entry, now, outcome)
        if may_repeat(message, outcome, retried):
            due = now + wait_before(message, outcome, retried, now)
            entry.retried += 1
            self._note("RETRY", entry, now, next_delivery=due)
            self._schedule(entry, due)
            return
        self._note("FAILED", entry, now, outcome)
        dead = self._add_dead_letter(message, outcome, now)
        if options.failure_callback is not None:
            report = callback(message, options.failure_callback, outcome, retried, now, dead)
            self._add(report, entry.queue, now)
        self._end(entry, now)

    # --- what changes --------------------------------------------------------------------------------------------

    def _add(self, message: QueuedMessage, queue: _QueueKey | None, now: float) -> None:
        """Add a message, to its queue if it has one; a callback belongs to the `queue` of its source."""
        entry = _Entry(message, queue if message.queue is None else (message.token, message.queue))
        self._entries.add(message.id, entry)
        while self._dropped:
            self._leave(self._dropped.pop())
        self._note("CREATED", entry, now, next_delivery=message.due)
        if message.queue is not None:
            own = self._made_queue(message.token, message.queue, now)
            own.waiting[message.id] = None
            self._let_in(own)
        else:
            if queue in self._queues and message.source is not None:
                self._queues[queue].join(message.source)
            self._schedule(entry, message.due)

    def _end(self, entry: _Entry, now: float) -> None:
        """Remove a message that is delivered or has failed, which can be read for a short time."""
        self._ended.add(entry.message.id, (entry.message, now + _SHORTLY))
        self._remove(entry)

    def _remove(self, entry: _Entry) -> None:
        self._entries.remove(entry.message.id)
        self._leave(entry)

    def _leave(self, entry: _Entry) -> None:
        """Let what is removed leave its queue, so that the next message there may have its turn."""
        queue = self._queues.get(entry.queue) if entry.queue is not None else None
        if queue is not None:
            queue.leave(entry.message.source or entry.message.id)
            self._let_in(queue)

    def _let_in(self, queue: Queue) -> None:
        for id in queue.admitted():
            entry = self._entries.get(id)
            assert entry is not None, "what is removed leaves its queue"
            self._schedule(entry, entry.message.due)

    def _schedule(self, entry: _Entry, due: float) -> None:
        self._count += 1
        entry.due = due
        heappush(self._waiting, (due, self._count, entry.message.id))
        if len(self._waiting) > 2 * len(self._entries) + _MOST_STALE:
            self._waiting = [each for each in self._waiting if self._is_due(each)]
            heapify(self._waiting)

    def _is_due(self, waiting: tuple[float, int, str]) -> bool:
        """Whether what stands in the heap is still so."""
        entry = self._entries.get(waiting[2])
        return entry is not None and entry.due == waiting[0]

    def _forget_stale(self) -> bool:
        """Drop what is no longer due from the head of the heap; return whether anything is left."""
        while self._waiting and not self._is_due(self._waiting[0]):
            heappop(self._waiting)
        return bool(self._waiting)

    def _add_dead_letter(self, message: QueuedMessage, outcome: WebhookResult, now: float) -> DeadLetter:
        milliseconds = int(now * 1000)
        number = self._latest_dead[1] + 1 if self._latest_dead[0] == milliseconds else 0
        self._latest_dead = (milliseconds, number)
        dead = DeadLetter(f"{milliseconds}-{number}", message, outcome, now)
        self._dead.add(dead.id, dead)
        return dead

    def _made_queue(self, owner: str, name: str, now: float) -> Queue:
        queue = self._queues.get((owner, name))
        if queue is None:
            if len(self._queues) >= _MOST_QUEUES:
                self._queues = {key: each for key, each in self._queues.items() if each.waiting or each.busy}
            queue = self._queues[owner, name] = Queue(owner, name, now, now)
        return queue

    def _note(
        self,
        state: str,
        entry: _Entry,
        now: float,
        outcome: WebhookResult | None = None,
        next_delivery: float | None = None,
    ) -> None:
        self._count += 1
        self._events.add(self._count, LogEvent(now, state, entry.message, outcome, next_delivery))


def store_of(scope: RequestScope) -> MessageStore:
    """The messages of the namespace; none if there is no server, as for `mockserver plan`."""
    return scope.webhooks if isinstance(scope.webhooks, MessageStore) else MessageStore()


def owner_of(call: Call) -> str:
    """The publisher whose messages a call is about."""
    return token(call) or ""


def _remember(known: "OrderedDict[Any, Any]", key: object, value: object) -> None:
    known[key] = value
    known.move_to_end(key)
    if len(known) > _MOST_KNOWN:
        known.popitem(last=False)

"""The mailbox of a namespace: what has become of every message, and what has to be sent next.

It is QStash's outbox: answers order changes (`values`), and a courier performs the tasks that are due. An attempt that
fails is repeated later, or the message goes to the dead letter queue. Every attempt of a message with a callback makes
a message of its own, whose outcome nobody is told.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from heapq import heappop, heappush
from typing import Any

from mockserver.core.bounded import Bounded
from mockserver.core.outbox import Outcome, Task, Times
from mockserver.dialects.upstash.qstash.attempts import attempt
from mockserver.dialects.upstash.qstash.callbacks import callback
from mockserver.dialects.upstash.qstash.entries import Entry, weight_of, weight_of_dead, weight_of_event
from mockserver.dialects.upstash.qstash.flows import Gate
from mockserver.dialects.upstash.qstash.groups import AddEndpoints, Groups, RemoveEndpoints, RemoveGroup
from mockserver.dialects.upstash.qstash.lines import Line
from mockserver.dialects.upstash.qstash.retries import is_delivered, may_repeat, wait_before
from mockserver.dialects.upstash.qstash.schedules import PauseSchedule, RemoveSchedule, Schedules, SetSchedule
from mockserver.dialects.upstash.qstash.signing import signing_key
from mockserver.dialects.upstash.qstash.values import (
    Cancel,
    Dead,
    Event,
    Flow,
    FlowStanding,
    Message,
    PinFlow,
    Publish,
    RemoveQueue,
    ResetFlow,
    RotateKeys,
    SetFlow,
    SetQueue,
    Standing,
    Unbury,
)

# How many messages there may be at once, and how many dead ones; the oldest are dropped.
_MOST_MESSAGES, _MOST_DEAD = 10_000, 1_000
# "Only the last 10.000 logs are kept and older logs are removed automatically."
_MOST_EVENTS = 10_000
# How many bytes the bodies of each of these may have together.
_MOST_BYTES = 64 * 1024 * 1024
# How many identities and keys are remembered.
_MOST_KNOWN = 20_000
# With so many flow control keys, those that hold nothing back are forgotten.
_MOST_GATES = 10_000
# "If a message with the same deduplication ID was published in the last 10 minutes, the new message will be ignored."
_REMEMBERED = 600.0


class Mailbox:
    """The messages of a namespace. Answers read it; only orders and outcomes change it."""

    def __init__(self) -> None:
        # What has given way to newer messages, until it has left its gate and its queue.
        self._dropped: list[Entry] = []
        self._entries: Bounded[str, Entry] = Bounded(_MOST_MESSAGES, _MOST_BYTES, weight_of, self._dropped.append)
        self._waiting: list[tuple[float, int, str]] = []
        self._count = 0
        self._lines: dict[str, Line] = {}
        self._gates: dict[str, Gate] = {}
        self._dead: Bounded[str, Dead] = Bounded(_MOST_DEAD, _MOST_BYTES, weight_of_dead)
        self._events: Bounded[int, Event] = Bounded(_MOST_EVENTS, _MOST_BYTES, weight_of_event)
        self._copies: OrderedDict[int, int] = OrderedDict()
        self._keys: OrderedDict[str, tuple[str, float]] = OrderedDict()
        self.groups, self.schedules = Groups(), Schedules()
        self.rotations = self.under_way = 0

    # --- what answers read ---------------------------------------------------------------------------------------

    def copies(self, identity: int) -> int:
        """How many messages have been published by a request with this identity."""
        return self._copies.get(identity, 0)

    def duplicated(self, key: str, now: float) -> str | None:
        """The id of the message of which one with this key would be a duplicate; None if there is none."""
        known = self._keys.get(key)
        return known[0] if known is not None and known[1] > now else None

    def messages(self) -> list[Message]:
        """The messages that are not delivered yet, oldest first."""
        return [entry.message for entry in self._entries]

    def message(self, id: str) -> Message | None:
        """The message with this id, unless it has been delivered or has failed."""
        entry = self._entries.get(id)
        return None if entry is None else entry.message

    def dead(self) -> list[Dead]:
        """The dead letter queue, oldest first."""
        return list(self._dead)

    def dead_letter(self, id: str) -> Dead | None:
        """The dead message with this id of the dead letter queue."""
        return self._dead.get(id)

    def events(self) -> list[Event]:
        """The log, latest first."""
        return list(self._events)[::-1]

    def queues(self) -> list[Standing]:
        """Every queue, oldest first."""
        return [line.standing for line in list(self._lines.values())]

    def queue(self, name: str) -> Standing | None:
        """The queue of that name."""
        line = self._lines.get(name)
        return None if line is None else line.standing

    def state(self, id: str) -> str:
        """What has become of a message that was published."""
        if id in self._entries:
            return "IN_PROGRESS"
        return "FAIL" if any(each.message.id == id for each in self._dead) else "SUCCESS"

    def flows(self) -> list[FlowStanding]:
        """Every flow control key, oldest first."""
        return [gate.standing for gate in list(self._gates.values())]

    def flow(self, key: str) -> FlowStanding | None:
        """The flow control key of that name."""
        gate = self._gates.get(key)
        return None if gate is None else gate.standing

    @property
    def signing_keys(self) -> tuple[str, str]:
        """The current signing key and the next one."""
        return signing_key(self.rotations), signing_key(self.rotations + 1)

    # --- what the courier does -----------------------------------------------------------------------------------

    def take(self, order: object, now: float) -> None:
        """Carry out what an answer has ordered."""
        _ORDERS[type(order)](self, order, now)

    def due(self, times: Times, most: int) -> list[Task]:
        """The requests to begin now."""
        for message in self.schedules.messages(self.groups, times.now):
            self._add(message, None, times.now)
        tasks: list[Task] = []
        while len(tasks) < most and self._forget_stale() and self._waiting[0][0] <= times.now:
            entry = self._entries.get(heappop(self._waiting)[2])
            assert entry is not None, "what is stale has been forgotten"
            entry.due = None
            gate = self._gate(entry.message)
            if gate is not None and not entry.admitted:
                gate.waiting.setdefault(entry.message.id)
                self._let_through(gate, times.now)
                continue
            entry.admitted = False
            self._note("ACTIVE", entry.message, times.now)
            tasks.append(attempt(entry.message, entry.retried, self.signing_keys[0], times.real))
        self.under_way += len(tasks)
        return tasks

    def next_due(self) -> float | None:
        """When the next request is due, or a schedule is triggered."""
        waiting = self._waiting[0][0] if self._forget_stale() else None
        times = (each for each in (waiting, self.schedules.next_due()) if each is not None)
        return min(times, default=None)

    def done(self, task: Task, outcome: Outcome, now: float) -> None:
        """Take note of the outcome of an attempt: report it, and repeat the attempt or remove the message."""
        self.under_way -= 1
        entry = self._entries.get(task.message)
        if entry is None or entry.due is not None:
            return
        message, retried = entry.message, entry.retried
        gate = self._gate(message)
        if gate is not None:
            gate.leave(message.id)
            self._let_through(gate, now)
        if message.callback is not None:
            self._add(callback(message, message.callback, outcome, retried, now), entry.line, now)
        if is_delivered(outcome):
            self._note("DELIVERED", message, now)
            self._remove(entry, now)
            return
        self._note("ERROR", message, now, outcome)
        if may_repeat(message, outcome, retried):
            due = now + wait_before(message, outcome, retried, now)
            entry.retried += 1
            self._note("RETRY", message, now, next_delivery=due)
            self._schedule(entry, due)
            return
        self._note("FAILED", message, now, outcome)
        dead = self._bury(message, outcome, now)
        if message.failure_callback is not None:
            report = callback(message, message.failure_callback, outcome, retried, now, dead)
            self._add(report, entry.line, now)
        self._remove(entry, now)

    # --- what changes --------------------------------------------------------------------------------------------

    def _publish(self, order: Publish, now: float) -> None:
        message = order.message
        _remember(self._copies, order.identity, self.copies(order.identity) + 1)
        if order.key is not None:
            _remember(self._keys, order.key, (message.id, now + _REMEMBERED))
        self._add(message, None, now)

    def _add(self, message: Message, line: str | None, now: float) -> None:
        """Add a message, to its queue if it has one; a callback belongs to the `line` of its source."""
        entry = Entry(message, message.queue or line)
        if message.options.flow is not None:
            self._made_gate(message.options.flow).configure(message.options.flow)
        self._entries.add(message.id, entry)
        while self._dropped:
            self._leave(self._dropped.pop(), now)
        self._note("CREATED", message, now, next_delivery=message.due)
        if message.queue is not None:
            queue = self._line(message.queue, now)
            queue.waiting.append(message.id)
            self._let_in(queue)
        else:
            if line in self._lines and message.source is not None:
                self._lines[line].join(message.source)
            self._schedule(entry, message.due)

    def _remove(self, entry: Entry, now: float) -> None:
        self._entries.remove(entry.message.id)
        self._leave(entry, now)

    def _leave(self, entry: Entry, now: float) -> None:
        """Let what is removed leave its gate and its queue, so that the next message there may have its turn."""
        gate = self._gate(entry.message)
        if gate is not None:
            gate.leave(entry.message.id)
            self._let_through(gate, now)
        queue = self._lines.get(entry.line) if entry.line is not None else None
        if queue is not None:
            queue.leave(entry.message.source or entry.message.id)
            self._let_in(queue)

    def _let_in(self, queue: Line) -> None:
        for id in queue.admitted():
            entry = self._entries.get(id)
            assert entry is not None, "what is removed leaves its queue"
            self._schedule(entry, entry.message.due)

    def _gate(self, message: Message) -> Gate | None:
        """What holds back the attempts of a message with flow control."""
        flow = message.options.flow
        return None if flow is None else self._made_gate(flow)

    def _made_gate(self, flow: Flow) -> Gate:
        gate = self._gates.get(flow.key)
        if gate is None:
            if len(self._gates) >= _MOST_GATES:
                self._gates = {key: each for key, each in self._gates.items() if not each.is_idle}
            gate = self._gates[flow.key] = Gate(flow)
        return gate

    def _let_through(self, gate: Gate, now: float) -> None:
        """Begin the attempts that flow control permits now; what waits for the next period is due again then."""
        while (id := gate.begin(now)) is not None:
            entry = self._entries.get(id)
            assert entry is not None, "what is removed leaves its gate"
            entry.admitted = True
            self._schedule(entry, now)
        due = gate.opens()
        if due is not None:
            first = self._entries.get(next(iter(gate.waiting)))
            assert first is not None, "what is removed leaves its gate"
            if first.due != due:
                self._schedule(first, due)

    def _set_flow(self, order: SetFlow, now: float) -> None:
        gate = self._made_gate(Flow(order.key))
        gate.paused = gate.paused if order.paused is None else order.paused
        gate.pinned -= order.unpinned
        self._let_through(gate, now)

    def _pin_flow(self, order: PinFlow, now: float) -> None:
        gate = self._made_gate(order.flow)
        gate.pin(order.flow, order.pinned, now)
        self._let_through(gate, now)

    def _reset_flow(self, order: ResetFlow, now: float) -> None:
        gate = self._gates.get(order.key)
        if gate is not None:
            gate.reset_rate(now)
            self._let_through(gate, now)

    def _schedule(self, entry: Entry, due: float) -> None:
        self._count += 1
        entry.due = due
        heappush(self._waiting, (due, self._count, entry.message.id))

    def _forget_stale(self) -> bool:
        """Drop what is no longer due from the head of the heap; return whether anything is left."""
        while self._waiting:
            due, _, id = self._waiting[0]
            entry = self._entries.get(id)
            if entry is not None and entry.due == due:
                return True
            heappop(self._waiting)
        return False

    def _bury(self, message: Message, outcome: Outcome, now: float) -> Dead:
        milliseconds, number = int(now * 1000), 0
        while (id := f"{milliseconds}-{number}") in self._dead:
            number += 1
        dead = Dead(id, message, outcome, now)
        self._dead.add(id, dead)
        return dead

    def _cancel(self, order: Cancel, now: float) -> None:
        for id in order.ids:
            entry = self._entries.get(id)
            if entry is not None:
                self._note("CANCEL_REQUESTED", entry.message, now)
                self._note("CANCELED", entry.message, now)
                self._remove(entry, now)

    def _unbury(self, order: Unbury, now: float) -> None:
        for id in order.ids:
            self._dead.remove(id)

    def _line(self, name: str, now: float) -> Line:
        return self._lines.setdefault(name, Line(name, now, now))

    def _set_queue(self, order: SetQueue, now: float) -> None:
        queue = self._line(order.name, now)
        queue.updated = now
        queue.parallelism = queue.parallelism if order.parallelism is None else order.parallelism
        queue.paused = queue.paused if order.paused is None else order.paused
        self._let_in(queue)

    def _remove_queue(self, order: RemoveQueue, now: float) -> None:
        queue = self._lines.pop(order.name, None)
        if queue is not None:
            for id in queue.waiting:
                self._entries.remove(id)

    def _rotate(self, order: RotateKeys, now: float) -> None:
        self.rotations += 1

    def _note(
        self,
        state: str,
        message: Message,
        now: float,
        outcome: Outcome | None = None,
        next_delivery: float | None = None,
    ) -> None:
        self._count += 1
        self._events.add(self._count, Event(self._count, now, state, message, outcome, next_delivery))


_ORDERS: Mapping[type, Callable[[Mailbox, Any, float], None]] = {
    Publish: Mailbox._publish,
    Cancel: Mailbox._cancel,
    Unbury: Mailbox._unbury,
    SetQueue: Mailbox._set_queue,
    SetFlow: Mailbox._set_flow,
    PinFlow: Mailbox._pin_flow,
    ResetFlow: Mailbox._reset_flow,
    RemoveQueue: Mailbox._remove_queue,
    RotateKeys: Mailbox._rotate,
    AddEndpoints: lambda mailbox, order, now: mailbox.groups.add(order, now),
    RemoveEndpoints: lambda mailbox, order, now: mailbox.groups.remove_endpoints(order, now),
    RemoveGroup: lambda mailbox, order, now: mailbox.groups.remove(order, now),
    SetSchedule: lambda mailbox, order, now: mailbox.schedules.set(order, now),
    RemoveSchedule: lambda mailbox, order, now: mailbox.schedules.remove(order, now),
    PauseSchedule: lambda mailbox, order, now: mailbox.schedules.pause(order, now),
}


def _remember(known: "OrderedDict[Any, Any]", key: object, value: object) -> None:
    known[key] = value
    known.move_to_end(key)
    if len(known) > _MOST_KNOWN:
        known.popitem(last=False)

"""Schedules: messages that are published again and again, at the times of a cron expression."""

from dataclasses import dataclass
from typing import NamedTuple

from mockserver.dialects.upstash.qstash.cron import Cron
from mockserver.dialects.upstash.qstash.groups import Endpoint, Groups
from mockserver.dialects.upstash.qstash.signing import digits
from mockserver.dialects.upstash.qstash.values import Message

MOST_SCHEDULES = 1_000
# A clock may be put forward by years: of so many times that have passed each is kept, the others are skipped.
_MOST_MISSED = 1_000


class Schedule(NamedTuple):
    """A schedule. `message` is what is published, with the destination as its URL: a URL, or the name of a group.

    `expression` is the `cron` as it was written.
    """

    id: str
    expression: str
    cron: Cron
    message: Message
    created: float


class SetSchedule(NamedTuple):
    """Make a schedule, or replace the one with its id."""

    schedule: Schedule


class RemoveSchedule(NamedTuple):
    """Remove a schedule; what it has published is delivered."""

    id: str


class PauseSchedule(NamedTuple):
    """Let a schedule publish nothing, or publish again."""

    id: str
    paused: bool


@dataclass(slots=True)
class Planned:
    """A schedule as its owner sees it: when it was triggered last, when it is next, and what the last time made."""

    schedule: Schedule
    next: float | None
    last: float | None = None
    made: tuple[str, ...] = ()
    paused: bool = False


class Schedules:
    """The schedules of a namespace, oldest first; `made` counts those that there have been."""

    def __init__(self) -> None:
        self._planned: dict[str, Planned] = {}
        self.made = 0

    def all(self) -> list[Planned]:
        """Every schedule."""
        return list(self._planned.values())

    def get(self, id: str) -> Planned | None:
        """The schedule with this id."""
        return self._planned.get(id)

    def set(self, order: SetSchedule, now: float) -> None:
        """Make a schedule, or replace one."""
        schedule = order.schedule
        self.made += 1
        self._planned[schedule.id] = Planned(schedule, schedule.cron.next_after(now))

    def remove(self, order: RemoveSchedule, now: float) -> None:
        """Remove a schedule."""
        self._planned.pop(order.id, None)

    def pause(self, order: PauseSchedule, now: float) -> None:
        """Pause a schedule, or resume it: what came in between is not made up for."""
        planned = self._planned.get(order.id)
        if planned is not None:
            planned.paused = order.paused
            planned.next = planned.schedule.cron.next_after(now)

    def next_due(self) -> float | None:
        """When the next schedule is triggered."""
        times = (each.next for each in self.all() if not each.paused and each.next is not None)
        return min(times, default=None)

    def messages(self, groups: Groups, now: float) -> list[Message]:
        """The messages of all schedules that were to be triggered by now."""
        return [message for each in self.all() if not each.paused for message in _triggered(each, groups, now)]


def _triggered(planned: Planned, groups: Groups, now: float) -> list[Message]:
    found: list[Message] = []
    cron, missed = planned.schedule.cron, 0
    while planned.next is not None and planned.next <= now:
        messages = _messages(planned.schedule, planned.next, groups)
        planned.last, planned.made = planned.next, tuple(each.id for each in messages)
        found += messages
        missed += 1
        planned.next = cron.next_after(planned.next if missed < _MOST_MISSED else now)
    return found


def _messages(schedule: Schedule, at: float, groups: Groups) -> list[Message]:
    """The messages of one time: one, or one for each endpoint of a group; none if there is no such group any more."""
    draft = schedule.message
    if draft.group is None:
        endpoints: tuple[Endpoint, ...] = (Endpoint(draft.url),)
    else:
        group = groups.get(draft.group)
        endpoints = () if group is None else group.endpoints
    return [
        draft._replace(
            id=f"msg_{digits(63, schedule.id, int(at), number)}",
            url=endpoint.url,
            endpoint=endpoint.name,
            created=at,
            due=at + draft.options.delay,
            schedule=schedule.id,
        )
        for number, endpoint in enumerate(endpoints)
    ]

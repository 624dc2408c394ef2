"""The load model: an engine has a number of slots, and a request that finds them taken waits, or is slowed, or both.

A request is planned when it arrives, against the plans of those still running, and a plan never changes: requests are
served in the order of their arrival, and a newcomer is slowed by those before it, never the other way round. All
instants are in seconds on one clock of the caller's.
"""

from bisect import bisect_right, insort
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from mockserver.core.timeline import TokenTiming
from mockserver.latency.profiles import Profile


class Occupancy(NamedTuple):
    """When a planned request ends, when the engine starts on it, and when its first token comes."""

    end: float
    start: float
    first: float


class SlotGrant(NamedTuple):
    """How many seconds a newcomer waits for a slot, and its place in the queue (0: a slot is free)."""

    wait: float = 0.0
    position: int = 0


FREE = SlotGrant()


def next_slot(profile: Profile, running: Sequence[Occupancy], now: float) -> SlotGrant | None:
    """The slot for a request that arrives now; None if both the engine and its queue are full.

    `running` are the occupancies of all earlier requests, in any order; those that have ended do not count.
    """
    if profile.slots is None:
        return FREE
    ends = sorted(each.end for each in running if each.end > now)
    position = len(ends) - profile.slots + 1
    if position <= 0:
        return FREE
    if profile.waiting is not None and position > profile.waiting:
        return None
    return SlotGrant(ends[position - 1] - now, position)


def slow_down(
    pace: TokenTiming, profile: Profile, running: Sequence[Occupancy], now: float, wait: float
) -> TokenTiming:
    """The pace of a request that arrives now, waits, and then shares the engine: its queue is longer by the wait, and
    its gaps are stretched while others are busy. If latency is off it is unchanged."""
    if not pace.schedule:
        return pace
    first = pace.schedule[0] + wait
    work = [instant - pace.schedule[0] for instant in pace.schedule]
    others = [each for each in running if each.end > now + first]
    times = work if profile.slots is None else _stretched(work, _slowness(profile, others, now + first))
    schedule = tuple(first + time for time in times)
    return pace._replace(queue=pace.queue + wait, decode=schedule[-1] - first, schedule=schedule)


def occupancy_of(pace: TokenTiming, now: float) -> Occupancy:
    """The occupancy of a request that arrives now, from its pace under load."""
    if not pace.schedule:
        return Occupancy(now, now, now)
    first = now + pace.schedule[0]
    return Occupancy(now + pace.schedule[-1], first - pace.prefill, first)


class Engine:
    """The slots of one engine: which requests run, which wait, and for how long. Its methods take the current time."""

    def __init__(self) -> None:
        self._running: list[Occupancy] = []

    def next_slot(self, profile: Profile, now: float) -> SlotGrant | None:
        """The slot for a request that arrives now; None when the engine refuses it."""
        self._forget_ended(now)
        return next_slot(profile, self._running, now)

    def take(self, pace: TokenTiming, profile: Profile, now: float, grant: SlotGrant) -> tuple[TokenTiming, Occupancy]:
        """Accept a request for its slot: its pace under load, and the occupancy with which it can be released early."""
        made = slow_down(pace, profile, self._running, now, grant.wait)
        taken = occupancy_of(made, now)
        if profile.slots is not None and taken.end > now:
            insort(self._running, taken)
        return made, taken

    def release(self, taken: Occupancy) -> None:
        """Free the slot of a request before its time, as when its client has left; the plans of those that wait do not
        change."""
        if taken in self._running:
            self._running.remove(taken)

    def busy(self, now: float) -> tuple[int, int]:
        """How many requests are being served at an instant, and how many wait."""
        here = [each for each in self._running if each.end > now]
        served = sum(each.start <= now for each in here)
        return served, len(here) - served

    def _forget_ended(self, now: float) -> None:
        del self._running[: bisect_right(self._running, now, key=lambda each: each.end)]


class _Stretch(NamedTuple):
    """From an instant on (in seconds after the first token), each second of work takes so many seconds."""

    begins: float
    slowness: float


def _slowness(profile: Profile, others: Sequence[Occupancy], first: float) -> list[_Stretch]:
    """How slow the engine is, stretch by stretch, for a request whose first token comes at the instant `first`."""
    borders = {first, *(border for each in others for border in each if border > first)}
    return [_Stretch(begins - first, _slowness_at(profile, others, begins)) for begins in sorted(borders)]


def _slowness_at(profile: Profile, others: Sequence[Occupancy], instant: float) -> float:
    """How many seconds a second of decoding takes: more with every other slot that is busy and every prefill."""
    assert profile.slots is not None, "an engine without slots is never busy"
    busy = sum(each.start <= instant < each.end for each in others)
    prefills = sum(each.start <= instant < each.first for each in others)
    fullness = min(busy / (profile.slots - 1), 1.0) if profile.slots > 1 else 0.0
    undisturbed = (1 - profile.interference) ** prefills
    factor = 1 + (profile.slowdown - 1) * fullness
    return factor / undisturbed if undisturbed else float("inf")


def _stretched(work: Sequence[float], stretches: Sequence[_Stretch]) -> list[float]:
    """When each amount of work (seconds that it takes alone, never decreasing) is done."""
    times: list[float] = []
    done = 0.0
    for stretch, following in pairwise((*stretches, _Stretch(float("inf"), 1.0))):
        room = (following.begins - stretch.begins) / stretch.slowness
        end = bisect_right(work, done + room)
        times += [
            stretch.begins + (amount - done) * stretch.slowness if amount > done else stretch.begins
            for amount in work[len(times) : end]
        ]
        if end == len(work):
            break
        done += room
    return times

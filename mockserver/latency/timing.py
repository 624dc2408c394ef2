"""The timing of one generation: a profile's distributions, drawn once for a request, and slowed by the load of its
engine.

The load: an engine has a number of slots, and a request that finds them taken waits, or is slowed, or both. It is
planned when it arrives, against the plans of those still running, and a plan never changes: requests are served in the
order of their arrival, and a newcomer is slowed by those before it, never the other way round. All instants are in
seconds on one clock of the caller's.
"""

from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from math import inf
from typing import NamedTuple

from mockserver.core.http import TokenTiming, instant
from mockserver.core.seeding import Draws, derive
from mockserver.latency.profiles import ONE, Distribution, Lognormal, Profile, Stalling, draw, series


def draw_timing(profile: Profile | None, steps: int, prompt_tokens: int, key: int, thinking: int = 0) -> TokenTiming:
    """The pace at which `steps` tokens follow a prompt of `prompt_tokens`; `key` determines what is random.

    So many tokens of `thinking` are decoded first and not shown; they delay the first token, unless the profile states
    its time (`ttft`). Without a profile, or with one that never waits, latency is off.
    """
    if profile is None:
        return instant(steps)
    draws = Draws(key)
    network, queue = draw(profile.network, draws), draw(profile.queue, draws)
    prefill = draw(profile.prefill, draws) + profile.prefill_per_token * prompt_tokens
    first = network + queue + prefill
    if profile.ttft is not None:
        first = draw(profile.ttft, draws)
        queue = min(queue, first)
        prefill = first - queue
    elif thinking:
        thought = sum(_gaps(profile, thinking, Draws(derive(key, "thinking"))))
        first, prefill = first + thought, prefill + thought
    schedule = tuple(accumulate(_gaps(profile, max(steps - 1, 0), draws), initial=first))
    if schedule[-1] == 0:
        return instant(steps)
    schedule = _chunked(schedule, profile.chunk, draws)
    made = TokenTiming(queue, prefill, schedule[-1] - first, schedule)
    return made if profile.speed == 1 else _faster(made, profile.speed)


def recorded(times: Sequence[float], speed: float) -> TokenTiming:
    """The pace of an answer whose steps were recorded at these times, in seconds after the request."""
    return _faster(TokenTiming(0.0, times[0], times[-1] - times[0], tuple(times)), speed)


def delayed(timing: TokenTiming, delays: Sequence[float | None], steps: int, *, apart: bool) -> TokenTiming:
    """The pace with the given seconds of silence before each step, or the engine's own gap where a delay is None.

    Unless the steps are sent `apart`, all the silence comes before the first of them.
    """
    if all(delay is None for delay in delays):
        return timing
    natural = timing.schedule or (0.0,) * max(steps, 1)
    if apart:
        gaps = [natural[0], *(later - earlier for earlier, later in pairwise(natural))]
        stated = [*delays, *[None] * len(gaps)]
        due = list(accumulate(gap if delay is None else delay for gap, delay in zip(gaps, stated, strict=False)))
    else:
        silence = sum(delay for delay in delays if delay is not None)
        due = [instant + silence for instant in natural]
    first, last = due[0], due[-1]
    if not first:
        return TokenTiming(timing.queue, timing.prefill, last, due)
    queue = min(timing.queue, first)
    return TokenTiming(queue, first - queue, last - first, due)


def _gaps(profile: Profile, count: int, draws: Draws) -> Sequence[float]:
    gap = profile.gap
    if profile.stall_share:
        gap = Stalling(gap, profile.stall_share, profile.stall)
    gaps = series(gap, count, draws)
    if not profile.jitter:
        return gaps
    return [
        gap * factor for gap, factor in zip(gaps, series(Lognormal(1.0, profile.jitter), count, draws), strict=True)
    ]


def _chunked(schedule: tuple[float, ...], chunk: Distribution, draws: Draws) -> tuple[float, ...]:
    """The first step alone, then groups: each is due with its last step, when a chunk of these tokens is complete."""
    if chunk == ONE:
        return schedule
    grouped = [schedule[0]]
    for size in series(chunk, len(schedule), draws):
        end = min(len(grouped) + max(round(size), 1), len(schedule))
        grouped += [schedule[end - 1]] * (end - len(grouped))
        if end == len(schedule):
            break
    return tuple(grouped)


def _faster(timing: TokenTiming, speed: float) -> TokenTiming:
    schedule = tuple(instant / speed for instant in timing.schedule)
    return TokenTiming(timing.queue / speed, timing.prefill / speed, timing.decode / speed, schedule)


# --- load ---------------------------------------------------------------------------------------------------------


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


class Engine:
    """An engine with limited slots: which requests run, which wait, and for how long. Its methods take the time."""

    def __init__(self, running: Iterable[Occupancy] = ()) -> None:
        # By their ends.
        self._running = sorted(running)

    def next_slot(self, profile: Profile, now: float) -> SlotGrant | None:
        """The slot for a request that arrives now; None if both the engine and its queue are full."""
        del self._running[: bisect_right(self._running, now, key=lambda each: each.end)]
        position = len(self._running) - _slots(profile) + 1
        if position <= 0:
            return FREE
        if profile.waiting is not None and position > profile.waiting:
            return None
        return SlotGrant(self._running[position - 1].end - now, position)

    def take(self, pace: TokenTiming, profile: Profile, now: float, grant: SlotGrant) -> tuple[TokenTiming, Occupancy]:
        """Accept a request for its slot: its pace under load, and the occupancy with which it can be released early.

        Its queue is longer by the wait, and its gaps are stretched while others are busy. If latency is off, nothing
        changes, and nothing is occupied.
        """
        if not pace.schedule:
            return pace, Occupancy(now, now, now)
        first = pace.schedule[0] + grant.wait
        work = [instant - pace.schedule[0] for instant in pace.schedule]
        others = [each for each in self._running if each.end > now + first]
        schedule = tuple(first + time for time in _stretched(work, profile, others, now + first))
        made = pace._replace(queue=pace.queue + grant.wait, decode=schedule[-1] - first, schedule=schedule)
        taken = Occupancy(now + schedule[-1], now + first - pace.prefill, now + first)
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


def _stretched(work: Sequence[float], profile: Profile, others: Sequence[Occupancy], first: float) -> list[float]:
    """When each amount of work is done (seconds that it takes alone, never decreasing) while others run, in seconds
    after the first token, which comes at the instant `first`."""
    borders = sorted({first, *(border for each in others for border in each if border > first)})
    times: list[float] = []
    done = 0.0
    for begins, ends in pairwise((*borders, inf)):
        slowness = _slowness_at(profile, others, begins)
        room = (ends - begins) / slowness
        end = bisect_right(work, done + room)
        times += [
            begins - first + ((amount - done) * slowness if amount > done else 0.0) for amount in work[len(times) : end]
        ]
        if end == len(work):
            break
        done += room
    return times


def _slowness_at(profile: Profile, others: Sequence[Occupancy], instant: float) -> float:
    """How many seconds a second of decoding takes: more with every other slot that is busy and every prefill."""
    slots = _slots(profile)
    busy = sum(each.start <= instant < each.end for each in others)
    prefills = sum(each.start <= instant < each.first for each in others)
    fullness = min(busy / (slots - 1), 1.0) if slots > 1 else 0.0
    undisturbed = (1 - profile.interference) ** prefills
    factor = 1 + (profile.slowdown - 1) * fullness
    return factor / undisturbed if undisturbed else inf


def _slots(profile: Profile) -> int:
    assert profile.slots is not None, "an engine without a limit of slots has no load"
    return profile.slots

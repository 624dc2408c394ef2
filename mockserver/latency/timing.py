"""The timing of one generation: a profile's distributions, drawn once for a request; with it a reply becomes a
timeline."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise

from mockserver.core.seeding import Draws, derive
from mockserver.core.timeline import FrameBatch, LazyFrames, Reply, TimedFrames, Timeline, TokenTiming
from mockserver.latency.distributions import Distribution, Lognormal, Stalling, draw, series
from mockserver.latency.profiles import ONE, Profile

# The times that an engine states if latency is off: small, but not zero, since clients divide by them.
_INSTANT_QUEUE = 0.000_01
_INSTANT_PREFILL = 0.000_05
_INSTANT_STEP = 0.000_002


def instant(steps: int) -> TokenTiming:
    """The pace if latency is off: nothing waits, and the stated times are a few microseconds."""
    return TokenTiming(_INSTANT_QUEUE, _INSTANT_PREFILL, _INSTANT_STEP * steps)


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
        due = _apart(natural, delays)
    else:
        silence = sum(delay for delay in delays if delay is not None)
        due = [instant + silence for instant in natural]
    first, last = due[0], due[-1]
    if not first:
        return TokenTiming(timing.queue, timing.prefill, last, due)
    queue = min(timing.queue, first)
    return TokenTiming(queue, first - queue, last - first, due)


def _apart(natural: Sequence[float], delays: Sequence[float | None]) -> list[float]:
    gaps = [natural[0], *(later - earlier for earlier, later in pairwise(natural))]
    stated = [*delays, *[None] * len(gaps)]
    return list(accumulate(gap if delay is None else delay for gap, delay in zip(gaps, stated, strict=False)))


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


def to_timeline(reply: Reply, timing: TokenTiming) -> Timeline:
    """The reply with absolute due times, in seconds after the request arrived, computed as lazily as its frames."""
    status, headers, frames, streamed, _ = reply
    if isinstance(frames, tuple) and len(frames) == 1:
        # Most answers are one body.
        data, step, tokens = frames[0]
        return Timeline(status, headers, (TimedFrames(data, timing.due(step), tokens),), streamed)
    runs = tuple(_due(frames, timing)) if isinstance(frames, tuple) else LazyFrames(lambda: _due(frames, timing))
    return Timeline(status, headers, runs, streamed)


def _due(frames: Iterable[FrameBatch], timing: TokenTiming) -> Iterator[TimedFrames]:
    for data, step, tokens in frames:
        yield TimedFrames(data, timing.due(step), tokens)

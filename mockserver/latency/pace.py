"""The pace of one generation: a profile's distributions, drawn once for a request."""

from itertools import accumulate

from mockserver.core.seeding import Draws
from mockserver.core.timeline import Pace
from mockserver.latency.distributions import draw, series
from mockserver.latency.profiles import Profile

# What an engine that keeps nobody waiting states about itself: small, but no zero, since clients divide by it.
_INSTANT_QUEUE = 0.000_01
_INSTANT_PREFILL = 0.000_05
_INSTANT_STEP = 0.000_002


def instant(steps: int) -> Pace:
    """The pace with latency off: nothing waits, and the stated times are a few microseconds."""
    return Pace(_INSTANT_QUEUE, _INSTANT_PREFILL, _INSTANT_STEP * steps)


def pace(profile: Profile | None, steps: int, prompt_tokens: int, key: int) -> Pace:
    """The pace at which `steps` tokens come after a prompt of `prompt_tokens`; `key` decides what is random.

    Without a profile latency is off.
    """
    if profile is None:
        return instant(steps)
    draws = Draws(key)
    network = draw(profile.network, draws)
    queue = draw(profile.queue, draws)
    prefill = draw(profile.prefill, draws) + profile.prefill_per_token * prompt_tokens
    first = network + queue + prefill
    gaps = series(profile.gap, max(steps - 1, 0), draws)
    schedule = tuple(accumulate(gaps, initial=first))
    return Pace(queue, prefill, schedule[-1] - first, schedule)

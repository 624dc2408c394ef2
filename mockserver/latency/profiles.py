"""Latency profiles: how an engine behaves in time, as values; and those that have a name: any engine's, and the
dialects' own."""

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from mockserver.core.dialects import Preset
from mockserver.core.installed import load_dialects
from mockserver.latency.distributions import Constant, Distribution

NOTHING = Constant(0.0)
ONE = Constant(1.0)


class Profile(NamedTuple):
    """An engine's timing, in seconds.

    `network` passes before the first byte, `queue` before the engine starts on the request, `prefill` before the first
    token, plus `prefill_per_token` for each token of the prompt; `ttft`, if given, replaces all of these. `gap` is the
    inter-token latency, varied by `jitter` (the sigma of a lognormal factor around 1); with the probability
    `stall_share` a gap is longer by a `stall`. After the first token, `chunk` tokens (rounded, at least one) come
    together, with the last of them. All times are divided by `speed`.

    Under load (see `load`) the engine serves `slots` requests at once and `waiting` others may queue, any number of
    them if None; gaps are `slowdown` times as long when all slots are busy; while another request is in its prefill,
    decoding loses the share `interference` of the time.
    """

    queue: Distribution = NOTHING
    prefill: Distribution = NOTHING
    prefill_per_token: float = 0.0
    gap: Distribution = NOTHING
    network: Distribution = NOTHING
    ttft: Distribution | None = None
    jitter: float = 0.0
    stall: Distribution = NOTHING
    stall_share: float = 0.0
    chunk: Distribution = ONE
    speed: float = 1.0
    slots: int | None = None
    waiting: int | None = None
    slowdown: float = 1.0
    interference: float = 0.0


# Words that stand for a latency: nothing waits, or each dialect is as fast as its vendor.
OFF = "off"
REALISTIC = "realistic"

_ANY = {
    "instant": Preset("itl=0", "no delays, like off, but settings can follow"),
    "fast": Preset("prefill=50ms, itl=5ms", "0.05 s, then 200 tokens/s, no jitter"),
    "flaky-wifi": Preset(
        "prefill=200ms, itl=lognormal(20ms, 0.6, max=500ms), network=lognormal(80ms, 0.8, max=2s), "
        "stall=lognormal(800ms, 0.5, max=4s), stall_share=0.02",
        "50 tokens/s, with a stall of about a second in every fiftieth gap",
    ),
    "overloaded": Preset(
        "queue=lognormal(6s, 0.6, max=40s), prefill=lognormal(1s, 0.5, max=10s), itl=lognormal(191ms, 0.3, max=2s)",
        "an overloaded server: seconds in the queue, then 5 tokens/s",
    ),
    "slow": Preset("prefill=1.5s, itl=100ms", "1.5 s, then 10 tokens/s, no jitter"),
}


@cache
def presets() -> Mapping[str, Preset]:
    """Every preset by its name, the dialects' first; a name of any engine's cannot be overridden."""
    theirs = {name: preset for dialect in load_dialects().values() for name, preset in dialect.presets.items()}
    return theirs | _ANY

"""Latencies that have a name: those of any engine, and those of the installed dialects."""

from collections.abc import Mapping
from functools import cache

from mockserver.core.dialects import Preset
from mockserver.core.installed import load_dialects

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

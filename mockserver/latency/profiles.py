"""Latency profiles: how an engine behaves in time, as distributions of durations; and those that have a name: any
engine's, and the dialects' own.

A distribution is given by its quantile function, which maps a probability (0 to 1) to seconds, or to tokens where
lengths are drawn. A long series of draws is a slice of a shuffled grid of quantiles, made once per distribution: a
stream of a thousand gaps costs one slice instead of a thousand draws, and its gaps follow the distribution more closely
than independent draws would.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from math import exp, sqrt
from statistics import NormalDist
from typing import NamedTuple, Protocol

from mockserver.core.dialects import Preset
from mockserver.core.installed import load_dialects
from mockserver.core.seeding import Draws

_GRID = 1024
_INVERSE = NormalDist().inv_cdf
_INFINITE = float("inf")


class Distribution(Protocol):
    """Anything with a quantile function. Distributions that are equal as values are the same distribution."""

    def quantile(self, share: float) -> float:
        """Seconds at that share of the distribution."""

    def __hash__(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Constant:
    """Always the same number of seconds."""

    seconds: float

    def quantile(self, share: float) -> float:
        return self.seconds


@dataclass(frozen=True, slots=True)
class Uniform:
    """Anything from `least` to `most` seconds, all equally likely."""

    least: float
    most: float

    def quantile(self, share: float) -> float:
        return self.least + share * (self.most - self.least)


@dataclass(frozen=True, slots=True)
class Normal:
    """A normal distribution around `mean` seconds with this standard deviation, clipped to `least` and `most`."""

    mean: float
    deviation: float
    least: float = 0.0
    most: float = _INFINITE

    def quantile(self, share: float) -> float:
        return min(max(self.mean + self.deviation * _normal(share), self.least, 0.0), self.most)


@dataclass(frozen=True, slots=True)
class Lognormal:
    """Mostly near `median` seconds, now and then much more; `sigma` is the spread, `most` the upper bound."""

    median: float
    sigma: float
    most: float = _INFINITE

    def quantile(self, share: float) -> float:
        return min(self.median * exp(self.sigma * _normal(share)), self.most)


@dataclass(frozen=True, slots=True)
class Gamma:
    """A gamma distribution of the given shape and scale (in seconds); `most` is the upper bound.

    Its quantiles are Wilson and Hilferty's approximation, accurate to a few percent for shapes of 0.5 and more.
    """

    shape: float
    scale: float
    most: float = _INFINITE

    def quantile(self, share: float) -> float:
        ninth = 1 / (9 * self.shape)
        cube = max(1 - ninth + _normal(share) * sqrt(ninth), 0.0)
        return min(self.shape * self.scale * cube**3, self.most)


@dataclass(frozen=True, slots=True)
class Empirical:
    """As measured: each of the given durations, in seconds, is equally likely. Their order does not matter."""

    seconds: tuple[float, ...]
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # There may be very many, and every request hashes and draws from its distributions.
        object.__setattr__(self, "seconds", tuple(sorted(self.seconds)))
        object.__setattr__(self, "_hash", hash(self.seconds))

    def __hash__(self) -> int:
        return self._hash

    def quantile(self, share: float) -> float:
        return self.seconds[min(int(share * len(self.seconds)), len(self.seconds) - 1)]


@dataclass(frozen=True, slots=True)
class Stalling:
    """Distributed as `usual`, plus a stall with the probability `share`."""

    usual: Distribution
    share: float
    stall: Distribution

    def quantile(self, share: float) -> float:
        smooth = 1 - self.share
        if share < smooth:
            return self.usual.quantile(share / smooth)
        return self.usual.quantile(0.5) + self.stall.quantile((share - smooth) / self.share)


def draw(distribution: Distribution, draws: Draws) -> float:
    """One duration in seconds."""
    return distribution.quantile(draws.unit())


def series(distribution: Distribution, count: int, draws: Draws) -> Sequence[float]:
    """`count` durations in seconds, one after another in a stream."""
    grid = _grid(distribution)
    start = draws.below(len(grid))
    rounds = (start + count) // len(grid) + 1
    return (grid * rounds)[start : start + count]


def _normal(share: float) -> float:
    return _INVERSE(min(max(share, 1e-6), 1 - 1e-6))


@lru_cache(maxsize=64)
def _grid(distribution: Distribution) -> tuple[float, ...]:
    if isinstance(distribution, Constant):
        return (distribution.seconds,)
    order = sorted(range(_GRID), key=lambda index: (index * 0x9E3779B97F4A7C15) & ((1 << 64) - 1))
    return tuple(distribution.quantile((index + 0.5) / _GRID) for index in order)


# --- durations ---------------------------------------------------------------------------------------------------

UNITS = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}

_DURATION = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*(us|µs|ms|s|min)")


def seconds_of(text: str) -> float | None:
    """The duration that a text states, in seconds; None if it states none."""
    matched = _DURATION.fullmatch(text)
    if matched:
        return float(matched[1]) * UNITS[matched[2]]
    return 0.0 if text == "0" else None


# --- profiles ----------------------------------------------------------------------------------------------------

NOTHING, ONE = Constant(0.0), Constant(1.0)


class Profile(NamedTuple):
    """An engine's timing, in seconds.

    `network` passes before the first byte, `queue` before the engine starts on the request, `prefill` before the first
    token, plus `prefill_per_token` for each token of the prompt; `ttft`, if given, replaces all of these. `gap` is the
    inter-token latency, varied by `jitter` (the sigma of a lognormal factor around 1); with the probability
    `stall_share` a gap is longer by a `stall`. After the first token, `chunk` tokens (rounded, at least one) come
    together, with the last of them. All times are divided by `speed`.

    Under load the engine serves `slots` requests at once and `waiting` others may queue, any number of
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

"""Distributions of durations, read through their quantiles.

A distribution is a function from a probability (0 to 1) to seconds. Long series of draws are slices of a shuffled grid
of quantiles, made once per distribution: a stream of a thousand gaps costs one slice, not a thousand draws, and its
gaps follow the distribution more closely than independent draws would.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp
from statistics import NormalDist

from mockserver.core.seeding import Draws

_GRID = 1024
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class Constant:
    """Always the same number of seconds."""

    seconds: float

    def quantile(self, share: float) -> float:
        """Seconds at that share of the distribution (0 to 1)."""
        return self.seconds


@dataclass(frozen=True, slots=True)
class Lognormal:
    """Most often near `median` seconds, now and then much more; `sigma` is the spread, `longest` the bound."""

    median: float
    sigma: float
    longest: float = float("inf")

    def quantile(self, share: float) -> float:
        """Seconds at that share of the distribution (0 to 1)."""
        clipped = min(max(share, 1e-6), 1 - 1e-6)
        return min(self.median * exp(self.sigma * _NORMAL.inv_cdf(clipped)), self.longest)


Distribution = Constant | Lognormal


def draw(distribution: Distribution, draws: Draws) -> float:
    """One duration in seconds."""
    return distribution.quantile(draws.unit())


def series(distribution: Distribution, count: int, draws: Draws) -> Sequence[float]:
    """`count` durations in seconds, one after another in a stream."""
    grid = _grid(distribution)
    start = draws.below(len(grid))
    rounds = (start + count) // len(grid) + 1
    return (grid * rounds)[start : start + count]


@lru_cache(maxsize=64)
def _grid(distribution: Distribution) -> tuple[float, ...]:
    if isinstance(distribution, Constant):
        return (distribution.seconds,)
    order = sorted(range(_GRID), key=lambda index: (index * 0x9E3779B97F4A7C15) & ((1 << 64) - 1))
    return tuple(distribution.quantile((index + 0.5) / _GRID) for index in order)

"""Quotas as values: limits, how much of them is left, and how a vendor counts them and says no.

A limit is a token bucket: it holds its amount when it is full, and is refilled continuously, the whole of it in one
window. What a request takes is there or is not; a refused request takes nothing.
"""

from collections.abc import Callable, Mapping
from math import ceil, floor, inf
from typing import Literal, NamedTuple

from mockserver.core.failures import Rejection

Measure = Literal["requests", "tokens"]

PERIODS: Mapping[str, int] = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400}
_PERIOD_OF = {seconds: name for name, seconds in PERIODS.items()}

# Tolerance for rounding, in seconds: whoever waits exactly as long as was stated is let in.
_GRACE = 1e-6


class Limit(NamedTuple):
    """So many requests or tokens in a window of so many seconds, which is one of PERIODS."""

    measure: Measure
    window: int
    amount: int

    @property
    def period(self) -> str:
        """The window's name: second, minute, hour or day."""
        return _PERIOD_OF[self.window]

    @property
    def rate(self) -> float:
        """How much is refilled in a second."""
        return self.amount / self.window


class Allowance(NamedTuple):
    """What one key may ask of one model, and how many generations of its own may run at once (None: any number)."""

    limits: tuple[Limit, ...] = ()
    concurrent: int | None = None


class Standing(NamedTuple):
    """How a limit stands at an instant.

    `spent` is what has been taken and is not refilled yet: more than the limit's amount where an answer ran into debt.
    `wait` is how many seconds the request that was just refused has to wait for it, infinite where it never fits.
    """

    limit: Limit
    spent: float = 0.0
    wait: float = 0.0

    @property
    def remaining(self) -> int:
        """What is left, in whole requests or tokens."""
        return max(floor(self.limit.amount - self.spent + self.limit.rate * _GRACE), 0)

    @property
    def reset(self) -> float:
        """The seconds until the bucket is full again, if nothing more is taken."""
        return self.spent / self.limit.rate

    def full_at(self, now: float = 0.0) -> int:
        """The whole second in which the bucket is full again, counted as `now` is counted."""
        return ceil(now + self.reset - _GRACE / 2)

    def asked(self, cost: int) -> "Standing":
        """The standing before a request that costs so much: with the time that it has to wait."""
        limit = self.limit
        short = self.spent + cost - limit.amount
        if short <= limit.rate * _GRACE:
            return Standing(limit, self.spent)
        return Standing(limit, self.spent, inf if cost > limit.amount else short / limit.rate)


def exceeded(standings: tuple[Standing, ...]) -> Standing | None:
    """The limit that a refused request has to wait for the longest; None where it was not refused."""
    worst = max(standings, key=lambda standing: standing.wait, default=None)
    return worst if worst is not None and worst.wait > 0 else None


def tightest(standings: tuple[Standing, ...], measure: Measure, periods: tuple[str, ...]) -> Standing | None:
    """Of the limits of one measure and of some periods the one with the least left; None where there is none."""
    fitting = (each for each in standings if each.limit.measure == measure and each.limit.period in periods)
    return min(fitting, key=lambda standing: (-standing.wait, standing.remaining), default=None)


class Refused(NamedTuple):
    """Why a quota refuses a request, independent of any vendor's format.

    Either the standings of its limits, one of which makes it wait; or `crowd`, the generations that may run at once.
    """

    standings: tuple[Standing, ...] = ()
    crowd: int | None = None

    @property
    def wait(self) -> float | None:
        """The seconds after which the same request is let in; None where nobody knows, infinite where never."""
        worst = exceeded(self.standings)
        return worst.wait if worst is not None else None


class QuotaPolicy(NamedTuple):
    """A vendor's quotas: its tiers by name (the first is what its new customers have), and its refusal.

    `refuse` is told what is against a request, and the time of the answer in Unix seconds. A vendor that charges
    `up_front` takes the prompt and the longest possible answer when the request comes, and gives nothing back; others
    take the prompt then, and the answer when its length is known.
    """

    tiers: Mapping[str, Allowance]
    refuse: Callable[[Refused, float], Rejection]
    up_front: bool = False

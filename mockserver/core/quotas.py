"""Quotas as values: limits, how much of them is left, and how a vendor counts and enforces them.

A limit is a token bucket: full, it holds its amount; it is refilled continuously, at the rate of its amount per window.
If its windows are fixed, it is refilled at once instead, at the end of a window that began with the first request. A
request takes all that it costs, or is refused and takes nothing.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, inf
from typing import Literal, NamedTuple

from mockserver.core.failures import FailureKind, Refusal

LimitUnit = Literal["requests", "tokens"]

PERIODS: Mapping[str, int] = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400}
_PERIOD_OF = {seconds: name for name, seconds in PERIODS.items()}

# Tolerance for rounding, in seconds: a client that waits exactly as long as it was told is let in.
_GRACE = 1e-6


class Limit(NamedTuple):
    """At most `amount` requests or tokens in a window of so many seconds, which is one of PERIODS.

    A window that is `fixed` begins with the first request after the one before has ended.
    """

    measure: LimitUnit
    window: int
    amount: int
    fixed: bool = False

    @property
    def period(self) -> str:
        """The window's name: second, minute, hour or day."""
        return _PERIOD_OF[self.window]

    @property
    def rate(self) -> float:
        """How much is refilled per second, if windows are not fixed."""
        return self.amount / self.window

    def still_spent(self, spent: float, seconds: float) -> float:
        """How much of what was spent is not refilled after so many seconds, counted from a fixed window's beginning."""
        if self.fixed:
            return spent if seconds < self.window - _GRACE else 0.0
        return max(spent - seconds * self.rate, 0.0)


class Allowance(NamedTuple):
    """What one API key may ask of one model: limits, and how many generations may run at once (None: any number).

    Where an answer is charged up front, at most `answer` tokens of it are, however many are asked for (None: all).
    """

    limits: tuple[Limit, ...] = ()
    concurrent: int | None = None
    answer: int | None = None


def per_minute(requests: int, tokens: int) -> Allowance:
    """So many requests and tokens in a minute, as most vendors' tiers have it."""
    return Allowance((Limit("requests", PERIODS["minute"], requests), Limit("tokens", PERIODS["minute"], tokens)))


class LimitState(NamedTuple):
    """The state of a limit at an instant.

    `spent` is what has been taken and is not yet refilled: more than the limit's amount if a long answer has overdrawn
    it. `wait` is how many seconds the request that it has just refused has to wait, infinite if it can never fit, and
    `cost` what that request costs. `ends_in` is how many seconds are left of a fixed window.
    """

    limit: Limit
    spent: float = 0.0
    wait: float = 0.0
    ends_in: float = 0.0
    cost: int = 0

    @property
    def remaining(self) -> int:
        """What is left, in whole requests or tokens."""
        return max(floor(self.limit.amount - self.spent + self.limit.rate * _GRACE), 0)

    @property
    def reset(self) -> float:
        """How many seconds it takes until the bucket is full again, if nothing more is taken."""
        return self.ends_in if self.limit.fixed else self.spent / self.limit.rate

    def full_at(self, now: float = 0.0) -> int:
        """The whole second in which the bucket is full again, on the clock that `now` was read from."""
        return ceil(now + self.reset - _GRACE / 2)

    def faced_with(self, cost: int) -> "LimitState":
        """The same limit as a request that costs so much finds it: with the time that this one has to wait."""
        limit = self.limit
        short = self.spent + cost - limit.amount
        if short <= limit.rate * _GRACE:
            return self._replace(wait=0.0, cost=cost)
        wait = self.ends_in if limit.fixed else short / limit.rate
        return self._replace(wait=inf if cost > limit.amount else wait, cost=cost)


def tightest(
    limit_states: tuple[LimitState, ...], measure: LimitUnit, periods: Collection[str] = PERIODS
) -> LimitState | None:
    """The limit with the least left, of those with this measure and one of these periods; None if there is none."""
    fitting = (each for each in limit_states if each.limit.measure == measure and each.limit.period in periods)
    return min(fitting, key=lambda state: (-state.wait, state.remaining), default=None)


def tightest_by_measure(
    limit_states: tuple[LimitState, ...], measures: Sequence[LimitUnit] = ("requests", "tokens")
) -> list[tuple[bytes, LimitState]]:
    """The tightest limit of each measure that has one, with the measure as names of headers have it."""
    found = ((measure.encode(), tightest(limit_states, measure)) for measure in measures)
    return [(measure, state) for measure, state in found if state is not None]


class BucketKey(NamedTuple):
    """Whose buckets a request is charged to: there is one set for each dialect, API key and model."""

    dialect: str
    key: str
    model: str = ""


class Cost(NamedTuple):
    """What a request is charged on arrival: one request, and a number of tokens.

    `assumed` tokens are added if the request does not limit its answer. They are the vendor's assumption, and never
    make a request too big for a full bucket by themselves.
    """

    tokens: int
    assumed: int = 0

    def of(self, limit: Limit) -> int:
        """The amount that is charged to a limit."""
        if limit.measure == "requests":
            return 1
        return max(self.tokens, min(self.tokens + self.assumed, limit.amount))


@dataclass(slots=True, eq=False)
class Reservation:
    """A request that was let in: what it was charged, and how its limits then stood."""

    key: BucketKey
    allowance: Allowance
    cost: Cost
    limit_states: tuple[LimitState, ...] = ()


class Refused(NamedTuple):
    """Why quotas refuse a request, independent of any vendor's format.

    Either `limit_states`, one of which makes the request wait, or `concurrent`, the number of generations that may run
    at once.
    """

    limit_states: tuple[LimitState, ...] = ()
    concurrent: int | None = None

    @property
    def worst(self) -> LimitState | None:
        """The limit for which the request has to wait longest; None if none of them refuses it."""
        worst = max(self.limit_states, key=lambda state: state.wait, default=None)
        return worst if worst is not None and worst.wait > 0 else None


class QuotaPolicy(NamedTuple):
    """A vendor's quotas: its tiers by name (new customers get the first), and how it refuses.

    `refuse` takes the reason and the time of the answer in Unix seconds; without it the error table has all words. A
    vendor that charges `up_front` takes the prompt and the longest possible answer when the request arrives, and
    refunds nothing; others take the prompt then, and the answer once its length is known. With `fixed_windows`, all
    limits have them.
    """

    tiers: Mapping[str, Allowance]
    refuse: Callable[[Refused, float], Refusal] = lambda refused, now: Refusal(FailureKind.RATE_LIMIT)
    up_front: bool = False
    fixed_windows: bool = False

"""A second implementation of token buckets, in exact arithmetic, with which that of the product is compared."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor

from mockserver.core.quotas import Limit


@dataclass
class Tank:
    """A bucket with an amount and a window in seconds.

    It is refilled continuously, or if its windows are `fixed`, all at once at the end of a window.
    """

    amount: int
    window: int
    fixed: bool = False
    level: Fraction = field(init=False)
    seen: Fraction = Fraction(0)
    ends: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        self.level = Fraction(self.amount)

    def at(self, now: float) -> Fraction:
        """How much it holds at an instant."""
        passed = Fraction(now) - self.seen
        self.seen = Fraction(now)
        if self.fixed:
            self.level = Fraction(self.amount) if self.seen >= self.ends else self.level
        else:
            self.level = min(self.level + passed * self.amount / self.window, Fraction(self.amount))
        return self.level

    def spend(self, cost: int, now: float) -> None:
        """Take an amount at an instant, even more than it holds; taking from a full tank begins a fixed window."""
        if self.at(now) == self.amount and cost:
            self.ends = self.seen + self.window
        self.level -= cost

    @property
    def reset(self) -> Fraction:
        """How many seconds after the last instant it is full."""
        if self.fixed:
            return max(self.ends - self.seen, Fraction(0))
        return (self.amount - self.level) * self.window / self.amount


class Tanks:
    """The tanks for the limits of one asker. A request takes from all of them, or from none."""

    def __init__(self, limits: Iterable[Limit]) -> None:
        self.tanks = {(each.measure, each.period): Tank(each.amount, each.window, each.fixed) for each in limits}

    def take(self, tokens: int, now: float) -> bool:
        """Take one request with so many tokens; return False, and take nothing, if any tank has too little."""
        costs = {place: 1 if place[0] == "requests" else tokens for place in self.tanks}
        if any(tank.at(now) < costs[place] for place, tank in self.tanks.items()):
            return False
        self.spend(tokens, now, requests=1)
        return True

    def spend(self, tokens: int, now: float, requests: int = 0) -> None:
        """Take tokens and requests, even more than there are."""
        for (measure, _), tank in self.tanks.items():
            tank.spend(tokens if measure == "tokens" else requests, now)

    def short_of(self, tokens: int, now: float) -> set[tuple[str, str]]:
        """The tanks that hold too little for a request with so many tokens."""
        return {place for place, tank in self.tanks.items() if tank.at(now) < (1 if place[0] == "requests" else tokens)}

    def remaining(self, now: float) -> dict[tuple[str, str], int]:
        """How much each holds, in whole units."""
        return {place: max(floor(tank.at(now)), 0) for place, tank in self.tanks.items()}

    def resets(self, now: float) -> dict[tuple[str, str], float]:
        """How many seconds it takes until each is full."""
        return {place: float(tank.reset) for place, tank in self.tanks.items() if tank.at(now) is not None}

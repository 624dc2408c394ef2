"""The quotas of a namespace: how much each key has used, and which requests are admitted.

    charge_of -> admit -> (settle) -> leave

Instants are in seconds on a monotonic clock. Only what is not refilled yet is remembered: the buckets of a key are
forgotten once they are full again.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from mockserver.core.dialects import Model
from mockserver.core.generation import GenerationRequest
from mockserver.core.quotas import Allowance, Limit, QuotaPolicy, Refused, Standing
from mockserver.core.secrets import masked_key

_FEW = 256


class BucketKey(NamedTuple):
    """Whose buckets a request is charged to: there is one set for each dialect, API key and model."""

    dialect: str
    key: str
    model: str = ""


class Charge(NamedTuple):
    """What a request is charged on arrival: one request, and a number of tokens, of which `answer` are for the answer.

    `assumed` tokens are added if the request does not limit its answer. They are the vendor's assumption, and never
    make a request too big for a full bucket by themselves.
    """

    tokens: int
    assumed: int = 0
    answer: int = 0

    def within(self, allowance: Allowance) -> "Charge":
        """The charge under an allowance that may limit how much of an answer is charged."""
        if allowance.answer is None:
            return self
        answer = min(self.answer, allowance.answer)
        return Charge(self.tokens - self.answer + answer, min(self.assumed, allowance.answer), answer)

    def of(self, limit: Limit) -> int:
        """The amount that is charged to a limit."""
        if limit.measure == "requests":
            return 1
        return max(self.tokens, min(self.tokens + self.assumed, limit.amount))


@dataclass(slots=True, eq=False)
class Reservation:
    """An admitted request: what it was charged, and whether the answer's tokens have been settled."""

    asker: BucketKey
    allowance: Allowance
    charge: Charge
    settled: bool = False


class Admitted(NamedTuple):
    """The reservation of an admitted request, and the standings after its charge."""

    reservation: Reservation
    standings: tuple[Standing, ...]


class _Taken(NamedTuple):
    """How much had been taken from a bucket and not been refilled at an instant; of a fixed window, since it began."""

    spent: float
    at: float

    def still(self, limit: Limit, now: float) -> float:
        """How much is not refilled yet."""
        return limit.still_spent(self.spent, max(now - self.at, 0.0))

    def more(self, limit: Limit, amount: int, now: float) -> "_Taken":
        """The same after taking more."""
        still = self.still(limit, now)
        goes_on = limit.fixed and still > 0
        return _Taken(still + amount, self.at if goes_on else max(self.at, now))

    def standing(self, limit: Limit, now: float) -> Standing:
        """How the limit stands."""
        still = self.still(limit, now)
        left = limit.window - max(now - self.at, 0.0) if limit.fixed and still else 0.0
        return Standing(limit, still, left=left)


_FULL = _Taken(0.0, 0.0)


def charge_of(request: GenerationRequest, model: Model | None, policy: QuotaPolicy) -> Charge:
    """The charge of a request on arrival.

    If a vendor charges up front, that is the prompts and the longest possible answers: `max_tokens`, or the model's
    maximum; otherwise the prompts alone.
    """
    prompt = request.prompt_tokens
    if not policy.up_front:
        return Charge(prompt)
    answers = max(request.n, request.best_of) * len(request.prompts)
    if request.limits.max_tokens is not None:
        longest = request.limits.max_tokens * answers
        return Charge(prompt + longest, answer=longest)
    longest = max((each.token_count for each in request.prompts), default=0)
    room = max(request.limits.context - longest, 0)
    most = model.max_output if model is not None else None
    return Charge(prompt, (room if most is None else min(most, room)) * answers)


class RateLimiter:
    """The buckets of one namespace, and its running requests."""

    def __init__(self) -> None:
        self._taken: dict[tuple[str, str], dict[tuple[str, Limit], _Taken]] = {}
        self._running: dict[tuple[str, str], set[Reservation]] = {}
        self._buckets = 0
        self._sweep_at = _FEW

    def admit(self, asker: BucketKey, allowance: Allowance, charge: Charge, now: float) -> Admitted | Refused:
        """Admit and charge a request, which then runs until it leaves; or refuse it without a charge."""
        charge = charge.within(allowance)
        account = asker[:2]
        running = self._running.get(account, ())
        if allowance.concurrent is not None and len(running) >= allowance.concurrent:
            return Refused(self.standings(asker, allowance, now), crowd=allowance.concurrent)
        before = tuple(
            standing.faced_with(charge.of(standing.limit)) for standing in self.standings(asker, allowance, now)
        )
        if any(standing.wait > 0 for standing in before):
            return Refused(before)
        for standing in before:
            self._take(asker, standing.limit, charge.of(standing.limit), now)
        reservation = Reservation(asker, allowance, charge)
        if allowance.concurrent is not None:
            self._running.setdefault(account, set()).add(reservation)
        return Admitted(reservation, self.standings(asker, allowance, now))

    def settle(self, reservation: Reservation, used: int, now: float) -> None:
        """Charge the tokens that an answer used beyond the charge on arrival, prompt included; at most once.

        A bucket may run into debt. Not for vendors that charge up front.
        """
        more = max(used - reservation.charge.tokens, 0)
        if more and not reservation.settled:
            for limit in reservation.allowance.limits:
                if limit.measure == "tokens":
                    self._take(reservation.asker, limit, more, now)
        reservation.settled = True

    def leave(self, reservation: Reservation) -> None:
        """End a request, successful or not; ending it again has no effect."""
        running = self._running.get(reservation.asker[:2])
        if running is not None:
            running.discard(reservation)
            if not running:
                del self._running[reservation.asker[:2]]

    def standings(self, asker: BucketKey, allowance: Allowance, now: float) -> tuple[Standing, ...]:
        """The standings of an asker's limits; without a model, those of the model that has used most of each limit."""
        taken = self._taken.get(asker[:2], {})
        models = {asker.model} if asker.model else {model for model, _ in taken} | {""}
        return tuple(
            max(
                (taken.get((model, limit), _FULL).standing(limit, now) for model in models),
                key=lambda standing: standing.spent,
            )
            for limit in allowance.limits
        )

    def describe(self, now: float) -> dict[str, list[dict[str, object]]]:
        """What is used and what is running, for display: JSON with masked keys, resets in seconds."""
        self._sweep(now)
        return {
            "limits": [_described(asker, standing) for asker, standing in self._all(now)],
            "running": [
                {"dialect": dialect, "key": masked_key(key), "running": len(tickets)}
                for (dialect, key), tickets in self._running.items()
            ],
        }

    def running(self) -> Counter[str]:
        """How many requests to each dialect are running, of those that count towards a quota."""
        counts = Counter[str]()
        for (dialect, _), tickets in self._running.items():
            counts[dialect] += len(tickets)
        return counts

    def reset(self) -> None:
        """Forget all that was used, and all running requests."""
        self._taken.clear()
        self._running.clear()
        self._buckets = 0

    def __len__(self) -> int:
        """How many buckets are remembered."""
        return self._buckets

    def _take(self, asker: BucketKey, limit: Limit, amount: int, now: float) -> None:
        account = self._taken.setdefault(asker[:2], {})
        before = account.get((asker.model, limit), _FULL)
        account[asker.model, limit] = before.more(limit, amount, now)
        self._buckets += before is _FULL
        if self._buckets >= self._sweep_at:
            self._sweep(now)
            self._sweep_at = max(_FEW, 2 * self._buckets)

    def _all(self, now: float) -> Iterator[tuple[BucketKey, Standing]]:
        for (dialect, key), buckets in self._taken.items():
            for (model, limit), taken in buckets.items():
                yield BucketKey(dialect, key, model), taken.standing(limit, now)

    def _sweep(self, now: float) -> None:
        """Forget the buckets that are full again."""
        for account, buckets in list(self._taken.items()):
            left = {place: taken for place, taken in buckets.items() if taken.still(place[1], now) > 0}
            self._taken[account] = left
            if not left:
                del self._taken[account]
        self._buckets = sum(map(len, self._taken.values()))


def _described(asker: BucketKey, standing: Standing) -> dict[str, object]:
    limit = standing.limit
    return {
        "dialect": asker.dialect,
        "key": masked_key(asker.key),
        "model": asker.model,
        "limit": f"{limit.measure} per {limit.period}",
        "amount": limit.amount,
        "remaining": standing.remaining,
        "reset": standing.reset,
    }

"""The rate limits of a namespace: how much each key has used, and which requests are let in.

    cost_of -> reserve -> (settle) -> release

Instants are in seconds on a monotonic clock. Only what is not refilled yet is remembered: the buckets of a key are
forgotten once they are full again.
"""

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

from mockserver.core.dialects import Model
from mockserver.core.generation import GenerationRequest
from mockserver.core.quotas import Allowance, Limit, LimitState, QuotaPolicy, Refused
from mockserver.core.secrets import masked_key

# Buckets are looked through for full ones when so many are remembered, and then at each doubling.
_FEW = 256


class BucketKey(NamedTuple):
    """Whose buckets a request is charged to: there is one set for each dialect, API key and model."""

    dialect: str
    key: str
    model: str = ""


class Cost(NamedTuple):
    """What a request is charged on arrival: one request, and a number of tokens, of which `answer` are for the answer.

    `assumed` tokens are added if the request does not limit its answer. They are the vendor's assumption, and never
    make a request too big for a full bucket by themselves.
    """

    tokens: int
    assumed: int = 0
    answer: int = 0

    def within(self, allowance: Allowance) -> "Cost":
        """The cost under an allowance that may limit how much of an answer is charged."""
        if allowance.answer is None:
            return self
        answer = min(self.answer, allowance.answer)
        return Cost(self.tokens - self.answer + answer, min(self.assumed, allowance.answer), answer)

    def of(self, limit: Limit) -> int:
        """The amount that is charged to a limit."""
        if limit.measure == "requests":
            return 1
        return max(self.tokens, min(self.tokens + self.assumed, limit.amount))


def cost_of(request: GenerationRequest, model: Model | None, policy: QuotaPolicy) -> Cost:
    """The cost of a request on arrival.

    If a vendor charges up front, that is the prompts and the longest possible answers: `max_tokens`, or the model's
    maximum; otherwise the prompts alone.
    """
    prompt = request.prompt_tokens
    if not policy.up_front:
        return Cost(prompt)
    answers = max(request.n, request.best_of) * len(request.prompts)
    if request.limits.max_tokens is not None:
        longest = request.limits.max_tokens * answers
        return Cost(prompt + longest, answer=longest)
    longest = max((each.token_count for each in request.prompts), default=0)
    room = max(request.limits.context - longest, 0)
    most = model.max_output if model is not None else None
    return Cost(prompt, (room if most is None else min(most, room)) * answers)


@dataclass(slots=True, eq=False)
class Reservation:
    """A request that was let in: what it was charged, and how its limits then stood."""

    key: BucketKey
    allowance: Allowance
    cost: Cost
    limit_states: tuple[LimitState, ...] = ()


class _Bucket(NamedTuple):
    """How much had been taken from a limit and not been refilled at an instant; of a fixed window, since it began."""

    spent: float
    at: float

    def state(self, limit: Limit, now: float) -> LimitState:
        """How the limit stands."""
        spent = limit.still_spent(self.spent, max(now - self.at, 0.0))
        return LimitState(limit, spent, left=limit.window - max(now - self.at, 0.0) if limit.fixed and spent else 0.0)


_FULL = _Bucket(0.0, 0.0)


class RateLimiter:
    """The buckets of one namespace, and its running requests."""

    def __init__(self) -> None:
        self._buckets: dict[tuple[str, str], dict[tuple[str, Limit], _Bucket]] = {}
        self._running: dict[tuple[str, str], set[Reservation]] = {}
        self._count = 0
        self._sweep_at = _FEW

    def reserve(self, key: BucketKey, allowance: Allowance, cost: Cost, now: float) -> Reservation | Refused:
        """Charge a request, which then runs until it is released; or refuse it without a charge."""
        cost = cost.within(allowance)
        running = self._running.get(key[:2], ())
        before = self.limit_states(key, allowance, now)
        if allowance.concurrent is not None and len(running) >= allowance.concurrent:
            return Refused(before, concurrent=allowance.concurrent)
        before = tuple(state.faced_with(cost.of(state.limit)) for state in before)
        if any(state.wait > 0 for state in before):
            return Refused(before)
        for state in before:
            self._take(key, state.limit, cost.of(state.limit), now)
        reservation = Reservation(key, allowance, cost, self.limit_states(key, allowance, now))
        if allowance.concurrent is not None:
            self._running.setdefault(key[:2], set()).add(reservation)
        return reservation

    def settle(self, reservation: Reservation, used: int, now: float) -> None:
        """Charge the tokens that an answer used beyond the cost on arrival, prompt included.

        A bucket may run into debt. Not for vendors that charge up front.
        """
        more = max(used - reservation.cost.tokens, 0)
        for limit in reservation.allowance.limits:
            if more and limit.measure == "tokens":
                self._take(reservation.key, limit, more, now)

    def release(self, reservation: Reservation) -> None:
        """End a request, successful or not; ending it again has no effect."""
        running = self._running.get(reservation.key[:2])
        if running is not None:
            running.discard(reservation)
            if not running:
                del self._running[reservation.key[:2]]

    def limit_states(self, key: BucketKey, allowance: Allowance, now: float) -> tuple[LimitState, ...]:
        """The states of a key's limits; without a model, those of the model that has used most of each limit."""
        buckets = self._buckets.get(key[:2], {})
        models = {key.model} if key.model else {model for model, _ in buckets} | {""}
        return tuple(
            max(
                (buckets.get((model, limit), _FULL).state(limit, now) for model in models),
                key=lambda state: state.spent,
            )
            for limit in allowance.limits
        )

    def describe(self, now: float) -> dict[str, list[dict[str, object]]]:
        """What is used and what is running, for display: JSON with masked keys, resets in seconds."""
        self._sweep(now)
        limits: list[dict[str, object]] = []
        for (dialect, key), buckets in self._buckets.items():
            for (model, limit), bucket in buckets.items():
                state = bucket.state(limit, now)
                shown = {"limit": f"{limit.measure} per {limit.period}", "amount": limit.amount}
                left = {"remaining": state.remaining, "reset": state.reset}
                limits.append({"dialect": dialect, "key": masked_key(key), "model": model, **shown, **left})
        running: list[dict[str, object]] = [
            {"dialect": dialect, "key": masked_key(key), "running": len(reservations)}
            for (dialect, key), reservations in self._running.items()
        ]
        return {"limits": limits, "running": running}

    def running(self) -> Counter[str]:
        """How many requests to each dialect are running, of those that count towards a quota."""
        counts = Counter[str]()
        for (dialect, _), reservations in self._running.items():
            counts[dialect] += len(reservations)
        return counts

    def reset(self) -> None:
        """Forget all that was used, and all running requests."""
        self._buckets.clear()
        self._running.clear()
        self._count = 0

    def __len__(self) -> int:
        """How many buckets are remembered."""
        return self._count

    def _take(self, key: BucketKey, limit: Limit, amount: int, now: float) -> None:
        buckets = self._buckets.setdefault(key[:2], {})
        before = buckets.get((key.model, limit), _FULL)
        spent = before.state(limit, now).spent
        # A window that is fixed goes on from its beginning.
        at = before.at if limit.fixed and spent > 0 else max(before.at, now)
        buckets[key.model, limit] = _Bucket(spent + amount, at)
        self._count += before is _FULL
        if self._count >= self._sweep_at:
            self._sweep(now)
            self._sweep_at = max(_FEW, 2 * self._count)

    def _sweep(self, now: float) -> None:
        """Forget the buckets that are full again."""
        for account, buckets in list(self._buckets.items()):
            left = {place: each for place, each in buckets.items() if each.state(place[1], now).spent > 0}
            self._buckets[account] = left
            if not left:
                del self._buckets[account]
        self._count = sum(map(len, self._buckets.values()))

"""The rate limits of a namespace: how much each key has used, and which requests are let in.

    admit -> (settle) -> release

Instants are in seconds on a monotonic clock. Only what is not refilled yet is remembered: the buckets of a key are
forgotten once they are full again, or too many.
"""

from collections import Counter
from typing import NamedTuple

from mockserver.core.dialects import Model
from mockserver.core.generation import GenerationRequest
from mockserver.core.http import Call
from mockserver.core.quotas import Allowance, BucketKey, Cost, Limit, LimitState, QuotaPolicy, Refused, Reservation
from mockserver.core.secrets import masked_key
from mockserver.core.seeding import fingerprint
from mockserver.state.context import RouteMatch
from mockserver.state.plan import Plan
from mockserver.state.quotas import allowance_of
from mockserver.state.settings import Settings

# Buckets are looked through for full ones when so many are remembered, and then at each doubling.
_FEW = 256
# Beyond so many the oldest are forgotten, too. Of a longer key only a digest is remembered.
_MOST, _LONGEST_KEY = 10_000, 4_096


def cost_of(request: GenerationRequest, model: Model | None, policy: QuotaPolicy, allowance: Allowance) -> Cost:
    """The cost of a request on arrival.

    If a vendor charges up front, that is the prompts and the longest possible answers: `max_tokens`, or the model's
    maximum, as far as the allowance charges them; otherwise the prompts alone.
    """
    prompt, limits = request.prompt_tokens, request.limits
    if not policy.up_front:
        return Cost(prompt)
    longest = limits.max_tokens
    if longest is None:
        longest = max(limits.context - max((each.token_count for each in request.prompts), default=0), 0)
        if model is not None and model.max_output is not None:
            longest = min(longest, model.max_output)
    longest *= max(request.n, request.best_of) * len(request.prompts)
    if allowance.answer is not None:
        longest = min(longest, allowance.answer)
    return Cost(prompt, longest) if limits.max_tokens is None else Cost(prompt + longest)


class _Bucket(NamedTuple):
    """How much had been taken from a limit and not been refilled at an instant; of a fixed window, since it began."""

    spent: float
    at: float

    def state(self, limit: Limit, now: float) -> LimitState:
        """How the limit stands."""
        spent = limit.still_spent(self.spent, max(now - self.at, 0.0))
        return LimitState(
            limit, spent, ends_in=limit.window - max(now - self.at, 0.0) if limit.fixed and spent else 0.0
        )


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
        """Forget the buckets that are full again, and the oldest of too many."""
        for account, buckets in list(self._buckets.items()):
            left = {place: each for place, each in buckets.items() if each.state(place[1], now).spent > 0}
            self._buckets[account] = left
            if not left:
                del self._buckets[account]
        self._count = sum(map(len, self._buckets.values()))
        while self._count > _MOST:
            account, buckets = next(iter(self._buckets.items()))
            del buckets[next(iter(buckets))]
            self._count -= 1
            if not buckets:
                del self._buckets[account]


def limit_states_of(
    call: Call, route: RouteMatch, settings: Settings, limiter: RateLimiter, now: float
) -> tuple[LimitState, ...]:
    """The states of a caller's limits while the model is unknown; none if no quota applies."""
    asker = _asker(call, route, "")
    allowance = allowance_of(settings.quota, route.dialect, asker.model, asker.key)
    return () if allowance is None else limiter.limit_states(asker, allowance, now)


def admit(plan: Plan, limiter: RateLimiter, now: float) -> None:
    """Admit a request to a model, with the states of its limits and a reservation that must leave later; or
    refuse it.

    There is no reservation if nothing is counted, because no quota applies or the request is refused.
    """
    context, request = plan.context, plan.request
    assert request is not None, "the request asks a model"
    dialect = context.route.dialect
    asker = _asker(context.call, context.route, request.model)
    allowance = allowance_of(context.settings.quota, dialect, asker.model, asker.key)
    if allowance is None or dialect.quotas is None:
        return
    charge = cost_of(request, context.scope.model(request.model), dialect.quotas, allowance)
    verdict = limiter.reserve(asker, allowance, charge, now)
    plan.context = context._replace(scope=context.scope._replace(limit_states=verdict.limit_states))
    if isinstance(verdict, Refused):
        plan.refusal = dialect.quotas.refuse(verdict, context.scope.now)._replace(model=request.model)
    else:
        plan.reservation = verdict


def settle(plan: Plan, limiter: RateLimiter, now: float) -> None:
    """Charge for the actual length of an answer, if the vendor does not charge up front."""
    policy = plan.context.route.dialect.quotas
    if plan.reservation is not None and plan.generation is not None and policy is not None and not policy.up_front:
        limiter.settle(plan.reservation, plan.generation.usage.total_tokens, now)


def _asker(call: Call, route: RouteMatch, model: str) -> BucketKey:
    credentials = route.dialect.credentials
    key = (credentials(call) if credentials else None) or ""
    return BucketKey(route.dialect.name, key if len(key) <= _LONGEST_KEY else fingerprint(key.encode()), model)

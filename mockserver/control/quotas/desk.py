"""The quotas of a namespace: who has taken how much, and who is let in.

    charge_of -> admit -> (settle) -> leave

Instants are in seconds on a clock that goes forward. Only what is not refilled yet is remembered: a key whose buckets
are full again is forgotten.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from mockserver.core.calls import masked_key
from mockserver.core.dialects import Model
from mockserver.core.generation import GenerationRequest
from mockserver.core.quotas import Allowance, Limit, QuotaPolicy, Refused, Standing

_FEW = 256


class Asker(NamedTuple):
    """Whose buckets a request takes from: one for each dialect, API key and model."""

    dialect: str
    key: str
    model: str = ""


class Charge(NamedTuple):
    """What a request takes when it comes: one request, and so many tokens, of which `answer` are asked for.

    `assumed` tokens come on top where the request does not say how long its answer may be. They are what the vendor
    assumes, and alone never make a request too big for an empty bucket.
    """

    tokens: int
    assumed: int = 0
    answer: int = 0

    def within(self, allowance: Allowance) -> "Charge":
        """The charge to a key whose answers are charged up to a length."""
        if allowance.answer is None:
            return self
        answer = min(self.answer, allowance.answer)
        return Charge(self.tokens - self.answer + answer, min(self.assumed, allowance.answer), answer)

    def of(self, limit: Limit) -> int:
        """What a limit is charged."""
        if limit.measure == "requests":
            return 1
        return max(self.tokens, min(self.tokens + self.assumed, limit.amount))


@dataclass(slots=True, eq=False)
class Ticket:
    """A request that was let in: what it was charged, and whether it still runs."""

    asker: Asker
    allowance: Allowance
    charge: Charge
    settled: bool = False


class Admitted(NamedTuple):
    """A request that is let in, and the standings after its charge."""

    ticket: Ticket
    standings: tuple[Standing, ...]


class _Taken(NamedTuple):
    """What was taken of a bucket and not refilled at an instant."""

    spent: float
    at: float

    def still(self, limit: Limit, now: float) -> float:
        """What is not refilled yet."""
        return max(self.spent - max(now - self.at, 0.0) * limit.rate, 0.0)


_FULL = _Taken(0.0, 0.0)


def charge_of(request: GenerationRequest, model: Model | None, policy: QuotaPolicy) -> Charge:
    """What a request is charged when it comes.

    Up front that is its prompts and the longest answer to each: `max_tokens`, or the model's maximum; otherwise the
    prompts alone.
    """
    prompt = request.prompt_tokens
    if not policy.up_front:
        return Charge(prompt)
    answers = max(request.n, request.best_of) * len(request.prompts)
    if request.limits.max_tokens is not None:
        asked = request.limits.max_tokens * answers
        return Charge(prompt + asked, answer=asked)
    longest = max((each.token_count for each in request.prompts), default=0)
    room = max(request.limits.context - longest, 0)
    most = model.max_output if model is not None else None
    return Charge(prompt, (room if most is None else min(most, room)) * answers)


class QuotaDesk:
    """The buckets and the gauges of one namespace."""

    def __init__(self) -> None:
        self._taken: dict[tuple[str, str], dict[tuple[str, Limit], _Taken]] = {}
        self._running: dict[tuple[str, str], set[Ticket]] = {}
        self._buckets = 0
        self._sweep_at = _FEW

    def admit(self, asker: Asker, allowance: Allowance, charge: Charge, now: float) -> Admitted | Refused:
        """Let a request in and charge it, or refuse it for nothing; one that is let in runs until it leaves."""
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
        ticket = Ticket(asker, allowance, charge)
        if allowance.concurrent is not None:
            self._running.setdefault(account, set()).add(ticket)
        return Admitted(ticket, self.standings(asker, allowance, now))

    def settle(self, ticket: Ticket, used: int, now: float) -> None:
        """Charge what an answer took beyond what its request was charged, in tokens, prompt included; once.

        It may run into debt. Not for a vendor that charges up front.
        """
        more = max(used - ticket.charge.tokens, 0)
        if more and not ticket.settled:
            for limit in ticket.allowance.limits:
                if limit.measure == "tokens":
                    self._take(ticket.asker, limit, more, now)
        ticket.settled = True

    def leave(self, ticket: Ticket) -> None:
        """A request has come to its end, well or not; nothing happens when it is said again."""
        running = self._running.get(ticket.asker[:2])
        if running is not None:
            running.discard(ticket)
            if not running:
                del self._running[ticket.asker[:2]]

    def standings(self, asker: Asker, allowance: Allowance, now: float) -> tuple[Standing, ...]:
        """How the limits of an asker stand. Of one who asks no model, those of the model that he has used the most."""
        taken = self._taken.get(asker[:2], {})
        models = {asker.model} if asker.model else {model for model, _ in taken} | {""}
        return tuple(
            Standing(limit, max(taken.get((model, limit), _FULL).still(limit, now) for model in models))
            for limit in allowance.limits
        )

    def describe(self, now: float) -> dict[str, list[dict[str, object]]]:
        """What is taken and what runs, for people: JSON, with masked keys; resets in seconds."""
        self._sweep(now)
        return {
            "limits": [_described(asker, Standing(limit, spent)) for asker, limit, spent in self._all(now)],
            "running": [
                {"dialect": dialect, "key": masked_key(key), "running": len(tickets)}
                for (dialect, key), tickets in self._running.items()
            ],
        }

    def reset(self) -> None:
        """Forget all that was taken, and all that runs."""
        self._taken.clear()
        self._running.clear()
        self._buckets = 0

    def __len__(self) -> int:
        """How many buckets are remembered."""
        return self._buckets

    def _take(self, asker: Asker, limit: Limit, amount: int, now: float) -> None:
        account = self._taken.setdefault(asker[:2], {})
        before = account.get((asker.model, limit), _FULL)
        account[asker.model, limit] = _Taken(before.still(limit, now) + amount, max(before.at, now))
        self._buckets += before is _FULL
        if self._buckets >= self._sweep_at:
            self._sweep(now)
            self._sweep_at = max(_FEW, 2 * self._buckets)

    def _all(self, now: float) -> Iterator[tuple[Asker, Limit, float]]:
        for (dialect, key), buckets in self._taken.items():
            for (model, limit), taken in buckets.items():
                yield Asker(dialect, key, model), limit, taken.still(limit, now)

    def _sweep(self, now: float) -> None:
        """Forget the buckets that are full again."""
        for account, buckets in list(self._taken.items()):
            left = {place: taken for place, taken in buckets.items() if taken.still(place[1], now) > 0}
            self._taken[account] = left
            if not left:
                del self._taken[account]
        self._buckets = sum(map(len, self._taken.values()))


def _described(asker: Asker, standing: Standing) -> dict[str, object]:
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

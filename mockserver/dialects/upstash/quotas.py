"""Upstash's three quotas: the chat API's, messages per day, bursts per second; its SDKs know them by their headers.

The period of a limit decides which one it is (vendor note B5): requests per second are the burst limit, requests per
day the message limit, all others limits of the chat API. The figures are invented, since the vendor published none.
"""

from math import ceil

from mockserver.core.failures import FailureKind, Rejection
from mockserver.core.quotas import (
    PERIODS,
    Allowance,
    Limit,
    Measure,
    QuotaPolicy,
    Refused,
    Standing,
    exceeded,
    tightest,
)
from mockserver.core.timeline import RawHeaders

_SECOND, _MINUTE, _HOUR, _DAY = PERIODS.values()

MESSAGES_PER_DAY = Limit("requests", _DAY, 500)
BURST = Limit("requests", _SECOND, 100)
CHAT_REQUESTS = Limit("requests", _MINUTE, 60)
CHAT_TOKENS = Limit("tokens", _MINUTE, 60_000)
ASSUMED = Allowance((CHAT_REQUESTS, CHAT_TOKENS, MESSAGES_PER_DAY, BURST))

_CHAT_PERIODS: dict[Measure, tuple[str, ...]] = {
    "requests": ("minute", "hour"),
    "tokens": ("second", "minute", "hour", "day"),
}


def refuse(refused: Refused, now: float) -> Rejection:
    """The 429 of the exhausted quota, with the headers that name it; too many concurrent requests count as a burst."""
    worst = exceeded(refused.standings)
    if worst is None:
        return Rejection(FailureKind.OVERLOADED, headers=left(b"burst-ratelimit-", refused.crowd or 0, 0))
    limit = worst.limit
    if limit.measure == "tokens" or limit.period in _CHAT_PERIODS["requests"]:
        return Rejection(FailureKind.RATE_LIMIT, headers=chat_limits(refused.standings))
    daily = limit.period == "day"
    kind, name = (
        (FailureKind.PAYMENT_REQUIRED, b"ratelimit-") if daily else (FailureKind.OVERLOADED, b"burst-ratelimit-")
    )
    full = (name + b"reset", b"%d" % worst.full_at(now))
    return Rejection(kind, headers=(*left(name, limit.amount, worst.remaining), full))


def left(name: bytes, amount: int, remaining: int) -> RawHeaders:
    """The headers of a limit and of its remaining amount, with a common prefix (`name`)."""
    return ((name + b"limit", b"%d" % amount), (name + b"remaining", b"%d" % remaining))


def chat_limits(standings: tuple[Standing, ...]) -> RawHeaders:
    """The headers of the chat API's limits and of their remaining amounts."""
    named = _chat(standings)
    return (
        *((b"x-ratelimit-limit-" + name, b"%d" % standing.limit.amount) for name, standing in named),
        *((b"x-ratelimit-remaining-" + name, b"%d" % standing.remaining) for name, standing in named),
    )


def chat_resets(standings: tuple[Standing, ...], now: float, *, as_durations: bool) -> RawHeaders:
    """The headers of the times when the chat API's limits are full again."""
    return tuple(
        (b"x-ratelimit-reset-" + name, reset(standing.full_at(now), now, as_duration=as_durations))
        for name, standing in _chat(standings)
    )


def reset(at: float, now: float, *, as_duration: bool) -> bytes:
    """The Unix time of a reset as a header states it: as it is, or as a duration from now, such as `53s` or `1h0m5s`.

    It has the form that Go gives to durations.
    """
    if not as_duration:
        return b"%d" % at
    seconds = max(ceil(at - now), 0)
    minutes, hours = seconds // 60 % 60, seconds // 3_600
    text = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{text}{seconds % 60}s".encode()


def _chat(standings: tuple[Standing, ...]) -> tuple[tuple[bytes, Standing], ...]:
    """The tightest of the chat API's limits on requests and on tokens, since the headers have room for one each.

    The SDKs recognise the chat's 429 by the first, so both are always there; one that is not configured is never used.
    """
    requests = tightest(standings, "requests", _CHAT_PERIODS["requests"]) or Standing(CHAT_REQUESTS)
    tokens = tightest(standings, "tokens", _CHAT_PERIODS["tokens"]) or Standing(CHAT_TOKENS)
    return ((b"requests", requests), (b"tokens", tokens))


QUOTAS = QuotaPolicy({"assumed": ASSUMED}, refuse=refuse)

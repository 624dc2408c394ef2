"""Upstash's three quotas, the rate limit headers by which its SDKs distinguish the kinds of 429 (vendor note B5), and
how fast the models were. The figures are invented, since the vendor published none.
"""

from math import ceil

from mockserver.core.calls import Call
from mockserver.core.dialects import Preset, RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.quotas import (
    PERIODS,
    Allowance,
    Limit,
    LimitState,
    LimitUnit,
    QuotaPolicy,
    Refused,
    exceeded,
    tightest,
)
from mockserver.core.timeline import RawHeaders
from mockserver.dialects.openai.read import bearer
from mockserver.dialects.openai.replies import date_header

# The signing keys of every server, until they are rotated: what `signing_key` of `qstash.attempts` derives.
CURRENT_SIGNING_KEY = "sig_J9BNJtiDhVqnyKjufMecfjrriym4"
NEXT_SIGNING_KEY = "sig_rraZUTNS1hG6x1Jt9FBy6DWPa8tj"


# What makes a read-only token of a publisher's own. The vendor's look is unknown.
READ_ONLY = "_readonly"


def sent_token(call: Call) -> str | None:
    """The QStash token of a call as it was sent; None if it has none."""
    return bearer(call) or call.query_value("qstash_token") or None


def token(call: Call) -> str | None:
    """The token of the publisher who sends a call, also if it is the read-only version; None if it has none."""
    sent = sent_token(call)
    return sent.removesuffix(READ_ONLY) if sent else None


# --- quotas ----------------------------------------------------------------------------------------------------------

_SECOND, _MINUTE, _HOUR, _DAY = PERIODS.values()

MESSAGES_PER_DAY = Limit("requests", _DAY, 500)
BURST = Limit("requests", _SECOND, 100)
CHAT_REQUESTS = Limit("requests", _MINUTE, 60)
CHAT_TOKENS = Limit("tokens", _MINUTE, 60_000)
ASSUMED = Allowance((CHAT_REQUESTS, CHAT_TOKENS, MESSAGES_PER_DAY, BURST))

_CHAT_PERIODS: dict[LimitUnit, tuple[str, ...]] = {
    "requests": ("minute", "hour"),
    "tokens": ("second", "minute", "hour", "day"),
}


def refuse(refused: Refused, now: float) -> Refusal:
    """The 429 of the exhausted quota, with the headers that name it; too many concurrent requests count as a burst."""
    worst = exceeded(refused.standings)
    if worst is None:
        return Refusal(FailureKind.OVERLOADED, headers=left(b"burst-ratelimit-", refused.crowd or 0, 0))
    limit = worst.limit
    if limit.measure == "tokens" or limit.period in _CHAT_PERIODS["requests"]:
        return Refusal(FailureKind.RATE_LIMIT, headers=chat_limits(refused.standings))
    daily = limit.period == "day"
    kind, name = (
        (FailureKind.PAYMENT_REQUIRED, b"ratelimit-") if daily else (FailureKind.OVERLOADED, b"burst-ratelimit-")
    )
    full = (name + b"reset", b"%d" % worst.full_at(now))
    return Refusal(kind, headers=(*left(name, limit.amount, worst.remaining), full))


def left(name: bytes, amount: int, remaining: int) -> RawHeaders:
    """The headers of a limit and of its remaining amount, with a common prefix (`name`)."""
    return ((name + b"limit", b"%d" % amount), (name + b"remaining", b"%d" % remaining))


def chat_limits(standings: tuple[LimitState, ...]) -> RawHeaders:
    """The headers of the chat API's limits and of their remaining amounts."""
    named = _chat(standings)
    return (
        *((b"x-ratelimit-limit-" + name, b"%d" % standing.limit.amount) for name, standing in named),
        *((b"x-ratelimit-remaining-" + name, b"%d" % standing.remaining) for name, standing in named),
    )


def chat_resets(standings: tuple[LimitState, ...], now: float, *, as_durations: bool) -> RawHeaders:
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


def _chat(standings: tuple[LimitState, ...]) -> tuple[tuple[bytes, LimitState], ...]:
    """The tightest of the chat API's limits on requests and on tokens, since the headers have room for one each.

    The SDKs recognise the chat's 429 by the first, so both are always there; one that is not configured is never used.
    """
    requests = tightest(standings, "requests", _CHAT_PERIODS["requests"]) or LimitState(CHAT_REQUESTS)
    tokens = tightest(standings, "tokens", _CHAT_PERIODS["tokens"]) or LimitState(CHAT_TOKENS)
    return ((b"requests", requests), (b"tokens", tokens))


QUOTAS = QuotaPolicy({"assumed": ASSUMED}, refuse=refuse)

# --- headers ---------------------------------------------------------------------------------------------------------

CHAT_PATH = "/llm/v1/chat/completions"

_ONE_TAKEN = (LimitState(CHAT_REQUESTS, 1), LimitState(CHAT_TOKENS))
_NONE_LEFT = (LimitState(CHAT_REQUESTS, CHAT_REQUESTS.amount), LimitState(CHAT_TOKENS))

_SECURITY: RawHeaders = ((b"strict-transport-security", b"max-age=31536000; includeSubDomains"),)

# The headers of the error table, for refusals by no actual quota.
CHAT_LIMIT = chat_limits(_NONE_LEFT)
DAILY_LIMIT = left(b"ratelimit-", MESSAGES_PER_DAY.amount, 0)
BURST_LIMIT = left(b"burst-ratelimit-", BURST.amount, 0)
# In seconds from now; those of the chat API are on every answer.
DAILY_RESET = ((b"ratelimit-reset", 86_400),)
BURST_RESET = ((b"burst-ratelimit-reset", 1),)


def within_limits(scope: RequestScope) -> RawHeaders:
    """The limits that a successful answer states; without a quota those of the assumed tier after one request."""
    return chat_limits(scope.standings or _ONE_TAKEN)


def every_answer(call: Call, scope: RequestScope) -> RawHeaders:
    """The headers of every answer, including errors; those of the chat API state when its limits reset."""
    observed = scope.edition == "observed"
    general = (date_header(scope.now), *(_SECURITY if observed else ()))
    if call.path != CHAT_PATH or token(call) is None:
        return general
    if scope.standings:
        return (*general, *chat_resets(scope.standings, scope.now, as_durations=observed))
    text = reset(scope.now // 60 * 60 + 60, scope.now, as_duration=observed)
    return (*general, (b"x-ratelimit-reset-requests", text), (b"x-ratelimit-reset-tokens", text))


# --- latency ---------------------------------------------------------------------------------------------------------

PRESETS = {
    "upstash": Preset(
        "prefill=lognormal(170ms, 0.35, max=2s), prefill_per_token=0.08ms, itl=lognormal(13.8ms, 0.25, max=200ms), "
        "network=lognormal(30ms, 0.3, max=200ms)",
        "an 8B model on vLLM: first token after about 0.2 s, 70 tokens/s",
    ),
}

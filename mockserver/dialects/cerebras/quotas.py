"""Cerebras' quotas: the documented tiers, the figures in every answer, and the refusals (vendor notes A1, A4, A5)."""

from math import isfinite

from mockserver.core.dialects import Site
from mockserver.core.failures import FailureKind, Rejection
from mockserver.core.quotas import PERIODS, Allowance, Limit, Measure, QuotaPolicy, Refused, exceeded
from mockserver.core.timeline import RawHeaders

_SECOND, _MINUTE, _HOUR, _DAY = PERIODS.values()

FREE = Allowance(
    (
        Limit("requests", _MINUTE, 30),
        Limit("requests", _HOUR, 900),
        Limit("requests", _DAY, 14_400),
        Limit("tokens", _MINUTE, 60_000),
        Limit("tokens", _HOUR, 1_000_000),
        Limit("tokens", _DAY, 1_000_000),
    )
)
DEVELOPER = Allowance((Limit("requests", _MINUTE, 1_000), Limit("tokens", _MINUTE, 1_000_000)))
# The headers of answers in the free tier, in the middle of 2026. By a user's measurement of that time an answer is
# charged with at most 16,384 tokens, and with as many if its length is not limited.
FREE_2026 = Allowance(
    (
        Limit("requests", _MINUTE, 5),
        Limit("requests", _HOUR, 150),
        Limit("requests", _DAY, 2_400),
        Limit("tokens", _MINUTE, 30_000),
        Limit("tokens", _DAY, 1_000_000),
    ),
    answer=16_384,
)

# The two limits whose resets are documented; today's answers state only limit and remaining of the others.
WITH_RESET = {("requests", "day"), ("tokens", "minute")}

_PAST: dict[Measure, tuple[str, str]] = {
    "requests": ("too many requests sent.", "request_quota_exceeded"),
    "tokens": ("too many tokens processed.", "token_quota_exceeded"),
}


def refuse(refused: Refused, now: float) -> Rejection:
    """The refusal of a request beyond a quota; too many generations at once are refused as a full queue.

    The client is told to wait until the limit is full again, in whole seconds (recorded: 58 for requests per minute,
    86400 for a day); a request that never fits is not told to wait.
    """
    worst = exceeded(refused.standings)
    if worst is None:
        return Rejection(FailureKind.OVERLOADED)
    past, code = _PAST[worst.limit.measure]
    message = f"{worst.limit.measure.capitalize()} per {worst.limit.period} limit exceeded - {past}"
    headers = ((b"retry-after", b"%d" % worst.full_at()),) if isfinite(worst.wait) else ()
    return Rejection(FailureKind.RATE_LIMIT, message, code=code, headers=headers)


def limits_left(site: Site) -> RawHeaders:
    """The caller's limits, what is left of them, and in how many seconds (a fraction) they are full again."""
    named = [(f"{each.limit.measure}-{each.limit.period}", each) for each in site.standings]
    resets = [
        (name, each)
        for name, each in named
        if site.edition == "documented" or (each.limit.measure, each.limit.period) in WITH_RESET
    ]
    return (
        *((b"x-ratelimit-limit-" + name.encode(), b"%d" % each.limit.amount) for name, each in named),
        *((b"x-ratelimit-remaining-" + name.encode(), b"%d" % each.remaining) for name, each in named),
        *((b"x-ratelimit-reset-" + name.encode(), b"%r" % each.reset) for name, each in resets),
    )


# "charged up front: estimated prompt tokens + max_tokens (or the model maximum when unset)".
QUOTAS = QuotaPolicy({"free": FREE, "developer": DEVELOPER, "free-2026": FREE_2026}, refuse=refuse, up_front=True)

"""Rate limits, the headers of every answer, and how fast the engine is (vendor notes A1, A4, A5)."""

from collections.abc import Mapping, Sequence
from functools import cache
from math import isfinite

from mockserver.core.calls import Call
from mockserver.core.dialects import Edition, Preset, PromptCaching, RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.quotas import PERIODS, Allowance, Limit, LimitUnit, QuotaPolicy, Refused, per_minute
from mockserver.core.seeding import hex_digits
from mockserver.core.timeline import RawHeaders
from mockserver.dialects.openai.replies import date_header

_SECOND, _MINUTE, _HOUR, _DAY = PERIODS.values()

_FREE = Allowance(
    (
        Limit("requests", _MINUTE, 30),
        Limit("requests", _HOUR, 900),
        Limit("requests", _DAY, 14_400),
        Limit("tokens", _MINUTE, 60_000),
        Limit("tokens", _HOUR, 1_000_000),
        Limit("tokens", _DAY, 1_000_000),
    )
)
_DEVELOPER = per_minute(1_000, 1_000_000)
# The headers of answers in the free tier, in the middle of 2026. By a user's measurement of that time an answer is
# charged with at most 16,384 tokens, and with as many if its length is not limited.
_FREE_2026 = Allowance(
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
_WITH_RESET = {("requests", "day"), ("tokens", "minute")}

_PAST: dict[LimitUnit, str] = {"requests": "too many requests sent.", "tokens": "too many tokens processed."}


def _refuse(refused: Refused, now: float) -> Refusal:
    """The refusal of a request beyond a quota; too many generations at once are refused as a full queue.

    The client is told to wait until the limit is full again, in whole seconds (recorded: 58 for requests per minute,
    86400 for a day); a request that never fits is not told to wait.
    """
    worst = refused.worst
    if worst is None:
        return Refusal(FailureKind.OVERLOADED)
    measure = worst.limit.measure
    message = f"{measure.capitalize()} per {worst.limit.period} limit exceeded - {_PAST[measure]}"
    headers = ((b"retry-after", b"%d" % worst.full_at()),) if isfinite(worst.wait) else ()
    return Refusal(FailureKind.RATE_LIMIT, message, headers=headers)


# "charged up front: estimated prompt tokens + max_tokens (or the model maximum when unset)".
QUOTAS = QuotaPolicy({"free": _FREE, "developer": _DEVELOPER, "free-2026": _FREE_2026}, refuse=_refuse, up_front=True)

# --- headers -----------------------------------------------------------------------------------------------------

# Recorded in 2025 and in 2026.
_TRANSPORT: Mapping[Edition, bytes] = {
    "documented": b"max-age=3600; includeSubDomains",
    "observed": b"max-age=15552000; includeSubDomains; preload",
}
_EDGE: Mapping[Edition, RawHeaders] = {
    edition: (
        (b"server", b"cloudflare"),
        (b"cf-cache-status", b"DYNAMIC"),
        (b"alt-svc", b'h3=":443"; ma=86400'),
        (b"referrer-policy", b"strict-origin-when-cross-origin"),
        (b"strict-transport-security", transport),
        (b"x-content-type-options", b"nosniff"),
    )
    for edition, transport in _TRANSPORT.items()
}


# Today's refusals without any limits: of formats, as users posted in January and May 2026, and because of a full queue,
# as one measured in August.
_WITHOUT_LIMITS = {
    FailureKind.INVALID_REQUEST,
    FailureKind.MALFORMED_JSON,
    FailureKind.NOT_AN_OBJECT,
    FailureKind.OVERLOADED,
}


def every_answer(call: Call, scope: RequestScope) -> RawHeaders:
    """The headers of each answer; resets are in seconds, as decimal fractions."""
    silent = scope.edition == "observed" and scope.refused in _WITHOUT_LIMITS
    return (
        date_header(scope.now),
        *(() if silent else _limits_left(scope) if scope.limit_states else _unlimited(scope)),
        (b"cf-ray", f"{hex_digits(scope.identity, 16, 'cf-ray')}-FRA".encode()),
        *_EDGE[scope.edition],
    )


def _limits_left(scope: RequestScope) -> RawHeaders:
    """The caller's limits, what is left of them, and in how many seconds (a fraction) they are full again."""
    resets = [
        (f"x-ratelimit-reset-{limit.measure}-{limit.period}".encode(), b"%r" % reset)
        for limit, reset in [(each.limit, each.reset) for each in scope.limit_states]
        if scope.edition == "documented" or (limit.measure, limit.period) in _WITH_RESET
    ]
    return (*_stated([(each.limit, each.remaining) for each in scope.limit_states]), *resets)


def _unlimited(scope: RequestScope) -> RawHeaders:
    return (
        *_assumed(scope.edition, spent=scope.refused is FailureKind.RATE_LIMIT),
        (b"x-ratelimit-reset-requests-day", b"%r" % (86_400 - scope.now % 86_400)),
        (b"x-ratelimit-reset-tokens-minute", b"%r" % (60 - scope.now % 60)),
    )


@cache
def _assumed(edition: Edition, *, spent: bool) -> RawHeaders:
    """The limits of the free tier, of which one request has been taken, or all of a minute's."""

    def left(limit: Limit) -> int:
        if limit.measure != "requests":
            return limit.amount
        return 0 if spent and limit.period == "minute" else limit.amount - 1

    then = [limit for limit in _FREE.limits if (limit.measure, limit.period) in _WITH_RESET]
    return _stated([(limit, left(limit)) for limit in (_FREE_2026.limits if edition == "observed" else then)])


def _stated(limits: Sequence[tuple[Limit, int]]) -> RawHeaders:
    named = [(f"{limit.measure}-{limit.period}".encode(), limit.amount, left) for limit, left in limits]
    return (
        *((b"x-ratelimit-limit-" + name, b"%d" % amount) for name, amount, _ in named),
        *((b"x-ratelimit-remaining-" + name, b"%d" % left) for name, _, left in named),
    )


# --- latency -----------------------------------------------------------------------------------------------------

PRESETS = {
    "cerebras": Preset(
        "queue=lognormal(600us, 1, max=50ms), prefill=lognormal(3ms, 0.5, max=50ms), prefill_per_token=0.02ms, "
        "itl=lognormal(650us, 0.3, max=10ms), network=lognormal(60ms, 0.3, max=300ms)",
        "wafer-scale: about 1,500 tokens/s, millisecond queues",
    ),
    "cerebras-8b": Preset(
        "cerebras, itl=lognormal(430us, 0.3, max=10ms)", "Cerebras, a model of 8B: about 2,200 tokens/s"
    ),
    "cerebras-70b": Preset(
        "cerebras, itl=lognormal(940us, 0.3, max=10ms)", "Cerebras, a dense model of 70B: about 1,000 tokens/s"
    ),
    "cerebras-120b": Preset(
        "cerebras, itl=lognormal(520us, 0.3, max=10ms), tokens_per_chunk=uniform(4, 8)",
        "Cerebras, gpt-oss-120b: about 1,850 tokens/s, some six in a chunk",
    ),
    "cerebras-235b": Preset(
        "cerebras, itl=lognormal(0.68ms, 0.3, max=10ms)", "Cerebras, a mixture of 235B: about 1,400 tokens/s"
    ),
}

# "128-token blocks"; "We guarantee a Time-To-Live (TTL) of 5 minutes" (its page on prompt caching).
PROMPT_CACHING = PromptCaching(block=128, lifetime=300)

# The classes of models whose speed is known, by a part of their names.
_CLASSES = {
    "8b": "cerebras-8b",
    "17b": "cerebras-8b",
    "32b": "cerebras-235b",
    "70b": "cerebras-70b",
    "120b": "cerebras-120b",
    "235b": "cerebras-235b",
    "480b": "cerebras-235b",
}


def preset_of(model: str) -> str:
    """The preset of a model's class."""
    parts = model.lower().replace("_", "-").split("-")
    return next((preset for size, preset in _CLASSES.items() if size in parts), "cerebras")

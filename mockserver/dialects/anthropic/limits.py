"""Rate limits, headers and speed (facts A11): the vendor's tiers, and what every answer states."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from math import ceil, isfinite

from mockserver.core.calls import Call
from mockserver.core.dialects import Preset, PromptCaching, RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.quotas import (
    PERIODS,
    Limit,
    LimitState,
    LimitUnit,
    QuotaPolicy,
    Refused,
    exceeded,
    per_minute,
    tightest,
)
from mockserver.core.seeding import derive, hex_digits
from mockserver.core.timeline import RawHeaders
from mockserver.dialects.anthropic.errors import ORGANIZATION, refused, request_id
from mockserver.dialects.openai.bodies import date_header

# Of the tokens of a minute so many are for the input, the rest for the output (recorded: 2,000,000 and 400,000).
_INPUT = 5 / 6
# What answers state of each limit: names, and their shares of it.
_SHARES: Mapping[LimitUnit, Sequence[tuple[str, float]]] = {
    "requests": (("requests", 1),),
    "tokens": (("tokens", 1), ("input-tokens", _INPUT), ("output-tokens", 1 - _INPUT)),
}

# `start` and `scale` are stated for Fable 5; those with a number were in force until the middle of 2026.
_TIERS = {
    "start": per_minute(1_000, 600_000),
    "build": per_minute(2_000, 2_400_000),
    "scale": per_minute(4_000, 4_800_000),
    "tier1": per_minute(50, 36_000),
    "tier2": per_minute(1_000, 540_000),
    "tier3": per_minute(2_000, 960_000),
    "tier4": per_minute(4_000, 2_400_000),
}


def _refuse(exceeding: Refused, now: float) -> Refusal:
    """The refusal of a request beyond a limit; the error table puts the model's name into it."""
    worst, headers = exceeded(exceeding.standings), ((b"retry-after", b"1"),)
    if worst is None:
        words = refused("crowded")
    else:
        limit, tokens = worst.limit, worst.limit.measure == "tokens"
        amount = f"{round(limit.amount * _INPUT):,} input tokens" if tokens else f"{limit.amount:,} requests"
        words = refused("requests_limited", limit=f"{amount} per {limit.period}", organization=ORGANIZATION)
        if isfinite(worst.wait):
            headers = ((b"retry-after", b"%d" % max(ceil(worst.wait), 1)),)
    return words._replace(kind=FailureKind.RATE_LIMIT, headers=headers)


QUOTAS = QuotaPolicy(_TIERS, refuse=_refuse)
_EDGE: RawHeaders = (
    (b"server", b"cloudflare"),
    (b"cf-cache-status", b"DYNAMIC"),
    (b"strict-transport-security", b"max-age=31536000; includeSubDomains; preload"),
    (b"x-robots-tag", b"none"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"vary", b"Accept-Encoding"),
)
# An account of which answers were recorded, after one short request.
_RECORDED = (LimitState(Limit("requests", 60, 4_000), 1), LimitState(Limit("tokens", 60, 2_400_000), 500))


def every_answer(call: Call, scope: RequestScope) -> RawHeaders:
    """The headers of each answer, errors included: of a refusal without rate limits, unless these are its reason."""
    milliseconds = 290 + derive(scope.identity, "processing") % 900
    limited = scope.refused in (None, FailureKind.RATE_LIMIT) and not call.path.startswith("/v1/models")
    known = scope.refused not in (FailureKind.MISSING_CREDENTIALS, FailureKind.UNAUTHORIZED)
    return (
        date_header(scope.now),
        (b"request-id", request_id(scope.identity).encode()),
        *(_limits(scope) if limited else ()),
        *(((b"anthropic-organization-id", ORGANIZATION.encode()),) if known else ()),
        (b"x-envoy-upstream-service-time", b"%d" % milliseconds),
        (b"server-timing", b"x-originResponse;dur=%d" % (milliseconds + 2)),
        *_EDGE,
        (b"cf-ray", f"{hex_digits(scope.identity, 16, 'cf-ray')}-FRA".encode()),
    )


def _limits(scope: RequestScope) -> RawHeaders:
    """The limits of requests and of tokens, and of the latter the shares of input and output."""
    found: list[tuple[bytes, bytes]] = []
    for measure, shares in _SHARES.items():
        state = tightest(scope.standings or _RECORDED, measure, tuple(PERIODS))
        if state is None:
            continue
        reset = datetime.fromtimestamp(state.full_at(scope.now), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        for name, share in shares:
            left = state.remaining if name == "requests" else round(state.remaining * share / 1_000) * 1_000
            values = {"limit": round(state.limit.amount * share), "remaining": left, "reset": reset}
            found += [(f"anthropic-ratelimit-{name}-{key}".encode(), f"{it}".encode()) for key, it in values.items()]
    return tuple(found)


PRESETS = {
    "anthropic": Preset(
        "queue=lognormal(20ms, 0.8, max=500ms), prefill=lognormal(560ms, 0.4, max=4s), prefill_per_token=0.03ms, "
        "itl=lognormal(15ms, 0.35, max=300ms), network=lognormal(45ms, 0.3, max=300ms)",
        "Anthropic, a Sonnet: first token after about 0.65 s, some 63 tokens/s",
    ),
    "anthropic-small": Preset(
        "anthropic, prefill=lognormal(300ms, 0.4, max=3s), itl=lognormal(7ms, 0.35, max=250ms)",
        "Anthropic, a Haiku: some 135 tokens/s",
    ),
    "anthropic-large": Preset(
        "anthropic, prefill=lognormal(1000ms, 0.5, max=8s), itl=lognormal(20ms, 0.35, max=400ms)",
        "Anthropic, an Opus, a Fable or a Mythos: some 47 tokens/s",
    ),
}
PROMPT_CACHING = PromptCaching(block=64, lifetime=300, on_request=True)


def preset_of(model: str) -> str:
    """The preset of a model's size."""
    if "haiku" in model[:64]:
        return "anthropic-small"
    return "anthropic-large" if any(name in model[:64] for name in ("opus", "fable", "mythos")) else "anthropic"

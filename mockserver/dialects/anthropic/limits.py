"""Rate limits, headers and speed (facts A11): the vendor's tiers, and what every answer states."""

from math import isfinite

from mockserver.core.calls import Call
from mockserver.core.dialects import Preset, PromptCaching, RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.quotas import PERIODS, Allowance, Limit, LimitState, QuotaPolicy, Refused, exceeded, tightest
from mockserver.core.seeding import derive, hex_digits
from mockserver.core.timeline import RawHeaders
from mockserver.dialects.anthropic.errors import ORGANIZATION, request_id
from mockserver.dialects.anthropic.models import rfc_3339
from mockserver.dialects.openai.bodies import date_header

_MINUTE = PERIODS["minute"]
# Of the tokens of a minute so many are for the input, the rest for the output (recorded: 2,000,000 and 400,000).
_INPUT = 5 / 6
_REFERENCE = (
    "For details, refer to: https://docs.claude.com/en/api/rate-limits. You can see the response headers for current "
    "usage. Please reduce the prompt length or the maximum tokens requested, or try again later. You may also contact "
    "sales at https://claude.com/contact-sales to discuss your options for a rate limit increase."
)


def _per_minute(requests: int, tokens: int) -> Allowance:
    return Allowance((Limit("requests", _MINUTE, requests), Limit("tokens", _MINUTE, tokens)))


# `start` and `scale` are stated for Fable 5; `recorded` is an account that recorded answers are from.
_TIERS = {
    "start": _per_minute(1_000, 600_000),
    "build": _per_minute(2_000, 2_400_000),
    "scale": _per_minute(4_000, 4_800_000),
    "tier1": _per_minute(50, 36_000),
    "tier2": _per_minute(1_000, 540_000),
    "tier3": _per_minute(2_000, 960_000),
    "tier4": _per_minute(4_000, 2_400_000),
}


def _refuse(refused: Refused, now: float) -> Refusal:
    """The refusal of a request beyond a limit; the error table puts the model's name into it."""
    worst = exceeded(refused.standings)
    if worst is None:
        words = (
            "Number of concurrent connections has exceeded your rate limit. Please try again later or contact sales at "
            "https://claude.com/contact-sales to discuss your options for a rate limit increase."
        )
        return Refusal(FailureKind.RATE_LIMIT, words)
    limit = worst.limit
    what = "requests" if limit.measure == "requests" else "input tokens"
    amount = limit.amount if limit.measure == "requests" else round(limit.amount * _INPUT)
    words = (
        f"This request would exceed your organization's rate limit of {amount:,} {what} per {limit.period} "
        f"(org: {ORGANIZATION}, model: {{model}}). {_REFERENCE}"
    )
    waits = ((b"retry-after", b"%d" % max(int(-(-worst.wait // 1)), 1)),) if isfinite(worst.wait) else ()
    return Refusal(FailureKind.RATE_LIMIT, words, headers=waits)


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
_RECORDED = (
    LimitState(Limit("requests", _MINUTE, 4_000), 1),
    LimitState(Limit("tokens", _MINUTE, 2_400_000), 500),
)
_MODELS = "/v1/models"
# Refusals that come before an organization is known.
_ANONYMOUS = (FailureKind.MISSING_CREDENTIALS, FailureKind.UNAUTHORIZED)


def every_answer(call: Call, scope: RequestScope) -> RawHeaders:
    """The headers of each answer, errors included: of a refusal without rate limits, unless these are its reason."""
    limited = scope.refused in (None, FailureKind.RATE_LIMIT) and not call.path.startswith(_MODELS)
    milliseconds = 290 + derive(scope.identity, "processing") % 900
    return (
        date_header(scope.now),
        (b"request-id", request_id(scope.identity).encode()),
        *(_limits(scope) if limited else ()),
        *(() if scope.refused in _ANONYMOUS else ((b"anthropic-organization-id", ORGANIZATION.encode()),)),
        (b"x-envoy-upstream-service-time", b"%d" % milliseconds),
        (b"server-timing", b"x-originResponse;dur=%d" % (milliseconds + 2)),
        *_EDGE,
        (b"cf-ray", f"{hex_digits(scope.identity, 16, 'cf-ray')}-FRA".encode()),
    )


def _limits(scope: RequestScope) -> RawHeaders:
    """The limits of requests and of tokens, and of the latter the share of the input and of the output."""
    standings = scope.standings or _RECORDED
    found: list[tuple[bytes, bytes]] = []
    for measure in ("requests", "tokens"):
        state = tightest(standings, measure, tuple(PERIODS))
        if state is None:
            continue
        reset = rfc_3339(state.full_at(scope.now)).encode()
        shares = ((measure, 1.0), *((("input-tokens", _INPUT), ("output-tokens", 1 - _INPUT)) * (measure == "tokens")))
        for name, share in shares:
            left = state.remaining if measure == "requests" else round(state.remaining * share / 1_000) * 1_000
            values = (b"%d" % round(state.limit.amount * share), b"%d" % left, reset)
            found += [
                (b"anthropic-ratelimit-%b-%b" % (name.encode(), part), value)
                for part, value in zip((b"limit", b"remaining", b"reset"), values, strict=True)
            ]
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
_SMALL, _LARGE = ("haiku",), ("opus", "fable", "mythos")


def preset_of(model: str) -> str:
    """The preset of a model's size."""
    sizes = (("anthropic-small", _SMALL), ("anthropic-large", _LARGE))
    return next((preset for preset, parts in sizes if any(part in model[:64] for part in parts)), "anthropic")

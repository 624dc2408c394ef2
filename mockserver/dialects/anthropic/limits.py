"""Rate limits, headers and speed (facts A11): the vendor's tiers, and what every answer states.

The figures are in `contract/limits.json`: tiers as requests and tokens in a minute (`start` and `scale` as stated for
Fable 5; those with a number were in force until the middle of 2026), presets, and the headers that never change.
"""

from datetime import UTC, datetime
from math import ceil, isfinite

from mockserver.core.calls import Call
from mockserver.core.dialects import Preset, PromptCaching, RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.quotas import PERIODS, Limit, LimitState, QuotaPolicy, Refused, exceeded, per_minute, tightest
from mockserver.core.seeding import derive, hex_digits
from mockserver.core.timeline import RawHeaders
from mockserver.dialects.anthropic.errors import ORGANIZATION, refused, request_id
from mockserver.dialects.contracts import components
from mockserver.dialects.openai.bodies import date_header

_TABLE = components(__package__, "limits")()
_EDGE: RawHeaders = tuple((name.encode(), value.encode()) for name, value in _TABLE["headers"].items())
# Of the tokens of a minute so many are for the input, the rest for the output (recorded: 2,000,000 and 400,000).
_INPUT = 5 / 6
# An account of which answers were recorded, after one short request.
_RECORDED = (LimitState(Limit("requests", 60, 4_000), 1), LimitState(Limit("tokens", 60, 2_400_000), 500))

PRESETS = {name: Preset(*row) for name, row in _TABLE["presets"].items()}
PROMPT_CACHING = PromptCaching(block=64, lifetime=300, on_request=True)


def preset_of(model: str) -> str:
    """The preset of a model's size."""
    return next((preset for line, preset in _TABLE["sizes"].items() if line in model[:64]), "anthropic")


def _refuse(exceeding: Refused, now: float) -> Refusal:
    """The refusal of a request beyond a limit; the error table puts the model's name into it."""
    worst, wait, words = exceeded(exceeding.standings), 1, refused("crowded")
    if worst is not None:
        limit, tokens = worst.limit, worst.limit.measure == "tokens"
        amount = f"{round(limit.amount * _INPUT):,} input tokens" if tokens else f"{limit.amount:,} requests"
        words = refused("requests_limited", limit=f"{amount} per {limit.period}")
        wait = max(ceil(worst.wait), 1) if isfinite(worst.wait) else 1
    return words._replace(kind=FailureKind.RATE_LIMIT, headers=((b"retry-after", b"%d" % wait),))


QUOTAS = QuotaPolicy({name: per_minute(*row) for name, row in _TABLE["tiers"].items()}, refuse=_refuse)


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
    shares = {"requests": 1, "tokens": 1, "input-tokens": _INPUT, "output-tokens": 1 - _INPUT}
    for name, share in shares.items():
        state = tightest(scope.standings or _RECORDED, "requests" if name == "requests" else "tokens", tuple(PERIODS))
        if state is None:
            continue
        reset = datetime.fromtimestamp(state.full_at(scope.now), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        left = state.remaining if name == "requests" else round(state.remaining * share / 1_000) * 1_000
        values = {"limit": round(state.limit.amount * share), "remaining": left, "reset": reset}
        found += [(f"anthropic-ratelimit-{name}-{key}".encode(), f"{it}".encode()) for key, it in values.items()]
    return tuple(found)

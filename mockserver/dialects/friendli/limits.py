"""Rate limits, the headers of every answer, and how fast the engine is (vendor note B)."""

from collections.abc import Mapping
from functools import cache

from mockserver.core.calls import Call
from mockserver.core.dialects import Edition, Preset, PromptCaching, RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.quotas import PERIODS, Allowance, Limit, LimitState, LimitUnit, QuotaPolicy, Refused, tightest
from mockserver.core.timeline import RawHeaders
from mockserver.dialects.openai.read import bearer
from mockserver.dialects.openai.replies import date_header

_PER_MINUTE = {"tier1": 100, "tier2": 1_000, "tier3": 5_000, "tier4": 10_000}
_MEASURES: Mapping[Edition, tuple[LimitUnit, ...]] = {"documented": ("requests", "tokens"), "observed": ("requests",)}


def refuse(refused: Refused, now: float) -> Refusal:
    """The vendor's only 429, whichever limit was exceeded."""
    return Refusal(FailureKind.RATE_LIMIT)


def limits_left(standings: tuple[LimitState, ...], edition: Edition) -> RawHeaders:
    """The tightest limits on requests, and by the old pages on tokens, if any; resets are in whole seconds."""
    found = ((measure.encode(), tightest(standings, measure, tuple(PERIODS))) for measure in _MEASURES[edition])
    named = [(measure, standing) for measure, standing in found if standing is not None]
    return (
        *((b"x-ratelimit-limit-" + name, b"%d" % standing.limit.amount) for name, standing in named),
        *((b"x-ratelimit-remaining-" + name, b"%d" % standing.remaining) for name, standing in named),
        *((b"x-ratelimit-reset-" + name, b"%d" % standing.full_at()) for name, standing in named),
    )


QUOTAS = QuotaPolicy(
    {
        name: Allowance((Limit("requests", PERIODS["minute"], amount, fixed=True),))
        for name, amount in _PER_MINUTE.items()
    },
    refuse=refuse,
    fixed_windows=True,
)

# --- headers ---------------------------------------------------------------------------------------------------------

_MINUTE = PERIODS["minute"]
_REQUESTS = Limit("requests", _MINUTE, 100, fixed=True)
_TOKENS = Limit("tokens", _MINUTE, 100_000, fixed=True)
_SHARED = "/serverless/"


def every_answer(call: Call, scope: RequestScope) -> RawHeaders:
    """The headers that each answer carries, errors included; resets are in whole seconds."""
    limits = limits_left(scope.standings, scope.edition) if scope.standings else _assumed(call, scope)
    return (date_header(scope.now), *limits)


def _assumed(call: Call, scope: RequestScope) -> RawHeaders:
    """The limits if no quota is configured.

    By the page the minute of the clock counts. Today the window has just begun; containers and endpoints of one's own
    are not limited, nor is what needs no key.
    """
    used = _REQUESTS.amount if scope.refused is FailureKind.RATE_LIMIT else 1
    if scope.edition == "documented":
        return _after(used, "documented", _MINUTE - int(scope.now) % _MINUTE)
    limited = call.path.startswith(_SHARED) and call.method == "POST" and bearer(call) is not None
    return _after(used, "observed", _MINUTE) if limited else ()


@cache
def _after(requests: int, edition: Edition, left: int) -> RawHeaders:
    """The limits after so many requests in a window that has so many seconds left."""
    return limits_left((LimitState(_REQUESTS, requests, left=left), LimitState(_TOKENS, left=left)), edition)


# --- latency ---------------------------------------------------------------------------------------------------------

PRESETS = {
    "friendli": Preset(
        "prefill=lognormal(220ms, 0.35, max=2s), prefill_per_token=0.05ms, itl=lognormal(10.2ms, 0.25, max=200ms), "
        "network=lognormal(30ms, 0.3, max=200ms)",
        "serverless GPU: first token after about 0.25 s, 95 tokens/s",
    ),
}

# Its answers have `cached_tokens`, but nothing states these figures: they are usual for such an engine.
PROMPT_CACHING = PromptCaching(block=16, lifetime=300)

"""FriendliAI's quotas: tiers by what a team has spent so far, and the headers that state them (vendor notes B1, B5).

The old pages name headers for requests and for tokens. Today's answers were recorded with those for requests alone
(three requests of a first-tier key within 20 seconds of September 2026): 99, 98 and 97 remained of 100, and the reset
was 60, 41 and 40 seconds away, so a window is a minute that begins with its first request.
"""

from collections.abc import Mapping

from mockserver.core.dialects import Edition
from mockserver.core.failures import FailureKind, Rejection
from mockserver.core.quotas import PERIODS, Allowance, Limit, Measure, QuotaPolicy, Refused, Standing, tightest
from mockserver.core.timeline import RawHeaders

_PER_MINUTE = {"tier1": 100, "tier2": 1_000, "tier3": 5_000, "tier4": 10_000}
_MEASURES: Mapping[Edition, tuple[Measure, ...]] = {"documented": ("requests", "tokens"), "observed": ("requests",)}


def refuse(refused: Refused, now: float) -> Rejection:
    """The vendor's only 429, whichever limit was exceeded."""
    return Rejection(FailureKind.RATE_LIMIT)


def limits_left(standings: tuple[Standing, ...], edition: Edition) -> RawHeaders:
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

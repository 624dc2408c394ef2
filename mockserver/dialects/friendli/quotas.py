"""FriendliAI's quotas: tiers by what a team has spent so far, and the headers of the old pages (vendor notes B1, B5).

Today's pages name no headers, so the observed edition has none.
"""

from mockserver.core.failures import FailureKind, Rejection
from mockserver.core.quotas import PERIODS, Allowance, Limit, Measure, QuotaPolicy, Refused, Standing, tightest
from mockserver.core.timeline import RawHeaders

_PER_MINUTE = {"tier1": 100, "tier2": 1_000, "tier3": 5_000, "tier4": 10_000}
_MEASURES: tuple[Measure, ...] = ("requests", "tokens")


def refuse(refused: Refused, now: float) -> Rejection:
    """The vendor's only 429, whichever limit was exceeded."""
    return Rejection(FailureKind.RATE_LIMIT)


def limits_left(standings: tuple[Standing, ...]) -> RawHeaders:
    """The tightest limits on requests and on tokens, if any; resets are in whole seconds until they are full."""
    found = ((measure.encode(), tightest(standings, measure, tuple(PERIODS))) for measure in _MEASURES)
    named = [(measure, standing) for measure, standing in found if standing is not None]
    return (
        *((b"x-ratelimit-limit-" + name, b"%d" % standing.limit.amount) for name, standing in named),
        *((b"x-ratelimit-remaining-" + name, b"%d" % standing.remaining) for name, standing in named),
        *((b"x-ratelimit-reset-" + name, b"%d" % standing.full_at()) for name, standing in named),
    )


QUOTAS = QuotaPolicy(
    {name: Allowance((Limit("requests", PERIODS["minute"], amount),)) for name, amount in _PER_MINUTE.items()},
    refuse=refuse,
)

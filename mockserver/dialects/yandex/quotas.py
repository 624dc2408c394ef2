"""Yandex' quotas: so many generations at once, a gauge and no rate (vendor note A7); no header tells of it.

Rates are not documented. Where one is configured it is refused as the service's other rates are, and as the early
service refused its own per hour: `...RequestsPerHour.rate rate quota limit exceed: allowed 100 requests`.
"""

from mockserver.core.failures import FailureKind, Rejection
from mockserver.core.quotas import Allowance, QuotaPolicy, Refused, exceeded

_GENERATION = "ai.textGenerationCompletion"


def refuse(refused: Refused, now: float) -> Rejection:
    """The name of the quota that is used up, its kind, and what it allows."""
    worst = exceeded(refused.standings)
    if worst is None:
        name, kind, allowed = "SessionsCount.count", "gauge", f"{refused.crowd} requests"
    else:
        limit = worst.limit
        name, kind = f"{limit.measure.capitalize()}Per{limit.period.capitalize()}.rate", "rate"
        allowed = f"{limit.amount} {limit.measure}"
    return Rejection(FailureKind.RATE_LIMIT, f"{_GENERATION}{name} {kind} quota limit exceed: allowed {allowed}")


QUOTAS = QuotaPolicy({"default": Allowance(concurrent=10)}, refuse=refuse)

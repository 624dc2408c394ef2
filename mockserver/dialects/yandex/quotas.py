"""Yandex' quota: a number of concurrent generations, a gauge and not a rate (vendor note A7); no header states it.

Rates are not documented. If one is configured and exceeded, the refusal is that of the service's other rates, and of
the early service's own per hour: `...RequestsPerHour.rate rate quota limit exceed: allowed 100 requests`.
"""

from mockserver.core.failures import FailureKind, Rejection
from mockserver.core.quotas import Allowance, QuotaPolicy, Refused, exceeded

_GENERATION = "ai.textGenerationCompletion"


def refuse(refused: Refused, now: float) -> Rejection:
    """The refusal for an exhausted quota: its name, its kind, and the amount that it allows."""
    worst = exceeded(refused.standings)
    if worst is None:
        name, kind, allowed = "SessionsCount.count", "gauge", f"{refused.crowd} requests"
    else:
        limit = worst.limit
        name, kind = f"{limit.measure.capitalize()}Per{limit.period.capitalize()}.rate", "rate"
        allowed = f"{limit.amount} {limit.measure}"
    return Rejection(FailureKind.RATE_LIMIT, f"{_GENERATION}{name} {kind} quota limit exceed: allowed {allowed}")


QUOTAS = QuotaPolicy({"default": Allowance(concurrent=10)}, refuse=refuse)

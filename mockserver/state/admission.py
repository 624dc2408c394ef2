"""Admission: whether the quotas of a namespace let a request in, and how its limits then stand."""

from mockserver.core.calls import Call
from mockserver.core.quotas import LimitState, Refused
from mockserver.state.context import RouteMatch
from mockserver.state.plan import Plan
from mockserver.state.quotas import allowance_of
from mockserver.state.rate_limiter import BucketKey, RateLimiter, cost_of
from mockserver.state.settings import Settings


def limit_states_of(
    call: Call, route: RouteMatch, settings: Settings, limiter: RateLimiter, now: float
) -> tuple[LimitState, ...]:
    """The states of a caller's limits while the model is unknown; none if no quota applies."""
    asker = _asker(call, route, "")
    allowance = allowance_of(settings.quota, route.dialect, asker.model, asker.key)
    return () if allowance is None else limiter.limit_states(asker, allowance, now)


def admit(plan: Plan, limiter: RateLimiter, now: float) -> None:
    """Admit a request to a model, with the states of its limits and a reservation that must leave later; or
    refuse it.

    There is no reservation if nothing is counted, because no quota applies or the request is refused.
    """
    context, request = plan.context, plan.request
    assert request is not None, "the request asks a model"
    dialect = context.route.dialect
    asker = _asker(context.call, context.route, request.model)
    allowance = allowance_of(context.settings.quota, dialect, asker.model, asker.key)
    if allowance is None or dialect.quotas is None:
        return
    charge = cost_of(request, context.scope.model(request.model), dialect.quotas)
    verdict = limiter.reserve(asker, allowance, charge, now)
    plan.context = context._replace(scope=context.scope._replace(limit_states=verdict.limit_states))
    if isinstance(verdict, Refused):
        plan.refusal = dialect.quotas.refuse(verdict, context.scope.now)._replace(model=request.model)
    else:
        plan.reservation = verdict


def settle(plan: Plan, limiter: RateLimiter, now: float) -> None:
    """Charge for the actual length of an answer, if the vendor does not charge up front."""
    policy = plan.context.route.dialect.quotas
    if plan.reservation is not None and plan.generation is not None and policy is not None and not policy.up_front:
        limiter.settle(plan.reservation, plan.generation.usage.total_tokens, now)


def _asker(call: Call, route: RouteMatch, model: str) -> BucketKey:
    credentials = route.dialect.credentials
    return BucketKey(route.dialect.name, (credentials(call) if credentials else None) or "", model)

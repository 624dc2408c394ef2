"""Admission: whether the quotas of a namespace let a request in, and how its limits then stand."""

from mockserver.control.plan import Plan
from mockserver.control.quotas.desk import Asker, QuotaDesk, charge_of
from mockserver.control.quotas.rules import allowance_of
from mockserver.control.routing import Landing
from mockserver.control.settings import Settings
from mockserver.core.calls import Call
from mockserver.core.quotas import Refused, Standing


def standings_of(call: Call, landing: Landing, settings: Settings, desk: QuotaDesk, now: float) -> tuple[Standing, ...]:
    """The standings of a caller's limits while the model is unknown; none if quotas are off."""
    if not settings.quota:
        return ()
    asker = _asker(call, landing, "")
    allowance = allowance_of(settings.quota, landing.dialect, asker.model, asker.key)
    return () if allowance is None else desk.standings(asker, allowance, now)


def admit(plan: Plan, desk: QuotaDesk, now: float) -> None:
    """Admit a request to a model, with its standings and a ticket that must leave later; or refuse it.

    There is no ticket if nothing is counted, because quotas are off or the request is refused.
    """
    visit, request = plan.visit, plan.request
    if not visit.settings.quota or request is None:
        return
    dialect = visit.landing.dialect
    asker = _asker(visit.call, visit.landing, request.model)
    allowance = allowance_of(visit.settings.quota, dialect, asker.model, asker.key)
    if allowance is None or dialect.quotas is None:
        return
    charge = charge_of(request, visit.site.model(request.model), dialect.quotas)
    verdict = desk.admit(asker, allowance, charge, now)
    plan.visit = visit._replace(site=visit.site._replace(standings=verdict.standings))
    if isinstance(verdict, Refused):
        plan.rejection = dialect.quotas.refuse(verdict, visit.site.now)
    else:
        plan.ticket = verdict.ticket


def settle(plan: Plan, desk: QuotaDesk, now: float) -> None:
    """Charge for the actual length of an answer, if the vendor does not charge up front."""
    policy = plan.visit.landing.dialect.quotas
    if plan.ticket is not None and plan.generation is not None and policy is not None and not policy.up_front:
        desk.settle(plan.ticket, plan.generation.usage.total_tokens, now)


def _asker(call: Call, landing: Landing, model: str) -> Asker:
    credentials = landing.dialect.credentials
    return Asker(landing.dialect.name, (credentials(call) if credentials else None) or "", model)

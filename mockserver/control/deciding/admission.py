"""Admission: whether the quotas of a namespace let a question in, and how its limits then stand.

standings_of: call -> the standings of its caller       (before a body is read; nothing is charged)
admit:        question -> question with its standings, and a ticket; or the plan of a refusal
"""

from mockserver.control.plan import Heard, Plan, Question, refuse
from mockserver.control.quotas.desk import Asker, QuotaDesk, Ticket, charge_of
from mockserver.control.quotas.rules import allowance_of
from mockserver.control.routing import Landing
from mockserver.control.settings import Settings
from mockserver.control.visits import Visit
from mockserver.core.calls import Call
from mockserver.core.generation import Generation
from mockserver.core.quotas import Refused, Standing


def standings_of(call: Call, landing: Landing, settings: Settings, desk: QuotaDesk, now: float) -> tuple[Standing, ...]:
    """The standings of a caller's limits while the model is unknown; none if quotas are off."""
    asker = _asker(call, landing, "")
    allowance = allowance_of(settings.quota, landing.dialect, asker.model, asker.key)
    return () if allowance is None else desk.standings(asker, allowance, now)


def admit(question: Question, desk: QuotaDesk, now: float) -> tuple[Heard, Ticket | None]:
    """Admit a question: return it with its standings and a ticket that must leave later; or refuse it with a plan.

    There is no ticket if nothing is counted, because quotas are off or the request is refused.
    """
    visit, request = question.visit, question.request
    if not visit.settings.quota:
        return question, None
    dialect = visit.landing.dialect
    asker = _asker(visit.call, visit.landing, request.model)
    allowance = allowance_of(visit.settings.quota, dialect, asker.model, asker.key)
    if allowance is None or dialect.quotas is None:
        return question, None
    charge = charge_of(request, visit.site.model(request.model), dialect.quotas)
    verdict = desk.admit(asker, allowance, charge, now)
    visit = _standing(visit, verdict.standings)
    if isinstance(verdict, Refused):
        return _as_counted(refuse(dialect.quotas.refuse(verdict, visit.site.now), visit, request)), None
    return question._replace(visit=visit), verdict.ticket


def settle(plan: Plan, ticket: Ticket, desk: QuotaDesk, now: float) -> None:
    """Charge for the actual length of an answer, if the vendor does not charge up front."""
    policy = plan.visit.landing.dialect.quotas
    if isinstance(plan.generation, Generation) and policy is not None and not policy.up_front:
        desk.settle(ticket, plan.generation.usage.total_tokens, now)


def _asker(call: Call, landing: Landing, model: str) -> Asker:
    credentials = landing.dialect.credentials
    return Asker(landing.dialect.name, (credentials(call) if credentials else None) or "", model)


def _standing(visit: Visit, standings: tuple[Standing, ...]) -> Visit:
    return visit._replace(site=visit.site._replace(standings=standings))


def _as_counted(plan: Plan) -> Plan:
    """The refusal with each header once: counted limits replace the examples in the vendor's error table."""
    return plan._replace(timeline=plan.timeline._replace(headers=tuple(dict(plan.timeline.headers).items())))

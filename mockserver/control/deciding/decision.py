"""Decisions: a request meets the state of its namespace.

recall:  call, namespace -> plan                  (of an equal call, if the result cannot differ)
decide:  question, namespace, now -> decision     (counts, draws and charges)
respond: question, decision -> plan               (pure, except for the slot it may take and the prompt it may cache)
"""

from collections.abc import Sequence
from typing import NamedTuple

from mockserver.control.caches import LONGEST_ANSWER, LONGEST_BODY, LONGEST_CALL, cache, size_of
from mockserver.control.deciding.admission import admit
from mockserver.control.deciding.choosing import Chosen, choose, facts_of, overridden_by, wished_reply
from mockserver.control.deciding.fulfilling import fulfil
from mockserver.control.engines import EngineState
from mockserver.control.faults.wishes import wished
from mockserver.control.namespaces import Namespace
from mockserver.control.plan import Heard, Plan, Question
from mockserver.control.quotas.desk import Ticket
from mockserver.control.routing import Landing
from mockserver.control.settings import Settings
from mockserver.control.strikes import Strike
from mockserver.control.stubs.book import Stub
from mockserver.control.visits import WishError
from mockserver.core.caches import Cache
from mockserver.core.calls import Call
from mockserver.core.regexes import renew_patience
from mockserver.core.timeline import Lazy

# An answer of so many tokens takes some milliseconds to generate.
_LONG_ANSWER = 2_048
# A prompt of so many tokens takes some milliseconds to look up in a cache.
_LONG_PROMPT = 8_192


class Decision(NamedTuple):
    """Everything that the state of a namespace decides about a request.

    - `heard`: the question as admitted by its quotas, or the plan of a refusal.
    - `strikes`: the faults intended for it; those that do not strike must be taken back.
    - `engine`: the slots and the cached prompts of its engine; None if the engine has no such limits and no cache.
    - `ticket`: its quota ticket, which must leave when the answer has ended.
    - `chosen`: its prepared answer, or why there is none; None if the quotas refuse the request.
    """

    heard: Heard
    strikes: tuple[Strike, ...] = ()
    engine: EngineState | None = None
    ticket: Ticket | None = None
    chosen: Chosen | None = None

    @property
    def is_reusable(self) -> bool:
        """Whether nothing special happens to the answer, so that an equal question would get an equal one."""
        chosen = self.chosen
        return (
            not self.strikes
            and self.engine is None
            and self.ticket is None
            and chosen is not None
            and chosen.is_reusable
        )

    @property
    def takes_long(self) -> bool:
        """Whether answering may take more than some milliseconds."""
        if isinstance(self.heard, Question):
            if self.heard.weight >= _LONG_ANSWER:
                return True
            if self.engine is not None and self.engine.prompts and self.heard.request.prompt_tokens >= _LONG_PROMPT:
                return True
        return self.chosen is not None and self.chosen.takes_long


def decide(heard: Heard, namespace: Namespace, now: float, since: float = 0.0, stubs: Sequence[Stub] = ()) -> Decision:
    """Decide on a request that arrives at the instant `now`; rules of the settings count from `since`.

    `stubs` are those of the settings. Raises WishError if the request's own headers cannot be obeyed.
    """
    renew_patience()
    facts = facts_of(heard, namespace)
    # An invalid wish costs no quota and uses up no fault; nor does a request that the quotas refuse use up any.
    wishes = tuple(Strike(fault, "header") for fault in wished(heard))
    if not isinstance(heard, Question):
        chosen = choose(heard, facts, namespace, stubs)
        return Decision(heard, (*namespace.faults.pick(heard, now, since, facts), *wishes), chosen=chosen)
    wished_reply(heard.visit.call.headers)
    admitted, ticket = admit(heard, namespace.quotas, now)
    if not isinstance(admitted, Question):
        return Decision(admitted)
    try:
        chosen = choose(admitted, facts, namespace, stubs)
        question = overridden_by(admitted, chosen)
    except WishError:
        if ticket is not None:
            namespace.quotas.leave(ticket)
        raise
    strikes = (*namespace.faults.pick(admitted, now, since, facts), *wishes)
    if chosen.is_body:
        return Decision(question, strikes, None, ticket, chosen)
    visit = question.visit
    dialect = visit.landing.dialect
    caching = dialect.prompt_caching if visit.settings.prompt_cache else None
    engine = namespace.engines.state(dialect.name, question.request, visit.profile, caching, now)
    return Decision(question, strikes, engine, ticket, chosen)


def respond(decision: Decision) -> Plan:
    """The plan of the answer, as it was decided."""
    heard, chosen = decision.heard, decision.chosen
    if chosen is None:
        assert isinstance(heard, Plan), "for every question something is chosen"
        return heard
    plan = fulfil(heard, chosen, decision.strikes, decision.engine)
    if plan.reuse is not None and plan.visible_generation is not None:
        plan.reuse.keep()
    if decision.is_reusable:
        _remember(plan)
    return plan


# Some vendors state times in fractions of a second, so a plan is only reused within one tick; so many per second.
_TICKS = 20
# The frames of answers with more tokens are not cached.
_MOST_MADE = 256
# The bytes of a frame for a token, roughly.
_FRAME = 500

# Recent plans without anything special, for equal calls within the same tick.
_reusable_plans: Cache[tuple[object, ...], Plan] = cache("planned")


def recall(call: Call, landing: Landing, settings: Settings, namespace: Namespace) -> Plan | None:
    """The plan of an equal call in this tick, if it is reusable and the decision would be the same."""
    if not namespace.is_quiet or len(call.body) > LONGEST_CALL:
        return None
    if namespace.retries.has_failed(landing.dialect.name, call):
        return None
    key = _key(call, landing)
    plan = _reusable_plans.find(key)
    if plan is None or plan.visit.landing is not landing or plan.visit.settings is not settings:
        return None
    if isinstance(plan.timeline.runs, Lazy) and _tokens(plan) <= _MOST_MADE:
        # A call that came twice may come often: its frames are computed once and kept.
        plan = plan._replace(timeline=plan.timeline._replace(runs=tuple(plan.timeline.runs)))
        _keep(key, plan)
    namespace.retries.count()
    return plan


def _tokens(plan: Plan) -> int:
    return plan.generation.usage.completion_tokens if plan.generation is not None else 0


def _remember(plan: Plan) -> None:
    """Cache a reusable plan, unless rules of the settings might strike the next request, or every id is unique."""
    visit = plan.visit
    route, settings = visit.landing.route, visit.settings
    steady = settings.ids != "unique" and not settings.fault and (route is None or not route.faults)
    # What continues an earlier answer depends on the namespace.
    steady = steady and visit.site.ledger is None
    if not steady or plan.generation is None or _tokens(plan) > LONGEST_ANSWER:
        return
    if not plan.generation.choices and plan.timeline.held > LONGEST_BODY:
        return
    if len(visit.call.body) <= LONGEST_CALL:
        _keep(_key(visit.call, visit.landing), plan)


def _keep(key: tuple[object, ...], plan: Plan) -> None:
    # Nearly all of an answer is its frames, which are some times as long as its body or its text.
    _reusable_plans.keep(key, plan, size_of(plan.visit.call.body) + plan.timeline.held + _FRAME * _tokens(plan))


def _key(call: Call, landing: Landing) -> tuple[object, ...]:
    return (id(landing), call.method, call.query, call.headers.raw, call.body, int(call.received_at * _TICKS))

"""What decides an answer: the request meets the state of its namespace.

decide:  question, namespace, now -> decision     (counts, draws and charges)
respond: question, decision -> plan               (pure, but for the seat that it takes at a busy engine)
"""

from collections.abc import Sequence
from dataclasses import dataclass

from mockserver.control.load import Counter
from mockserver.control.namespaces import Namespace
from mockserver.control.plan import Plan, Question, WishError
from mockserver.control.quotas.admission import admit
from mockserver.control.quotas.desk import Ticket
from mockserver.control.recall import LONGEST_ANSWER, Memory
from mockserver.control.stubs.book import Stub
from mockserver.control.stubs.choosing import Chosen, choose, facts_of, told_by
from mockserver.control.stubs.replies import perform
from mockserver.faults.rules import Fault


@dataclass(frozen=True, slots=True)
class Decision:
    """What a namespace has in store for a request: what its quotas make of it, the faults that strike it, the engine
    that it waits for, and what is chosen for it. A `ticket` of the quotas has to leave again when the answer has ended.
    """

    heard: Question | Plan
    faults: tuple[Fault, ...] = ()
    counter: Counter | None = None
    ticket: Ticket | None = None
    chosen: Chosen | None = None

    @property
    def is_usual(self) -> bool:
        """Whether nothing is in the way of an answer, so that an equal question would get an equal one."""
        chosen = self.chosen
        return (
            not self.faults and self.counter is None and self.ticket is None and chosen is not None and chosen.is_usual
        )

    @property
    def takes_long(self) -> bool:
        """Whether what is prepared may take more than some milliseconds to say."""
        return self.chosen is not None and self.chosen.takes_long


def decide(
    heard: Question | Plan, namespace: Namespace, now: float, since: float = 0.0, stubs: Sequence[Stub] = ()
) -> Decision:
    """The decision on a request that arrives at the instant `now`; rules of the settings count from `since`.

    `stubs` are those of the settings. Raises WishError when the request's own headers ask for what cannot be.
    """
    facts = facts_of(heard, namespace)
    faults = namespace.faults.pick(heard, now, since, facts)
    if not isinstance(heard, Question):
        return Decision(heard, faults, chosen=choose(heard, facts, namespace, stubs))
    admitted, ticket = admit(heard, namespace.quotas, now)
    if not isinstance(admitted, Question):
        return Decision(admitted)
    try:
        chosen = choose(admitted, facts, namespace, stubs)
    except WishError:
        if ticket is not None:
            namespace.quotas.leave(ticket)
        raise
    told = told_by(admitted, chosen)
    if chosen.is_body:
        return Decision(told, faults, None, ticket, chosen)
    visit = told.visit
    counter = namespace.engines.counter(visit.landing.dialect.name, told.request, visit.profile, now)
    return Decision(told, faults, counter, ticket, chosen)


def respond(decision: Decision) -> Plan:
    """The plan of what was heard, as it was decided."""
    heard, chosen = decision.heard, decision.chosen
    if isinstance(heard, Question) and decision.is_usual:
        return _usual(heard, decision)
    if chosen is not None:
        return perform(heard, chosen, decision.faults, decision.counter)
    assert isinstance(heard, Plan), "for every question something is chosen"
    return heard


# Plans made lately, for questions that come again within the second that their answers state.
_planned: Memory[tuple[int, int, int], Plan] = Memory("planned")


def _usual(question: Question, decision: Decision) -> Plan:
    """The plan of a usual answer: the one that an equal question has got in this second, if there was any."""
    visit, request = question.visit, question.request
    key = (id(request), visit.site.identity, int(visit.site.now))
    known = _planned.find(key)
    if known is not None and known.request is request and known.visit.settings is visit.settings:
        return known
    assert decision.chosen is not None, "for every question something is chosen"
    plan = perform(question, decision.chosen, (), None)
    if plan.generation is not None and plan.generation.usage.completion_tokens <= LONGEST_ANSWER:
        _planned.keep(key, plan)
    return plan

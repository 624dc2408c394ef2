"""What decides an answer: the request meets the state of its namespace.

decide:  question, namespace, now -> decision     (counts, draws, charges: the only step that changes state)
respond: question, decision -> plan               (pure)
"""

from dataclasses import dataclass

from mockserver.control.faults import strike
from mockserver.control.namespaces import Namespace
from mockserver.control.plan import Plan, Question, answer
from mockserver.faults.rules import Fault


@dataclass(frozen=True, slots=True)
class Decision:
    """What a namespace has in store for one request: the faults that strike it."""

    faults: tuple[Fault, ...] = ()


def decide(heard: Question | Plan, namespace: Namespace, now: float, since: float = 0.0) -> Decision:
    """The decision on a request that arrives at the instant `now`; rules of the settings count from `since`.

    Raises WishError when the request's own headers ask for what cannot be.
    """
    return Decision(namespace.faults.pick(heard, now, since))


def respond(heard: Question | Plan, decision: Decision) -> Plan:
    """The plan of what was heard, as it was decided."""
    made = answer(heard, decision.faults) if isinstance(heard, Question) else heard
    return strike(made, decision.faults) if decision.faults else made

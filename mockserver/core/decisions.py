"""Three-valued logic: a decision is True, False, or None where it is unknown because a search was given up."""

from collections.abc import Iterable

Decision = bool | None


def conjunction(decisions: Iterable[Decision]) -> Decision:
    """Whether all hold: False if any of them is False, else None if any is unknown."""
    known: Decision = True
    for decision in decisions:
        if decision is False:
            return False
        known = known and decision
    return known


def contrary(decision: Decision) -> Decision:
    """The negation; what is unknown stays unknown."""
    return None if decision is None else not decision


def disjunction(decisions: Iterable[Decision]) -> Decision:
    """Whether any holds: True if one of them is True, else None if any is unknown."""
    known: Decision = False
    for decision in decisions:
        if decision is True:
            return True
        known = known if decision is False else None
    return known

"""Decisions that nobody may know: True, False, or None where what would have to tell was given up."""

from collections.abc import Iterable

Decision = bool | None


def conjunction(decisions: Iterable[Decision]) -> Decision:
    """Whether all hold: not where one does not, and else nobody knows where one is not known."""
    known: Decision = True
    for decision in decisions:
        if decision is False:
            return False
        known = known and decision
    return known


def contrary(decision: Decision) -> Decision:
    """Whether it does not hold."""
    return None if decision is None else not decision


def disjunction(decisions: Iterable[Decision]) -> Decision:
    """Whether one of them holds."""
    return contrary(conjunction(map(contrary, decisions)))

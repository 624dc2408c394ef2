"""Which exchanges of a journal match criteria, and where the others differ."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mockserver.core.criteria import Criteria, CriteriaError, Facts, decided, differences, unknown_name_in
from mockserver.core.criteria_notation import read_criteria
from mockserver.core.regexes import renew_patience
from mockserver.state.facts import RequestFacts
from mockserver.state.journal.exchanges import Exchange
from mockserver.state.journal.transcripts import masked_difference


def sift(
    exchanges: Iterable[Exchange], match: Any, operations: Mapping[str, Iterable[str]], before: int = 0
) -> dict[int, Sequence[str]]:
    """The differences of each exchange from what is wanted, by its number; none if it matches.

    `match` is a table of criteria, `operations` are the names of each dialect's operations; `before` is the number of
    questions before these exchanges. Raises CriteriaError for names that do not exist, and if a decision depends on a
    search that was given up, since the count of matches would be a guess. A request to an unserved path has no fields,
    and only matches empty criteria.
    """
    criteria = read_criteria(match)
    complaint = unknown_name_in(criteria, operations)
    if complaint is not None:
        raise CriteriaError(complaint)
    questions = before
    found: dict[int, Sequence[str]] = {}
    for exchange in exchanges:
        questions += exchange.is_question
        if exchange.plan is not None:
            renew_patience()
            plan = exchange.plan
            facts = RequestFacts(plan.context, plan.request, questions, plan.attempt)
            found[exchange.number] = _differing(criteria, facts, exchange.number)
        else:
            found[exchange.number] = ("nothing is served at this path",) if match else ()
    return found


def _differing(criteria: Criteria, facts: Facts, number: int) -> Sequence[str]:
    decision = decided(criteria, facts)
    if decision:
        return ()
    found = tuple(str(masked_difference(each)) for each in differences(criteria, facts))
    if decision is None:
        raise CriteriaError(f"Cannot tell whether request #{number} matches: {'; '.join(found)}")
    return found

"""The subject of a check: the exchanges that match.

One match narrows the next: a check on the result of `calls(...)` is about the requests that matched there. Only
requests to a model are considered, unless the first match says where requests go.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, get_args

from mockserver.core.dialects import Dialect
from mockserver.core.generation import FinishReason
from mockserver.core.matching.requests import (
    COMPOUND,
    FIELDS,
    GIVEN_UP,
    Facts,
    RequestMatcher,
    decided,
    mismatches,
    read_criteria,
    unknown_name_in,
)
from mockserver.core.matching.values import MATCHERS, CriteriaError, ValueMatcher, read_matcher
from mockserver.core.messages import shortened, unknown_name
from mockserver.core.regexes import renew_time_budget
from mockserver.faults.catalogue import FAULTS
from mockserver.state.facts import RequestFacts
from mockserver.state.journal.exchanges import Exchange
from mockserver.state.journal.transcripts import masked_difference
from mockserver.state.journal.views import MOST_QUOTED, Past, View

# Fields about where requests go: without any of them only requests to a model are considered.
PLACES = ("method", "operation", "path")

# The fields of an answer that a match may have, in addition to the criteria for a request.
ANSWER_FIELDS: Mapping[str, Callable[[View], Sequence[object]]] = {
    "status": lambda view: (view.status,),
    "rule": lambda view: () if view.rule is None else (view.rule,),
    "fault": lambda view: tuple(view.faults),
    "closed_by": lambda view: () if view.closed_by is None else (view.closed_by,),
    "finish_reason": lambda view: tuple(view.finish_reasons),
}

# The valid words of fields that have a fixed set.
_WORDS: Mapping[str, Sequence[str]] = {
    "fault": tuple(FAULTS),
    "closed_by": ("server", "client"),
    "finish_reason": get_args(FinishReason),
}

Match = Mapping[str, Any]
# Returns the differences of each exchange from the criteria for requests, by its number.
RequestFilter = Callable[[Match], Mapping[int, Sequence[str]]]


class Selection(NamedTuple):
    """Exchanges that match, and the others with their differences; `asked` describes the matches.

    `forgotten` is how many of the exchanges that may have matched are forgotten; `counted` of these are known to match,
    because there were no criteria.
    """

    matching: Sequence[View]
    others: Sequence[tuple[View, Sequence[str]]] = ()
    forgotten: int = 0
    counted: int = 0
    asked: str = ""


class Selector(NamedTuple):
    """The subject of a check: the exchanges of a journal that match all of the matches."""

    look: Callable[[], Past]
    filter_exchanges: RequestFilter
    matches: tuple[Match, ...] = ()

    def narrowed(self, match: Match, words: Sequence[str] = ()) -> "Selector":
        """The subset that matches this too. Raises CriteriaError if it names a field of neither requests nor answers;
        `words` are other names that may have been meant."""
        known = (*words, *FIELDS, *COMPOUND, *ANSWER_FIELDS)
        for name in match:
            if name not in known:
                raise CriteriaError(f"match: {unknown_name('field', name, known)}")
        return self._replace(matches=(*self.matches, match))

    def select(self) -> Selection:
        """The exchanges that match, and the others. Raises CriteriaError."""
        asked = ({name: it for name, it in match.items() if name not in ANSWER_FIELDS} for match in self.matches)
        requests = [criteria for criteria in asked if criteria]
        answers = [
            (name, _answer_matcher(name, value))
            for match in self.matches
            for name, value in match.items()
            if name in ANSWER_FIELDS
        ]
        # Read last, so that what is forgotten meanwhile is counted, and later arrivals are left out.
        differing = (
            self.filter_exchanges(requests[0] if len(requests) == 1 else {"all": requests}) if requests else None
        )
        past = self.look()
        everywhere = bool(self.matches) and any(place in self.matches[0] for place in PLACES)
        rows = [
            (view, (*(() if differing is None else differing[view.number]), *_differences(view, answers)))
            for view in past.views
            if (everywhere or view.is_question) and (differing is None or view.number in differing)
        ]
        forgotten = past.forgotten.exchanges if everywhere else past.forgotten.questions
        others = [(view, different) for view, different in rows if different]
        return Selection(
            tuple(view for view, different in rows if not different),
            tuple(sorted(others, key=lambda each: len(each[1]))),
            forgotten,
            0 if requests or answers else forgotten,
            asked_for(*self.matches),
        )


def everyone(past: Past) -> Selection:
    """All exchanges of a journal, whether to a model or not."""
    return Selection(past.views, (), past.forgotten.exchanges, past.forgotten.exchanges)


def asked_for(*matches: Match) -> str:
    """Matches as text, to follow "request"."""
    parts = dict.fromkeys(f"{name}={matcher_text(value)}" for match in matches for name, value in match.items())
    return f" with {', '.join(parts)}" if parts else ""


def matcher_text(value: Any) -> str:
    """A matcher as it is written in Python."""
    if isinstance(value, Mapping) and len(value) == 1:
        [(word, inner)] = value.items()
        if word in MATCHERS:
            return f"{word}({inner!r})"
    return getattr(value, "__name__", None) or repr(value)


def is_met(matcher: ValueMatcher, values: Sequence[object]) -> bool:
    """Whether a matcher holds. Raises CriteriaError if that is undecided, since a guess would prove nothing."""
    renew_time_budget()
    decision = matcher.holds(values)
    if decision is None:
        shown = shortened(", ".join(map(str, values)), MOST_QUOTED)
        raise CriteriaError(f"Cannot tell whether {shown!r} is {matcher.wanted}: {GIVEN_UP}")
    return decision


def _answer_matcher(name: str, value: Any) -> ValueMatcher:
    """A matcher for an answer's field. Raises CriteriaError for a value that no answer has."""
    matcher = read_matcher(value, name)
    for literal in matcher.equal_to:
        if name in _WORDS and literal not in _WORDS[name]:
            raise CriteriaError(f"{name}: {unknown_name('value', literal, _WORDS[name])}")
        if name == "status" and (isinstance(literal, bool) or not isinstance(literal, int)):
            raise CriteriaError(f"status: {literal!r} is not a number")
    return matcher


def _differences(view: View, matchers: Iterable[tuple[str, ValueMatcher]]) -> Iterable[str]:
    for name, matcher in matchers:
        found = ANSWER_FIELDS[name](view)
        if not is_met(matcher, found):
            yield f"{name}: expected {matcher.wanted}, found {', '.join(map(repr, found)) or 'nothing'}"


def filter_exchanges(
    exchanges: Iterable[Exchange], match: Any, dialects: Mapping[str, Dialect], before: int = 0
) -> dict[int, Sequence[str]]:
    """The differences of each exchange from what is wanted, by its number; none if it matches.

    `match` is a table of criteria, `before` the number of questions before these exchanges. Raises CriteriaError for
    names that do not exist, and if a decision depends on a search that was given up, since the count of matches would
    be a guess. A request to an unserved path has no fields, and only matches empty criteria.
    """
    criteria = read_criteria(match)
    complaint = unknown_name_in(criteria, dialects)
    if complaint is not None:
        raise CriteriaError(complaint)
    questions = before
    found: dict[int, Sequence[str]] = {}
    for exchange in exchanges:
        questions += exchange.is_question
        if exchange.plan is not None:
            plan = exchange.plan
            facts = RequestFacts(plan.context, plan.request, questions, plan.attempt)
            found[exchange.number] = _differing(criteria, facts, exchange.number)
        else:
            found[exchange.number] = ("nothing is served at this path",) if match else ()
    return found


def _differing(criteria: RequestMatcher, facts: Facts, number: int) -> Sequence[str]:
    decision = decided(criteria, facts)
    if decision:
        return ()
    found = tuple(str(masked_difference(each)) for each in mismatches(criteria, facts))
    if decision is None:
        raise CriteriaError(f"Cannot tell whether request #{number} matches: {'; '.join(found)}")
    return found

"""Criteria as values: what is required of a request, whether it meets that, and if not, where it differs.

A criterion applies a matcher to one field of a request: its model, its last message, a header, a place in its body.
(`matchers.py` is imported with the first criterion that somebody states.)

Decisions are three-valued (`decisions.py`): None means that the search for a regular expression had to be given up.
That counts as not met, both for a criterion and for its `not`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from mockserver.core.decisions import Decision, conjunction, contrary, disjunction
from mockserver.core.json_paths import Path
from mockserver.core.naming import shortened, unknown
from mockserver.core.regexes import PATIENCE

if TYPE_CHECKING:
    from mockserver.core.matchers import Matcher

# Why a decision is None.
GIVEN_UP = f"the regular expression took too long (a request's searches have {PATIENCE:g} s in all)"


class CriteriaError(ValueError):
    """Criteria that make no sense; the message names the field and what would have been valid."""

    __module__ = "mockserver"  # where users import it from


class Field(NamedTuple):
    """A field of a request: the type of its values, and what it is."""

    type: type
    summary: str


FIELDS: Mapping[str, Field] = {
    "dialect": Field(str, "the dialect's name"),
    "operation": Field(str, "the operation's name, as in `mockserver routes`"),
    "path": Field(str, "the dialect's own path, or that of a route of your own"),
    "method": Field(str, "GET, POST, ..."),
    "model": Field(str, "the requested model"),
    "stream": Field(bool, "whether a stream is requested"),
    "key": Field(str, "the API key"),
    "prompt": Field(str, "everything that the model reads: the prompt, or the whole conversation"),
    "last_user": Field(str, "the last message of the user; for a completion, the prompt"),
    "last_message": Field(str, "the last message of any role; for a completion, the prompt"),
    "system": Field(str, "a system (or developer) message"),
    "turn": Field(int, "the number of user messages"),
    "tool": Field(str, "the name of an offered tool"),
    "tool_result": Field(str, "the name of the tool, if the last message is a tool's result"),
    "number": Field(int, "the number of the request within its namespace, from 1; only requests to a model count"),
    "attempt": Field(int, "1, plus one for each time that the same request has just failed or was left early"),
}
# The other keys of a match: tables of headers or of places in the body, and tables that are matches themselves.
COMPOUND = ("headers", "body", "any", "all", "not")


class Criterion(NamedTuple):
    """What is required of one field. `path` leads into it: the name of a header, the place of a value in the body."""

    field: str
    matcher: "Matcher"
    path: Path = ()

    @property
    def label(self) -> str:
        """The field as people write it: `model`, `headers.x-trace`, `body.messages[0].content`."""
        steps = "".join(
            f".{step}" if isinstance(step, str) else f"[{'*' if step is None else step}]" for step in self.path
        )
        return self.field + steps


class Criteria(NamedTuple):
    """What is required of a request: all `criteria`, all of `all`, one of `any` (unless empty), and none of `none`."""

    criteria: tuple[Criterion, ...] = ()
    all: tuple["Criteria", ...] = ()
    any: tuple["Criteria", ...] = ()
    none: tuple["Criteria", ...] = ()


# Criteria that every request meets.
ANYTHING = Criteria()


class Facts(Protocol):
    """What is known of a request."""

    def values(self, field: str, path: Path) -> Sequence[object]:
        """The values of a field; empty if the request has no such field."""


class Difference(NamedTuple):
    """Where a request fails its criteria: the field, what was wanted of it, and what was found."""

    field: str
    wanted: str
    found: str

    def __str__(self) -> str:
        return f"{self.field}: expected {self.wanted}, found {self.found}"


def matches(criteria: Criteria, facts: Facts) -> bool:
    """Whether a request is known to meet its criteria."""
    return decided(criteria, facts) is True


def decided(criteria: Criteria, facts: Facts) -> Decision:
    """Whether a request meets its criteria; None if that depends on a search that was given up."""
    known: Decision = True
    # A loop for what most criteria fail first: a server may have a thousand stubs.
    for field, matcher, path in criteria.criteria:
        decision = matcher.holds(facts.values(field, path))
        if decision is False:
            return False
        known = known and decision
    if not (criteria.all or criteria.any or criteria.none):
        return known
    compound = conjunction(_compound_decisions(criteria, facts))
    return False if compound is False else known and compound


def differences(criteria: Criteria, facts: Facts) -> tuple[Difference, ...]:
    """Where a request fails its criteria; empty if it meets them.

    Of several alternatives (`any`) only the nearest is reported.
    """
    return (
        *_differences_of(criteria.criteria, facts),
        *(difference for each in criteria.all for difference in differences(each, facts)),
        *_nearest(criteria.any, facts),
        *_unwanted(criteria.none, facts),
    )


def parts_of(criteria: Criteria) -> Iterator[Criteria]:
    """The parts of criteria, each of which a request must meet: their differences are those of the whole."""
    yield from (Criteria((criterion,)) for criterion in criteria.criteria)
    for each in criteria.all:
        yield from parts_of(each)
    if criteria.any:
        yield Criteria(any=criteria.any)
    yield from (Criteria(none=(each,)) for each in criteria.none)


def distance(criteria: Criteria, facts: Facts) -> int:
    """In how many places a request fails its criteria."""
    count = 0
    for field, matcher, path in criteria.criteria:
        count += not matcher.holds(facts.values(field, path))
    for each in criteria.all:
        count += distance(each, facts)
    if criteria.any:
        count += min(distance(each, facts) for each in criteria.any)
    for each in criteria.none:
        count += decided(each, facts) is not False
    return count


def literal_values(criteria: Criteria, field: str) -> Iterator[object]:
    """The values to which a field is compared for equality, anywhere in the criteria."""
    for each in criteria.criteria:
        if each.field == field:
            yield from each.matcher.equal_to
    for inner in (*criteria.all, *criteria.any, *criteria.none):
        yield from literal_values(inner, field)


def unknown_name_in(criteria: Criteria, operations: Mapping[str, Iterable[str]]) -> str | None:
    """The error message for a dialect or operation in a match that does not exist; None if all of them do.

    `operations` are the names of each dialect's operations, by the dialect's name.
    """
    every = dict.fromkeys(name for each in operations.values() for name in each)
    known = {"dialect": [*operations], "operation": [*every]}
    for where, names in known.items():
        for name in literal_values(criteria, where):
            if name not in names:
                return f"match.{where}: {unknown(where, name, names)}"
    return None


def in_words(criteria: Criteria) -> str:
    """The criteria in one line, for people."""
    parts = [f"{each.label} {each.matcher.wanted}" for each in criteria.criteria]
    parts += [f"({in_words(each)})" for each in criteria.all]
    parts += [f"({' or '.join(map(in_words, criteria.any))})"] if criteria.any else []
    parts += [f"not ({in_words(each)})" for each in criteria.none]
    return " and ".join(parts) or "anything"


def _decided(criterion: Criterion, facts: Facts) -> Decision:
    return criterion.matcher.holds(facts.values(criterion.field, criterion.path))


def _compound_decisions(criteria: Criteria, facts: Facts) -> Iterator[Decision]:
    """A decision for each part of the criteria that consists of criteria itself."""
    for each in criteria.all:
        yield decided(each, facts)
    if criteria.any:
        yield disjunction(decided(each, facts) for each in criteria.any)
    for each in criteria.none:
        yield contrary(decided(each, facts))


def _differences_of(criteria: Sequence[Criterion], facts: Facts) -> Iterator[Difference]:
    for criterion in criteria:
        decision = _decided(criterion, facts)
        if not decision:
            values = facts.values(criterion.field, criterion.path)
            found = ", ".join(map(shortened, values[:8])) or "nothing"
            yield Difference(criterion.label, criterion.matcher.wanted, found if decision is False else _unknown(found))


def _unknown(found: str) -> str:
    return f"{found}; {GIVEN_UP}, so this counts as not met"


def _nearest(alternatives: Sequence[Criteria], facts: Facts) -> Iterator[Difference]:
    distances = [distance(each, facts) for each in alternatives]
    if not distances or not all(distances):
        return
    place = min(range(len(distances)), key=distances.__getitem__)
    for difference in differences(alternatives[place], facts):
        yield Difference(f"any[{place}].{difference.field}", difference.wanted, difference.found)


def _unwanted(unwanted: Sequence[Criteria], facts: Facts) -> Iterator[Difference]:
    for each in unwanted:
        decision = decided(each, facts)
        if decision is not False:
            yield Difference(
                "not", f"not {in_words(each)}", "just that" if decision else _unknown("something that may match")
            )

"""Criteria as values: what a request has to be, whether it is so, and if not, where it differs.

A criterion looks at one field of a request (its model, its last message, a header, a place in its body) with a
matcher. A field may have several values (the tools on offer, the items of a list): a matcher holds when it holds for
any of them.

A search for a regular expression may have to be given up, and then nobody knows whether it holds, nor whether its
contrary does. What is not known does not count as met: neither the criterion nor its `not`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from mockserver.core.json_paths import Path
from mockserver.core.json_values import among, same
from mockserver.core.naming import unknown
from mockserver.core.regexes import PATIENCE

# Why nobody knows whether a value is as it was wanted.
GIVEN_UP = f"the search in that was given up after {PATIENCE:g} s"
# No more of a value than this many characters is told in an explanation.
_TOLD = 160


@dataclass(frozen=True, slots=True)
class Equals:
    """The same JSON value: true is not 1."""

    value: object


@dataclass(frozen=True, slots=True)
class Contains:
    """A text with this part, or a list with this item."""

    part: str


@dataclass(frozen=True, slots=True)
class Regex:
    """A text in which the regular expression finds something: `search` tells, or None where it was given up."""

    pattern: str
    search: Callable[[str], bool | None] = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of these JSON values."""

    values: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Between:
    """A number within bounds, which belong to it; None is no bound."""

    least: float | None = None
    most: float | None = None


@dataclass(frozen=True, slots=True)
class Exists:
    """Any value at all, or none."""

    wanted: bool = True


@dataclass(frozen=True, slots=True)
class Satisfies:
    """A value for which a Python function says yes."""

    predicate: Callable[[Any], object]


@dataclass(frozen=True, slots=True)
class Not:
    """No value for which the matcher holds."""

    matcher: "Matcher"


@dataclass(frozen=True, slots=True)
class Every:
    """What all of these matchers hold for."""

    matchers: tuple["Matcher", ...]


Matcher = Equals | Contains | Regex | OneOf | Between | Exists | Satisfies | Not | Every


class Criterion(NamedTuple):
    """What one field has to be. `path` leads into it: a header by its name, a value in the body by its place."""

    field: str
    matcher: Matcher
    path: Path = ()

    @property
    def label(self) -> str:
        """The field as people write it: `model`, `headers.x-trace`, `body.messages[0].content`."""
        steps = "".join(
            f".{step}" if isinstance(step, str) else f"[{'*' if step is None else step}]" for step in self.path
        )
        return self.field + steps


class Criteria(NamedTuple):
    """What a request has to be: all `criteria`, all of `all`, one of `any` (where there are some), none of `none`."""

    criteria: tuple[Criterion, ...] = ()
    all: tuple["Criteria", ...] = ()
    any: tuple["Criteria", ...] = ()
    none: tuple["Criteria", ...] = ()


# What every request is.
ANYTHING = Criteria()


class Facts(Protocol):
    """What is known of a request."""

    def values(self, field: str, path: Path) -> Sequence[object]:
        """The values of a field: none where it has none."""


class Difference(NamedTuple):
    """Where a request is not as it was wanted: the field, what was wanted of it, and what came."""

    field: str
    wanted: str
    found: str

    def __str__(self) -> str:
        return f"{self.field}: wanted {self.wanted}, came {self.found}"


def matches(criteria: Criteria, facts: Facts) -> bool:
    """Whether a request is known to be as it was wanted."""
    return decided(criteria, facts) is True


def decided(criteria: Criteria, facts: Facts) -> bool | None:
    """Whether a request is as it was wanted; None where a search that was given up would have to tell."""
    return _conjunction(_decisions(criteria, facts))


def differences(criteria: Criteria, facts: Facts) -> tuple[Difference, ...]:
    """Where a request differs from what was wanted; nowhere when it matches.

    Of alternatives the one that comes nearest is told.
    """
    return (
        *_differences_of(criteria.criteria, facts),
        *(difference for each in criteria.all for difference in differences(each, facts)),
        *_nearest(criteria.any, facts),
        *_unwanted(criteria.none, facts),
    )


def distance(criteria: Criteria, facts: Facts) -> int:
    """In how many places a request differs from what was wanted."""
    count = 0
    for criterion in criteria.criteria:
        count += not _decided(criterion, facts)
    for each in criteria.all:
        count += distance(each, facts)
    if criteria.any:
        count += min(distance(each, facts) for each in criteria.any)
    for each in criteria.none:
        count += decided(each, facts) is not False
    return count


def holds(matcher: Matcher, values: Sequence[object]) -> bool | None:
    """Whether a matcher holds for the values of a field; None where a search that was given up would have to tell."""
    fits = _FITS.get(type(matcher))
    if fits is None:
        return _HOLDS[type(matcher)](matcher, values)
    return any(fits(matcher, value) for value in values)


def said_outright(criteria: Criteria, field: str) -> Iterator[object]:
    """The values that a field is to be equal to, wherever in the criteria that is said."""
    for each in criteria.criteria:
        if each.field == field:
            yield from equal_to(each.matcher)
    for inner in (*criteria.all, *criteria.any, *criteria.none):
        yield from said_outright(inner, field)


def strange_name(criteria: Criteria, operations: Mapping[str, Iterable[str]]) -> str | None:
    """What to say of a match on a dialect or an operation that does not exist; None where it names none.

    `operations` are the names of a dialect's operations, by its name.
    """
    every = dict.fromkeys(name for each in operations.values() for name in each)
    known = {"dialect": [*operations], "operation": [*every]}
    for where, names in known.items():
        for name in said_outright(criteria, where):
            if name not in names:
                return f"match.{where}: {unknown('name', name, names)}"
    return None


def equal_to(matcher: Matcher) -> Sequence[object]:
    """The values of which one is wanted outright."""
    if isinstance(matcher, Equals):
        return (matcher.value,)
    return matcher.values if isinstance(matcher, OneOf) else ()


def in_words(criteria: Criteria) -> str:
    """Criteria in a line for people."""
    parts = [f"{each.label} {wanted(each.matcher)}" for each in criteria.criteria]
    parts += [f"({in_words(each)})" for each in criteria.all]
    parts += [f"({' or '.join(map(in_words, criteria.any))})"] if criteria.any else []
    parts += [f"not ({in_words(each)})" for each in criteria.none]
    return " and ".join(parts) or "anything"


def wanted(matcher: Matcher) -> str:
    """What a matcher wants, for people."""
    return _WANTS[type(matcher)](matcher)


def _decided(criterion: Criterion, facts: Facts) -> bool | None:
    return holds(criterion.matcher, facts.values(criterion.field, criterion.path))


def _decisions(criteria: Criteria, facts: Facts) -> Iterator[bool | None]:
    """What is known of each part of criteria."""
    for criterion in criteria.criteria:
        yield _decided(criterion, facts)
    for each in criteria.all:
        yield decided(each, facts)
    if criteria.any:
        yield _contrary(_conjunction(_contrary(decided(each, facts)) for each in criteria.any))
    for each in criteria.none:
        yield _contrary(decided(each, facts))


def _conjunction(decisions: Iterable[bool | None]) -> bool | None:
    """Whether all hold: not where one does not, and else nobody knows where one is not known."""
    known: bool | None = True
    for decision in decisions:
        if decision is False:
            return False
        known = known and decision
    return known


def _contrary(decision: bool | None) -> bool | None:
    return None if decision is None else not decision


def _finds(matcher: Regex, values: Sequence[object]) -> bool | None:
    """Whether a pattern finds something in any of the values. The first search that is given up is the last one."""
    for value in values:
        found = matcher.search(value) if isinstance(value, str) else False
        if found is not False:
            return found
    return False


def _differences_of(criteria: Sequence[Criterion], facts: Facts) -> Iterator[Difference]:
    for criterion in criteria:
        decision = _decided(criterion, facts)
        if not decision:
            values = facts.values(criterion.field, criterion.path)
            found = ", ".join(map(_shown, values[:8])) or "nothing"
            yield Difference(
                criterion.label, wanted(criterion.matcher), found if decision is False else _unknown(found)
            )


def _unknown(found: str) -> str:
    return f"{found}: {GIVEN_UP}, so this does not count as met"


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
            yield Difference("not", f"not {in_words(each)}", "just that" if decision else _unknown("what may be that"))


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _TOLD else f"{text[:_TOLD]}... ({len(text)} characters)"


def _has_part(matcher: Contains, value: object) -> bool:
    return matcher.part in value if isinstance(value, str | list | tuple) else False


def _is_within(matcher: Between, value: object) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return (matcher.least is None or matcher.least <= value) and (matcher.most is None or value <= matcher.most)


# Matchers that look at one value after the other.
_FITS: Mapping[type, Callable[[Any, Any], bool]] = {
    Equals: lambda matcher, value: same(matcher.value, value),
    Contains: _has_part,
    OneOf: lambda matcher, value: among(value, matcher.values),
    Between: _is_within,
    Satisfies: lambda matcher, value: bool(matcher.predicate(value)),
}

# Those that look at all values of a field together.
_HOLDS: Mapping[type, Callable[[Any, Sequence[object]], bool | None]] = {
    Regex: _finds,
    Exists: lambda matcher, values: bool(values) == matcher.wanted,
    Not: lambda matcher, values: _contrary(holds(matcher.matcher, values)),
    Every: lambda matcher, values: _conjunction(holds(each, values) for each in matcher.matchers),
}

_WANTS: dict[type, Callable[[Any], str]] = {
    Equals: lambda matcher: _shown(matcher.value),
    Contains: lambda matcher: f"with {_shown(matcher.part)} in it",
    Regex: lambda matcher: f"like /{matcher.pattern}/",
    OneOf: lambda matcher: f"one of {', '.join(map(_shown, matcher.values))}",
    Between: lambda matcher: " and ".join(
        f"{word} {bound:g}"
        for word, bound in (("at least", matcher.least), ("at most", matcher.most))
        if bound is not None
    ),
    Exists: lambda matcher: "anything" if matcher.wanted else "nothing",
    Satisfies: lambda matcher: f"what {getattr(matcher.predicate, '__name__', 'a predicate')}() accepts",
    Not: lambda matcher: f"not {wanted(matcher.matcher)}",
    Every: lambda matcher: " and ".join(map(wanted, matcher.matchers)),
}

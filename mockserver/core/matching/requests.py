"""Matching requests: what is required of one, whether it meets that, and if not, where it differs.

    match = { dialect = "yandex", last_user = { contains = "weather" }, turn = 1 }
    match = { body = { "$.temperature" = 0 }, headers = { x-tenant = { regex = "^a" } } }
    match = { path = "/v1/models", query = { limit = "20" } }
    match = { any = [ { model = "a" }, { model = "b" } ], not = { stream = true } }

This is the notation of the `match` of stubs, of faults and of checks. Each field (FIELDS) has a matcher (`values.py`).
A mistake raises `CriteriaError`, which names the field.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, Protocol

from mockserver.core.dialects import Dialect
from mockserver.core.json_values import Path, read_path, step_text
from mockserver.core.matching.values import (
    CriteriaError,
    Decision,
    ValueMatcher,
    conjunction,
    disjunction,
    negation,
    read_matcher,
)
from mockserver.core.messages import short_repr, unknown_name
from mockserver.core.regexes import TIME_BUDGET

# Why a decision is None.
GIVEN_UP = f"the regular expression took too long (a request's searches have {TIME_BUDGET:g} s in all)"
# How deeply a match may be nested.
_DEEPEST = 20


class Field(NamedTuple):
    """A field of a request: the type of its values, and what it is."""

    type: type
    summary: str


FIELDS: Mapping[str, Field] = {
    "dialect": Field(str, "the dialect's name"),
    "operation": Field(str, "the operation's name, as in `mockserver routes`"),
    "path": Field(str, "the dialect's own path, or that of a route of your own; `/v1/models/{id}` is any of them"),
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
# The tables of a match by header, by parameter, and by place in the body: an example of each, the type of its values,
# and what reads its keys as paths.
WITHIN: Mapping[str, tuple[str, type, Callable[[str], Path]]] = {
    "headers": ('{ x-tenant = "a" }', str, lambda name: (name.lower(),)),
    "query": ('{ limit = "20" }', str, lambda name: (name,)),
    "body": ('{ "$.temperature" = 0 }', object, read_path),
}
# The keys of a match that are no fields: those, and tables that are matches themselves.
COMPOUND = (*WITHIN, "any", "all", "not")


class FieldMatcher(NamedTuple):
    """What is required of one field. `path` leads into it: the name of a header or parameter, the place of a
    value in the body."""

    field: str
    matcher: ValueMatcher
    path: Path = ()

    @property
    def label(self) -> str:
        """The field as people write it: `model`, `headers.x-trace`, `body.messages[0].content`."""
        return self.field + "".join(map(step_text, self.path))


class RequestMatcher(NamedTuple):
    """What is required of a request: all `fields`, one of each group in `any`, and none of `none`."""

    fields: tuple[FieldMatcher, ...] = ()
    any: tuple[tuple["RequestMatcher", ...], ...] = ()
    none: tuple["RequestMatcher", ...] = ()


# Every request meets this.
ANYTHING = RequestMatcher()


class Facts(Protocol):
    """What is known of a request."""

    def values(self, field: str, path: Path) -> Sequence[object]:
        """The values of a field; empty if the request has no such field."""


class Mismatch(NamedTuple):
    """Where a request fails a match: the field, what was wanted of it, and what was found."""

    field: str
    wanted: str
    found: str

    def __str__(self) -> str:
        return f"{self.field}: expected {self.wanted}, found {self.found}"


def read_criteria(table: object, place: str = "match", depth: int = 0) -> RequestMatcher:
    """Read a match from a table, which errors call `place`. Raises CriteriaError."""
    if not isinstance(table, Mapping):
        raise CriteriaError(f'{place}: must be a table, such as {{ last_user = {{ contains = "weather" }} }}')
    if depth > _DEEPEST:
        raise CriteriaError(f"{place}: is nested too deeply")
    fields: list[FieldMatcher] = []
    for key, value in table.items():
        where = f"{place}.{key}"
        if key in FIELDS:
            fields.append(FieldMatcher(key, read_matcher(value, where, FIELDS[key].type)))
        elif key in WITHIN:
            fields += _within(value, where, key)
        elif key not in COMPOUND:
            raise CriteriaError(f"{place}: {unknown_name('field', key, (*FIELDS, *COMPOUND))}")
    every, alternatives, unwanted = (_several(table, key, place, depth) for key in ("all", "any", "not"))
    return all_of(RequestMatcher(tuple(fields), (alternatives,) if alternatives else (), unwanted), *every)


def all_of(*criteria: RequestMatcher) -> RequestMatcher:
    """What several matchers require together."""
    return RequestMatcher(*(tuple(chain.from_iterable(parts)) for parts in zip(*criteria, strict=True)))


def _within(table: object, place: str, field: str) -> Iterator[FieldMatcher]:
    example, type, read = WITHIN[field]
    if not isinstance(table, Mapping):
        raise CriteriaError(f"{place}: must be a table, such as {example}")
    for name, value in table.items():
        try:
            path = read(str(name))
        except ValueError as error:
            raise CriteriaError(f"{place}: {error}") from None
        yield FieldMatcher(field, read_matcher(value, f"{place}.{name}", type), path)


def _several(table: Mapping[str, Any], key: str, place: str, depth: int) -> tuple[RequestMatcher, ...]:
    """The matches under `any`, `all` or `not`: a list of tables, or a single one."""
    if key not in table:
        return ()
    value, where = table[key], f"{place}.{key}"
    tables = value if isinstance(value, list | tuple) else [value]
    if not tables:
        raise CriteriaError(f'{where}: is empty; use a list of tables, such as [{{ model = "a" }}]')
    return tuple(read_criteria(each, f"{where}[{number}]", depth + 1) for number, each in enumerate(tables))


def matches(criteria: RequestMatcher, facts: Facts) -> bool:
    """Whether a request is known to meet its criteria."""
    return decided(criteria, facts) is True


def decided(criteria: RequestMatcher, facts: Facts) -> Decision:
    """Whether a request meets its criteria; None if that depends on a search that was given up."""
    known: Decision = True
    # A loop for what most criteria fail first: a server may have a thousand stubs.
    for field, matcher, path in criteria.fields:
        decision = matcher.holds(facts.values(field, path))
        if decision is False:
            return False
        known = known and decision
    if not (criteria.any or criteria.none):
        return known
    alternatives = (disjunction(decided(each, facts) for each in group) for group in criteria.any)
    unwanted = (negation(decided(each, facts)) for each in criteria.none)
    return conjunction(chain((known,), alternatives, unwanted))


def mismatches(criteria: RequestMatcher, facts: Facts) -> tuple[Mismatch, ...]:
    """Where a request fails its criteria; empty if it meets them.

    Of several alternatives (`any`) only the nearest is reported.
    """
    return tuple(_mismatches(criteria, facts))


def _mismatches(criteria: RequestMatcher, facts: Facts) -> Iterator[Mismatch]:
    for each in criteria.fields:
        values = facts.values(each.field, each.path)
        decision = each.matcher.holds(values)
        if not decision:
            found = ", ".join(map(short_repr, values[:8])) or "nothing"
            yield Mismatch(each.label, each.matcher.wanted, found if decision is False else _unknown(found))
    for group in criteria.any:
        distances = [distance(alternative, facts) for alternative in group]
        if all(distances):
            place = distances.index(min(distances))
            for mismatch in _mismatches(group[place], facts):
                yield mismatch._replace(field=f"any[{place}].{mismatch.field}")
    for unwanted in criteria.none:
        decision = decided(unwanted, facts)
        if decision is not False:
            found = "just that" if decision else _unknown("something that may match")
            yield Mismatch("not", f"not {in_words(unwanted)}", found)


def _unknown(found: str) -> str:
    return f"{found}; {GIVEN_UP}, so this counts as not met"


def parts_of(criteria: RequestMatcher) -> Iterator[RequestMatcher]:
    """The parts of criteria, each of which a request must meet: their mismatches are those of the whole."""
    yield from (RequestMatcher((each,)) for each in criteria.fields)
    yield from (RequestMatcher(any=(group,)) for group in criteria.any)
    yield from (RequestMatcher(none=(each,)) for each in criteria.none)


def distance(criteria: RequestMatcher, facts: Facts) -> int:
    """In how many places a request fails its criteria."""
    count = 0
    for field, matcher, path in criteria.fields:
        count += not matcher.holds(facts.values(field, path))
    for group in criteria.any:
        count += min(distance(each, facts) for each in group)
    for each in criteria.none:
        count += decided(each, facts) is not False
    return count


def unknown_name_in(criteria: RequestMatcher, dialects: Mapping[str, Dialect]) -> str | None:
    """The error message for a dialect or operation in a match that does not exist; None if all of them do."""
    for name in literal_values(criteria, "dialect"):
        if name not in dialects:
            return f"match.dialect: {unknown_name('dialect', name, dialects)}"
    for name in literal_values(criteria, "operation"):
        operations = dict.fromkeys(operation.name for dialect in dialects.values() for operation in dialect.operations)
        if name not in operations:
            return f"match.operation: {unknown_name('operation', name, operations)}"
    return None


def constrains(criteria: RequestMatcher, field: str) -> bool:
    """Whether criteria require something of a field, whichever of their alternatives a request meets."""
    return any(each.field == field for each in criteria.fields) or any(
        all(constrains(each, field) for each in group) for group in criteria.any
    )


def only(criteria: RequestMatcher, fields: Collection[str]) -> RequestMatcher:
    """What criteria require of some fields."""
    return RequestMatcher(
        tuple(each for each in criteria.fields if each.field in fields),
        tuple(tuple(only(each, fields) for each in group) for group in criteria.any),
    )


def fields_in(criteria: RequestMatcher, *, unwanted: bool = True) -> Iterator[FieldMatcher]:
    """The fields in criteria with their alternatives, and unless left out, in what a request must not be."""
    yield from criteria.fields
    for inner in chain(*criteria.any, criteria.none if unwanted else ()):
        yield from fields_in(inner, unwanted=unwanted)


def literal_values(criteria: RequestMatcher, field: str) -> Iterator[object]:
    """The values to which a field is compared for equality, anywhere in the criteria."""
    return chain.from_iterable(each.matcher.equal_to for each in fields_in(criteria) if each.field == field)


def in_words(criteria: RequestMatcher) -> str:
    """The criteria in one line, for people."""
    parts = [f"{each.label} {each.matcher.wanted}" for each in criteria.fields]
    parts += [f"({' or '.join(map(in_words, group))})" for group in criteria.any]
    parts += [f"not ({in_words(each)})" for each in criteria.none]
    return " and ".join(parts) or "anything"


def group_names(criteria: RequestMatcher) -> tuple[str, ...]:
    """The names of all groups, as in `(?P<city>\\w+)`, that a request may meet."""
    matchers = (each.matcher for each in fields_in(criteria, unwanted=False))
    return tuple(dict.fromkeys(name for matcher in matchers for regex in matcher.regexes for name in regex.group_names))


def groups_of(criteria: RequestMatcher, facts: Facts) -> Mapping[str, str]:
    """What the named groups have found in a request; of equal names the first that has found anything counts."""
    found: dict[str, str] = {}
    for each in fields_in(criteria, unwanted=False):
        for regex in each.matcher.regexes:
            if regex.group_names:
                for value in facts.values(each.field, each.path):
                    groups = regex.groups(value) if isinstance(value, str) else {}
                    found = {**groups, **found}
    return found

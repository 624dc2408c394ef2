"""The notation of criteria: the `match` table of stubs and of faults.

    match = { dialect = "yandex", last_user = { contains = "weather" }, turn = 1 }
    match = { body = { "$.temperature" = 0 }, headers = { x-tenant = { regex = "^a" } } }
    match = { any = [ { model = "a" }, { model = "b" } ], not = { stream = true } }

Each field (`criteria.FIELDS`) has a matcher: a value that it must equal, or a table of `equals`, `contains`, `regex`,
`one_of`, `at_least`, `at_most`, `exists`, `not`, all of which must hold. In Python a function is a matcher too. A
mistake raises `CriteriaError`, which names the field.
"""

from collections.abc import Callable, Mapping
from typing import Any

from mockserver.core.criteria import COMPOUND, FIELDS, Criteria, CriteriaError, Criterion
from mockserver.core.json_paths import read_path
from mockserver.core.matchers import (
    Between,
    Contains,
    Equals,
    Every,
    Exists,
    Matcher,
    Not,
    OneOf,
    Regex,
    Satisfies,
)
from mockserver.core.naming import shortened, unknown
from mockserver.core.regexes import RegexError, read_regex

# How deeply criteria may be nested.
_DEEPEST = 20
_NAMES = {str: "a string", bool: "true or false", int: "a whole number"}


def read_criteria(table: object, place: str = "match", depth: int = 0) -> Criteria:
    """Read criteria from a table, which errors call `place`. Raises CriteriaError."""
    if not isinstance(table, Mapping):
        raise CriteriaError(f'{place}: must be a table, such as {{ last_user = {{ contains = "weather" }} }}')
    if depth > _DEEPEST:
        raise CriteriaError(f"{place}: is nested too deeply")
    criteria: list[Criterion] = []
    for key, value in table.items():
        where = f"{place}.{key}"
        if key in FIELDS:
            criteria.append(Criterion(key, read_matcher(value, where, FIELDS[key].type)))
        elif key == "headers":
            criteria += _within(value, where, str, lambda name: (name.lower(),), key)
        elif key == "body":
            criteria += _within(value, where, object, read_path, key)
        elif key not in COMPOUND:
            raise CriteriaError(f"{place}: {unknown('field', key, (*FIELDS, *COMPOUND))}")
    return Criteria(
        tuple(criteria),
        all=_several(table, "all", place, depth),
        any=_several(table, "any", place, depth),
        none=_several(table, "not", place, depth),
    )


def read_matcher(value: object, place: str, type: type = object) -> Matcher:
    """Read the matcher of a field of a type, from a value, a table or a function. Raises CriteriaError."""
    if isinstance(value, Matcher):
        return value
    if callable(value):
        return Satisfies(value)
    if isinstance(value, Mapping):
        if not value:
            raise CriteriaError(f"{place}: is empty; use one of {', '.join(MATCHERS)}")
        matchers = tuple(_read_word(word, inner, place, type) for word, inner in value.items())
        return matchers[0] if len(matchers) == 1 else Every(matchers)
    if isinstance(value, list | tuple):
        raise CriteriaError(f"{place}: for a list use {{ one_of = [...] }}, or {{ equals = [...] }}")
    return Equals(_typed(value, place, type))


def _within(
    table: object, place: str, type: type, read: Callable[[str], tuple[Any, ...]], field: str
) -> list[Criterion]:
    if not isinstance(table, Mapping):
        example = '{ x-tenant = "a" }' if field == "headers" else '{ "$.temperature" = 0 }'
        raise CriteriaError(f"{place}: must be a table, such as {example}")
    found = []
    for name, value in table.items():
        try:
            path = read(str(name))
        except ValueError as error:
            raise CriteriaError(f"{place}: {error}") from None
        found.append(Criterion(field, read_matcher(value, f"{place}.{name}", type), path))
    return found


def _several(table: Mapping[str, Any], key: str, place: str, depth: int) -> tuple[Criteria, ...]:
    """The criteria under `any`, `all` or `not`: a list of tables, or a single one."""
    if key not in table:
        return ()
    value, where = table[key], f"{place}.{key}"
    tables = value if isinstance(value, list | tuple) else [value]
    if not tables:
        raise CriteriaError(f'{where}: is empty; use a list of tables, such as [{{ model = "a" }}]')
    return tuple(read_criteria(each, f"{where}[{number}]", depth + 1) for number, each in enumerate(tables))


def _read_word(word: str, value: object, place: str, type: type) -> Matcher:
    read = MATCHERS.get(word)
    if read is None:
        raise CriteriaError(f"{place}: {unknown('matcher', word, MATCHERS)}")
    return read(value, f"{place}.{word}", type)


def _equals(value: object, place: str, type: type) -> Matcher:
    return Equals(_typed(value, place, type))


def _contains(value: object, place: str, type: type) -> Matcher:
    return Contains(_text(value, place, type))


def _regex(value: object, place: str, type: type) -> Matcher:
    text = _text(value, place, type)
    try:
        return Regex(text, read_regex(text))
    except RegexError as error:
        raise CriteriaError(f"{place}: {shortened(text)} is not a valid regular expression: {error}") from None


def _one_of(value: object, place: str, type: type) -> Matcher:
    if not isinstance(value, list | tuple) or not value:
        raise CriteriaError(f"{place}: must be a list of values")
    return OneOf(tuple(_typed(item, place, type) for item in value))


def _bound(name: str) -> Callable[[object, str, type], Matcher]:
    def read(value: object, place: str, type: type) -> Matcher:
        if type in (str, bool) or isinstance(value, bool) or not isinstance(value, int | float):
            raise CriteriaError(f"{place}: must be a number, and so must the field")
        return Between(**{name: value})

    return read


def _exists(value: object, place: str, type: type) -> Matcher:
    if not isinstance(value, bool):
        raise CriteriaError(f"{place}: must be true or false")
    return Exists(value)


def _not(value: object, place: str, type: type) -> Matcher:
    return Not(read_matcher(value, place, type))


MATCHERS: Mapping[str, Callable[[object, str, type], Matcher]] = {
    "equals": _equals,
    "contains": _contains,
    "regex": _regex,
    "one_of": _one_of,
    "at_least": _bound("least"),
    "at_most": _bound("most"),
    "exists": _exists,
    "not": _not,
}


def _text(value: object, place: str, type: type) -> str:
    if type not in (str, object):
        raise CriteriaError(f"{place}: matches strings, but this field is {_NAMES[type]}")
    if not isinstance(value, str):
        raise CriteriaError(f"{place}: {shortened(value)} is not a string")
    return value


def _typed(value: object, place: str, type: type) -> object:
    """The value. Raises CriteriaError if no field of that type could have it."""
    right = isinstance(value, type) and (type is not int or not isinstance(value, bool))
    if not right:
        raise CriteriaError(f"{place}: {shortened(value)} is not {_NAMES.get(type, 'a value')}")
    return value

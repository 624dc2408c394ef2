"""`response_format` and its patterns: the constraint on an answer, or why it is refused."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import orjson

from mockserver.core.dialects import Edition
from mockserver.core.failures import Violation
from mockserver.core.generation import Constraint
from mockserver.core.json_values import is_shallow
from mockserver.model.schema import (
    InvalidSchemaError,
    SchemaLimitError,
    UnsatisfiableSchemaError,
    check_schema,
    is_recursive,
)

# The pieces of a pattern with a meaning of their own: an escape, a whole class, a lookaround, an anchor.
_PIECE = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*+\]?|\(\?<?[=!]|[\^$]", re.DOTALL)
_UNICODE_ESCAPE = re.compile(r"\\[NpP]")
# "Lookaheads/lookbehinds (e.g., `\a`, `\z`, `^`, `$`, `(?=)`, `(?!)`, `(?<=...)`, `(?<!...)`) are not supported."
_LOOKS = {"^", "$", r"\A", r"\a", r"\Z", r"\z", "(?=", "(?!", "(?<=", "(?<!"}


@lru_cache(maxsize=256)
def fault_of(pattern: str) -> str:
    """Why the vendor refuses a pattern; empty if it accepts it."""
    # Imported with the first pattern: most servers never see one.
    from mockserver.model.regex import PatternError, fault_in, read_pattern

    pieces = _PIECE.findall(pattern)
    if _LOOKS.intersection(pieces):
        return "lookaheads, lookbehinds and anchors are not supported in a regex"
    # "Unicode escape patterns (e.g., `\N`, `\p`, `\P`) are not supported."
    if any(_UNICODE_ESCAPE.search(piece) for piece in pieces):
        return "Unicode escape patterns are not supported in a regex"
    try:
        read_pattern(pattern)
    except PatternError:
        return "schema is not a valid regular expression"
    return "no text that could be generated matches the regex" if fault_in(pattern) else ""


# --- json schemas ----------------------------------------------------------------------------------------------------

Schema = Mapping[str, Any]

# The keywords that contain schemas: by name, in a list, or a single one.
_NAMED = ("properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions")
_LISTED = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE = (
    "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedItems",
    "unevaluatedProperties",
)  # fmt: skip

# Our own wording of what the service refuses: see `has_several_branches`.
BRANCHES = "oneOf with several branches is not supported"


def as_obeyed(schema: Any) -> Any:
    """The schema as the service obeys it: "`additionalProperties` ignored (false)", unless that is unsatisfiable."""
    closed = _closed(schema)
    return schema if fault_of_schema(closed) else closed


def _closed(schema: Any) -> Any:
    """The schema with objects that have no other properties than those that it names."""
    if not isinstance(schema, dict):
        return schema
    made = {key: _each_closed(key, value) for key, value in schema.items()}
    return made | {"additionalProperties": False} if made.get("additionalProperties") else made


def _each_closed(key: str, value: Any) -> Any:
    if key in _NAMED and isinstance(value, dict):
        return {name: _closed(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_closed(part) for part in value] if key in (*_LISTED, "items") else value
    return _closed(value) if key in _SINGLE else value


def fault_of_schema(value: object) -> str:
    """Why a value is not a JSON Schema, or not a satisfiable one; empty if it is."""
    if not isinstance(value, dict) or not is_shallow(value):
        return "schema is not a JSON schema"
    try:
        check_schema(value)
    except SchemaLimitError as error:
        return f"schema is too complex: {error}"
    except InvalidSchemaError:
        return "schema is not a JSON schema"
    except UnsatisfiableSchemaError:
        return "nothing can satisfy the schema"
    return ""


def opens_with_an_optional_property(schema: Schema) -> bool:
    """Whether the first property of any object in the schema is optional."""
    return any(_first_is_optional(part) for part in _parts(schema))


def has_several_branches(schema: object) -> bool:
    """Whether any part of the schema has a `oneOf` of several branches.

    The service refuses it, as the vendor's own tools and a gateway for coding agents note; none of them quotes it.
    """
    return any(isinstance(branches := part.get("oneOf"), list) and len(branches) > 1 for part in _parts(schema))


def _first_is_optional(schema: Schema) -> bool:
    # A definition to which nothing refers is not checked, and may hold anything.
    properties, required = schema.get("properties"), schema.get("required", [])
    first = next(iter(properties), None) if isinstance(properties, dict) else None
    return first is not None and isinstance(required, list) and first not in required


def _parts(schema: object) -> Iterator[Schema]:
    """A schema and all its subschemas; references are not followed."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            yield part
            waiting += _held(part)


def _held(schema: Schema) -> Iterable[object]:
    for key in _NAMED:
        named = schema.get(key)
        yield from named.values() if isinstance(named, dict) else ()
    for key in _LISTED:
        listed = schema.get(key)
        yield from listed if isinstance(listed, list) else ()
    for key in _SINGLE:
        held = schema.get(key, ())
        # Before draft 2020-12 `items` was a list for a tuple.
        yield from held if isinstance(held, list) else [held]


# --- formats ---------------------------------------------------------------------------------------------------------

_SCHEMA = ("response_format", "schema")
_JSON_SCHEMA = ("response_format", "json_schema", "schema")
# A schema without any of these keywords allows any value.
_SHAPING = frozenset(
    ("type", "enum", "const", "$ref", "$dynamicRef", "anyOf", "oneOf", "allOf", "not", "if", "properties", "required")
)
# Schemas are sent again and again; longer ones are not worth caching.
_LONGEST_REMEMBERED = 16_384


def constraint(body: Mapping[str, Any], edition: Edition) -> Constraint | None:
    """The constraint that a valid body puts on its answer; None if any text will do."""
    wanted = body.get("response_format") or {}
    kind, written = wanted.get("type", "text"), wanted.get("schema")
    if kind == "text":
        return None
    if kind == "regex":
        return Constraint("regex", written)
    if kind == "json_schema":
        return Constraint("json_schema", as_obeyed(wanted["json_schema"]["schema"]))
    if edition == "observed" or written is None:
        return Constraint("json_object")
    schema = orjson.loads(written)
    if not schema.keys() & _SHAPING:
        # A schema that allows any value still means an object, by the name of the format.
        return Constraint("json_object")
    # "All properties of { "type": "object" } are generated regardless of whether they are listed in [...] `required`."
    return Constraint("json_complete", schema)


def documented_format(body: Mapping[str, Any]) -> Iterator[Violation]:
    """What the page forbids in a format."""
    wanted = body.get("response_format") or {}
    kind, written = wanted.get("type"), wanted.get("schema")
    if kind == "regex":
        yield from _pattern(written)
    if kind == "json_object" and written is not None:
        yield from _serialized(written)


def observed_format(body: Mapping[str, Any]) -> Iterator[Violation]:
    """What the service forbids in a format."""
    wanted = body.get("response_format") or {}
    kind = wanted.get("type")
    if kind == "regex":
        yield from _pattern(wanted["schema"])
    if kind == "json_schema":
        yield from _schema(wanted["json_schema"]["schema"])


def _pattern(pattern: Any) -> Iterator[Violation]:
    fault = fault_of(pattern)
    if fault:
        yield Violation(_SCHEMA, "conflict", fault)


def _serialized(written: str) -> Iterator[Violation]:
    violation = (_remembered_fault if len(written) <= _LONGEST_REMEMBERED else _serialized_fault)(written)
    if violation is not None:
        yield violation


def _serialized_fault(written: str) -> Violation | None:
    # "For { "type": "json_object" }, schema should be a serialized string of JSON schema."
    try:
        schema = orjson.loads(written)
    except orjson.JSONDecodeError:
        return Violation(_SCHEMA, "json", "Invalid JSON, schema should be a serialized JSON schema")
    fault = fault_of_schema(schema)
    if not fault and is_recursive(schema):
        # "Recursive definitions are not supported."
        fault = "recursive definitions are not supported in a schema"
    return Violation(_SCHEMA, "conflict", fault) if fault else None


_remembered_fault = lru_cache(maxsize=256)(_serialized_fault)


def _schema(schema: object) -> Iterator[Violation]:
    fault = fault_of_schema(schema)
    if fault:
        yield Violation(_JSON_SCHEMA, "conflict", fault)
    elif isinstance(schema, dict) and opens_with_an_optional_property(schema):
        # The guide to structured outputs demands that the first property of an object be required.
        yield Violation(_JSON_SCHEMA, "conflict", "the first property of an object must be required")

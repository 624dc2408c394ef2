"""`response_format`: the format that an answer must have, as each edition writes and restricts it."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import orjson

from mockserver.core.dialects import Edition
from mockserver.core.failures import Violation
from mockserver.core.generation import Constraint
from mockserver.dialects.friendli.json_schemas import (
    as_obeyed,
    fault_of_schema,
    opens_with_an_optional_property,
)
from mockserver.dialects.friendli.patterns import fault_of
from mockserver.model.schema import is_recursive

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

"""`response_format`: the form that an answer must have, as each edition writes and limits it."""

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from mockserver.core.dialects import Edition
from mockserver.core.failures import Violation
from mockserver.core.generation import Constraint
from mockserver.dialects.friendli.json_schemas import fault_of_schema, is_recursive, opens_with_an_optional_property
from mockserver.dialects.friendli.patterns import fault_of

_SCHEMA = ("response_format", "schema")
_JSON_SCHEMA = ("response_format", "json_schema", "schema")


def constraint(body: Mapping[str, Any], edition: Edition) -> Constraint | None:
    """What a valid body demands of its answer; None where any text will do."""
    wanted = body.get("response_format") or {}
    kind, written = wanted.get("type", "text"), wanted.get("schema")
    if kind == "text":
        return None
    if kind == "regex":
        return Constraint("regex", written)
    if kind == "json_schema":
        return Constraint("json_schema", wanted["json_schema"]["schema"])
    if edition == "observed" or written is None:
        return Constraint("json_object")
    # "All properties of { "type": "object" } are generated regardless of whether they are listed in [...] `required`."
    return Constraint("json_complete", orjson.loads(written))


def documented_format(body: Mapping[str, Any]) -> Iterator[Violation]:
    """What the page forbids in a form."""
    wanted = body.get("response_format") or {}
    kind, written = wanted.get("type"), wanted.get("schema")
    if kind == "regex":
        yield from _pattern(written)
    if kind == "json_object" and written is not None:
        yield from _serialized(written)


def observed_format(body: Mapping[str, Any]) -> Iterator[Violation]:
    """What the service forbids in a form."""
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
    # "For { "type": "json_object" }, schema should be a serialized string of JSON schema."
    try:
        schema = orjson.loads(written)
    except orjson.JSONDecodeError:
        yield Violation(_SCHEMA, "json", "Invalid JSON, schema should be a serialized JSON schema")
        return
    fault = fault_of_schema(schema)
    if fault:
        yield Violation(_SCHEMA, "conflict", fault)
    elif is_recursive(schema):
        # "Recursive definitions are not supported."
        yield Violation(_SCHEMA, "conflict", "recursive definitions are not supported in a schema")


def _schema(schema: object) -> Iterator[Violation]:
    fault = fault_of_schema(schema)
    if fault:
        yield Violation(_JSON_SCHEMA, "conflict", fault)
    elif isinstance(schema, dict) and opens_with_an_optional_property(schema):
        # The guide to structured outputs wants the first property of an object required.
        yield Violation(_JSON_SCHEMA, "conflict", "the first property of an object must be required")

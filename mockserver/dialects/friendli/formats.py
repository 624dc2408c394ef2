"""`response_format` and its patterns: the constraint on an answer, or why it is refused."""

import re
from collections.abc import Mapping
from copy import deepcopy
from functools import lru_cache
from typing import Any

import orjson

from mockserver.core.dialects import Edition
from mockserver.core.failures import Violation
from mockserver.core.generation import Constraint
from mockserver.core.json_values import is_shallow
from mockserver.dialects.friendli.models import traits_of
from mockserver.model.schema import (
    InvalidSchemaError,
    SchemaLimitError,
    UnsatisfiableSchemaError,
    check_schema,
    is_recursive,
    subschemas,
)

# The pieces of a pattern with a meaning of their own: an escape, a whole class, a lookaround, an anchor.
_PIECE = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*+\]?|\(\?<?[=!]|[\^$]", re.DOTALL)
_UNICODE_ESCAPE = re.compile(r"\\[NpP]")
# "Lookaheads/lookbehinds (e.g., `\a`, `\z`, `^`, `$`, `(?=)`, `(?!)`, `(?<=...)`, `(?<!...)`) are not supported."
_LOOKS = {"^", "$", r"\A", r"\a", r"\Z", r"\z", "(?=", "(?!", "(?<=", "(?<!"}


@lru_cache(maxsize=256)
def _fault_of_pattern(pattern: str) -> str:
    """Why the vendor refuses a pattern; empty if it accepts it."""
    # Imported with the first pattern: most servers never see one.
    from mockserver.model.regex import fault_in
    from mockserver.model.regex.sizes import PatternError
    from mockserver.model.regex.syntax import read_pattern

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

# Our own wording of what the service refuses: see `_has_several_branches`.
_BRANCHES = "oneOf with several branches is not supported"


def _obeyed(schema: Any) -> Any:
    """The schema as the service obeys it: "`additionalProperties` ignored (false)", unless that is unsatisfiable."""
    closed: Any = deepcopy(schema)
    part: Any
    for part in subschemas(closed):
        if part.get("additionalProperties"):
            part["additionalProperties"] = False
    return schema if _fault_of_schema(closed) else closed


def _fault_of_schema(value: object) -> str:
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


def _has_several_branches(schema: object) -> bool:
    """Whether any part of the schema has a `oneOf` of several branches.

    The service refuses it, as the vendor's own tools and a gateway for coding agents note; none of them quotes it.
    """
    parts = subschemas(schema) if isinstance(schema, Mapping) else ()
    return any(isinstance(branches := part.get("oneOf"), list) and len(branches) > 1 for part in parts)


# --- formats ---------------------------------------------------------------------------------------------------------

_SCHEMA = ("response_format", "schema")
_JSON_SCHEMA = ("response_format", "json_schema", "schema")
# A schema without any of these keywords allows any value.
_SHAPING = frozenset(
    ("type", "enum", "const", "$ref", "$dynamicRef", "anyOf", "oneOf", "allOf", "not", "if", "properties", "required")
)


def constraint(body: Mapping[str, Any], edition: Edition) -> Constraint | None:
    """The constraint that a valid body puts on its answer; None if any text will do."""
    wanted = body.get("response_format") or {}
    kind, written = wanted.get("type", "text"), wanted.get("schema")
    if kind == "text":
        return None
    if kind == "regex":
        return Constraint("regex", written)
    if kind == "json_schema":
        return Constraint("json_schema", _obeyed(wanted["json_schema"]["schema"]))
    if edition == "observed" or written is None:
        return Constraint("json_object")
    schema = orjson.loads(written)
    if not schema.keys() & _SHAPING:
        # A schema that allows any value still means an object, by the name of the format.
        return Constraint("json_object")
    # "All properties of { "type": "object" } are generated regardless of whether they are listed in [...] `required`."
    return Constraint("json_complete", schema)


def format_violations(body: Mapping[str, Any], edition: Edition) -> list[Violation]:
    """What the page or the service forbids in a format."""
    wanted = body.get("response_format") or {}
    kind, written = wanted.get("type"), wanted.get("schema")
    if kind == "regex":
        fault = _fault_of_pattern(written)
        return [Violation(_SCHEMA, "conflict", fault)] if fault else []
    if kind == "json_object" and written is not None and edition == "documented":
        # "For { "type": "json_object" }, schema should be a serialized string of JSON schema."
        try:
            schema = orjson.loads(written)
        except orjson.JSONDecodeError:
            return [Violation(_SCHEMA, "json", "Invalid JSON, schema should be a serialized JSON schema")]
        fault = _fault_of_schema(schema)
        if not fault and is_recursive(schema):
            # "Recursive definitions are not supported."
            fault = "recursive definitions are not supported in a schema"
        return [Violation(_SCHEMA, "conflict", fault)] if fault else []
    return schema_violations(wanted["json_schema"]["schema"], _JSON_SCHEMA) if kind == "json_schema" else []


def schema_violations(schema: object, place: tuple[str, ...]) -> list[Violation]:
    """What the service forbids in the schema of an answer, which stands at a place of the body."""
    fault = _fault_of_schema(schema)
    for part in subschemas(schema) if isinstance(schema, Mapping) and not fault else ():
        # A definition to which nothing refers is not checked, and may hold anything.
        properties, required = part.get("properties"), part.get("required", [])
        first = next(iter(properties), None) if isinstance(properties, dict) else None
        if first is not None and isinstance(required, list) and first not in required:
            # The guide to structured outputs demands that the first property of an object be required.
            fault = "the first property of an object must be required"
    return [Violation(place, "conflict", fault)] if fault else []


def branch_violations(body: Mapping[str, Any], schema: object, place: tuple[str, ...]) -> list[Violation]:
    """The unions that the vendor's own engine refuses, unlike vLLM: in a tool's parameters, or in the schema of the
    answer, which stands at a place of the body."""
    if traits_of(body.get("model") or "").by_vllm:
        return []
    found = []
    for number, row in enumerate(body.get("tools") or ()):
        function = row.get("function") or (row if row.get("type") == "function" else {})
        if _has_several_branches(function.get("parameters")):
            where = ("tools", number, *(() if function is row else ("function",)), "parameters")
            found.append(Violation(where, "conflict", f"invalid tools: {_BRANCHES}"))
    return [*found, Violation(place, "conflict", _BRANCHES)] if _has_several_branches(schema) else found

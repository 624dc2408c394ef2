"""The refusals of schemas that nothing conforms to, and, in the recorded words, of those that the service does not
support: in formats and in functions."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mockserver.core.dialects import Edition
from mockserver.core.failures import Refusal
from mockserver.dialects.cerebras.errors import refused
from mockserver.dialects.openai.read import Body, parameters_fault
from mockserver.model.schema import compact, schema_fault, subschemas

Schema = Mapping[str, Any]

# Keywords that are forbidden at the top of a format, and everywhere for values of a type.
_NOT_AT_THE_TOP = ("allOf", "items")
_UNSUPPORTED = {
    "string": ("format", "pattern", "minLength", "maxLength"),
    "array": ("minItems", "maxItems", "uniqueItems"),
}
# Any of these says what a value may be, as far as the service looks; `const` alone is a guess.
_TYPES = ("type", "$ref", "anyOf", "const")
# The limits of strict schemas that the vendor's page on structured outputs states; the service's words for them are not
# recorded.
_MOST_CHARACTERS, _MOST_LEVELS, _MOST_PROPERTIES, _MOST_ENUM_VALUES = 5_000, 10, 500, 500
# Keywords that are forbidden at the top of parameters.
_CHOICES = ("oneOf", "anyOf", "enum", "not")


def format_fault(form: Body, edition: Edition) -> Refusal | None:
    """The refusal of a format whose schema is invalid, unsatisfiable, or not supported by the service."""
    written = form["json_schema"] if form["type"] == "json_schema" else {}
    schema, reason = written.get("schema"), None
    if schema is None:
        return None
    if written.get("strict"):
        reason = _unsupported_format(schema) if edition == "observed" else None
        reason = reason or _version_fault(schema)
    if not reason:
        unusable = schema_fault(schema)
        reason = f"No answer could keep to the JSON schema: {unusable}" if unusable else None
    return refused(reason, "response_format") if reason else None


def functions_fault(functions: Sequence[Body], edition: Edition) -> Refusal | None:
    """The refusal of functions whose parameters are such schemas, or of which only some are strict."""
    if edition == "observed" and len({bool(function.get("strict")) for function in functions}) > 1:
        # Recorded.
        return refused(
            "Tools with mixed values for 'strict' are not allowed. "
            "Please set all tools to 'strict: true' or 'strict: false'",
            "tools",
        )
    for place, function in enumerate(functions):
        reason, parameters, strict = None, function.get("parameters"), bool(function.get("strict"))
        if parameters and edition == "observed":
            reason = _unsupported_parameters(parameters, strict=strict)
        if parameters and strict:
            reason = reason or _version_fault(parameters)
        if not reason:
            unusable = parameters_fault(function)
            reason = f"tools.{place}.function.parameters {unusable}" if unusable else None
        if reason:
            return refused(reason, "tools")
    return None


def _unsupported_format(schema: Schema) -> str | None:
    """Why the service refuses the schema of a strict format; None if it accepts it."""
    extra = [word for word in _NOT_AT_THE_TOP if word in schema]
    if extra:
        return f"Extra top level keys found in JSON schema: {_set(extra)}."
    return _size_fault(schema) or _first_fault(schema, (_unnamed, _unsupported_keywords, _open))


def _unsupported_parameters(schema: Schema, *, strict: bool) -> str | None:
    """Why the service refuses the parameters of a function; None if it accepts them."""
    if schema.get("type") != "object" or any(word in schema for word in _CHOICES):
        return "schema must have type 'object' and not have 'oneOf'/'anyOf'/'enum'/'not' at the top level"
    if not strict:
        return _first_fault(schema, (_unnamed,))
    return _size_fault(schema) or _first_fault(schema, (_unnamed, _open))


def _version_fault(schema: Schema) -> str | None:
    """Why a strict schema, of a format or a function, is refused since version 2 of the API; None if it is accepted.

    The vendor's page on versions has the rules: no `definitions`, no `{}`, no `enum` without `type`.
    """
    return _first_fault(schema, (_old_definitions, _untyped))


def _old_definitions(part: Schema) -> str | None:
    return "'definitions' is not supported; use '$defs' for reusable definitions." if "definitions" in part else None


def _untyped(part: Schema) -> str | None:
    """Recorded from May to September 2026 of `{}` and of `oneOf`."""
    named = part.get("properties")
    held = (part.get("items"), *(named.values() if isinstance(named, Mapping) else ()))
    # `true` is `{}` in other words.
    keys = [] if any(each is True for each in held) else [*part]
    if keys and any(word in part for word in _TYPES):
        return None
    return f"Unsupported JSON schema fields in schema with keys: dict_keys({keys})."


def _size_fault(schema: Schema) -> str | None:
    """Which limit a strict schema exceeds: its characters, its levels of objects, its properties, its enum values."""
    characters = len(compact(schema))
    if characters > _MOST_CHARACTERS:
        return f"Schema exceeds the maximum length of {_MOST_CHARACTERS} characters."
    parts = tuple(subschemas(schema))
    named = (part.get("properties") for part in parts)
    if sum(len(properties) for properties in named if isinstance(properties, Mapping)) > _MOST_PROPERTIES:
        return f"Schema exceeds the maximum of {_MOST_PROPERTIES} object properties."
    listed = (part.get("enum") for part in parts)
    if sum(len(values) for values in listed if isinstance(values, list)) > _MOST_ENUM_VALUES:
        return f"Schema exceeds the maximum of {_MOST_ENUM_VALUES} enum values."
    if _levels(schema) > _MOST_LEVELS:
        return f"Schema exceeds the maximum nesting depth of {_MOST_LEVELS} levels."
    return None


def _levels(schema: Any) -> int:
    """How deep objects and arrays lie within each other; references are not followed."""
    if isinstance(schema, list):
        return max(map(_levels, schema), default=0)
    if not isinstance(schema, Mapping):
        return 0
    return ("properties" in schema or "items" in schema) + max(map(_levels, schema.values()), default=0)


def _first_fault(schema: Schema, checks: Sequence[Callable[[Schema], str | None]]) -> str | None:
    """What the first check finds in any part; objects without properties are reported before keywords (recorded)."""
    parts = tuple(subschemas(schema))
    return next(filter(None, (check(part) for check in checks for part in parts)), None)


def _unsupported_keywords(part: Schema) -> str | None:
    kind = part.get("type")
    found = [word for word in _UNSUPPORTED.get(kind, ()) if word in part] if isinstance(kind, str) else []
    return f"Invalid fields for schema with types ['{kind}']: {_set(found)}" if found else None


def _unnamed(part: Schema) -> str | None:
    """An object must have `properties`, if only empty ones."""
    if part.get("type") != "object" or "properties" in part or "anyOf" in part:
        return None
    return "Object fields require at least one of: 'properties' or 'anyOf' with a list of possible properties."


def _open(part: Schema) -> str | None:
    if part.get("type") != "object" or part.get("additionalProperties") is False:
        return None
    return "'additionalProperties' is required to be supplied and set to false."


def _set(words: list[str]) -> str:
    """Words as Python prints a set of them."""
    return f"{{{', '.join(map(repr, words))}}}"

"""JSON Schemas that a request brings along: whether they are any, and what the vendor makes of them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from mockserver.dialects.openai_style import is_shallow
from mockserver.generation.schemas import InvalidSchemaError, UnsatisfiableSchemaError, check_schema

Schema = Mapping[str, Any]

# The keywords that hold schemas: by name, in a list, or one.
_NAMED = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
_LISTED = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE = (
    "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedItems",
    "unevaluatedProperties",
)  # fmt: skip


def fault_of_schema(value: object) -> str:
    """Why a value is no JSON Schema that an answer could keep to; empty when it is one."""
    if not isinstance(value, dict) or not is_shallow(value):
        return "schema is not a JSON schema"
    try:
        check_schema(value)
    except InvalidSchemaError:
        return "schema is not a JSON schema"
    except UnsatisfiableSchemaError:
        return "nothing can satisfy the schema"
    return ""


def is_recursive(schema: Schema) -> bool:
    """Whether a definition leads back to itself: what is left when those that lead nowhere are taken away."""
    targets = {place: _references(_at(schema, place)) for place in _references(schema)}
    while targets:
        ends = [place for place, further in targets.items() if not further & targets.keys()]
        if not ends:
            return True
        for place in ends:
            del targets[place]
    return False


def opens_with_an_optional_property(schema: Schema) -> bool:
    """Whether the first property of any object in the schema may be left out."""
    return any(_first_is_optional(part) for part in _parts(schema))


def _first_is_optional(schema: Schema) -> bool:
    first = next(iter(schema.get("properties", {})), None)
    return first is not None and first not in schema.get("required", [])


def _parts(schema: object) -> Iterator[Schema]:
    """A schema and all that it is made of; references are not followed."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            yield part
            waiting += _held(part)


def _held(schema: Schema) -> Iterable[object]:
    for key in _NAMED:
        yield from schema.get(key, {}).values()
    for key in _LISTED:
        yield from schema.get(key, [])
    for key in _SINGLE:
        held = schema.get(key, ())
        # Before draft 2020-12 `items` was a list for a tuple.
        yield from held if isinstance(held, list) else [held]


def _references(schema: object) -> set[str]:
    return {part["$ref"] for part in _parts(schema) if "$ref" in part}


def _at(schema: Schema, place: str) -> object:
    """What a local reference (`#/$defs/node`) leads to; None when nothing is there."""
    start, *names = place.split("/")
    found: object = schema if start == "#" else None
    for name in names:
        key = unquote(name).replace("~1", "/").replace("~0", "~")
        found = found.get(key) if isinstance(found, dict) else None
    return found

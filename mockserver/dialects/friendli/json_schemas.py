"""JSON Schemas in requests: whether they are valid, and how the vendor interprets them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mockserver.core.json_values import is_shallow
from mockserver.model.schema import InvalidSchemaError, SchemaLimitError, UnsatisfiableSchemaError, check_schema

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

"""JSON Schemas, and instances of them: values that conform to a schema.

The solver is imported with the first schema: most servers never see one, and start sooner without it.
"""

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import orjson

from mockserver.core.seeding import fingerprint

if TYPE_CHECKING:
    from mockserver.model.schema.instances import Compiled

__all__ = [
    "InvalidSchemaError",
    "SchemaLimitError",
    "UnsatisfiableSchemaError",
    "array_of",
    "as_part",
    "check_schema",
    "is_recursive",
    "object_of",
    "schema_fault",
    "subschemas",
    "write_instance",
]

# Keywords that hold values, which may look like schemas, and those that hold schemas by name.
VALUES = ("enum", "const", "default", "examples", "required")
NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies")


class UnsatisfiableSchemaError(ValueError):
    """A schema to which no value conforms, or none that could be found; the message says so in a plain sentence."""


class InvalidSchemaError(UnsatisfiableSchemaError):
    """A value that is not a JSON Schema, or a schema with a dangling reference; the message says which."""


class SchemaLimitError(UnsatisfiableSchemaError):
    """A schema that is too large, or whose check would take too long; the message says what is too much."""


def check_schema(schema: object) -> None:
    """Raise UnsatisfiableSchemaError if no value conforms to the schema, InvalidSchemaError if it is not a schema,
    and SchemaLimitError if it is too large or would take too long to check; all are UnsatisfiableSchemaErrors."""
    _compiled(schema).check()


def schema_fault(schema: object) -> str | None:
    """Why no value can conform to a schema, in a sentence; None if one can."""
    try:
        check_schema(schema)
    except UnsatisfiableSchemaError as error:
        return str(error)
    return None


def write_instance(schema: object, key: int, language: str, subject: str, *, complete: bool = False) -> str:
    """An instance of the schema, as compact JSON.

    `key` is a derived seed; texts in the instance are in the `language` and about the `subject`. A `complete` instance
    has optional properties too, as far as they are compatible. Raises UnsatisfiableSchemaError.
    """
    return _compiled(schema).write(key, language, subject, complete=complete)


def is_recursive(schema: object) -> bool:
    """Whether a schema that has a value contains a reference, direct or indirect, to itself or a part around it."""
    return _compiled(schema).document.is_recursive


def object_of(parts: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an object that has all of these properties, by their schemas."""
    return {"type": "object", "properties": parts, "required": list(parts)}


def array_of(items: Any) -> dict[str, Any]:
    """The schema of a list of such items, at least one."""
    return {"type": "array", "items": items, "minItems": 1}


def as_part(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema to be put into another, with an address by which its references still lead to parts of its own."""
    if not any("$ref" in part for part in subschemas(schema)):
        return schema
    address = f"{fingerprint(compact(schema).encode('utf-8', 'surrogatepass'))}/"
    # Its draft is that of the whole: only draft 4 calls the address differently.
    return {"$id": address, "id": address} | {key: held for key, held in schema.items() if key != "$schema"}


def subschemas(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """A schema and all schemas within it, from the outside in; references are not followed, and values are none."""
    yield schema
    for keyword, held in schema.items():
        if keyword in VALUES:
            continue
        if keyword in NAMED and isinstance(held, Mapping):
            inner = [*held.values()]
        else:
            inner = held if isinstance(held, list) else [held]
        for each in inner:
            if isinstance(each, Mapping):
                yield from subschemas(each)


def _compiled(schema: object) -> "Compiled":
    from mockserver.model.schema.instances import compiled

    return compiled(schema)


def compact(value: object) -> str:
    """A value as JSON without whitespace."""
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        # A number beyond 64 bits, or half of a surrogate pair.
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

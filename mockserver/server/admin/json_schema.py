"""A small vocabulary for writing the JSON Schemas of the admin API's document."""

from collections.abc import Iterable, Mapping
from typing import Any

Schema = Mapping[str, Any]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
WHOLE: Schema = {"type": "integer"}
COUNT: Schema = {"type": "integer", "minimum": 0}
FLAG: Schema = {"type": "boolean"}
ANY: Schema = {}


def reference(name: str) -> dict[str, str]:
    """A reference to a named schema of the document."""
    return {"$ref": f"#/components/schemas/{name}"}


def table(
    required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None, description: str = ""
) -> Schema:
    """An object with these required and optional keys; others are allowed."""
    properties = {**required, **(optional or {})}
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return schema | ({"description": description} if description else {})


def closed(properties: Mapping[str, Schema]) -> Schema:
    """An object with no other keys than these, all of them optional."""
    return {"type": "object", "properties": dict(properties), "additionalProperties": False}


def either(*schemas: Schema) -> Schema:
    """A value that conforms to one of these schemas."""
    return {"anyOf": list(schemas)}


def rows(item: Schema) -> Schema:
    """A list."""
    return {"type": "array", "items": item}


def by_name(item: Schema, description: str = "") -> Schema:
    """An object whose keys are names."""
    return {"type": "object", "additionalProperties": item} | ({"description": description} if description else {})


def described(schema: Schema, text: str) -> Schema:
    """A schema with a description."""
    return {**schema, "description": text}


def one_of(words: Iterable[str]) -> Schema:
    """One of these strings."""
    return {"type": "string", "enum": list(words)}


def explained(words: Mapping[str, str]) -> Schema:
    """One of these strings, with the meaning of each in both keywords that editors read."""
    meanings = list(words.values())
    return {**one_of(words), "enumDescriptions": meanings, "x-taplo": {"docs": {"enumValues": meanings}}}


def maybe(schema: Schema) -> Schema:
    """A value, or null."""
    if "enum" in schema:
        return {"enum": [*schema["enum"], None]}
    return {**schema, "type": [schema["type"], "null"]} if "type" in schema else {"anyOf": [schema, {"type": "null"}]}

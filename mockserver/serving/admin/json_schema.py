"""JSON Schemas in few words: what the admin API's document is written in."""

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
    """A reference to a schema that has a name, in `schemas`."""
    return {"$ref": f"#/components/schemas/{name}"}


def table(required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None, said: str = "") -> Schema:
    """An object with these keys."""
    properties = {**required, **(optional or {})}
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return schema | ({"description": said} if said else {})


def closed(properties: Mapping[str, Schema]) -> Schema:
    """An object that has no keys but these, and need not have any."""
    return {"type": "object", "properties": dict(properties), "additionalProperties": False}


def either(*schemas: Schema) -> Schema:
    """A value that is as one of these says."""
    return {"anyOf": list(schemas)}


def rows(item: Schema) -> Schema:
    """A list."""
    return {"type": "array", "items": item}


def by_name(item: Schema, said: str = "") -> Schema:
    """An object whose keys are names."""
    return {"type": "object", "additionalProperties": item} | ({"description": said} if said else {})


def said(schema: Schema, text: str) -> Schema:
    """A schema with a description."""
    return {**schema, "description": text}


def one_of(words: Iterable[str]) -> Schema:
    """One of these texts."""
    return {"type": "string", "enum": list(words)}


def told_of(words: Mapping[str, str]) -> Schema:
    """One of these texts, with what each means in the two ways that editors read."""
    meanings = list(words.values())
    return {**one_of(words), "enumDescriptions": meanings, "x-taplo": {"docs": {"enumValues": meanings}}}


def maybe(schema: Schema) -> Schema:
    """A value, or null."""
    if "enum" in schema:
        return {"enum": [*schema["enum"], None]}
    return {**schema, "type": [schema["type"], "null"]} if "type" in schema else {"anyOf": [schema, {"type": "null"}]}

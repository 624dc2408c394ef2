"""JSON Schemas that a request brings along: whether they are any, and what the vendor makes of them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from jsonschema_rs import meta

from mockserver.dialects.openai_style import is_shallow

Schema = Mapping[str, Any]

# The keywords that hold schemas: by name, in a list, or one.
_NAMED = ("properties", "patternProperties", "$defs", "definitions")
_LISTED = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE = ("items", "additionalProperties", "not")


def is_schema(value: object) -> bool:
    """Whether a value is an object that is a JSON Schema; what its `$schema` names is never fetched."""
    if not isinstance(value, dict) or not is_shallow(value):
        return False
    return meta.is_valid({key: part for key, part in value.items() if key != "$schema"})


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


def all_required(schema: Any) -> Any:
    """The schema with every property required, whatever it says itself."""
    if not isinstance(schema, dict):
        return schema
    made = dict(schema)
    for key in schema:
        if key in _NAMED:
            made[key] = {name: all_required(part) for name, part in schema[key].items()}
        elif key in _LISTED:
            made[key] = [all_required(part) for part in schema[key]]
        elif key in _SINGLE:
            made[key] = all_required(schema[key])
    return made | {"required": list(made["properties"])} if "properties" in made else made


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
    yield from (schema[key] for key in _SINGLE if key in schema)


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

"""Schemas that the service's grammar does not take, though an answer could keep to them, in the recorded words."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

Schema = Mapping[str, Any]

# What a form may not have at its top, and what no part of it may say of a type.
_NOT_AT_THE_TOP = ("allOf", "items")
_UNSUPPORTED = {
    "string": ("format", "pattern", "minLength", "maxLength"),
    "array": ("minItems", "maxItems", "uniqueItems"),
}
# What parameters may not have at their top.
_CHOICES = ("oneOf", "anyOf", "enum", "not")


def form_fault(schema: Schema) -> str | None:
    """Why a strict form is none for the service; None when it is one."""
    extra = [word for word in _NOT_AT_THE_TOP if word in schema]
    if extra:
        return f"Extra top level keys found in JSON schema: {_set(extra)}."
    return _first_fault(schema, (_unnamed, _unsupported, _open))


def parameters_fault(schema: Schema, *, strict: bool) -> str | None:
    """Why parameters of a function are none for the service; None when they are."""
    if schema.get("type") != "object" or any(word in schema for word in _CHOICES):
        return "schema must have type 'object' and not have 'oneOf'/'anyOf'/'enum'/'not' at the top level"
    return _first_fault(schema, (_unnamed, _open) if strict else (_unnamed,))


def _first_fault(schema: Schema, checks: Sequence[Callable[[Schema], str | None]]) -> str | None:
    """What the first of the checks finds in any part; an object without properties was told before keywords."""
    parts = tuple(_objects(schema))
    return next(filter(None, (check(part) for check in checks for part in parts)), None)


def _unsupported(part: Schema) -> str | None:
    kind = part.get("type")
    found = [word for word in _UNSUPPORTED.get(kind, ()) if word in part] if isinstance(kind, str) else []
    return f"Invalid fields for schema with types ['{kind}']: {_set(found)}" if found else None


def _unnamed(part: Schema) -> str | None:
    """An empty `properties` is enough."""
    if part.get("type") != "object" or "properties" in part or "anyOf" in part:
        return None
    return "Object fields require at least one of: 'properties' or 'anyOf' with a list of possible properties."


def _open(part: Schema) -> str | None:
    if part.get("type") != "object" or part.get("additionalProperties") is False:
        return None
    return "'additionalProperties' is required to be supplied and set to false."


def _set(words: list[str]) -> str:
    """Words as Python shows a set of them."""
    return f"{{{', '.join(map(repr, words))}}}"


def _objects(value: Any) -> Iterator[Schema]:
    """All objects within a JSON value, itself among them."""
    if isinstance(value, Mapping):
        yield value
    for inner in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from _objects(inner)

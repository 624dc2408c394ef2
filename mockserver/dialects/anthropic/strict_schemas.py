"""Schemas of strict tools and of formats, which the service makes a grammar of: what it does not support, and its
limits, in its words (recorded and measured by public projects from April to October 2026)."""

from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

from mockserver.dialects.anthropic.errors import WORDS
from mockserver.model.schema import subschemas

Schema = Mapping[str, Any]

_WORDS: Mapping[str, str] = WORDS["strict"]
# Keywords without a meaning for the grammar, those that stand beside them in a choice, those that are not supported for
# values of a type (in the order in which they are named), formats of texts, and limits.
_GRAMMAR = WORDS["grammar"]
_ANNOTATIONS = frozenset(_GRAMMAR["annotations"])
_BESIDE_CHOICES = _ANNOTATIONS.union(_GRAMMAR["beside choices"])


def strict_fault(schema: Schema) -> str | None:
    """What of a schema is not supported; None if all is."""
    parts = [*subschemas(schema)]
    return next((words for part in parts for words in _part_faults(part)), None) or _circle_fault(schema, parts)


def limits_fault(tools: Sequence[Schema], form: Schema | None) -> str | None:
    """Which limit the schemas of strict tools and of a format exceed together."""
    parts = [part for schema in (*tools, *([form] if form is not None else [])) for part in subschemas(schema)]
    named = [part for part in parts if isinstance(part.get("properties"), Mapping)]
    found = {
        "tools": len(tools),
        "optional": sum(len(part["properties"].keys() - _names(part.get("required"))) for part in named),
        "unions": sum(isinstance(part.get("type"), list) or "anyOf" in part for part in parts),
    }
    exceeded = ((name, most) for name, most in _GRAMMAR["most"].items() if found[name] > most)
    return next((_WORDS[name].format(found=found[name], most=most) for name, most in exceeded), None)


def _part_faults(part: Schema) -> Iterator[str]:
    """What a schema says itself that is not supported; its inner schemas are looked at on their own."""
    if not part.keys() - _ANNOTATIONS:
        yield _WORDS["empty"]
    for word in ("oneOf", "not"):
        if word in part:
            yield _WORDS[word]
    beside = sorted(part.keys() - _BESIDE_CHOICES) if part.keys() & {"anyOf", "allOf"} else ()
    if beside:
        yield _WORDS["beside"].format(names=", ".join(beside))
    if part.get("enum") == []:
        yield _WORDS["enum"]
    types = part.get("type")
    kind = next((each for each in _names(types if isinstance(types, list) else [types]) if each != "null"), "")
    extra = [word for word in _GRAMMAR["unsupported"].get(kind, ()) if word in part]
    if extra:
        yield _WORDS["keyword" if len(extra) == 1 else "keywords"].format(type=kind, names=", ".join(extra))
    if kind == "object":
        if part.get("additionalProperties") is not False:
            yield _WORDS["open"]
        properties = part.get("properties")
        if isinstance(properties, Mapping) and any(isinstance(each, bool) for each in properties.values()):
            yield _WORDS["keyword"].format(type=kind, names="properties")
    if kind == "array" and isinstance(part.get("items"), list):
        yield _WORDS["tuple"]
    if kind == "array" and part.get("minItems") not in (None, 0, 1):
        yield _WORDS["least_items"]
    if kind == "string" and isinstance(part.get("format"), str) and part["format"] not in _GRAMMAR["formats"]:
        yield _WORDS["format"].format(name=part["format"])


def _circle_fault(schema: Schema, parts: Sequence[Schema]) -> str | None:
    """That definitions refer to themselves, or to each other in a circle."""
    held = [each for key in ("definitions", "$defs") if isinstance(each := schema.get(key), Mapping)]
    named = {name: each for definitions in held for name, each in definitions.items() if isinstance(each, Mapping)}
    refers = {name: _referred(subschemas(each)) for name, each in named.items()}
    try:
        TopologicalSorter({"#": _referred(parts), **refers}).prepare()
    except CycleError as error:
        return _WORDS["circle"].format(names=" -> ".join(reversed(error.args[1])))
    return None


def _referred(parts: Sequence[Schema] | Iterator[Schema]) -> list[str]:
    """The names of the definitions that schemas refer to, `#` for the whole."""
    found = [ref for part in parts if isinstance(ref := part.get("$ref"), str)]
    return [ref.rpartition("/")[2] for ref in found if ref == "#" or ref.startswith(("#/$defs/", "#/definitions/"))]


def _names(found: object) -> list[str]:
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []

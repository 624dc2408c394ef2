"""Schemas narrowed to what a prompt asks for: how many items a list has, and which of several kinds an object is."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from mockserver.model.intent import NUMBERS, STRETCH
from mockserver.model.schema import VALUES, compact, schema_fault
from mockserver.model.terms import place_of

Schema = Mapping[str, Any]

# How deep a schema is searched for kinds of objects.
_DEEPEST = 20
# "Generate three profiles": a number of things in the plural that are to be made.
_WANTED = re.compile(
    r"\b(?:generate|create|list|give|make|provide|write|invent|suggest|propose|name|come up with|return|produce|show|"
    r"need|want|find|recommend|draft)\b(?: (?:me|us|a list of|exactly|at least|the|up))*"
    rf" (\d{{1,2}}|{'|'.join(NUMBERS)}) "
    r"(?!(?:year|day|hour|minute|word|sentence|character|line|time)s?\b)"
    r"(?:[a-z][\w-]* ){0,3}?(?:[a-z][\w-]*s|people|children|men|women)\b",
    re.IGNORECASE,
)
_MOST_WANTED = 20


def type_of(own: Schema) -> str:
    """The first type of a value other than null; empty if the schema has none."""
    kind = own.get("type")
    if isinstance(kind, list):
        return next((name for name in kind if name != "null"), "")
    return kind if isinstance(kind, str) else ""


def wanted_items(topic: str) -> int | None:
    """How many things a prompt asks to make: "Generate three profiles"; None if it names no number."""
    match = _WANTED.search(topic[:STRETCH])
    if match is None:
        return None
    count = NUMBERS.get(match[1].casefold()) or int(match[1])
    return count if 0 < count <= _MOST_WANTED else None


def with_items(schema: Any, count: int | None) -> Any:
    """The schema with so many items, if it is a list or has a single property that is one, and allows as many; the
    schema itself if `count` is None."""
    if count is None or not isinstance(schema, Mapping):
        return schema
    parts = schema.get("properties")
    held = {"": schema} if type_of(schema) == "array" else parts if isinstance(parts, Mapping) else {}
    lists = {name: own for name, own in held.items() if isinstance(own, Mapping) and type_of(own) == "array"}
    if len(lists) != 1:
        return schema
    [(name, own)] = lists.items()
    least, most = own.get("minItems", count), own.get("maxItems", count)
    if not (isinstance(least, int) and isinstance(most, int) and least <= count <= most):
        return schema
    sized = {**own, "minItems": count, "maxItems": count}
    if own is not schema:
        sized = {**schema, "properties": {**schema["properties"], name: sized}}
    return sized if schema_fault(sized) is None else schema


def of_kind(schema: Any, topic: str) -> Any:
    """The schema in which of several kinds of objects the only one is asked for of which the topic mentions a constant,
    such as that of `type`; the schema itself if there is none."""
    if not isinstance(schema, Mapping) or '"const"' not in compact(schema):
        return schema
    # An older draft may have anything under a word that it does not know.
    held = [part for name in ("$defs", "definitions") if isinstance(part := schema.get(name), Mapping)]
    defs = {name: part for parts in held for name, part in parts.items()}
    changed = _of_kind(schema, defs, topic[:STRETCH], 0)
    return schema if changed == schema or schema_fault(changed) else changed


def _of_kind(part: Any, defs: Schema, topic: str, depth: int) -> Any:
    if isinstance(part, list):
        return [_of_kind(each, defs, topic, depth + 1) for each in part]
    if not isinstance(part, Mapping) or depth > _DEEPEST:
        return part
    changed = {name: held if name in VALUES else _of_kind(held, defs, topic, depth + 1) for name, held in part.items()}
    for keyword in ("anyOf", "oneOf"):
        branches = part[keyword] if isinstance(part.get(keyword), list) else ()
        named = [branch for branch in branches if any(_mentions(branch, defs, topic))]
        if len(named) == 1 and isinstance(changed.get("allOf", []), list):
            # Beside the others, some of which may exclude it.
            changed["allOf"] = [*changed.get("allOf", ()), *named]
    return changed


def _mentions(branch: Any, defs: Schema, topic: str) -> Iterator[bool]:
    """Whether the topic mentions the constants of an object's properties."""
    if isinstance(branch, Mapping) and isinstance(branch.get("$ref"), str):
        branch = defs.get(branch["$ref"].rpartition("/")[2])
    parts = branch.get("properties") if isinstance(branch, Mapping) else None
    for part in parts.values() if isinstance(parts, Mapping) else ():
        const = part.get("const") if isinstance(part, Mapping) else None
        yield isinstance(const, str) and const != "" and place_of(const.replace("_", " "), topic) is not None

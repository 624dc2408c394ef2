"""The opposite of a schema: the ways in which a value can violate it, each a tuple of schemas.

Each keyword has its own ways to be violated (`_OPPOSITES`), and a value that violates one keyword violates the schema.
Annotations cannot be violated.
"""

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

from mockserver.core.json_values import ValueSet
from mockserver.model.schema.documents import Key, Node
from mockserver.model.schema.made import (
    EXCLUDED,
    EXTRA,
    FORBIDDEN,
    NAME,
    NAMED,
    NO_MULTIPLE,
    NO_PATTERN,
    TWINS,
    TYPES,
    WHOLE,
    opposite,
)

Way = tuple[Node, ...]
Opposite = Callable[[Node, Any], Iterator[Way]]


def refutations(node: Node) -> list[Way]:
    """The ways to violate a schema; empty if every value conforms to it. Those of a document's own are found once."""
    if node.place is None:
        return _refutations(node)
    if node.refuted is None:
        node.refuted = _refutations(node)
    return node.refuted


def _refutations(node: Node) -> list[Way]:
    schema = node.schema
    if isinstance(schema, bool):
        return [] if schema else [()]
    if set(schema) == {"not"}:
        return [(node.child("not"),)]
    keywords = ["$ref"] if "$ref" in schema and node.document.draft <= 7 else [k for k in schema if k in _OPPOSITES]
    return [way for keyword in keywords for way in _OPPOSITES[keyword](node, schema[keyword])]


def _simple(make: Callable[[Any], dict[str, Any]]) -> Opposite:
    """A keyword that is violated by one schema of our own making."""
    return lambda node, value: iter([(node.made(make(value)),)])


def _other_than(node: Node, keyword: str, values: Any) -> Iterator[Way]:
    # There may be thousands of values, and each item of an array may have to differ from all of them.
    yield (node.made_once(f"{EXCLUDED} {keyword}", lambda: {EXCLUDED: ValueSet(values)}),)


def _type(node: Node, value: Any) -> Iterator[Way]:
    names = [value] if isinstance(value, str) else value
    integral = "integer" in names and "number" not in names
    others = [name for name in TYPES if name not in names and not (name == "number" and "integer" in names)]
    if others:
        yield (node.made({"type": others}),)
    if integral:
        yield (node.made({"type": "number", WHOLE: False}),)


def _bound(keyword: str, *, strict: bool) -> Opposite:
    def ways(node: Node, value: Any) -> Iterator[Way]:
        if isinstance(value, bool):
            return
        sign = {"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}.get(keyword, "")
        other = {"minimum": "maximum", "exclusiveMinimum": "maximum"}.get(keyword, "minimum")
        open_end = not strict and node.schema.get(sign) is not True
        name = f"exclusive{other.capitalize()}" if open_end else other
        yield (node.made({"type": "number", name: value}),)

    return ways


def _short(type: str, keyword: str, step: int) -> Opposite:
    """A length that is too small or too large by one; none is below zero."""

    def ways(node: Node, value: Any) -> Iterator[Way]:
        if int(value) + step >= 0:
            yield (node.made({"type": type, keyword: int(value) + step}),)

    return ways


def _required(node: Node, value: Any) -> Iterator[Way]:
    for name in value if isinstance(value, list) else ():
        yield (node.made({"type": "object", FORBIDDEN: [name]}),)


def _properties(node: Node, value: Any) -> Iterator[Way]:
    for name in value:
        part = opposite(node.child("properties", name))
        children: dict[Key, Node] = {("properties", name): part}
        yield (node.made({"type": "object", "required": [name], "properties": {name: None}}, children),)


def _pattern_properties(node: Node, value: Any) -> Iterator[Way]:
    for pattern in value:
        part = opposite(node.child("patternProperties", pattern))
        yield (node.made({"type": "object", NAMED: (pattern, part)}),)


def _additional(node: Node, value: Any) -> Iterator[Way]:
    yield (node.made({"type": "object", EXTRA: (node, opposite(node.child("additionalProperties")))}),)


def _unevaluated_properties(node: Node, value: Any) -> Iterator[Way]:
    yield (node.made({"type": "object", EXTRA: (node, opposite(node.child("unevaluatedProperties")))}),)


def _unevaluated_items(node: Node, value: Any) -> Iterator[Way]:
    yield (_item_at(node, len(node.schema.get("prefixItems", ())), opposite(node.child("unevaluatedItems"))),)


def _names(node: Node, value: Any) -> Iterator[Way]:
    yield (node.made({"type": "object", NAME: opposite(node.child("propertyNames"))}),)


def _dependent_required(node: Node, value: Any) -> Iterator[Way]:
    for name, others in value.items():
        for other in others:
            yield (node.made({"type": "object", "required": [name], FORBIDDEN: [other]}),)


def _dependent_schemas(node: Node, value: Any) -> Iterator[Way]:
    for name in value:
        part = opposite(node.child("dependentSchemas", name))
        yield node.made({"type": "object", "required": [name]}), part


def _items(node: Node, value: Any) -> Iterator[Way]:
    if isinstance(value, list):
        yield from _tuple(node, value, "items")
        return
    start = len(node.schema.get("prefixItems", ()))
    yield (_item_at(node, start, opposite(node.child("items"))),)


def _prefix(node: Node, value: Any) -> Iterator[Way]:
    yield from _tuple(node, value, "prefixItems")


def _tuple(node: Node, value: Any, keyword: str) -> Iterator[Way]:
    for index in range(len(value)):
        yield (_item_at(node, index, opposite(node.child(keyword, index))),)


def _item_at(node: Node, index: int, part: Node) -> Node:
    children: dict[Key, Node] = {("prefixItems", place): node.made(True) for place in range(index)}
    children["prefixItems", index] = part
    schema = {"type": "array", "minItems": index + 1, "prefixItems": [None] * (index + 1)}
    return node.made(schema, children)


def _contains(node: Node, value: Any) -> Iterator[Way]:
    least, most = node.schema.get("minContains", 1), node.schema.get("maxContains")
    part = node.child("contains")
    if least == 1:
        yield (node.made({"type": "array", "items": None}, {("items",): opposite(part)}),)
    elif least > 1:
        yield (
            node.made(
                {"type": "array", "contains": None, "minContains": 0, "maxContains": least - 1}, {("contains",): part}
            ),
        )
    if most is not None:
        yield (node.made({"type": "array", "contains": None, "minContains": most + 1}, {("contains",): part}),)


def _all_of(node: Node, value: Any) -> Iterator[Way]:
    for index in range(len(value)):
        yield (opposite(node.child("allOf", index)),)


def _any_of(node: Node, value: Any) -> Iterator[Way]:
    yield tuple(opposite(node.child("anyOf", index)) for index in range(len(value)))


def _one_of(node: Node, value: Any) -> Iterator[Way]:
    parts = [node.child("oneOf", index) for index in range(len(value))]
    yield tuple(map(opposite, parts))
    yield from combinations(parts, 2)


def _not(node: Node, value: Any) -> Iterator[Way]:
    yield (node.child("not"),)


def _if(node: Node, value: Any) -> Iterator[Way]:
    if "then" in node.schema:
        yield node.child("if"), opposite(node.child("then"))
    if "else" in node.schema:
        yield opposite(node.child("if")), opposite(node.child("else"))


def _reference(node: Node, value: Any) -> Iterator[Way]:
    found = node.document.resolve(value, node.base)
    if found is not None and found is not node:
        yield (opposite(found),)


_OPPOSITES: dict[str, Opposite] = {
    "type": _type,
    "enum": lambda node, value: _other_than(node, "enum", value),
    "const": lambda node, value: _other_than(node, "const", [value]),
    "minimum": _bound("minimum", strict=False),
    "maximum": _bound("maximum", strict=False),
    "exclusiveMinimum": _bound("exclusiveMinimum", strict=True),
    "exclusiveMaximum": _bound("exclusiveMaximum", strict=True),
    "multipleOf": _simple(lambda value: {"type": "number", NO_MULTIPLE: value}),
    "minLength": _short("string", "maxLength", -1),
    "maxLength": _short("string", "minLength", 1),
    "pattern": _simple(lambda value: {"type": "string", NO_PATTERN: value}),
    "required": _required,
    "properties": _properties,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional,
    "unevaluatedProperties": _unevaluated_properties,
    "unevaluatedItems": _unevaluated_items,
    "propertyNames": _names,
    "minProperties": _short("object", "maxProperties", -1),
    "maxProperties": _short("object", "minProperties", 1),
    "dependentRequired": _dependent_required,
    "dependentSchemas": _dependent_schemas,
    "items": _items,
    "prefixItems": _prefix,
    "minItems": _short("array", "maxItems", -1),
    "maxItems": _short("array", "minItems", 1),
    "uniqueItems": lambda node, value: iter([(node.made({"type": "array", TWINS: True}),)] if value else []),
    "contains": _contains,
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
    "if": _if,
    "$ref": _reference,
}

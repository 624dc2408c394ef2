"""The opposite of a schema (`not`): where to look for values that violate it.

A violation is a tuple of plain schemas, and need not be exact, since what is made by it is held against the `not` in
the end. Of many keywords it is empty: any value is made and tried.
"""

from collections.abc import Sequence
from typing import Any

from mockserver.model.schema.documents import SchemaNode

TYPES = ("object", "string", "number", "array", "boolean", "null")

# Schemas that are to apply together.
Branch = tuple[SchemaNode, ...]

# A number or a size that is too small or too large: the type, the keyword that says so, and how far its value is off.
_BEYOND = {
    "minimum": ("number", "exclusiveMaximum", 0),
    "maximum": ("number", "exclusiveMinimum", 0),
    "exclusiveMinimum": ("number", "maximum", 0),
    "exclusiveMaximum": ("number", "minimum", 0),
    "minLength": ("string", "maxLength", -1),
    "maxLength": ("string", "minLength", 1),
    "minItems": ("array", "maxItems", -1),
    "maxItems": ("array", "minItems", 1),
    "minProperties": ("object", "maxProperties", -1),
    "maxProperties": ("object", "minProperties", 1),
}
# Further keywords that a value can violate.
_ASSERTING = {
    "enum", "const", "multipleOf", "uniqueItems", "contains", "items", "prefixItems", "additionalItems", "required",
    "patternProperties", "additionalProperties", "propertyNames", "dependentRequired", "dependentSchemas",
    "dependencies", "oneOf", "unevaluatedProperties", "unevaluatedItems", "$dynamicRef", "$recursiveRef",
}  # fmt: skip


def negate(node: SchemaNode) -> SchemaNode:
    """The schema of every value that does not conform to this one; the same each time."""
    if node.opposite is None:
        node.opposite = node.made({"not": node.schema}, {("not",): node})
    return node.opposite


def violations(node: SchemaNode) -> Sequence[Branch]:
    """Ways to violate a schema, one keyword at a time; empty if no value does."""
    schema = node.schema
    if not isinstance(schema, dict):
        return [] if schema else [()]
    if node.violations is None:
        alone = ["$ref"] if "$ref" in schema and node.document.draft <= 7 else schema
        found = [way for keyword in alone for way in _violations(node, keyword, schema[keyword])]
        node.violations = list(dict.fromkeys(found))
    return node.violations


def _violations(node: SchemaNode, keyword: str, value: Any) -> Sequence[Branch]:
    schema, made = node.schema, node.made
    if keyword in _BEYOND and not isinstance(value, bool):
        kind, opposed, step = _BEYOND[keyword]
        # No size is below zero.
        return [(made({"type": kind, opposed: value + step}),)] if kind == "number" or value + step >= 0 else []
    parts = [node.child(keyword, index) for index in range(len(value))] if keyword in ("allOf", "anyOf") else []
    match keyword:
        case "type":
            names = [value] if isinstance(value, str) else value
            others = [name for name in TYPES if name not in names]
            return [(made({"type": others}),)] if others else []
        case "pattern":
            return [(made({"type": "string", "not": {"pattern": value}}),)]
        case "required" if isinstance(value, list):
            return [(made({"type": "object", "properties": {name: False}}),) for name in value]
        case "properties":
            forms = ((name, {"type": "object", "required": [name], "properties": {name: {}}}) for name in value)
            return [(made(form, {(keyword, name): negate(node.child(keyword, name))}),) for name, form in forms]
        case "items" if not isinstance(value, list):
            place, first = 0, "items"
            if node.document.draft >= 2020:
                place, first = len(schema.get("prefixItems", ())), "prefixItems"
            form = {"type": "array", "minItems": place + 1, first: [True] * place + [{}]}
            return [(made(form, {(first, place): negate(node.child(keyword))}),)]
        case "allOf":
            return [(negate(part),) for part in parts]
        case "anyOf":
            return [tuple(map(negate, parts))]
        case "not":
            return [(node.child("not"),)]
        case "if" if node.document.draft >= 7:
            ways = []
            if "then" in schema:
                ways.append((node.child("if"), negate(node.child("then"))))
            if "else" in schema:
                ways.append((negate(node.child("if")), negate(node.child("else"))))
            return ways
        case "$ref":
            target = node.document.resolve(value, node.base)
            return [()] if target is None or target is node else [(negate(target),)]
    return [()] if keyword in _ASSERTING else []

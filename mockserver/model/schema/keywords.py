"""Keywords of schemas: what each asks for, and the ways to violate it, which `not` asks for.

A merged schema (`merged_schema.py`) grows by each keyword. Where one can be met in several ways (`anyOf`, `oneOf`,
`not`, `if`, `dependentSchemas`) these are kept as `Alternatives`. An alternative may be optimistic: its schema is noted
in `checks`, and a finished value is held against that.

A violation is a tuple of plain schemas, and need not be exact, since what is made by it is held against the `not` in
the end. Of many keywords it is empty: any value is made and tried.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

from mockserver.core.json_values import ValueSet
from mockserver.model.schema.documents import DRAFTS, SchemaNode

# One of `merged_schema.py`, which imports this module.
Merged = Any

TYPES = ("object", "string", "number", "array", "boolean", "null")

# From here on all floats are whole numbers, and not all whole numbers are floats.
ALL_WHOLE = 2**53
# Of `oneOf` with more branches none is tried together with the opposites of all others.
_MOST_OPPOSED = 60

# Schemas that are to apply together.
Branch = tuple[SchemaNode, ...]

# The schemas around one that have an `unevaluated...` keyword.
Scopes = tuple[SchemaNode, ...]


class Alternatives(NamedTuple):
    """Several ways to meet a keyword, each a tuple of schemas to be added; the first is preferred."""

    options: Sequence[Branch]
    scopes: Scopes


class Containing(NamedTuple):
    """How many items must conform to a schema (`contains`)."""

    node: SchemaNode
    least: int
    most: int | None
    scopes: Scopes


def exactly(number: float) -> Fraction:
    """A number as it is written: 0.1 is a tenth. Of a large float the digits are rounded: it is what it holds."""
    if isinstance(number, int) or abs(number) >= ALL_WHOLE:
        return Fraction(number)
    return Fraction(repr(number))


# Lets a merged schema grow by a keyword. Arguments: it, the schema, the keyword's value, and the scopes.
_Keyword = Callable[[Merged, SchemaNode, Any, Scopes], None]


def _type(into: Merged, node: SchemaNode, value: Any, scopes: Scopes) -> None:
    names = [value] if isinstance(value, str) else value
    if "integer" in names and "number" not in names and "number" in into.types:
        into.whole = True
    into.narrow(["number" if name == "integer" else name for name in names])


def _enum(into: Merged, node: SchemaNode, value: Any, scopes: Scopes) -> None:
    allowed = None if into.values is None else ValueSet(value)
    into.values = list(value) if allowed is None else [each for each in into.values or () if each in allowed]


def _low(into: Merged, node: SchemaNode, value: Any, scopes: Scopes, *, strict: bool = False) -> None:
    # In draft 4 `exclusiveMinimum` is a boolean that belongs to `minimum`.
    if not isinstance(value, bool):
        is_open = strict or node.schema.get("exclusiveMinimum") is True
        if into.low is None or (exactly(value), is_open) > (into.low, into.low_open):
            into.low, into.low_open = exactly(value), is_open


def _high(into: Merged, node: SchemaNode, value: Any, scopes: Scopes, *, strict: bool = False) -> None:
    if not isinstance(value, bool):
        is_open = strict or node.schema.get("exclusiveMaximum") is True
        if into.high is None or (-exactly(value), is_open) > (-into.high, into.high_open):
            into.high, into.high_open = exactly(value), is_open


def _size(name: str) -> _Keyword:
    """A bound of a size: the highest of the lower ones, the lowest of the upper ones."""
    nearer = max if name.startswith("min") else min

    def grow(into: Merged, node: SchemaNode, value: Any, scopes: Scopes) -> None:
        known = getattr(into, name)
        setattr(into, name, int(value) if known is None else nearer(known, int(value)))

    return grow


def _listed(name: str) -> _Keyword:
    """A keyword whose values are collected, since all of them apply."""
    return lambda into, node, value, scopes: getattr(into, name).append(value)


def _encoded(into: Merged, node: SchemaNode, value: Any, scopes: Scopes) -> None:
    """The encoding or media type of a text, treated as a format."""
    if value == "base64":
        into.formats.append("base64")
    elif value == "application/json" and "contentEncoding" not in node.schema:
        into.formats.append("json")


def _sample(into: Merged, node: SchemaNode, value: Any, scopes: Scopes) -> None:
    into.samples += value if isinstance(value, list) else [value]


def _hint(into: Merged, node: SchemaNode, value: Any, scopes: Scopes) -> None:
    if isinstance(value, str):
        into.hints.append(value)


def _required(into: Merged, node: SchemaNode, value: Any, scopes: Scopes) -> None:
    # In draft 3 it was a boolean.
    if isinstance(value, list):
        into.required.update(dict.fromkeys(value))


def _dependent(into: Merged, node: SchemaNode, value: Any, scopes: Scopes, keyword: str = "dependencies") -> None:
    """What depends on the presence of a property: others (a list), or a schema."""
    for name, part in value.items():
        if isinstance(part, list):
            # A new list, since copies share the old one.
            into.dependents[name] = [*into.dependents.get(name, ()), *part]
            continue
        present = (node.made({"required": [name]}), node.child(keyword, name))
        absent = (node.made({"properties": {name: False}}),)
        wanted = name in into.required or name in node.schema.get("properties", {})
        into.alternatives.append(Alternatives([present, absent] if wanted else [absent, present], scopes))


def _contains(into: Merged, node: SchemaNode, value: Any, scopes: Scopes) -> None:
    counted = node.document.draft >= 2019
    least = int(node.schema.get("minContains", 1)) if counted else 1
    most = node.schema.get("maxContains") if counted else None
    into.contains.append(Containing(node.child("contains"), least, None if most is None else int(most), scopes))
    into.checks[node] = None


def _all_of(into: Merged, node: SchemaNode, value: Any, scopes: Scopes) -> None:
    for index in range(len(value)):
        into.add(node.child("allOf", index), scopes)


def _any_of(into: Merged, node: SchemaNode, value: Any, scopes: Scopes) -> None:
    _choose(into, [(node.child("anyOf", index),) for index in range(len(value))], scopes)


def _one_of(into: Merged, node: SchemaNode, value: Any, scopes: Scopes) -> None:
    into.checks[node] = None
    parts = [node.child("oneOf", index) for index in range(len(value))]
    others = list(map(negate, parts)) if 1 < len(parts) <= _MOST_OPPOSED else []
    strict = [(part, *others[:place], *others[place + 1 :]) for place, part in enumerate(parts) if others]
    _choose(into, [*((part,) for part in parts), *strict], scopes)


def _not(into: Merged, node: SchemaNode, value: Any, scopes: Scopes) -> None:
    into.checks[node] = None
    if isinstance(value, dict) and value.keys() == {"pattern"}:
        into.narrow(["string"])
        into.no_patterns.append(value["pattern"])
        return
    ways = violations(node.child("not"))
    into.dead = into.dead or not ways
    _choose(into, ways if len(ways) == 1 else [(), *ways], scopes)


def _if(into: Merged, node: SchemaNode, value: Any, scopes: Scopes) -> None:
    schema = node.schema
    if "then" not in schema and "else" not in schema:
        return
    into.checks[node] = None
    met = (node.child("if"), *([node.child("then")] if "then" in schema else []))
    other = (node.child("else"),) if "else" in schema else ()
    _choose(into, [met, other, (*other, negate(node.child("if")))], scopes)


def _choose(into: Merged, options: Sequence[Branch], scopes: Scopes) -> None:
    if len(options) != 1:
        into.alternatives.append(Alternatives(options, scopes))
        return
    for node in options[0]:
        into.add(node, scopes)


def reference(into: Merged, node: SchemaNode, value: Any, scopes: Scopes) -> None:
    found = node.document.resolve(value, node.base)
    if found is not None:
        into.add(found, scopes)


def _dynamic_reference(into: Merged, node: SchemaNode, value: Any, scopes: Scopes) -> None:
    found = node.document.resolve(value, node.base)
    anchor = value.rpartition("#")[2]
    if found is not None and isinstance(found.schema, dict) and found.schema.get("$dynamicAnchor") == anchor:
        others = map(node.document.checked, node.document.anchored(anchor))
        _choose(into, [(option,) for option in dict.fromkeys((*others, found))], scopes)
    elif found is not None:
        into.add(found, scopes)


def _recursive_reference(into: Merged, node: SchemaNode, value: Any, scopes: Scopes) -> None:
    """Draft 2019-09 has a single dynamic anchor, without a name."""
    root = node.document.root
    own = node.document.resolve("#", node.base)
    into.add(root if isinstance(root.schema, dict) and root.schema.get("$recursiveAnchor") else own or root, scopes)


_KEYWORDS: dict[str, _Keyword] = {
    "type": _type,
    "enum": _enum,
    "const": lambda into, node, value, scopes: _enum(into, node, [value], scopes),
    "minimum": _low,
    "maximum": _high,
    "exclusiveMinimum": partial(_low, strict=True),
    "exclusiveMaximum": partial(_high, strict=True),
    "multipleOf": lambda into, node, value, scopes: into.multiples.append(abs(exactly(value))),
    "minLength": _size("min_length"),
    "maxLength": _size("max_length"),
    "pattern": _listed("patterns"),
    "format": _listed("formats"),
    "contentEncoding": _encoded,
    "contentMediaType": _encoded,
    "required": _required,
    "minProperties": _size("min_properties"),
    "maxProperties": _size("max_properties"),
    "propertyNames": lambda into, node, value, scopes: into.names.append(node.child("propertyNames")),
    "dependentRequired": _dependent,
    "dependentSchemas": partial(_dependent, keyword="dependentSchemas"),
    "dependencies": _dependent,
    "unevaluatedProperties": lambda into, node, value, scopes: into.unevaluated_properties.append(node),
    "minItems": _size("min_items"),
    "maxItems": _size("max_items"),
    "uniqueItems": lambda into, node, value, scopes: setattr(into, "unique", into.unique or bool(value)),
    "contains": _contains,
    "unevaluatedItems": lambda into, node, value, scopes: into.unevaluated_items.append(node),
    "examples": _sample,
    "example": _sample,
    "default": _listed("samples"),
    "title": _hint,
    "description": _hint,
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
    "if": _if,
    "$ref": reference,
    "$dynamicRef": _dynamic_reference,
    "$recursiveRef": _recursive_reference,
}
# The first drafts that know a keyword; in earlier ones it means nothing, whatever its value.
_SINCE = {
    **dict.fromkeys(("contains", "propertyNames"), 6),
    "if": 7,
    **dict.fromkeys(("dependentRequired", "dependentSchemas", "unevaluatedProperties", "unevaluatedItems"), 2019),
    "$recursiveRef": 2019,
    "$dynamicRef": 2020,
}
KNOWN_IN = {
    draft: {keyword: grow for keyword, grow in _KEYWORDS.items() if _SINCE.get(keyword, draft) <= draft}
    for draft in DRAFTS
}


# --- violations -------------------------------------------------------------------------------------------------------

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

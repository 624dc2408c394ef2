"""Strategies for satisfiable schemas: each keyword is drawn so that a given value conforms to it."""

import re
from typing import Any

from hypothesis import strategies as st
from jsonschema import Draft202012Validator

Json = Any

NAMES = st.sampled_from(["id", "name", "email", "kind", "tags", "count", "total", "x-1", "x-2", "übung", "a b"])
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-1000, 1000)
    | st.integers(-400, 400).map(lambda number: number / 4)
    | st.text(alphabet="abcXYZ019 -_é", max_size=8)
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)


def holds(schema: Json, value: Json) -> bool:
    """Whether a value conforms to a schema, according to a validator other than the one under test."""
    return Draft202012Validator(schema).is_valid(value)


@st.composite
def satisfiable(draw: st.DrawFn) -> Json:
    """A schema that at least one value conforms to, sometimes with definitions."""
    value = draw(values)
    schema = draw(around(value, 3))
    if isinstance(schema, dict) and draw(st.integers(0, 3)) == 0:
        schema = {"$ref": "#/$defs/main", "$defs": {"main": schema, "other": draw(around(draw(values), 1))}}
    return schema


@st.composite
def around(draw: st.DrawFn, value: Json, depth: int) -> Json:
    """A schema that the value conforms to."""
    schema: dict[str, Any] = {}
    if draw(st.integers(0, 3)):
        schema["type"] = draw(st.sampled_from([type_of(value), sorted({type_of(value), "null", "string"})]))
    keywords = draw(st.lists(st.sampled_from(_KEYWORDS[kind_of(value)]), max_size=3, unique=True))
    if depth > 0 and draw(st.integers(0, 2)) == 0:
        keywords.append(draw(st.sampled_from(_COMBINED)))
    for keyword in keywords:
        schema |= draw(keyword(value, depth - 1))
    return schema


def kind_of(value: Json) -> str:
    """The family of keywords that apply to a value."""
    if isinstance(value, bool) or value is None:
        return "literal"
    return {str: "string", list: "array", dict: "object"}.get(value.__class__, "number")


def type_of(value: Json) -> str:
    """The name of a value's type in schemas."""
    if isinstance(value, bool):
        return "boolean"
    names = {type(None): "null", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return names[type(value)]


@st.composite
def _listed(draw: st.DrawFn, value: Json, depth: int) -> Json:
    others = draw(st.lists(scalars, max_size=3))
    return {"enum": draw(st.permutations([value, *(other for other in others if other != value)]))}


def _constant(value: Json, depth: int) -> st.SearchStrategy[Json]:
    return st.just({"const": value})


@st.composite
def _bounded(draw: st.DrawFn, value: Any, depth: int) -> Json:
    low, high = draw(st.integers(0, 5)), draw(st.integers(0, 5))
    strict = draw(st.booleans())
    if strict:
        return {"exclusiveMinimum": value - low - 1, "exclusiveMaximum": value + high + 1}
    return draw(st.sampled_from([{"minimum": value - low}, {"maximum": value + high}]))


@st.composite
def _multiple(draw: st.DrawFn, value: Any, depth: int) -> Json:
    steps = [step for step in (1, 2, 3, 5, 7, 0.25, 0.5) if value % step == 0]
    return {"multipleOf": draw(st.sampled_from(steps))} if steps else {}


@st.composite
def _sized_text(draw: st.DrawFn, value: str, depth: int) -> Json:
    least, most = draw(st.integers(0, len(value))), len(value) + draw(st.integers(0, 4))
    return draw(st.sampled_from([{"minLength": least}, {"maxLength": most}, {"minLength": least, "maxLength": most}]))


@st.composite
def _pattern(draw: st.DrawFn, value: str, depth: int) -> Json:
    parts = [draw(st.sampled_from(_classes_of(character))) for character in value]
    whole = "".join(parts)
    start = draw(st.integers(0, len(value)))
    options = [f"^{whole}$", f"^{''.join(parts[:start])}", "".join(parts[start:]), f"^(?:{whole}|zz+){{1,2}}$"]
    if value:
        options.append(f"^(?=.{{{len(value)}}}$){parts[0]}")
    return {"pattern": draw(st.sampled_from(options))}


def _classes_of(character: str) -> list[str]:
    classes = [re.escape(character), f"[{re.escape(character)}q]"]
    if character.isascii() and character.isalnum():
        classes += [r"\w", "[a-zA-Z0-9]"]
    return [*classes, "."]


@st.composite
def _items(draw: st.DrawFn, value: list[Any], depth: int) -> Json:
    if depth <= 0 or not value:
        return {"items": True}
    return {"items": {"anyOf": [draw(around(item, depth - 1)) for item in value]}}


@st.composite
def _tuple(draw: st.DrawFn, value: list[Any], depth: int) -> Json:
    if depth <= 0 or not value:
        return {"maxItems": len(value)}
    prefix = [draw(around(item, depth - 1)) for item in value]
    rest: Json = draw(st.sampled_from([{}, {"items": False}, {"unevaluatedItems": False}, {"minItems": len(value)}]))
    return {"prefixItems": prefix, **rest}


@st.composite
def _contained(draw: st.DrawFn, value: list[Any], depth: int) -> Json:
    if not value:
        return {"minItems": 0}
    schema = draw(around(draw(st.sampled_from(value)), min(depth, 1)))
    found = sum(holds(schema, item) for item in value)
    bounds = draw(st.sampled_from([{}, {"minContains": found}, {"maxContains": found}]))
    return {"contains": schema, **bounds}


@st.composite
def _sized_array(draw: st.DrawFn, value: list[Any], depth: int) -> Json:
    bounds = {"minItems": len(value) - draw(st.integers(0, len(value))), "maxItems": len(value) + 2}
    unique = holds({"uniqueItems": True}, value) and draw(st.booleans())
    return bounds | ({"uniqueItems": True} if unique else {})


@st.composite
def _properties(draw: st.DrawFn, value: dict[str, Any], depth: int) -> Json:
    named = {name: draw(around(part, depth - 1)) for name, part in value.items() if draw(st.integers(0, 3))}
    extra = draw(st.dictionaries(NAMES, st.just({"type": "string"}), max_size=2))
    schema: dict[str, Any] = {"properties": {**{k: v for k, v in extra.items() if k not in value}, **named}}
    if all(name in named for name in value):
        schema |= draw(st.sampled_from([{}, {"additionalProperties": False}, {"unevaluatedProperties": False}]))
    return schema


@st.composite
def _required(draw: st.DrawFn, value: dict[str, Any], depth: int) -> Json:
    names = sorted(value)
    kept = [name for name in names if draw(st.booleans())]
    return {"required": kept, "minProperties": len(kept), "maxProperties": len(value) + draw(st.integers(0, 2))}


@st.composite
def _named(draw: st.DrawFn, value: dict[str, Any], depth: int) -> Json:
    names = draw(st.sampled_from([{"minLength": 2}, {"pattern": "^[a-zü]"}, {"enum": [*value, "id"]}]))
    if not all(holds(names, name) for name in value):
        return {"propertyNames": {"maxLength": 12}}
    return {"propertyNames": names}


@st.composite
def _patterned(draw: st.DrawFn, value: dict[str, Any], depth: int) -> Json:
    parts = [part for name, part in value.items() if name.startswith("x-")]
    inner = {"anyOf": [draw(around(part, depth - 1)) for part in parts]} if parts else {"type": "integer"}
    return {"patternProperties": {"^x-": inner}}


@st.composite
def _dependent(draw: st.DrawFn, value: dict[str, Any], depth: int) -> Json:
    name = draw(NAMES)
    others = sorted(value) if name in value else ["kind"]
    if draw(st.booleans()):
        return {"dependentRequired": {name: others}}
    return {"dependentSchemas": {name: {"required": others}}}


@st.composite
def _all_of(draw: st.DrawFn, value: Json, depth: int) -> Json:
    return {"allOf": [draw(around(value, depth)), draw(around(value, depth))]}


@st.composite
def _any_of(draw: st.DrawFn, value: Json, depth: int) -> Json:
    return {"anyOf": draw(st.permutations([draw(around(value, depth)), draw(around(draw(values), 1)), False]))}


@st.composite
def _one_of(draw: st.DrawFn, value: Json, depth: int) -> Json:
    others = [draw(around(draw(values), 1)) for _ in range(2)]
    return {"oneOf": draw(st.permutations([draw(around(value, depth)), *(o for o in others if not holds(o, value))]))}


@st.composite
def _not(draw: st.DrawFn, value: Json, depth: int) -> Json:
    other = draw(around(draw(values), 2))
    return {"not": other} if not holds(other, value) else {}


@st.composite
def _if(draw: st.DrawFn, value: Json, depth: int) -> Json:
    test = draw(around(draw(st.sampled_from([value, None, 7, "a"]) | values), 1))
    met, other = draw(around(value, depth)), draw(around(draw(values), 1))
    return {"if": test, "then": met, "else": other} if holds(test, value) else {"if": test, "then": other, "else": met}


_ANY = [_listed, _constant]
_KEYWORDS: dict[str, list[Any]] = {
    "literal": _ANY,
    "number": [*_ANY, _bounded, _multiple, _bounded],
    "string": [*_ANY, _sized_text, _pattern, _pattern],
    "array": [_listed, _items, _tuple, _contained, _sized_array],
    "object": [_listed, _properties, _properties, _required, _named, _patterned, _dependent],
}
_COMBINED = [_all_of, _any_of, _one_of, _not, _if]

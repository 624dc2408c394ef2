"""Satisfiable schemas at random: each keyword is drawn so that a given value conforms to it."""

import re
from random import Random
from typing import Any

from jsonschema import Draft202012Validator

Json = Any

NAMES = ["id", "name", "email", "kind", "tags", "count", "total", "x-1", "x-2", "übung", "a b"]


def _scalar(draw: Random) -> Json:
    whole, quarters = draw.randint(-1000, 1000), draw.randint(-400, 400) / 4
    text = "".join(draw.choices("abcXYZ019 -_é", k=draw.randint(0, 8)))
    return draw.choice([None, True, False, whole, whole, quarters, quarters, text, text])


def _value(draw: Random, depth: int = 2) -> Json:
    kind = draw.randint(0, 3) if depth else 0
    if kind == 2:
        return [_value(draw, depth - 1) for _ in range(draw.randint(0, 3))]
    if kind == 3:
        return {draw.choice(NAMES): _value(draw, depth - 1) for _ in range(draw.randint(0, 3))}
    return _scalar(draw)


def holds(schema: Json, value: Json) -> bool:
    """Whether a value conforms to a schema, according to a validator other than the one under test."""
    return Draft202012Validator(schema).is_valid(value)


def satisfiable(draw: Random) -> Json:
    """A schema that at least one value conforms to, sometimes with definitions."""
    value = _value(draw)
    schema = around(draw, value, 3)
    if isinstance(schema, dict) and draw.randint(0, 3) == 0:
        schema = {"$ref": "#/$defs/main", "$defs": {"main": schema, "other": around(draw, _value(draw), 1)}}
    return schema


def around(draw: Random, value: Json, depth: int) -> Json:
    """A schema that the value conforms to."""
    schema: dict[str, Any] = {}
    if draw.randint(0, 3):
        schema["type"] = draw.choice([type_of(value), sorted({type_of(value), "null", "string"})])
    keywords = [*dict.fromkeys(draw.choices(_KEYWORDS[kind_of(value)], k=draw.randint(0, 3)))]
    if depth > 0 and draw.randint(0, 2) == 0:
        keywords.append(draw.choice(_COMBINED))
    for keyword in keywords:
        schema |= keyword(draw, value, depth - 1)
    return schema


def _shuffled(draw: Random, parts: list[Json]) -> list[Json]:
    return draw.sample(parts, len(parts))


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


def _listed(draw: Random, value: Json, depth: int) -> Json:
    others = [_scalar(draw) for _ in range(draw.randint(0, 3))]
    return {"enum": _shuffled(draw, [value, *(other for other in others if other != value)])}


def _constant(draw: Random, value: Json, depth: int) -> Json:
    return {"const": value}


def _bounded(draw: Random, value: Any, depth: int) -> Json:
    low, high = draw.randint(0, 5), draw.randint(0, 5)
    strict = draw.random() < 0.5
    if strict:
        return {"exclusiveMinimum": value - low - 1, "exclusiveMaximum": value + high + 1}
    return draw.choice([{"minimum": value - low}, {"maximum": value + high}])


def _multiple(draw: Random, value: Any, depth: int) -> Json:
    steps = [step for step in (1, 2, 3, 5, 7, 0.25, 0.5) if value % step == 0]
    return {"multipleOf": draw.choice(steps)} if steps else {}


def _sized_text(draw: Random, value: str, depth: int) -> Json:
    least, most = draw.randint(0, len(value)), len(value) + draw.randint(0, 4)
    return draw.choice([{"minLength": least}, {"maxLength": most}, {"minLength": least, "maxLength": most}])


def _pattern(draw: Random, value: str, depth: int) -> Json:
    parts = [draw.choice(_classes_of(character)) for character in value]
    whole = "".join(parts)
    start = draw.randint(0, len(value))
    options = [f"^{whole}$", f"^{''.join(parts[:start])}", "".join(parts[start:]), f"^(?:{whole}|zz+){{1,2}}$"]
    if value:
        options.append(f"^(?=.{{{len(value)}}}$){parts[0]}")
    return {"pattern": draw.choice(options)}


def _classes_of(character: str) -> list[str]:
    classes = [re.escape(character), f"[{re.escape(character)}q]"]
    if character.isascii() and character.isalnum():
        classes += [r"\w", "[a-zA-Z0-9]"]
    return [*classes, "."]


def _items(draw: Random, value: list[Any], depth: int) -> Json:
    if depth <= 0 or not value:
        return {"items": True}
    return {"items": {"anyOf": [around(draw, item, depth - 1) for item in value]}}


def _tuple(draw: Random, value: list[Any], depth: int) -> Json:
    if depth <= 0 or not value:
        return {"maxItems": len(value)}
    prefix = [around(draw, item, depth - 1) for item in value]
    rest: Json = draw.choice([{}, {"items": False}, {"unevaluatedItems": False}, {"minItems": len(value)}])
    return {"prefixItems": prefix, **rest}


def _contained(draw: Random, value: list[Any], depth: int) -> Json:
    if not value:
        return {"minItems": 0}
    schema = around(draw, draw.choice(value), min(depth, 1))
    found = sum(holds(schema, item) for item in value)
    bounds = draw.choice([{}, {"minContains": found}, {"maxContains": found}])
    return {"contains": schema, **bounds}


def _sized_array(draw: Random, value: list[Any], depth: int) -> Json:
    bounds = {"minItems": len(value) - draw.randint(0, len(value)), "maxItems": len(value) + 2}
    unique = holds({"uniqueItems": True}, value) and draw.random() < 0.5
    return bounds | ({"uniqueItems": True} if unique else {})


def _properties(draw: Random, value: dict[str, Any], depth: int) -> Json:
    named = {name: around(draw, part, depth - 1) for name, part in value.items() if draw.randint(0, 3)}
    extra = {draw.choice(NAMES): {"type": "string"} for _ in range(draw.randint(0, 2))}
    schema: dict[str, Any] = {"properties": {**{k: v for k, v in extra.items() if k not in value}, **named}}
    if all(name in named for name in value):
        schema |= draw.choice([{}, {"additionalProperties": False}, {"unevaluatedProperties": False}])
    return schema


def _required(draw: Random, value: dict[str, Any], depth: int) -> Json:
    names = sorted(value)
    kept = [name for name in names if draw.random() < 0.5]
    return {"required": kept, "minProperties": len(kept), "maxProperties": len(value) + draw.randint(0, 2)}


def _named(draw: Random, value: dict[str, Any], depth: int) -> Json:
    names = draw.choice([{"minLength": 2}, {"pattern": "^[a-zü]"}, {"enum": [*value, "id"]}])
    if not all(holds(names, name) for name in value):
        return {"propertyNames": {"maxLength": 12}}
    return {"propertyNames": names}


def _patterned(draw: Random, value: dict[str, Any], depth: int) -> Json:
    parts = [part for name, part in value.items() if name.startswith("x-")]
    inner = {"anyOf": [around(draw, part, depth - 1) for part in parts]} if parts else {"type": "integer"}
    return {"patternProperties": {"^x-": inner}}


def _dependent(draw: Random, value: dict[str, Any], depth: int) -> Json:
    name = draw.choice(NAMES)
    others = sorted(value) if name in value else ["kind"]
    if draw.random() < 0.5:
        return {"dependentRequired": {name: others}}
    return {"dependentSchemas": {name: {"required": others}}}


def _all_of(draw: Random, value: Json, depth: int) -> Json:
    return {"allOf": [around(draw, value, depth), around(draw, value, depth)]}


def _any_of(draw: Random, value: Json, depth: int) -> Json:
    return {"anyOf": _shuffled(draw, [around(draw, value, depth), around(draw, _value(draw), 1), False])}


def _one_of(draw: Random, value: Json, depth: int) -> Json:
    others = [around(draw, _value(draw), 1) for _ in range(2)]
    return {"oneOf": _shuffled(draw, [around(draw, value, depth), *(o for o in others if not holds(o, value))])}


def _not(draw: Random, value: Json, depth: int) -> Json:
    other = around(draw, _value(draw), 2)
    return {"not": other} if not holds(other, value) else {}


def _if(draw: Random, value: Json, depth: int) -> Json:
    test = around(draw, draw.choice([value, None, 7, "a", _value(draw)]), 1)
    met, other = around(draw, value, depth), around(draw, _value(draw), 1)
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

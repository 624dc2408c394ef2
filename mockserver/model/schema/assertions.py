"""How a demand grows by keywords that assert something of the value itself: its type, its bounds, its parts."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from mockserver.core.json_values import ValueSet
from mockserver.model.schema.demands import Containing, Demand, Fork, Keyword
from mockserver.model.schema.documents import Node
from mockserver.model.schema.exact import exactly
from mockserver.model.schema.made import (
    EXCLUDED,
    EXTRA,
    FORBIDDEN,
    NAME,
    NAMED,
    NO_MULTIPLE,
    NO_PATTERN,
    TWINS,
    WHOLE,
)
from mockserver.model.schema.properties import Scopes

# --- values and types --------------------------------------------------------------------------------------------


def _type(demand: Demand, node: Node, value: Any, scopes: Scopes) -> None:
    names = [value] if isinstance(value, str) else value
    if "integer" in names and "number" not in names and "number" in demand.types:
        demand.whole = True
    demand.narrow(["number" if name == "integer" else name for name in names])


def _enum(demand: Demand, node: Node, value: Any, scopes: Scopes) -> None:
    if demand.values is None:
        demand.values = list(value)
    else:
        allowed = ValueSet(value)
        demand.values = [each for each in demand.values if each in allowed]


def _excluded(demand: Demand, node: Node, value: ValueSet, scopes: Scopes) -> None:
    if value:
        demand.excluded.append(value)


def _whole(demand: Demand, node: Node, value: bool, scopes: Scopes) -> None:
    if demand.whole is not None and demand.whole is not value:
        demand.dead = True
    demand.whole = value


# --- numbers and texts -------------------------------------------------------------------------------------------


def _minimum(demand: Demand, node: Node, value: Any, scopes: Scopes) -> None:
    # In draft 4, `exclusiveMinimum` is a boolean that belongs to `minimum`.
    _raise_low(demand, exactly(value), strict=node.schema.get("exclusiveMinimum") is True)


def _maximum(demand: Demand, node: Node, value: Any, scopes: Scopes) -> None:
    _lower_high(demand, exactly(value), strict=node.schema.get("exclusiveMaximum") is True)


def _above(demand: Demand, node: Node, value: Any, scopes: Scopes) -> None:
    if not isinstance(value, bool):
        _raise_low(demand, exactly(value), strict=True)


def _below(demand: Demand, node: Node, value: Any, scopes: Scopes) -> None:
    if not isinstance(value, bool):
        _lower_high(demand, exactly(value), strict=True)


def _raise_low(demand: Demand, value: Fraction, *, strict: bool) -> None:
    if demand.low is None or (value, strict) > (demand.low, demand.low_open):
        demand.low, demand.low_open = value, strict


def _lower_high(demand: Demand, value: Fraction, *, strict: bool) -> None:
    if demand.high is None or (-value, strict) > (-demand.high, demand.high_open):
        demand.high, demand.high_open = value, strict


def _at_least(name: str) -> Keyword:
    def grow(demand: Demand, node: Node, value: Any, scopes: Scopes) -> None:
        setattr(demand, name, max(getattr(demand, name), int(value)))

    return grow


def _at_most(name: str) -> Keyword:
    def grow(demand: Demand, node: Node, value: Any, scopes: Scopes) -> None:
        most = getattr(demand, name)
        setattr(demand, name, int(value) if most is None else min(most, int(value)))

    return grow


def _listed(name: str) -> Keyword:
    """A keyword whose values are collected, since all of them apply."""

    def grow(demand: Demand, node: Node, value: Any, scopes: Scopes) -> None:
        getattr(demand, name).append(value)

    return grow


def _encoded(demand: Demand, node: Node, value: Any, scopes: Scopes) -> None:
    """The encoding or media type of a text, treated as a format."""
    if value == "base64":
        demand.formats.append("base64")
    elif value == "application/json" and "contentEncoding" not in node.schema:
        demand.formats.append("json")


def _sample(demand: Demand, node: Node, value: Any, scopes: Scopes) -> None:
    demand.samples += value if isinstance(value, list) else [value]


def _hint(demand: Demand, node: Node, value: Any, scopes: Scopes) -> None:
    if isinstance(value, str):
        demand.hints.append(value)


# --- objects and arrays ------------------------------------------------------------------------------------------


def _required(demand: Demand, node: Node, value: Any, scopes: Scopes) -> None:
    # In draft 3, it was a boolean.
    if isinstance(value, list):
        demand.required.update(dict.fromkeys(value))


def _forbidden(demand: Demand, node: Node, value: Any, scopes: Scopes) -> None:
    demand.forbidden.update(value)


def _names(demand: Demand, node: Node, value: Any, scopes: Scopes) -> None:
    demand.names.append(node.child("propertyNames"))


def _dependent_required(demand: Demand, node: Node, value: Any, scopes: Scopes) -> None:
    for name, others in value.items():
        _require_beside(demand, name, others)


def _dependent_schemas(demand: Demand, node: Node, value: Any, scopes: Scopes) -> None:
    for name in value:
        _depend(demand, node, name, node.child("dependentSchemas", name), scopes)


def _dependencies(demand: Demand, node: Node, value: Any, scopes: Scopes) -> None:
    """The older keyword for both kinds of dependency."""
    for name, part in value.items():
        if isinstance(part, list):
            _require_beside(demand, name, part)
        else:
            _depend(demand, node, name, node.child("dependencies", name), scopes)


def _require_beside(demand: Demand, name: str, others: Sequence[str]) -> None:
    # A new list, since copies of the demand share the old one.
    demand.dependents[name] = [*demand.dependents.get(name, ()), *others]


def _depend(demand: Demand, node: Node, name: str, part: Node, scopes: Scopes) -> None:
    present = (node.made({"required": [name]}), part)
    absent = (node.made({FORBIDDEN: [name]}),)
    wanted = name in demand.required or name in node.schema.get("properties", {})
    demand.forks.append(Fork([present, absent] if wanted else [absent, present], scopes))


def _unevaluated_properties(demand: Demand, node: Node, value: Any, scopes: Scopes) -> None:
    demand.unevaluated_properties.append(node)


def _unevaluated_items(demand: Demand, node: Node, value: Any, scopes: Scopes) -> None:
    demand.unevaluated_items.append(node)


def _unique(demand: Demand, node: Node, value: Any, scopes: Scopes) -> None:
    demand.unique = demand.unique or bool(value)


def _twins(demand: Demand, node: Node, value: Any, scopes: Scopes) -> None:
    demand.twins = True


def _contains(demand: Demand, node: Node, value: Any, scopes: Scopes) -> None:
    counted = node.document.draft >= 2019
    least = int(node.schema.get("minContains", 1)) if counted else 1
    most = node.schema.get("maxContains") if counted else None
    demand.contains.append(Containing(node.child("contains"), least, None if most is None else int(most), scopes))
    demand.checks.append(node)


ASSERTIONS: dict[str, Keyword] = {
    "type": _type,
    "enum": _enum,
    "const": lambda demand, node, value, scopes: _enum(demand, node, [value], scopes),
    "minimum": _minimum,
    "maximum": _maximum,
    "exclusiveMinimum": _above,
    "exclusiveMaximum": _below,
    "multipleOf": lambda demand, node, value, scopes: demand.multiples.append(abs(exactly(value))),
    "minLength": _at_least("min_length"),
    "maxLength": _at_most("max_length"),
    "pattern": _listed("patterns"),
    "format": _listed("formats"),
    "contentEncoding": _encoded,
    "contentMediaType": _encoded,
    "required": _required,
    "minProperties": _at_least("min_properties"),
    "maxProperties": _at_most("max_properties"),
    "propertyNames": _names,
    "dependentRequired": _dependent_required,
    "dependentSchemas": _dependent_schemas,
    "dependencies": _dependencies,
    "unevaluatedProperties": _unevaluated_properties,
    "minItems": _at_least("min_items"),
    "maxItems": _at_most("max_items"),
    "uniqueItems": _unique,
    "contains": _contains,
    "unevaluatedItems": _unevaluated_items,
    "examples": _sample,
    "example": _sample,
    "default": lambda demand, node, value, scopes: demand.samples.append(value),
    "title": _hint,
    "description": _hint,
    EXCLUDED: _excluded,
    NO_MULTIPLE: lambda demand, node, value, scopes: demand.no_multiples.append(abs(exactly(value))),
    NO_PATTERN: _listed("no_patterns"),
    FORBIDDEN: _forbidden,
    EXTRA: _listed("extras"),
    NAMED: _listed("named"),
    NAME: _listed("name_demands"),
    TWINS: _twins,
    WHOLE: _whole,
}

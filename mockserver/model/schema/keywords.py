"""How a demand grows by a schema, keyword by keyword.

What asserts something of the value itself is in `assertions.py`; what applies other schemas to the same value is here,
since these are added in turn.
"""

from collections.abc import Sequence
from typing import Any

from mockserver.model.schema.assertions import ASSERTIONS
from mockserver.model.schema.demands import Demand, Fork, Keyword
from mockserver.model.schema.documents import DRAFTS, Node
from mockserver.model.schema.made import opposite
from mockserver.model.schema.opposites import Way, refutations
from mockserver.model.schema.properties import Scopes, Shape

_OBJECT_SHAPE = {"properties", "patternProperties", "additionalProperties"}
_ARRAY_SHAPE = {"items", "prefixItems", "additionalItems"}


def add(demand: Demand, node: Node, scopes: Scopes = ()) -> None:
    """Let a schema apply too. `scopes` are the schemas around it that have an `unevaluated...` keyword."""
    schema = node.schema
    if schema is True or (id(node), scopes) in demand.seen:
        return
    if schema is False:
        demand.dead = True
        return
    demand.seen[id(node), scopes] = node
    if ("unevaluatedProperties" in schema or "unevaluatedItems" in schema) and node not in scopes:
        scopes = (*scopes, node)
    if "$ref" in schema and node.document.draft <= 7:
        _reference(demand, node, schema["$ref"], scopes)
        return
    known = _KNOWN_IN[node.document.draft]
    for keyword, value in schema.items():
        grow = known.get(keyword)
        if grow is not None:
            grow(demand, node, value, scopes)
    if not _OBJECT_SHAPE.isdisjoint(schema):
        demand.objects.append(Shape(node, scopes))
    if not _ARRAY_SHAPE.isdisjoint(schema):
        demand.arrays.append(Shape(node, scopes))


def _all_of(demand: Demand, node: Node, value: Any, scopes: Scopes) -> None:
    for index in range(len(value)):
        add(demand, node.child("allOf", index), scopes)


def _any_of(demand: Demand, node: Node, value: Any, scopes: Scopes) -> None:
    parts = [node.child("anyOf", index) for index in range(len(value))]
    if len(parts) == 1:
        add(demand, parts[0], scopes)
    else:
        demand.forks.append(Fork([(part,) for part in parts], scopes))


def _one_of(demand: Demand, node: Node, value: Any, scopes: Scopes) -> None:
    parts = [node.child("oneOf", index) for index in range(len(value))]
    if len(parts) == 1:
        add(demand, parts[0], scopes)
        return
    others = [opposite(part) for part in parts]
    strict = [(part, *others[:place], *others[place + 1 :]) for place, part in enumerate(parts)]
    _fork(demand, node, scopes, checked=[*((part,) for part in parts), *strict], unchecked=strict)


def _not(demand: Demand, node: Node, value: Any, scopes: Scopes) -> None:
    ways = refutations(node.child("not"))
    if len(ways) == 1:
        for part in ways[0]:
            add(demand, part, scopes)
        if node.place is not None:
            demand.checks.append(node)
        return
    _fork(demand, node, scopes, checked=[(), *ways], unchecked=ways)


def _if(demand: Demand, node: Node, value: Any, scopes: Scopes) -> None:
    schema = node.schema
    if "then" not in schema and "else" not in schema:
        return
    met = (node.child("if"), *([node.child("then")] if "then" in schema else []))
    other = (node.child("else"),) if "else" in schema else ()
    strict = (*other, opposite(node.child("if")))
    _fork(demand, node, scopes, checked=[met, other, strict], unchecked=[met, strict])


def _fork(demand: Demand, node: Node, scopes: Scopes, *, checked: Sequence[Way], unchecked: Sequence[Way]) -> None:
    """Put off a choice among ways to meet a schema.

    Those to be checked may be optimistic: a value that has been made can be held against the schema. That takes a place
    in the document, so the ways of a schema that we have made ourselves must be sure to meet it.
    """
    if node.place is None:
        demand.forks.append(Fork(unchecked, scopes))
    else:
        demand.checks.append(node)
        demand.forks.append(Fork(checked, scopes))


def _reference(demand: Demand, node: Node, value: Any, scopes: Scopes) -> None:
    found = node.document.resolve(value, node.base)
    if found is not None:
        add(demand, found, scopes)


def _dynamic_reference(demand: Demand, node: Node, value: Any, scopes: Scopes) -> None:
    found = node.document.resolve(value, node.base)
    anchor = value.rpartition("#")[2]
    if found is not None and isinstance(found.schema, dict) and found.schema.get("$dynamicAnchor") == anchor:
        options = list({id(each): each for each in (*node.document.dynamic(anchor), found)}.values())
        if len(options) > 1:
            demand.forks.append(Fork([(option,) for option in options], scopes))
            return
    if found is not None:
        add(demand, found, scopes)


def _recursive_reference(demand: Demand, node: Node, value: Any, scopes: Scopes) -> None:
    """Draft 2019-09 has a single dynamic anchor, without a name."""
    root = node.document.root
    own = node.document.resolve("#", node.base)
    add(demand, root if isinstance(root.schema, dict) and root.schema.get("$recursiveAnchor") else own or root, scopes)


_APPLICATORS: dict[str, Keyword] = {
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
    "if": _if,
    "$ref": _reference,
    "$dynamicRef": _dynamic_reference,
    "$recursiveRef": _recursive_reference,
}

# The first drafts that know a keyword; in earlier ones it means nothing, whatever its value.
_SINCE = {
    "dependentRequired": 2019,
    "dependentSchemas": 2019,
    "unevaluatedProperties": 2019,
    "unevaluatedItems": 2019,
    "$recursiveRef": 2019,
    "$dynamicRef": 2020,
}
_KNOWN_IN = {
    draft: {
        keyword: grow for keyword, grow in (ASSERTIONS | _APPLICATORS).items() if _SINCE.get(keyword, draft) <= draft
    }
    for draft in DRAFTS
}

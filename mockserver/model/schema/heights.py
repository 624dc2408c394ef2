"""The minimum depth of a value, judged from its schemas alone, and so which ways to meet a schema end soonest."""

from collections.abc import Iterable, Sequence
from math import inf

from mockserver.core.seeding import Draws
from mockserver.model.schema.documents import Node

_LOOKS = 6


def ordered(options: Sequence[tuple[Node, ...]], draws: Draws, *, frugal: bool) -> Sequence[tuple[Node, ...]]:
    """Ways to meet a choice as they are tried: in drawn order, null seldom first; if frugal the lowest first."""
    if len(options) < 2:
        return options
    if frugal:
        return sorted(options, key=lambda option: max((height(node) for node in option), default=0))
    made = [option for option in options if not option or any(node.place is None for node in option)]
    plain = [option for option in options if option and all(node.place is not None for node in option)]
    start = draws.below(len(plain)) if plain else 0
    plain = plain[start:] + plain[:start]
    if draws.below(8):
        plain.sort(key=lambda option: all(_is_null(node) for node in option))
    return [*(option for option in made if not option), *plain, *(option for option in made if option)]


def _is_null(node: Node) -> bool:
    return isinstance(node.schema, dict) and node.schema.get("type") == "null"


def height(node: Node, looks: int = _LOOKS) -> float:
    """The minimum number of levels of a value; infinite within a recursive schema."""
    if not isinstance(node.schema, dict):
        return 0 if node.schema else inf
    if looks == 0:
        return _LOOKS
    if not node.height:
        node.height = _height(node, looks) + 1
    return node.height - 1


def _height(node: Node, looks: int) -> float:
    schema = node.schema
    found = max((height(part, looks - 1) for part in _beside(node)), default=0.0)
    for keyword in ("anyOf", "oneOf"):
        if isinstance(schema.get(keyword), list):
            parts = (height(node.child(keyword, index), looks - 1) for index in range(len(schema[keyword])))
            found = max(found, min(parts, default=0))
    below = max((height(part, looks - 1) for part in _below(node)), default=-1.0)
    return max(found, below + 1)


def _beside(node: Node) -> Iterable[Node]:
    schema = node.schema
    if isinstance(schema.get("$ref"), str):
        target = node.document.resolve(schema["$ref"], node.base)
        if target is not None:
            yield target
    if node.place is not None and isinstance(schema.get("allOf"), list):
        yield from (node.child("allOf", index) for index in range(len(schema["allOf"])))


def _below(node: Node) -> Iterable[Node]:
    schema = node.schema
    properties = schema.get("properties")
    if node.place is None or schema.get("type", "object") not in ("object", "array"):
        return
    if isinstance(properties, dict) and isinstance(schema.get("required"), list):
        yield from (node.child("properties", name) for name in schema["required"] if name in properties)
    if schema.get("minItems") and isinstance(schema.get("items"), dict):
        yield node.child("items")

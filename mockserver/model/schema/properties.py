"""What schemas say of the properties of an object: which they name, and which schemas apply to each of them."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mockserver.model.schema.documents import Node
from mockserver.model.schema.matching import matcher

Scopes = tuple[Node, ...]

_OPEN = {"patternProperties", "additionalProperties"}


class Shape(NamedTuple):
    """A schema that says which schemas the parts of an object or an array have."""

    node: Node
    scopes: Scopes


class Properties:
    """The properties of objects of these shapes. `declared` are the names, in the schemas' own order.

    `unevaluated` are the schemas that care for what nothing else evaluates.
    """

    def __init__(self, shapes: Sequence[Shape], unevaluated: Sequence[Node]) -> None:
        self._unevaluated = unevaluated
        # Shapes that say nothing of properties which they do not name are looked up by name.
        self._naming: dict[str, list[Shape]] = {}
        self._open: list[Shape] = []
        for shape in shapes:
            if not _OPEN.isdisjoint(shape.node.schema):
                self._open.append(shape)
                continue
            for name in shape.node.schema["properties"]:
                self._naming.setdefault(name, []).append(shape)
        named = (shape.node.schema.get("properties", ()) for shape in shapes)
        self.declared: tuple[str, ...] = tuple(dict.fromkeys(name for names in named for name in names))
        self._pieces = {name: self._find(name) for name in self.declared}
        self._barred = {name for name, pieces in self._pieces.items() if _bar(pieces)}

    def may_have(self, name: str) -> bool:
        """Whether no schema rules a property out, whatever its value."""
        return name not in self._barred if name in self._pieces else not _bar(self._find(name))

    def are_exactly(self, names: Mapping[str, object]) -> bool:
        """Whether these are the declared properties, and no schema rules one of them out."""
        return not self._barred and names.keys() == self._pieces.keys()

    def pieces(self, name: str) -> Sequence[Node]:
        """All the schemas that apply to a property, whether it is declared or not."""
        found = self._pieces.get(name)
        return self._find(name) if found is None else found

    def _find(self, name: str) -> Sequence[Node]:
        found: list[Node] = []
        covered: set[int] = set()
        for node, scopes in (*self._naming.get(name, ()), *self._open):
            parts = _parts_of(node, name)
            if parts:
                covered.update(id(scope) for scope in scopes)
                found += parts
        found += [node.child("unevaluatedProperties") for node in self._unevaluated if id(node) not in covered]
        return tuple(node for node in found if node.schema is not True)


def _bar(pieces: Sequence[Node]) -> bool:
    return any(node.schema is False for node in pieces)


def _parts_of(node: Node, name: str) -> list[Node]:
    """What one schema says of a property: its own schema and those of the patterns, else that of additional ones."""
    schema = node.schema
    found = [node.child("properties", name)] if name in schema.get("properties", ()) else []
    for pattern in schema.get("patternProperties", ()):
        matches = matcher((pattern,))
        if matches is not None and matches(name):
            found.append(node.child("patternProperties", pattern))
    return found or ([node.child("additionalProperties")] if "additionalProperties" in schema else [])

"""The shapes of objects, as their schemas have them: which properties there are, and what each may hold."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from mockserver.model.extraction.mentions import is_clear
from mockserver.model.schema.documents import Document
from mockserver.model.schema.instances import compiled

Schema = Mapping[str, Any]

# How many references and choices of a schema are followed.
_MOST_STEPS = 4
NUMERIC = ("integer", "number")


class Part(NamedTuple):
    """A property of an object, with its own schema. A `vague` one does not tell what it means."""

    name: str
    own: Schema
    vague: bool


class Shape:
    """The properties of an object as its schema has them, the clear ones first in `clear_first`; `root` is the whole
    schema. `numeric` are the names of those that are numbers.
    """

    def __init__(self, schema: Schema, root: Schema) -> None:
        self._root = root
        self.parts = [Part(name, own, is_vague(name, own)) for name, own in properties(schema, root)]
        self.clear_first = sorted(self.parts, key=lambda part: part.vague)
        self.keys = {part.name.lower() for part in self.parts}
        self.numeric = [part.name for part in self.parts if _is_number(part.own)]
        self._shapes: dict[str, Shape] = {}

    def of(self, name: str, schema: Schema) -> "Shape":
        """The shape of the object that a property holds, or of those in its list."""
        found = self._shapes.get(name)
        if found is None:
            found = self._shapes[name] = Shape(_plain(schema, self._root), self._root)
        return found

    def ordered(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """An object with its properties in the order of the schema."""
        order = dict.fromkeys([*(part.name for part in self.parts if part.name in value), *value])
        return {name: value[name] for name in order}


class KnownSchema:
    """A schema that was read: its document, and what filling needs of it."""

    def __init__(self, document: Document) -> None:
        self.document = document

    @cached_property
    def shape(self) -> Shape:
        """The shape of the object that the schema describes."""
        schema = self.document.schema
        return Shape(_plain(schema, schema), schema)

    @property
    def accepts(self) -> Callable[[object], bool]:
        """Whether the schema accepts a value, including its formats."""
        document = self.document
        return lambda value: document.accepts(value) and document.accepts_formats(value)


def known_schema(schema: Schema) -> KnownSchema:
    """A schema as it was read, perhaps for an earlier request."""
    document = compiled(schema).document
    known: KnownSchema | None = document.kept.get(KnownSchema)
    if known is None:
        known = document.kept[KnownSchema] = KnownSchema(document)
    return known


def properties(schema: Schema, root: Schema) -> Iterator[tuple[str, Schema]]:
    """The properties of an object by name, references resolved and `anyOf` replaced by its first choice but null."""
    own = schema.get("properties")
    if isinstance(own, Mapping):
        yield from ((name, _plain(part, root)) for name, part in own.items() if isinstance(part, Mapping))


def type_of(own: Schema) -> str:
    """The first type of a value other than null; empty if the schema has none."""
    kind = own.get("type")
    if isinstance(kind, list):
        return next((name for name in kind if name != "null"), "")
    return kind if isinstance(kind, str) else ""


def in_order(value: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """An object with its properties in the order of its schema."""
    return known_schema(schema).shape.ordered(value)


def accepting(schema: Schema) -> Callable[[object], bool]:
    """A function that tells whether the schema accepts a value, including its formats."""
    return known_schema(schema).accepts


def is_vague(name: str, own: Schema) -> bool:
    """Whether a property is a string with no hint at its meaning, so that others are filled first."""
    return type_of(own) == "string" and not {"enum", "const", "format"} & own.keys() and not says_what(name, own)


def says_what(name: str, own: Schema) -> bool:
    """Whether a property tells what it means, by its name, its format or its description."""
    return is_clear(f"{name} {own.get('format', '')}", description_of(own))


def description_of(own: Schema) -> str:
    """The description in a schema; empty if it has none."""
    return own["description"] if isinstance(own.get("description"), str) else ""


def _is_number(own: Schema) -> bool:
    return type_of(own) in NUMERIC and "enum" not in own


def _plain(own: Schema, root: Schema) -> Schema:
    """A schema with references resolved and `anyOf` replaced by its first choice other than null, in a few steps."""
    for _ in range(_MOST_STEPS):
        if isinstance(own.get("$ref"), str):
            document = known_schema(root).document
            found = document.resolve(own["$ref"], document.base)
            own = found.schema if found is not None and isinstance(found.schema, Mapping) else {}
            continue
        choices = own.get("anyOf")
        listed = choices if isinstance(choices, list) else []
        chosen = (each for each in listed if isinstance(each, Mapping) and each.get("type") != "null")
        choice = next(chosen, None)
        if choice is None:
            break
        own = choice
    return own

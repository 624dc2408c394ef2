"""What all the schemas that apply to one value ask of it together, and the ways to meet them.

A merged schema grows schema by schema, keyword by keyword (`keywords.py`); one combination of its alternatives after
another is tried. A document keeps what its own schemas ask for, since they are met again with every answer.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from mockserver.core.seeding import Draws
from mockserver.model.schema.documents import SchemaNode, matcher
from mockserver.model.schema.keywords import KNOWN_IN, TYPES, Alternatives, Branch, Containing, Scopes, reference

_OBJECT_SHAPE = {"properties", "patternProperties", "additionalProperties"}
_ARRAY_SHAPE = {"items", "prefixItems", "additionalItems"}


class ObjectShape(NamedTuple):
    """A schema that says which schemas the parts of an object or an array have."""

    node: SchemaNode
    scopes: Scopes


class MergedSchema:
    """What is asked of one value. `dead` is True if no value can be like that.

    `checks` are schemas that a finished value must be held against, since the rest does not ensure them. `grids` are
    derived from it once it is complete; `kept` is a cache of its document for what its alternatives lead to, None if it
    is not cached itself.
    """

    def __init__(self) -> None:
        self.dead = False
        self.types: tuple[str, ...] = TYPES
        self.whole = False
        self.values: list[Any] | None = None
        self.samples: list[Any] = []
        self.hints: list[str] = []
        self.low: Fraction | None = None
        self.high: Fraction | None = None
        self.low_open = self.high_open = False
        self.multiples: list[Fraction] = []
        self.min_length, self.max_length = 0, None  # type: int, int | None
        self.patterns: list[str] = []
        self.no_patterns: list[str] = []
        self.formats: list[str] = []
        self.objects: list[ObjectShape] = []
        self.required: dict[str, None] = {}
        self.dependents: dict[str, list[str]] = {}
        self.names: list[SchemaNode] = []
        self.min_properties, self.max_properties = 0, None  # type: int, int | None
        self.unevaluated_properties: list[SchemaNode] = []
        self.arrays: list[ObjectShape] = []
        self.contains: list[Containing] = []
        self.unique = False
        self.min_items, self.max_items = 0, None  # type: int, int | None
        self.unevaluated_items: list[SchemaNode] = []
        self.checks: dict[SchemaNode, None] = {}
        self.alternatives: list[Alternatives] = []
        self.seen: set[tuple[SchemaNode, Scopes]] = set()
        self.grids: dict[Hashable, Any] = {}
        self.kept: dict[Hashable, Any] | None = None

    def without_alternatives(self) -> "MergedSchema":
        """A copy without the alternatives, which can grow independently."""
        other = MergedSchema.__new__(MergedSchema)
        own = other.__dict__
        own.update(self.__dict__)
        for name in _GROWING:
            own[name] = own[name].copy()
        other.alternatives, other.grids, other.kept = [], {}, None
        own.pop("properties", None)
        own.pop("is_impossible", None)
        return other

    def add(self, node: SchemaNode, scopes: Scopes = ()) -> None:
        """Let a schema apply too."""
        schema = node.schema
        if schema is True or (node, scopes) in self.seen:
            return
        if schema is False:
            self.dead = True
            return
        self.seen.add((node, scopes))
        if ("unevaluatedProperties" in schema or "unevaluatedItems" in schema) and node not in scopes:
            scopes = (*scopes, node)
        if "$ref" in schema and node.document.draft <= 7:
            reference(self, node, schema["$ref"], scopes)
            return
        known = KNOWN_IN[node.document.draft]
        for keyword, value in schema.items():
            grow = known.get(keyword)
            if grow is not None:
                grow(self, node, value, scopes)
        if not _OBJECT_SHAPE.isdisjoint(schema):
            self.objects.append(ObjectShape(node, scopes))
        if not _ARRAY_SHAPE.isdisjoint(schema):
            self.arrays.append(ObjectShape(node, scopes))

    def narrow(self, types: Sequence[str]) -> None:
        """Restrict it to these types."""
        self.types = tuple(name for name in self.types if name in types)
        self.dead = self.dead or not self.types

    @cached_property
    def is_impossible(self) -> bool:
        """Whether it is obvious that no value can meet it; only of a complete one."""
        if self.dead or self.values == []:
            return True
        contradictory = {
            "number": _contradict(self.low, self.high),
            "string": _contradict(self.min_length, self.max_length),
            "array": _contradict(self.min_items, self.max_items),
            "object": _contradict(max(self.min_properties, len(self.required)), self.max_properties),
        }
        return all(contradictory.get(name, False) for name in self.types)

    @cached_property
    def properties(self) -> "Properties":
        """What it says of properties; only of a complete one."""
        return Properties(self.objects, self.unevaluated_properties)


def _contradict(least: Any, most: Any) -> bool:
    return least is not None and most is not None and least > most


_GROWING = [name for name, value in vars(MergedSchema()).items() if isinstance(value, list | dict | set)]


# --- properties ------------------------------------------------------------------------------------------------------


class Properties:
    """The properties of objects of these shapes. `declared` are the names, in the schemas' own order.

    `unevaluated` are the schemas that care for what nothing else evaluates; `patterns` is how many patterns of names
    there are.
    """

    def __init__(self, shapes: Sequence[ObjectShape], unevaluated: Sequence[SchemaNode]) -> None:
        self._unevaluated = unevaluated
        # Shapes that say nothing of properties which they do not name are looked up by name.
        self._naming: dict[str, list[ObjectShape]] = {}
        self._open: list[ObjectShape] = []
        for shape in shapes:
            if not _OPEN.isdisjoint(shape.node.schema):
                self._open.append(shape)
                continue
            for name in shape.node.schema["properties"]:
                self._naming.setdefault(name, []).append(shape)
        named = (shape.node.schema.get("properties", ()) for shape in shapes)
        self.declared: tuple[str, ...] = tuple(dict.fromkeys(name for names in named for name in names))
        self.patterns = sum(len(shape.node.schema.get("patternProperties", ())) for shape in shapes)
        self._known = {name: self._find(name) for name in self.declared}
        self._barred = {name for name, found in self._known.items() if any(node.schema is False for node in found)}

    def schemas(self, name: str) -> Sequence[SchemaNode]:
        """All the schemas that apply to a property, whether it is declared or not."""
        found = self._known.get(name)
        return self._find(name) if found is None else found

    def may_have(self, name: str) -> bool:
        """Whether no schema rules a property out, whatever its value."""
        if name in self._known:
            return name not in self._barred
        return all(node.schema is not False for node in self._find(name))

    def are_exactly(self, names: Mapping[str, object]) -> bool:
        """Whether these are the declared properties, and no schema rules one of them out."""
        return not self._barred and names.keys() == self._known.keys()

    def _find(self, name: str) -> Sequence[SchemaNode]:
        found: list[SchemaNode] = []
        covered: set[SchemaNode] = set()
        for node, scopes in (*self._naming.get(name, ()), *self._open):
            schema = node.schema
            own = [node.child("properties", name)] if name in schema.get("properties", ()) else []
            patterns = (pattern for pattern in schema.get("patternProperties", ()) if matcher((pattern,))(name))
            own += [node.child("patternProperties", pattern) for pattern in patterns]
            if not own and "additionalProperties" in schema:
                own = [node.child("additionalProperties")]
            if own:
                covered.update(scopes)
                found += own
        found += [node.child("unevaluatedProperties") for node in self._unevaluated if node not in covered]
        return tuple(node for node in found if node.schema is not True)


_OPEN = {"patternProperties", "additionalProperties"}


# --- combinations -----------------------------------------------------------------------------------------------------

# So many merged schemas of a document are kept, some kilobytes each: those nearest to its root, which come first.
_MOST_KEPT = 64


def merged(nodes: Sequence[SchemaNode]) -> MergedSchema:
    """What schemas ask for together. Nobody may change it: where all of them have a place, their document keeps it."""
    kept = nodes[0].document.kept if nodes else None
    # The ids of nodes with a place are theirs for as long as the document lives, and no others are keys.
    key = tuple(map(id, nodes))
    found = None if kept is None else kept.get(key)
    if found is None:
        found = MergedSchema()
        for node in nodes:
            found.add(node)
        if all(node.place is not None for node in nodes):
            _keep(found, key, kept)
    return found


def branches(
    known: MergedSchema, draws: Draws, spend: Callable[[int], None], *, frugal: bool
) -> Iterator[MergedSchema]:
    """Every merged schema that this one leads to by its alternatives, the likeliest first.

    `spend` is told how many steps it takes, and may raise. A `frugal` search takes what leads to least first.
    """
    if not known.alternatives:
        # Most schemas can be met in one way only.
        return iter(() if known.is_impossible else (known,))
    ordered = [(_ordered(each.options, draws, frugal=frugal), each.scopes) for each in known.alternatives]
    return _combined(known, ordered, spend)


def _combined(
    known: MergedSchema, alternatives: Sequence[tuple[Sequence[Branch], Scopes]], spend: Callable[[int], None]
) -> Iterator[MergedSchema]:
    if known.is_impossible:
        return
    if not alternatives:
        yield known
        return
    (options, scopes), *rest = alternatives
    for option in options:
        # A copy is made, too.
        spend(1 + len(option) // 4 + (len(known.seen) + len(known.required) + len(known.dependents)) // 1000)
        key = (id(known), tuple(map(id, option)), scopes)
        further: MergedSchema | None = None if known.kept is None else known.kept.get(key)
        if further is None:
            further = known.without_alternatives()
            for node in option:
                further.add(node, scopes)
            _keep(further, key, known.kept)
        yield from _combined(further, (*rest, *further.alternatives), spend)


def _keep(known: MergedSchema, key: Hashable, kept: dict[Hashable, MergedSchema] | None) -> None:
    if kept is not None and len(kept) < _MOST_KEPT:
        kept[key] = known
        known.kept = kept


def _ordered(options: Sequence[Branch], draws: Draws, *, frugal: bool) -> Sequence[Branch]:
    """Alternatives as they are tried: in drawn order, null seldom first; if frugal those that lead to least first."""
    if len(options) < 2:
        return options
    if frugal:
        return sorted(options, key=lambda option: max(map(_effort, option), default=0))
    stands = [bool(option) and all(node.place is not None for node in option) for option in options]
    plain = [option for option, standing in zip(options, stands, strict=True) if standing]
    made = [option for option, standing in zip(options, stands, strict=True) if option and not standing]
    start = draws.below(len(plain)) if plain else 0
    if draws.below(8):
        plain = sorted(plain[start:] + plain[:start], key=lambda option: all(map(_is_null, option)))
    else:
        plain = plain[start:] + plain[:start]
    # What is optimistic comes first, and what excludes other branches last.
    return [*(option for option in options if not option), *plain, *made[start:], *made[:start]]


def _effort(node: SchemaNode) -> int:
    """How many schemas one leads to, where they may lead back to themselves: the fewer, the sooner a value ends."""
    return node.document.reach.efforts.get(node, 0)


def _is_null(node: SchemaNode) -> bool:
    return isinstance(node.schema, dict) and node.schema.get("type") == "null"

"""What all the schemas that apply to one value ask of it together.

A merged schema grows schema by schema, keyword by keyword. Where a keyword can be met in several ways (`anyOf`,
`oneOf`, `not`, `if`, `dependentSchemas`) these are kept as `Alternatives`, and one combination after another is tried
(`branches.py`). An alternative may be optimistic: its schema is noted in `checks`, and a finished value is held against
that.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, NamedTuple

from mockserver.core.json_values import ValueSet
from mockserver.model.schema.documents import DRAFTS, SchemaNode, matcher
from mockserver.model.schema.negation import TYPES, Branch, negate, violations

# From here on all floats are whole numbers, and not all whole numbers are floats.
ALL_WHOLE = 2**53
# Of `oneOf` with more branches none is tried together with the opposites of all others.
_MOST_OPPOSED = 60

# The schemas around one that have an `unevaluated...` keyword.
Scopes = tuple[SchemaNode, ...]


class Alternatives(NamedTuple):
    """Several ways to meet a keyword, each a tuple of schemas to be added; the first is preferred."""

    options: Sequence[Branch]
    scopes: Scopes


class ObjectShape(NamedTuple):
    """A schema that says which schemas the parts of an object or an array have."""

    node: SchemaNode
    scopes: Scopes


class Containing(NamedTuple):
    """How many items must conform to a schema (`contains`)."""

    node: SchemaNode
    least: int
    most: int | None
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
            _reference(self, node, schema["$ref"], scopes)
            return
        known = _KNOWN_IN[node.document.draft]
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


def exactly(number: float) -> Fraction:
    """A number as it is written: 0.1 is a tenth. Of a large float the digits are rounded: it is what it holds."""
    if isinstance(number, int) or abs(number) >= ALL_WHOLE:
        return Fraction(number)
    return Fraction(repr(number))


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


# --- keywords --------------------------------------------------------------------------------------------------------

# Lets a merged schema grow by a keyword. Arguments: it, the schema, the keyword's value, and the scopes.
_Keyword = Callable[[MergedSchema, SchemaNode, Any, Scopes], None]

_OBJECT_SHAPE = {"properties", "patternProperties", "additionalProperties"}
_ARRAY_SHAPE = {"items", "prefixItems", "additionalItems"}


def _type(into: MergedSchema, node: SchemaNode, value: Any, scopes: Scopes) -> None:
    names = [value] if isinstance(value, str) else value
    if "integer" in names and "number" not in names and "number" in into.types:
        into.whole = True
    into.narrow(["number" if name == "integer" else name for name in names])


def _enum(into: MergedSchema, node: SchemaNode, value: Any, scopes: Scopes) -> None:
    allowed = None if into.values is None else ValueSet(value)
    into.values = list(value) if allowed is None else [each for each in into.values or () if each in allowed]


def _low(into: MergedSchema, node: SchemaNode, value: Any, scopes: Scopes, *, strict: bool = False) -> None:
    # In draft 4 `exclusiveMinimum` is a boolean that belongs to `minimum`.
    if not isinstance(value, bool):
        is_open = strict or node.schema.get("exclusiveMinimum") is True
        if into.low is None or (exactly(value), is_open) > (into.low, into.low_open):
            into.low, into.low_open = exactly(value), is_open


def _high(into: MergedSchema, node: SchemaNode, value: Any, scopes: Scopes, *, strict: bool = False) -> None:
    if not isinstance(value, bool):
        is_open = strict or node.schema.get("exclusiveMaximum") is True
        if into.high is None or (-exactly(value), is_open) > (-into.high, into.high_open):
            into.high, into.high_open = exactly(value), is_open


def _size(name: str) -> _Keyword:
    """A bound of a size: the highest of the lower ones, the lowest of the upper ones."""
    nearer = max if name.startswith("min") else min

    def grow(into: MergedSchema, node: SchemaNode, value: Any, scopes: Scopes) -> None:
        known = getattr(into, name)
        setattr(into, name, int(value) if known is None else nearer(known, int(value)))

    return grow


def _listed(name: str) -> _Keyword:
    """A keyword whose values are collected, since all of them apply."""
    return lambda into, node, value, scopes: getattr(into, name).append(value)


def _encoded(into: MergedSchema, node: SchemaNode, value: Any, scopes: Scopes) -> None:
    """The encoding or media type of a text, treated as a format."""
    if value == "base64":
        into.formats.append("base64")
    elif value == "application/json" and "contentEncoding" not in node.schema:
        into.formats.append("json")


def _sample(into: MergedSchema, node: SchemaNode, value: Any, scopes: Scopes) -> None:
    into.samples += value if isinstance(value, list) else [value]


def _hint(into: MergedSchema, node: SchemaNode, value: Any, scopes: Scopes) -> None:
    if isinstance(value, str):
        into.hints.append(value)


def _required(into: MergedSchema, node: SchemaNode, value: Any, scopes: Scopes) -> None:
    # In draft 3 it was a boolean.
    if isinstance(value, list):
        into.required.update(dict.fromkeys(value))


def _dependent(into: MergedSchema, node: SchemaNode, value: Any, scopes: Scopes, keyword: str = "dependencies") -> None:
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


def _contains(into: MergedSchema, node: SchemaNode, value: Any, scopes: Scopes) -> None:
    counted = node.document.draft >= 2019
    least = int(node.schema.get("minContains", 1)) if counted else 1
    most = node.schema.get("maxContains") if counted else None
    into.contains.append(Containing(node.child("contains"), least, None if most is None else int(most), scopes))
    into.checks[node] = None


def _all_of(into: MergedSchema, node: SchemaNode, value: Any, scopes: Scopes) -> None:
    for index in range(len(value)):
        into.add(node.child("allOf", index), scopes)


def _any_of(into: MergedSchema, node: SchemaNode, value: Any, scopes: Scopes) -> None:
    _choose(into, [(node.child("anyOf", index),) for index in range(len(value))], scopes)


def _one_of(into: MergedSchema, node: SchemaNode, value: Any, scopes: Scopes) -> None:
    into.checks[node] = None
    parts = [node.child("oneOf", index) for index in range(len(value))]
    others = list(map(negate, parts)) if 1 < len(parts) <= _MOST_OPPOSED else []
    strict = [(part, *others[:place], *others[place + 1 :]) for place, part in enumerate(parts) if others]
    _choose(into, [*((part,) for part in parts), *strict], scopes)


def _not(into: MergedSchema, node: SchemaNode, value: Any, scopes: Scopes) -> None:
    into.checks[node] = None
    if isinstance(value, dict) and value.keys() == {"pattern"}:
        into.narrow(["string"])
        into.no_patterns.append(value["pattern"])
        return
    ways = violations(node.child("not"))
    into.dead = into.dead or not ways
    _choose(into, ways if len(ways) == 1 else [(), *ways], scopes)


def _if(into: MergedSchema, node: SchemaNode, value: Any, scopes: Scopes) -> None:
    schema = node.schema
    if "then" not in schema and "else" not in schema:
        return
    into.checks[node] = None
    met = (node.child("if"), *([node.child("then")] if "then" in schema else []))
    other = (node.child("else"),) if "else" in schema else ()
    _choose(into, [met, other, (*other, negate(node.child("if")))], scopes)


def _choose(into: MergedSchema, options: Sequence[Branch], scopes: Scopes) -> None:
    if len(options) != 1:
        into.alternatives.append(Alternatives(options, scopes))
        return
    for node in options[0]:
        into.add(node, scopes)


def _reference(into: MergedSchema, node: SchemaNode, value: Any, scopes: Scopes) -> None:
    found = node.document.resolve(value, node.base)
    if found is not None:
        into.add(found, scopes)


def _dynamic_reference(into: MergedSchema, node: SchemaNode, value: Any, scopes: Scopes) -> None:
    found = node.document.resolve(value, node.base)
    anchor = value.rpartition("#")[2]
    if found is not None and isinstance(found.schema, dict) and found.schema.get("$dynamicAnchor") == anchor:
        options = dict.fromkeys((*node.document.dynamic(anchor), found))
        _choose(into, [(option,) for option in options], scopes)
    elif found is not None:
        into.add(found, scopes)


def _recursive_reference(into: MergedSchema, node: SchemaNode, value: Any, scopes: Scopes) -> None:
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
    "$ref": _reference,
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
_KNOWN_IN = {
    draft: {keyword: grow for keyword, grow in _KEYWORDS.items() if _SINCE.get(keyword, draft) <= draft}
    for draft in DRAFTS
}

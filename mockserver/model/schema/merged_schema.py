"""What all the schemas that apply to one value ask of it together, and the ways to meet them.

A merged schema grows schema by schema, keyword by keyword. Where a keyword can be met in several ways (`anyOf`,
`oneOf`, `if`, `dependentSchemas`), one combination after another is tried. What is dear to reason about is left to the
validator: what must not hold, what counts as evaluated, which branches of `oneOf` exclude each other. A schema that
asks for such a thing is one of the `checks`, against which finished values are held.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from copy import copy
from functools import partial
from typing import Any, NamedTuple

from mockserver.core.json_values import ValueSet
from mockserver.core.seeding import Draws
from mockserver.model.schema.documents import DRAFTS, SchemaNode, matcher

TYPES = ("object", "string", "number", "array", "boolean", "null")
# So many merged schemas of a document are kept, some kilobytes each: those nearest to its root, which come first.
_MOST_KEPT = 64

# Schemas that are to apply together: one way to meet a keyword.
Branch = tuple[SchemaNode, ...]


class Containing(NamedTuple):
    """How many items must conform to a schema (`contains`)."""

    node: SchemaNode
    least: int
    most: int | None


class MergedSchema:
    """What is asked of one value. `dead` is True if it is obvious that no value can be like that.

    `values` are those of `enum` and `const`, None without these. `rules` are other keywords: the narrowest bounds and
    sizes, all values of `pattern`, `format`, `multipleOf`, `contains` and `propertyNames`. `open_shapes` are schemas
    that say something of properties which they do not name, by so many `patterns`; `arrays` say something of items.
    `checks` are held against what is made by all this; `grids` are derived from it (`numbers.py`).
    """

    def __init__(self) -> None:
        self.dead = False
        self.types: tuple[str, ...] = TYPES
        self.whole = False
        self.values: list[Any] | None = None
        self.rules: dict[str, Any] = {}
        self.properties: dict[str, Branch] = {}
        self.required: dict[str, None] = {}
        self.dependents: dict[str, tuple[str, ...]] = {}
        self.open_shapes: Branch = ()
        self.patterns = 0
        self.arrays: Branch = ()
        self.checks: dict[SchemaNode, None] = {}
        self.alternatives: list[Sequence[Branch]] = []
        self.grids: dict[Hashable, Any] = {}
        self._seen: set[SchemaNode] = set()
        self._found: dict[str, Branch | None] = {}

    def get(self, keyword: str, default: Any = None) -> Any:
        """What is asked for by a keyword."""
        return self.rules.get(keyword, default)

    def all(self, keyword: str) -> tuple[Any, ...]:
        """All values of a keyword of which each applies."""
        found: tuple[Any, ...] = self.rules.get(keyword, ())
        return found

    @property
    def size(self) -> int:
        """How much a copy has to copy."""
        return len(self._seen) + len(self.properties) + len(self.required) + len(self.dependents)

    def without_alternatives(self) -> "MergedSchema":
        """A copy without the alternatives, which can grow independently."""
        other = copy(self)
        for name in ("rules", "properties", "required", "dependents", "checks", "_seen"):
            setattr(other, name, getattr(self, name).copy())
        other.alternatives, other.grids, other._found = [], {}, {}
        return other

    def add(self, node: SchemaNode) -> None:
        """Let a schema apply too."""
        schema = node.schema
        if isinstance(schema, bool):
            self.dead = self.dead or not schema
        elif node not in self._seen:
            self._seen.add(node)
            known = _KNOWN_IN[node.document.draft]
            for keyword in ["$ref"] if "$ref" in schema and node.document.draft <= 7 else schema:
                grow = known.get(keyword)
                if grow is not None:
                    grow(self, node, keyword, schema[keyword])

    def narrow(self, types: Sequence[str]) -> None:
        """Restrict it to these types."""
        self.types = tuple(name for name in self.types if name in types)
        self.dead = self.dead or not self.types

    def choose(self, *options: Branch) -> None:
        """Let one of several branches apply too."""
        if len(options) == 1:
            for node in options[0]:
                self.add(node)
        else:
            self.alternatives.append(options)

    def schemas(self, name: str) -> Branch | None:
        """All the schemas that apply to a property, declared or not; None if it is ruled out, whatever its value. Only
        of a complete one."""
        if name in self._found:
            return self._found[name]
        found = self.properties.get(name, ())
        for node in self.open_shapes:
            schema = node.schema
            patterns = (pattern for pattern in schema.get("patternProperties", ()) if matcher((pattern,))(name))
            own = tuple(node.child("patternProperties", pattern) for pattern in patterns)
            if not own and name not in schema.get("properties", ()) and "additionalProperties" in schema:
                own = (node.child("additionalProperties"),)
            found += own
        # As if all that applies here were beside it; the check says where it is not.
        found = found or self.all("unevaluatedProperties")
        possible = all(node.schema is not False for node in found) and all(
            node.holds(name) for node in self.all("propertyNames")
        )
        result = tuple(node for node in found if node.schema is not True) if possible else None
        if name in self.properties:
            self._found[name] = result
        return result

    def items(self, place: int) -> Branch:
        """The schemas that apply to the item at a place."""
        found: Branch = ()
        for node in self.arrays:
            first = "items" if isinstance(node.schema.get("items"), list) else "prefixItems"
            rest = "additionalItems" if first == "items" else "items"
            if place < prefix_length(node):
                found += (node.child(first, place),)
            elif rest in node.schema:
                found += (node.child(rest),)
        return found


def prefix_length(node: SchemaNode) -> int:
    """How many items have schemas of their own; before draft 2020-12 these were `items` as a list."""
    items = node.schema.get("items")
    if isinstance(items, list):
        return len(items)
    return len(node.schema.get("prefixItems", ())) if node.document.draft >= 2020 else 0


# --- keywords ---------------------------------------------------------------------------------------------------------

# Lets a merged schema grow by a keyword, given the schema and its value.
_Keyword = Callable[[MergedSchema, SchemaNode, str, Any], None]


def _type(into: MergedSchema, node: SchemaNode, keyword: str, value: Any) -> None:
    names = [value] if isinstance(value, str) else value
    if "integer" in names and "number" not in names and "number" in into.types:
        into.whole = True
    into.narrow(["number" if name == "integer" else name for name in names])


def _enum(into: MergedSchema, node: SchemaNode, keyword: str, value: Any) -> None:
    value = [value] if keyword == "const" else value
    allowed = None if into.values is None else ValueSet(value)
    into.values = list(value) if allowed is None else [each for each in into.values or () if each in allowed]
    into.dead = into.dead or not into.values


def _bound(into: MergedSchema, node: SchemaNode, keyword: str, value: Any) -> None:
    # In draft 4 `exclusiveMinimum` is a boolean that belongs to `minimum`.
    if not isinstance(value, bool):
        strict = f"exclusiveM{keyword[1:]}"
        keyword = strict if node.schema.get(strict) is True else keyword
        nearer = max if keyword.endswith("inimum") else min
        into.rules[keyword] = nearer(value, into.rules.get(keyword, value))


def _size(into: MergedSchema, node: SchemaNode, keyword: str, value: Any) -> None:
    nearer = max if keyword.startswith("min") else min
    into.rules[keyword] = nearer(int(value), into.rules.get(keyword, int(value)))


def _listed(into: MergedSchema, node: SchemaNode, keyword: str, value: Any, name: str = "") -> None:
    """A keyword whose values are collected, since all of them apply."""
    into.rules[name or keyword] = (*into.rules.get(name or keyword, ()), value)


def _schema(into: MergedSchema, node: SchemaNode, keyword: str, value: Any) -> None:
    _listed(into, node, keyword, node.child(keyword))


def _unevaluated(into: MergedSchema, node: SchemaNode, keyword: str, value: Any) -> None:
    into.checks[node] = None
    _schema(into, node, keyword, value)


def _encoded(into: MergedSchema, node: SchemaNode, keyword: str, value: Any) -> None:
    """The encoding or media type of a text, treated as a format."""
    if value == "base64" or (value == "application/json" and "contentEncoding" not in node.schema):
        _listed(into, node, "format", value.removeprefix("application/"))


def _sample(into: MergedSchema, node: SchemaNode, keyword: str, value: Any) -> None:
    for each in value if isinstance(value, list) and keyword != "default" else [value]:
        _listed(into, node, "samples", each)


def _hint(into: MergedSchema, node: SchemaNode, keyword: str, value: Any) -> None:
    if isinstance(value, str):
        _listed(into, node, "hints", value)


def _properties(into: MergedSchema, node: SchemaNode, keyword: str, value: Any) -> None:
    for name in value:
        into.properties[name] = (*into.properties.get(name, ()), node.child("properties", name))


def _open_shape(into: MergedSchema, node: SchemaNode, keyword: str, value: Any) -> None:
    into.patterns += len(value) if keyword == "patternProperties" else 0
    if node not in into.open_shapes[-1:]:
        into.open_shapes += (node,)


def _items(into: MergedSchema, node: SchemaNode, keyword: str, value: Any) -> None:
    if node not in into.arrays[-1:]:
        into.arrays += (node,)


def _required(into: MergedSchema, node: SchemaNode, keyword: str, value: Any) -> None:
    # In draft 3 it was a boolean.
    if isinstance(value, list):
        into.required.update(dict.fromkeys(value))


def _dependent(into: MergedSchema, node: SchemaNode, keyword: str, value: Any) -> None:
    """What depends on the presence of a property: others (a list), or a schema."""
    for name, part in value.items():
        if isinstance(part, list):
            into.dependents[name] = (*into.dependents.get(name, ()), *part)
        else:
            into.checks[node] = None
            wanted = name in into.required or name in node.schema.get("properties", {})
            present: Branch = (node.child(keyword, name),)
            into.choose(*([present, ()] if wanted else [(), present]))


def _contains(into: MergedSchema, node: SchemaNode, keyword: str, value: Any) -> None:
    counted = node.document.draft >= 2019
    least = int(node.schema.get("minContains", 1)) if counted else 1
    most = node.schema.get("maxContains") if counted else None
    _listed(into, node, keyword, Containing(node.child(keyword), least, None if most is None else int(most)))
    into.checks[node] = None


def _all_of(into: MergedSchema, node: SchemaNode, keyword: str, value: Any) -> None:
    for place in range(len(value)):
        into.add(node.child(keyword, place))


def _any_of(into: MergedSchema, node: SchemaNode, keyword: str, value: Any) -> None:
    if keyword == "oneOf":
        into.checks[node] = None
    into.choose(*((node.child(keyword, place),) for place in range(len(value))))


def _not(into: MergedSchema, node: SchemaNode, keyword: str, value: Any) -> None:
    into.checks[node] = None
    if isinstance(value, dict) and value.keys() == {"pattern"}:
        into.narrow(["string"])
        _listed(into, node, "not_pattern", value["pattern"])


def _if(into: MergedSchema, node: SchemaNode, keyword: str, value: Any) -> None:
    met, other = ((node.child(name),) if name in node.schema else () for name in ("then", "else"))
    if met or other:
        into.checks[node] = None
        into.choose(other, (node.child("if"), *met))


def _reference(into: MergedSchema, node: SchemaNode, keyword: str, value: Any) -> None:
    """A reference; where it depends on what refers to the schema around it, whatever it may lead to."""
    found = node.document.targets(node, keyword)
    if not found or keyword != "$ref":
        # It may lead to a metaschema, too.
        into.checks[node] = None
    if found:
        into.choose(*((each,) for each in found))


_KEYWORDS: dict[str, _Keyword] = {
    "type": _type,
    **dict.fromkeys(("enum", "const"), _enum),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _bound),
    **dict.fromkeys(("minLength", "maxLength", "minProperties", "maxProperties", "minItems", "maxItems"), _size),
    **dict.fromkeys(("pattern", "format", "multipleOf"), _listed),
    **dict.fromkeys(("contentEncoding", "contentMediaType"), _encoded),
    **dict.fromkeys(("examples", "example", "default"), _sample),
    **dict.fromkeys(("title", "description"), _hint),
    "properties": _properties,
    **dict.fromkeys(("patternProperties", "additionalProperties"), _open_shape),
    "required": _required,
    "propertyNames": _schema,
    **dict.fromkeys(("dependentRequired", "dependentSchemas", "dependencies"), _dependent),
    **dict.fromkeys(("items", "prefixItems", "additionalItems"), _items),
    "uniqueItems": lambda into, node, keyword, value: into.rules.update({keyword: into.get(keyword) or value}),
    "contains": _contains,
    **dict.fromkeys(("unevaluatedProperties", "unevaluatedItems"), _unevaluated),
    "allOf": _all_of,
    **dict.fromkeys(("anyOf", "oneOf"), _any_of),
    "not": _not,
    "if": _if,
    **dict.fromkeys(("$ref", "$dynamicRef", "$recursiveRef"), _reference),
}
# The first drafts that know a keyword; in earlier ones it means nothing, whatever its value.
_SINCE = {
    **dict.fromkeys(("contains", "propertyNames"), 6),
    "if": 7,
    **dict.fromkeys(("dependentRequired", "dependentSchemas", "unevaluatedProperties", "unevaluatedItems"), 2019),
    "$recursiveRef": 2019,
    **dict.fromkeys(("prefixItems", "$dynamicRef"), 2020),
}
_KNOWN_IN = {
    draft: {keyword: grow for keyword, grow in _KEYWORDS.items() if _SINCE.get(keyword, draft) <= draft}
    for draft in DRAFTS
}


# --- combinations -----------------------------------------------------------------------------------------------------


def merged(kept: dict[Hashable, Any], nodes: Sequence[SchemaNode], before: MergedSchema | None = None) -> MergedSchema:
    """What schemas ask for together, and with what was asked `before`. Nobody may change it: `kept` holds it."""
    key = (before, *nodes)
    found: MergedSchema | None = kept.get(key)
    if found is None:
        found = MergedSchema() if before is None else before.without_alternatives()
        for node in nodes:
            found.add(node)
        if len(kept) < _MOST_KEPT:
            kept[key] = found
    return found


def ways(
    known: MergedSchema, kept: dict[Hashable, Any], draws: Draws, spend: Callable[[int], None], *, frugal: bool
) -> Iterator[MergedSchema]:
    """Every merged schema that this one leads to by its alternatives, the likeliest first.

    `spend` is told how many steps it takes, and may raise. A `frugal` search takes what leads to least first.
    """
    return _combined(known, known.alternatives, partial(_ordered, draws=draws, frugal=frugal), kept, spend)


def _combined(
    known: MergedSchema,
    alternatives: Sequence[Sequence[Branch]],
    ordered: Callable[[Sequence[Branch]], Sequence[Branch]],
    kept: dict[Hashable, Any],
    spend: Callable[[int], None],
) -> Iterator[MergedSchema]:
    if known.dead:
        return
    if not alternatives:
        yield known
        return
    options, *rest = alternatives
    for option in ordered(options):
        # A copy is made, too.
        spend(1 + known.size // 1000)
        further = merged(kept, option, known)
        yield from _combined(further, [*rest, *further.alternatives], ordered, kept, spend)


def _ordered(options: Sequence[Branch], *, draws: Draws, frugal: bool) -> Sequence[Branch]:
    """Alternatives as they are tried: in drawn order, null seldom first; if frugal those that lead to least first."""
    if frugal:
        return sorted(options, key=lambda option: max(map(_effort, option), default=0))
    if () in options:
        return options
    start = draws.below(len(options))
    turned = [*options[start:], *options[:start]]
    return sorted(turned, key=lambda option: all(map(_is_null, option))) if draws.below(8) else turned


def _effort(node: SchemaNode) -> int:
    """How many schemas one leads to, where they may lead back to themselves: the fewer, the sooner a value ends."""
    return node.document.reach.efforts.get(node, 0)


def _is_null(node: SchemaNode) -> bool:
    return isinstance(node.schema, dict) and node.schema.get("type") == "null"

"""What all the schemas that apply to one value ask of it together, and the ways to meet them.

A merged schema grows schema by schema, keyword by keyword. Where a keyword can be met in several ways (`anyOf`,
`oneOf`, `if`, `dependentSchemas`), one combination after another is tried. What is dear to reason about is left to the
validator: what must not hold, what counts as evaluated, which branches of `oneOf` exclude each other. A schema that
asks for such a thing is one of the `checks`, against which finished values are held.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any

from mockserver.core.json_values import ValueSet
from mockserver.model.schema.documents import Document, SchemaNode

TYPES = ("object", "string", "number", "array", "boolean", "null")
# So many merged schemas of a document are kept, some kilobytes each: those nearest to its root, which come first.
_MOST_KEPT = 64

# Schemas that are to apply together: one way to meet a keyword.
Branch = tuple[SchemaNode, ...]


def merged(document: Document, nodes: Branch, before: "MergedSchema | None" = None) -> "MergedSchema":
    """What schemas ask for together, and with what was asked `before`. Nobody may change it: the document keeps it."""
    key = (before, *nodes)
    found: MergedSchema | None = document.kept.get(key)
    if found is None:
        found = MergedSchema(document) if before is None else before.without_alternatives()
        for node in nodes:
            found.add(node)
        if len(document.kept) < _MOST_KEPT:
            document.kept[key] = found
    return found


class MergedSchema:
    """What is asked of one value. `dead` is True if it is obvious that no value can be like that.

    `values` are those of `enum` and `const`, None without these. `rules` are other keywords: the narrowest bounds and
    sizes, all values of `pattern`, `format`, `multipleOf`, `propertyNames` and `contains` (with how many it asks for).
    `open_shapes` are schemas that say something of properties which they do not name, by so many `patterns`; `arrays`
    say something of items.
    `checks` are held against what is made by all this; `grids` are derived from it (`numbers.py`).
    """

    def __init__(self, document: Document) -> None:
        self.document = document
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
        schema, draft = node.schema, node.document.draft
        if isinstance(schema, bool):
            self.dead = self.dead or not schema
        elif node not in self._seen:
            self._seen.add(node)
            for keyword in ["$ref"] if "$ref" in schema and draft <= 7 else schema:
                if _SINCE.get(keyword, draft) <= draft:
                    self._grow(node, keyword, schema[keyword])

    def _grow(self, node: SchemaNode, keyword: str, value: Any) -> None:
        schema, rules = node.schema, self.rules
        if keyword in _CHECKED:
            self.checks[node] = None
        if keyword in _NARROWEST and not isinstance(value, bool):
            # In draft 4 `exclusiveMinimum` is a boolean that belongs to `minimum`.
            strict = f"exclusiveM{keyword[1:]}"
            name = strict if schema.get(strict) is True else keyword
            value = int(value) if isinstance(value, float) and value.is_integer() else value
            rules[name] = _NARROWEST[keyword](value, rules.get(name, value))
        elif keyword in _COLLECTED:
            self._collect(keyword, value)
        elif keyword in _COLLECTED_SCHEMAS:
            self._collect(keyword, node.child(keyword))
        match keyword:
            case "type":
                names = [value] if isinstance(value, str) else value
                self.whole = self.whole or ("integer" in names and "number" not in names and "number" in self.types)
                self._narrow(["number" if name == "integer" else name for name in names])
            case "enum" | "const":
                values = value if keyword == "enum" else [value]
                self.values = values if self.values is None else [*filter(ValueSet(values).__contains__, self.values)]
                self.dead = self.dead or not self.values
            case "properties":
                for name in value:
                    self.properties[name] = (*self.properties.get(name, ()), node.child(keyword, name))
            case "patternProperties" | "additionalProperties":
                self.patterns += len(value) if keyword == "patternProperties" else 0
                self.open_shapes += () if node in self.open_shapes[-1:] else (node,)
            case "items" | "prefixItems" | "additionalItems":
                self.arrays += () if node in self.arrays[-1:] else (node,)
            case "required" if isinstance(value, list):  # in draft 3 it was a boolean
                self.required.update(dict.fromkeys(value))
            case "dependentRequired" | "dependentSchemas" | "dependencies":
                self._depend(node, keyword, value)
            case "contains":
                least = schema.get("minContains", 1) if node.document.draft >= 2019 else 1
                self._collect(keyword, (node.child(keyword), int(least)))
            case "uniqueItems":
                rules[keyword] = rules.get(keyword) or value
            case "contentEncoding" | "contentMediaType":
                # A text in an encoding or of a media type has that format.
                if value == "base64" or (value == "application/json" and "contentEncoding" not in schema):
                    self._collect("format", value.removeprefix("application/"))
            case "default":
                self._collect("samples", value)
            case "examples" | "example":
                for each in value if isinstance(value, list) else [value]:
                    self._collect("samples", each)
            case "title" | "description" if isinstance(value, str):
                self._collect("hints", value)
            case "allOf":
                for place in range(len(value)):
                    self.add(node.child(keyword, place))
            case "anyOf" | "oneOf":
                self._choose(*((node.child(keyword, place),) for place in range(len(value))))
            case "not" if isinstance(value, dict) and value.keys() == {"pattern"}:
                self._narrow(["string"])
                self._collect("not_pattern", value["pattern"])
            case "if" if "then" in schema or "else" in schema:
                self.checks[node] = None
                met, other = ((node.child(name),) if name in schema else () for name in ("then", "else"))
                self._choose(other, (node.child(keyword), *met))
            case "$ref" | "$dynamicRef" | "$recursiveRef":
                found = node.document.targets(node, keyword)
                if found:
                    self._choose(*((each,) for each in found))
                else:
                    # It may lead to a metaschema.
                    self.checks[node] = None

    def _collect(self, keyword: str, value: Any) -> None:
        self.rules[keyword] = (*self.rules.get(keyword, ()), value)

    def _depend(self, node: SchemaNode, keyword: str, value: dict[str, Any]) -> None:
        """What depends on the presence of a property: others (a list), or a schema."""
        for name, part in value.items():
            if isinstance(part, list):
                self.dependents[name] = (*self.dependents.get(name, ()), *part)
            else:
                self.checks[node] = None
                wanted = name in self.required or name in node.schema.get("properties", {})
                present: Branch = (node.child(keyword, name),)
                self._choose(*([present, ()] if wanted else [(), present]))

    def ways(
        self,
        ordered: Callable[[Sequence[Branch]], Sequence[Branch]],
        spend: Callable[[int], None],
        others: Sequence[Sequence[Branch]] = (),
    ) -> Iterator["MergedSchema"]:
        """Every merged schema that this one leads to by its alternatives, and by `others`.

        `ordered` says in which order branches are tried, `spend` is told how many steps it takes, and may raise.
        """
        if self.dead:
            return
        alternatives = [*others, *self.alternatives]
        if not alternatives:
            yield self
            return
        for option in ordered(alternatives[0]):
            # A copy is made, too.
            spend(1 + self.size // 1000)
            yield from merged(self.document, option, self).ways(ordered, spend, alternatives[1:])

    def _narrow(self, types: Sequence[str]) -> None:
        """Restrict it to these types."""
        self.types = tuple(name for name in self.types if name in types)
        self.dead = self.dead or not self.types

    def _choose(self, *options: Branch) -> None:
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
            patterns = schema.get("patternProperties", ())
            matching = (pattern for pattern in patterns if self.document.matcher(pattern)(name))
            own = tuple(node.child("patternProperties", pattern) for pattern in matching)
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


# How two values of a keyword that are bounds become one.
_NARROWEST: Mapping[str, Callable[[Any, Any], Any]] = {
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minProperties", "minItems"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxProperties", "maxItems"), min),
}
# Keywords whose values are collected, and those whose schema is.
_COLLECTED = frozenset(("pattern", "format", "multipleOf"))
_COLLECTED_SCHEMAS = frozenset(("propertyNames", "unevaluatedProperties", "unevaluatedItems"))
# Keywords that ask for more than what is merged.
_CHECKED = frozenset((
    "oneOf", "not", "contains", "unevaluatedProperties", "unevaluatedItems", "$dynamicRef", "$recursiveRef",
))  # fmt: skip
# The first drafts that know a keyword; in earlier ones it means nothing, whatever its value.
_SINCE = {
    **dict.fromkeys(("contains", "propertyNames"), 6),
    "if": 7,
    **dict.fromkeys(("dependentRequired", "dependentSchemas", "unevaluatedProperties", "unevaluatedItems"), 2019),
    "$recursiveRef": 2019,
    **dict.fromkeys(("prefixItems", "$dynamicRef"), 2020),
}

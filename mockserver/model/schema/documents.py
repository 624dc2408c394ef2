"""A JSON Schema as a document: its draft, its subschemas, their references, and validation against them.

Every subschema of a document is a `Node`, exactly one for each place, so that nodes can be compared by identity. Nodes
can also be made: for schemas that the document does not contain, such as the opposite of one of its own.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import cache, cached_property
from typing import Any
from urllib.parse import quote, unquote, urldefrag, urljoin

import jsonschema_rs
from jsonschema_rs import Registry, Validator

from mockserver.core.caches import Cache
from mockserver.model.regex.sizes import size_of
from mockserver.model.schema import NAMED, VALUES, InvalidSchemaError, SchemaLimitError
from mockserver.model.schema.bounds import (
    MOST_BACKTRACKS,
    MOST_BUILT,
    MOST_FOLLOWED,
    MOST_SPELLED,
    check_size,
    lead_back,
    reach_of,
)

Key = tuple[str | int, ...]

# The base URI of documents without an `$id`: relative references need one.
_NOWHERE = "https://schema.invalid/"
# The metaschema of each draft, the newest first.
_METASCHEMAS = {
    2020: "https://json-schema.org/draft/2020-12/schema",
    2019: "https://json-schema.org/draft/2019-09/schema",
    7: "http://json-schema.org/draft-07/schema#",
    6: "http://json-schema.org/draft-06/schema#",
    4: "http://json-schema.org/draft-04/schema#",
}
DRAFTS = tuple(_METASCHEMAS)
# How validators search with patterns.
_PATTERNS = jsonschema_rs.FancyRegexOptions(backtrack_limit=MOST_BACKTRACKS)
# The bytes of a validator, roughly: of every one, and for each state of its patterns.
_LEAST_MEMORY, _STATE_MEMORY = 8_000, 200
# The bytes that each character of the path to a part of a schema takes, roughly: it is in several names.
_PLACE_MEMORY = 8
# So many bytes of validators are kept: enough for all patterns of the largest schema, which are tried again and again.
_matchers: Cache[tuple[tuple[str, ...], tuple[str, ...]], Callable[[Any], bool]] = Cache(16 * 2**20)
# Places that the metaschema of every draft looks at.
_CHECKED = re.compile(r"(/(definitions|properties)/[^/]*)*")


class SchemaNode:
    """A subschema. `place` is its JSON pointer in the document, None for a schema that was made."""

    __slots__ = (
        "_children", "_validator", "base", "document", "opposite", "place", "schema", "violations",
    )  # fmt: skip

    def __init__(
        self,
        document: "Document",
        schema: Any,
        base: str,
        place: str | None = None,
        children: Mapping[Key, "SchemaNode"] | None = None,
    ) -> None:
        self.document = document
        self.schema = schema
        self.base = base
        self.place = place
        # What is known of it once someone has asked (`keywords.py`).
        self.opposite: SchemaNode | None = None
        self.violations: list[tuple[SchemaNode, ...]] | None = None
        self._children: dict[Key, SchemaNode] = dict(children or {})
        self._validator: Callable[[object], bool] | None = None

    def child(self, *key: str | int) -> "SchemaNode":
        """The schema under a keyword: `child("items")`, `child("properties", "name")`, `child("anyOf", 0)`."""
        found = self._children.get(key)
        if found is None:
            found = self._children[key] = self._descend(key)
        return found

    def holds(self, value: object) -> bool:
        """Whether a value conforms to this schema; always True for a made one that is not another's opposite."""
        if self._validator is None:
            inner = self._children.get(("not",)) if self.place is None else None
            if inner is not None and len(self.schema) == 1:
                # A schema that cannot be asked is never violated, and neither is its opposite.
                self._validator = lambda value: not inner.holds(value) or inner._validator is _accept_anything
            else:
                self._validator = _accept_anything if self.place is None else self.document.validator_at(self.place)
        return self._validator(value)

    def made(self, schema: Any, children: Mapping[Key, "SchemaNode"] | None = None) -> "SchemaNode":
        """A schema that is not in the document, but whose references are resolved like those of this one."""
        return SchemaNode(self.document, schema, self.base, None, children)

    def _descend(self, key: Key) -> "SchemaNode":
        schema, place, base = self.schema, self.place, self.base
        for part in key:
            schema = schema[part]
            place = None if place is None else f"{place}/{_escaped(part)}"
        if place is not None:
            return self.document.node(schema, place, base)
        return SchemaNode(self.document, schema, base)


class Document:
    """A schema with all its subschemas. Raises InvalidSchemaError, and SchemaLimitError if it costs too much.

    `draft` is the year or number of its version, by default the one that it names or that suits it, `size` the number
    of objects and lists in it. `reach` says which values may be checked; `accepts` refuses all others, `validator` does
    not. `kept` is a cache for what others derive from its nodes; `memory` is what all of it takes, in bytes, roughly.
    """

    def __init__(self, schema: Any, draft: int | None = None) -> None:
        self.memory = check_size(schema)
        self.schema = schema
        self.draft = draft or _draft(schema)
        self.size = 0
        self.kept: dict[Hashable, Any] = {}
        self._nodes: dict[str, SchemaNode] = {}
        self._places: dict[str, str] = {}
        self._bases: dict[str, str] = {}
        self._dynamic: dict[str, list[str]] = {}
        self._checked: set[str] = set()
        self._built = 0
        try:
            self.base = self._index()
        except SchemaLimitError:
            raise
        except ValueError as error:
            raise InvalidSchemaError(f"an address in it is none: {error}") from None
        self.root = self.node(schema, "", self.base)
        # No validator is made before it is known what it costs.
        self.reach = reach_of(self.root)
        # The draft is settled by now; `$schema` may name one that no validator knows.
        self._settled = {**schema, "$schema": _METASCHEMAS[self.draft]} if isinstance(schema, dict) else schema
        self.validator = self._validator(self._settled)
        self.accepts = self.reach.guarded(self.validator.is_valid)

    @cached_property
    def accepts_formats(self) -> Callable[[object], bool]:
        """Whether a value conforms to the schema and to the formats in it."""
        return self.reach.guarded(self._validator(self._settled, formats=True).is_valid)

    def node(self, schema: Any, place: str, base: str) -> SchemaNode:
        """The node at a place, created on first use."""
        found = self._nodes.get(place)
        if found is None:
            found = self._nodes[place] = SchemaNode(self, schema, self._bases.get(place, base), place)
        return found

    def resolve(self, reference: str, base: str) -> SchemaNode | None:
        """The target of a reference, in this document or in a metaschema; None if there is none.

        Raises InvalidSchemaError if the target is no schema.
        """
        found = self.find(reference, base)
        return found if found is None or found.document is not self else self.checked(found)

    def find(self, reference: str, base: str) -> SchemaNode | None:
        """The same, whether the target is a schema or not."""
        try:
            uri, fragment = urldefrag(urljoin(base, reference))
        except ValueError:
            return None
        pointer = not fragment or fragment.startswith("/")
        place = self._places.get(uri if pointer else f"{uri}#{unquote(fragment)}")
        if place is not None:
            return self._at(place + unquote(fragment) if pointer else place)
        try:
            other = _metaschema(uri)
        except KeyError:
            return None
        return None if other is self else other.resolve(f"#{fragment}", other.base)

    @cached_property
    def is_recursive(self) -> bool:
        """Whether a subschema contains a reference, direct or indirect, to itself or a schema around it."""
        return lead_back(self.node(schema, place, base) for place, schema, base in self._walk(self.base))

    def anchored(self, name: str) -> list[SchemaNode]:
        """What has a dynamic anchor, the outermost first, whether it is a schema or not."""
        return [node for place in self._dynamic.get(name, ()) if (node := self._at(place)) is not None]

    def validator_at(self, place: str) -> Callable[[object], bool]:
        """A validator for the schema at a place of the document; one that accepts anything where there are too many."""
        if self._built <= MOST_BUILT:
            self._built += self.reach.size(self._nodes[place])
        if self._built > MOST_BUILT:
            return _accept_anything
        try:
            there = {"$schema": _METASCHEMAS[self.draft], "$ref": f"{self.base}#{quote(place)}"}
            return self.reach.guarded(self._validator(there, registry=self._registry).is_valid)
        except (InvalidSchemaError, ValueError):
            return _accept_anything

    @cached_property
    def _registry(self) -> Registry:
        return Registry([(self.base, self._settled)], retriever=_unknown)

    def _at(self, place: str) -> SchemaNode | None:
        known = self._nodes.get(place)
        if known is not None:
            return known
        schema, base, walked = self.schema, self.base, ""
        for part in place.split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            try:
                schema = schema[int(name) if isinstance(schema, list) else name]
            except (KeyError, IndexError, ValueError, TypeError):
                return None
            walked = f"{walked}/{part}"
            base = self._bases.get(walked, base)
        if not isinstance(schema, dict | bool):
            return None
        return self.node(schema, place, base)

    def checked(self, node: SchemaNode) -> SchemaNode:
        """The target of a reference in this document. Raises InvalidSchemaError if it is no schema.

        The document's metaschema says nothing of what stands under a word that its draft does not know, and the
        validator looks at a part of the keywords there.
        """
        place = node.place
        if place is None or place in self._checked or _CHECKED.fullmatch(place) or not isinstance(node.schema, dict):
            return node
        try:
            jsonschema_rs.meta.validate({**node.schema, "$schema": _METASCHEMAS[self.draft]})
        except ValueError as error:
            raise InvalidSchemaError(_first_line(error)) from None
        self._checked.add(place)
        return node

    def _validator(self, schema: Any, *, formats: bool = False, registry: Registry | None = None) -> Validator:
        try:
            return jsonschema_rs.validator_for(
                schema, validate_formats=formats, retriever=_unknown, registry=registry, pattern_options=_PATTERNS
            )
        except (ValueError, jsonschema_rs.ReferencingError) as error:
            raise InvalidSchemaError(_first_line(error)) from None

    def _index(self) -> str:
        """Index all places that have an identifier or anchor; returns the base URI of the document."""
        root = urldefrag(urljoin(_NOWHERE, self._id(self.schema)))[0]
        self._places[root] = ""
        for place, schema, base in self._walk(root):
            self.size += 1
            self.memory += _PLACE_MEMORY * len(place)
            for keyword in ("$anchor", "$dynamicAnchor"):
                if isinstance(schema.get(keyword), str):
                    self._places[f"{base}#{schema[keyword]}"] = place
            if isinstance(schema.get("$dynamicAnchor"), str):
                self._dynamic.setdefault(schema["$dynamicAnchor"], []).append(place)
        return root

    def _walk(self, root: str) -> Iterator[tuple[str, Mapping[str, Any], str]]:
        if not isinstance(self.schema, dict):
            return
        # Each with whether it holds schemas by name, none of which is a keyword.
        waiting: list[tuple[str, Any, str, bool]] = [("", self.schema, root, False)]
        spelled = 0
        for place, value, outer, by_name in waiting:
            base = outer
            if isinstance(value, dict):
                named = self._id(value)
                if named:
                    base, anchor = urldefrag(urljoin(base, named))
                    self._places[f"{base}#{anchor}" if anchor else base] = place
                    self._bases[place] = base
                yield place, value, base
                below = [(key, part) for key, part in value.items() if by_name or key not in VALUES]
            else:
                below = list(enumerate(value))
            for key, part in below:
                if isinstance(part, dict | list):
                    inner = f"{place}/{_escaped(key)}"
                    spelled += len(inner)
                    if spelled > MOST_SPELLED:
                        raise SchemaLimitError(f"The paths to its parts have more than {MOST_SPELLED:,} characters")
                    waiting.append((inner, part, base, not by_name and key in NAMED))

    def _id(self, schema: Any) -> str:
        if not isinstance(schema, dict) or (self.draft <= 7 and "$ref" in schema):
            return ""
        named = schema.get("id" if self.draft == 4 else "$id")
        return named if isinstance(named, str) else ""


@cache
def _metaschema(uri: str) -> "Document":
    """A metaschema, or one of its vocabularies, as a document. Raises KeyError if there is none."""
    from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]  # comes with jsonschema; seldom needed

    return Document(REGISTRY.contents(uri))


def _draft(schema: Any) -> int:
    """The draft that a schema names, else the newest one in which it is valid."""
    if isinstance(schema, bool):
        return 2020
    if not isinstance(schema, dict):
        raise InvalidSchemaError("a schema is an object or a boolean")
    named = schema.get("$schema")
    if isinstance(named, str):
        # By its name in the address: "2020-12", "draft-07".
        return next((draft for draft, metaschema in _METASCHEMAS.items() if metaschema.split("/")[-2] in named), 2020)
    valid = (d for d in (2020, 7, 4) if jsonschema_rs.meta.is_valid({"$schema": _METASCHEMAS[d], **schema}))
    return next(valid, 2020)


def _accept_anything(value: object) -> bool:
    return True


def _unknown(uri: str) -> Any:
    """References to other documents are never fetched."""
    raise LookupError(f"{uri} is not in the schema")


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _escaped(part: str | int) -> str:
    return str(part).replace("~", "~0").replace("/", "~1")


def matcher(patterns: tuple[str, ...], no_patterns: tuple[str, ...] = ()) -> Callable[[Any], bool]:
    """A function that tells whether a text matches all of some patterns and none of others."""
    known = _matchers.find((patterns, no_patterns))
    if known is None:
        known = _made(patterns, no_patterns)
        states = sum(size_of(pattern).states for pattern in (*patterns, *no_patterns))
        _matchers.keep((patterns, no_patterns), known, _LEAST_MEMORY + _STATE_MEMORY * states)
    return known


def _made(patterns: tuple[str, ...], no_patterns: tuple[str, ...]) -> Callable[[Any], bool]:
    wanted = [{"pattern": pattern} for pattern in patterns]
    unwanted = [{"not": {"pattern": pattern}} for pattern in no_patterns]
    try:
        made = jsonschema_rs.Draft202012Validator({"allOf": [*wanted, *unwanted]}, pattern_options=_PATTERNS)
    except ValueError:
        return _accept_anything
    # A text that would take too long to be searched counts as one that does not match.
    longest = longest_searched((*patterns, *no_patterns))
    return lambda text: len(text) <= longest and made.is_valid(text)


def longest_searched(patterns: Iterable[str]) -> int:
    """The characters of the longest text in which patterns can be searched for soon."""
    return MOST_FOLLOWED // max(sum(size_of(pattern).loose for pattern in patterns), 1)

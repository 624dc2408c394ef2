"""A JSON Schema as a document: its draft, its subschemas, their references, and validation against them."""

from collections.abc import Callable, Hashable, Iterable
from functools import cached_property
from typing import Any
from urllib.parse import quote, unquote, urldefrag, urljoin

import jsonschema_rs
from jsonschema_rs import Registry, Validator

from mockserver.model.regex.sizes import size_of
from mockserver.model.schema import NAMED, VALUES, InvalidSchemaError, SchemaLimitError
from mockserver.model.schema.bounds import (
    MOST_BACKTRACKS,
    MOST_BUILT,
    MOST_FOLLOWED,
    MOST_SPELLED,
    Part,
    check_size,
    inner_first,
    reach_of,
)

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
# How validators search with patterns.
_PATTERNS = jsonschema_rs.FancyRegexOptions(backtrack_limit=MOST_BACKTRACKS)
# The bytes that each character of the path to a part of a schema takes, roughly: it is in several names.
_PLACE_MEMORY = 8
# What a keyword holds: schemas by name, none of which is a keyword, or values, which have no identifiers.
_HELD = dict.fromkeys(NAMED, "named") | dict.fromkeys(VALUES, "values")


class SchemaNode:
    """A subschema, exactly one for each place, so that nodes compare by identity. `place` is its JSON pointer, `part`
    what is known of its cost (`bounds.py`)."""

    __slots__ = ("_validator", "base", "document", "part", "place", "schema")

    def __init__(self, document: "Document", schema: Any, base: str, place: str) -> None:
        self.document = document
        self.schema = schema
        self.base = base
        self.place = place
        self.part: Part | None = None
        self._validator: Callable[[object], bool] | None = None

    def child(self, *keys: str | int) -> "SchemaNode":
        """The schema under a keyword: `child("items")`, `child("properties", "name")`, `child("anyOf", 0)`."""
        schema = self.schema
        for key in keys:
            schema = schema[key]
        return self.document.nodes[id(schema)]

    def holds(self, value: object) -> bool:
        """Whether a value conforms to this schema."""
        if isinstance(self.schema, bool):
            return self.schema
        if self._validator is None:
            self._validator = self.document.validator_at(self)
        return self._validator(value)

    @property
    def effort(self) -> int:
        """How many schemas it leads to along one path: the fewer, the sooner a value ends."""
        return 0 if self.part is None else self.part.visits

    @property
    def is_null(self) -> bool:
        """Whether it says that a value is null."""
        return isinstance(self.schema, dict) and self.schema.get("type") == "null"


class Document:
    """A schema with all its subschemas. Raises InvalidSchemaError, and SchemaLimitError if it costs too much.

    `draft` is the year or number of its version, by default the one that it names or that suits it. `nodes` are its
    parts by the id of each (a part that is in several places has one node), `size` is the number of them. `reach` says
    which values may be checked; `accepts` refuses all others, `validator` does not. `kept` is a cache for what others
    derive from its nodes; `memory` is what all of it takes, in bytes, roughly.
    """

    def __init__(self, schema: Any, draft: int | None = None) -> None:
        self.memory = check_size(schema)
        self.schema = schema
        self.draft = draft or _draft(schema)
        self.kept: dict[Hashable, Any] = {}
        self.nodes = {id(each): SchemaNode(self, each, _NOWHERE, "") for each in (True, False)}
        # By identifier, by anchor, and by the names of dynamic anchors, the outermost first.
        self._identified: dict[str, SchemaNode] = {}
        self._dynamic: dict[str, list[SchemaNode]] = {}
        self._checked: set[SchemaNode] = set()
        self._matchers: dict[str, Callable[[Any], bool]] = {}
        self._built = 0
        try:
            self._index()
        except SchemaLimitError:
            raise
        except ValueError as error:
            raise InvalidSchemaError(f"an address in it is none: {error}") from None
        self.size = len(self.nodes)
        self.root = self.nodes[id(schema)]
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

    @cached_property
    def is_recursive(self) -> bool:
        """Whether a subschema contains a reference, direct or indirect, to itself or a schema around it."""
        return inner_first(node for node in self.nodes.values() if isinstance(node.schema, dict))[1] > 0

    def find(self, reference: str, base: str) -> SchemaNode | None:
        """The target of a reference in this document; None if there is none."""
        try:
            uri, fragment = urldefrag(urljoin(base, reference))
        except ValueError:
            return None
        fragment = unquote(fragment)
        if fragment and not fragment.startswith("/"):
            return self._identified.get(f"{uri}#{fragment}")
        found = self._identified.get(uri)
        part: Any = None if found is None else found.schema
        for step in fragment.split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            try:
                part = part[int(name) if isinstance(part, list) else name]
            except (KeyError, IndexError, ValueError, TypeError):
                return None
        return self.nodes.get(id(part))

    def targets(self, node: SchemaNode, keyword: str) -> list[SchemaNode]:
        """The schemas to which a keyword of another may refer, depending on what has led to that.

        Raises InvalidSchemaError if one is no schema.
        """
        reference = node.schema.get(keyword)
        if not isinstance(reference, str):
            return []
        found = [self.find(reference, node.base)]
        if keyword == "$dynamicRef":
            found = [*self._dynamic.get(reference.rpartition("#")[2], ()), *found]
        elif keyword == "$recursiveRef":
            found = [self.root, *found]
        targets = list(dict.fromkeys(each for each in found if each is not None))
        for target in targets:
            self._check(target)
        return targets

    def validator_at(self, node: SchemaNode) -> Callable[[object], bool]:
        """A validator for a part of the document; one that accepts anything where there are too many."""
        if not node.place:
            return self.accepts
        if self._built <= MOST_BUILT:
            self._built += len(inner_first([node])[0])
        if self._built > MOST_BUILT:
            return _accept_anything
        try:
            there = {"$schema": _METASCHEMAS[self.draft], "$ref": f"{self.root.base}#{quote(node.place)}"}
            return self.reach.guarded(self._validator(there, registry=self._registry).is_valid)
        except (InvalidSchemaError, ValueError):
            return _accept_anything

    @cached_property
    def _registry(self) -> Registry:
        return Registry([(self.root.base, self._settled)], retriever=_unknown)

    def matcher(self, pattern: str) -> Callable[[Any], bool]:
        """A function that tells whether a pattern matches a text. One that takes too long to be searched counts as one
        that does not match."""
        known = self._matchers.get(pattern)
        if known is None:
            longest = longest_searched((pattern,))
            try:
                found = jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=_PATTERNS)
            except ValueError:
                return _accept_anything
            known = self._matchers[pattern] = lambda text: len(text) <= longest and found.is_valid(text)
        return known

    def _check(self, node: SchemaNode) -> None:
        """Raise InvalidSchemaError for the target of a reference that is no schema.

        The document's metaschema says nothing of what stands under a word that its draft does not know, and the
        validator looks at a part of the keywords there.
        """
        if node not in self._checked and isinstance(node.schema, dict):
            try:
                jsonschema_rs.meta.validate({**node.schema, "$schema": _METASCHEMAS[self.draft]})
            except ValueError as error:
                raise InvalidSchemaError(_first_line(error)) from None
            self._checked.add(node)

    def _validator(self, schema: Any, *, formats: bool = False, registry: Registry | None = None) -> Validator:
        try:
            return jsonschema_rs.validator_for(
                schema, validate_formats=formats, retriever=_unknown, registry=registry, pattern_options=_PATTERNS
            )
        except (ValueError, jsonschema_rs.ReferencingError) as error:
            raise InvalidSchemaError(_first_line(error)) from None

    def _index(self) -> None:
        """Make the nodes, and note their identifiers and anchors."""
        waiting: list[tuple[str, Any, str, str]] = []
        if isinstance(self.schema, dict):
            waiting.append(("", self.schema, _NOWHERE, "schema"))
        spelled = 0
        for place, value, outer, kind in waiting:
            base = outer
            if isinstance(value, dict):
                if id(value) in self.nodes:
                    continue
                named = self._id(value) if kind == "schema" else ""
                base, anchor = urldefrag(urljoin(outer, named))
                node = self.nodes[id(value)] = SchemaNode(self, value, base, place)
                if named or not place:
                    self._identified[f"{base}#{anchor}" if anchor and place else base] = node
                for keyword in ("$anchor", "$dynamicAnchor") if kind == "schema" else ():
                    if isinstance(value.get(keyword), str):
                        self._identified[f"{base}#{value[keyword]}"] = node
                        if keyword == "$dynamicAnchor":
                            self._dynamic.setdefault(value[keyword], []).append(node)
                self.memory += _PLACE_MEMORY * len(place)
            members: Iterable[tuple[Any, Any]] = value.items() if isinstance(value, dict) else enumerate(value)
            for key, part in members:
                if isinstance(part, dict | list):
                    inner = f"{place}/{_escaped(key)}"
                    spelled += len(inner)
                    if spelled > MOST_SPELLED:
                        raise SchemaLimitError(f"The paths to its parts have more than {MOST_SPELLED:,} characters")
                    held = "values" if kind == "values" else "schema"
                    waiting.append((inner, part, base, _HELD.get(key, held) if kind == "schema" else held))

    def _id(self, schema: Any) -> str:
        if self.draft <= 7 and "$ref" in schema:
            return ""
        named = schema.get("id" if self.draft == 4 else "$id")
        return named if isinstance(named, str) else ""


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


def longest_searched(patterns: Iterable[str]) -> int:
    """The characters of the longest text in which patterns can be searched for soon."""
    return MOST_FOLLOWED // max(sum(size_of(pattern).loose for pattern in patterns), 1)

"""What a prompt says of the values of a key, beside the form of the object: which words they may be, between which
numbers they lie, and how many there are.

Prompts for judges are written so: `The "verdict" key should be either "yes" or "no"`, `"score": an integer between 0
and 10`, `The number of verdicts must equal that of the statements`, and a list of these.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

import orjson

from mockserver.model.output_formats.keys import RANGE, bounded

# How many sentences about keys are read, how deep a schema is searched for the keys, and the longest list, in
# characters and in items.
_MOST = 50
_DEEPEST = 20
_LONGEST_LIST = 8000
_MOST_ITEMS = 50

# Choices and ranges are searched first, because they are rare; then the name of the key in what is before them.
_BEFORE = 160
_NAME = (
    r"""(?<![\w"'`])["'`]{0,2}([^\W\d][\w-]{0,40})["'`]{0,2}(?:[^\S\n]+(?:keys?|fields?|values?|property|attribute))?"""
)
_CHOICE = r"""(?:["'`][\w-]{1,30}["'`]|\b(?:\d{1,3}|[A-Z])\b)(?:[^\S\n]?\([^()\n]{0,80}\))?"""
_CHOICES = re.compile(rf"{_CHOICE}(?:(?:[^\S\n]*[,/][^\S\n]*(?:or[^\S\n]+)?|[^\S\n]+or[^\S\n]+){_CHOICE})+")
_CHOSEN = re.compile(
    rf"{_NAME}[^\S\n]+"
    r"(?:(?:should|must|can|may|will|shall|has|have|is|are|to|be|that|which|outputs?|takes?|contains?|only|strictly|"
    r"either|always|exactly|one|single|letters?|words?|numbers?|of|an?|the|values?|set|equal|from|among|following)\b[,:]?[^\S\n]+){1,10}\Z",
    re.IGNORECASE,
)
_RANGED = re.compile(
    rf"{_NAME}(?:[^\S\n]*[:(]|[^\S\n]+(?:should|must|is|as|from|between)\b)[^\n{{}},;)]{{0,100}}\Z", re.IGNORECASE
)
_WORD = re.compile(r"""["'`]([\w-]+)["'`]|\b(\d{1,3})\b|\b([A-Z])\b""")
_WHOLE = re.compile(r"\b(?:int|integer|whole number)\b")
# "1 if it is supported, 0 otherwise"
_BINARY = re.compile(
    r"\b([01]) (?:if|for|when)\b[^.\n]{0,200}?(?!\1)[01] (?:if|for|when|otherwise|else)\b|\b0 ?(?:/|or|,) ?1\b"
)
_IN_BRACKETS = re.compile(r"\([^()\n]*\)")

# A sentence that demands as many items as a list has, or as many as it says.
_AS_MANY = re.compile(
    r"\b(?:number|length|count|amount) of [\"'`]?\w+[\"'`]?[^.\n]{0,60}\b(?:equals?|same|match(?:es)?)\b"
    r"(?:[^\S\n]+to)?(?:[^\S\n]+(\d{1,2})\b)?|\bone \w+ (?:per|for (?:each|every)) \w+",
    re.IGNORECASE,
)
_LIST_LINE = re.compile(r"(?m)^\[(.*)\][^\S\n]*$")
_TEXT = re.compile(r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*\"""")

# The keys of a schema that says no more of a value than its type.
_PLAIN = frozenset(("type", "title", "description"))


class _Said(NamedTuple):
    """What a prompt says of keys, by their names in lower case: words or numbers to choose from, ranges of numbers."""

    choices: Mapping[str, list[str | int]]
    ranges: Mapping[str, str]


def restricted(schema: Any, text: str) -> Any:
    """A schema whose values are as a text says besides; the schema itself if it says nothing of them."""
    choices = {name: _words(found) for name, _, found in _keyed(_CHOICES, _CHOSEN, text)}
    ranges = {name: f"{before}{found}".lower() for name, before, found in _keyed(RANGE, _RANGED, text)}
    if choices or ranges or _may_describe_binary(orjson.dumps(schema)):
        changed = _restricted(schema, _Said(choices, ranges), 0)
        # What is the same stays the same object, by which others remember it.
        schema = schema if changed == schema else changed
    return _sized(schema, text)


@lru_cache(maxsize=64)
def _may_describe_binary(dump: bytes) -> bool:
    """Whether one of the descriptions in a schema's text may be that of a 0 or 1."""
    return _BINARY.search(dump.decode()) is not None


def _words(choices: str) -> list[str | int]:
    found = _WORD.findall(_IN_BRACKETS.sub("", choices))
    return [word or letter or int(number) for word, number, letter in found]


def _keyed(said: re.Pattern[str], key: re.Pattern[str], text: str) -> Iterator[tuple[str, str, str]]:
    """The names of keys, in lower case, the words behind each, and what these words say of its values."""
    for found in islice(said.finditer(text), _MOST):
        before = text[max(found.start() - _BEFORE, 0) : found.start()].rpartition("\n")[2]
        named = key.search(before)
        if named is not None:
            yield named[1].lower(), named[0][named.end(1) - named.start() :], found[0]


def _restricted(schema: Any, said: _Said, depth: int) -> Any:
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return schema
    changed = dict(schema)
    if isinstance(schema.get("$defs"), Mapping):
        changed["$defs"] = {name: _restricted(part, said, depth + 1) for name, part in schema["$defs"].items()}
    if isinstance(schema.get("items"), Mapping):
        changed["items"] = _restricted(schema["items"], said, depth + 1)
    parts = schema.get("properties")
    if isinstance(parts, Mapping):
        changed["properties"] = {name: _named(str(name).lower(), part, said, depth) for name, part in parts.items()}
    return changed


def _named(name: str, part: Any, said: _Said, depth: int) -> Any:
    """The schema of a property, as far as its key is spoken of; of a list, that of its items."""
    if isinstance(part, Mapping) and part.get("type") == "array" and name in said.choices:
        return {**part, "items": _plain(name, part.get("items"), said)}
    return _restricted(_plain(name, part, said), said, depth + 1)


def _plain(name: str, part: Any, said: _Said) -> Any:
    """The schema of a text or a number about which nothing else is known, with what is said of it."""
    if not isinstance(part, Mapping) or not part.keys() <= _PLAIN:
        return part
    fitting = {"string": str, "integer": int, "number": int}.get(str(part.get("type")))
    choices = said.choices.get(name, ())
    if fitting is not None and choices and all(isinstance(choice, fitting) for choice in choices):
        return {**part, "enum": choices}
    if fitting is int and name in said.ranges:
        kind = {"type": "integer"} if _WHOLE.search(said.ranges[name]) else {}
        return bounded({**part, **kind}, said.ranges[name])
    if part.get("type") == "integer" and _BINARY.search(str(part.get("description", ""))):
        return {**part, "enum": [0, 1]}
    return part


def _sized(schema: Any, text: str) -> Any:
    """The schema of an object with as many items in its only list as the text demands, if it allows as many."""
    parts = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(parts, Mapping):
        return schema
    lists = {name: part for name, part in parts.items() if isinstance(part, Mapping) and part.get("type") == "array"}
    count = _demanded(text) if len(lists) == 1 else None
    if count is None:
        return schema
    [(name, part)] = lists.items()
    least, most = part.get("minItems", count), part.get("maxItems", count)
    if not (isinstance(least, int) and isinstance(most, int) and least <= count <= most):
        return schema
    return {**schema, "properties": {**parts, name: {**part, "minItems": count, "maxItems": count}}}


def _demanded(text: str) -> int | None:
    """The number of items that a text demands; None if it demands none, or as many as a list that it lacks."""
    found = _AS_MANY.search(text)
    if found is None:
        return None
    if found[1]:
        return min(int(found[1]), _MOST_ITEMS) or None
    listed = next(reversed([*_LIST_LINE.finditer(text[-_LONGEST_LIST:])]), None)
    count = sum(1 for _ in _TEXT.finditer(listed[1])) if listed else 0
    return min(count, _MOST_ITEMS) or None

"""The shape of a JSON answer: its keys with their order and types, the words of the protocol, and the format of ids.

The shape is what a server answers the same way each time; generated, counted and measured values are left out.
Paths are written as `choices[].delta.role`.
"""

import re
from collections.abc import Iterator, Mapping, Set
from typing import Any, NamedTuple

# Keys whose values are words of the protocol. In a refusal all strings are compared.
_WORDS = ("object", "role", "type", "finish_reason", "model")
_IDS = re.compile(r"(?:.*_)?(?:id|fingerprint)")
# Objects whose keys are data: all keys share one path.
_MAPS = ("top_logprobs[]",)
_PREFIX = re.compile(r"[A-Za-z]+[-_:]")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# A number in an id with at most so many digits is a time or an index rather than random.
_LONGEST_NUMBER = 12
# Ids and numbers in a refusal's message, which differ from one refusal to the next.
_PASSING = re.compile(r"[0-9a-f]{8}[0-9a-f-]*|\d+(?:\.\d+)?")


class Difference(NamedTuple):
    """A place where an answer differs from the recorded one, and what is there in each; an empty string for nothing."""

    where: str
    recorded: str
    answered: str

    @property
    def place(self) -> str:
        """The place without the event of the stream that it is in."""
        return self.where.rpartition(": ")[2]


class Shape(NamedTuple):
    """The types at each path, the keys of each object in order, and at some paths words or formats of ids."""

    types: Mapping[str, Set[str]]
    keys: Mapping[str, tuple[str, ...]]
    words: Mapping[str, Set[str]]


def shape_of(value: Any, *, refused: bool = False) -> Shape:
    """The shape of a JSON value, which may be a refusal."""
    types: dict[str, set[str]] = {}
    keys: dict[str, tuple[str, ...]] = {}
    words: dict[str, set[str]] = {}
    for path, key, each in _walk(value, "", ""):
        types.setdefault(path, set()).add(_type(each))
        if isinstance(each, dict):
            keys[path] = tuple(dict.fromkeys((*keys.get(path, ()), *each)))
        word = _word(key, each, refused=refused)
        if word is not None:
            words.setdefault(path, set()).add(word)
    return Shape(types, keys, words)


def differences(recorded: Shape, answered: Shape) -> Iterator[Difference]:
    """Where two shapes differ, by paths in the order in which they were recorded."""
    for path in dict.fromkeys((*recorded.types, *answered.types)):
        known = _is_known(path, recorded) and _is_known(path, answered)
        theirs, ours = recorded.types.get(path, set()), answered.types.get(path, set())
        if known and not _agree(theirs, ours):
            yield Difference(path or "the body", _listed(theirs), _listed(ours))
    # Some recorders sort keys.
    is_sorted = all(list(keys) == sorted(keys) for keys in recorded.keys.values())
    for path, keys in recorded.keys.items() if not is_sorted else ():
        others = answered.keys.get(path, ())
        first, second = _shared(keys, others), _shared(others, keys)
        if first != second:
            yield Difference(f"{path or 'the body'}, order of keys", ", ".join(first), ", ".join(second))
    for path, words in recorded.words.items():
        if path in answered.words and answered.words[path] != words:
            yield Difference(path, _listed(words), _listed(answered.words[path]))


def _walk(value: Any, path: str, key: str) -> Iterator[tuple[str, str, Any]]:
    """Each value with its path and its key, outer values first."""
    yield path, key, value
    if isinstance(value, dict):
        is_map = path.endswith(_MAPS)
        for name, each in value.items():
            below = "{}" if is_map else f".{name}" if path else name
            yield from _walk(each, path + below, name)
    elif isinstance(value, list):
        for each in value:
            yield from _walk(each, f"{path}[]", key)


def _is_known(path: str, shape: Shape) -> bool:
    """Whether a shape has information about a path, which is the case if its parent exists."""
    if path.endswith(("[]", "{}")):
        # An empty array has no information about its items.
        return path in shape.types
    parent = path.rpartition(".")[0]
    return not path or "object" in shape.types.get(parent, ())


def _agree(recorded: Set[str], answered: Set[str]) -> bool:
    # A measured number may happen to be an integer.
    return recorded == answered or (recorded | answered <= {"integer", "number"} and "number" in recorded)


def _type(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    return {float: "number", str: "string", list: "array"}.get(type(value), "object")


def _word(key: str, value: Any, *, refused: bool) -> str | None:
    """The string under a key if it is compared: a word in quotes, or the format of an id."""
    if not isinstance(value, str):
        return None
    if _IDS.fullmatch(key):
        return _form(value)
    if refused:
        return f'"{_PASSING.sub("#", value)}"'
    return f'"{value}"' if key in _WORDS else None


def _form(name: str) -> str:
    """The prefix of an id, and whether the rest is a UUID or else how long it is."""
    if not name:
        return "an empty id"
    prefix = _PREFIX.match(name)
    begins = prefix[0] if prefix and not _UUID.fullmatch(name) else ""
    rest = name[len(begins) :]
    if rest.isdecimal() and len(rest) <= _LONGEST_NUMBER:
        return f"{begins}<number>"
    return f"{begins}<UUID>" if _UUID.fullmatch(rest) else f"{begins}<{len(rest)} characters>"


def _shared(keys: tuple[str, ...], others: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(key for key in keys if key in others)


def _listed(them: Set[str]) -> str:
    return " or ".join(sorted(them))

"""The shape of JSON: which keys it has, in which order and of which types, and the few words that are always the same.

What a model says, and what counts or measures it, differs from answer to answer; this is what does not. Paths are
written as `choices[].delta.role`.
"""

import re
from collections.abc import Iterator, Mapping, Set
from typing import Any, NamedTuple

# Keys whose values are words of the protocol; those of a refusal are words of the vendor's all.
_WORDS = ("object", "role", "type", "finish_reason", "model")
_IDS = re.compile(r"(?:.*_)?(?:id|fingerprint)")
# Objects whose keys are somebody's words: one path stands for all.
_MAPS = ("top_logprobs[]",)
_PREFIX = re.compile(r"[A-Za-z]+[-_:]")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# A time or a place, rather than digits drawn by chance.
_LONGEST_NUMBER = 12
# What differs from one refusal to another of the same kind.
_PASSING = re.compile(r"[0-9a-f]{8}[0-9a-f-]*|\d+(?:\.\d+)?")


class Difference(NamedTuple):
    """Where an answer is otherwise than recorded, and what is there in either; empty where nothing is."""

    where: str
    recorded: str
    answered: str

    @property
    def place(self) -> str:
        """Where it is, whatever event of a stream that is in."""
        return self.where.rpartition(": ")[2]


class Shape(NamedTuple):
    """What JSON looks like: the types at each path, the keys of objects in their order, words and forms of ids."""

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
        said = _said(key, each, refused=refused)
        if said is not None:
            words.setdefault(path, set()).add(said)
    return Shape(types, keys, words)


def differences(recorded: Shape, answered: Shape) -> Iterator[Difference]:
    """Where two shapes differ, by paths in the order in which they were recorded."""
    for path in dict.fromkeys((*recorded.types, *answered.types)):
        known = _is_known(path, recorded) and _is_known(path, answered)
        there, here = recorded.types.get(path, set()), answered.types.get(path, set())
        if known and not _agree(there, here):
            yield Difference(path or "the body", _listed(there), _listed(here))
    # Some recorders write keys in the order of the alphabet.
    orders = {} if all(list(order) == sorted(order) for order in recorded.keys.values()) else recorded.keys
    for path, order in orders.items():
        other = answered.keys.get(path, ())
        there_keys, here_keys = _shared(order, other), _shared(other, order)
        if there_keys != here_keys:
            yield Difference(f"{path or 'the body'}, order of keys", ", ".join(there_keys), ", ".join(here_keys))
    for path, said in recorded.words.items():
        if path in answered.words and answered.words[path] != said:
            yield Difference(path, _listed(said), _listed(answered.words[path]))


def _walk(value: Any, path: str, key: str) -> Iterator[tuple[str, str, Any]]:
    """Each value with its path and the key that it stands under, from the outside in."""
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
    """Whether a shape can say anything of a path: there is something that could have it."""
    if path.endswith(("[]", "{}")):
        # Nothing is known of the items of an array without any.
        return path in shape.types
    parent = path.rpartition(".")[0]
    return not path or "object" in shape.types.get(parent, ())


def _agree(there: Set[str], here: Set[str]) -> bool:
    # A measure may happen to be a whole number.
    return there == here or (there | here <= {"integer", "number"} and "number" in there)


def _type(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    return {float: "number", str: "string", list: "array"}.get(type(value), "object")


def _said(key: str, value: Any, *, refused: bool) -> str | None:
    """The word that stands under a key, in quotes, or the form of an id."""
    if not isinstance(value, str):
        return None
    if _IDS.fullmatch(key):
        return _form(value)
    if refused:
        return f'"{_PASSING.sub("#", value)}"'
    return f'"{value}"' if key in _WORDS else None


def _form(name: str) -> str:
    """What ids of one kind have in common: their beginning, and their length."""
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

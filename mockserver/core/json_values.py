"""JSON values: when two are equal, what type one has, how deeply it nests, and its text without whitespace."""

import re
from collections.abc import Hashable, Iterable, Iterator

# The most levels to which a value may nest.
DEEPEST = 100
_CONTAINERS = (dict, list)
_KINDS: tuple[tuple[type, str], ...] = ((str, "string"), (list, "array"), (dict, "object"))
# A string (its end may be missing), or whitespace outside of strings.
_BLANK = r'("(?:[^"\\]|\\.)*"?)|\s+'


def same(one: object, other: object) -> bool:
    """Whether two JSON values are equal: 1 is 1.0, but true is no number; a tuple is a list."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[name]) for name, value in one.items())
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


def among(value: object, values: Iterable[object]) -> bool:
    """Whether a value is one of some values."""
    return any(same(value, other) for other in values)


def identity(value: object) -> Hashable:
    """A hashable key: two values have equal keys if and only if they are the `same`."""
    if isinstance(value, bool):
        return bool, value
    if isinstance(value, dict):
        return dict, frozenset((name, identity(part)) for name, part in value.items())
    if isinstance(value, list | tuple):
        return list, tuple(map(identity, value))
    # Other values compare as in Python: 1 equals 1.0, and no text.
    return value


class ValueSet:
    """An ordered set of JSON values. `numbers` are those of them that are numbers."""

    __slots__ = ("_known", "_listed", "numbers")

    def __init__(self, values: Iterable[object] = ()) -> None:
        self._listed: list[object] = []
        self._known: set[Hashable] = set()
        self.numbers: set[int | float] = set()
        for value in values:
            self.add(value)

    def __contains__(self, value: object) -> bool:
        return identity(value) in self._known

    def __iter__(self) -> Iterator[object]:
        return iter(self._listed)

    def __len__(self) -> int:
        return len(self._listed)

    def add(self, value: object) -> None:
        """Add a value, unless the set contains it."""
        key = identity(value)
        if key not in self._known:
            self._known.add(key)
            self._listed.append(value)
            if isinstance(value, int | float) and not isinstance(value, bool):
                self.numbers.add(value)


def type_of(value: object) -> str:
    """The JSON type of a value; integers are numbers."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    return next((name for kind, name in _KINDS if isinstance(value, kind)), "number")


def may_nest_deeper(body: bytes, levels: int) -> bool:
    """Whether a JSON text has enough brackets to nest deeper than `levels`: few do, and need a closer look."""
    return body.count(b"[") + body.count(b"{") > levels


def nests_absurdly(text: bytes, value: object) -> bool:
    """Whether a JSON text, whose value is `value`, nests deeper than any reasonable request."""
    return may_nest_deeper(text, DEEPEST) and not is_shallow(value)


def is_shallow(value: object) -> bool:
    """Whether a value nests no deeper than DEEPEST levels, and so can safely be walked recursively."""
    level = [value]
    for _ in range(DEEPEST):
        held = [node.values() if isinstance(node, dict) else node for node in level if isinstance(node, _CONTAINERS)]
        level = [child for children in held for child in children if isinstance(child, _CONTAINERS)]
        if not level:
            return True
    return False


def without_blanks(text: str) -> str:
    """A JSON text, complete or cut short, without the whitespace between its tokens."""
    # The pattern is compiled on first use: hardly any server needs it.
    return re.sub(_BLANK, lambda match: match[1] or "", text)

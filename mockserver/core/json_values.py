"""JSON values: when two of them are the same one, and of which type one is."""

from collections.abc import Hashable, Iterable, Iterator

_KINDS: tuple[tuple[type, str], ...] = ((str, "string"), (list, "array"), (dict, "object"))


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
    """What values have in common that are the same, and no others."""
    if isinstance(value, bool):
        return bool, value
    if isinstance(value, dict):
        return dict, frozenset((name, identity(part)) for name, part in value.items())
    if isinstance(value, list | tuple):
        return list, tuple(map(identity, value))
    # Other values differ as Python has it: 1 is 1.0, and no text.
    return value


class Values:
    """JSON values without repetition, in order; whether one is among them is known at once.

    `numbers` are those of them that are numbers.
    """

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
        """Let a value be among them."""
        key = identity(value)
        if key not in self._known:
            self._known.add(key)
            self._listed.append(value)
            if isinstance(value, int | float) and not isinstance(value, bool):
                self.numbers.add(value)


def type_of(value: object) -> str:
    """The type of a value; whole numbers are numbers."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    return next((name for kind, name in _KINDS if isinstance(value, kind)), "number")

"""JSON values: when two of them are the same one, and of which type one is."""

from collections.abc import Hashable, Iterable

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


def type_of(value: object) -> str:
    """The type of a value; whole numbers are numbers."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    return next((name for kind, name in _KINDS if isinstance(value, kind)), "number")

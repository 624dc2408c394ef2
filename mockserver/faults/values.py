"""The values in a fault's table: the type of each key, and the valid values of a setting."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

# The type of a value, by its name in error messages.
ValueType = Literal["text", "whole number", "number"]

TEXT: ValueType = "text"
WHOLE: ValueType = "whole number"
NUMBER: ValueType = "number"

_PYTHON_TYPES: Mapping[ValueType, type | tuple[type, ...]] = {TEXT: str, WHOLE: int, NUMBER: (int, float)}

# Keys of any fault's table: where in an answer it strikes, when, and how often.
PLACE_KEYS: Mapping[str, ValueType] = {"after_event": WHOLE, "after_token": WHOLE, "after_bytes": WHOLE, "at": NUMBER}
WINDOW_KEYS: Mapping[str, ValueType] = {"from": NUMBER, "for": NUMBER}
COUNT_KEYS: Mapping[str, ValueType] = {"times": WHOLE, "every": WHOLE, "skip": WHOLE}


def fits(value: object, type: ValueType) -> bool:
    """Whether a value is of a type: an integer is a number too, true and false are neither."""
    return isinstance(value, _PYTHON_TYPES[type]) and not isinstance(value, bool)


class Setting(NamedTuple):
    """A setting of a kind of fault: its type, its default, and its meaning.

    A text must be one of the `choices`, if there are any; a number must be at least `least`.
    """

    type: ValueType
    default: Any
    summary: str
    choices: tuple[str, ...] = ()
    least: float = 0

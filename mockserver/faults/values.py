"""The values in a fault's table: what type each key has, and what a setting may be."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

# The type of a value, by the name that people are told.
ValueType = Literal["text", "whole number", "number"]

TEXT: ValueType = "text"
WHOLE: ValueType = "whole number"
NUMBER: ValueType = "number"

_PYTHON_TYPES: Mapping[ValueType, type | tuple[type, ...]] = {TEXT: str, WHOLE: int, NUMBER: (int, float)}

# Where a fault within an answer can strike, how often one does, and when: keys of the table of any fault.
PLACE_KEYS: Mapping[str, ValueType] = {"after_event": WHOLE, "after_token": WHOLE, "after_bytes": WHOLE, "at": NUMBER}
WINDOW_KEYS: Mapping[str, ValueType] = {"from": NUMBER, "for": NUMBER}
COUNT_KEYS: Mapping[str, ValueType] = {"times": WHOLE, "every": WHOLE, "skip": WHOLE}


def fits(value: object, type: ValueType) -> bool:
    """Whether a value is of a type: a whole number is a number too, true and false are neither."""
    return isinstance(value, _PYTHON_TYPES[type]) and not isinstance(value, bool)


class Setting(NamedTuple):
    """Something that a kind of fault can be told: its type, its value when untold, and what it means.

    A text may be one of the `choices`, where there are any; a number is `least` or more.
    """

    type: ValueType
    default: Any
    summary: str
    choices: tuple[str, ...] = ()
    least: float = 0

"""The kinds of checks of which the tables are made (vendor note 2).

A check takes the fields of a request and the model, and returns the server's message, None if all is well. Integers are
JSON integers of the server's own widths: neither 1.0 nor true is one.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from mockserver.core.dialects import Edition, Model

Fields = Mapping[str, Any]
Check = Callable[[Fields, Model], str | None]

INT32 = range(-(2**31), 2**31)
UINT32 = range(2**32)
UINT64 = range(2**64)

# "B treats null as absent except ...".
_NULL_IS_A_VALUE = ("stream", "max_tokens", "prompt", "model", "messages")


def sent(fields: Fields, edition: Edition) -> Fields:
    """The fields that count as sent: for the newer server those that are not null, for the older one all."""
    if edition == "documented":
        return fields
    return {name: value for name, value in fields.items() if value is not None or name in _NULL_IS_A_VALUE}


def first_fault(checks: Iterable[Check], fields: Fields, model: Model) -> str | None:
    """The message of the first check that fails, None if none does."""
    return next((fault for check in checks if (fault := check(fields, model)) is not None), None)


def whole(value: object, width: range) -> bool:
    """Whether a value is an integer of a width."""
    return type(value) is int and value in width


def is_number(value: object) -> bool:
    """Whether the server accepts a value as a number: a float, or an integer of 32 bits."""
    return type(value) is float or whole(value, INT32)


def field(name: str, fault: Callable[[Any], str | None]) -> Check:
    """A check of one field, if it was sent."""
    return lambda fields, model: fault(fields[name]) if name in fields else None


def boolean(name: str, message: str = "{} accepts values true or false") -> Check:
    """A check that a field is a boolean; `{}` in the message stands for its name."""
    return field(name, lambda value: None if isinstance(value, bool) else message.format(name))


def number(name: str, low: float = float("-inf"), high: float = float("inf")) -> Check:
    """A check that a field is a number within an inclusive range."""

    def fault(value: Any) -> str | None:
        if not is_number(value):
            return f"{name} is not a valid number"
        return None if low <= value <= high else f"{name} out of range({low}, {high})"

    return field(name, fault)


def integer(name: str, width: range, message: str) -> Check:
    """A check that a field is an integer of a width."""
    return field(name, lambda value: None if whole(value, width) else message)

"""The fields of a request as the server's parser has them: which count as sent, and which numbers fit its types."""

from collections.abc import Mapping
from typing import Any

Fields = Mapping[str, Any]

INT32 = range(-(2**31), 2**31)
UINT32 = range(2**32)
UINT64 = range(2**64)

# "B treats null as absent except ...".
_NULL_IS_A_VALUE = ("stream", "max_tokens", "prompt", "model", "messages")


def without_nulls(fields: Fields) -> Fields:
    """The fields that the newer server takes as sent: those that are not null. For the older one null is a value."""
    return {name: value for name, value in fields.items() if value is not None or name in _NULL_IS_A_VALUE}


def whole(value: object, width: range) -> bool:
    """Whether a value is an integer of a width."""
    return type(value) is int and value in width


def is_number(value: object) -> bool:
    """Whether the server accepts a value as a number: a float, or an integer of 32 bits."""
    return type(value) is float or whole(value, INT32)

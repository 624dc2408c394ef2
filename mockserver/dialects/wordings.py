"""Violations of a contract in the words of pydantic, as Cerebras answers, and as is assumed of Upstash and FriendliAI.

Each is a code, like `int_type`, and a sentence, like "Input should be a valid integer".
"""

from collections.abc import Callable, Mapping
from typing import Any

from mockserver.core.failures import Violation

Words = tuple[str, str]

# A schema's type in pydantic's errors: its code, and its name.
_TYPES = {
    "string": ("string_type", "a valid string"),
    "integer": ("int_type", "a valid integer"),
    "number": ("float_type", "a valid number"),
    "boolean": ("bool_type", "a valid boolean"),
    "array": ("list_type", "a valid list"),
    "object": ("dict_type", "a valid dictionary"),
}


def pydantic_words(violation: Violation) -> Words | None:
    """The code and the message of a violation; None if its rule is none of those that pydantic has of its own."""
    wording = _WORDINGS.get(violation.rule)
    return wording(violation) if wording else None


def custom_words(message: str) -> Words:
    """The code and the message of a check that pydantic leaves to the application."""
    return "value_error", f"Value error, {message}"


def _expected(violation: Violation) -> list[Any]:
    """The types or values that are allowed, without null, of which no message tells."""
    expected = violation.expected if isinstance(violation.expected, list) else [violation.expected]
    return [each for each in expected if each not in ("null", None)]


def _wrong_type(violation: Violation) -> Words:
    types = [_TYPES[name] for name in _expected(violation)]
    if types[0][0] == "int_type" and isinstance(violation.found, float):
        return "int_from_float", "Input should be a valid integer, got a number with a fractional part"
    return types[0][0], f"Input should be {' or '.join(noun for _, noun in types)}"


def _wrong_value(violation: Violation) -> Words:
    *most, last = map(repr, _expected(violation))
    return "literal_error", f"Input should be {' or '.join(filter(None, (', '.join(most), last)))}"


def _wrong_length(violation: Violation) -> Words:
    code, bound = ("too_short", "at least") if violation.rule == "minItems" else ("too_long", "at most")
    found = len(violation.found) if isinstance(violation.found, list) else 0
    items = "item" if violation.expected == 1 else "items"
    return code, f"List should have {bound} {violation.expected} {items} after validation, not {found}"


def _bound(code: str, words: str) -> Callable[[Violation], Words]:
    def wording(violation: Violation) -> Words:
        limit = violation.expected
        return code, f"Input should be {words} {f'{limit:g}' if isinstance(limit, float) else limit}"

    return wording


_WORDINGS: Mapping[str, Callable[[Violation], Words]] = {
    "required": lambda violation: ("missing", "Field required"),
    "type": _wrong_type,
    "enum": _wrong_value,
    "minItems": _wrong_length,
    "maxItems": _wrong_length,
    "minLength": lambda violation: ("string_too_short", "String should have at least 1 character"),
    "minimum": _bound("greater_than_equal", "greater than or equal to"),
    "maximum": _bound("less_than_equal", "less than or equal to"),
    "exclusiveMinimum": _bound("greater_than", "greater than"),
}

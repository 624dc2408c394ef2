"""Declarations: what a test knows of its client and no server can see, without which some conduct cannot be judged."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from mockserver.core.naming import unknown

Handling = Literal["retry", "raise", "fallback"]
Outcome = Literal["answer", "error", "cancelled"]


class DeclarationError(ValueError):
    """A declaration that cannot be meant; the text says what would have been valid."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """What the test knows and the server cannot: what correct handling is, and what the application made of it.

    `handles`: the client should "retry" until it has an answer, "raise" what went wrong, or "fallback" to another
    request. `outcome`: the application took what came for an "answer", reported an "error", or was "cancelled" by its
    user. `patience` is the longest silence that a client should bear, in seconds; a call with fewer than
    `least_attempts` was given up too early where it should be retried, one with more than `most_attempts` is a storm.
    """

    handles: Handling | None = None
    outcome: Outcome | None = None
    patience: float = 60.0
    least_attempts: int = 3
    most_attempts: int = 10

    def __post_init__(self) -> None:
        for name, value, known in (("handles", self.handles, Handling), ("outcome", self.outcome, Outcome)):
            if value is not None and value not in get_args(known):
                raise DeclarationError(f"{name}: {unknown('word', value, get_args(known))}")
        for name in ("patience", "least_attempts", "most_attempts"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise DeclarationError(f"{name}: {value!r} is not a number above 0")


# What can be declared.
DECLARED = tuple(each.name for each in fields(Declaration))


def declared_by(fields: Mapping[str, Any]) -> Declaration:
    """A declaration from its fields. Raises DeclarationError."""
    for name in fields:
        if name not in DECLARED:
            raise DeclarationError(unknown("word", name, DECLARED))
    return Declaration(**fields)


def declaration_of(texts: Mapping[str, str]) -> Declaration:
    """A declaration from the texts of its fields. Raises DeclarationError."""
    numbers = {name: _number(name, text) for name, text in texts.items() if name in DECLARED and name not in _IN_WORDS}
    return declared_by({**texts, **numbers})


# What of it is said in words; the rest are numbers.
_IN_WORDS = ("handles", "outcome")


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise DeclarationError(f"{name}: {text!r} is not a number") from None

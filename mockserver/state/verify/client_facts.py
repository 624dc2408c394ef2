"""Declarations: facts that a test knows about its client, that no server can see, and that some judgements need."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from mockserver.core.messages import short_repr, unknown_name

Handling = Literal["retry", "raise", "fallback"]
Outcome = Literal["answer", "error", "cancelled"]


class ClientFactsError(ValueError):
    """A declaration that is invalid; the message says what would have been valid."""


@dataclass(frozen=True, slots=True)
class ClientFacts:
    """What the test knows and the server cannot: the correct handling, and what the application made of the answer.

    `handles`: the client should "retry" until it has an answer, "raise" the error, or "fallback" to another request.
    `outcome`: the application accepted an "answer", reported an "error", or was "cancelled" by its user. `patience` is
    the longest silence that a client should endure, in seconds; a call that should be retried and has fewer than
    `least_attempts` was given up too early, one with more than `most_attempts` is a storm.
    """

    handles: Handling | None = None
    outcome: Outcome | None = None
    patience: float = 60.0
    least_attempts: int = 3
    most_attempts: int = 10

    def __post_init__(self) -> None:
        for name, value, known in (("handles", self.handles, Handling), ("outcome", self.outcome, Outcome)):
            if value is not None and value not in get_args(known):
                raise ClientFactsError(f"{name}: {unknown_name('value', value, get_args(known))}")
        for name in ("patience", "least_attempts", "most_attempts"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise ClientFactsError(f"{name}: {short_repr(value)} is not a number greater than 0")


# The fields that can be declared.
CLIENT_FACTS = tuple(each.name for each in fields(ClientFacts))


def client_facts_of(fields: Mapping[str, Any]) -> ClientFacts:
    """A declaration from its fields. Raises ClientFactsError."""
    for name in fields:
        if name not in CLIENT_FACTS:
            raise ClientFactsError(unknown_name("argument", name, CLIENT_FACTS))
    return ClientFacts(**fields)


def client_facts_from(texts: Mapping[str, str]) -> ClientFacts:
    """A declaration from its fields as strings. Raises ClientFactsError."""
    numbers = {
        name: _number(name, text) for name, text in texts.items() if name in CLIENT_FACTS and name not in _IN_WORDS
    }
    return client_facts_of({**texts, **numbers})


# The fields that are words; the others are numbers.
_IN_WORDS = ("handles", "outcome")


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ClientFactsError(f"{name}: {short_repr(text)} is not a number") from None

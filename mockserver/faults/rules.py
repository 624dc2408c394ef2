"""Fault rules as values: what goes wrong, where in the answer, how often, and for which requests."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Place:
    """Where a fault strikes: after so many events, tokens or bytes of the body, or `at` so many seconds.

    Without any of them it strikes at the beginning.
    """

    after_event: int | None = None
    after_token: int | None = None
    after_bytes: int | None = None
    at: float | None = None


@dataclass(frozen=True, slots=True)
class Chance:
    """Which of the requests that match are struck.

    The first `skip` are spared, then every `every`-th is struck, `times` times at the most; of these only the `share`
    (a probability, drawn from the request itself), and only until `seconds` after the rule was armed.
    """

    times: int | None = None
    every: int = 1
    skip: int = 0
    share: float = 1.0
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Match:
    """For which requests a rule is meant; what is None is not looked at. `prompt` is a part of the prompt's text."""

    dialect: str | None = None
    operation: str | None = None
    path: str | None = None
    model: str | None = None
    stream: bool | None = None
    key: str | None = None
    header: str | None = None
    prompt: str | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """A rule: one of the catalogue's kinds with its settings, its place, its chance and its match."""

    kind: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    place: Place = Place()
    chance: Chance = Chance()
    match: Match = Match()

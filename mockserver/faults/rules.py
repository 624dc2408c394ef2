"""Fault rules as values: which fault, where in the response, how often, for which requests; and the keys of their
tables."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from mockserver.core.matching.requests import ANYTHING, RequestMatcher

# A place that is drawn for each answer.
RANDOM: Literal["random"] = "random"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a fault is applied: after so many events, tokens or bytes of the body, or `at` so many seconds.

    Without any of these it is applied at the beginning. A random event is drawn before the fault is applied.
    """

    after_event: int | Literal["random"] | None = None
    after_token: int | None = None
    after_bytes: int | None = None
    at: float | None = None

    @property
    def is_beginning(self) -> bool:
        """Whether the place is before everything else."""
        return not (self.after_event or self.after_token or self.after_bytes or self.at)


@dataclass(frozen=True, slots=True)
class Chance:
    """Which of the requests that match trigger the fault.

    The rule's window opens `start` seconds after it was armed and lasts `seconds` (None: without end). Of the requests
    that match in this window the first `skip` are spared, then every `every`-th triggers it, at most `times` times; and
    of these only a `share`: a probability, whose draw is derived from the request and how often it has come. With a
    `share_end` it changes linearly to that by the end of the window.
    """

    times: int | None = None
    every: int = 1
    skip: int = 0
    share: float = 1.0
    share_end: float | None = None
    start: float = 0.0
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """A rule: one of the catalogue's kinds with its settings, place and chance, and the requests that it is for."""

    kind: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    place: Place = Place()
    chance: Chance = Chance()
    match: RequestMatcher = ANYTHING


def is_open(chance: Chance, elapsed: float) -> bool:
    """Whether a rule's window is open `elapsed` seconds after it was armed: requests outside of it do not count."""
    return elapsed >= chance.start and (chance.seconds is None or elapsed < chance.start + chance.seconds)


def triggers(chance: Chance, matched: int, applied: int, elapsed: float, draw: float) -> bool:
    """Whether a request triggers the fault of a rule whose window is open.

    The request is the `matched`-th (from 1 on) to match while it was, and the fault was applied to `applied` others;
    the rule was armed `elapsed` seconds ago; `draw` is the request's draw, from 0 (included) to 1 (excluded).
    """
    turn = matched - chance.skip - 1
    is_due = turn >= 0 and turn % chance.every == 0 and (chance.times is None or applied < chance.times)
    return is_due and draw < _share(chance, elapsed)


def _share(chance: Chance, elapsed: float) -> float:
    """The share at an instant within the window."""
    if chance.share_end is None or not chance.seconds:
        return chance.share
    return chance.share + (chance.share_end - chance.share) * (elapsed - chance.start) / chance.seconds


# Keys of any fault's table, with the types of their values: where in an answer it is applied, when, and how often.
PLACE_KEYS: Mapping[str, type] = {"after_event": int, "after_token": int, "after_bytes": int, "at": float}
WINDOW_KEYS: Mapping[str, type] = {"from": float, "for": float}
COUNT_KEYS: Mapping[str, type] = {"times": int, "every": int, "skip": int}


class FaultSetting(NamedTuple):
    """A setting of a kind of fault: its type, its default, and its meaning.

    A text must be one of the `choices`, if there are any; a number must be at least `least`.
    """

    type: type
    default: Any
    summary: str
    choices: tuple[str, ...] = ()
    least: float = 0

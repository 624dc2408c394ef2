"""Scenarios: named sequences of faults with an end.

An act is a fault's table in the usual notation, except that `from` and `for` are fractions of the whole scenario.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

Act = Mapping[str, Any]


class Scenario(NamedTuple):
    """Acts that take place within so many seconds, unless another time is set; None if their counts end them."""

    summary: str
    acts: tuple[Act, ...]
    seconds: float | None = None


_OVERLOADED: Act = {"kind": "error", "error": "overloaded"}
_RATE_LIMIT: Act = {"kind": "error", "error": "rate_limit", "retry_after": 1}

SCENARIOS: dict[str, Scenario] = {
    "rate-limited": Scenario(
        "two rate-limit errors, then normal answers",
        ({**_RATE_LIMIT, "times": 2},),
    ),
    "retry-storm": Scenario(
        "rate-limit errors that increase to nine in ten requests, then decrease again",
        (
            {**_RATE_LIMIT, "from": 0, "for": 0.5, "share": [0.1, 0.9]},
            {**_RATE_LIMIT, "from": 0.5, "for": 0.5, "share": [0.9, 0]},
        ),
        60.0,
    ),
    "outage": Scenario(
        "the vendor's overload error for all requests",
        ({**_OVERLOADED, "from": 0, "for": 1},),
        30.0,
    ),
    "slow-recovery": Scenario(
        "normal for a tenth of the time, an outage for three tenths, then delays and errors that decrease",
        (
            {"kind": "stall", "seconds": 2, "from": 0.4, "for": 0.6, "share": [1, 0]},
            {**_OVERLOADED, "from": 0.1, "for": 0.3},
            {**_OVERLOADED, "from": 0.4, "for": 0.6, "share": [0.8, 0]},
        ),
        100.0,
    ),
    "brownout": Scenario(
        "more and more late or failing answers, up to half of them, then fewer again",
        (
            {"kind": "stall", "seconds": 2, "from": 0, "for": 0.5, "share": [0, 1]},
            {"kind": "stall", "seconds": 2, "from": 0.5, "for": 0.5, "share": [1, 0]},
            {"kind": "error", "error": "server_error", "from": 0, "for": 0.5, "share": [0, 0.5]},
            {"kind": "error", "error": "server_error", "from": 0.5, "for": 0.5, "share": [0.5, 0]},
        ),
        60.0,
    ),
    "flapping": Scenario(
        "three short outages with connection resets, and normal answers in between",
        tuple({"kind": "reset", "from": start / 5, "for": 1 / 5} for start in (0, 2, 4)),
        60.0,
    ),
    "restart": Scenario(
        "connection resets, then overload errors, then delays",
        (
            {"kind": "reset", "from": 0, "for": 0.25},
            {**_OVERLOADED, "from": 0.25, "for": 0.25},
            {"kind": "stall", "seconds": 3, "from": 0.5, "for": 0.5, "share": [1, 0]},
        ),
        20.0,
    ),
}


def acts(scenario: Scenario, start: float = 0.0, seconds: float | None = None) -> list[Act]:
    """The faults of a scenario that begins at `start` and takes `seconds` (None: its own time), as tables in the usual
    notation."""
    whole = scenario.seconds if seconds is None else seconds
    return [_timed(act, start, whole) for act in scenario.acts]


def _timed(act: Act, start: float, whole: float | None) -> Act:
    if whole is None:
        return {**act, "from": start}
    return {**act, "from": start + act.get("from", 0) * whole, "for": act.get("for", 1) * whole}

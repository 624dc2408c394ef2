"""The notation of durations: `180ms`, `1.5s`, `.5s`, `2 min`."""

import re

UNITS = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}

_DURATION = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*(us|µs|ms|s|min)")


def seconds_of(text: str) -> float | None:
    """The duration that a text states, in seconds; None if it states none."""
    matched = _DURATION.fullmatch(text)
    if matched:
        return float(matched[1]) * UNITS[matched[2]]
    return 0.0 if text == "0" else None

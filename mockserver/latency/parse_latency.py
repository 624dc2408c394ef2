"""The notation of latencies: durations, rates, distributions and whole profiles, as users write them.

    180ms    1800 tok/s    lognormal(180ms, 0.35, max=2s)    slow, rate=50 tok/s, jitter=0.2    realistic, speed=10
    ttft=empirical(file=traces/ttft.csv, column=ttft, unit=ms)

A profile is the name of a preset, or settings separated by commas, or a preset followed by settings that change it. A
mistake raises `NotationError`, which names its column.

Lengths of answers are written as the same distributions, of tokens: `128`, `normal(128, 20)`, `off`.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache, partial
from math import inf
from typing import Any, NamedTuple

from mockserver.core.generation import LONGEST_CHOICE
from mockserver.core.messages import short_repr, unknown_name
from mockserver.latency.profiles import (
    NOTHING,
    OFF,
    REALISTIC,
    UNITS,
    Constant,
    Distribution,
    Empirical,
    Gamma,
    Lognormal,
    Normal,
    Profile,
    Uniform,
    presets,
    seconds_of,
)
from mockserver.latency.traces import NO_TRACES, TraceError, TraceFile, Tracing

FASTEST = 1_000_000
_SLOWEST = 1000
_MOST_TOKENS = 4096
# No latency that somebody writes is longer, in characters.
_LONGEST = 10_000
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e-?\d{1,2})?")
_LENGTH = re.compile(r"(\d+(?:\.\d+)?)\s*(?:t|tok|toks|token|tokens)?")
# All of these mean tokens per second: `50 tok/s`, `50 tokens/s`, `50/s`, `50 tps`, `50`.
_RATE = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*(?:(?:t|tok|toks|token|tokens)?\s*/\s*s|tps)?")


class NotationError(ValueError):
    """A latency that cannot be read; the message names the column and what would have been valid."""


class _Text(NamedTuple):
    """A stretch of the text, with the column (from 1) where it begins, and the traces that it may name."""

    text: str
    column: int
    traces: Tracing

    def cut(self, start: int, end: int | None = None) -> "_Text":
        """The part between two positions, without the whitespace around it."""
        text = self.text[start:end]
        return _Text(text.strip(), self.column + start + len(text) - len(text.lstrip()), self.traces)

    def fault(self, what: str) -> NotationError:
        """The error that blames this part."""
        return NotationError(f"column {self.column}: {what}")


_Parameter = tuple[str, Callable[[_Text], float] | None, float | None]


def read_profile(text: str, realistic: str | None = None, traces: Tracing = NO_TRACES) -> Profile:
    """Read a profile; `realistic` names the preset that this word stands for, `traces` gives recorded times.

    Raises NotationError. With `realistic` its messages name that word and `off` too, which the caller reads.
    """
    _check_length(text)
    profile, given, whole = Profile(), set[str](), _Text(text, 1, traces)
    for number, part in enumerate(_split(whole)):
        key, equals, _ = part.text.partition("=")
        if not equals:
            profile = _preset(part, realistic, first=number == 0)
            continue
        name = key.strip()
        if name not in SETTINGS:
            raise part.fault(unknown_name("setting", name, SETTINGS))
        if name in given:
            raise part.fault(f"{name} is set twice")
        if {"itl", "rate"} <= {name, *given}:
            raise part.fault("itl and rate set the same thing; use only one of them")
        given.add(name)
        field, read = SETTINGS[name]
        profile = profile._replace(**{field: read(part.cut(len(key) + 1))})
    if (profile.stall == NOTHING) != (profile.stall_share == 0):
        raise whole.fault("stall and stall_share must be set together")
    return profile


def read_latency(value: object, traces: Tracing = NO_TRACES) -> str:
    """Read a latency, given as a text or a table of settings, into the text that settings keep. Raises NotationError,
    which quotes it."""
    if not isinstance(value, Mapping | str):
        raise NotationError(
            f"{short_repr(value)} is not a latency such as 'off', 'slow' or 'ttft=180ms, rate=50 tok/s'"
        )
    text = value if isinstance(value, str) else ", ".join(f"{key}={item}" for key, item in value.items())
    if text not in (OFF, REALISTIC):
        try:
            # The preset only stands in: which latencies are valid does not depend on it.
            read_profile(text, "fast", traces)
        except NotationError as error:
            raise NotationError(f"{short_repr(text)}: {error}") from None
    return text


def _check_length(text: str) -> None:
    if len(text) > _LONGEST:
        raise NotationError(f"it has {len(text):,} characters; at most {_LONGEST:,} are read")


@cache
def preset_profile(name: str) -> Profile:
    """The profile of the preset of that name; KeyError if there is none."""
    return read_profile(presets()[name].latency)


def read_lengths(text: str, traces: Tracing = NO_TRACES) -> Distribution | None:
    """Read a distribution of lengths in tokens: `128`, `normal(128, 20)`; None for `off`. Raises NotationError, which
    quotes it."""
    if text == OFF:
        return None
    part = _Text(text, 1, traces).cut(0)
    try:
        _check_length(text)
        lengths = _distribution(part, _length)
        if lengths.quantile(1) < 1:
            raise part.fault("an answer has at least one token")
    except NotationError as error:
        raise NotationError(
            f"{short_repr(text)}: {error}. Write '128', 'normal(128, 20)' or the like, or {OFF}"
        ) from None
    return lengths


def read_output_tokens(value: object, traces: Tracing = NO_TRACES) -> str:
    """Read lengths, given as a text or a number, into the text that settings keep. Raises NotationError, which quotes
    it."""
    if not isinstance(value, int | float | str):
        raise NotationError(f"{short_repr(value)} is not a number of tokens, or a text such as 'normal(128, 20)'")
    read_lengths(str(value), traces)
    return str(value)


def _preset(part: _Text, realistic: str | None, *, first: bool) -> Profile:
    name = realistic if realistic and part.text == REALISTIC else part.text
    if name[:1].isdigit():
        raise part.fault(f"{short_repr(name)} does not say of what: name it, as in 'ttft=180ms' or 'rate=50 tok/s'")
    if name == OFF and realistic:
        raise part.fault("off has no settings; use instant, which is as fast")
    if name not in presets():
        known = (*presets(), OFF, REALISTIC) if realistic else presets()
        raise part.fault(unknown_name("preset", name, known))
    if not first:
        raise part.fault(
            f"a preset must come before the settings that change it; move {short_repr(part.text)} to the front"
        )
    return preset_profile(name)


def _distribution(part: _Text, amount: Callable[[_Text], float]) -> Distribution:
    """A distribution of durations, or of whatever else `amount` reads."""
    name, bracket, rest = part.text.partition("(")
    if not bracket:
        return Constant(amount(part))
    if name.strip() not in _DISTRIBUTIONS:
        raise part.fault(unknown_name("distribution", name.strip(), _DISTRIBUTIONS))
    if not rest.endswith(")"):
        raise part.cut(len(part.text)).fault("the bracket is not closed")
    make, parameters = _DISTRIBUTIONS[name.strip()]
    parts = _split(part.cut(len(name) + 1, -1))
    placed = [each for each in parts if "=" not in each.text]
    named: dict[str, _Text] = {}
    for each in parts:
        key, equals, _ = each.text.partition("=")
        if equals and key.strip() in named:
            raise each.fault(f"{key.strip()} is set twice")
        if equals:
            named[key.strip()] = each.cut(len(key) + 1)
    values: list[float] = []
    if make is Empirical and "file" in named:
        values += _recorded(named.pop("file"), named, amount)
    else:
        for key, read, default in parameters:
            given = named.pop(key, None) or (placed.pop(0) if placed else None)
            if given is None and default is None:
                raise part.fault(f"{key} is missing in {short_repr(part.text)}")
            values.append((read or amount)(given) if given is not None else default or 0.0)
        if make is Empirical:
            values += map(amount, placed)
            placed = []
    made = make(tuple(values)) if make is Empirical else make(*values)
    if isinstance(made, Uniform | Normal) and made.least > made.most:
        raise part.fault(f"the minimum is greater than the maximum in {short_repr(part.text)}")
    for each in (*placed, *named.values()):
        raise each.fault(f"{short_repr(each.text)} is an unexpected argument")
    return made


def _recorded(file: _Text, named: dict[str, _Text], amount: Callable[[_Text], float]) -> tuple[float, ...]:
    """The times that a file records; takes the arguments that say where in it."""
    column, unit = named.pop("column", None), named.pop("unit", None)
    if unit is not None and unit.text not in UNITS:
        raise unit.fault(unknown_name("unit", unit.text, UNITS))
    recording = TraceFile(file.text, column.text if column else None, unit.text if unit else None)
    try:
        found = file.traces(recording)
    except TraceError as error:
        raise file.fault(str(error)) from None
    what, most = _COUNTED.get(amount, ("", 0))
    if what and (min(found) < 1 or max(found) > most):
        raise file.fault(f"{file.text}: {what} must have from 1 to {most} tokens")
    return found


def _duration(part: _Text) -> float:
    seconds = seconds_of(part.text)
    if seconds is None:
        raise part.fault(f"{short_repr(part.text)} is not a duration such as '180ms', '1.5s' or '0'")
    return seconds


def _number(part: _Text) -> float:
    if not _NUMBER.fullmatch(part.text):
        raise part.fault(f"{short_repr(part.text)} is not a number")
    return float(part.text)


def _within(least: int, most: int, what: str) -> Callable[[_Text], float]:
    def read(part: _Text) -> float:
        number = _number(part)
        if not least <= number <= most:
            raise part.fault(f"{part.text} is not a {what} from {least} to {most}")
        return number

    return read


_tokens = _within(1, _MOST_TOKENS, "number of tokens")
_share = _within(0, 1, "share")
# With a greater sigma, a lognormal distribution has values that no clock could show.
_spread = _within(0, 10, "spread")


def _length(part: _Text) -> float:
    matched = _LENGTH.fullmatch(part.text)
    if matched is None or float(matched[1]) > LONGEST_CHOICE:
        raise part.fault(f"{short_repr(part.text)} is not a number of tokens up to {LONGEST_CHOICE}")
    return float(matched[1])


# What is counted in tokens rather than timed: what has them, and the most that it may have.
_COUNTED: Mapping[Callable[[_Text], float], tuple[str, int]] = {
    _tokens: ("a chunk", _MOST_TOKENS),
    _length: ("an answer", LONGEST_CHOICE),
}


def _speed(part: _Text) -> float:
    speed = _positive(part)
    if not 1 / FASTEST <= speed <= FASTEST:
        raise part.fault(f"{part.text} is not a speed from {1 / FASTEST:f} to {FASTEST}")
    return speed


def _bound(part: _Text) -> int | None:
    """A number of requests, or None for no bound."""
    if part.text == "unlimited":
        return None
    if not re.fullmatch(r"\d{1,9}", part.text):
        raise part.fault(f"{short_repr(part.text)} is neither a whole number nor 'unlimited'")
    return int(part.text)


def _slots(part: _Text) -> int | None:
    slots = _bound(part)
    if slots == 0:
        raise part.fault("must be at least 1, since an engine without slots cannot serve any request")
    return slots


def _positive(part: _Text) -> float:
    number = _number(part)
    if number <= 0:
        raise part.fault(f"{part.text} must be greater than 0")
    return number


def _rate(part: _Text) -> Distribution:
    matched = _RATE.fullmatch(part.text)
    if matched is None or float(matched[1]) == 0:
        raise part.fault(f"{short_repr(part.text)} is not a rate such as '1800 tok/s'")
    return Constant(1 / float(matched[1]))


# How each distribution is made, and its parameters: name, reader (None: of amounts), default (None: required).
_DISTRIBUTIONS: Mapping[str, tuple[Callable[..., Distribution], tuple[_Parameter, ...]]] = {
    "constant": (Constant, (("seconds", None, None),)),
    "uniform": (Uniform, (("min", None, None), ("max", None, None))),
    "normal": (Normal, (("mean", None, None), ("sd", None, None), ("min", None, 0.0), ("max", None, inf))),
    "lognormal": (Lognormal, (("median", None, None), ("sigma", _spread, None), ("max", None, inf))),
    "gamma": (Gamma, (("shape", _positive, None), ("scale", None, None), ("max", None, inf))),
    "empirical": (Empirical, (("seconds", None, None),)),
}

_durations = partial(_distribution, amount=_duration)

# The field of a profile that each setting sets, and what reads it.
SETTINGS: Mapping[str, tuple[str, Callable[[_Text], Any]]] = {
    "network": ("network", _durations),
    "queue": ("queue", _durations),
    "prefill": ("prefill", _durations),
    "prefill_per_token": ("prefill_per_token", _duration),
    "ttft": ("ttft", _durations),
    "itl": ("gap", _durations),
    "rate": ("gap", _rate),
    "jitter": ("jitter", _spread),
    "stall": ("stall", _durations),
    "stall_share": ("stall_share", _share),
    "tokens_per_chunk": ("chunk", partial(_distribution, amount=_tokens)),
    "speed": ("speed", _speed),
    "slots": ("slots", _slots),
    "waiting": ("waiting", _bound),
    "slowdown": ("slowdown", _within(1, _SLOWEST, "factor")),
    "interference": ("interference", _share),
}


def _split(part: _Text) -> list[_Text]:
    """The parts between commas outside of brackets."""
    parts, depth, start = [], 0, 0
    for index, character in enumerate(f"{part.text},"):
        depth += (character == "(") - (character == ")")
        if character == "," and depth <= 0:
            parts.append(part.cut(start, index))
            start = index + 1
    if depth > 0:
        raise part.fault("a bracket is not closed")
    return parts

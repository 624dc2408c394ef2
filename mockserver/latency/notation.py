"""The notation of latencies: durations, rates, distributions and whole profiles, as users write them.

    180ms    1800 tok/s    lognormal(180ms, 0.35, max=2s)    slow, rate=50 tok/s, jitter=0.2    realistic, speed=10
    ttft=empirical(file=traces/ttft.csv, column=ttft, unit=ms)

A profile is the name of a preset, or settings separated by commas, or a preset followed by settings that change it. A
mistake raises `NotationError`, which names its column.

Lengths of answers are written as the same distributions, of tokens: `128`, `normal(128, 20)`, `off`.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import NamedTuple

from mockserver.core.generation import LONGEST_CHOICE
from mockserver.core.naming import shortened, unknown
from mockserver.latency.distributions import Constant, Distribution, Empirical, Gamma, Lognormal, Normal, Uniform
from mockserver.latency.durations import UNITS, seconds_of
from mockserver.latency.presets import OFF, REALISTIC, presets
from mockserver.latency.profiles import NOTHING, Profile
from mockserver.latency.traces import NO_TRACES, Recording, TraceError, Tracing

# With a greater sigma, a lognormal distribution has values that no clock could show.
_WIDEST = 10
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


class UnknownPresetError(NotationError):
    """A preset that does not exist."""


class _Part(NamedTuple):
    """A stretch of the text, with the column (from 1) where it begins, and the traces that it may name."""

    text: str
    column: int
    traces: Tracing

    def cut(self, start: int, end: int | None = None) -> "_Part":
        """The part between two positions, without the whitespace around it."""
        text = self.text[start:end]
        return _Part(text.strip(), self.column + start + len(text) - len(text.lstrip()), self.traces)

    def fault(self, what: str) -> NotationError:
        """The error that blames this part."""
        return NotationError(f"column {self.column}: {what}")


def read_profile(text: str, realistic: str | None = None, traces: Tracing = NO_TRACES) -> Profile:
    """Read a profile; `realistic` names the preset that this word stands for, `traces` gives recorded times. Raises
    NotationError."""
    _check_length(text)
    profile, given, whole = Profile(), set[str](), _Part(text, 1, traces)
    for number, part in enumerate(_split(whole)):
        key, equals, _ = part.text.partition("=")
        if not equals:
            profile = _preset(part, realistic, first=number == 0)
            continue
        name = key.strip()
        setting = SETTINGS.get(name)
        if setting is None:
            raise part.fault(unknown("setting", name, SETTINGS))
        if name in given:
            raise part.fault(f"{name} is set twice")
        if {"itl", "rate"} <= {name, *given}:
            raise part.fault("itl and rate set the same thing; use only one of them")
        given.add(name)
        profile = setting(profile, part.cut(len(key) + 1))
    if (profile.stall == NOTHING) != (profile.stall_share == 0):
        raise whole.fault("stall and stall_share must be set together")
    return profile


def read_latency(value: Mapping[str, object] | str, traces: Tracing = NO_TRACES) -> str:
    """Read a latency, given as a text or a table of settings, into the text that settings keep. Raises NotationError,
    which quotes it."""
    text = value if isinstance(value, str) else ", ".join(f"{key}={item}" for key, item in value.items())
    if text not in (OFF, REALISTIC):
        try:
            # The preset only stands in: which latencies are valid does not depend on it.
            read_profile(text, "fast", traces)
        except NotationError as error:
            raise NotationError(complaint_of(text, error)) from None
    return text


def _check_length(text: str) -> None:
    if len(text) > _LONGEST:
        raise NotationError(f"it has {len(text):,} characters; at most {_LONGEST:,} are read")


def complaint_of(text: str, error: NotationError) -> str:
    """The error message for a latency where `off` and `realistic` would have been valid too."""
    also = f". Also possible: {OFF}, {REALISTIC}" if isinstance(error, UnknownPresetError) else ""
    return f"{shortened(text)}: {error}{also}"


@cache
def preset_profile(name: str) -> Profile:
    """The profile of the preset of that name; KeyError if there is none."""
    return read_profile(presets()[name].latency)


def read_distribution(text: str) -> Distribution:
    """Read a distribution of durations: `180ms`, `normal(1s, 200ms)`. Raises NotationError."""
    return _distribution(_Part(text, 1, NO_TRACES).cut(0), _duration)


def read_lengths(text: str, traces: Tracing = NO_TRACES) -> Distribution | None:
    """Read a distribution of lengths in tokens: `128`, `normal(128, 20)`; None for `off`. Raises NotationError, which
    quotes it."""
    if text == OFF:
        return None
    part = _Part(text, 1, traces).cut(0)
    try:
        _check_length(text)
        lengths = _distribution(part, _length)
        if lengths.quantile(1) < 1:
            raise part.fault("an answer has at least one token")
    except NotationError as error:
        raise NotationError(
            f"{shortened(text)}: {error}. Write '128', 'normal(128, 20)' or the like, or {OFF}"
        ) from None
    return lengths


def _preset(part: _Part, realistic: str | None, *, first: bool) -> Profile:
    name = realistic if realistic and part.text == REALISTIC else part.text
    if name[:1].isdigit():
        raise part.fault(f"{shortened(name)} does not say of what: name it, as in 'ttft=180ms' or 'rate=50 tok/s'")
    if name not in presets():
        raise UnknownPresetError(str(part.fault(unknown("preset", name, presets()))))
    if not first:
        raise part.fault(
            f"a preset must come before the settings that change it; move {shortened(part.text)} to the front"
        )
    return preset_profile(name)


def _distribution(part: _Part, amount: Callable[[_Part], float]) -> Distribution:
    """A distribution of durations, or of whatever else `amount` reads."""
    name, bracket, rest = part.text.partition("(")
    if not bracket:
        return Constant(amount(part))
    make = _DISTRIBUTIONS.get(name.strip())
    if make is None:
        raise part.fault(unknown("distribution", name.strip(), _DISTRIBUTIONS))
    if not rest.endswith(")"):
        raise part.cut(len(part.text)).fault("the bracket is not closed")
    given = _Arguments(part, _split(part.cut(len(name) + 1, -1)), amount)
    made = make(given)
    given.end()
    return made


class _Arguments:
    """The arguments of a distribution: positional ones, then named ones."""

    def __init__(self, whole: _Part, parts: list[_Part], amount: Callable[[_Part], float]) -> None:
        self._whole = whole
        self._amount = amount
        self._placed = [part for part in parts if "=" not in part.text]
        self._named: dict[str, _Part] = {}
        for part in parts:
            key, equals, _ = part.text.partition("=")
            if not equals:
                continue
            if key.strip() in self._named:
                raise part.fault(f"{key.strip()} is set twice")
            self._named[key.strip()] = part.cut(len(key) + 1)

    def take(self, name: str, read: Callable[[_Part], float], default: float | None = None) -> float:
        """The next positional argument, or the one of that name."""
        part = self._named.pop(name, None) or (self._placed.pop(0) if self._placed else None)
        if part is not None:
            return read(part)
        if default is None:
            raise self.fault(f"{name} is missing")
        return default

    def amount(self, name: str, default: float | None = None) -> float:
        """The next argument of the kind that the distribution yields, mostly a duration."""
        return self.take(name, self._amount, default)

    def word(self, name: str) -> _Part | None:
        """The argument of that name, if given; it is never positional."""
        return self._named.pop(name, None)

    def fault(self, what: str) -> NotationError:
        """The error that blames the distribution as a whole."""
        return self._whole.fault(f"{what} in {shortened(self._whole.text)}")

    def amounts(self) -> list[float]:
        """All remaining positional arguments."""
        left, self._placed = self._placed, []
        return [self._amount(part) for part in left]

    def recorded(self, file: _Part) -> tuple[float, ...]:
        """The times that a file records."""
        column, unit = self.word("column"), self.word("unit")
        if unit is not None and unit.text not in UNITS:
            raise unit.fault(unknown("unit", unit.text, UNITS))
        recording = Recording(file.text, column.text if column else None, unit.text if unit else None)
        try:
            found = file.traces(recording)
        except TraceError as error:
            raise file.fault(str(error)) from None
        what, most = _COUNTED.get(self._amount, ("", 0))
        if what and (min(found) < 1 or max(found) > most):
            raise file.fault(f"{file.text}: {what} must have from 1 to {most} tokens")
        return found

    def end(self) -> None:
        """Raise NotationError for arguments that have not been taken."""
        for part in (*self._placed, *self._named.values()):
            raise part.fault(f"{shortened(part.text)} is an unexpected argument")


def _constant(given: _Arguments) -> Distribution:
    return Constant(given.amount("seconds"))


def _uniform(given: _Arguments) -> Distribution:
    made = Uniform(given.amount("min"), given.amount("max"))
    if made.least > made.most:
        raise given.fault("the minimum is greater than the maximum")
    return made


def _normal(given: _Arguments) -> Distribution:
    mean, deviation = given.amount("mean"), given.amount("sd")
    made = Normal(mean, deviation, given.amount("min", 0.0), given.amount("max", float("inf")))
    if made.least > made.most:
        raise given.fault("the minimum is greater than the maximum")
    return made


def _lognormal(given: _Arguments) -> Distribution:
    median, sigma = given.amount("median"), given.take("sigma", _spread)
    return Lognormal(median, sigma, given.amount("max", float("inf")))


def _gamma(given: _Arguments) -> Distribution:
    shape, scale = given.take("shape", _positive), given.amount("scale")
    return Gamma(shape, scale, given.amount("max", float("inf")))


def _empirical(given: _Arguments) -> Distribution:
    file = given.word("file")
    return Empirical(given.recorded(file) if file is not None else (given.amount("seconds"), *given.amounts()))


_DISTRIBUTIONS: dict[str, Callable[[_Arguments], Distribution]] = {
    "constant": _constant,
    "uniform": _uniform,
    "normal": _normal,
    "lognormal": _lognormal,
    "gamma": _gamma,
    "empirical": _empirical,
}


def _rate(part: _Part) -> Distribution:
    matched = _RATE.fullmatch(part.text)
    if matched is None or float(matched[1]) == 0:
        raise part.fault(f"{shortened(part.text)} is not a rate such as '1800 tok/s'")
    return Constant(1 / float(matched[1]))


def _share(part: _Part) -> float:
    share = _number(part)
    if not 0 <= share <= 1:
        raise part.fault(f"{part.text} is not a share from 0 to 1")
    return share


SETTINGS: Mapping[str, Callable[[Profile, _Part], Profile]] = {
    "network": lambda profile, part: profile._replace(network=_distribution(part, _duration)),
    "queue": lambda profile, part: profile._replace(queue=_distribution(part, _duration)),
    "prefill": lambda profile, part: profile._replace(prefill=_distribution(part, _duration)),
    "prefill_per_token": lambda profile, part: profile._replace(prefill_per_token=_duration(part)),
    "ttft": lambda profile, part: profile._replace(ttft=_distribution(part, _duration)),
    "itl": lambda profile, part: profile._replace(gap=_distribution(part, _duration)),
    "rate": lambda profile, part: profile._replace(gap=_rate(part)),
    "jitter": lambda profile, part: profile._replace(jitter=_spread(part)),
    "stall": lambda profile, part: profile._replace(stall=_distribution(part, _duration)),
    "stall_share": lambda profile, part: profile._replace(stall_share=_share(part)),
    "tokens_per_chunk": lambda profile, part: profile._replace(chunk=_distribution(part, _tokens)),
    "speed": lambda profile, part: profile._replace(speed=_speed(part)),
    "slots": lambda profile, part: profile._replace(slots=_slots(part)),
    "waiting": lambda profile, part: profile._replace(waiting=_bound(part)),
    "slowdown": lambda profile, part: profile._replace(slowdown=_slowdown(part)),
    "interference": lambda profile, part: profile._replace(interference=_share(part)),
}


def _duration(part: _Part) -> float:
    seconds = seconds_of(part.text)
    if seconds is None:
        raise part.fault(f"{shortened(part.text)} is not a duration such as '180ms', '1.5s' or '0'")
    return seconds


def _number(part: _Part) -> float:
    if not _NUMBER.fullmatch(part.text):
        raise part.fault(f"{shortened(part.text)} is not a number")
    return float(part.text)


def _tokens(part: _Part) -> float:
    number = _number(part)
    if not 1 <= number <= _MOST_TOKENS:
        raise part.fault(f"{part.text} is not a number of tokens from 1 to {_MOST_TOKENS}")
    return number


def _length(part: _Part) -> float:
    matched = _LENGTH.fullmatch(part.text)
    if matched is None or float(matched[1]) > LONGEST_CHOICE:
        raise part.fault(f"{shortened(part.text)} is not a number of tokens up to {LONGEST_CHOICE}")
    return float(matched[1])


# What is counted in tokens rather than timed: what has them, and the most that it may have.
_COUNTED: Mapping[Callable[[_Part], float], tuple[str, int]] = {
    _tokens: ("a chunk", _MOST_TOKENS),
    _length: ("an answer", LONGEST_CHOICE),
}


def _speed(part: _Part) -> float:
    speed = _positive(part)
    if not 1 / FASTEST <= speed <= FASTEST:
        raise part.fault(f"{part.text} is not a speed from {1 / FASTEST:f} to {FASTEST}")
    return speed


def _bound(part: _Part) -> int | None:
    """A number of requests, or None for no bound."""
    if part.text == "unlimited":
        return None
    if not re.fullmatch(r"\d{1,9}", part.text):
        raise part.fault(f"{shortened(part.text)} is neither a whole number nor 'unlimited'")
    return int(part.text)


def _slots(part: _Part) -> int | None:
    slots = _bound(part)
    if slots == 0:
        raise part.fault("must be at least 1, since an engine without slots cannot serve any request")
    return slots


def _slowdown(part: _Part) -> float:
    factor = _number(part)
    if not 1 <= factor <= _SLOWEST:
        raise part.fault(f"{part.text} is not a factor from 1 to {_SLOWEST}")
    return factor


def _spread(part: _Part) -> float:
    spread = _number(part)
    if spread > _WIDEST:
        raise part.fault(f"{part.text} is more than the greatest possible spread, {_WIDEST}")
    return spread


def _positive(part: _Part) -> float:
    number = _number(part)
    if number <= 0:
        raise part.fault(f"{part.text} must be greater than 0")
    return number


def _split(part: _Part) -> list[_Part]:
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

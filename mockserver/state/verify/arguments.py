"""The arguments of checks: numbers, bounds, prices, matches. Each is validated when it is read.

A reader gets the value and its place, which errors name; a CheckError says what would have been valid.
"""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any, NamedTuple, TypeGuard

from mockserver.core.naming import shortened, unknown

_BOUNDS = ("at_least", "at_most")


class CheckError(ValueError):
    """A check that is invalid; the message says what would have been valid."""


class Price(NamedTuple):
    """What a million tokens cost: of prompts, of completions, and of cached prompts, None for no price of their own."""

    prompt: float
    completion: float
    cached: float | None = None

    def of(self, prompt: int, completion: int, cached: int) -> float:
        """The cost of so many tokens; the cached ones are part of the prompt."""
        rate = self.prompt if self.cached is None else self.cached
        return ((prompt - cached) * self.prompt + cached * rate + completion * self.completion) / 1e6


class Bounds(NamedTuple):
    """From `least` to `most`, both inclusive; None means unlimited."""

    least: int = 0
    most: int | None = None

    def __str__(self) -> str:
        if self.most is None:
            return f"at least {self.least}"
        if self.least == self.most:
            return str(self.least)
        return f"{self.least} to {self.most}" if self.least else f"at most {self.most}"


def read_bounds(value: object, place: str) -> Bounds:
    """Bounds from a number, from true for at least one, or from a table of `at_least` and `at_most`."""
    if value is True:
        return Bounds(1)
    given = [name for name in _BOUNDS if value.get(name) is not None] if isinstance(value, Mapping) else []
    if isinstance(value, Mapping) and given and not value.keys() - set(_BOUNDS):
        least, most = (_bound(value[name], place) if name in given else None for name in _BOUNDS)
        if least is not None and most is not None and least > most:
            raise CheckError(f"{place}: at_least {least} is more than at_most {most}")
        return Bounds(least or 0, most)
    number = _bound(value, place)
    return Bounds(number, number)


def read_whole(value: object, place: str) -> int:
    """A whole number from 0 on."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _strange(value, place, "a whole number of at least 0")
    return value


def read_amount(value: object, place: str) -> float:
    """A number from 0 on."""
    if not _is_amount(value):
        raise _strange(value, place, "a number of at least 0")
    return value


def read_seconds(value: object, place: str) -> float:
    """A number of seconds."""
    if not _is_amount(value):
        raise CheckError(f"{place}: {shortened(value)} is not a number of seconds of at least 0")
    return value


def read_prices(value: object, place: str) -> Mapping[str, Price]:
    """The prices by model, '*' being all others: lists of two or three numbers."""
    if isinstance(value, Mapping) and value and all(map(_is_price, value.values())):
        return {str(model): Price(*price) for model, price in value.items()}
    example = 'such as {"*": [0.1, 0.4]}'
    raise _strange(value, place, f"a table with the prices of a million prompt and answer tokens by model, {example}")


def read_name(value: object, place: str) -> str:
    """A non-empty string."""
    if not isinstance(value, str) or not value:
        raise _strange(value, place, "a name")
    return value


def read_table(value: object, place: str) -> Mapping[str, Any]:
    """A table."""
    if not isinstance(value, Mapping):
        raise CheckError(f"{place}: must be a table")
    return value


def read_matches(value: object, place: str) -> Sequence[Mapping[str, Any]]:
    """A non-empty list of matches."""
    if not isinstance(value, list | tuple) or not value:
        raise CheckError(f'{place}: must be a list of matches, such as [{{"turn": 1}}, {{"turn": 2}}]')
    return [read_table(match, f"{place}[{number}]") for number, match in enumerate(value)]


def read_keys(table: Mapping[str, Any], known: Sequence[str], place: str) -> Mapping[str, Any]:
    """A table with known keys only."""
    for name in table:
        if name not in known:
            raise CheckError(f"{place}: {unknown('key', name, known)}")
    return table


def _bound(value: object, place: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise CheckError(
            f'{place}: {shortened(value)} is not a whole number, or a table such as {{"at_least": 1, "at_most": 3}}'
        )
    return value


def _is_amount(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < inf


def _is_price(value: object) -> bool:
    return isinstance(value, list | tuple) and len(value) in (2, 3) and all(map(_is_amount, value))


def _strange(value: object, place: str, valid: str) -> CheckError:
    return CheckError(f"{place}: {shortened(value)} is not {valid}")

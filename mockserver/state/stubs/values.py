"""Checked values of the tables of stubs: a mistake raises `StubError`, which names the place."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from mockserver.core.json_values import is_shallow
from mockserver.core.messages import short_repr, unknown_name
from mockserver.latency import profiles

Table = Mapping[str, Any]
# No reasonable count or number of seconds is greater.
MOST = 1_000_000_000
# The greatest number in single precision, in which embeddings are sent in base64.
_GREATEST = 3.4028234e38


class StubError(ValueError):
    """A stub that is invalid; the message names the place and what would have been valid."""

    __module__ = "mockserver"  # where users import it from


def table_of(value: object, place: str, known: Sequence[str], example: str) -> Table:
    """A table with known keys only; the `example` shows what was expected."""
    if not isinstance(value, Mapping):
        raise StubError(f"{place}: {short_repr(value)} is not valid; write {example}")
    for key in value:
        if key not in known:
            raise StubError(f"{place}: {unknown_name('key', key, known)}")
    return value


def list_of(value: object, place: str, least: int = 1) -> Sequence[Any]:
    """A list with at least so many items."""
    if not isinstance(value, list | tuple) or len(value) < least:
        raise StubError(f"{place}: must be a list{' with at least one item' if least else ''}")
    return value


def text_of(value: object, place: str) -> str:
    """A string that can be encoded in UTF-8."""
    if not isinstance(value, str):
        raise StubError(f"{place}: {short_repr(value)} is not a string")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise StubError(
            f"{place}: {short_repr(value)} contains half of a surrogate pair, which UTF-8 cannot encode"
        ) from None
    return value


def json_of(value: object, place: str) -> str:
    """A JSON value, serialised."""
    if not is_shallow(value):
        raise StubError(f"{place}: is nested too deeply")
    try:
        return text_of(json.dumps(value, ensure_ascii=False, allow_nan=False), place)
    except (TypeError, ValueError, RecursionError) as error:
        raise StubError(f"{place}: is not a JSON value: {error}") from None


def flag_of(value: object, place: str) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise StubError(f"{place}: must be true or false")
    return value


def whole_of(value: object, place: str, least: int = 0, most: int = MOST) -> int:
    """A whole number within bounds, both inclusive."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise StubError(f"{place}: {short_repr(value)} is not a whole number from {least} to {most}")
    return value


def number_of(value: object, place: str) -> float:
    """A number that has a value in single precision."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _GREATEST:
        raise StubError(f"{place}: {short_repr(value)} is not a number in single precision")
    return float(value)


def seconds_of(value: object, place: str) -> float:
    """Seconds, from a number or a duration."""
    seconds = profiles.seconds_of(value.strip()) if isinstance(value, str) else value
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds <= MOST:
        raise StubError(f"{place}: {short_repr(value)} is not a number of seconds, or a duration such as '200ms'")
    return float(seconds)


def header_of(value: object, place: str) -> bytes:
    """The value of a header."""
    text = text_of(value, place)
    if not text.isprintable() or text != text.strip():
        raise StubError(f"{place}: {short_repr(text)} contains characters that a header cannot have")
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        raise StubError(f"{place}: {short_repr(text)} contains characters beyond Latin-1") from None

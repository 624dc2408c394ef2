"""The headers of a request to publish: how its message is delivered, and its callbacks.

`Upstash-Callback-Retries` is for the callback what `Upstash-Retries` is for the message, and so on for all options;
`Upstash-Failure-Callback-Retries` for the failure callback.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from mockserver.dialects.upstash.errors import refused
from mockserver.dialects.upstash.qstash.retries import duration, milliseconds
from mockserver.dialects.upstash.qstash.values import LONGEST_TIMEOUT, Callback, Fields, Options, canonical

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_MOST_RETRIES = 1_000
# The latest time that a message can be delivered at, in Unix seconds: the end of the year 9999.
_LATEST = 253_402_300_799
_LONGEST_URL = 16_384
_TRUE, _FALSE = ("1", "t", "true"), ("0", "f", "false")
_REDACTED = re.compile(r"body|headers?(?:\[[^\[\]]+\])?")
_PREFIX, _CALLBACK, _FAILURE = "upstash-", "upstash-callback", "upstash-failure-callback"
_FORWARD = "forward-"


# Features that are absent, by a part of the names of their headers.
_ABSENT = {
    "upstash-cron": "schedules",
    "upstash-flow-control-": "flow control",
    "upstash-callback-flow-control-": "flow control",
    "upstash-failure-callback-flow-control-": "flow control",
}
# Where they are to be had.
LOCAL_SERVER = "Upstash's own local server has: npx @upstash/qstash-cli dev"


class PublishOptions(NamedTuple):
    """Everything that the headers of a request to publish say. `not_before` is a Unix time."""

    options: Options
    not_before: float | None = None
    callback: Callback | None = None
    failure_callback: Callback | None = None
    deduplication_id: str | None = None
    is_content_based: bool = False
    labels: tuple[str, ...] = ()
    redacted: tuple[str, ...] = ()


def _method(text: str) -> str:
    if text.upper() not in _METHODS:
        raise ValueError(f"{text!r} is not one of {', '.join(_METHODS)}")
    return text.upper()


def _whole(most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not re.fullmatch(r"\d{1,15}", text, re.ASCII) or int(text) > most:
            raise ValueError(f"{text!r} is not a whole number from 0 to {most}")
        return int(text)

    return read


def _delay(text: str) -> float:
    seconds = duration(text)
    if seconds > _LATEST:
        raise ValueError("it ends after the year 9999")
    return seconds


def _timeout(text: str) -> float:
    return min(duration(text), LONGEST_TIMEOUT)


def _expression(text: str) -> str:
    # It raises for what is no expression.
    milliseconds(text, 0)
    return text


def _flag(text: str) -> bool:
    if text.lower() not in (*_TRUE, *_FALSE):
        raise ValueError(f"{text!r} is neither true nor false")
    return text.lower() in _TRUE


def _redacted(text: str) -> tuple[str, ...]:
    """The fields to redact: `body`, `header` for all headers, and `header[name]`, names in lower case.

    The page has `headers` for what the SDKs send as `header`.
    """
    found = [_REDACTED.fullmatch(field.strip().lower()) for field in text.split(",") if field.strip()]
    if not all(found):
        raise ValueError(f"{text!r} does not consist of body, header and header[name]")
    return tuple(field[0].replace("headers", "header", 1) for field in found if field)


def checked_url(text: str) -> str:
    """An absolute URL. Raises ValueError in QStash's words."""
    if len(text) > _LONGEST_URL:
        raise ValueError(f"endpoint is longer than {_LONGEST_URL} characters")
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https"):
        raise ValueError("endpoint has invalid scheme, add http:// or https://")
    # Reading the port raises ValueError if it is out of range.
    if not parts.hostname or parts.port == 0 or not parts.hostname.isprintable() or re.search(r"[\s\x00-\x1f]", text):
        raise ValueError("endpoint has no valid host")
    return text


# What an option's header is called after its prefix, how it is read, and the field that it sets.
_OPTIONS: Mapping[str, tuple[Callable[[str], Any], str]] = {
    "method": (_method, "method"),
    "retries": (_whole(_MOST_RETRIES), "retries"),
    "retry-delay": (_expression, "retry_delay"),
    "timeout": (_timeout, "timeout"),
    "delay": (_delay, "delay"),
}


def read_options(fields: Mapping[str, str], usual: Options | None = None) -> PublishOptions:
    """What headers ask for, whose names are in lower case; `usual` are the options of those that are absent.

    Raises RefusedError, also for a feature that is absent: to deliver at once what was to be held back would be wrong.
    """
    for name, value in fields.items():
        if (feature := _absent(name)) is not None and value.strip():
            raise refused(f"{canonical(name)} header: mockserver has no {feature}, which {LOCAL_SERVER}")
    # The words are recorded.
    if ":" in fields.get("upstash-deduplication-id", ""):
        raise refused("DeduplicationId cannot contain ':'")
    content_type = (("Content-Type", fields["content-type"]),) if fields.get("content-type") else ()
    options = _options(fields, _PREFIX, usual or Options(headers=content_type))
    return PublishOptions(
        options,
        _read(fields, "upstash-not-before", _whole(_LATEST)),
        _callback(fields, _CALLBACK, options),
        _callback(fields, _FAILURE, options),
        fields.get("upstash-deduplication-id") or None,
        bool(_read(fields, "upstash-content-based-deduplication", _flag)),
        tuple(label.strip() for label in fields.get("upstash-label", "").split(",") if label.strip()),
        _read(fields, "upstash-redact-fields", _redacted) or (),
    )


def _absent(name: str) -> str | None:
    """The feature that a header asks for, if it is absent here."""
    return next((feature for start, feature in _ABSENT.items() if name.startswith(start)), None)


def _callback(fields: Mapping[str, str], name: str, source: Options) -> Callback | None:
    """A callback, with its source's retries unless it has its own: "Callbacks will use the retry setting from the
    original request."."""
    to = _read(fields, name, checked_url)
    if to is None:
        return None
    usual = Options(
        headers=(("Content-Type", "application/json"),), retries=source.retries, retry_delay=source.retry_delay
    )
    return Callback(to, _options(fields, f"{name}-", usual))


def _options(fields: Mapping[str, str], prefix: str, usual: Options) -> Options:
    given = {field: _read(fields, f"{prefix}{name}", read) for name, (read, field) in _OPTIONS.items()}
    forwarded = _forwarded(fields, f"{prefix}{_FORWARD}")
    named = {name.lower() for name, _ in forwarded}
    headers: Fields = (*(each for each in usual.headers if each[0].lower() not in named), *forwarded)
    set_here = {field: value for field, value in given.items() if value is not None}
    return usual._replace(headers=headers, **set_here)


def _forwarded(fields: Mapping[str, str], prefix: str) -> Fields:
    return tuple(
        (canonical(name.removeprefix(prefix)), value)
        for name, value in fields.items()
        if name.startswith(prefix) and name != prefix
    )


def _read(fields: Mapping[str, str], name: str, read: Callable[[str], Any]) -> Any:
    """The value of a header; None if it is absent or empty."""
    text = fields.get(name, "").strip()
    if not text:
        return None
    try:
        return read(text)
    except ValueError as error:
        raise refused(f"invalid {canonical(name)} header: {error}") from None

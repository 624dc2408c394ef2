"""Publishing: `POST /v2/publish/{destination}`, `/v2/enqueue/{queue}/{destination}` and `/v2/batch`.

A destination is a URL, or `api/llm` for the model. QStash accepts a message without looking into it; what a model finds
wrong with its body, its callback says. Headers say how a message is delivered, and its callbacks:
`Upstash-Callback-Retries` is for the callback what `Upstash-Retries` is for the message, and so on for all options;
`Upstash-Failure-Callback-Retries` for the failure callback.
"""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import quote, unquote_plus, urlsplit

import orjson

from mockserver.core.dialects import RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.http import Call, Reply, by_name
from mockserver.core.json_values import nests_absurdly
from mockserver.core.seeding import derive, fingerprint
from mockserver.dialects.upstash.attempts import digits, duration, milliseconds
from mockserver.dialects.upstash.errors import CHAT_PATH, ERRORS, QuotaExceededError, RefusedError, object_in, refused
from mockserver.dialects.upstash.message_store import owner_of, store_of
from mockserver.dialects.upstash.values import (
    LONGEST_TIMEOUT,
    Callback,
    Options,
    Order,
    QueuedMessage,
    canonical,
    json_reply,
)

LLM = "api/llm"
# The URL that callbacks state for a message to the model.
_LLM_URL = f"https://qstash.upstash.io{CHAT_PATH}"
# What need not be quoted in a URL.
_PLAIN = "/:?#[]@!$&'()*+,;=-._~"
# "We do not impose any restrictions other than a size limit of 1 MB", in bytes.
_LARGEST = 1_048_576
# How many messages a batch may have, and how many headers these may have together.
_MOST_IN_BATCH, _MOST_HEADERS = 1_000, 10_000
# How many characters the headers of a message may have, as if each were a request's of its own.
_LONGEST_HEADERS = 65_536
# What a free account may ask for, whose refusals are recorded: the seconds are a week.
_FREE_RETRIES, _FREE_DELAY = 5, 604_800
_QUEUE_NAME = re.compile(r"[A-Za-z0-9._-]{1,200}")


class _Parcel(NamedTuple):
    """What one message is made of, before it is checked."""

    destination: str
    fields: Mapping[str, str]
    body: bytes
    queue: str | None = None


def publish(call: Call, scope: RequestScope) -> Reply:
    """Accept a message for a destination."""
    return _one(call, scope, None, scope.variables["destination"])


def enqueue(call: Call, scope: RequestScope) -> Reply:
    """Accept a message for a destination, to be delivered after all others of its queue."""
    # A destination has slashes, a queue's name has none.
    whole = "/".join(scope.variables[name] for name in ("queueName", "destination"))
    queue, _, destination = whole.partition("/")
    return _one(call, scope, queue, destination)


def batch(call: Call, scope: RequestScope) -> Reply:
    """Accept several messages: "If one message fails to be sent, that message will have an error response, but the
    other messages will still be sent.". One beyond a quota refuses them all, as recorded."""
    answers: list[object] = []
    orders: list[Order] = []
    before: dict[str, str] = {}
    for number, parcel in enumerate(_parcels(call.body)):
        try:
            order, receipt = _accepted(parcel, call, scope, derive(scope.identity, "batch", number), before)
        except QuotaExceededError:
            raise
        except RefusedError as error:
            answers.append({"error": error.refusal.message or ERRORS[scope.edition][error.refusal.kind].message})
        else:
            answers.append(receipt)
            orders += [] if order is None else [order]
    return json_reply(answers, 200, *orders)


def _one(call: Call, scope: RequestScope, queue: str | None, destination: str) -> Reply:
    parcel = _Parcel(_with_query(destination, call.query), by_name(call.headers.raw), call.body, queue)
    order, receipt = _accepted(parcel, call, scope, scope.identity, {})
    # "The only difference will be the response status code. We'll send HTTP 202 Accepted code"
    return json_reply(receipt, 202) if order is None else json_reply(receipt, 200, order)


def _accepted(
    parcel: _Parcel, call: Call, scope: RequestScope, identity: int, before: dict[str, str]
) -> tuple[Order | None, dict[str, object]]:
    """What publishes a message, None for a duplicate, and its receipt; `before` has the ids of earlier ones of the same
    request by their keys."""
    asked = _checked(parcel)
    if scope.edition == "observed":
        _within_quotas(asked, call.received_at)
    store, owner, now = store_of(scope), owner_of(call), call.received_at
    key = _key(parcel, asked, owner)
    known = None if key is None else store.duplicated(key, now) or before.get(key)
    if known is not None:
        return None, {"messageId": known, "deduplicated": True}
    id = f"msg_{digits(63, identity, store.copies(identity))}"
    if key is not None:
        before[key] = id
    return partial(store.publish, _message(id, parcel, asked, now, owner), identity, key, now), {"messageId": id}


def _checked(parcel: _Parcel) -> Options:
    """What the headers of a message say. Raises RefusedError also for what else of it is not valid."""
    if parcel.queue is not None:
        checked_name(parcel.queue)
    if len(parcel.body) > _LARGEST:
        raise RefusedError(Refusal(FailureKind.BODY_TOO_LARGE))
    if sum(len(name) + len(value) for name, value in parcel.fields.items()) > _LONGEST_HEADERS:
        raise refused("headers are too large")
    asked = read_options(parcel.fields)
    if parcel.queue is not None and (asked.delay or asked.not_before is not None):
        # The words are recorded.
        raise refused("Upstash-Not-Before/Upstash-Delay can not be used with enqueue")
    if parcel.destination != LLM:
        try:
            _checked_url(parcel.destination)
        except ValueError as error:
            raise refused(f"invalid destination url: {error}") from None
        return asked
    # "For these integrations, you must specify the Upstash-Callback header."
    if asked.callback is None:
        raise refused("Upstash-Callback header is required for api/llm")
    # "Note that streaming chat completions cannot be used with them."
    if object_in(parcel.body).get("stream") is True:
        raise refused("streaming is not supported for api/llm")
    return asked


def checked_name(name: object) -> str:
    """A queue's name. Raises RefusedError: "names can only contain alphanumeric characters, hyphens, periods, and
    underscores"."""
    if isinstance(name, str) and _QUEUE_NAME.fullmatch(name):
        return name
    raise refused("invalid queue name: it can only contain alphanumeric characters, hyphens, periods, and underscores")


def _within_quotas(asked: Options, now: float) -> None:
    """Raises QuotaExceededError for more than a free account may ask for."""
    if asked.retries > _FREE_RETRIES:
        raise QuotaExceededError("maxRetries", _FREE_RETRIES)
    delay = asked.delay if asked.not_before is None else asked.not_before - now
    if delay > _FREE_DELAY:
        raise QuotaExceededError("maxDelay", _FREE_DELAY)


def _message(id: str, parcel: _Parcel, asked: Options, now: float, owner: str) -> QueuedMessage:
    is_llm = parcel.destination == LLM
    # "When both Upstash-Not-Before and Upstash-Delay headers are provided, Upstash-Not-Before will take precedence."
    due = now + asked.delay if asked.not_before is None else max(float(asked.not_before), now)
    return QueuedMessage(
        id=id,
        url=_LLM_URL if is_llm else parcel.destination,
        options=asked._replace(method="POST") if is_llm else asked,
        body=parcel.body,
        created=now,
        due=due,
        queue=parcel.queue,
        api="llm" if is_llm else None,
        token=owner,
    )


def _key(parcel: _Parcel, asked: Options, owner: str) -> str | None:
    """By what a message is known as a duplicate of one of the same publisher; None if it may have duplicates."""
    if asked.deduplication_id is not None:
        content: tuple[object, ...] = (owner, asked.deduplication_id)
        return f"id {fingerprint(repr(content).encode())}"
    if not asked.content_based_deduplication:
        return None
    # "Destination [...] Body [...] the Content-Type header and all headers, that you forwarded"
    content = (owner, parcel.destination, parcel.queue, sorted(asked.headers))
    return f"content {fingerprint(repr(content).encode() + parcel.body)}"


def _with_query(destination: str, query: str) -> str:
    """A destination, quoted again as in the request, with the query that belongs to it: all but the token."""
    destination = quote(destination, _PLAIN)
    pairs = [pair for pair in query.split("&") if pair and unquote_plus(pair.partition("=")[0]) != "qstash_token"]
    return destination if destination == LLM or not pairs else f"{destination}?{'&'.join(pairs)}"


def _parcels(body: bytes) -> list[_Parcel]:
    """The messages of a batch, as they stand in its body."""
    try:
        items = orjson.loads(body)
    except orjson.JSONDecodeError:
        items = None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items) or nests_absurdly(body, items):
        raise refused("invalid batch: the body is not an array of messages")
    if len(items) > _MOST_IN_BATCH:
        raise refused(f"invalid batch: it has more than {_MOST_IN_BATCH} messages")
    if sum(len(headers) for item in items if isinstance(headers := item.get("headers"), dict)) > _MOST_HEADERS:
        raise refused(f"invalid batch: its messages have more than {_MOST_HEADERS} headers")
    return [_parcel(item) for item in items]


def _parcel(item: Mapping[str, Any]) -> _Parcel:
    """One message of a batch. Its callback may stand beside its headers, as in an example of the docs."""
    headers = item.get("headers")
    fields = {
        name.lower(): value if isinstance(value, str) else ",".join(map(str, value))
        for name, value in (headers.items() if isinstance(headers, dict) else ())
        if isinstance(value, str | list)
    }
    for name, header in (("callback", "upstash-callback"), ("failureCallback", "upstash-failure-callback")):
        if isinstance(item.get(name), str):
            fields.setdefault(header, item[name])
    content, destination, queue = item.get("body"), item.get("destination"), item.get("queue")
    if isinstance(content, str):
        body = content.encode("utf-8", "surrogatepass")
    else:
        body = b"" if content is None else orjson.dumps(content)
    return _Parcel(
        destination if isinstance(destination, str) else "",
        fields,
        body,
        queue if isinstance(queue, str) and queue else None,
    )


# --- options -----------------------------------------------------------------------------------------------------

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_MOST_RETRIES = 1_000
# The latest time that a message can be delivered at, in Unix seconds: the end of the year 9999.
_LATEST = 253_402_300_799
_LONGEST_URL = 16_384
_TRUE, _FALSE = ("1", "t", "true"), ("0", "f", "false")
_REDACTED = re.compile(r"body|headers?(?:\[[^\[\]]+\])?")
# Features that are absent, by the beginning of the names of their headers.
_ABSENT = {
    "upstash-cron": "schedules",
    "upstash-flow-control-": "flow control",
    "upstash-callback-flow-control-": "flow control",
    "upstash-failure-callback-flow-control-": "flow control",
}


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


def _expression(text: str) -> str:
    # It raises for what is no expression.
    milliseconds(text, 0)
    return text


def _flag(text: str) -> bool:
    if text.lower() not in (*_TRUE, *_FALSE):
        raise ValueError(f"{text!r} is neither true nor false")
    return text.lower() in _TRUE


def _deduplication_id(text: str) -> str:
    if ":" in text:
        # The words are recorded.
        raise refused("DeduplicationId cannot contain ':'")
    return text


def _redact_fields(text: str) -> tuple[str, ...]:
    """The fields to redact: `body`, `header` for all headers, and `header[name]`, names in lower case.

    The page has `headers` for what the SDKs send as `header`.
    """
    found = [_REDACTED.fullmatch(field.strip().lower()) for field in text.split(",") if field.strip()]
    if not all(found):
        raise ValueError(f"{text!r} does not consist of body, header and header[name]")
    return tuple(field[0].replace("headers", "header", 1) for field in found if field)


def _checked_url(text: str) -> str:
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


# How each field of the options is read; its header has hyphens. Some are of messages, but not of callbacks.
_OPTIONS: Mapping[str, Callable[[str], Any]] = {
    "method": _method,
    "retries": _whole(_MOST_RETRIES),
    "retry_delay": _expression,
    "timeout": lambda text: min(duration(text), LONGEST_TIMEOUT),
    "delay": _delay,
}
_OF_MESSAGES: Mapping[str, Callable[[str], Any]] = {
    "deduplication_id": _deduplication_id,
    **_OPTIONS,
    "not_before": _whole(_LATEST),
    "content_based_deduplication": _flag,
    "label": lambda text: tuple(label.strip() for label in text.split(",") if label.strip()),
    "redact_fields": _redact_fields,
}


def read_options(fields: Mapping[str, str], usual: Options | None = None) -> Options:
    """What headers ask for, whose names are in lower case; `usual` are the options of those that are absent.

    Raises RefusedError, also for a feature that is absent: to deliver at once what was to be held back would be wrong.
    """
    for name, value in fields.items():
        feature = next((feature for start, feature in _ABSENT.items() if name.startswith(start)), None)
        if feature is not None and value.strip():
            where = "Upstash's own local server has: npx @upstash/qstash-cli dev"
            raise refused(f"{canonical(name)} header: mockserver has no {feature}, which {where}")
    content_type = (("Content-Type", fields["content-type"]),) if fields.get("content-type") else ()
    options = _options(fields, "upstash-", usual or Options(headers=content_type), _OF_MESSAGES)
    return options._replace(
        callback=_callback(fields, "upstash-callback", options) or options.callback,
        failure_callback=_callback(fields, "upstash-failure-callback", options) or options.failure_callback,
    )


def _callback(fields: Mapping[str, str], name: str, source: Options) -> Callback | None:
    """A callback, with its source's retries unless it has its own: "Callbacks will use the retry setting from the
    original request."."""
    to = _read(fields, name, _checked_url)
    if to is None:
        return None
    usual = Options(
        headers=(("Content-Type", "application/json"),), retries=source.retries, retry_delay=source.retry_delay
    )
    return Callback(to, _options(fields, f"{name}-", usual, _OPTIONS))


def _options(
    fields: Mapping[str, str], prefix: str, usual: Options, readers: Mapping[str, Callable[[str], Any]]
) -> Options:
    given = {field: _read(fields, f"{prefix}{field.replace('_', '-')}", read) for field, read in readers.items()}
    set_here = {field: value for field, value in given.items() if value is not None}
    forward = f"{prefix}forward-"
    forwarded = {
        canonical(name.removeprefix(forward)): value
        for name, value in fields.items()
        if name.startswith(forward) and name != forward
    }
    kept = [header for header in usual.headers if header[0] not in forwarded]
    return usual._replace(headers=(*kept, *forwarded.items()), **set_here)


def _read(fields: Mapping[str, str], name: str, read: Callable[[str], Any]) -> Any:
    """The value of a header; None if it is absent or empty."""
    text = fields.get(name, "").strip()
    if not text:
        return None
    try:
        return read(text)
    except ValueError as error:
        raise refused(f"invalid {canonical(name)} header: {error}") from None

"""Messages: what is delivered, where, and how; and messages, dead letters and log entries as QStash's JSON shows them,
with times in milliseconds."""

from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from typing import Any, NamedTuple

from mockserver.core.dialect_state import WebhookResult
from mockserver.core.http import RawHeaders, Reply
from mockserver.dialects.openai.replies import body_reply

# Messages come from this machine.
CALLER_IP = "127.0.0.1"
# Names and values of HTTP headers.
Fields = tuple[tuple[str, str], ...]

# "QStash offers an HTTP timeout of 2 hours"
LONGEST_TIMEOUT = 7_200.0
# "If it is not provided, the default of 3 retries is used."
_USUAL_RETRIES = 3


class Options(NamedTuple):
    """How a message is delivered, or a callback: `headers` go with it, times are in seconds, `retry_delay` is an
    expression.

    What follows `delay` is of messages alone. `not_before` is a Unix time; `redact_fields` are those that answers do
    not show: `body`, `header` or `header[name]`, the name in lower case.
    """

    method: str = "POST"
    headers: Fields = ()
    retries: int = _USUAL_RETRIES
    retry_delay: str | None = None
    timeout: float = LONGEST_TIMEOUT
    delay: float = 0.0
    not_before: float | None = None
    callback: "Callback | None" = None
    failure_callback: "Callback | None" = None
    deduplication_id: str | None = None
    content_based_deduplication: bool = False
    label: tuple[str, ...] = ()
    redact_fields: tuple[str, ...] = ()

    @property
    def callbacks(self) -> "dict[str, Callback]":
        """Both callbacks, by the names that QStash's JSON has for them."""
        both = {"callback": self.callback, "failureCallback": self.failure_callback}
        return {name: each for name, each in both.items() if each is not None}


class Callback(NamedTuple):
    """Where the outcome of a message is reported, and how."""

    url: str
    options: Options


class QueuedMessage(NamedTuple):
    """A message. Times are Unix seconds.

    - `api`: that of QStash's own which it is for, if it is for none of an application.
    - `token`: of its publisher, to whom alone it is shown, and whom the model's quotas charge.
    - `source`: the message whose outcome it reports, if it is a callback.
    """

    id: str
    url: str
    options: Options
    body: bytes = b""
    created: float = 0.0
    due: float = 0.0
    queue: str | None = None
    api: str | None = None
    token: str = ""
    source: str | None = None


class DeadLetter(NamedTuple):
    """A message in the dead letter queue, with the outcome of its last attempt."""

    id: str
    message: QueuedMessage
    outcome: WebhookResult
    died: float


class LogEvent(NamedTuple):
    """A line of the log: the state that a message has reached, and with which outcome."""

    time: float
    state: str
    message: QueuedMessage
    outcome: WebhookResult | None = None
    next_delivery: float | None = None


# --- sizes ---------------------------------------------------------------------------------------------------------

# What a message takes in memory beside its texts, about.
_OVERHEAD = 1_000


def size_of(message: QueuedMessage, outcome: WebhookResult | None = None) -> int:
    """How many bytes a message takes, about, and with it the outcome of an attempt."""
    told, callbacks = outcome or WebhookResult(), message.options.callbacks.values()
    headers = (message.options.headers, told.headers, *(each.options.headers for each in callbacks))
    texts = (message.url, message.token, message.body, told.body, told.error, *message.options.label)
    fields = sum(len(name) + len(value) for each in headers for name, value in each)
    return _OVERHEAD + fields + sum(map(len, texts)) + sum(len(each.url) for each in callbacks)


def size_with_outcome(told: DeadLetter | LogEvent) -> int:
    """How many bytes a dead letter or a line of the log takes, about."""
    return size_of(told.message, told.outcome)


# --- headers -------------------------------------------------------------------------------------------------------


def canonical(name: str) -> str:
    """The name of a header as QStash writes it: `x-my-header` as `X-My-Header`."""
    return "-".join(part[:1].upper() + part[1:].lower() for part in name.split("-"))


def values_by_name(fields: Fields) -> dict[str, list[str]]:
    """Headers as QStash's JSON has them: in alphabetical order, each with the list of its values."""
    found: dict[str, list[str]] = {}
    for name, value in fields:
        found.setdefault(canonical(name), []).append(value)
    return dict(sorted(found.items()))


def decoded(headers: RawHeaders) -> Fields:
    """Headers as text."""
    return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)


def raw(fields: Fields) -> RawHeaders:
    """Headers as bytes."""
    return tuple((name.encode("latin-1", "replace"), value.encode("latin-1", "replace")) for name, value in fields)


# --- what answers show ---------------------------------------------------------------------------------------------


# What an answer sets going.
Order = Callable[[], None]


def json_reply(value: object, status: int = 200, *orders: Order) -> Reply:
    """An answer of one JSON value."""
    return body_reply(value)._replace(status=status, orders=orders)


def empty_reply(*orders: Order) -> Reply:
    """An answer without a body."""
    return Reply(200, (), (), orders=orders)


def message_view(message: QueuedMessage) -> dict[str, Any]:
    """A message."""
    message = _redacted(message)
    return {
        "messageId": message.id,
        "url": message.url,
        "method": message.options.method,
        "header": values_by_name(message.options.headers),
        **_content("body", message.body),
        "maxRetries": message.options.retries,
        "notBefore": in_milliseconds(message.due),
        "createdAt": in_milliseconds(message.created),
        **_callbacks(message, "Header"),
        **_given(queueName=message.queue, retryDelayExpression=message.options.retry_delay),
        "callerIP": CALLER_IP,
        **_labels(message),
        **_given(api=message.api),
    }


def dead_view(dead: DeadLetter) -> dict[str, Any]:
    """A message in the dead letter queue, with the answer to its last attempt."""
    outcome = dead.outcome
    return {
        **message_view(dead.message),
        "dlqId": dead.id,
        "responseStatus": outcome.status or 0,
        "responseHeader": values_by_name(decoded(outcome.headers)),
        **_content("responseBody", outcome.body or outcome.error.encode()),
    }


def event_view(event: LogEvent) -> dict[str, Any]:
    """A log entry."""
    message, outcome = _redacted(event.message), event.outcome
    body = message.body.decode() if "body" in message.options.redact_fields else _base64(message.body)
    return {
        "time": in_milliseconds(event.time),
        "messageId": message.id,
        "header": values_by_name(message.options.headers),
        **({"body": body} if body else {}),
        "state": event.state,
        **({} if outcome is None else _failure(outcome)),
        **({} if event.next_delivery is None else {"nextDeliveryTime": in_milliseconds(event.next_delivery)}),
        "url": message.url,
        **_given(queueName=message.queue),
        "timeout": in_milliseconds(message.options.timeout),
        "method": message.options.method,
        **_callbacks(message, "Headers"),
        "maxRetries": message.options.retries,
        # Again the first name is of the docs, the second of the SDK.
        **_given(retryDelayExpression=message.options.retry_delay, retryDelayExpr=message.options.retry_delay),
        **_labels(message),
    }


def _failure(outcome: WebhookResult) -> dict[str, Any]:
    """Why an attempt has failed."""
    if outcome.status is None:
        return {"error": outcome.error}
    return {
        "error": f"{outcome.status} status code",
        "responseStatus": outcome.status,
        # The docs have the plural, the vendor's Python SDK reads the singular.
        "responseHeader": values_by_name(decoded(outcome.headers)),
        "responseHeaders": values_by_name(decoded(outcome.headers)),
        "responseBody": _base64(outcome.body),
    }


def _redacted(message: QueuedMessage) -> QueuedMessage:
    """The message as answers show it: "REDACTED:<SHA256>" in place of what its publisher wants to be kept secret."""
    redacted = message.options.redact_fields
    if not redacted:
        return message
    headers = tuple(
        (name, _hashed(value.encode()) if "header" in redacted or f"header[{name.lower()}]" in redacted else value)
        for name, value in message.options.headers
    )
    body = _hashed(message.body).encode() if message.body and "body" in redacted else message.body
    return message._replace(body=body, options=message.options._replace(headers=headers))


def _hashed(value: bytes) -> str:
    return f"REDACTED:{sha256(value).hexdigest()}"


def _content(name: str, body: bytes) -> dict[str, str]:
    """A body under its name, or under that of its base64 form if it is no text; nothing if it is empty."""
    if not body:
        return {}
    try:
        return {name: body.decode()}
    except UnicodeDecodeError:
        return {f"{name}Base64": _base64(body)}


def _callbacks(message: QueuedMessage, headers: str) -> dict[str, Any]:
    """Both callbacks, and under their names with the suffix `headers` what goes with them."""
    found: dict[str, Any] = {}
    for name, each in message.options.callbacks.items():
        found |= {name: each.url, f"{name}{headers}": values_by_name(each.options.headers)}
    return found


def _labels(message: QueuedMessage) -> dict[str, Any]:
    labels = message.options.label
    return {"label": labels[0], "labels": list(labels)} if labels else {}


def _given(**values: str | None) -> dict[str, str]:
    return {name: value for name, value in values.items() if value is not None}


def in_milliseconds(seconds: float) -> int:
    """A time, or how long something takes, as QStash's JSON has it."""
    return int(seconds * 1000)


def _base64(body: bytes) -> str:
    return b64encode(body).decode()

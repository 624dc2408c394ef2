"""QStash's answers in JSON, and messages, dead letters, log entries and queues in them. Times are in milliseconds."""

from base64 import b64encode
from hashlib import sha256
from typing import Any

from mockserver.core.calls import Call
from mockserver.core.dialect_state import WebhookResult
from mockserver.core.dialects import RequestScope
from mockserver.core.timeline import Reply
from mockserver.dialects.openai.replies import body_reply
from mockserver.dialects.upstash.errors import token
from mockserver.dialects.upstash.qstash.attempts import CALLER_IP
from mockserver.dialects.upstash.qstash.message_store import MessageStore, Queue
from mockserver.dialects.upstash.qstash.values import DeadLetter, LogEvent, QueuedMessage, decoded, values_by_name


def store_of(scope: RequestScope) -> MessageStore:
    """The messages of the namespace; none if there is no server, as for `mockserver plan`."""
    return scope.webhooks if isinstance(scope.webhooks, MessageStore) else MessageStore()


def json_reply(value: object, status: int = 200, orders: tuple[object, ...] = ()) -> Reply:
    """An answer of one JSON value."""
    return body_reply(value)._replace(status=status, orders=orders)


def empty_reply(*orders: object) -> Reply:
    """An answer without a body."""
    return Reply(200, (), (), orders=orders)


def owner_of(call: Call) -> str:
    """The publisher whose messages a call is about."""
    return token(call) or ""


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
        "notBefore": _milliseconds(message.due),
        "createdAt": _milliseconds(message.created),
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
    body = message.body.decode() if "body" in message.redacted else _base64(message.body)
    return {
        "time": _milliseconds(event.time),
        "messageId": message.id,
        "header": values_by_name(message.options.headers),
        **({"body": body} if body else {}),
        "state": event.state,
        **({} if outcome is None else _failure(outcome)),
        **({} if event.next_delivery is None else {"nextDeliveryTime": _milliseconds(event.next_delivery)}),
        "url": message.url,
        **_given(queueName=message.queue),
        "timeout": _milliseconds(message.options.timeout),
        "method": message.options.method,
        **_callbacks(message, "Headers"),
        "maxRetries": message.options.retries,
        # Again the first name is of the docs, the second of the SDK.
        **_given(retryDelayExpression=message.options.retry_delay, retryDelayExpr=message.options.retry_delay),
        **_labels(message),
    }


def queue_view(queue: Queue) -> dict[str, Any]:
    """A queue."""
    return {
        "createdAt": _milliseconds(queue.created),
        "updatedAt": _milliseconds(queue.updated),
        "name": queue.name,
        "parallelism": queue.parallelism,
        "lag": queue.lag,
        "paused": queue.paused,
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
    if not message.redacted:
        return message
    headers = tuple(
        (name, _hashed(value.encode()))
        if "header" in message.redacted or f"header[{name.lower()}]" in message.redacted
        else (name, value)
        for name, value in message.options.headers
    )
    body = _hashed(message.body).encode() if message.body and "body" in message.redacted else message.body
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
    for name, each in (("callback", message.callback), ("failureCallback", message.failure_callback)):
        if each is not None:
            found |= {name: each.url, f"{name}{headers}": values_by_name(each.options.headers)}
    return found


def _labels(message: QueuedMessage) -> dict[str, Any]:
    return {"label": message.labels[0], "labels": list(message.labels)} if message.labels else {}


def _given(**values: str | None) -> dict[str, str]:
    return {name: value for name, value in values.items() if value is not None}


def _milliseconds(seconds: float) -> int:
    return int(seconds * 1000)


def _base64(body: bytes) -> str:
    return b64encode(body).decode()

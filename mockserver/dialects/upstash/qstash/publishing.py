"""Publishing: `POST /v2/publish/{destination}`, `/v2/enqueue/{queue}/{destination}` and `/v2/batch`.

A destination is a URL, or `api/llm` for the model. QStash accepts a message without looking into it; what
a model finds wrong with its body, its callback says.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote, urlencode

import orjson

from mockserver.core.calls import Call, by_name
from mockserver.core.dialects import RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.json_values import nests_absurdly
from mockserver.core.seeding import derive, fingerprint
from mockserver.core.timeline import Reply
from mockserver.dialects.upstash.errors import ERRORS, QuotaExceededError, RefusedError, object_in, refused
from mockserver.dialects.upstash.limits import CHAT_PATH
from mockserver.dialects.upstash.qstash.attempts import digits
from mockserver.dialects.upstash.qstash.options import PublishOptions, checked_url, read_options
from mockserver.dialects.upstash.qstash.queues import checked_name
from mockserver.dialects.upstash.qstash.values import Publish, QueuedMessage
from mockserver.dialects.upstash.qstash.views import json_reply, owner_of, store_of

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
    orders: list[Publish] = []
    for number, parcel in enumerate(_parcels(call.body)):
        try:
            order, receipt = _accepted(parcel, call, scope, derive(scope.identity, "batch", number), orders)
        except QuotaExceededError:
            raise
        except RefusedError as error:
            answers.append({"error": error.refusal.message or ERRORS[scope.edition][error.refusal.kind].message})
        else:
            answers.append(receipt)
            orders += [] if order is None else [order]
    return json_reply(answers, orders=tuple(orders))


def _one(call: Call, scope: RequestScope, queue: str | None, destination: str) -> Reply:
    parcel = _Parcel(_with_query(destination, call.query), by_name(call.headers.raw), call.body, queue)
    order, receipt = _accepted(parcel, call, scope, scope.identity)
    # "The only difference will be the response status code. We'll send HTTP 202 Accepted code"
    return json_reply(receipt, 202) if order is None else json_reply(receipt, orders=(order,))


def _accepted(
    parcel: _Parcel, call: Call, scope: RequestScope, identity: int, before: Sequence[Publish] = ()
) -> tuple[Publish | None, dict[str, object]]:
    """The order for a message, None for a duplicate, and its receipt; `before` are those of the same request."""
    asked = _checked(parcel)
    if scope.edition == "observed":
        _within_quotas(asked, call.received_at)
    store, owner = store_of(scope), owner_of(call)
    key = _key(parcel, asked, owner)
    known = None if key is None else store.duplicated(key, call.received_at)
    known = known or next((each.message.id for each in before if key is not None and each.key == key), None)
    if known is not None:
        return None, {"messageId": known, "deduplicated": True}
    id = f"msg_{digits(63, identity, store.copies(identity))}"
    return Publish(_message(id, parcel, asked, call.received_at, owner), identity, key), {"messageId": id}


def _checked(parcel: _Parcel) -> PublishOptions:
    """What the headers of a message say. Raises RefusedError also for what else of it is not valid."""
    if parcel.queue is not None:
        checked_name(parcel.queue)
    if len(parcel.body) > _LARGEST:
        raise RefusedError(Refusal(FailureKind.BODY_TOO_LARGE))
    if sum(len(name) + len(value) for name, value in parcel.fields.items()) > _LONGEST_HEADERS:
        raise refused("headers are too large")
    asked = read_options(parcel.fields)
    if parcel.queue is not None and (asked.options.delay or asked.not_before is not None):
        # The words are recorded.
        raise refused("Upstash-Not-Before/Upstash-Delay can not be used with enqueue")
    if parcel.destination != LLM:
        try:
            checked_url(parcel.destination)
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


def _within_quotas(asked: PublishOptions, now: float) -> None:
    """Raises QuotaExceededError for more than a free account may ask for."""
    if asked.options.retries > _FREE_RETRIES:
        raise QuotaExceededError("maxRetries", _FREE_RETRIES)
    delay = asked.options.delay if asked.not_before is None else asked.not_before - now
    if delay > _FREE_DELAY:
        raise QuotaExceededError("maxDelay", _FREE_DELAY)


def _message(id: str, parcel: _Parcel, asked: PublishOptions, now: float, owner: str) -> QueuedMessage:
    is_llm = parcel.destination == LLM
    # "When both Upstash-Not-Before and Upstash-Delay headers are provided, Upstash-Not-Before will take precedence."
    due = now + asked.options.delay if asked.not_before is None else max(float(asked.not_before), now)
    return QueuedMessage(
        id=id,
        url=_LLM_URL if is_llm else parcel.destination,
        options=asked.options._replace(method="POST") if is_llm else asked.options,
        body=parcel.body,
        created=now,
        due=due,
        callback=asked.callback,
        failure_callback=asked.failure_callback,
        queue=parcel.queue,
        labels=asked.labels,
        redacted=asked.redacted,
        api="llm" if is_llm else None,
        path=CHAT_PATH if is_llm else "",
        token=owner,
    )


def _key(parcel: _Parcel, asked: PublishOptions, owner: str) -> str | None:
    """By what a message is known as a duplicate of one of the same publisher; None if it may have duplicates."""
    if asked.deduplication_id is not None:
        content: tuple[object, ...] = (owner, asked.deduplication_id)
        return f"id {fingerprint(repr(content).encode())}"
    if not asked.is_content_based:
        return None
    # "Destination [...] Body [...] the Content-Type header and all headers, that you forwarded"
    content = (owner, parcel.destination, parcel.queue, sorted(asked.options.headers))
    return f"content {fingerprint(repr(content).encode() + parcel.body)}"


def _with_query(destination: str, query: str) -> str:
    """A destination, quoted again as in the request, with the query that belongs to it: all but the token."""
    destination = quote(destination, _PLAIN)
    mine = [(name, value) for name, value in parse_qsl(query, keep_blank_values=True) if name != "qstash_token"]
    if destination == LLM or not mine:
        return destination
    return f"{destination}?{query if 'qstash_token' not in query else urlencode(mine)}"


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

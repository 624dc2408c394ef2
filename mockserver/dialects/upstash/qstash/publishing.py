"""Publishing: `POST /v2/publish/{destination}`, `/v2/enqueue/{queue}/{destination}` and `/v2/batch`.

A destination is a URL, a URL group, or `api/llm` for the model. QStash accepts a message without looking into it; what
a model finds wrong with its body, its callback says.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote, urlencode

import orjson

from mockserver.core.calls import Call
from mockserver.core.dialects import Site
from mockserver.core.failures import FailureKind, Rejection
from mockserver.core.headers import by_name
from mockserver.core.json_values import nests_absurdly
from mockserver.core.seeding import derive, fingerprint
from mockserver.core.timeline import Reply
from mockserver.dialects.openai_style.fields import json_object
from mockserver.dialects.upstash.credentials import token
from mockserver.dialects.upstash.errors import refused
from mockserver.dialects.upstash.headers import CHAT_PATH
from mockserver.dialects.upstash.qstash.options import HeaderError, Wishes, checked_url, read_wishes
from mockserver.dialects.upstash.qstash.queues import bad_queue_name
from mockserver.dialects.upstash.qstash.replies import json_reply, mailbox_of
from mockserver.dialects.upstash.qstash.signing import digits
from mockserver.dialects.upstash.qstash.values import Message, Publish

LLM = "api/llm"
# The URL that callbacks state for a message to the model.
_LLM_URL = f"https://qstash.upstash.io{CHAT_PATH}"
# What need not be quoted in a URL.
_PLAIN = "/:?#[]@!$&'()*+,;=-._~"
# "We do not impose any restrictions other than a size limit of 1 MB", in bytes.
_LARGEST = 1_048_576
# How many messages a batch may have.
_MOST_IN_BATCH = 1_000


class _Parcel(NamedTuple):
    """What one message is made of, before it is checked."""

    destination: str
    fields: Mapping[str, str]
    body: bytes
    queue: str | None = None
    group: str | None = None
    endpoint: str | None = None


def publish(call: Call, site: Site) -> Reply | Rejection:
    """Accept a message for a destination."""
    return _one(call, site, None, site.variables.get("destination", ""))


def enqueue(call: Call, site: Site) -> Reply | Rejection:
    """Accept a message for a destination, to be delivered after all others of its queue."""
    # A destination has slashes, a queue's name has none.
    whole = "/".join(site.variables.get(name, "") for name in ("queueName", "destination"))
    queue, _, destination = whole.partition("/")
    return _one(call, site, queue, destination)


def batch(call: Call, site: Site) -> Reply | Rejection:
    """Accept several messages: "If one message fails to be sent, that message will have an error response, but the
    other messages will still be sent."."""
    parcels = _parcels(call.body)
    if isinstance(parcels, Rejection):
        return parcels
    answers: list[object] = []
    orders: list[Publish] = []
    for number, parcel in enumerate(parcels):
        accepted = _accepted(parcel, call, site, derive(site.identity, "batch", number), orders)
        if isinstance(accepted, Rejection):
            answers.append({"error": accepted.message or "message is too large"})
        else:
            answers.append(_receipts(accepted, parcel, site))
            orders += [each.order for each in accepted if not each.is_duplicate]
    return json_reply(answers, orders=tuple(orders))


class _Accepted(NamedTuple):
    order: Publish
    is_duplicate: bool = False


def _one(call: Call, site: Site, queue: str | None, destination: str) -> Reply | Rejection:
    parcel = _Parcel(_with_query(destination, call.query), by_name(call.headers.raw), call.body, queue)
    accepted = _accepted(parcel, call, site, site.identity)
    if isinstance(accepted, Rejection):
        return accepted
    orders = tuple(each.order for each in accepted if not each.is_duplicate)
    # "The only difference will be the response status code. We'll send HTTP 202 Accepted code"
    return json_reply(_receipts(accepted, parcel, site), 200 if orders else 202, orders=orders)


def _accepted(
    parcel: _Parcel, call: Call, site: Site, identity: int, before: Sequence[Publish] = ()
) -> list[_Accepted] | Rejection:
    """The orders for a message, one for each endpoint of a group; or why it is refused.

    `before` are those of the same request.
    """
    found: list[_Accepted] = []
    for number, each in enumerate(_split(parcel, site)):
        own = derive(identity, "endpoint", number) if number else identity
        accepted = _accepted_one(each, call, site, own, before)
        if isinstance(accepted, Rejection):
            return accepted
        found.append(accepted)
    return found


def _split(parcel: _Parcel, site: Site) -> list[_Parcel]:
    """A parcel for each URL: "it will be fanned out and sent to all the subscribed endpoints"."""
    group = mailbox_of(site).groups.get(parcel.destination)
    if group is None:
        return [parcel]
    return [
        parcel._replace(destination=endpoint.url, group=group.name, endpoint=endpoint.name)
        for endpoint in group.endpoints
    ]


def _accepted_one(
    parcel: _Parcel, call: Call, site: Site, identity: int, before: Sequence[Publish]
) -> _Accepted | Rejection:
    wishes = _checked(parcel)
    if isinstance(wishes, Rejection):
        return wishes
    mailbox, key = mailbox_of(site), _key(parcel, wishes)
    known = None if key is None else mailbox.duplicated(key, call.received_at)
    known = known or next((each.message.id for each in before if key is not None and each.key == key), None)
    id = f"msg_{digits(63, identity, mailbox.copies(identity))}"
    message = _message(parcel, wishes, call)._replace(id=id)
    order = Publish(message if known is None else message._replace(id=known), identity, key)
    return _Accepted(order, known is not None)


def _checked(parcel: _Parcel) -> Wishes | Rejection:
    """What the headers of a message say, or why it is refused."""
    misnamed = None if parcel.queue is None else bad_queue_name(parcel.queue)
    if misnamed is not None:
        return misnamed
    if len(parcel.body) > _LARGEST:
        return Rejection(FailureKind.BODY_TOO_LARGE)
    try:
        wishes = read_wishes(parcel.fields)
    except HeaderError as error:
        return refused(str(error))
    fault = _fault_of_model_request(parcel, wishes) if parcel.destination == LLM else _fault_of_url(parcel)
    return wishes if fault is None else fault


def draft_of(call: Call, site: Site, destination: str, queue: str | None) -> Message | Rejection:
    """The message that a schedule publishes, without an id; for a group with its name as the destination."""
    parcel = _Parcel(_with_query(destination, call.query), by_name(call.headers.raw), call.body, queue)
    first = _split(parcel, site)[0]
    wishes = _checked(first)
    return wishes if isinstance(wishes, Rejection) else _message(first, wishes, call)


def _message(parcel: _Parcel, wishes: Wishes, call: Call) -> Message:
    now, is_llm = call.received_at, parcel.destination == LLM
    # "When both Upstash-Not-Before and Upstash-Delay headers are provided, Upstash-Not-Before will take precedence."
    due = now + wishes.options.delay if wishes.not_before is None else max(float(wishes.not_before), now)
    return Message(
        id="",
        url=_LLM_URL if is_llm else parcel.destination,
        options=wishes.options._replace(method="POST") if is_llm else wishes.options,
        body=parcel.body,
        created=now,
        due=due,
        callback=wishes.callback,
        failure_callback=wishes.failure_callback,
        queue=parcel.queue,
        labels=wishes.labels,
        api="llm" if is_llm else None,
        path=CHAT_PATH if is_llm else "",
        token=token(call) or "",
        group=parcel.group,
        endpoint=parcel.endpoint,
    )


def _fault_of_model_request(parcel: _Parcel, wishes: Wishes) -> Rejection | None:
    # "For these integrations, you must specify the Upstash-Callback header."
    if wishes.callback is None:
        return refused("Upstash-Callback header is required for api/llm")
    body = json_object(parcel.body)
    if isinstance(body, Rejection):
        return body
    # "Note that streaming chat completions cannot be used with them."
    return refused("streaming is not supported for api/llm") if body.get("stream") is True else None


def _fault_of_url(parcel: _Parcel) -> Rejection | None:
    try:
        checked_url(parcel.destination)
    except ValueError as error:
        return refused(f"invalid destination url: {error}")
    return None


def _key(parcel: _Parcel, wishes: Wishes) -> str | None:
    """By what a message is known as a duplicate; None if it may have duplicates."""
    if wishes.deduplication_id is not None:
        # Each endpoint of a group gets a message.
        return f"id {wishes.deduplication_id}{f' {parcel.destination}' if parcel.group is not None else ''}"
    if not wishes.is_content_based:
        return None
    # "Destination [...] Body [...] the Content-Type header and all headers, that you forwarded"
    content = (parcel.destination, parcel.queue, sorted(wishes.options.headers))
    return f"content {fingerprint(repr(content).encode() + parcel.body)}"


def _receipts(accepted: Sequence[_Accepted], parcel: _Parcel, site: Site) -> object:
    """The receipt of a message; for a group a list of receipts with the URLs of its endpoints."""
    if mailbox_of(site).groups.get(parcel.destination) is None:
        return _receipt(*accepted[0])
    return [_receipt(*each) | {"url": each.order.message.url} for each in accepted]


def _receipt(order: Publish, is_duplicate: bool) -> dict[str, object]:
    return {"messageId": order.message.id, **({"deduplicated": True} if is_duplicate else {})}


def _with_query(destination: str, query: str) -> str:
    """A destination, quoted again as in the request, with the query that belongs to it: all but the token."""
    destination = quote(destination, _PLAIN)
    mine = [(name, value) for name, value in parse_qsl(query, keep_blank_values=True) if name != "qstash_token"]
    if destination == LLM or not mine:
        return destination
    return f"{destination}?{query if 'qstash_token' not in query else urlencode(mine)}"


def _parcels(body: bytes) -> list[_Parcel] | Rejection:
    """The messages of a batch, as they stand in its body."""
    try:
        items = orjson.loads(body)
    except orjson.JSONDecodeError:
        items = None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items) or nests_absurdly(body, items):
        return refused("invalid batch: the body is not an array of messages")
    if len(items) > _MOST_IN_BATCH:
        return refused(f"invalid batch: it has more than {_MOST_IN_BATCH} messages")
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

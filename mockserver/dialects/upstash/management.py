"""What becomes of messages: `/v2/messages`, `/v2/events`, `/v2/logs`, and `/v2/dlq`, the dead letters; `/v2/queues`,
which deliver their messages in order; and `/v2/keys`, which sign them.

Lists are narrowed down by query parameters, and so are the requests that cancel, delete or repeat many messages at
once. Those take no filter that they do not know: one that is misspelt would let them act on everything.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlsplit

from mockserver.core.dialects import RequestScope
from mockserver.core.http import Call, Reply, by_name
from mockserver.core.messages import short_repr
from mockserver.core.seeding import derive
from mockserver.dialects.upstash.attempts import digits, signing_key
from mockserver.dialects.upstash.errors import QuotaExceededError, object_in, refused
from mockserver.dialects.upstash.message_store import Queue, owner_of, store_of
from mockserver.dialects.upstash.publishing import checked_name, read_options
from mockserver.dialects.upstash.values import (
    CALLER_IP,
    DeadLetter,
    LogEvent,
    Order,
    QueuedMessage,
    dead_view,
    empty_reply,
    event_view,
    in_milliseconds,
    json_reply,
    message_view,
    size_with_outcome,
)

Item = TypeVar("Item", DeadLetter, LogEvent)
# The values of each parameter, in their order.
Query = Mapping[str, dict[str, None]]

# "The number of events to return. Default and max is 1000."; of dead letters 100, which is also how many messages a
# request acts on unless it says otherwise.
_MOST_EVENTS, _MOST = 1_000, 100
# How many bytes the items of a page have: a longer page would hold up everybody while it is written.
_MOST_BYTES = 8 * 1024 * 1024
# How many messages of a queue can be delivered at a time, and how many of a free account's.
_MOST_PARALLEL, _FREE_PARALLEL = 1_000, 2

# Filters of text: what they compare of a message. Nothing here belongs to a URL group, a schedule or a flow control
# key, so that these find nothing.
_TEXTS: Mapping[str, Callable[[QueuedMessage], Iterable[str | None]]] = {
    "messageId": lambda message: (message.id,),
    "messageIds": lambda message: (message.id,),
    "url": lambda message: (message.url,),
    "host": lambda message: (urlsplit(message.url).netloc, urlsplit(message.url).hostname),
    "path": lambda message: (urlsplit(message.url).path,),
    "queueName": lambda message: (message.queue,),
    "label": lambda message: message.options.label,
    "api": lambda message: (message.api,),
    "callerIp": lambda message: (CALLER_IP,),
    "callerIP": lambda message: (CALLER_IP,),
    **dict.fromkeys(("flowControlKey", "topicName", "scheduleId"), lambda message: ()),
}
_NUMBERS = ("fromDate", "toDate", "count")
# Parameters with several values between commas; in all others a comma is a part of the value.
_LISTS = ("label", "messageIds", "dlqIds")
# What the requests take that act on many messages, beside the token.
_OF_MESSAGES = {*_TEXTS, *_NUMBERS}
_OF_DEAD = {*_OF_MESSAGES, "dlqIds", "responseStatus", "cursor"}


# --- messages and the log ----------------------------------------------------------------------------------------


def get_message(call: Call, scope: RequestScope) -> Reply:
    """A message that is not delivered yet, or was a short time ago."""
    id = scope.variables["messageId"]
    message = store_of(scope).message(owner_of(call), id, call.received_at)
    if message is None:
        raise refused(f"message {id} not found", 404)
    return json_reply(message_view(message))


def cancel_message(call: Call, scope: RequestScope) -> Reply:
    """Cancel a message that is not delivered yet."""
    id, store = scope.variables["messageId"], store_of(scope)
    if store.pending(owner_of(call), id) is None:
        raise refused(f"message {id} not found", 404)
    return json_reply({"cancelled": 1}, 202, partial(store.cancel, (id,), call.received_at))


def cancel_messages(call: Call, scope: RequestScope) -> Reply:
    """Cancel the messages that are named, or the first that pass the filters, or of all."""
    query = _query(call, _OF_MESSAGES, "messageIds")
    named, store = "messageIds" in query, store_of(scope)
    found = [
        message
        for message in store.messages(owner_of(call))
        if (message.id in query["messageIds"] if named else _fits(message, message.created, query))
    ]
    ids = tuple(message.id for message in found[: _number(query, "count", len(found) if named else _MOST)])
    return json_reply({"cancelled": len(ids)}, 202, partial(store.cancel, ids, call.received_at))


def list_events(call: Call, scope: RequestScope) -> Reply:
    """The log of all messages, latest first."""
    query = _query(call)
    states = query.get("state")
    events = [
        each
        for each in store_of(scope).events(owner_of(call))
        if (states is None or each.state in states) and _fits(each.message, each.time, query)
    ]
    found, following = _page(events, query, _MOST_EVENTS)
    return json_reply({**_cursor(following), "events": [event_view(each) for each in found]})


# --- dead letters ------------------------------------------------------------------------------------------------


def list_dead(call: Call, scope: RequestScope) -> Reply:
    """The dead letter queue, oldest first."""
    query = _query(call)
    found, following = _page(_dead(call, scope, query), query, _MOST)
    return json_reply({"messages": [dead_view(each) for each in found], **_cursor(following)})


def get_dead(call: Call, scope: RequestScope) -> Reply:
    """A dead letter."""
    return json_reply(dead_view(_dead_letter(call, scope)))


def delete_dead(call: Call, scope: RequestScope) -> Reply:
    """Remove a dead letter."""
    return empty_reply(partial(store_of(scope).drop_dead_letters, (_dead_letter(call, scope).id,)))


def delete_dead_letters(call: Call, scope: RequestScope) -> Reply:
    """Remove the dead letters that are named, or the first that pass the filters, or of all."""
    dead, following = _chosen_dead(call, scope)
    ids = tuple(each.id for each in dead)
    answer = {**_cursor(following), "deleted": len(ids)}
    return json_reply(answer, 200, partial(store_of(scope).drop_dead_letters, ids))


def retry_dead(call: Call, scope: RequestScope) -> Reply:
    """Publish a dead letter again, with the options of this request over its own."""
    (id,), orders = _again(call, scope, [_dead_letter(call, scope)])
    return json_reply({"messageId": id}, 201, *orders)


def retry_dead_letters(call: Call, scope: RequestScope) -> Reply:
    """Publish again the dead letters that are named, or the first that pass the filters, or of all."""
    dead, following = _chosen_dead(call, scope)
    ids, orders = _again(call, scope, dead)
    return json_reply({**_cursor(following), "responses": [{"messageId": id} for id in ids]}, 201, *orders)


def _dead_letter(call: Call, scope: RequestScope) -> DeadLetter:
    """The dead letter that a path names."""
    id = scope.variables["dlqId"]
    dead = store_of(scope).dead_letter(owner_of(call), id)
    if dead is None:
        raise refused(f"message with dlqId {id} not found", 404)
    return dead


def _chosen_dead(call: Call, scope: RequestScope) -> tuple[list[DeadLetter], str | None]:
    """The dead letters that a request acts on, and its cursor if others are left: they move up to the same place."""
    query = _query(call, _OF_DEAD, "dlqIds")
    found, start = _dead(call, scope, query), _number(query, "cursor")
    most = _number(query, "count", len(found)) if "dlqIds" in query else min(_number(query, "count", _MOST), _MOST)
    return found[start : start + most], str(start) if most and start + most < len(found) else None


def _dead(call: Call, scope: RequestScope, query: Query) -> list[DeadLetter]:
    """The dead letters that are named, else those that pass the filters."""
    dead = store_of(scope).dead(owner_of(call))
    if "dlqIds" in query:
        return [each for each in dead if each.id in query["dlqIds"]]
    statuses = query.get("responseStatus")
    return [
        each
        for each in dead
        if _fits(each.message, each.died, query) and (statuses is None or str(each.outcome.status or 0) in statuses)
    ]


def _again(call: Call, scope: RequestScope, dead: Sequence[DeadLetter]) -> tuple[list[str], list[Order]]:
    """The ids of dead letters that are published again, and what does so: "a new message with the same body and headers
    is created"."""
    fields, store, now = by_name(call.headers.raw), store_of(scope), call.received_at
    ids, orders = list[str](), list[Order]()
    for each in dead:
        message = each.message
        options = read_options(fields, message.options)
        identity = derive(scope.identity, "again", each.id)
        again = message._replace(
            id=f"msg_{digits(63, identity, store.copies(identity))}",
            options=options,
            created=now,
            due=now + options.delay,
        )
        ids.append(again.id)
        orders.append(partial(store.publish, again, identity, None, now))
    return ids, [*orders, partial(store.drop_dead_letters, [each.id for each in dead])]


# --- queues and keys ----------------------------------------------------------------------------------------------


def list_queues(call: Call, scope: RequestScope) -> Reply:
    """Every queue."""
    return json_reply([_queue_view(each) for each in store_of(scope).queues(owner_of(call))])


def get_queue(call: Call, scope: RequestScope) -> Reply:
    """A queue."""
    name = scope.variables["queueName"]
    queue = store_of(scope).queue(owner_of(call), name)
    if queue is None:
        raise refused(f"queue {name} not found", 404)
    return json_reply(_queue_view(queue))


def _queue_view(queue: Queue) -> dict[str, Any]:
    """A queue."""
    return {
        "createdAt": in_milliseconds(queue.created),
        "updatedAt": in_milliseconds(queue.updated),
        "name": queue.name,
        "parallelism": queue.parallelism,
        "lag": queue.lag,
        "paused": queue.paused,
    }


def set_queue(call: Call, scope: RequestScope) -> Reply:
    """Make a queue, or change it."""
    body = object_in(call.body)
    name, parallelism, paused = checked_name(body.get("queueName")), body.get("parallelism"), body.get("paused")
    if parallelism is not None and not (type(parallelism) is int and 0 < parallelism <= _MOST_PARALLEL):
        raise refused("invalid parallelism: it must be greater than 0")
    if parallelism is not None and parallelism > _FREE_PARALLEL and scope.edition == "observed":
        raise QuotaExceededError("maxParallelism", _FREE_PARALLEL)
    if paused is not None and not isinstance(paused, bool):
        raise refused("invalid paused: it must be true or false")
    return empty_reply(partial(store_of(scope).set_queue, owner_of(call), name, call.received_at, parallelism, paused))


def remove_queue(call: Call, scope: RequestScope) -> Reply:
    """Remove a queue with the messages that wait in it."""
    return empty_reply(partial(store_of(scope).remove_queue, owner_of(call), scope.variables["queueName"]))


def _set_paused(paused: bool, call: Call, scope: RequestScope) -> Reply:
    """Deliver no more messages of a queue, or deliver them again."""
    name = checked_name(scope.variables["queueName"])
    return empty_reply(partial(store_of(scope).set_queue, owner_of(call), name, call.received_at, paused=paused))


pause_queue, resume_queue = partial(_set_paused, True), partial(_set_paused, False)


def get_keys(call: Call, scope: RequestScope) -> Reply:
    """The signing keys."""
    current, following = store_of(scope).signing_keys
    return json_reply({"current": current, "next": following})


def rotate_keys(call: Call, scope: RequestScope) -> Reply:
    """Replace the current signing key with the next one, and the next one with a new one."""
    store = store_of(scope)
    _, current = store.signing_keys
    following = signing_key(store.rotations + 2)
    return json_reply({"current": current, "next": following}, 200, store.rotate_keys)


# --- filters and pages -------------------------------------------------------------------------------------------


def _query(call: Call, known: Iterable[str] | None = None, ids: str = "") -> Query:
    """The query parameters by name. Raises RefusedError for one that is not valid.

    A request that acts on many messages has `known` parameters, which may also stand in a JSON body; `ids` is the name
    of the one that lists messages there. Of lists, which only show something, unknown parameters are ignored.
    """
    given = [pair for pair in parse_qsl(call.query, keep_blank_values=known is not None) if pair[0] != "qstash_token"]
    found: dict[str, dict[str, None]] = {}
    if known is not None and call.body:
        for name, value in object_in(call.body).items():
            if name == ids and not isinstance(value, list):
                raise refused(f"invalid {ids}: it is not an array of strings")
            values = value if isinstance(value, list) else [str(value) if type(value) is int else value]
            if not all(isinstance(each, str) for each in values):
                raise refused(f"invalid {short_repr(name)}: it is neither a string nor an array of strings")
            if name == ids:
                found[ids] = dict.fromkeys(values)
            else:
                given += [(name, each) for each in values] or [(name, "")]
    for name, text in given:
        if known is not None and name not in known:
            raise refused(f"unknown filter {short_repr(name)}")
        if known is not None and not text:
            raise refused(f"invalid {name}: it is empty")
        found.setdefault(name, {}).update(dict.fromkeys(text.split(",") if name in _LISTS else (text,)))
    for name in (*_NUMBERS, "cursor"):
        for text in found.get(name, ()):
            if not (text.isascii() and text.isdecimal() and len(text) < 16):
                raise refused(f"invalid {name}: {short_repr(text)} is not a whole number")
    return found


def _fits(message: QueuedMessage, at: float, query: Query) -> bool:
    """Whether a message, or what became of it at a Unix time, passes every filter: "multiple filters are combined with
    AND logic", the values of one with OR."""
    if any(name in query and query[name].keys().isdisjoint(read(message)) for name, read in _TEXTS.items()):
        return False
    milliseconds = in_milliseconds(at)
    return _number(query, "fromDate") <= milliseconds <= _number(query, "toDate", milliseconds)


def _number(query: Query, name: str, usual: int = 0) -> int:
    """The first value of a parameter that is a number; the usual one if there is none."""
    return int(next(iter(query[name]))) if name in query else usual


def _page(items: Sequence[Item], query: Query, most: int) -> tuple[Sequence[Item], str | None]:
    """The items of a page, and the cursor of the next one; None if there is none."""
    start = end = _number(query, "cursor")
    count, room = min(_number(query, "count", most), most), _MOST_BYTES
    for item in items[start : start + count]:
        room -= size_with_outcome(item)
        if room < 0 and end > start:
            break
        end += 1
    return items[start:end], str(end) if count and end < len(items) else None


def _cursor(following: str | None) -> dict[str, str]:
    """The cursor of the next page as a part of an answer; nothing if there is none."""
    return {} if following is None else {"cursor": following}

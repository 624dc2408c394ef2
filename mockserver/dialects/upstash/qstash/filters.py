"""The query parameters by which lists of messages, dead letters and log entries are narrowed down and paged."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar
from urllib.parse import parse_qsl, urlsplit

from mockserver.core.calls import Call
from mockserver.core.failures import Rejection
from mockserver.dialects.openai_style.fields import json_object
from mockserver.dialects.upstash.errors import refused
from mockserver.dialects.upstash.qstash.callbacks import CALLER_IP
from mockserver.dialects.upstash.qstash.values import Message

Item = TypeVar("Item")
Query = Mapping[str, tuple[str, ...]]

# Filters of text: what they compare of a message.
_TEXTS: Mapping[str, Callable[[Message], Iterable[str | None]]] = {
    "messageId": lambda message: (message.id,),
    "messageIds": lambda message: (message.id,),
    "url": lambda message: (message.url,),
    "host": lambda message: (urlsplit(message.url).netloc, urlsplit(message.url).hostname),
    "path": lambda message: (urlsplit(message.url).path,),
    "queueName": lambda message: (message.queue,),
    "label": lambda message: message.labels,
    "callerIp": lambda message: (CALLER_IP,),
    "callerIP": lambda message: (CALLER_IP,),
    "flowControlKey": lambda message: (message.options.flow.key if message.options.flow is not None else None,),
    "topicName": lambda message: (message.group,),
    "scheduleId": lambda message: (message.schedule,),
}
_NUMBERS = ("fromDate", "toDate", "count")


def query_of(call: Call, ids: str = "") -> Query | Rejection:
    """The query parameters by name, or the refusal of one that should be a number and is not.

    `ids` is the name of a list that may stand in a JSON body instead.
    """
    found: dict[str, tuple[str, ...]] = {}
    if ids and call.body:
        body = json_object(call.body)
        if isinstance(body, Rejection):
            return body
        if ids in body:
            listed = body[ids]
            if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
                return refused(f"invalid {ids}: it is not an array of strings")
            found[ids] = tuple(listed)
    for name, value in parse_qsl(call.query):
        found[name] = (*found.get(name, ()), *(value.split(",") if name in (*_TEXTS, "dlqIds") else (value,)))
    for name in _NUMBERS:
        for text in found.get(name, ()):
            if not (text.isascii() and text.isdecimal() and len(text) < 16):
                return refused(f"invalid {name}: {text!r} is not a whole number")
    return found


def fits(message: Message, at: float, query: Query) -> bool:
    """Whether a message, or what became of it at a Unix time, passes every filter: "multiple filters are combined with
    AND logic", the values of one with OR."""
    if any(name in query and not {*query[name]} & {*read(message)} for name, read in _TEXTS.items()):
        return False
    milliseconds = int(at * 1000)
    earliest, latest = query.get("fromDate"), query.get("toDate")
    return (earliest is None or milliseconds >= int(earliest[0])) and (latest is None or milliseconds <= int(latest[0]))


def page(items: Sequence[Item], query: Query, most: int) -> tuple[Sequence[Item], str | None] | Rejection:
    """The items of a page, and the cursor of the next one; None if there is none. A cursor is a number of items."""
    text = query.get("cursor", ("0",))[0]
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        return refused("invalid cursor")
    start, count = int(text), min(int(query.get("count", (str(most),))[0]), most)
    following = start + count
    return items[start:following], str(following) if count and following < len(items) else None


def cursor(following: str | None) -> dict[str, str]:
    """The cursor of the next page as a part of an answer; nothing if there is none."""
    return {} if following is None else {"cursor": following}

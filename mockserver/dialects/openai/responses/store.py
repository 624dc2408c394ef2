"""Stored responses: those of a namespace, which later requests continue, and the operations that tell of them."""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import parse_qsl
from weakref import WeakSet

import orjson

from mockserver.core.calls import Call
from mockserver.core.dialect_state import Progress, ServedResponse
from mockserver.core.dialects import RequestScope
from mockserver.core.failures import Refusal
from mockserver.core.timeline import FrameBatch, LazyFrames, Reply
from mockserver.dialects.openai.bodies import body_reply
from mockserver.dialects.openai.flavour import Members
from mockserver.dialects.openai.responses.flavour import (
    Responding,
    ResponseFlavour,
    event_frames,
    item_ids,
    responding,
    whole_response,
)

# How many responses a namespace keeps, and how many bytes all of them together, each its share; the oldest are dropped.
_MOST, _MOST_BYTES, _LEAST_SHARE = 1_000, 64 * 1024 * 1024, 256 * 1024
# About how many bytes a token of an answer takes.
_TOKEN = 256
# How many responses a conversation may have, which all stay in memory as long as the last one.
_LONGEST = 1_000
# "A limit on the number of objects to be returned. Limit can range between 1 and 100, and the default is 20."
_USUAL_PAGE, LONGEST_PAGE = 20, 100


@dataclass(slots=True, eq=False)
class Stored:
    """A response: in progress from the Unix time `taken` on, complete at `ready`, unless it was cancelled before. It
    continues the `earlier` one, if any, and is the end of a conversation of that `length`."""

    response: Responding
    taken: float
    ready: float
    weight: int
    earlier: "Stored | None" = None
    length: int = 1
    cancelled: bool = False

    def view(self, now: float) -> Members:
        """The response as it is now."""
        response = self.response._replace(streamed=False)
        if not self.cancelled and now >= self.ready:
            return whole_response(response)
        status = "cancelled" if self.cancelled else "queued" if now < self.taken else "in_progress"
        return response.flavour.response(response, None, status)

    @property
    def input(self) -> tuple[Members, ...]:
        """The items of its request, in the form of items."""
        given = self.response.body.get("input", ())
        return (_message(given),) if isinstance(given, str) else tuple(given)

    @property
    def items(self) -> tuple[Members, ...]:
        """The whole conversation, for a response that continues it."""
        conversation: list[Stored] = []
        last: Stored | None = self
        while last is not None:
            conversation.append(last)
            last = last.earlier
        return tuple(item for each in reversed(conversation) for item in (*each.input, *each.output))

    @property
    def output(self) -> Sequence[Members]:
        """The items of the whole response."""
        return self.response.flavour.output(self.response._replace(streamed=False))


class ResponseStore:
    """The stored responses, each in the flavour of its request's site."""

    operations: Collection[str] = ("responses",)

    def __init__(self, flavour_of: Callable[[RequestScope], ResponseFlavour]) -> None:
        self._flavour_of = flavour_of
        self._stored: OrderedDict[str, Stored] = OrderedDict()
        # The ids of responses by those of their items.
        self._owners: dict[str, str] = {}
        self._weight = 0
        _stores.add(self)

    def recalls(self, id_: str) -> bool:
        """Whether it has a response with this id."""
        return id_ in self._stored

    def get(self, id_: str) -> Stored | None:
        """The response with this id."""
        return self._stored.get(id_)

    def with_items(self, given: Sequence[Members]) -> list[Members]:
        """The items, with those of stored responses in the place of the references to them, as far as there are any."""
        references = [str(item.get("id")) for item in given if item.get("type") == "item_reference"]
        owners = {self._owners.get(id_) for id_ in references} - {None}
        known = {item["id"]: item for owner in owners for item in self._stored[str(owner)].output}
        if not known:
            return list(given)
        return [known.get(item.get("id"), item) if item.get("type") == "item_reference" else item for item in given]

    def reasoning_of(self, items: Sequence[Members]) -> dict[str, str]:
        """The ids of stored reasoning items by those of what followed them, for the responses that made the items."""
        found: dict[str, str] = {}
        for owner in {self._owners.get(str(item.get("id"))) for item in items} - {None}:
            response = self._stored[str(owner)].response
            ids, spoken = item_ids(response), response.flavour.spoken(response)
            if spoken[0].kind in ("thought", "summary", "hidden"):
                found |= dict.fromkeys(ids[1:], ids[0])
        return found

    def remove(self, id_: str) -> None:
        """Forget a response."""
        stored = self._stored.pop(id_, None)
        if stored is not None:
            self._weight -= stored.weight
            for each in item_ids(stored.response):
                self._owners.pop(each, None)

    def begin(self, served: ServedResponse) -> Callable[[Progress], None] | None:
        """Store a response, unless its request forbids that, or it is refused."""
        generation, pace = served.generation, served.pace
        if generation is None or pace is None or served.status >= 400:
            return None
        # Of its times only the last is told later.
        kept = pace._replace(schedule=pace.schedule[-1:])
        response = responding(self._flavour_of(served.scope), generation, kept, served.scope)
        if response.body.get("store") is False:
            return None
        # A response in the background is due as if it had been waited for.
        waits = pace.schedule if response.body.get("background") else ()
        received, weight = served.call.received_at, len(served.call.body) + _TOKEN * generation.usage.completion_tokens
        taken, ready = (max(waits[0] - pace.prefill, 0.0), waits[-1]) if waits else (0.0, 0.0)
        stored = Stored(response, received + taken, received + ready, weight)
        earlier = self.get(str(response.body.get("previous_response_id", "")))
        if earlier is not None and earlier.length < _LONGEST:
            stored.earlier, stored.length = earlier, earlier.length + 1
        self._add(response.flavour.response_id(response), stored)
        return None

    def _add(self, id_: str, stored: Stored) -> None:
        self.remove(id_)
        self._stored[id_] = stored
        self._owners |= dict.fromkeys(item_ids(stored.response), id_)
        self._weight += stored.weight
        share = max(_MOST_BYTES // len(_stores), _LEAST_SHARE)
        while len(self._stored) > _MOST or (self._weight > share and len(self._stored) > 1):
            self.remove(next(iter(self._stored)))


# Those in use, which share the memory.
_stores: WeakSet[ResponseStore] = WeakSet()


def _message(text: str) -> Members:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


# --- operations --------------------------------------------------------------------------------------------------


class StoredOperations(NamedTuple):
    """The operations on stored responses: what they refuse in a vendor's words, and how they write.

    - `unknown`: the refusal of an id; `not_cancellable` that of a response that is waited for.
    - `wrong_limit`, `wrong_order`: those of a page's parameters.
    - `input_item`: an item of a request, at its place, as the list of them has it.
    - `plain`: writes a body that is no response. `streams`: whether a response can be had as a stream.
    """

    unknown: Callable[[str], Refusal]
    not_cancellable: Callable[[], Refusal]
    wrong_limit: Callable[[str], Refusal]
    wrong_order: Callable[[str], Refusal]
    input_item: Callable[[Stored, Members, int], Members]
    plain: Callable[[object], bytes] = orjson.dumps
    streams: bool = True

    def get(self, call: Call, scope: RequestScope) -> Reply | Refusal:
        """A response as it is now; or its events, from the one after `starting_after` on."""
        found = self._found(scope)
        if isinstance(found, Refusal):
            return found
        query, asked = dict(parse_qsl(call.query)), _as_asked(found, call)
        if not self.streams or query.get("stream") != "true":
            return _shown(asked, call)
        response, after = asked.response._replace(streamed=True), query.get("starting_after", "")
        # Who waits for the end of its events has waited for the response.
        found.ready = min(found.ready, call.received_at)
        is_number = after.isascii() and after.isdecimal() and len(after) < 9
        sent = int(after) - response.flavour.first + 1 if is_number else 0
        headers = response.flavour.stream_headers(response)
        return Reply(200, headers, LazyFrames(partial(_rest, response, sent)), streamed=True)

    def delete(self, call: Call, scope: RequestScope) -> Reply | Refusal:
        """Forget a response."""
        found = self._found(scope)
        if isinstance(found, Refusal):
            return found
        if isinstance(scope.history, ResponseStore):
            scope.history.remove(_id(scope))
        return body_reply(self.plain({"id": _id(scope), "object": "response", "deleted": True}))

    def cancel(self, call: Call, scope: RequestScope) -> Reply | Refusal:
        """Cancel a response in the background; one that is complete stays so."""
        found = self._found(scope)
        if isinstance(found, Refusal):
            return found
        if not found.response.body.get("background"):
            return self.not_cancellable()
        found.cancelled = found.cancelled or call.received_at < found.ready
        return _shown(found, call)

    def list_input(self, call: Call, scope: RequestScope) -> Reply | Refusal:
        """The items of the request of a response, the latest first unless the `order` is `asc`."""
        found = self._found(scope)
        if isinstance(found, Refusal):
            return found
        query = dict(parse_qsl(call.query))
        limit, order = query.get("limit", str(_USUAL_PAGE)), query.get("order", "desc")
        if not (limit.isascii() and limit.isdecimal() and len(limit) < 4 and 1 <= int(limit) <= LONGEST_PAGE):
            return self.wrong_limit(limit)
        if order not in ("asc", "desc"):
            return self.wrong_order(order)
        items = [self.input_item(found, each, place) for place, each in enumerate(found.input)]
        items = items if order == "asc" else items[::-1]
        start = next((place for place, each in enumerate(items, 1) if each["id"] == query.get("after")), 0)
        page, more = items[start : start + int(limit)], start + int(limit) < len(items)
        first, last = (page[0]["id"], page[-1]["id"]) if page else (None, None)
        return body_reply(
            self.plain({"object": "list", "data": page, "first_id": first, "last_id": last, "has_more": more})
        )

    def _found(self, scope: RequestScope) -> Stored | Refusal:
        found = scope.history.get(_id(scope)) if isinstance(scope.history, ResponseStore) else None
        return found or self.unknown(_id(scope))


def _as_asked(stored: Stored, call: Call) -> Stored:
    """The response in the form that a query asks for: with more included, or without the padding of deltas."""
    pairs, body = parse_qsl(call.query), stored.response.body
    include = [value for name, value in pairs if name in ("include", "include[]")]
    if include:
        body = {**body, "include": [*(body.get("include") or ()), *include]}
    if ("include_obfuscation", "false") in pairs:
        body = {**body, "stream_options": {"include_obfuscation": False}}
    if body is stored.response.body:
        return stored
    return replace(stored, response=stored.response._replace(options=stored.response.options._replace(body=body)))


def _shown(stored: Stored, call: Call) -> Reply:
    return body_reply(stored.response.flavour.plain(stored.view(call.received_at)))


def _rest(response: Responding, sent: int) -> Iterator[FrameBatch]:
    """The events of a response but for the first ones; all of them are due at once."""
    for frames in event_frames(response):
        count = len(frames.data)
        if sent < count:
            rest: Sequence[Any] = frames.data[sent:] if sent else frames.data
            yield FrameBatch(rest, (0,) * len(rest), (0,) * len(rest))
        sent = max(sent - count, 0)


def _id(scope: RequestScope) -> str:
    return scope.variables.get("id", "")

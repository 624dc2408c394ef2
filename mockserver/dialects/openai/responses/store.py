"""What is stored in a namespace: responses, which later requests continue, conversations of them, and what else a
vendor keeps under ids; and the operations that tell of responses."""

import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl
from weakref import WeakSet

import orjson

from mockserver.core.dialect_state import Progress, ServedResponse
from mockserver.core.dialects import RequestScope
from mockserver.core.failures import Refusal, Violation
from mockserver.core.http import Call, FrameBatch, LazyFrames, Reply
from mockserver.dialects.openai.replies import Members, body_reply, ordered
from mockserver.dialects.openai.responses.flavour import (
    Responding,
    ResponseFlavour,
    event_frames,
    item_ids,
    responding,
    whole_response,
)
from mockserver.dialects.openai.responses.items import conversation_of

# How much a namespace keeps, and how many bytes all of them together, each its share; what is oldest is dropped.
_MOST, _MOST_BYTES, _LEAST_SHARE = 1_000, 64 * 1024 * 1024, 256 * 1024
# About how many bytes a token of an answer takes.
_TOKEN = 256
# How many responses may continue each other, or be in a conversation: all stay in memory as long as the last one.
_LONGEST = 1_000
# "A limit on the number of objects to be returned. Limit can range between 1 and 100, and the default is 20."
_USUAL_PAGE, LONGEST_PAGE = 20, 100


_Kept = TypeVar("_Kept")
# Makes of an answer its id and what is stored of it, which has a `weight` in bytes; None if it is not to be stored.
Keep = Callable[[ServedResponse], tuple[str, Any] | None]


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
        if not self.cancelled and now >= self.ready:
            return whole_response(self.response)
        status = "cancelled" if self.cancelled else "queued" if now < self.taken else "in_progress"
        return self.response.flavour.response(self.response, None, status)

    @property
    def input(self) -> tuple[Members, ...]:
        """The items of its request, in the form of items."""
        given, form = self.response.body.get("input", ()), partial(self.response.flavour.input_item, self.response)
        return tuple(map(form, (_message(given),) if isinstance(given, str) else given, count()))

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
        return self.response.flavour.output(self.response)


@dataclass(slots=True, eq=False)
class Conversation:
    """Items that were given, and those of responses, which are there once a response is complete; too many or too heavy
    ones lose the oldest. `turn` counts what was ever added."""

    id: str
    created: int
    metadata: Members
    weight: int = 0
    turn: int = 1
    _parts: tuple[tuple[int, Stored | Sequence[Members]], ...] = ()
    _removed: frozenset[str] = frozenset()

    def view(self) -> Members:
        """The conversation without its items."""
        return {"id": self.id, "object": "conversation", "created_at": self.created, "metadata": self.metadata}

    def items(self, now: float) -> list[Members]:
        """Its items, the oldest first."""
        return [item for item in self._all(now) if item["id"] not in self._removed]

    @property
    def last(self) -> Stored | None:
        """The last of its responses."""
        return next((part for _, part in reversed(self._parts) if isinstance(part, Stored)), None)

    def add(self, part: Stored | Sequence[Members], weight: int) -> None:
        """Append items, or a response."""
        # Threads may be reading the parts.
        self._parts = (*self._parts, (weight, part))
        self.turn, self.weight = self.turn + 1, self.weight + weight
        while len(self._parts) > _LONGEST or (self.weight > _share() and len(self._parts) > 1):
            self.weight, self._parts = self.weight - self._parts[0][0], self._parts[1:]

    def remove(self, id_: str, now: float) -> None:
        """Forget an item."""
        self._removed = (self._removed | {id_}) & {str(item["id"]) for item in self._all(now)}

    def _all(self, now: float) -> Iterator[Members]:
        for _, part in self._parts:
            if not isinstance(part, Stored):
                yield from part
            elif now >= part.ready and not part.cancelled:
                yield from (*part.input, *part.output)


class ResponseStore:
    """What is stored: responses, each in the flavour of its request's site, and of chats what `keep_chat` makes of
    them."""

    def __init__(self, flavour_of: Callable[[RequestScope], ResponseFlavour], keep_chat: Keep | None = None) -> None:
        self.operations = {"responses": b"", **({"chat_completions": b'"store"'} if keep_chat else {})}
        self._flavour_of, self._keep_chat = flavour_of, keep_chat
        self._stored: OrderedDict[str, Any] = OrderedDict()
        # Numbers for what the same requests make again.
        self.serials = count(1)
        # The ids of responses by those of their items.
        self._owners: dict[str, str] = {}
        self._weight = 0
        _stores.add(self)

    def has_stored(self, id_: str) -> bool:
        """Whether it has something with this id."""
        return id_ in self._stored

    def get(self, kind: type[_Kept], id_: str) -> _Kept | None:
        """What is of this kind and has this id."""
        found = self._stored.get(id_)
        return found if isinstance(found, kind) else None

    def all(self, kind: type[_Kept]) -> list[_Kept]:
        """Everything of a kind, the oldest first."""
        # Long requests are read by threads, while others are stored.
        return [each for each in [*self._stored.values()] if isinstance(each, kind)]

    def with_items(self, given: Sequence[Members]) -> list[Members]:
        """The items, with those of stored responses in the place of the references to them, as far as there are any."""
        references = [str(item.get("id")) if item.get("type") == "item_reference" else "" for item in given]
        known = {item["id"]: item for owner in self._owners_of(references) for item in owner.output}
        return [known.get(id_, item) for id_, item in zip(references, given, strict=True)]

    def reasoning_of(self, items: Sequence[Members]) -> dict[str, str]:
        """The ids of stored reasoning items by those of what followed them, for the responses that made the items."""
        found: dict[str, str] = {}
        for owner in self._owners_of([str(item.get("id")) for item in items]):
            response = owner.response
            ids, generated = item_ids(response), response.flavour.generated(response)
            if generated[0].kind in ("thought", "summary", "hidden"):
                found |= dict.fromkeys(ids[1:], ids[0])
        return found

    def _owners_of(self, ids: Sequence[str]) -> list[Stored]:
        """The stored responses with items of these ids."""
        owners = [self.get(Stored, id_) for id_ in {self._owners.get(id_, "") for id_ in ids}]
        return [each for each in owners if each is not None]

    def remove(self, id_: str) -> None:
        """Forget something."""
        stored = self._stored.pop(id_, None)
        self._weight -= stored.weight if stored is not None else 0
        if isinstance(stored, Stored):
            for each in item_ids(stored.response):
                self._owners.pop(each, None)

    def keep(self, id_: str, kept: Any) -> None:
        """Store something, as the newest."""
        self.remove(id_)
        self._stored[id_] = kept
        if isinstance(kept, Stored):
            self._owners |= dict.fromkeys(item_ids(kept.response), id_)
        self._weight += kept.weight
        while len(self._stored) > _MOST or (self._weight > _share() and len(self._stored) > 1):
            self.remove(next(iter(self._stored)))

    def extend(self, id_: str, part: Stored | Sequence[Members], weight: int) -> None:
        """Append items or a response to a conversation, if it is still there, which becomes the newest."""
        conversation = self.get(Conversation, id_)
        if conversation is not None:
            self.remove(id_)
            conversation.add(part, weight)
            self.keep(id_, conversation)

    def begin(self, served: ServedResponse) -> Callable[[Progress], None] | None:
        """Do what the answer orders, and store it, unless its request forbids that, or it is refused."""
        for order in served.orders:
            order()
        if served.operation == "chat_completions" and self._keep_chat is not None:
            kept = self._keep_chat(served)
            if kept is not None:
                self.keep(*kept)
        return self._begin(served) if served.operation == "responses" else None

    def _begin(self, served: ServedResponse) -> Callable[[Progress], None] | None:
        generation, pace = served.generation, served.pace
        if generation is None or pace is None or served.status >= 400:
            return None
        # Of its times only the last is told later, and it is told as one body unless a stream is asked for.
        kept = pace._replace(schedule=pace.schedule[-1:])
        response = responding(self._flavour_of(served.scope), generation, kept, served.scope)._replace(streamed=False)
        conversation_id = conversation_of(response.body) or ""
        conversation = self.get(Conversation, conversation_id)
        if response.body.get("store") is False and conversation is None:
            return None
        # A response in the background is due as if it had been waited for.
        waits = pace.schedule if response.body.get("background") else ()
        received, weight = served.call.received_at, weight_of(served)
        taken, ready = (max(waits[0] - pace.prefill, 0.0), waits[-1]) if waits else (0.0, 0.0)
        stored = Stored(response, received + taken, received + ready, weight)
        earlier = self.get(Stored, str(response.body.get("previous_response_id", "")))
        if conversation is not None:
            earlier = conversation.last
        if earlier is not None and earlier.length < _LONGEST:
            stored.earlier, stored.length = earlier, earlier.length + 1
        if response.body.get("store") is not False:
            self.keep(response.flavour.response_id(response), stored)
        if conversation is None:
            return None
        if waits:
            self.extend(conversation_id, stored, weight)
            return None
        return lambda progress: self.extend(conversation_id, stored, weight) if progress.complete else None


# Those in use, which share the memory.
_stores: WeakSet[ResponseStore] = WeakSet()


def weight_of(served: ServedResponse) -> int:
    """About how many bytes a request and its answer take."""
    tokens = served.generation.usage.completion_tokens if served.generation is not None else 0
    return len(served.call.body) + _TOKEN * tokens


def _share() -> int:
    return max(_MOST_BYTES // max(len(_stores), 1), _LEAST_SHARE)


def _message(text: str) -> Members:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


# --- operations --------------------------------------------------------------------------------------------------


class StoredOperations(NamedTuple):
    """The operations on stored responses: what they refuse in a vendor's words, and how they write.

    - `unknown`: the refusal of an id; `not_cancellable` that of a response that is waited for.
    - `wrong`: that of a page's parameters.
    - `plain`: writes a body that is no response. `streams`: whether a response can be had as a stream.
    - `deleted`: the `object` of what is said of a response that is deleted. `page_members`: those of a page.
    """

    unknown: Callable[[str], Refusal]
    not_cancellable: Refusal
    wrong: Callable[[Violation], Refusal]
    plain: Callable[[object], bytes] = orjson.dumps
    streams: bool = True
    deleted: str = "response"
    page_members: tuple[str, ...] = ("object", "data", "first_id", "last_id", "has_more")

    def get(self, call: Call, scope: RequestScope) -> Reply | Refusal:
        """A response as it is now; or its events, from the one after `starting_after` on."""
        found = self._found(scope)
        if isinstance(found, Refusal):
            return found
        query, asked = dict(parse_qsl(call.query)), _as_asked(found, call)
        if not self.streams or query.get("stream") != "true":
            return _shown(asked, call)
        response, after = asked.response._replace(streamed=True), query.get("starting_after", "")
        is_number = after.isascii() and after.isdecimal() and len(after) < 9
        sent = int(after) - response.flavour.first + 1 if is_number else 0
        headers = response.flavour.stream_headers(response)
        # Who waits for the end of its events has waited for the response.
        ready = partial(setattr, found, "ready", min(found.ready, call.received_at))
        return Reply(200, headers, LazyFrames(partial(_rest, response, sent)), streamed=True, orders=(ready,))

    def delete(self, call: Call, scope: RequestScope) -> Reply | Refusal:
        """Forget a response."""
        found = self._found(scope)
        if isinstance(found, Refusal):
            return found
        assert isinstance(scope.history, ResponseStore), "the response was found there"
        reply = body_reply(self.plain({"id": scope.variables["id"], "object": self.deleted, "deleted": True}))
        return reply._replace(orders=(partial(scope.history.remove, scope.variables["id"]),))

    def cancel(self, call: Call, scope: RequestScope) -> Reply | Refusal:
        """Cancel a response in the background; one that is complete stays so."""
        found = self._found(scope)
        if isinstance(found, Refusal):
            return found
        if not found.response.body.get("background"):
            return self.not_cancellable
        cancelled = found.cancelled or call.received_at < found.ready
        reply = _shown(replace(found, cancelled=cancelled), call)
        return reply._replace(orders=(partial(setattr, found, "cancelled", cancelled),))

    def list_input(self, call: Call, scope: RequestScope) -> Reply | Refusal:
        """The items of the request of a response, the latest first unless the `order` is `asc`."""
        found = self._found(scope)
        return found if isinstance(found, Refusal) else self.page(found.input, call)

    def page(
        self,
        items: Sequence[Members],
        call: Call,
        order: str = "desc",
        shown: Callable[[Members], Members] = lambda item: item,
    ) -> Reply | Refusal:
        """The page that a query asks for, as it is `shown`: `order` is the usual one, `items` have an ascending one."""
        query = dict(parse_qsl(call.query))
        limit, order = query.get("limit", str(_USUAL_PAGE)), query.get("order", order)
        most = int(limit[:9]) if re.fullmatch("-?[0-9]+", limit) else None
        if most is None:
            return self.wrong(Violation(("limit",), "type", "", "integer", limit))
        if not 1 <= most <= LONGEST_PAGE:
            rule, bound = ("maximum", LONGEST_PAGE) if most > 0 else ("minimum", 1)
            return self.wrong(Violation(("limit",), rule, "", bound, most))
        if order not in ("asc", "desc"):
            return self.wrong(Violation(("order",), "enum", "", ["asc", "desc"], order))
        items = items if order == "asc" else items[::-1]
        # Clients may have given several items the same id: after the last of them, every page leads on.
        start = max((place for place, each in enumerate(items, 1) if each["id"] == query.get("after")), default=0)
        page = [*map(shown, items[start : start + most])]
        return body_reply(self.listed(page, more=start + most < len(items)))

    def listed(self, items: Sequence[Members], *, more: bool = False) -> bytes:
        """A list, or a page of one after which there is more."""
        first, last = (items[0]["id"], items[-1]["id"]) if items else (None, None)
        page = {"object": "list", "data": items, "first_id": first, "last_id": last, "has_more": more}
        return self.plain(ordered(self.page_members, page))

    def _found(self, scope: RequestScope) -> Stored | Refusal:
        found = scope.history.get(Stored, scope.variables["id"]) if isinstance(scope.history, ResponseStore) else None
        return found or self.unknown(scope.variables["id"])


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

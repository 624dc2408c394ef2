"""What OpenAI stores: responses (facts C4, F5), conversations, and chats with `store: true` (its OpenAPI document)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import orjson

from mockserver.core.dialect_state import ServedResponse
from mockserver.core.dialects import OperationHandler, RequestScope
from mockserver.core.failures import Refusal
from mockserver.core.http import Call, Reply
from mockserver.core.seeding import derive
from mockserver.dialects.contracts import Contract, components
from mockserver.dialects.openai.chats import chat_id, whole_chat
from mockserver.dialects.openai.errors import request_id
from mockserver.dialects.openai.models import SNAPSHOTS
from mockserver.dialects.openai.read import Body
from mockserver.dialects.openai.refusals import explain, no_stored, refused, valid_body
from mockserver.dialects.openai.replies import Members, body_reply, plain, pretty
from mockserver.dialects.openai.responses.answers import RESPONSE, input_item, made_id
from mockserver.dialects.openai.responses.store import (
    Conversation,
    ResponseStore,
    StoredOperations,
    weight_of,
)

_NEW, _MORE, _CHANGED = (
    Contract(components(__package__, "openai"), name)
    for name in ("ConversationRequest", "ItemsRequest", "MetadataRequest")
)


def make_store() -> ResponseStore:
    """An empty store."""
    return ResponseStore(lambda scope: RESPONSE, _stored_chat)


def _store(scope: RequestScope) -> ResponseStore:
    return scope.history if isinstance(scope.history, ResponseStore) else make_store()


class _Kind(NamedTuple):
    """A kind of object with metadata, the refusal of an id of none, and how its bodies are laid out."""

    kind: type[Any]
    unknown: Callable[[str], Refusal]
    plain: Callable[[object], bytes]

    def found(self, answer: Callable[[Call, RequestScope, Any], Reply | Refusal]) -> OperationHandler:
        """A handler from one that is also given what is stored under the path's id."""

        def handle(call: Call, scope: RequestScope) -> Reply | Refusal:
            found = _store(scope).get(self.kind, scope.variables["id"])
            return self.unknown(scope.variables["id"]) if found is None else answer(call, scope, found)

        return handle

    def operations(self) -> tuple[OperationHandler, OperationHandler, OperationHandler]:
        """Those that look one up, replace its metadata, and forget it."""

        def get(call: Call, scope: RequestScope, found: Any) -> Reply:
            return body_reply(self.plain(found.view()))

        def update(call: Call, scope: RequestScope, found: Any) -> Reply | Refusal:
            body = valid_body(call, _CHANGED, responses=True)
            if isinstance(body, Refusal):
                return body
            metadata = body["metadata"] or {}
            reply = body_reply(self.plain({**found.view(), "metadata": metadata}))
            return reply._replace(orders=(partial(setattr, found, "metadata", metadata),))

        def delete(call: Call, scope: RequestScope, found: Any) -> Reply:
            view = found.view()
            told = {name: each for name, each in view.items() if name in ("id", "object")}
            told |= {"object": f"{view['object']}.deleted", "deleted": True}
            return body_reply(self.plain(told))._replace(orders=(partial(_store(scope).remove, found.id),))

        return self.found(get), self.found(update), self.found(delete)


# --- responses, and the pages of lists ---------------------------------------------------------------------------


_OPERATIONS = StoredOperations(
    lambda id_: no_stored("Response", id_),
    refused("Cannot cancel a synchronous response."),
    lambda violation: explain([violation], responses=True),
    plain,
    deleted="response.deleted",
    page_members=("object", "data", "first_id", "has_more", "last_id"),
)
_CHATS = _OPERATIONS._replace(plain=pretty, page_members=("object", "data", "first_id", "last_id", "has_more"))
get_response, delete_response = _OPERATIONS.get, _OPERATIONS.delete
cancel_response, list_input_items = _OPERATIONS.cancel, _OPERATIONS.list_input

# --- conversations -----------------------------------------------------------------------------------------------

_CONVERSATION = _Kind(Conversation, partial(no_stored, "Conversation"), plain)
get_conversation, update_conversation, delete_conversation = _CONVERSATION.operations()


def create_conversation(call: Call, scope: RequestScope) -> Reply | Refusal:
    """Begin a conversation, which may have items already."""
    body = valid_body(call, _NEW, responses=True)
    if isinstance(body, Refusal):
        return body
    # The same request begins another conversation each time.
    scope = scope._replace(identity=derive(scope.identity, "serial", next(_store(scope).serials)))
    made = Conversation(made_id(scope, "conv"), int(scope.now), body.get("metadata") or {})
    items = [input_item(scope, item, place, within=made.id) for place, item in enumerate(body.get("items") or ())]
    made.add(items, len(call.body))
    return body_reply(plain(made.view()))._replace(orders=(partial(_store(scope).keep, made.id, made),))


@_CONVERSATION.found
def create_items(call: Call, scope: RequestScope, found: Conversation) -> Reply | Refusal:
    """Append items to a conversation."""
    body = valid_body(call, _MORE, responses=True)
    if isinstance(body, Refusal):
        return body
    items = [input_item(scope, item, found.turn, place, within=found.id) for place, item in enumerate(body["items"])]
    append = partial(_store(scope).extend, found.id, items, len(call.body))
    return body_reply(_OPERATIONS.listed(items))._replace(orders=(append,))


@_CONVERSATION.found
def list_items(call: Call, scope: RequestScope, found: Conversation) -> Reply | Refusal:
    """The items of a conversation, the latest first unless the `order` is `asc`."""
    return _OPERATIONS.page(_store(scope).with_items(found.items(call.received_at)), call)


@_CONVERSATION.found
def get_item(call: Call, scope: RequestScope, found: Conversation) -> Reply | Refusal:
    """One item of a conversation."""
    id_ = scope.variables["item_id"]
    item = next((each for each in found.items(call.received_at) if each["id"] == id_), None)
    return no_stored("Item", id_) if item is None else body_reply(plain(item))


@_CONVERSATION.found
def delete_item(call: Call, scope: RequestScope, found: Conversation) -> Reply | Refusal:
    """Remove an item from a conversation, which is the answer."""
    id_, now = scope.variables["item_id"], call.received_at
    if all(each["id"] != id_ for each in found.items(now)):
        return no_stored("Item", id_)
    return body_reply(plain(found.view()))._replace(orders=(partial(found.remove, id_, now),))


# --- chats -------------------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class StoredChat:
    """A chat: what was asked, and what makes the members of its answer."""

    id: str
    weight: int
    asked: Body
    whole: Callable[[], dict[str, Any]]
    scope: RequestScope
    metadata: Members

    def view(self) -> Members:
        """The chat with the members of recorded ones, in their order."""
        told, asked = self.whole(), self.asked
        numbers = {"top_p": 1.0, "temperature": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0}
        seed = asked.get("seed")
        empty = {"content": None, "role": "assistant", "tool_calls": None, "function_call": None}
        counts = ("total_tokens", "completion_tokens", "prompt_tokens")
        return {
            **{name: told[name] for name in ("object", "id", "model", "created")},
            "request_id": request_id(self.scope),
            "tool_choice": asked.get("tool_choice"),
            "usage": {name: told["usage"][name] for name in counts},
            "seed": derive(self.scope.identity, "seed") >> 1 if seed is None else seed,
            **{name: usual if asked.get(name) is None else asked[name] for name, usual in numbers.items()},
            "system_fingerprint": told["system_fingerprint"],
            "input_user": asked.get("user"),
            "service_tier": told.get("service_tier"),
            "tools": asked.get("tools"),
            "metadata": self.metadata,
            "choices": [
                {
                    "index": each["index"],
                    "message": {name: each["message"].get(name, usual) for name, usual in empty.items()},
                    "finish_reason": each["finish_reason"],
                    "logprobs": each.get("logprobs"),
                }
                for each in told["choices"]
            ],
            "response_format": asked.get("response_format"),
        }


def _stored_chat(served: ServedResponse) -> tuple[str, StoredChat] | None:
    """The chat that an answer is stored as, if the request wants that."""
    generation, pace = served.generation, served.pace
    if generation is None or pace is None or served.status >= 400:
        return None
    asked, scope = orjson.loads(served.call.body), served.scope._replace(history=None)
    if asked.get("store") is not True:
        return None
    whole = partial(whole_chat, generation, pace._replace(schedule=pace.schedule[-1:]), scope)
    id_, asked = chat_id(scope), {**asked, "model": generation.request.model}
    return id_, StoredChat(id_, weight_of(served), asked, whole, scope, asked.get("metadata") or {})


_CHAT = _Kind(
    StoredChat, lambda id_: refused(f"Completion {id_} not found", "completion_id", "not_found", status=404), pretty
)
get_chat, update_chat, delete_chat = _CHAT.operations()


def list_chats(call: Call, scope: RequestScope) -> Reply | Refusal:
    """The stored chats of a model or with some metadata, if a query names any; the latest first unless the
    `order` is `asc` (recorded, though the page says otherwise)."""
    query = dict(parse_qsl(call.query, keep_blank_values=True))
    wanted = {name[9:-1]: value for name, value in query.items() if name.startswith("metadata[")}
    chats = [each for each in _store(scope).all(StoredChat) if wanted.items() <= each.metadata.items()]
    model = query.get("model")
    found = [
        {"id": each.id, "chat": each}
        for each in chats
        if model in (None, name := each.asked["model"], SNAPSHOTS.get(name, name))
    ]
    return _CHATS.page(found, call, shown=lambda each: each["chat"].view())


@_CHAT.found
def list_messages(call: Call, scope: RequestScope, found: StoredChat) -> Reply | Refusal:
    """The messages of the request of a stored chat, the oldest first."""
    messages = []
    for place, message in enumerate(found.asked["messages"]):
        content = message.get("content")
        content, parts = (None, content) if isinstance(content, list) else (content, None)
        told = {"id": f"{found.id}-{place}", "role": message["role"], "content": content, "content_parts": parts}
        rest = {name: value for name, value in message.items() if name not in ("role", "content")}
        messages.append({**told, "name": None, **rest})
    return _CHATS.page(messages, call, "asc")

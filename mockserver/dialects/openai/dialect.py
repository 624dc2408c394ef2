"""OpenAI's API, the reference of which the other vendors' are variants (vendor facts: `openai.md`)."""

from collections.abc import Callable
from functools import partial
from typing import Any

from mockserver.core.dialects import BEARER, Clients, Dialect, Operation, RequestScope, Schemas, on_demand
from mockserver.core.http import Call
from mockserver.dialects.contracts import components
from mockserver.dialects.openai.azure import DEPLOYMENTS
from mockserver.dialects.openai.errors import ERRORS, QUOTAS, every_answer, stream_error, unrouted
from mockserver.dialects.openai.models import (
    MODELS,
    PRESETS,
    PROMPT_CACHING,
    delete_model,
    get_model,
    list_models,
    model_of,
    preset_of,
)
from mockserver.dialects.openai.read import api_key, is_azure

CONTRACT = components(__package__, "openai")
_HERE = __package__

CHAT_COMPLETIONS = Operation(
    "chat_completions",
    "POST",
    ("/v1/chat/completions", DEPLOYMENTS + "/chat/completions"),
    Schemas("ChatCompletionRequest", "ChatCompletion", "ChatCompletionChunk"),
    read=on_demand(f"{_HERE}.chats:read_chat"),
    write=on_demand(f"{_HERE}.chats:write_chat"),
    supports_tools=True,
    summary="Answer a conversation",
)
COMPLETIONS = Operation(
    "completions",
    "POST",
    ("/v1/completions", DEPLOYMENTS + "/completions"),
    Schemas("CompletionRequest", "Completion", "Completion"),
    read=on_demand(f"{_HERE}.completions:read_completion"),
    write=on_demand(f"{_HERE}.completions:write_completion"),
    summary="Continue a text",
)
EMBEDDINGS = Operation(
    "embeddings",
    "POST",
    ("/v1/embeddings", DEPLOYMENTS + "/embeddings"),
    Schemas("EmbeddingRequest", "EmbeddingList"),
    read=on_demand(f"{_HERE}.embeddings:read_embedding"),
    write=on_demand(f"{_HERE}.embeddings:write_embedding"),
    generates=False,
    measure="embedding",
    summary="Embed texts",
)
LIST_MODELS = Operation(
    "models", "GET", ("/v1/models",), Schemas(response="ModelList"), handler=list_models, summary="The models on offer"
)
GET_MODEL = Operation(
    "model", "GET", ("/v1/models/{id}",), Schemas(response="Model"), handler=get_model, summary="One model"
)


def _stored(module: str, name: str, method: str, path: str, summary: str, *schemas: str | None) -> Operation:
    """An operation on what is stored, whose handler is the function of its name in a module."""
    return Operation(
        name,
        method,
        (f"/v1/{path}",),
        Schemas(*schemas),
        handler=on_demand(f"{module}:{name}"),
        summary=summary,
        remembers=True,
    )


def on_responses(module: str, event: str | None = None) -> tuple[Operation, ...]:
    """The operations on stored responses, whose handlers are in a module; `event` is the schema of the events of one
    that is streamed."""
    stored = partial(_stored, module)
    # A path with more after an id comes first.
    return (
        stored("list_input_items", "GET", "responses/{id}/input_items", "The input of a stored response"),
        stored("cancel_response", "POST", "responses/{id}/cancel", "Cancel a response", None, "Response"),
        stored("get_response", "GET", "responses/{id}", "A stored response", None, "Response", event),
        stored("delete_response", "DELETE", "responses/{id}", "Delete a stored response"),
    )


_CONTINUES = (b'"previous_response_id"', b'"item_reference"', b'"conversation"')
_ITEM, _METADATA = "conversations/{id}/items/{item_id}", "MetadataRequest"
_own = partial(_stored, f"{_HERE}.stored")
RESPONSES: tuple[Operation, ...] = (
    Operation(
        "responses",
        "POST",
        ("/v1/responses",),
        Schemas("ResponseRequest", "Response", "ResponseEvent"),
        read=on_demand(f"{_HERE}.responses.requests:read_response"),
        write=on_demand(f"{_HERE}.responses.answers:write_response"),
        supports_tools=True,
        summary="Answer what was said, called and given back",
        stream_error=on_demand(f"{_HERE}.responses.answers:fail_response"),
        history_markers=(*_CONTINUES, b'"background"'),
    ),
    Operation(
        "compact_response",
        "POST",
        ("/v1/responses/compact",),
        Schemas("ResponseRequest", "CompactedResponse"),
        read=on_demand(f"{_HERE}.responses.requests:read_compaction"),
        write=on_demand(f"{_HERE}.responses.answers:write_compaction"),
        summary="Summarize a conversation as an item that stands for it",
        history_markers=_CONTINUES,
    ),
    Operation(
        "input_tokens",
        "POST",
        ("/v1/responses/input_tokens",),
        Schemas("ResponseRequest"),
        handler=on_demand(f"{_HERE}.responses.requests:count_tokens"),
        summary="Count the tokens of an input",
    ),
    *on_responses(f"{_HERE}.stored", "ResponseEvent"),
    _own("get_item", "GET", _ITEM, "An item of a conversation"),
    _own("delete_item", "DELETE", _ITEM, "Remove an item from a conversation", None, "Conversation"),
    _own("list_items", "GET", "conversations/{id}/items", "The items of a conversation", None, "ItemList"),
    _own("create_items", "POST", "conversations/{id}/items", "Add to a conversation", "ItemsRequest", "ItemList"),
    _own("create_conversation", "POST", "conversations", "Begin a conversation", "ConversationRequest", "Conversation"),
    _own("get_conversation", "GET", "conversations/{id}", "A conversation", None, "Conversation"),
    _own("update_conversation", "POST", "conversations/{id}", "Change its metadata", _METADATA, "Conversation"),
    _own("delete_conversation", "DELETE", "conversations/{id}", "Delete a conversation", None, "Deleted"),
    _own("list_messages", "GET", "chat/completions/{id}/messages", "The messages of a stored chat"),
    _own("list_chats", "GET", "chat/completions", "The stored chats"),
    _own("get_chat", "GET", "chat/completions/{id}", "A stored chat", None, "StoredChat"),
    _own("update_chat", "POST", "chat/completions/{id}", "Change its metadata", _METADATA, "StoredChat"),
    _own("delete_chat", "DELETE", "chat/completions/{id}", "Delete a stored chat", None, "Deleted"),
)


def _also_unversioned(operation: Operation) -> Operation:
    """The operation also at the path without `/v1`, for calls that come Azure's way; chats have deployments."""
    first = operation.paths[0]
    if first.startswith("/v1/chat"):
        return operation
    answer: Callable[[Call, RequestScope], Any] = operation.handler or operation.read

    def answer_either(call: Call, scope: RequestScope) -> Any:
        if call.path.startswith("/v1/") or is_azure(call):
            return answer(call, scope)
        return unrouted(call._replace(path=call.path.format(**scope.variables)), scope, ())

    operation = operation._replace(paths=(first, first.removeprefix("/v1")))
    if operation.handler is None:
        return operation._replace(read=answer_either)
    return operation._replace(handler=answer_either)


OPENAI = Dialect(
    name="openai",
    title="OpenAI API",
    hosts=("api.openai.com", *(f"{region}.api.openai.com" for region in ("us", "eu", "ae", "au", "in", "jp"))),
    operations=(
        CHAT_COMPLETIONS,
        COMPLETIONS,
        *map(_also_unversioned, RESPONSES),
        EMBEDDINGS,
        Operation(
            "moderations",
            "POST",
            ("/v1/moderations",),
            Schemas("ModerationRequest", "Moderation"),
            handler=on_demand(f"{_HERE}.moderations:moderate"),
            summary="Flag what is harmful in texts",
        ),
        _also_unversioned(LIST_MODELS),
        GET_MODEL,
        Operation(
            "delete_model", "DELETE", ("/v1/models/{id}",), handler=delete_model, summary="Delete a fine-tuned model"
        ),
    ),
    history=on_demand(f"{_HERE}.stored:make_store"),
    # Both editions are today's.
    errors={"documented": ERRORS, "observed": ERRORS},
    contract={"documented": CONTRACT, "observed": CONTRACT},
    models=MODELS,
    unlisted=model_of,
    headers=every_answer,
    credentials=api_key,
    security={**BEARER, "azure": {"type": "apiKey", "in": "header", "name": "api-key"}},
    unrouted=unrouted,
    stream_error=stream_error,
    quotas=QUOTAS,
    presets=PRESETS,
    realistic="openai",
    preset_of=preset_of,
    prompt_caching=PROMPT_CACHING,
    # Its client's variables lead to the dialect of the test, or to the bare paths. Azure's paths begin with `/openai`;
    # LiteLLM has names of its own for its variables. With keys of both, the openai client has to be told which to use
    # at its module's level. Whatever the base URL is, the Agents SDK would send its traces to the vendor.
    clients=Clients(
        native="/v1",
        keys=("OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_API_KEY"),
        roots=("AZURE_OPENAI_ENDPOINT", "AZURE_API_BASE"),
        more={
            "OPENAI_API_TYPE": "openai",
            **dict.fromkeys(("OPENAI_API_VERSION", "AZURE_API_VERSION"), "2024-10-21"),
            "OPENAI_AGENTS_DISABLE_TRACING": "true",
        },
    ),
)

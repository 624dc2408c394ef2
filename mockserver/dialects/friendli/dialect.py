"""FriendliAI: texts, chats and responses on the wire of its first client and on today's (vendor note B)."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from mockserver.core.dialects import FINISH_REASON, Clients, Dialect, Operation, Schemas, on_demand
from mockserver.dialects.contracts import editions
from mockserver.dialects.friendli.errors import ERRORS, stream_error
from mockserver.dialects.friendli.models import MODELS, PRESETS, PROMPT_CACHING, list_models
from mockserver.dialects.friendli.read import QUOTAS, Place, container, dedicated, every_answer, serverless
from mockserver.dialects.openai.read import bearer
from mockserver.dialects.openai.replies import body_reply

# The hosted endpoints: the name of each, how it finds a model, and whose model that is.
_HOSTED = (
    ("serverless", serverless, "by a model of the catalogue"),
    ("dedicated", dedicated, "by an endpoint of one's own"),
)


def _everywhere(make: Callable[[Place], Operation], what: str, here: str) -> tuple[Operation, ...]:
    """An operation of a container and of the hosted endpoints; the summary says `what` it does, and whether `here`."""
    hosted = (_hosted(make(place), name, f"{what} {whose}") for name, place, whose in _HOSTED)
    return make(container)._replace(summary=f"{what}{here}"), *hosted


def _hosted(operation: Operation, name: str, summary: str) -> Operation:
    """The same at a hosted endpoint, which wants a model's name, and never spoke the wire of the first client."""
    return operation._replace(
        name=f"{name}_{operation.name}",
        paths=tuple(f"/{name}{path}" for path in operation.paths),
        schemas=operation.schemas._replace(request=f"Hosted{operation.schemas.request}"),
        edition="observed",
        summary=summary,
    )


def _completions(place: Place) -> Operation:
    schemas = Schemas("CompletionRequest", "CompletionResponse", "CompletionChunk")
    read, write = _code("completions:read_completion", place), _code("completions:write_completion")
    return Operation("completions", "POST", ("/v1/completions",), schemas, read, write)


def _chats(place: Place) -> Operation:
    schemas = Schemas("ChatCompletionRequest", "ChatCompletionResponse", "ChatCompletionChunk")
    read, write = _code("chats:read_chat", place), _code("chats:write_chat")
    operation = Operation(
        "chat_completions", "POST", ("/v1/chat/completions",), schemas, read, write, supports_tools=True
    )
    return operation._replace(lacks={"documented": ("reasoning",)})


def _responses(place: Place) -> Operation:
    schemas = Schemas("ResponsesRequest", "Response", "ResponsesEvent")
    read, write = _code("responses:read_response", place), _code("responses:write_response")
    operation = Operation("responses", "POST", ("/v1/responses",), schemas, read, write, supports_tools=True)
    # The Responses API came with the second wire, at a container too.
    return operation._replace(edition="observed", stream_error=_code("responses:fail"))


def _messages(place: Place) -> Operation:
    schemas = Schemas("MessagesRequest", "Messages", "MessagesEvent")
    read, write = _code("messages:read_message", place), _code("messages:write_message")
    operation = Operation("messages", "POST", ("/v1/messages",), schemas, read, write, supports_tools=True)
    return operation._replace(edition="observed", stream_error=_code("messages:fail"))


def _handled(name: str, path: str, schema: str) -> Callable[[Place], Operation]:
    """An operation without a model, which the function of its name handles."""
    schemas = Schemas(f"{schema}Request", f"{schema}Response")
    return lambda place: Operation(name, "POST", (path,), schemas, handler=_code(f"completions:{name}", place))


_tokenize = _handled("tokenize", "/v1/tokenize", "Tokenization")
_detokenize = _handled("detokenize", "/v1/detokenize", "Detokenization")
_render = _handled("render_chat", "/v1/chat/render", "ChatRender")


def _embeddings(place: Place) -> Operation:
    schemas = Schemas("EmbeddingRequest", "EmbeddingResponse")
    read, write = _code("completions:read_embedding", place), _code("completions:write_embedding")
    operation = Operation("embeddings", "POST", ("/v1/embeddings",), schemas, read, write, generates=False)
    return operation._replace(measure="embedding")


def _code(name: str, *place: Place) -> Callable[..., Any]:
    """A function of this package, loaded on demand, for the requests to a place if one is given."""
    return partial(on_demand(f"{__package__}.{name}"), *place)


FRIENDLI = Dialect(
    name="friendli",
    title="FriendliAI API",
    hosts=("api.friendli.ai", "inference.friendli.ai"),
    operations=(
        *_everywhere(_completions, "Continue a text", ": the page's endpoint, or a container of today"),
        *_everywhere(_chats, "Answer a conversation", ": the first client's endpoint, or a container of today"),
        *_everywhere(_tokenize, "The token ids of a text,", " in a container"),
        *_everywhere(_detokenize, "The text of token ids,", " in a container"),
        *_everywhere(_responses, "Answer what was said, called and given back", ": a container of today"),
        *(_hosted(_render(place), name, f"The text of a conversation, {whose}") for name, place, whose in _HOSTED),
        _hosted(_embeddings(dedicated), "dedicated", "Embed texts by an endpoint of one's own"),
        *_everywhere(_messages, "Answer a conversation in Anthropic's form", ": a container of today"),
        Operation(
            "models",
            "GET",
            ("/serverless/v1/models",),
            Schemas(response="ModelList"),
            handler=list_models,
            edition="observed",
            secured=False,
            summary="The models on offer",
        ),
        Operation(
            "health",
            "GET",
            ("/health",),
            Schemas(response="Health"),
            handler=lambda call, scope: body_reply({}),
            secured=False,
            summary="Whether a container is well",
        ),
    ),
    errors=ERRORS,
    stream_error=stream_error,
    contract=editions(__package__),
    models=MODELS,
    headers=every_answer,
    credentials=bearer,
    presets=PRESETS,
    realistic="friendli",
    prompt_caching=PROMPT_CACHING,
    # LiteLLM reads the base URL, and the first of the keys that it finds.
    clients=Clients(keys=("FRIENDLI_TOKEN", "FRIENDLIAI_API_KEY"), bases={"FRIENDLI_API_BASE": "/serverless/v1"}),
    quotas=QUOTAS,
    # Its models have the names that Hugging Face gives them, so others serve them too.
    # "A personal access token (e.g. flp_XXX)".
    marks=(("x-friendli-team", ""), ("authorization", "Bearer flp_")),
    # On the page's wire the event with the whole answer ends every choice; today's events end choices as OpenAI's do.
    finish_keys=("finish_reason", "stop_reason"),
    finishes=re.compile(rb'"event"\s*:\s*"complete"|"delta":\{"stop_reason"\s*:\s*"|' + FINISH_REASON.pattern),
    finish_reasons=("stop", "length", "tool_calls"),
)

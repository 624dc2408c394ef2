"""FriendliAI: texts, chats and responses on the wire of its first client and on today's (vendor note B)."""

import re
from collections.abc import Callable
from functools import partial

from mockserver.core.calls import Call
from mockserver.core.dialects import FINISH_REASON, Broken, Clients, Dialect, Operation, Parts, Schemas, Site, on_demand
from mockserver.core.failures import Rejection
from mockserver.core.timeline import Reply
from mockserver.dialects.friendli.endpoints import Place, container, dedicated, serverless
from mockserver.dialects.friendli.errors import ERRORS, stream_error
from mockserver.dialects.friendli.headers import every_answer
from mockserver.dialects.friendli.latency import PRESETS, PROMPT_CACHING
from mockserver.dialects.friendli.models import MODELS, health, list_models
from mockserver.dialects.friendli.quotas import QUOTAS
from mockserver.dialects.friendli.schemas import CONTRACT
from mockserver.dialects.openai.fields import bearer

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
    @on_demand
    def parts() -> Parts:
        from mockserver.dialects.friendli.read import read
        from mockserver.dialects.friendli.write import write

        return Parts(partial(read, place), write)

    schemas = Schemas("CompletionRequest", "CompletionResponse", "CompletionChunk")
    return Operation("completions", "POST", ("/v1/completions",), schemas, parts.read, parts.write)


def _chats(place: Place) -> Operation:
    @on_demand
    def parts() -> Parts:
        from mockserver.dialects.friendli.chats import read_chat
        from mockserver.dialects.friendli.write import write_chat

        return Parts(partial(read_chat, place), write_chat)

    schemas = Schemas("ChatCompletionRequest", "ChatCompletionResponse", "ChatCompletionChunk")
    paths = ("/v1/chat/completions",)
    operation = Operation("chat_completions", "POST", paths, schemas, parts.read, parts.write, calls_tools=True)
    return operation._replace(lacks={"documented": ("reasoning",)})


def _responses(place: Place) -> Operation:
    @on_demand
    def parts() -> Parts:
        from mockserver.dialects.friendli.response_answers import write_response
        from mockserver.dialects.friendli.responses import read_response

        return Parts(partial(read_response, place), write_response)

    def fail(broken: Broken) -> bytes:
        from mockserver.dialects.friendli.response_answers import fail

        return fail(broken)

    schemas = Schemas("ResponsesRequest", "Response", "ResponsesEvent")
    operation = Operation("responses", "POST", ("/v1/responses",), schemas, parts.read, parts.write, calls_tools=True)
    # The Responses API came with the second wire, at a container too.
    return operation._replace(edition="observed", stream_error=fail)


def _tokenize(place: Place) -> Operation:
    def answer(call: Call, site: Site) -> Reply | Rejection:
        from mockserver.dialects.friendli.tokenization import tokenize

        return tokenize(call, site, place)

    schemas = Schemas("TokenizationRequest", "TokenizationResponse")
    return Operation("tokenize", "POST", ("/v1/tokenize",), schemas, answer=answer)


def _detokenize(place: Place) -> Operation:
    def answer(call: Call, site: Site) -> Reply | Rejection:
        from mockserver.dialects.friendli.tokenization import detokenize

        return detokenize(call, site, place)

    schemas = Schemas("DetokenizationRequest", "DetokenizationResponse")
    return Operation("detokenize", "POST", ("/v1/detokenize",), schemas, answer=answer)


LIST_MODELS = Operation(
    "models",
    "GET",
    ("/serverless/v1/models",),
    Schemas(response="ModelList"),
    answer=list_models,
    edition="observed",
    secured=False,
    summary="The models on offer",
)
HEALTH = Operation(
    "health",
    "GET",
    ("/health",),
    Schemas(response="Health"),
    answer=health,
    secured=False,
    summary="Whether a container is well",
)

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
        LIST_MODELS,
        HEALTH,
    ),
    errors=ERRORS,
    stream_error=stream_error,
    contract=CONTRACT,
    models=MODELS,
    headers=every_answer,
    credentials=bearer,
    presets=PRESETS,
    realistic="friendli",
    prompt_caching=PROMPT_CACHING,
    # LiteLLM reads the base URL, and the first of the keys that it finds.
    clients=Clients(keys=("FRIENDLI_TOKEN", "FRIENDLIAI_API_KEY"), bases={"FRIENDLI_API_BASE": "/serverless/v1"}),
    quotas=QUOTAS,
    bare=("/v1/tokenize",),
    # On the page's wire the event with the whole answer ends every choice; today's events end choices as OpenAI's do.
    finishes=re.compile(rb'"event"\s*:\s*"complete"|' + FINISH_REASON.pattern),
    finish_reasons=("stop", "length", "tool_calls"),
)

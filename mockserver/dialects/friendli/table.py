"""FriendliAI: texts, chats and responses on the wire of its first client and on today's (vendor note B)."""

import re

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
from mockserver.dialects.openai_style.fields import bearer


def _completions(name: str, path: str, place: Place, summary: str) -> Operation:
    """The completions of a place."""

    @on_demand
    def parts() -> Parts:
        from mockserver.dialects.friendli.read import reader
        from mockserver.dialects.friendli.write import write

        return Parts(reader(place), write)

    schemas = Schemas("CompletionRequest", "CompletionResponse", "CompletionChunk")
    return Operation(name, "POST", (path,), schemas, parts.read, parts.write, summary=summary)


def _chats(name: str, path: str, place: Place, summary: str) -> Operation:
    """The chats of a place."""

    @on_demand
    def parts() -> Parts:
        from mockserver.dialects.friendli.chat_answers import write_chat
        from mockserver.dialects.friendli.chats import chat_reader

        return Parts(chat_reader(place), write_chat)

    schemas = Schemas("ChatCompletionRequest", "ChatCompletionResponse", "ChatCompletionChunk")
    return Operation(name, "POST", (path,), schemas, parts.read, parts.write, calls_tools=True, summary=summary)


def _responses(name: str, path: str, place: Place, summary: str) -> Operation:
    """The responses of a place, which only today's wire has."""

    @on_demand
    def parts() -> Parts:
        from mockserver.dialects.friendli.response_answers import write_response
        from mockserver.dialects.friendli.responses import responses_reader

        return Parts(responses_reader(place), write_response)

    def fail(broken: Broken) -> bytes:
        from mockserver.dialects.friendli.response_answers import fail

        return fail(broken)

    schemas = Schemas("ResponsesRequest", "Response", "ResponsesEvent")
    operation = Operation(name, "POST", (path,), schemas, parts.read, parts.write, calls_tools=True, summary=summary)
    return operation._replace(edition="observed", stream_error=fail)


def _tokenize(name: str, path: str, place: Place, summary: str) -> Operation:
    """The token ids of a text, by a place."""

    def answer(call: Call, site: Site) -> Reply | Rejection:
        from mockserver.dialects.friendli.tokenization import tokenize

        return tokenize(call, site, place)

    schemas = Schemas("TokenizationRequest", "TokenizationResponse")
    return Operation(name, "POST", (path,), schemas, answer=answer, summary=summary)


def _detokenize(name: str, path: str, place: Place, summary: str) -> Operation:
    """The text of token ids, by a place."""

    def answer(call: Call, site: Site) -> Reply | Rejection:
        from mockserver.dialects.friendli.tokenization import detokenize

        return detokenize(call, site, place)

    schemas = Schemas("DetokenizationRequest", "DetokenizationResponse")
    return Operation(name, "POST", (path,), schemas, answer=answer, summary=summary)


def _hosted(operation: Operation) -> Operation:
    """The same at a hosted endpoint, which wants a model's name, and never spoke the wire of the first client."""
    schemas = operation.schemas._replace(request=f"Hosted{operation.schemas.request}")
    return operation._replace(schemas=schemas, edition="observed")


COMPLETIONS = _completions(
    "completions", "/v1/completions", container, "Continue a text: the page's endpoint, or a container of today"
)
SERVERLESS_COMPLETIONS = _hosted(
    _completions(
        "serverless_completions",
        "/serverless/v1/completions",
        serverless,
        "Continue a text by a model of the catalogue",
    )
)
DEDICATED_COMPLETIONS = _hosted(
    _completions(
        "dedicated_completions", "/dedicated/v1/completions", dedicated, "Continue a text by an endpoint of one's own"
    )
)
CHAT_COMPLETIONS = _chats(
    "chat_completions",
    "/v1/chat/completions",
    container,
    "Answer a conversation: the first client's endpoint, or a container of today",
)
SERVERLESS_CHAT_COMPLETIONS = _hosted(
    _chats(
        "serverless_chat_completions",
        "/serverless/v1/chat/completions",
        serverless,
        "Answer a conversation by a model of the catalogue",
    )
)
DEDICATED_CHAT_COMPLETIONS = _hosted(
    _chats(
        "dedicated_chat_completions",
        "/dedicated/v1/chat/completions",
        dedicated,
        "Answer a conversation by an endpoint of one's own",
    )
)
TOKENIZE = _tokenize("tokenize", "/v1/tokenize", container, "The token ids of a text, in a container")
SERVERLESS_TOKENIZE = _hosted(
    _tokenize(
        "serverless_tokenize",
        "/serverless/v1/tokenize",
        serverless,
        "The token ids of a text, by a model of the catalogue",
    )
)
DEDICATED_TOKENIZE = _hosted(
    _tokenize(
        "dedicated_tokenize",
        "/dedicated/v1/tokenize",
        dedicated,
        "The token ids of a text, by an endpoint of one's own",
    )
)
DETOKENIZE = _detokenize("detokenize", "/v1/detokenize", container, "The text of token ids, in a container")
SERVERLESS_DETOKENIZE = _hosted(
    _detokenize(
        "serverless_detokenize",
        "/serverless/v1/detokenize",
        serverless,
        "The text of token ids, by a model of the catalogue",
    )
)
DEDICATED_DETOKENIZE = _hosted(
    _detokenize(
        "dedicated_detokenize",
        "/dedicated/v1/detokenize",
        dedicated,
        "The text of token ids, by an endpoint of one's own",
    )
)
# The Responses API came with the second wire, at a container too.
RESPONSES = _responses(
    "responses", "/v1/responses", container, "Answer what was said, called and given back: a container of today"
)
SERVERLESS_RESPONSES = _hosted(
    _responses(
        "serverless_responses",
        "/serverless/v1/responses",
        serverless,
        "Answer what was said, called and given back by a model of the catalogue",
    )
)
DEDICATED_RESPONSES = _hosted(
    _responses(
        "dedicated_responses",
        "/dedicated/v1/responses",
        dedicated,
        "Answer what was said, called and given back by an endpoint of one's own",
    )
)
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
        COMPLETIONS,
        SERVERLESS_COMPLETIONS,
        DEDICATED_COMPLETIONS,
        CHAT_COMPLETIONS,
        SERVERLESS_CHAT_COMPLETIONS,
        DEDICATED_CHAT_COMPLETIONS,
        TOKENIZE,
        SERVERLESS_TOKENIZE,
        DEDICATED_TOKENIZE,
        DETOKENIZE,
        SERVERLESS_DETOKENIZE,
        DEDICATED_DETOKENIZE,
        RESPONSES,
        SERVERLESS_RESPONSES,
        DEDICATED_RESPONSES,
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
    clients=Clients(keys=("FRIENDLI_TOKEN",)),
    quotas=QUOTAS,
    bare=("/v1/tokenize",),
    # On the page's wire the event with the whole answer ends every choice; today's events end choices as OpenAI's do.
    finishes=re.compile(rb'"event"\s*:\s*"complete"|' + FINISH_REASON.pattern),
    finish_reasons=("stop", "length", "tool_calls"),
)

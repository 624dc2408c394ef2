"""FriendliAI: texts, chats, responses, on the wire of its first client and on today's, and the rest (vendor note B)."""

import re

from mockserver.core.dialects import FINISH_REASON, Broken, Clients, Dialect, Operation, Parts, Schemas, on_demand
from mockserver.dialects.friendli.endpoints import Addressed, container, dedicated, serverless
from mockserver.dialects.friendli.errors import ERRORS
from mockserver.dialects.friendli.headers import every_answer
from mockserver.dialects.friendli.latency import PRESETS
from mockserver.dialects.friendli.models import MODELS, health, list_models
from mockserver.dialects.friendli.quotas import QUOTAS
from mockserver.dialects.friendli.schemas import CONTRACT
from mockserver.dialects.openai_style.fields import bearer


def _texts(place: Addressed) -> Parts:
    """The completions of a place."""

    def load() -> Parts:
        from mockserver.dialects.friendli.read import reader
        from mockserver.dialects.friendli.write import write

        return Parts(reader(place), write)

    return on_demand(load)


def _chats(place: Addressed) -> Parts:
    """The chats of a place."""

    def load() -> Parts:
        from mockserver.dialects.friendli.chat_answers import write_chat
        from mockserver.dialects.friendli.chats import chat_reader

        return Parts(chat_reader(place), write_chat)

    return on_demand(load)


def _responses(place: Addressed) -> Parts:
    """The responses of a place."""

    def load() -> Parts:
        from mockserver.dialects.friendli.response_answers import write_response
        from mockserver.dialects.friendli.responses import responses_reader

        return Parts(responses_reader(place), write_response)

    return on_demand(load)


def _fail(broken: Broken) -> bytes:
    from mockserver.dialects.friendli.response_answers import fail

    return fail(broken)


_CONTAINER, _SERVERLESS, _DEDICATED = map(_texts, (container, serverless, dedicated))
_CONTAINER_CHATS, _SERVERLESS_CHATS, _DEDICATED_CHATS = map(_chats, (container, serverless, dedicated))
_CONTAINER_RESPONSES, _SERVERLESS_RESPONSES, _DEDICATED_RESPONSES = map(_responses, (container, serverless, dedicated))

COMPLETIONS = Operation(
    "completions",
    "POST",
    ("/v1/completions",),
    Schemas("CompletionRequest", "CompletionResponse", "CompletionChunk"),
    read=_CONTAINER.read,
    write=_CONTAINER.write,
    summary="Continue a text: the page's endpoint, or a container of today",
)
# The hosted endpoints came with the second wire, and never spoke the first.
SERVERLESS_COMPLETIONS = Operation(
    "serverless_completions",
    "POST",
    ("/serverless/v1/completions",),
    Schemas("HostedCompletionRequest", "CompletionResponse", "CompletionChunk"),
    read=_SERVERLESS.read,
    write=_SERVERLESS.write,
    edition="observed",
    summary="Continue a text by a model of the catalogue",
)
DEDICATED_COMPLETIONS = Operation(
    "dedicated_completions",
    "POST",
    ("/dedicated/v1/completions",),
    Schemas("HostedCompletionRequest", "CompletionResponse", "CompletionChunk"),
    read=_DEDICATED.read,
    write=_DEDICATED.write,
    edition="observed",
    summary="Continue a text by an endpoint of one's own",
)
CHAT_COMPLETIONS = Operation(
    "chat_completions",
    "POST",
    ("/v1/chat/completions",),
    Schemas("ChatCompletionRequest", "ChatCompletionResponse", "ChatCompletionChunk"),
    read=_CONTAINER_CHATS.read,
    write=_CONTAINER_CHATS.write,
    calls_tools=True,
    summary="Answer a conversation: the first client's endpoint, or a container of today",
)
SERVERLESS_CHAT_COMPLETIONS = Operation(
    "serverless_chat_completions",
    "POST",
    ("/serverless/v1/chat/completions",),
    Schemas("HostedChatCompletionRequest", "ChatCompletionResponse", "ChatCompletionChunk"),
    read=_SERVERLESS_CHATS.read,
    write=_SERVERLESS_CHATS.write,
    edition="observed",
    calls_tools=True,
    summary="Answer a conversation by a model of the catalogue",
)
DEDICATED_CHAT_COMPLETIONS = Operation(
    "dedicated_chat_completions",
    "POST",
    ("/dedicated/v1/chat/completions",),
    Schemas("HostedChatCompletionRequest", "ChatCompletionResponse", "ChatCompletionChunk"),
    read=_DEDICATED_CHATS.read,
    write=_DEDICATED_CHATS.write,
    edition="observed",
    calls_tools=True,
    summary="Answer a conversation by an endpoint of one's own",
)
# The Responses API came with the second wire, at a container too.
RESPONSES = Operation(
    "responses",
    "POST",
    ("/v1/responses",),
    Schemas("ResponsesRequest", "Response", "ResponsesEvent"),
    read=_CONTAINER_RESPONSES.read,
    write=_CONTAINER_RESPONSES.write,
    edition="observed",
    calls_tools=True,
    summary="Answer what was said, called and given back: a container of today",
    stream_error=_fail,
)
SERVERLESS_RESPONSES = Operation(
    "serverless_responses",
    "POST",
    ("/serverless/v1/responses",),
    Schemas("HostedResponsesRequest", "Response", "ResponsesEvent"),
    read=_SERVERLESS_RESPONSES.read,
    write=_SERVERLESS_RESPONSES.write,
    edition="observed",
    calls_tools=True,
    summary="Answer what was said, called and given back by a model of the catalogue",
    stream_error=_fail,
)
DEDICATED_RESPONSES = Operation(
    "dedicated_responses",
    "POST",
    ("/dedicated/v1/responses",),
    Schemas("HostedResponsesRequest", "Response", "ResponsesEvent"),
    read=_DEDICATED_RESPONSES.read,
    write=_DEDICATED_RESPONSES.write,
    edition="observed",
    calls_tools=True,
    summary="Answer what was said, called and given back by an endpoint of one's own",
    stream_error=_fail,
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
        RESPONSES,
        SERVERLESS_RESPONSES,
        DEDICATED_RESPONSES,
        LIST_MODELS,
        HEALTH,
    ),
    errors=ERRORS,
    contract=CONTRACT,
    models=MODELS,
    headers=every_answer,
    credentials=bearer,
    presets=PRESETS,
    realistic="friendli",
    clients=Clients(keys=("FRIENDLI_TOKEN",)),
    quotas=QUOTAS,
    # On the page's wire the event that has it all ends every choice at once; today's says it as OpenAI does.
    finishes=re.compile(rb'"event"\s*:\s*"complete"|' + FINISH_REASON.pattern),
    finish_reasons=("stop", "length", "tool_calls"),
)

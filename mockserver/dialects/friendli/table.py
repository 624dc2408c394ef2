"""FriendliAI: texts and chats on the wire of its first client and on today's, and all around them (vendor note B)."""

import re

from mockserver.core.dialects import FINISH_REASON, Clients, Dialect, Operation, Schemas
from mockserver.dialects.friendli.chat_answers import write_chat
from mockserver.dialects.friendli.chats import read_container_chat, read_dedicated_chat, read_serverless_chat
from mockserver.dialects.friendli.errors import ERRORS
from mockserver.dialects.friendli.headers import every_answer
from mockserver.dialects.friendli.latency import PRESETS
from mockserver.dialects.friendli.legacy import COMPLETE
from mockserver.dialects.friendli.models import MODELS, health, list_models
from mockserver.dialects.friendli.quotas import QUOTAS
from mockserver.dialects.friendli.read import read_container, read_dedicated, read_serverless
from mockserver.dialects.friendli.schemas import CONTRACT
from mockserver.dialects.friendli.write import write
from mockserver.dialects.openai_style.fields import bearer

COMPLETIONS = Operation(
    "completions",
    "POST",
    ("/v1/completions",),
    Schemas("CompletionRequest", "CompletionResponse", "CompletionChunk"),
    read=read_container,
    write=write,
    summary="Continue a text: the page's endpoint, or a container of today",
)
# The hosted endpoints came with the second wire, and never spoke the first.
SERVERLESS_COMPLETIONS = Operation(
    "serverless_completions",
    "POST",
    ("/serverless/v1/completions",),
    Schemas("HostedCompletionRequest", "CompletionResponse", "CompletionChunk"),
    read=read_serverless,
    write=write,
    edition="observed",
    summary="Continue a text by a model of the catalogue",
)
DEDICATED_COMPLETIONS = Operation(
    "dedicated_completions",
    "POST",
    ("/dedicated/v1/completions",),
    Schemas("HostedCompletionRequest", "CompletionResponse", "CompletionChunk"),
    read=read_dedicated,
    write=write,
    edition="observed",
    summary="Continue a text by an endpoint of one's own",
)
CHAT_COMPLETIONS = Operation(
    "chat_completions",
    "POST",
    ("/v1/chat/completions",),
    Schemas("ChatCompletionRequest", "ChatCompletionResponse", "ChatCompletionChunk"),
    read=read_container_chat,
    write=write_chat,
    calls_tools=True,
    summary="Answer a conversation: the first client's endpoint, or a container of today",
)
SERVERLESS_CHAT_COMPLETIONS = Operation(
    "serverless_chat_completions",
    "POST",
    ("/serverless/v1/chat/completions",),
    Schemas("HostedChatCompletionRequest", "ChatCompletionResponse", "ChatCompletionChunk"),
    read=read_serverless_chat,
    write=write_chat,
    edition="observed",
    calls_tools=True,
    summary="Answer a conversation by a model of the catalogue",
)
DEDICATED_CHAT_COMPLETIONS = Operation(
    "dedicated_chat_completions",
    "POST",
    ("/dedicated/v1/chat/completions",),
    Schemas("HostedChatCompletionRequest", "ChatCompletionResponse", "ChatCompletionChunk"),
    read=read_dedicated_chat,
    write=write_chat,
    edition="observed",
    calls_tools=True,
    summary="Answer a conversation by an endpoint of one's own",
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
    # The page's wire says it in its own way, today's as OpenAI does.
    finishes=re.compile(COMPLETE.pattern + b"|" + FINISH_REASON.pattern),
    finish_reasons=("stop", "length", "tool_calls"),
)

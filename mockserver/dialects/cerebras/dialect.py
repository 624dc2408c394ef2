"""Cerebras Inference: completions, chats, and what every client requests besides (vendor note, part A)."""

import re

from mockserver.core.dialects import Clients, Dialect, Model, Operation, Schemas, on_demand
from mockserver.dialects.cerebras.errors import ERRORS, QUOTAS, every_answer, stream_error
from mockserver.dialects.cerebras.models import (
    PRESETS,
    PROMPT_CACHING,
    get_model,
    get_public_model,
    list_models,
    list_public_models,
    preset_of,
)
from mockserver.dialects.contracts import editions
from mockserver.dialects.openai.read import bearer
from mockserver.dialects.openai.replies import body_reply

COMPLETIONS = Operation(
    "completions",
    "POST",
    ("/v1/completions",),
    Schemas("CompletionRequest", "CompletionResponse", "CompletionChunk"),
    read=on_demand("mockserver.dialects.cerebras.read:read_completion"),
    write=on_demand("mockserver.dialects.cerebras.write:write_completion"),
    summary="Continue a text",
)
CHAT_COMPLETIONS = Operation(
    "chat_completions",
    "POST",
    ("/v1/chat/completions",),
    Schemas("ChatCompletionRequest", "ChatCompletionResponse", "ChatCompletionChunk"),
    read=on_demand("mockserver.dialects.cerebras.read:read_chat"),
    write=on_demand("mockserver.dialects.cerebras.write:write_chat"),
    supports_tools=True,
    summary="Answer a conversation",
)
LIST_MODELS = Operation(
    "models", "GET", ("/v1/models",), Schemas(response="ModelList"), handler=list_models, summary="The models on offer"
)
GET_MODEL = Operation(
    "model", "GET", ("/v1/models/{id}",), Schemas(response="Model"), handler=get_model, summary="One model"
)
LIST_PUBLIC_MODELS = Operation(
    "public_models",
    "GET",
    ("/public/v1/models",),
    Schemas(response="PublicModelList"),
    handler=list_public_models,
    secured=False,
    summary="The models on offer, with prices and limits",
)
GET_PUBLIC_MODEL = Operation(
    "public_model",
    "GET",
    ("/public/v1/models/{id}",),
    Schemas(response="PublicModel"),
    handler=get_public_model,
    secured=False,
    summary="One model, with its prices and limits",
)
# Every SDK constructor calls this, waits for it, and retries a 5xx.
TCP_WARMING = Operation(
    "tcp_warming",
    "GET",
    ("/v1/tcp_warming",),
    handler=lambda call, scope: body_reply({}),
    secured=False,
    summary="Open a connection, no more",
)

CEREBRAS = Dialect(
    name="cerebras",
    title="Cerebras Inference API",
    hosts=("api.cerebras.ai",),
    operations=(
        COMPLETIONS,
        CHAT_COMPLETIONS,
        LIST_MODELS,
        GET_MODEL,
        LIST_PUBLIC_MODELS,
        GET_PUBLIC_MODEL,
        TCP_WARMING,
    ),
    # The forms of all names that it has had.
    claims=re.compile(
        r"llama-?3\.\d-\d+b|llama-4-.+|qwen-3(\.\d)?-.+|gpt-oss-\d+b|zai-glm-.+|gemma-4-.+|deepseek-r1-distill-llama-70b"
    ),
    marks=(("user-agent", "Cerebras/"), ("x-cerebras-version-patch", ""), ("x-cerebras-3rd-party-integration", "")),
    errors=ERRORS,
    contract=editions(__package__),
    models=(
        Model("gpt-oss-120b", "Cerebras", context=131_072, max_output=40_960),
        Model("qwen-3.8-27b", "Cerebras", context=131_072, max_output=65_536),
        # The others are not shared any more: the observed edition does not have them.
        Model("gemma-4-31b", "Cerebras", context=131_072, max_output=40_960),
        Model("zai-glm-4.7", "Cerebras", context=131_072, max_output=40_960),
        Model("llama3.1-8b", "Meta", context=32_768, max_output=8_192),
        Model("qwen-3-235b-a22b-instruct-2507", "Cerebras", context=131_072, max_output=40_960),
        Model("llama-3.3-70b", "Cerebras", context=131_072, max_output=65_536),
    ),
    headers=every_answer,
    credentials=bearer,
    stream_error=stream_error,
    presets=PRESETS,
    realistic="cerebras",
    preset_of=preset_of,
    prompt_caching=PROMPT_CACHING,
    # LangChain and LiteLLM read the second variable.
    clients=Clients(urls=("CEREBRAS_BASE_URL",), keys=("CEREBRAS_API_KEY",), bases={"CEREBRAS_API_BASE": "/v1"}),
    quotas=QUOTAS,
    unpacked=on_demand("mockserver.dialects.cerebras.bodies:unpacked_object"),
)

"""Upstash QStash LLM: an API of one operation, which its vendor has retired (vendor note, part B)."""

from mockserver.core.dialects import BEARER, Clients, Dialect, Model, Operation, Schemas, on_demand
from mockserver.dialects.upstash.errors import ERRORS
from mockserver.dialects.upstash.limits import (
    CHAT_PATH,
    CURRENT_SIGNING_KEY,
    NEXT_SIGNING_KEY,
    PRESETS,
    QUOTAS,
    every_answer,
    token,
)
from mockserver.dialects.upstash.qstash.operations import OPERATIONS, empty_store
from mockserver.dialects.upstash.read import CONTRACT

CHAT_COMPLETIONS = Operation(
    "chat_completions",
    "POST",
    (CHAT_PATH,),
    Schemas("ChatCompletionRequest", "ChatCompletion", "ChatCompletionChunk"),
    read=on_demand("mockserver.dialects.upstash.read:read"),
    write=on_demand("mockserver.dialects.upstash.write:write"),
    summary="Answer a conversation",
)

UPSTASH = Dialect(
    name="upstash",
    title="Upstash QStash LLM API",
    hosts=("qstash.upstash.io", "qstash-us-east-1.upstash.io", "qstash-eu-central-1.upstash.io"),
    operations=(CHAT_COMPLETIONS, *OPERATIONS),
    webhooks=empty_store,
    errors=ERRORS,
    contract=CONTRACT,
    models=(
        Model("meta-llama/Meta-Llama-3-8B-Instruct", "meta-llama", context=8_192),
        Model("mistralai/Mistral-7B-Instruct-v0.2", "mistralai", context=32_768),
    ),
    headers=every_answer,
    credentials=token,
    security={**BEARER, "token": {"type": "apiKey", "in": "query", "name": "qstash_token"}},
    presets=PRESETS,
    realistic="upstash",
    clients=Clients(
        openai="/llm/v1",
        urls=("QSTASH_URL",),
        keys=("QSTASH_TOKEN",),
        more={"QSTASH_CURRENT_SIGNING_KEY": CURRENT_SIGNING_KEY, "QSTASH_NEXT_SIGNING_KEY": NEXT_SIGNING_KEY},
    ),
    quotas=QUOTAS,
    finish_reasons=("stop", "length"),
)

"""Yandex AI Studio: OpenAI-compatible responses, chats and embeddings, and the list of models (vendor note, part A)."""

import re

from mockserver.core.dialects import BEARER, Clients, Dialect, Operation, Schemas, on_demand
from mockserver.dialects.openai.dialect import on_responses
from mockserver.dialects.yandex.errors import ERRORS, QUOTAS
from mockserver.dialects.yandex.models import MODELS, PRESETS, PROMPT_CACHING, every_answer, list_models, preset_of
from mockserver.dialects.yandex.read import CONTRACT, credentials

_RESPONSES, _ANSWERS = f"{__package__}.responses", f"{__package__}.response_answers"

CHAT_COMPLETIONS = Operation(
    "chat_completions",
    "POST",
    ("/v1/chat/completions",),
    Schemas("ChatCompletionRequest", "ChatCompletionResponse", "ChatCompletionChunk"),
    read=on_demand(f"{__package__}.read:read_chat"),
    write=on_demand(f"{__package__}.write:write_chat"),
    supports_tools=True,
    lacks={"documented": ("reasoning",)},
    summary="Answer a conversation",
)
RESPONSES = Operation(
    "responses",
    "POST",
    ("/v1/responses",),
    Schemas("ResponsesRequest", "Response", "ResponsesEvent"),
    read=on_demand(f"{_RESPONSES}:read_response"),
    write=on_demand(f"{_ANSWERS}:write_response"),
    supports_tools=True,
    lacks={"documented": ("reasoning",)},
    summary="Answer what was said, called and given back",
    stream_error=on_demand(f"{_ANSWERS}:fail_response"),
    history_markers=(b'"previous_response_id"', b'"item_reference"', b'"background"'),
)
EMBEDDINGS = Operation(
    "embeddings",
    "POST",
    ("/v1/embeddings",),
    Schemas("EmbeddingRequest", "EmbeddingResponse"),
    read=on_demand(f"{__package__}.embeddings:read_embedding"),
    write=on_demand(f"{__package__}.embeddings:write_embedding"),
    generates=False,
    measure="embedding",
    summary="Embed a text",
)
LIST_MODELS = Operation(
    "models", "GET", ("/v1/models",), Schemas(response="ModelList"), handler=list_models, summary="The models on offer"
)

YANDEX = Dialect(
    name="yandex",
    title="Yandex AI Studio, OpenAI-compatible API",
    # The second is the older host of the same API, which the vendor's own SDK still uses; the third is for subscribers;
    # the vendor's examples of responses name the fourth.
    hosts=(
        "ai.api.cloud.yandex.net",
        "llm.api.cloud.yandex.net",
        "apps.ai.api.cloud.yandex.net",
        "rest-assistant.api.cloud.yandex.net",
    ),
    operations=(CHAT_COMPLETIONS, RESPONSES, *on_responses(_RESPONSES), EMBEDDINGS, LIST_MODELS),
    history=on_demand(f"{_RESPONSES}:make_store"),
    # Its models are named by URIs: `gpt://`, `emb://`.
    claims=re.compile(r"\w+://.+"),
    marks=(("authorization", "Api-Key "), ("x-folder-id", ""), ("x-data-logging-enabled", "")),
    errors=ERRORS,
    contract=CONTRACT,
    models=MODELS,
    headers=every_answer,
    credentials=credentials,
    security={
        **BEARER,
        "api_key": {"type": "apiKey", "in": "header", "name": "Authorization", "description": "`Api-Key <key>`"},
    },
    presets=PRESETS,
    realistic="yandex",
    preset_of=preset_of,
    prompt_caching=PROMPT_CACHING,
    clients=Clients(native="/v1", keys=("YC_API_KEY",), more={"YC_FOLDER_ID": "mock-folder"}),
    quotas=QUOTAS,
)

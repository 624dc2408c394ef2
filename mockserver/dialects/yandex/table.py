"""Yandex AI Studio: OpenAI-compatible responses, chats and embeddings, and the list of models (vendor note, part A)."""

from mockserver.core.dialects import BEARER, Broken, Clients, Dialect, Operation, Parts, Schemas, on_demand
from mockserver.dialects.yandex.errors import ERRORS
from mockserver.dialects.yandex.headers import credentials, every_answer
from mockserver.dialects.yandex.latency import PRESETS, PROMPT_CACHING, preset_of
from mockserver.dialects.yandex.models import MODELS, list_models
from mockserver.dialects.yandex.quotas import QUOTAS
from mockserver.dialects.yandex.schemas import CONTRACT


@on_demand
def _chats() -> Parts:
    from mockserver.dialects.yandex.read import read
    from mockserver.dialects.yandex.write import write

    return Parts(read, write)


@on_demand
def _responses() -> Parts:
    from mockserver.dialects.yandex.response_answers import write
    from mockserver.dialects.yandex.responses import read

    return Parts(read, write)


def _fail(broken: Broken) -> bytes:
    from mockserver.dialects.yandex.response_answers import fail

    return fail(broken)


@on_demand
def _embeddings() -> Parts:
    from mockserver.dialects.yandex.embeddings import read_embedding, write_embedding

    return Parts(read_embedding, write_embedding)


CHAT_COMPLETIONS = Operation(
    "chat_completions",
    "POST",
    ("/v1/chat/completions",),
    Schemas("ChatCompletionRequest", "ChatCompletionResponse", "ChatCompletionChunk"),
    read=_chats.read,
    write=_chats.write,
    calls_tools=True,
    summary="Answer a conversation",
)
RESPONSES = Operation(
    "responses",
    "POST",
    ("/v1/responses",),
    Schemas("ResponsesRequest", "Response", "ResponsesEvent"),
    read=_responses.read,
    write=_responses.write,
    calls_tools=True,
    summary="Answer what was said, called and given back",
    stream_error=_fail,
)
EMBEDDINGS = Operation(
    "embeddings",
    "POST",
    ("/v1/embeddings",),
    Schemas("EmbeddingRequest", "EmbeddingResponse"),
    read=_embeddings.read,
    write=_embeddings.write,
    speaks=False,
    summary="Embed a text",
)
LIST_MODELS = Operation(
    "models", "GET", ("/v1/models",), Schemas(response="ModelList"), answer=list_models, summary="The models on offer"
)

YANDEX = Dialect(
    name="yandex",
    title="Yandex AI Studio, OpenAI-compatible API",
    # The second is the older host of the same API, which the vendor's own SDK still uses; the third is for subscribers.
    hosts=("ai.api.cloud.yandex.net", "llm.api.cloud.yandex.net", "apps.ai.api.cloud.yandex.net"),
    operations=(CHAT_COMPLETIONS, RESPONSES, EMBEDDINGS, LIST_MODELS),
    bare=("/v1/chat/completions", "/v1/responses", "/v1/embeddings"),
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

"""OpenAI's API, the reference of which the other vendors' are variants (vendor facts: `openai.md`)."""

from mockserver.core.dialects import BEARER, Clients, Dialect, Operation, Schemas, on_demand
from mockserver.dialects.contracts import components
from mockserver.dialects.openai.azure import DEPLOYMENTS, also_unversioned, api_key, of_deployments, to_deployments
from mockserver.dialects.openai.errors import ERRORS, stream_error, unrouted
from mockserver.dialects.openai.limits import PRESETS, PROMPT_CACHING, QUOTAS, every_answer, preset_of
from mockserver.dialects.openai.models import MODELS
from mockserver.dialects.openai.responses.operations import RESPONSES

CONTRACT = components(__package__, "openai")
_HERE = __package__

CHAT_COMPLETIONS = Operation(
    "chat_completions",
    "POST",
    ("/v1/chat/completions", DEPLOYMENTS + "/chat/completions"),
    Schemas("ChatCompletionRequest", "ChatCompletion", "ChatCompletionChunk"),
    read=of_deployments(on_demand(f"{_HERE}.chats:read_chat")),
    write=to_deployments(on_demand(f"{_HERE}.azure_chats:write_azure_chat"), on_demand(f"{_HERE}.chats:write_chat")),
    supports_tools=True,
    summary="Answer a conversation",
)
COMPLETIONS = Operation(
    "completions",
    "POST",
    ("/v1/completions", DEPLOYMENTS + "/completions"),
    Schemas("CompletionRequest", "Completion", "Completion"),
    read=of_deployments(on_demand(f"{_HERE}.completions:read_completion")),
    write=on_demand(f"{_HERE}.completions:write_completion"),
    summary="Continue a text",
)
EMBEDDINGS = Operation(
    "embeddings",
    "POST",
    ("/v1/embeddings", DEPLOYMENTS + "/embeddings"),
    Schemas("EmbeddingRequest", "EmbeddingList"),
    read=of_deployments(on_demand(f"{_HERE}.embeddings:read_embedding")),
    write=on_demand(f"{_HERE}.embeddings:write_embedding"),
    generates=False,
    measure="embedding",
    summary="Embed texts",
)
MODERATIONS = Operation(
    "moderations",
    "POST",
    ("/v1/moderations",),
    Schemas("ModerationRequest", "Moderation"),
    handler=on_demand(f"{_HERE}.moderations:moderate"),
    summary="Flag what is harmful in texts",
)
LIST_MODELS = Operation(
    "models",
    "GET",
    ("/v1/models",),
    Schemas(response="ModelList"),
    handler=on_demand(f"{_HERE}.catalogue:list_models"),
    summary="The models on offer",
)
GET_MODEL = Operation(
    "model",
    "GET",
    ("/v1/models/{id}",),
    Schemas(response="Model"),
    handler=on_demand(f"{_HERE}.catalogue:get_model"),
    summary="One model",
)
DELETE_MODEL = Operation(
    "delete_model",
    "DELETE",
    ("/v1/models/{id}",),
    handler=on_demand(f"{_HERE}.catalogue:delete_model"),
    summary="Delete a fine-tuned model",
)
OPENAI = Dialect(
    name="openai",
    title="OpenAI API",
    hosts=("api.openai.com", *(f"{region}.api.openai.com" for region in ("us", "eu", "ae", "au", "in", "jp"))),
    operations=(
        CHAT_COMPLETIONS,
        COMPLETIONS,
        *map(also_unversioned, RESPONSES),
        EMBEDDINGS,
        MODERATIONS,
        also_unversioned(LIST_MODELS),
        GET_MODEL,
        DELETE_MODEL,
    ),
    history=on_demand(f"{_HERE}.stored:make_store"),
    # Both editions are today's.
    errors={"documented": ERRORS, "observed": ERRORS},
    contract={"documented": CONTRACT, "observed": CONTRACT},
    models=MODELS,
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

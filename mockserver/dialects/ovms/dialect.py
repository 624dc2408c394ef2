"""OpenVINO Model Server: completions, chats, embeddings, reranking, models and health (vendor note)."""

from collections.abc import Mapping

from mockserver.core.dialect_state import ResponseHistory
from mockserver.core.dialects import (
    EDITIONS,
    Clients,
    Dialect,
    Edition,
    Operation,
    Schemas,
    on_demand,
)
from mockserver.dialects.ovms.endpoints import ask_graph, unrouted
from mockserver.dialects.ovms.errors import ERRORS, every_answer, stream_error
from mockserver.dialects.ovms.graphs import (
    CHATS_PATHS,
    COMPLETIONS_PATHS,
    EMBEDDINGS_PATHS,
    RELOAD_PATH,
    RERANK_PATHS,
    RESPONSES_PATHS,
    TOKENIZE_PATHS,
    Paths,
)
from mockserver.dialects.ovms.latency import PRESETS, PROMPT_CACHING, preset_of
from mockserver.dialects.ovms.models import (
    MODELS,
    config_status,
    get_model,
    healthy,
    list_models,
    model_ready,
    server_metadata,
)
from mockserver.dialects.ovms.schemas import CONTRACT


def _graphs() -> ResponseHistory:
    from mockserver.dialects.ovms.metrics import Graphs

    return Graphs()


def _of_graphs(name: str, paths: Paths, schemas: Schemas, read: str, write: str, summary: str) -> Operation:
    """An operation of graphs, which each version of the server has at paths of its own."""
    reader, writer = (on_demand(f"{__package__}.{each}") for each in (read, write))
    return Operation(name, "POST", paths["observed"], schemas, reader, writer, summary=summary, served=paths)


COMPLETIONS = _of_graphs(
    "completions",
    COMPLETIONS_PATHS,
    Schemas("CompletionRequest", "CompletionResponse", "CompletionChunk"),
    "read:read",
    "write:write",
    "Continue a text",
)
CHAT_COMPLETIONS = _of_graphs(
    "chat_completions",
    CHATS_PATHS,
    Schemas("ChatCompletionRequest", "ChatCompletionResponse", "ChatCompletionChunk"),
    "read:read_chat",
    "write:write_chat",
    "Answer a conversation",
)._replace(supports_tools=True, lacks={"documented": ("tool_calls", "reasoning")})
RESPONSES = _of_graphs(
    "responses",
    RESPONSES_PATHS,
    Schemas("ResponsesRequest", "Response", "ResponsesEvent"),
    "responses.requests:read",
    "responses.write:write",
    "Answer what was said, called and given back",
)._replace(
    supports_tools=True,
    stream_error=on_demand("mockserver.dialects.ovms.responses.write:fail"),
    lacks={"documented": ("text", "tool_calls", "reasoning")},
)
EMBEDDINGS = _of_graphs(
    "embeddings",
    EMBEDDINGS_PATHS,
    Schemas("EmbeddingRequest", "EmbeddingResponse"),
    "measures:read_embedding",
    "measures:write_embedding",
    "Embed texts",
)._replace(generates=False, measure="embedding")
RERANK = _of_graphs(
    "rerank",
    RERANK_PATHS,
    Schemas("RerankRequest", "RerankResponse"),
    "measures:read_rerank",
    "measures:write_rerank",
    "Score documents by a query",
)._replace(generates=False, measure="scores")
TOKENIZE = Operation(
    "tokenize",
    "POST",
    TOKENIZE_PATHS["observed"],
    Schemas("TokenizeRequest", "TokenizeResponse"),
    handler=ask_graph,
    summary="The token ids of texts",
    served=TOKENIZE_PATHS,
)
# The older server lists no models.
_OF_TODAY: Mapping[Edition, tuple[str, ...]] = {"documented": ()}
LIST_MODELS = Operation(
    "models",
    "GET",
    ("/v3/models", "/v3/v1/models", "/v1/models"),
    Schemas(response="ModelList"),
    handler=list_models,
    summary="The models that are served",
    served=_OF_TODAY,
)
GET_MODEL = Operation(
    "model",
    "GET",
    ("/v3/models/{id}", "/v3/v1/models/{id}", "/v1/models/{id}"),
    Schemas(response="Model"),
    handler=get_model,
    summary="One model",
    served=_OF_TODAY,
)
SERVER = Operation(
    "server",
    "GET",
    ("/v2",),
    Schemas(response="ServerMetadata"),
    handler=server_metadata,
    summary="The server's name and version",
)
HEALTH = Operation(
    "health", "GET", ("/v2/health/ready", "/v2/health/live"), handler=healthy, summary="Whether the server is ready"
)
MODEL_READY = Operation(
    "model_ready", "GET", ("/v2/models/{id}/ready",), handler=model_ready, summary="Whether a model is ready"
)
CONFIG = Operation(
    "config",
    "GET",
    ("/v1/config",),
    Schemas(response="ConfigStatus"),
    handler=config_status,
    summary="The state of every model",
)
RELOAD = Operation(
    "config_reload",
    "POST",
    (RELOAD_PATH,),
    Schemas(response="ConfigStatus"),
    handler=config_status,
    summary="Read the configuration again",
)
METRICS = Operation(
    "metrics",
    "GET",
    ("/metrics",),
    handler=on_demand("mockserver.dialects.ovms.metrics:publish"),
    summary="Counts of the graphs, for Prometheus",
    remembers=True,
)
# Its pattern includes all paths above, so it comes after them.
WRONG_ENDPOINT = Operation(
    "wrong_endpoint",
    "POST",
    ("/v3/{name}",),
    handler=ask_graph,
    summary="What an LLM graph does not serve, and paths that end with `tokenize`",
    served=dict.fromkeys(EDITIONS, ()),
)


OVMS = Dialect(
    name="ovms",
    title="OpenVINO Model Server",
    hosts=(),
    operations=(
        COMPLETIONS,
        CHAT_COMPLETIONS,
        RESPONSES,
        EMBEDDINGS,
        RERANK,
        TOKENIZE,
        LIST_MODELS,
        GET_MODEL,
        SERVER,
        HEALTH,
        MODEL_READY,
        CONFIG,
        RELOAD,
        METRICS,
        WRONG_ENDPOINT,
    ),
    errors=ERRORS,
    contract=CONTRACT,
    models=MODELS,
    headers=every_answer,
    unrouted=unrouted,
    stream_error=stream_error,
    presets=PRESETS,
    realistic="ovms",
    preset_of=preset_of,
    prompt_caching=PROMPT_CACHING,
    history=_graphs,
    # LiteLLM reaches the server as it does others that one hosts oneself.
    clients=Clients(native="/v3", openai="/v3", keys=("HOSTED_VLLM_API_KEY",), bases={"HOSTED_VLLM_API_BASE": "/v3"}),
    finish_reasons=("stop", "length", "tool_calls"),
)

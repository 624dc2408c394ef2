"""OpenVINO Model Server: completions, chats, embeddings, reranking, models and health (vendor note)."""

from functools import partial
from typing import Any

from mockserver.core.dialects import Clients, Dialect, Operation, OperationHandler, Schemas, on_demand
from mockserver.dialects.contracts import editions
from mockserver.dialects.ovms.endpoints import (
    CONFIG_PATH,
    RELOAD_PATH,
    Graphs,
    below_roots,
    every_answer,
    metrics,
    unrouted,
)
from mockserver.dialects.ovms.errors import ERRORS, stream_error
from mockserver.dialects.ovms.models import (
    MODELS,
    PRESETS,
    PROMPT_CACHING,
    config_status,
    get_model,
    healthy,
    list_models,
    model_ready,
    preset_of,
    server_metadata,
)

# The page that the documented edition follows is of completions alone; all else is today's server in both editions.
_today = partial(Operation, edition="observed")


def _of_graphs(path: str, schemas: Schemas, code: tuple[str, str], summary: str, **more: Any) -> Operation:
    """An operation of graphs; its `code` is what reads and what writes, functions of this package that are loaded with
    the first request."""
    name, (read, write) = path.replace("/", "_"), (on_demand(f"{__package__}.{each}") for each in code)
    return _today(name, "POST", below_roots(path), schemas, read=read, write=write, summary=summary, **more)


def _look(name: str, paths: tuple[str, ...], handler: OperationHandler, summary: str, response: str = "") -> Operation:
    """An operation that only tells something."""
    return _today(name, "GET", paths, Schemas(response=response or None), handler=handler, summary=summary)


OVMS = Dialect(
    name="ovms",
    title="OpenVINO Model Server",
    hosts=(),
    operations=(
        _of_graphs(
            "completions",
            Schemas("CompletionRequest", "CompletionResponse", "CompletionChunk"),
            ("read:read_completion", "write:write_completion"),
            "Continue a text",
            edition=None,
        ),
        _of_graphs(
            "chat/completions",
            Schemas("ChatCompletionRequest", "ChatCompletionResponse", "ChatCompletionChunk"),
            ("read:read_chat", "write:write_chat"),
            "Answer a conversation",
            supports_tools=True,
        ),
        _of_graphs(
            "responses",
            Schemas("ResponsesRequest", "Response", "ResponsesEvent"),
            ("responses:read_response", "responses:write_response"),
            "Answer what was said, called and given back",
            supports_tools=True,
            stream_error=on_demand(f"{__package__}.responses:fail"),
        ),
        _of_graphs(
            "embeddings",
            Schemas("EmbeddingRequest", "EmbeddingResponse"),
            ("embeddings:read_embedding", "embeddings:write_embedding"),
            "Embed texts",
            generates=False,
            measure="embedding",
        ),
        _of_graphs(
            "rerank",
            Schemas("RerankRequest", "RerankResponse"),
            ("embeddings:read_rerank", "embeddings:write_rerank"),
            "Score documents by a query",
            generates=False,
            measure="scores",
        ),
        _today(
            "tokenize",
            "POST",
            below_roots("tokenize"),
            Schemas("TokenizeRequest", "TokenizeResponse"),
            # Every path that ends with this word tokenizes.
            handler=partial(unrouted, allowed=()),
            summary="The token ids of texts",
        ),
        _look("models", below_roots("models"), list_models, "The models that are served", "ModelList"),
        _look("model", below_roots("models/{id}"), get_model, "One model", "Model"),
        _look("server", ("/v2",), server_metadata, "The server's name and version", "ServerMetadata"),
        _look("health", ("/v2/health/ready", "/v2/health/live"), healthy, "Whether the server is ready"),
        _look("model_ready", ("/v2/models/{id}/ready",), model_ready, "Whether a model is ready"),
        _look("config", (CONFIG_PATH,), config_status, "The state of every model", "ConfigStatus"),
        _look("config_reload", (RELOAD_PATH,), config_status, "Read the configuration again", "ConfigStatus")._replace(
            method="POST"
        ),
        _look("metrics", ("/metrics",), metrics, "Counts of the graphs, for Prometheus")._replace(remembers=True),
    ),
    errors=ERRORS,
    contract=editions(__package__),
    models=MODELS,
    headers=every_answer,
    unrouted=unrouted,
    stream_error=stream_error,
    presets=PRESETS,
    realistic="ovms",
    preset_of=preset_of,
    prompt_caching=PROMPT_CACHING,
    history=Graphs,
    # LiteLLM reaches the server as it does others that one hosts oneself.
    clients=Clients(native="/v3", openai="/v3", keys=("HOSTED_VLLM_API_KEY",), bases={"HOSTED_VLLM_API_BASE": "/v3"}),
    finish_reasons=("stop", "length", "tool_calls"),
)

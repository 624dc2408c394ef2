"""Cerebras Inference: completions, chats, and what every client requests besides (vendor note, part A)."""

import re

from mockserver.core.dialects import Clients, Dialect, Model, Operation, Schemas, on_demand
from mockserver.dialects.cerebras.errors import ERRORS, QUOTAS, every_answer, stream_error
from mockserver.dialects.cerebras.models import PRESETS, PROMPT_CACHING, preset_of
from mockserver.dialects.contracts import editions
from mockserver.dialects.openai.read import bearer
from mockserver.dialects.openai.replies import body_reply


def _look(name: str, path: str, summary: str, response: str) -> Operation:
    """An operation that only tells something of the models, which some of its paths do without a key."""
    handler, secured = on_demand(f"{__package__}.catalogue:{name}"), not name.startswith("public")
    return Operation(
        name, "GET", (path,), Schemas(response=response), handler=handler, secured=secured, summary=summary
    )


CEREBRAS = Dialect(
    name="cerebras",
    title="Cerebras Inference API",
    hosts=("api.cerebras.ai",),
    operations=(
        Operation(
            "completions",
            "POST",
            ("/v1/completions",),
            Schemas("CompletionRequest", "CompletionResponse", "CompletionChunk"),
            read=on_demand(f"{__package__}.read:read_completion"),
            write=on_demand(f"{__package__}.write:write_completion"),
            summary="Continue a text",
        ),
        Operation(
            "chat_completions",
            "POST",
            ("/v1/chat/completions",),
            Schemas("ChatCompletionRequest", "ChatCompletionResponse", "ChatCompletionChunk"),
            read=on_demand(f"{__package__}.read:read_chat"),
            write=on_demand(f"{__package__}.write:write_chat"),
            supports_tools=True,
            summary="Answer a conversation",
        ),
        _look("models", "/v1/models", "The models on offer", "ModelList"),
        _look("model", "/v1/models/{id}", "One model", "Model"),
        _look("public_models", "/public/v1/models", "The models on offer, with prices and limits", "PublicModelList"),
        _look("public_model", "/public/v1/models/{id}", "One model, with its prices and limits", "PublicModel"),
        # Every SDK constructor calls this, waits for it, and retries a 5xx.
        Operation(
            "tcp_warming",
            "GET",
            ("/v1/tcp_warming",),
            handler=lambda call, scope: body_reply({}),
            secured=False,
            summary="Open a connection, no more",
        ),
    ),
    # The forms of all names that it has had.
    claims=re.compile(
        r"llama-?3\.\d-\d+b|llama-4-.+|qwen-3(\.\d)?-.+|gpt-oss-\d+b|zai-glm-.+|gemma-4-.+|deepseek-r1-distill-llama-70b"
    ),
    marks=(
        ("user-agent", "Cerebras/"),
        ("x-cerebras-version-patch", ""),
        ("x-cerebras-3rd-party-integration", ""),
        ("authorization", "Bearer csk-"),
    ),
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
    unpacked=on_demand(f"{__package__}.bodies:unpacked_object"),
)

"""The models on offer: the list, and the public catalogue with prices and limits."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from mockserver.core.calls import Call
from mockserver.core.dialects import Model, RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.timeline import Reply
from mockserver.dialects.cerebras.families import family_of
from mockserver.dialects.openai.bodies import body_reply

# --- catalogue -------------------------------------------------------------------------------------------------------

_WEIGHTS_ONLY = "FP16/8 (weights only)"


class Entry(NamedTuple):
    """What the catalogue knows of a model; the prices are in dollars per token, as decimal texts."""

    owner: str = "Cerebras"
    name: str = ""
    about: str = ""
    hugging_face: str = ""
    prompt_price: str = "0"
    completion_price: str = "0"
    tokenizer: str = "Other"
    instruct: str | None = None
    created: int = 0
    preview: bool = False
    quantization: str | None = None
    parallel_calls: bool = True


_ENTRIES: Mapping[str, Entry] = MappingProxyType({
    "gpt-oss-120b": Entry(
        "OpenAI", "OpenAI GPT OSS", "Reasons briefly, for code, long documents and agents.", "openai/gpt-oss-120b",
        "0.00000035", "0.00000075", "GPT", "harmony", 1_754_438_400, quantization=_WEIGHTS_ONLY, parallel_calls=False,
    ),
    "zai-glm-4.7": Entry(
        "Z.ai", "Z.ai GLM 4.7", "Writes code and uses tools, with reasoning.", "zai-org/GLM-4.7",
        "0.00000225", "0.00000275", "GLM", "glm", 1_767_744_000, preview=True, quantization=_WEIGHTS_ONLY,
    ),
    "gemma-4-31b": Entry(
        "Google", "Gemma 4 31B", "Reads images, screenshots and diagrams beside text.", "google/gemma-4-31B",
        "0.00000099", "0.00000149", "Gemini", "gemma",
    ),
    "qwen-3.8-27b": Entry(
        "Qwen", "Qwen 3.8 27B", "Writes code, uses tools and reads images, with reasoning.", "Qwen/Qwen3.8-27B",
        "0.00000099", "0.00000149", "Qwen3", "chatml",
    ),
    "llama3.1-8b": Entry(
        "Meta", "Llama 3.1 8B", "Small and quick.", "meta-llama/Llama-3.1-8B-Instruct",
        "0.0000001", "0.0000001", "Llama3", "llama3",
    ),
    "llama-3.3-70b": Entry(
        "Meta", "Llama 3.3 70B", "Chats and follows instructions.", "meta-llama/Llama-3.3-70B-Instruct",
        "0.00000085", "0.0000012", "Llama3", "llama3",
    ),
    "qwen-3-235b-a22b-instruct-2507": Entry(
        "Qwen", "Qwen 3 235B Instruct", "Follows instructions in many languages.",
        "Qwen/Qwen3-235B-A22B-Instruct-2507", "0.0000006", "0.0000012", "Qwen3", "chatml", preview=True,
    ),
})  # fmt: skip
# Recorded of all models, though they return log-probabilities.
_PARAMETERS: Mapping[str, bool] = MappingProxyType({
    **dict.fromkeys(("temperature", "top_p", "seed", "stop", "max_completion_tokens"), True),
    **dict.fromkeys(("logprobs", "top_logprobs"), False),
    **dict.fromkeys(("frequency_penalty", "presence_penalty", "logit_bias"), True),
})  # fmt: skip


def _entry(model: Model) -> Entry:
    return _ENTRIES.get(model.id) or Entry(model.owned_by or "Cerebras", model.id)


def _sees(model: Model) -> bool:
    return bool(family_of(model.id).images)


def _reasons(model: Model) -> bool:
    return bool(family_of(model.id).efforts)


def _native(model: Model) -> dict[str, object]:
    entry, vision = _entry(model), _sees(model)
    return {
        "id": model.id,
        "object": "model",
        "created": entry.created,
        "owned_by": entry.owner,
        "name": entry.name,
        "description": entry.about,
        "hugging_face_id": entry.hugging_face,
        "pricing": {"prompt": entry.prompt_price, "completion": entry.completion_price},
        "capabilities": {
            "streaming": True,
            "function_calling": True,
            "structured_outputs": True,
            "vision": vision,
            "json_mode": True,
            "tools": True,
            "tool_choice": True,
            "parallel_tool_calls": entry.parallel_calls,
            "response_format": True,
            "reasoning": _reasons(model),
        },
        "supported_parameters": {**_PARAMETERS, "repetition_penalty": False},
        "architecture": {
            "modality": "text+vision" if vision else "text",
            "tokenizer": entry.tokenizer,
            "instruct_type": entry.instruct,
        },
        "limits": {
            "max_context_length": model.context,
            "max_completion_tokens": model.max_output,
            "requests_per_minute": None,
            "tokens_per_minute": None,
        },
        "datacenter_locations": [],
        "deprecated": False,
        "preview": entry.preview,
        "quantization": entry.quantization,
    }


def _openrouter(model: Model) -> dict[str, object]:
    """A model in the flat format that OpenRouter asks of its providers."""
    entry = _entry(model)
    features = ("tools", "json_mode", "structured_outputs", *(("reasoning",) if _reasons(model) else ()))
    return {
        "id": model.id,
        "hugging_face_id": entry.hugging_face,
        "name": entry.name,
        "created": entry.created,
        "input_modalities": ["text", "image"] if _sees(model) else ["text"],
        "output_modalities": ["text"],
        "quantization": "fp16",
        "context_length": model.context,
        "max_output_length": model.max_output,
        "pricing": {
            "prompt": entry.prompt_price,
            "completion": entry.completion_price,
            "image": "0",
            "request": "0",
            "input_cache_read": "0",
        },
        "supported_sampling_parameters": ["temperature", "top_p", "stop", "seed", "max_tokens"],
        "supported_features": list(features),
        "description": entry.about,
    }


class Format(NamedTuple):
    """How the catalogue is written: one model, and what stands beside the list of them."""

    model: Callable[[Model], dict[str, object]]
    around: Mapping[str, str]


_NATIVE = Format(_native, MappingProxyType({"object": "list"}))
_FORMATS = {"openrouter": Format(_openrouter, MappingProxyType({}))}


def format_of(asked: str | None) -> Format:
    """The format that the query asks for; the vendor's own if it asks for none, or for one that is not known here."""
    return _FORMATS.get(asked or "", _NATIVE)


# --- models ----------------------------------------------------------------------------------------------------------

# Models that the shared endpoints no longer have: the coder since November 2025, `llama-3.3-70b` and `qwen-3-32b` since
# 16 February 2026, `llama3.1-8b` and the 235B instruct since 27 May, `zai-glm-4.7` since 17 August.
_RETIRED = frozenset((
    "llama3.1-8b", "llama3.1-70b", "llama-3.3-70b", "llama-4-scout-17b-16e-instruct",
    "llama-4-maverick-17b-128e-instruct", "deepseek-r1-distill-llama-70b", "qwen-3-32b", "qwen-3-coder-480b",
    "qwen-3-235b-a22b", "qwen-3-235b-a22b-instruct-2507", "qwen-3-235b-a22b-thinking-2507", "zai-glm-4.6",
    "zai-glm-4.7",
))  # fmt: skip
# Served on dedicated endpoints alone.
_DEDICATED = frozenset(("gemma-4-31b",))


def find_model(name: str, scope: RequestScope) -> Model | Refusal:
    """The model of that name, or the vendor's 404: for one that does not exist, or (observed) that is not shared today.

    A catalogue in the settings may have any model.
    """
    if scope.edition == "observed" and not scope.closed_catalogue:
        if name in _RETIRED:
            return Refusal(FailureKind.UNKNOWN_MODEL, code="model_archived")
        if name in _DEDICATED:
            return Refusal(FailureKind.UNKNOWN_MODEL)
    return scope.model(name) or Refusal(FailureKind.UNKNOWN_MODEL)


def _offered(scope: RequestScope) -> list[Model]:
    return [model for model in scope.models if not isinstance(find_model(model.id, scope), Refusal)]


def list_models(call: Call, scope: RequestScope) -> Reply:
    """The models on offer; `created` is 0 for all of them (recorded)."""
    return body_reply({"object": "list", "data": [_model(model) for model in _offered(scope)]})


def get_model(call: Call, scope: RequestScope) -> Reply | Refusal:
    """One model of the list, or the vendor's 404."""
    found = _listed(scope)
    return found if isinstance(found, Refusal) else body_reply(_model(found))


def list_public_models(call: Call, scope: RequestScope) -> Reply:
    """The models on offer with their prices, capabilities and limits, for anyone."""

    form = format_of(call.query_value("format"))
    return body_reply({**form.around, "data": [form.model(model) for model in _offered(scope)]})


def get_public_model(call: Call, scope: RequestScope) -> Reply | Refusal:
    """One model of the public list, or the vendor's 404."""

    found = _listed(scope)
    if isinstance(found, Refusal):
        return found
    return body_reply(format_of(call.query_value("format")).model(found))


def warm_up(call: Call, scope: RequestScope) -> Reply:
    """An empty answer at once: the SDK's constructor waits for it, and retries a 5xx."""
    return body_reply({})


def _listed(scope: RequestScope) -> Model | Refusal:
    found = find_model(scope.variables["id"], scope)
    # No list has a model that was made up for a request.
    return found if isinstance(found, Refusal) or found in scope.models else Refusal(FailureKind.UNKNOWN_MODEL)


def _model(model: Model) -> dict[str, object]:
    # A model that only the settings know is owned by the vendor, as most are.
    return {"id": model.id, "object": "model", "created": 0, "owned_by": model.owned_by or "Cerebras"}

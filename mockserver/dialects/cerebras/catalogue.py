"""The models on offer, as those with a key see them, and as anyone may, with prices, capabilities and limits."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import partial
from typing import NamedTuple

from mockserver.core.dialects import Model, RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.http import Call, Reply
from mockserver.dialects.cerebras.models import family_of
from mockserver.dialects.cerebras.read import find_model
from mockserver.dialects.openai.replies import body_reply

_WEIGHTS_ONLY = "FP16/8 (weights only)"


class Entry(NamedTuple):
    """What the catalogue knows of a model; the prices are in dollars per token, as decimal texts."""

    owner: str
    name: str
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


_ENTRIES: Mapping[str, Entry] = {
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
}  # fmt: skip
# Recorded of all models, though they return log-probabilities.
_PARAMETERS: Mapping[str, bool] = {
    **dict.fromkeys(("temperature", "top_p", "seed", "stop", "max_completion_tokens"), True),
    **dict.fromkeys(("logprobs", "top_logprobs"), False),
    **dict.fromkeys(("frequency_penalty", "presence_penalty", "logit_bias"), True),
    "repetition_penalty": False,
}


def _entry(model: Model) -> Entry:
    return _ENTRIES.get(model.id) or Entry(model.owned_by or "Cerebras", model.id)


def _basic(model: Model) -> dict[str, object]:
    """A model as those with a key see it; `created` is 0 for all of them (recorded)."""
    # A model that only the settings know is owned by the vendor, as most are.
    return {"id": model.id, "object": "model", "created": 0, "owned_by": model.owned_by or "Cerebras"}


def _public(model: Model) -> dict[str, object]:
    """A model as anyone sees it, with its prices, capabilities and limits."""
    entry, family = _entry(model), family_of(model.id)
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
            "vision": bool(family.images),
            "json_mode": True,
            "tools": True,
            "tool_choice": True,
            "parallel_tool_calls": entry.parallel_calls,
            "response_format": True,
            "reasoning": bool(family.efforts),
        },
        "supported_parameters": _PARAMETERS,
        "architecture": {
            "modality": "text+vision" if family.images else "text",
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
    entry, family = _entry(model), family_of(model.id)
    features = ["tools", "json_mode", "structured_outputs"]
    return {
        "id": model.id,
        "hugging_face_id": entry.hugging_face,
        "name": entry.name,
        "created": entry.created,
        "input_modalities": ["text", "image"] if family.images else ["text"],
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
        "supported_features": [*features, "reasoning"] if family.efforts else features,
        "description": entry.about,
    }


def _hugging_face(model: Model) -> dict[str, object]:
    """A model in the form that Hugging Face asks of its providers; prices are those of a million tokens."""
    entry = _entry(model)
    prices = {"input": entry.prompt_price, "output": entry.completion_price}
    return {
        "id": model.id,
        "object": "model",
        "created": entry.created,
        "owned_by": entry.owner,
        "hugging_face_id": entry.hugging_face,
        "context_length": model.context,
        "pricing": {name: float(1_000_000 * Decimal(price)) for name, price in prices.items()},
        "capabilities": {
            "streaming": True,
            "function_calling": True,
            "structured_outputs": True,
            "vision": bool(family_of(model.id).images),
        },
    }


_Form = Callable[[Model], dict[str, object]]
# Those that the query `format` asks for; any other, and none, is the path's own.
_FORMS: Mapping[str | None, _Form] = {"openrouter": _openrouter, "huggingface": _hugging_face}


def _list(own: _Form, call: Call, scope: RequestScope) -> Reply:
    """The models on offer."""
    form = _FORMS.get(call.query_value("format"), own)
    around = {} if form is _openrouter else {"object": "list"}
    offered = [model for model in scope.models if not isinstance(find_model(model.id, scope), Refusal)]
    return body_reply({**around, "data": [form(model) for model in offered]})


def _get(own: _Form, call: Call, scope: RequestScope) -> Reply | Refusal:
    """One model of the list, or the vendor's 404."""
    found = find_model(scope.variables["id"], scope)
    if isinstance(found, Refusal):
        return found
    if found not in scope.models:
        # It was made up for this request.
        return Refusal(FailureKind.UNKNOWN_MODEL)
    return body_reply(_FORMS.get(call.query_value("format"), own)(found))


# The operations by their names.
models, model = partial(_list, _basic), partial(_get, _basic)
public_models, public_model = partial(_list, _public), partial(_get, _public)

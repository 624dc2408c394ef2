"""The models: how their families differ in chats, which are on offer, how fast they are, and how they are listed."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Literal, NamedTuple

from mockserver.core.calls import Call
from mockserver.core.dialects import EDITIONS, Edition, Model, Preset, PromptCaching, RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.generation import Effort
from mockserver.core.timeline import Reply
from mockserver.dialects.openai.read import Body
from mockserver.dialects.openai.replies import body_reply

# --- families ----------------------------------------------------------------------------------------------------

Shown = Literal["parsed", "text_parsed", "raw", "hidden"]

ALL_DETAILS = ("accepted_prediction_tokens", "rejected_prediction_tokens", "reasoning_tokens")
_REASONING = ("reasoning_tokens",)
# Recorded of gpt-oss: 6 to 14 tokens of reasoning at low effort, 25 to 124 by default.
_BRIEF: Mapping[str, Effort] = {"low": "minimal", "medium": "low", "high": "medium"}
_USUAL: Mapping[str, Effort] = {"low": "low", "medium": "medium", "high": "high"}
_NEVER: Mapping[str, Effort] = {}


class ModelRule(NamedTuple):
    """Requests that models refuse though others accept them, with message and param of the refusal.

    `holds`: whether a request is one of them; `editions`: those that know the rule.
    """

    holds: Callable[[Body], bool]
    message: str
    param: str
    editions: tuple[Edition, ...] = ("observed",)


# Measured of gpt-oss-120b by a user in June 2026, in words that are not known.
_ALWAYS_THINKS = ModelRule(
    lambda body: body.get("reasoning_effort") == "none",
    "reasoning_effort=none is not supported by this model.",
    "reasoning_effort",
)
# Recorded of qwen-3-235b-a22b-instruct-2507 in March 2026.
_NEVER_THINKS = ModelRule(
    lambda body: body.get("reasoning_effort") == "none",
    "1 validation error for ChatCompletionServerRequest\nreasoning_effort\n"
    "  Input should be 'low', 'medium' or 'high' [type=enum, input_value='none', input_type=str]\n"
    "    For further information visit https://errors.pydantic.dev/2.8/v/enum",
    "validation_error",
)
# anomalyco/opencode#992, of qwen-3-235b-a22b in July 2025; its param is not known.
_STREAMS_NO_SCHEMA = ModelRule(
    lambda body: bool(body.get("stream")) and (body.get("response_format") or {}).get("type") == "json_schema",
    '"stream=true" with structured outputs is currently not supported for reasoning models.',
    "stream",
    EDITIONS,
)
# Measured of gemma-4-31b by a user in June 2026, in words that are not known.
_PREDICTS_NOT = ModelRule(
    lambda body: body.get("prediction") is not None, "prediction is not supported by this model.", "prediction"
)


class ModelFamily(NamedTuple):
    """What models with a common prefix of their names have in common.

    - `default_effort`: its reasoning effort if none is requested, None for no reasoning; `efforts`: the effort for each
      word of the vendor's, empty for models that do not reason.
    - `shown`: where its thoughts are shown by default; `tags` surround them within the content.
    - `details`: those of the completion tokens in its usage.
    - `images`: where its usage counts those it reads, empty for a model that is not known to read any; `blind`: whether
      it refuses them.
    - `whole_calls`: whether a stream has all tool calls in one chunk today too; `compact`: whether their arguments are
      written without whitespace.
    - `era`: the edition at whose time its answers were recorded, None for a model that may be of either.
    - `refuses`: the rules for its requests alone; the first that holds is reported.
    """

    default_effort: Effort | None = None
    efforts: Mapping[str, Effort] = _NEVER
    shown: Shown = "text_parsed"
    tags: tuple[str, str] = ("<think>\n", "\n</think>\n\n")
    details: tuple[str, ...] = ()
    images: Literal["", "usage", "details"] = ""
    blind: bool = False
    whole_calls: bool = False
    compact: bool = False
    era: Edition | None = None
    refuses: tuple[ModelRule, ...] = ()


_ELDER = ModelFamily(blind=True, era="documented", refuses=(_NEVER_THINKS,))
# "Qwen3: `raw` (`hidden` for JSON object/schema)".
_ELDER_THINKER = ModelFamily("medium", _USUAL, shown="raw", blind=True, era="documented", refuses=(_STREAMS_NO_SCHEMA,))
# The first family counts whose prefix a model's name has.
_FAMILIES: Mapping[str, ModelFamily] = {
    # "Since GPT-OSS does not use thinking tokens, reasoning and content are concatenated without separators".
    "gpt-oss": ModelFamily(
        "low", _BRIEF, tags=("", ""), details=ALL_DETAILS, blind=True, compact=True, era="observed",
        refuses=(_ALWAYS_THINKS,),
    ),
    "zai-glm": ModelFamily("medium", _USUAL, details=ALL_DETAILS, blind=True, whole_calls=True, era="observed"),
    # Recorded in July 2026: no reasoning unless requested.
    "gemma": ModelFamily(
        None, _USUAL, details=_REASONING, images="usage", era="observed", refuses=(_PREDICTS_NOT,)
    ),
    # "none/low/medium/high (default high)". Its usage was recorded in September 2026.
    "qwen-3.": ModelFamily("high", _USUAL, details=_REASONING, images="details", era="observed"),
    "qwen-3-32b": _ELDER_THINKER,
    "qwen-3-235b-a22b-thinking": _ELDER_THINKER,
    "deepseek-r1": _ELDER_THINKER,
    "qwen-3": _ELDER,
    "llama": _ELDER,
}  # fmt: skip
_UNKNOWN = ModelFamily()


@lru_cache(maxsize=256)
def family_of(model: str) -> ModelFamily:
    """The family of a model, by its name; models that only the settings know do not reason."""
    name = model.lower()
    return next((family for prefix, family in _FAMILIES.items() if name.startswith(prefix)), _UNKNOWN)


# --- on offer ----------------------------------------------------------------------------------------------------

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


def _listed(scope: RequestScope) -> Model | Refusal:
    found = find_model(scope.variables["id"], scope)
    # No list has a model that was made up for a request.
    return found if isinstance(found, Refusal) or found in scope.models else Refusal(FailureKind.UNKNOWN_MODEL)


# --- their speed ---------------------------------------------------------------------------------------------------

PRESETS = {
    "cerebras": Preset(
        "queue=lognormal(600us, 1, max=50ms), prefill=lognormal(3ms, 0.5, max=50ms), prefill_per_token=0.02ms, "
        "itl=lognormal(650us, 0.3, max=10ms), network=lognormal(60ms, 0.3, max=300ms)",
        "wafer-scale: about 1,500 tokens/s, millisecond queues",
    ),
    "cerebras-8b": Preset(
        "cerebras, itl=lognormal(430us, 0.3, max=10ms)", "Cerebras, a model of 8B: about 2,200 tokens/s"
    ),
    "cerebras-70b": Preset(
        "cerebras, itl=lognormal(940us, 0.3, max=10ms)", "Cerebras, a dense model of 70B: about 1,000 tokens/s"
    ),
    "cerebras-120b": Preset(
        "cerebras, itl=lognormal(520us, 0.3, max=10ms), tokens_per_chunk=uniform(4, 8)",
        "Cerebras, gpt-oss-120b: about 1,850 tokens/s, some six in a chunk",
    ),
    "cerebras-235b": Preset(
        "cerebras, itl=lognormal(0.68ms, 0.3, max=10ms)", "Cerebras, a mixture of 235B: about 1,400 tokens/s"
    ),
}

# "128-token blocks"; "We guarantee a Time-To-Live (TTL) of 5 minutes" (its page on prompt caching).
PROMPT_CACHING = PromptCaching(block=128, lifetime=300)

# The classes of models whose speed is known, by a part of their names.
_CLASSES = {
    "8b": "cerebras-8b",
    "17b": "cerebras-8b",
    "32b": "cerebras-235b",
    "70b": "cerebras-70b",
    "120b": "cerebras-120b",
    "235b": "cerebras-235b",
    "480b": "cerebras-235b",
}


def preset_of(model: str) -> str:
    """The preset of a model's class."""
    parts = model.lower().replace("_", "-").split("-")
    return next((preset for size, preset in _CLASSES.items() if size in parts), "cerebras")


# --- how they are described --------------------------------------------------------------------------------------

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


def basic_model(model: Model) -> dict[str, object]:
    """A model as those with a key see it; `created` is 0 for all of them (recorded)."""
    # A model that only the settings know is owned by the vendor, as most are.
    return {"id": model.id, "object": "model", "created": 0, "owned_by": model.owned_by or "Cerebras"}


def public_model(model: Model) -> dict[str, object]:
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


ModelForm = Callable[[Model], dict[str, object]]
# Those that the query `format` asks for; any other, and none, is the path's own.
_FORMS: Mapping[str | None, ModelForm] = {"openrouter": _openrouter, "huggingface": _hugging_face}


def list_models(own: ModelForm, call: Call, scope: RequestScope) -> Reply:
    """The models on offer."""
    form = _FORMS.get(call.query_value("format"), own)
    around = {} if form is _openrouter else {"object": "list"}
    return body_reply({**around, "data": [form(model) for model in _offered(scope)]})


def get_model(own: ModelForm, call: Call, scope: RequestScope) -> Reply | Refusal:
    """One model of the list, or the vendor's 404."""
    found = _listed(scope)
    return found if isinstance(found, Refusal) else body_reply(_FORMS.get(call.query_value("format"), own)(found))

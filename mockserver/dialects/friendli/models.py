"""The models on offer, what each can do, how fast they are, and the list of them.

The table is in `contract/models.json`.
"""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from mockserver.core.dialects import Model, Preset, PromptCaching, RequestScope
from mockserver.core.http import Call, Reply
from mockserver.dialects.contracts import components
from mockserver.dialects.openai.replies import body_reply

# Whether a model reasons: always, unless switched off, or never; one that `leaks` writes its thoughts into the content
# if it is told not to think, as the vendor's own tools measured in September 2026. `unknown` if it is not listed.
ReasoningMode = Literal["always", "toggle", "leaks", "plain", "unknown"]


class Traits(NamedTuple):
    """A model: context window and longest answer in tokens (0 for what fits), prices in US dollars per million tokens.

    `controls` are those of its reasoning, if it has any; `modalities` are those of its input. With `by_vllm`
    vLLM serves it instead of the vendor's own engine, and answers chats in another form: recorded of GLM-5.3-Flash,
    which also accepts an effort that the vendor's own engine refuses for every other model.
    """

    context: int = 131_072
    max_output: int = 0
    vocabulary: int = 128_256
    input_price: float = 0.1
    output_price: float = 0.1
    cache_price: float | None = None
    created: int = 1_740_000_000
    reasoning: ReasoningMode = "plain"
    controls: tuple[Mapping[str, Any], ...] = ()
    modalities: tuple[str, ...] = ("text",)
    by_vllm: bool = False


class _Rows(dict[str, Traits]):
    """Models by name; one that is not listed has a usual vocabulary, and accepts all media."""

    def __missing__(self, name: str) -> Traits:
        return Traits(reasoning="unknown", modalities=("text", "image", "video", "audio"))


_TABLE = components(__package__, "models")()


def _rows(table: str) -> Mapping[str, Traits]:
    return {
        name: Traits(**{**row, "modalities": tuple(row.get("modalities", ("text",)))})
        for name, row in _TABLE[table].items()
    }


# Models at the time of the page, which are no longer listed today.
_RETIRED = _rows("retired")
TRAITS = _Rows({**_RETIRED, **_rows("listed")})
MODELS = tuple(
    Model(name, context=row.context, max_output=row.max_output or row.context) for name, row in TRAITS.items()
)


def list_models(call: Call, scope: RequestScope) -> Reply:
    """The models on offer today, or those of the settings; the body has only `data`."""
    retired = {} if scope.closed_catalogue else _RETIRED
    return body_reply({"data": [_item(model) for model in scope.models if model.id not in retired]})


def _item(model: Model) -> dict[str, object]:
    row = TRAITS[model.id]
    reasons = row.reasoning in ("always", "toggle", "leaks")
    paid, earned = _per_token(row.input_price), _per_token(row.output_price)
    return {
        "id": model.id,
        "name": model.id,
        "created": row.created,
        "context_length": model.context,
        "max_completion_tokens": model.max_output or model.context,
        "pricing": {
            "input": paid,
            "output": earned,
            "prompt": paid,
            "completion": earned,
            "input_cache_read": None if row.cache_price is None else _per_token(row.cache_price),
            "cache_write": None,
            "audio_minute": None,
        },
        "functionality": {
            "tool_call": True,
            "parallel_tool_call": True,
            "structured_output": True,
            "tool_choice": True,
            "system_messages": True,
        },
        "description": f"{model.id}, simulated",
        "deprecation_date": None,
        "reasoning": reasons,
        "reasoning_options": row.controls or None,
        "input_modalities": ("text",) if row.reasoning == "unknown" else row.modalities,
        "output_modalities": ["text"],
        # Reported to be false for this model, which answers with the field nevertheless.
        "interleaved": "reasoning_content" if reasons and model.id != "deepseek-ai/DeepSeek-V3.2" else False,
        "base_model": None,
        "mode": "chat",
        "default_params": None,
    }


def _per_token(per_million: float) -> str:
    """A price in US dollars per token, as a decimal fraction."""
    return f"{per_million / 1_000_000:.10f}".rstrip("0")


PRESETS = {name: Preset(*row) for name, row in _TABLE["presets"].items()}
# Its answers have `cached_tokens`, but nothing states these figures: they are usual for such an engine.
PROMPT_CACHING = PromptCaching(block=16, lifetime=300)

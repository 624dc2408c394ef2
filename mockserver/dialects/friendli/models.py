"""The models of the hosted endpoints, `GET /serverless/v1/models`, and a container's `GET /health`.

Windows, vocabularies and prices are the models' usual ones: the vendor states them nowhere but in this very call.
"""

from typing import Literal, NamedTuple

from mockserver.core.calls import Call
from mockserver.core.dialects import Model, Site
from mockserver.core.timeline import Reply
from mockserver.dialects.openai_style.bodies import body_reply


class _Row(NamedTuple):
    """A model: window and longest answer in tokens, prices in US dollars for a million tokens."""

    id: str
    context: int
    max_output: int
    vocabulary: int
    input_price: float
    output_price: float
    reasoning: bool = False
    served_since: int = 1_740_000_000


_CATALOGUE = (
    _Row("zai-org/GLM-5.3", 202_752, 65_536, 154_880, 1.0, 3.2, True, 1_783_000_000),
    _Row("zai-org/GLM-5.2", 202_752, 65_536, 154_880, 1.0, 3.2, True, 1_778_000_000),
    _Row("zai-org/GLM-5", 202_752, 65_536, 154_880, 1.0, 3.2, True, 1_770_800_000),
    _Row("zai-org/GLM-4.7", 202_752, 65_536, 151_552, 0.6, 2.2, True, 1_766_400_000),
    _Row("MiniMaxAI/MiniMax-M2.5", 196_608, 65_536, 200_064, 0.3, 1.2, True, 1_770_900_000),
    _Row("MiniMaxAI/MiniMax-M2.1", 196_608, 65_536, 200_064, 0.3, 1.2, True, 1_766_500_000),
    _Row("LGAI-EXAONE/K-EXAONE-236B-A23B", 262_144, 65_536, 153_600, 0.2, 0.8, True, 1_767_200_000),
    _Row("deepseek-ai/DeepSeek-V3.2", 163_840, 65_536, 129_280, 0.5, 1.5, True, 1_764_600_000),
    _Row("Qwen/Qwen3-235B-A22B-Instruct-2507", 262_144, 65_536, 151_936, 0.2, 0.8, False, 1_753_200_000),
    _Row("meta-llama/Llama-3.3-70B-Instruct", 131_072, 65_536, 128_256, 0.6, 0.6),
    _Row("meta-llama/Llama-3.1-8B-Instruct", 131_072, 65_536, 128_256, 0.1, 0.1),
)
# The codes of the page's time; today's list does not have them.
_RETIRED = (
    _Row("meta-llama-3.1-8b-instruct", 131_072, 65_536, 128_256, 0.1, 0.1),
    _Row("mixtral-8x7b-instruct-v0-1", 32_768, 32_768, 32_000, 0.4, 0.4),
)
_ROWS = {row.id: row for row in (*_RETIRED, *_CATALOGUE)}
_USUAL = _Row("", 131_072, 131_072, 128_256, 0.1, 0.1)

MODELS = tuple(Model(row.id, context=row.context, max_output=row.max_output) for row in _ROWS.values())


def vocabulary_size(name: str) -> int:
    """How many tokens a model knows; a usual number for one that is not listed."""
    return _ROWS.get(name, _USUAL).vocabulary


# Whether a model thinks: always, unless it is told not to, or never.
Mind = Literal["always", "toggle", "plain", "unknown"]


def mind_of(name: str) -> Mind:
    """Whether a model thinks; of one that is not listed nobody knows."""
    row = _ROWS.get(name)
    if row is None:
        return "unknown"
    # The guide's two kinds: "Always Reasoning Models [...] (e.g., MiniMax-M2.5)", "Controllable [...] (e.g., GLM-5.2)".
    return ("always" if name.startswith("MiniMaxAI/") else "toggle") if row.reasoning else "plain"


def sees(name: str) -> bool:
    """Whether a model takes images, films and sounds: those that are listed read texts alone."""
    return name not in _ROWS


def list_models(call: Call, site: Site) -> Reply:
    """The models on offer today, or those that the settings name; there is nothing around `data`."""
    retired = () if site.closed_catalogue else {row.id for row in _RETIRED}
    return body_reply({"data": [_item(model) for model in site.models if model.id not in retired]})


def health(call: Call, site: Site) -> Reply:
    """200 and an empty object: a container is well as long as it answers."""
    return body_reply({})


def _item(model: Model) -> dict[str, object]:
    row = _ROWS.get(model.id, _USUAL)
    return {
        "id": model.id,
        "name": model.id.rpartition("/")[2],
        "created": row.served_since,
        "context_length": model.context,
        "max_completion_tokens": model.max_output or model.context,
        "pricing": _pricing(row),
        "functionality": {
            "tool_call": True,
            "parallel_tool_call": True,
            "structured_output": True,
            "tool_choice": True,
            "system_messages": True,
        },
        "description": f"{model.id}, simulated",
        "deprecation_date": None,
        "reasoning": row.reasoning,
        "reasoning_options": [{"type": "toggle"}] if row.reasoning else None,
        "input_modalities": ["text"],
        "output_modalities": ["text"],
        "interleaved": "reasoning_content" if row.reasoning else False,
        "base_model": None,
        "mode": "chat",
        "default_params": None,
    }


def _pricing(row: _Row) -> dict[str, str | None]:
    """Prices in US dollars for one token, as decimal fractions."""
    paid, earned = _per_token(row.input_price), _per_token(row.output_price)
    return {
        "input": paid,
        "output": earned,
        "prompt": paid,
        "completion": earned,
        "input_cache_read": None,
        "cache_write": None,
        "audio_minute": None,
    }


def _per_token(per_million: float) -> str:
    return f"{per_million / 1_000_000:.10f}".rstrip("0")

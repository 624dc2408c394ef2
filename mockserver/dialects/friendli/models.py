"""The models on offer and what each can do; and how a place, serverless, dedicated or a container, finds one."""

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

from mockserver.core.calls import Call
from mockserver.core.dialects import Model, RequestScope
from mockserver.core.timeline import Reply
from mockserver.dialects.openai.bodies import body_reply

_TOGGLE: Mapping[str, object] = {"type": "toggle"}


def _efforts(*words: str) -> Mapping[str, object]:
    return {"type": "effort", "values": words}


def _budget(most: int) -> Mapping[str, object]:
    """A budget of at most so many tokens; -1 is no limit."""
    return {"type": "budget_tokens", "min": -1, "max": most}


class _Row(NamedTuple):
    """A model: context window and longest answer in tokens, prices in US dollars per million tokens.

    `controls` are those of its reasoning, if it has any; `senses` are the modalities of what it reads; `by_vllm` is
    whether vLLM serves it instead of the vendor's own engine.
    """

    id: str
    context: int
    max_output: int
    vocabulary: int
    input_price: float
    output_price: float
    reasoning: bool = False
    served_since: int = 1_740_000_000
    cache_price: float | None = None
    controls: tuple[Mapping[str, object], ...] = (_TOGGLE,)
    senses: tuple[str, ...] = ("text",)
    by_vllm: bool = False


_CATALOGUE = (
    _Row(
        "zai-org/GLM-5.3", 1_048_576, 1_048_576, 154_880, 1.4, 4.4, True, 1_783_000_000, 0.26,
        (_efforts("low", "high", "max"), _budget(1_048_576)),
    ),
    _Row(
        "zai-org/GLM-5.3-Flash", 1_048_576, 1_048_576, 154_880, 0.15, 0.5, True, 1_787_700_000, 0.03,
        (_efforts("low", "high", "max"), _budget(1_048_576)), ("text", "image", "video"), True,
    ),
    _Row(
        "zai-org/GLM-5.2", 1_048_576, 1_048_576, 154_880, 1.4, 4.4, True, 1_778_000_000, 0.26,
        (_efforts("high", "max"), _TOGGLE),
    ),
    _Row("zai-org/GLM-5", 202_752, 202_752, 154_880, 1.0, 3.2, True, 1_770_800_000, 0.5),
    _Row("zai-org/GLM-4.7", 202_752, 65_536, 151_552, 0.6, 2.2, True, 1_766_400_000),
    _Row(
        "MiniMaxAI/MiniMax-M2.5", 196_608, 196_608, 200_064, 0.3, 1.2, True, 1_770_900_000, 0.06, (_budget(196_608),)
    ),
    _Row("MiniMaxAI/MiniMax-M2.1", 196_608, 65_536, 200_064, 0.3, 1.2, True, 1_766_500_000),
    _Row(
        "google/gemma-4-31B-it", 262_144, 262_144, 262_144, 0.14, 0.4, True, 1_775_000_000, None,
        (_TOGGLE,), ("text", "image"),
    ),
    _Row("LGAI-EXAONE/K-EXAONE-236B-A23B", 262_144, 262_144, 153_600, 0.2, 0.8, True, 1_767_200_000, 0.1),
    _Row(
        "deepseek-ai/DeepSeek-V3.2", 163_840, 163_840, 129_280, 0.5, 1.5, True, 1_764_600_000, 0.25,
        (_TOGGLE, _budget(163_840)),
    ),
    _Row("Qwen/Qwen3-235B-A22B-Instruct-2507", 262_144, 65_536, 151_936, 0.2, 0.8, False, 1_753_200_000),
    _Row("meta-llama/Llama-3.3-70B-Instruct", 131_072, 65_536, 128_256, 0.6, 0.6),
    _Row("meta-llama/Llama-3.1-8B-Instruct", 131_072, 65_536, 128_256, 0.1, 0.1),
)  # fmt: skip
# Models at the time of the page, which are no longer listed today.
_RETIRED = (
    _Row("meta-llama-3.1-8b-instruct", 131_072, 65_536, 128_256, 0.1, 0.1),
    _Row("mixtral-8x7b-instruct-v0-1", 32_768, 32_768, 32_000, 0.4, 0.4),
)
_ROWS = {row.id: row for row in (*_RETIRED, *_CATALOGUE)}
_USUAL = _Row("", 131_072, 131_072, 128_256, 0.1, 0.1)

MODELS = tuple(Model(row.id, context=row.context, max_output=row.max_output) for row in _ROWS.values())


def vocabulary_size(name: str) -> int:
    """The size of a model's vocabulary; a usual one if the model is not listed."""
    return _ROWS.get(name, _USUAL).vocabulary


def is_by_vllm(name: str) -> bool:
    """Whether vLLM serves a model, which then answers chats in another form.

    Recorded of GLM-5.3-Flash, which also accepts an effort that the vendor's own engine refuses for every other model.
    """
    return _ROWS.get(name, _USUAL).by_vllm


# Whether a model reasons: always, unless switched off, or never; one that `leaks` writes its thoughts into the content
# if it is told not to think. `unknown` if it is not listed.
Mind = Literal["always", "toggle", "leaks", "plain", "unknown"]


def mind_of(name: str) -> Mind:
    """Whether a model reasons."""
    row = _ROWS.get(name)
    if row is None:
        return "unknown"
    if not row.reasoning:
        return "plain"
    # The guide's two kinds: "Always Reasoning Models [...] (e.g., MiniMax-M2.5)", "Controllable [...] (e.g., GLM-5.2)".
    if name.startswith("MiniMaxAI/"):
        return "always"
    # As the vendor's own tools measured in September 2026.
    return "toggle" if _TOGGLE in row.controls else "leaks"


def perceives(name: str, medium: str) -> bool:
    """Whether a model accepts a medium: `image`, `video` or `audio`. One that is not listed accepts all."""
    return name not in _ROWS or medium in _ROWS[name].senses


def list_models(call: Call, scope: RequestScope) -> Reply:
    """The models on offer today, or those of the settings; the body has only `data`."""
    retired = () if scope.closed_catalogue else {row.id for row in _RETIRED}
    return body_reply({"data": [_item(model) for model in scope.models if model.id not in retired]})


def health(call: Call, scope: RequestScope) -> Reply:
    """200 and an empty object: a container is healthy as long as it answers."""
    return body_reply({})


def _item(model: Model) -> dict[str, object]:
    row = _ROWS.get(model.id, _USUAL)
    return {
        "id": model.id,
        "name": model.id,
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
        "reasoning_options": row.controls if row.reasoning else None,
        "input_modalities": row.senses,
        "output_modalities": ["text"],
        "interleaved": "reasoning_content" if row.reasoning else False,
        "base_model": None,
        "mode": "chat",
        "default_params": None,
    }


def _pricing(row: _Row) -> dict[str, str | None]:
    """Prices in US dollars per token, as decimal fractions."""
    paid, earned = _per_token(row.input_price), _per_token(row.output_price)
    return {
        "input": paid,
        "output": earned,
        "prompt": paid,
        "completion": earned,
        "input_cache_read": None if row.cache_price is None else _per_token(row.cache_price),
        "cache_write": None,
        "audio_minute": None,
    }


def _per_token(per_million: float) -> str:
    return f"{per_million / 1_000_000:.10f}".rstrip("0")


# --- endpoints -------------------------------------------------------------------------------------------------------


class AskedModel(NamedTuple):
    """The model that a request asks for, by the name that answers state; None if there is no such model."""

    name: str
    model: Model | None


# Finds the model by the `model` field of a request.
Place = Callable[[str | None, RequestScope], AskedModel]


def container(name: str | None, scope: RequestScope) -> AskedModel:
    """A container needs no name: it has one model, which its answers do not name then."""
    return AskedModel(name, scope.model(name)) if name else AskedModel("", next(iter(scope.models), Model("")))


def serverless(name: str | None, scope: RequestScope) -> AskedModel:
    """The shared endpoints take a code of the catalogue."""
    return AskedModel(name or "", scope.model(name or ""))


def dedicated(name: str | None, scope: RequestScope) -> AskedModel:
    """An endpoint of one's own goes by its id, maybe with `:ADAPTER_ROUTE`; answers name the id."""
    return serverless((name or "").partition(":")[0], scope)

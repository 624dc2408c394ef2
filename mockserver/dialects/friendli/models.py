"""The models on offer and what each can do; how a place, serverless, dedicated or a container, finds one; and the rate
limits, with the headers of every answer."""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Literal, NamedTuple

from mockserver.core.calls import Call
from mockserver.core.dialects import Edition, Model, Preset, PromptCaching, RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.quotas import PERIODS, Allowance, Limit, LimitState, LimitUnit, QuotaPolicy, tightest_by_measure
from mockserver.core.timeline import RawHeaders, Reply
from mockserver.dialects.openai.errors import limit_headers
from mockserver.dialects.openai.read import bearer
from mockserver.dialects.openai.replies import body_reply, date_header

_TOGGLE: Mapping[str, object] = {"type": "toggle"}


def _efforts(*words: str) -> Mapping[str, object]:
    return {"type": "effort", "values": words}


def _budget(most: int) -> Mapping[str, object]:
    """A budget of at most so many tokens; -1 is no limit."""
    return {"type": "budget_tokens", "min": -1, "max": most}


# Whether a model reasons: always, unless switched off, or never; one that `leaks` writes its thoughts into the content
# if it is told not to think. `unknown` if it is not listed.
ReasoningMode = Literal["always", "toggle", "leaks", "plain", "unknown"]


class Traits(NamedTuple):
    """A model: context window and longest answer in tokens, prices in US dollars per million tokens.

    `controls` are those of its reasoning, if it has any; `modalities` are those of its input. With `by_vllm`
    vLLM serves it instead of the vendor's own engine, and answers chats in another form: recorded of GLM-5.3-Flash,
    which also accepts an effort that the vendor's own engine refuses for every other model.
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
    modalities: tuple[str, ...] = ("text",)
    by_vllm: bool = False

    @property
    def reasoning_mode(self) -> ReasoningMode:
        """Whether the model reasons."""
        if not (self.id and self.reasoning):
            return "plain" if self.id else "unknown"
        # The guide's kinds: "Always Reasoning Models [...] (e.g., MiniMax-M2.5)", and "Controllable [...]".
        if self.id.startswith("MiniMaxAI/"):
            return "always"
        # As the vendor's own tools measured in September 2026.
        return "toggle" if _TOGGLE in self.controls else "leaks"


_CATALOGUE = (
    Traits(
        "zai-org/GLM-5.3", 1_048_576, 1_048_576, 154_880, 1.4, 4.4, True, 1_783_000_000, 0.26,
        (_efforts("low", "high", "max"), _budget(1_048_576)),
    ),
    Traits(
        "zai-org/GLM-5.3-Flash", 1_048_576, 1_048_576, 154_880, 0.15, 0.5, True, 1_787_700_000, 0.03,
        (_efforts("low", "high", "max"), _budget(1_048_576)), ("text", "image", "video"), True,
    ),
    Traits(
        "zai-org/GLM-5.2", 1_048_576, 1_048_576, 154_880, 1.4, 4.4, True, 1_778_000_000, 0.26,
        (_efforts("high", "max"), _TOGGLE),
    ),
    Traits(
        "zai-org/GLM-5.1", 202_752, 202_752, 154_880, 1.4, 4.4, True, 1_775_000_000, 0.26, (_TOGGLE, _budget(202_752))
    ),
    Traits("zai-org/GLM-5", 202_752, 202_752, 154_880, 1.0, 3.2, True, 1_770_800_000, 0.5),
    Traits("zai-org/GLM-4.7", 202_752, 65_536, 151_552, 0.6, 2.2, True, 1_766_400_000),
    Traits(
        "MiniMaxAI/MiniMax-M2.5", 196_608, 196_608, 200_064, 0.3, 1.2, True, 1_770_900_000, 0.06, (_budget(196_608),)
    ),
    Traits("MiniMaxAI/MiniMax-M2.1", 196_608, 65_536, 200_064, 0.3, 1.2, True, 1_766_500_000),
    Traits(
        "google/gemma-4-31B-it", 262_144, 262_144, 262_144, 0.14, 0.4, True, 1_775_000_000, None,
        (_TOGGLE,), ("text", "image"),
    ),
    Traits(
        "LGAI-EXAONE/K-EXAONE-2.0-750B-A37B", 262_144, 262_144, 153_600, 0.6, 2.4, True, 1_785_000_000, 0.12,
        (_TOGGLE, _budget(262_144)),
    ),
    Traits("LGAI-EXAONE/K-EXAONE-236B-A23B", 262_144, 262_144, 153_600, 0.2, 0.8, True, 1_767_200_000, 0.1),
    Traits(
        "deepseek-ai/DeepSeek-V3.2", 163_840, 163_840, 129_280, 0.5, 1.5, True, 1_764_600_000, 0.25,
        (_TOGGLE, _budget(163_840)),
    ),
    Traits("Qwen/Qwen3-235B-A22B-Instruct-2507", 262_144, 65_536, 151_936, 0.2, 0.8, False, 1_753_200_000),
    Traits("meta-llama/Llama-3.3-70B-Instruct", 131_072, 65_536, 128_256, 0.6, 0.6),
    Traits("meta-llama/Llama-3.1-8B-Instruct", 131_072, 65_536, 128_256, 0.1, 0.1),
)  # fmt: skip
# Models at the time of the page, which are no longer listed today.
_RETIRED = (
    Traits("meta-llama-3.1-8b-instruct", 131_072, 65_536, 128_256, 0.1, 0.1),
    Traits("mixtral-8x7b-instruct-v0-1", 32_768, 32_768, 32_000, 0.4, 0.4),
)
_ROWS = {row.id: row for row in (*_RETIRED, *_CATALOGUE)}
_UNLISTED = Traits("", 131_072, 131_072, 128_256, 0.1, 0.1, modalities=("text", "image", "video", "audio"))

MODELS = tuple(Model(row.id, context=row.context, max_output=row.max_output) for row in _ROWS.values())


def traits_of(name: str) -> Traits:
    """What a model can do; one that is not listed has a usual vocabulary, and accepts all media."""
    return _ROWS.get(name, _UNLISTED)


# "Encoder-decoder models like T5 or BlenderBot"; mT5, ByT5 and CodeT5 are such, GPT5 is not.
_ENCODER = re.compile("(?<!gp)t5|blenderbot", re.IGNORECASE)


def has_encoder(name: str | None) -> bool:
    """Whether a model is an encoder-decoder model, by its name; any other is a decoder-only one."""
    return bool(name and _ENCODER.search(name))


def list_models(call: Call, scope: RequestScope) -> Reply:
    """The models on offer today, or those of the settings; the body has only `data`."""
    retired = () if scope.closed_catalogue else {row.id for row in _RETIRED}
    return body_reply({"data": [_item(model) for model in scope.models if model.id not in retired]})


def _item(model: Model) -> dict[str, object]:
    row = traits_of(model.id)
    paid, earned = _per_token(row.input_price), _per_token(row.output_price)
    return {
        "id": model.id,
        "name": model.id,
        "created": row.served_since,
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
        "reasoning": row.reasoning,
        "reasoning_options": row.controls if row.reasoning else None,
        "input_modalities": row.modalities if row.id else ("text",),
        "output_modalities": ["text"],
        # Reported to be false for this model, which answers with the field nevertheless.
        "interleaved": "reasoning_content" if row.reasoning and row.id != "deepseek-ai/DeepSeek-V3.2" else False,
        "base_model": None,
        "mode": "chat",
        "default_params": None,
    }


def _per_token(per_million: float) -> str:
    """A price in US dollars per token, as a decimal fraction."""
    return f"{per_million / 1_000_000:.10f}".rstrip("0")


PRESETS = {
    "friendli": Preset(
        "prefill=lognormal(220ms, 0.35, max=2s), prefill_per_token=0.05ms, itl=lognormal(10.2ms, 0.25, max=200ms), "
        "network=lognormal(30ms, 0.3, max=200ms)",
        "serverless GPU: first token after about 0.25 s, 95 tokens/s",
    ),
}

# Its answers have `cached_tokens`, but nothing states these figures: they are usual for such an engine.
PROMPT_CACHING = PromptCaching(block=16, lifetime=300)


# --- endpoints -------------------------------------------------------------------------------------------------------


# The name that answers state of a model, and the model; or the refusal of a request that asks for none there is.
AskedModel = tuple[str, Model] | Refusal
# Finds the model that the `model` field of a request asks for.
Place = Callable[[str | None, RequestScope], AskedModel]


def not_found(name: str) -> str:
    """How today's gateway refuses a model that it does not know."""
    return f"Model '{name}' not found."


def container(name: str | None, scope: RequestScope) -> AskedModel:
    """A container needs no name: it has one model, which its answers do not name then."""
    return serverless(name, scope) if name else ("", next(iter(scope.models), Model("")))


def serverless(name: str | None, scope: RequestScope) -> AskedModel:
    """The shared endpoints take a code of the catalogue."""
    name = name or ""
    model = scope.model(name)
    if model is None:
        return Refusal(FailureKind.UNKNOWN_MODEL, not_found(name) if scope.edition == "observed" else "")
    return name, model


def dedicated(name: str | None, scope: RequestScope) -> AskedModel:
    """An endpoint of one's own goes by its id, maybe with `:ADAPTER_ROUTE`; answers name the id."""
    return serverless((name or "").partition(":")[0], scope)


# --- rate limits, and the headers of every answer --------------------------------------------------------------------

_PER_MINUTE = {"tier1": 100, "tier2": 1_000, "tier3": 5_000, "tier4": 10_000}
_MINUTE = PERIODS["minute"]
QUOTAS = QuotaPolicy(
    {name: Allowance((Limit("requests", _MINUTE, amount, fixed=True),)) for name, amount in _PER_MINUTE.items()},
    # The only 429, whichever limit was exceeded.
    refuse=lambda refused, now: Refusal(FailureKind.RATE_LIMIT),
    fixed_windows=True,
)
# The limits that are stated if no quota is configured.
_REQUESTS = Limit("requests", _MINUTE, 100, fixed=True)
_TOKENS = Limit("tokens", _MINUTE, 100_000, fixed=True)
_SHARED = "/serverless/"


def every_answer(call: Call, scope: RequestScope) -> RawHeaders:
    """The headers that each answer carries, errors included.

    If no quota is configured, by the page the minute of the clock counts. Today the window has just begun; containers
    and endpoints of one's own are not limited, nor is what needs no key.
    """
    date = date_header(int(scope.now))
    if scope.limit_states:
        return (date, *_limits_left(scope.limit_states, scope.edition))
    used = _REQUESTS.amount if scope.refused is FailureKind.RATE_LIMIT else 1
    if scope.edition == "documented":
        return (date, *_after(used, "documented", _MINUTE - int(scope.now) % _MINUTE))
    limited = call.path.startswith(_SHARED) and call.method == "POST" and bearer(call) is not None
    return (date, *_after(used, "observed", _MINUTE)) if limited else (date,)


@cache
def _after(requests: int, edition: Edition, left: int) -> RawHeaders:
    """The limits after so many requests in a window that has so many seconds left."""
    return _limits_left((LimitState(_REQUESTS, requests, left=left), LimitState(_TOKENS, left=left)), edition)


def _limits_left(limit_states: tuple[LimitState, ...], edition: Edition) -> RawHeaders:
    """The tightest limits on requests, and by the old pages on tokens, if any; resets are in whole seconds."""
    measures: tuple[LimitUnit, ...] = ("requests", "tokens") if edition == "documented" else ("requests",)
    return limit_headers(tightest_by_measure(limit_states, measures), lambda state: b"%d" % state.full_at())

"""The models: how their families differ in chats, and how fast they are."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Literal, NamedTuple

from mockserver.core.dialects import EDITIONS, Edition, Preset, PromptCaching
from mockserver.core.generation import Effort
from mockserver.dialects.openai.read import Body

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

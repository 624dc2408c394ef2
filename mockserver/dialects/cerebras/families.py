"""The families of models: how their chats differ, and what they refuse."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from mockserver.core.dialects import EDITIONS, Edition
from mockserver.core.failures import Refusal
from mockserver.core.generation import Effort
from mockserver.dialects.cerebras.errors import refused
from mockserver.dialects.cerebras.images import image_urls
from mockserver.dialects.openai.fields import Body

Shown = Literal["parsed", "text_parsed", "raw", "hidden"]

ALL_DETAILS = ("accepted_prediction_tokens", "rejected_prediction_tokens", "reasoning_tokens")
_REASONING = ("reasoning_tokens",)
# Recorded of gpt-oss: 6 to 14 tokens of reasoning at low effort, 25 to 124 by default.
_BRIEF: Mapping[str, Effort] = MappingProxyType({"low": "minimal", "medium": "low", "high": "medium"})
_USUAL: Mapping[str, Effort] = MappingProxyType({"low": "low", "medium": "medium", "high": "high"})
_NEVER: Mapping[str, Effort] = MappingProxyType({})


class ModelRule(NamedTuple):
    """Requests that models refuse though others accept them.

    `holds`: whether a request is one of them; `message`, `param`: the refusal; `editions`: those that know the rule;
    `source`: who has seen the refusal, of which model, and when.
    """

    holds: Callable[[Body], bool]
    message: str
    param: str
    source: str
    editions: tuple[Edition, ...] = EDITIONS


_BLIND = ModelRule(
    lambda body: bool(image_urls(body["messages"])),
    "Content of type 'image_url' is not supported by this model; only 'text' content is",
    "messages",
    "the pages of the models; users report the refusal, not its words",
)
_ALWAYS_THINKS = ModelRule(
    lambda body: body.get("reasoning_effort") == "none",
    "reasoning_effort=none is not supported by this model.",
    "reasoning_effort",
    "measured of gpt-oss-120b by a user in June 2026, in words that are not known",
    ("observed",),
)
_NEVER_THINKS = ModelRule(
    lambda body: body.get("reasoning_effort") == "none",
    "1 validation error for ChatCompletionServerRequest\nreasoning_effort\n"
    "  Input should be 'low', 'medium' or 'high' [type=enum, input_value='none', input_type=str]\n"
    "    For further information visit https://errors.pydantic.dev/2.8/v/enum",
    "validation_error",
    "recorded of qwen-3-235b-a22b-instruct-2507 in March 2026",
    ("observed",),
)
_STREAMS_NO_SCHEMA = ModelRule(
    lambda body: bool(body.get("stream")) and (body.get("response_format") or {}).get("type") == "json_schema",
    '"stream=true" with structured outputs is currently not supported for reasoning models.',
    "stream",
    "anomalyco/opencode#992, of qwen-3-235b-a22b in July 2025; its param is not known",
)


class ModelFamily(NamedTuple):
    """What models with a common prefix of their names have in common.

    - `default_effort`: its reasoning effort if none is requested, None for no reasoning; `efforts`: the effort for each
      word of the vendor's, empty for models that do not reason.
    - `shown`: where its thoughts are shown by default; `tags` surround them within the content.
    - `details`: those of the completion tokens in its usage.
    - `images`: where its usage counts those it reads, empty for a model that is not known to read any.
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
    whole_calls: bool = False
    compact: bool = False
    era: Edition | None = None
    refuses: tuple[ModelRule, ...] = ()


_ELDER = ModelFamily(era="documented", refuses=(_BLIND, _NEVER_THINKS))
# "Qwen3: `raw` (`hidden` for JSON object/schema)".
_ELDER_THINKER = ModelFamily("medium", _USUAL, shown="raw", era="documented", refuses=(_BLIND, _STREAMS_NO_SCHEMA))
# The first family counts whose prefix a model's name has.
_FAMILIES: Mapping[str, ModelFamily] = MappingProxyType({
    # "Since GPT-OSS does not use thinking tokens, reasoning and content are concatenated without separators".
    "gpt-oss": ModelFamily(
        "low", _BRIEF, tags=("", ""), details=ALL_DETAILS, compact=True, era="observed",
        refuses=(_BLIND, _ALWAYS_THINKS),
    ),
    "zai-glm": ModelFamily(
        "medium", _USUAL, details=ALL_DETAILS, whole_calls=True, era="observed", refuses=(_BLIND,)
    ),
    # Recorded in July 2026: no reasoning unless requested.
    "gemma": ModelFamily(None, _USUAL, details=_REASONING, images="usage", era="observed"),
    # "none/low/medium/high (default high)". Its usage was recorded in September 2026.
    "qwen-3.": ModelFamily("high", _USUAL, details=_REASONING, images="details", era="observed"),
    "qwen-3-32b": _ELDER_THINKER,
    "qwen-3-235b-a22b-thinking": _ELDER_THINKER,
    "deepseek-r1": _ELDER_THINKER,
    "qwen-3": _ELDER,
    "llama": _ELDER,
})  # fmt: skip
_UNKNOWN = ModelFamily()


@lru_cache(maxsize=256)
def family_of(model: str) -> ModelFamily:
    """The family of a model, by its name; models that only the settings know do not reason."""
    name = model.lower()
    return next((family for prefix, family in _FAMILIES.items() if name.startswith(prefix)), _UNKNOWN)


def model_refusal(body: Body, family: ModelFamily, edition: Edition) -> Refusal | None:
    """The refusal of a valid request that this family alone refuses."""
    for rule in family.refuses:
        if edition in rule.editions and rule.holds(body):
            return refused(rule.message, rule.param)
    return None


def effort_of(body: Mapping[str, Any], family: ModelFamily) -> Effort | None:
    """The reasoning effort for a request, None for a family that does not reason."""
    asked = body.get("reasoning_effort")
    if asked is None and not body.get("disable_reasoning"):
        return family.default_effort
    if body.get("disable_reasoning") or asked == "none":
        return "none" if family.efforts else None
    return family.efforts.get(str(asked))


def shown_of(body: Mapping[str, Any], family: ModelFamily, *, structured: bool) -> Shown:
    """Where the thoughts are shown. `structured`: whether the answer must be JSON, which no thoughts may precede."""
    asked: Shown | Literal["none"] | None = body.get("reasoning_format")
    if asked is not None and asked != "none":
        return asked
    # "Models that default to raw will automatically use hidden instead when structured output is requested."
    return "hidden" if structured and family.shown == "raw" else family.shown

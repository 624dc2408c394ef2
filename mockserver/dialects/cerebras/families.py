"""Families of models and how their chats differ, a row each (vendor note A5; recorded answers)."""

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from mockserver.core.dialects import Edition
from mockserver.core.generation import Effort

Shown = Literal["parsed", "text_parsed", "raw", "hidden"]

ALL_DETAILS = ("accepted_prediction_tokens", "rejected_prediction_tokens", "reasoning_tokens")
_REASONING = ("reasoning_tokens",)
# Recorded of gpt-oss: 6 to 14 tokens of reasoning at low effort, 25 to 124 by default.
_BRIEF: Mapping[str, Effort] = MappingProxyType({"low": "minimal", "medium": "low", "high": "medium"})
_USUAL: Mapping[str, Effort] = MappingProxyType({"low": "low", "medium": "medium", "high": "high"})
_NEVER: Mapping[str, Effort] = MappingProxyType({})


class Family(NamedTuple):
    """What models with a common prefix of their names have in common.

    - `default_effort`: its reasoning effort if none is requested, None for no reasoning; `efforts`: the effort for each
      word of the vendor's, empty for models that do not reason.
    - `stops_thinking`: whether reasoning can be switched off.
    - `shown`: where its thoughts are shown by default; `tags` surround them within the content.
    - `details`: those of the completion tokens in its usage.
    - `sees`: whether it accepts images, None if that is unknown.
    - `whole_calls`: whether a stream has all tool calls in one chunk today too; `compact`: whether their arguments are
      written without whitespace.
    - `era`: the edition at whose time its answers were recorded, None for a model that may be of either.
    """

    default_effort: Effort | None = None
    efforts: Mapping[str, Effort] = _NEVER
    stops_thinking: bool = True
    shown: Shown = "text_parsed"
    tags: tuple[str, str] = ("<think>\n", "\n</think>\n\n")
    details: tuple[str, ...] = ()
    sees: bool | None = False
    whole_calls: bool = False
    compact: bool = False
    era: Edition | None = None


_ELDER = Family(era="documented")
# "Qwen3: `raw` (`hidden` for JSON object/schema)".
_ELDER_THINKER = Family("medium", _USUAL, shown="raw", era="documented")
# The first family counts whose prefix a model's name has.
_FAMILIES: Mapping[str, Family] = MappingProxyType({
    # "Since GPT-OSS does not use thinking tokens, reasoning and content are concatenated without separators".
    "gpt-oss": Family(
        "low", _BRIEF, stops_thinking=False, tags=("", ""), details=ALL_DETAILS, compact=True, era="observed"
    ),
    "zai-glm": Family("medium", _USUAL, details=ALL_DETAILS, whole_calls=True, era="observed"),
    # Recorded: no reasoning unless requested.
    "gemma": Family(None, _USUAL, details=_REASONING, sees=True, era="observed"),
    # "none/low/medium/high (default high)".
    "qwen-3.": Family("high", _USUAL, details=_REASONING, sees=True, era="observed"),
    "qwen-3-32b": _ELDER_THINKER,
    "qwen-3-235b-a22b-thinking": _ELDER_THINKER,
    "deepseek-r1": _ELDER_THINKER,
    "qwen-3": _ELDER,
    "llama": _ELDER,
})  # fmt: skip
_UNKNOWN = Family(sees=None)


@lru_cache(maxsize=256)
def family_of(model: str) -> Family:
    """The family of a model, by its name; models that only the settings know do not reason."""
    name = model.lower()
    return next((family for prefix, family in _FAMILIES.items() if name.startswith(prefix)), _UNKNOWN)


def effort_of(body: Mapping[str, Any], family: Family) -> Effort | None:
    """The reasoning effort for a request, None for a family that does not reason."""
    asked = body.get("reasoning_effort")
    if asked is None and not body.get("disable_reasoning"):
        return family.default_effort
    if body.get("disable_reasoning") or asked == "none":
        return "none" if family.efforts else None
    return family.efforts.get(str(asked))


def shown_of(body: Mapping[str, Any], family: Family, *, structured: bool) -> Shown:
    """Where the thoughts are shown. `structured`: whether the answer must be JSON, which no thoughts may precede."""
    asked: Shown | Literal["none"] | None = body.get("reasoning_format")
    if asked is not None and asked != "none":
        return asked
    # "Models that default to raw will automatically use hidden instead when structured output is requested."
    return "hidden" if structured and family.shown == "raw" else family.shown

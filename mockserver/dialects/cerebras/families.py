"""Families of models and what sets their chats apart: a row each (vendor note A5; recorded answers)."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from mockserver.core.dialects import Edition
from mockserver.core.generation import Effort

Shown = Literal["parsed", "text_parsed", "raw", "hidden"]

ALL_DETAILS = ("accepted_prediction_tokens", "rejected_prediction_tokens", "reasoning_tokens")
_REASONING = ("reasoning_tokens",)
# Asked for little, gpt-oss has been seen to think 6 to 14 tokens, by itself 25 to 124.
_BRIEF: Mapping[str, Effort] = MappingProxyType({"low": "minimal", "medium": "low", "high": "medium"})
_USUAL: Mapping[str, Effort] = MappingProxyType({"low": "low", "medium": "medium", "high": "high"})
_NEVER: Mapping[str, Effort] = MappingProxyType({})


class Family(NamedTuple):
    """What models have in common that are named alike.

    - `by_itself`: how hard it thinks where nobody asks, None where it does not. `efforts`: how hard at each of the
      vendor's words; without one it does not think.
    - `stops_thinking`: whether it can be asked not to think at all.
    - `shown`: where its thoughts are told unless the request says; `tags` stand around them within the content.
    - `details` are those that its usage tells of a completion; with `sees` it takes images, None where nobody knows.
    - With `whole_calls` a stream tells all calls in one chunk today too; one that is `compact` writes no blanks into
      their arguments.
    - `era`: the edition whose time its answers were recorded in, None for a model that may be of any.
    """

    by_itself: Effort | None = None
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
# The first whose beginning a model's name has.
_FAMILIES: Mapping[str, Family] = MappingProxyType({
    # "Since GPT-OSS does not use thinking tokens, reasoning and content are concatenated without separators".
    "gpt-oss": Family(
        "low", _BRIEF, stops_thinking=False, tags=("", ""), details=ALL_DETAILS, compact=True, era="observed"
    ),
    "zai-glm": Family("medium", _USUAL, details=ALL_DETAILS, whole_calls=True, era="observed"),
    # Recorded: it does not think unless it is asked to.
    "gemma": Family(None, _USUAL, details=_REASONING, sees=True, era="observed"),
    "qwen-3.": Family("medium", _USUAL, details=_REASONING, sees=True, era="observed"),
    "qwen-3-32b": _ELDER_THINKER,
    "qwen-3-235b-a22b-thinking": _ELDER_THINKER,
    "deepseek-r1": _ELDER_THINKER,
    "qwen-3": _ELDER,
    "llama": _ELDER,
})  # fmt: skip
_UNKNOWN = Family(sees=None)


def family_of(model: str) -> Family:
    """The family of a model, by its name; any that only the settings know thinks nothing."""
    name = model.lower()
    return next((family for prefix, family in _FAMILIES.items() if name.startswith(prefix)), _UNKNOWN)


def effort_of(body: Mapping[str, Any], family: Family) -> Effort | None:
    """How hard a model of the family thinks about a request, None where it does not think by nature."""
    asked = body.get("reasoning_effort")
    if asked is None and not body.get("disable_reasoning"):
        return family.by_itself
    if body.get("disable_reasoning") or asked == "none":
        return "none" if family.efforts else None
    return family.efforts.get(str(asked))


def shown_of(body: Mapping[str, Any], family: Family, *, structured: bool) -> Shown:
    """Where the thoughts are told. `structured`: whether the answer has to be JSON, which no thought stands before."""
    asked: Shown | Literal["none"] | None = body.get("reasoning_format")
    if asked is not None and asked != "none":
        return asked
    # "Models that default to raw will automatically use hidden instead when structured output is requested."
    return "hidden" if structured and family.shown == "raw" else family.shown

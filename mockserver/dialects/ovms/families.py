"""The abilities of a model, which the server detects by its chat template, and we by its name (vendor note 6)."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from mockserver.core.generation import Effort

EFFORTS: dict[str, Effort] = {"low": "low", "medium": "medium", "high": "high"}
_DEFAULT_EFFORT: Effort = "medium"


class Thinking(NamedTuple):
    """How models of a family reason: whether by default, whether there is a switch, and what ends their thoughts."""

    unasked: bool = True
    switch: bool = True
    end: Literal["\n", ""] = "\n"


# The first that is found in a name counts; None for models without reasoning.
_FAMILIES: tuple[tuple[str, Thinking | None], ...] = (
    (r"gpt-?oss|onyx", Thinking(switch=False, end="")),
    (r"deepseek-?r1|qwq|thinking", Thinking(switch=False)),
    (r"qwen-?3-?(?:coder|vl)|qwen-?3.*instruct", None),
    (r"qwen-?3|minicpm-?5", Thinking()),
    (r"gemma-?4", Thinking(unasked=False, end="")),
)
_SEEING = r"(?<![a-z])vlm?(?![a-z])|vision|llava|pixtral|internvl|minicpm-?v|gemma-?[34]"
# Models whose tool parser has no builder of guided generation, so that nothing forces them to call; those of llama3,
# hermes3 (Qwen), phi4 and devstral have one.
_UNGUIDED = r"gpt-?oss|onyx|mistral|qwen-?3-?coder|gemma-?4|lfm-?2|minicpm"
_GUIDED = r"devstral"


@lru_cache(maxsize=256)
def thinking(model: str) -> Thinking | None:
    """How a model of that name reasons; None if it has no reasoning parser."""
    return next((found for pattern, found in _FAMILIES if re.search(pattern, model, re.IGNORECASE)), None)


@lru_cache(maxsize=256)
def sees(model: str) -> bool:
    """Whether a model of that name accepts images."""
    return re.search(_SEEING, model, re.IGNORECASE) is not None


@lru_cache(maxsize=256)
def must_call(model: str) -> bool:
    """Whether a required call is enforced with a model of that name."""
    return re.search(_GUIDED, model, re.IGNORECASE) is not None or re.search(_UNGUIDED, model, re.IGNORECASE) is None


def effort(model: str, template: Mapping[str, Any]) -> Effort | None:
    """The reasoning effort of a model, given the variables of its chat template; None for no reasoning."""
    family = thinking(model)
    if family is None or not (template.get("enable_thinking", family.unasked) if family.switch else True):
        return None
    asked = template.get("reasoning_effort")
    return EFFORTS.get(asked, _DEFAULT_EFFORT) if isinstance(asked, str) else _DEFAULT_EFFORT


def shows_thoughts(model: str, template: Mapping[str, Any]) -> bool:
    """Whether thoughts would be shown: not if the request has switched reasoning off."""
    family = thinking(model)
    return template.get("enable_thinking") is not False or not (family is None or family.switch)

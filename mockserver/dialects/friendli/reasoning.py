"""Reasoning: which models do it, how a request controls it, and how it is shown (the vendor's guide to reasoning).

A model that can reason does so unless that is switched off: by `chat_template_kwargs.enable_thinking` or an effort of
`none`, which some models obey, or by a `reasoning_budget` of 0, which all obey. Its thoughts are in a field of their
own, the default of models since December 2025, or in the content between `<think>` and `</think>`. Of some models that
are told not to think, they were seen in the content, with only the closing tag (the vendor's own tools say so)."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from mockserver.core.generation import Choice, Effort, GenerationRequest
from mockserver.dialects.friendli.models import Mind

# Where thoughts go: apart from the content, inside it, or nowhere; or the content has their empty tags. Those that are
# `leaked` are inside it with only the closing tag.
Thoughts = Literal["apart", "inside", "leaked", "hidden", "empty"]


class FriendliOptions(NamedTuple):
    """What the neutral request has no field for.

    `timeout` is in seconds, None for none; `forced` are the tokens of a prescribed answer, empty for none;
    `logprobs` and `logits` are what each choice of the documented edition shows of its tokens; `thoughts` is where the
    thoughts of a chat go; `media` are how many tokens of a chat's prompt each medium counts.
    """

    timeout: float | None = None
    forced: tuple[int, ...] = ()
    logprobs: bool = False
    logits: bool = False
    thoughts: Thoughts = "apart"
    media: Mapping[str, int] = MappingProxyType({})


def options_of(request: GenerationRequest) -> FriendliOptions:
    """The options of a request; the defaults for one that another dialect has read."""
    return request.extra if isinstance(request.extra, FriendliOptions) else FriendliOptions()


# --- reasoning -------------------------------------------------------------------------------------------------------

_OPEN, _CLOSE = "<think>\n", "\n</think>\n\n"
_LEAKED_CLOSE = "</think>"
# The vendor's words for reasoning efforts, and our own.
_EFFORTS: Mapping[str, Effort] = {
    "minimal": "minimal",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "xhigh",
    "max": "xhigh",
    "ultracode": "xhigh",
}
_USUAL: Effort = "medium"
_FIELDS = {"reasoning_effort", "reasoning_budget", "chat_template_kwargs", "parse_reasoning", "include_reasoning"}


class Reasoning(NamedTuple):
    """The reasoning for a request: its effort (None for none), where thoughts go, and their budget in tokens."""

    effort: Effort | None
    thoughts: Thoughts
    budget: int | None = None


def read_reasoning(body: Mapping[str, Any], mind: Mind) -> Reasoning:
    """The reasoning that a valid body asks of a model."""
    thinks = mind in ("always", "toggle", "leaks")
    if _FIELDS.isdisjoint(body):
        return Reasoning(_USUAL if thinks else None, "apart")
    # The variables that the request sets in the chat template.
    variables, effort = body.get("chat_template_kwargs") or {}, body.get("reasoning_effort")
    wanted, asked = variables.get("enable_thinking"), body.get("reasoning_budget")
    # Whether the model is told not to think.
    off = effort == "none" or wanted is False
    if mind == "toggle" and off:
        thinks = False
    elif mind == "unknown" and not off:
        # What runs at an endpoint of one's own is unknown: a client that asks for reasoning knows that the model can.
        thinks = bool(effort is not None or asked) if wanted is None else bool(wanted)
    thinks = thinks and asked != 0
    thoughts: Thoughts = "apart"
    if thinks and off and mind == "leaks":
        thoughts = "leaked"
    elif thinks and effort == "none":
        thoughts = "hidden"
    elif body.get("parse_reasoning") is False:
        # "Setting it to [...] false returns empty <think></think> tags."
        thoughts = "empty" if off and not thinks and mind != "plain" else "inside"
    elif body.get("include_reasoning") is False:
        # "Decides whether the parsed reasoning content is included in the response."
        thoughts = "hidden"
    # The vendor's own tools pass the effort to the template instead.
    named = effort or variables.get("reasoning_effort")
    level = _EFFORTS.get(named, _USUAL) if isinstance(named, str) else _USUAL
    # "`-1` means the model reasons without a budget limit."
    return Reasoning(level if thinks else None, thoughts, None if asked is None or asked < 0 else int(asked))


def shown(choice: Choice, where: Thoughts) -> tuple[bool, Sequence[str], Sequence[str]]:
    """The thoughts of a choice as they are to be shown: whether apart from the content; their texts, and the content's.

    The closing tag is left out if the choice was cut within its thoughts.
    """
    texts = choice.texts
    if where == "empty" and texts:
        texts = [_OPEN + _CLOSE + texts[0], *texts[1:]]
    if where not in ("inside", "leaked") or not choice.thoughts:
        return where not in ("inside", "leaked"), choice.thoughts, texts
    opening, closing = (_OPEN, _CLOSE) if where == "inside" else ("", _LEAKED_CLOSE)
    first, *rest = choice.thoughts
    thoughts = [opening + first, *rest]
    if choice.answer_tokens or choice.finish_reason != "length":
        thoughts[-1] += closing
    return False, thoughts, texts

"""Reasoning: which models do it, how a request controls it, and how it is shown (the vendor's guide to reasoning).

A model that can reason does so unless that is switched off: by `chat_template_kwargs.enable_thinking` or an effort of
`none`, which some models obey, or by a `reasoning_budget` of 0, which all obey. Its thoughts are in a field of their
own, the default of models since December 2025, or in the content between `<think>` and `</think>`. Of some models that
are told not to think, they were seen in the content, with only the closing tag (the vendor's own tools say so)."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from mockserver.core.generation import Choice, Effort, GenerationRequest
from mockserver.dialects.friendli.models import Mind, mind_of

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


class Reasoning(NamedTuple):
    """The reasoning for a request: its effort (None for none), where thoughts go, and their budget in tokens."""

    effort: Effort | None
    thoughts: Thoughts
    budget: int | None = None


def read_reasoning(body: Mapping[str, Any], name: str) -> Reasoning:
    """The reasoning that a valid body asks of the model of that name."""
    asked = body.get("reasoning_budget")
    # "`-1` means the model reasons without a budget limit."
    budget = None if asked is None or asked < 0 else int(asked)
    thinks = _thinks(body, name) and budget != 0
    return Reasoning(_effort(body) if thinks else None, _place(body, mind_of(name), thinks=thinks), budget)


def _thinks(body: Mapping[str, Any], name: str) -> bool:
    mind, off = mind_of(name), _is_off(body)
    if mind == "unknown":
        # What runs at an endpoint of one's own is unknown: a client that asks for reasoning knows that the model can.
        wanted = _template_kwargs(body).get("enable_thinking")
        asked = body.get("reasoning_effort") is not None or bool(body.get("reasoning_budget"))
        return not off and bool(asked if wanted is None else wanted)
    return mind in ("always", "leaks") or (mind == "toggle" and not off)


def _is_off(body: Mapping[str, Any]) -> bool:
    """Whether the model is told not to think."""
    return body.get("reasoning_effort") == "none" or _template_kwargs(body).get("enable_thinking") is False


def _effort(body: Mapping[str, Any]) -> Effort:
    """The effort; the vendor's own tools pass it to the template instead."""
    wanted = body.get("reasoning_effort") or _template_kwargs(body).get("reasoning_effort")
    return _EFFORTS.get(wanted, _USUAL) if isinstance(wanted, str) else _USUAL


def _template_kwargs(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The variables that the request sets in the chat template."""
    return body.get("chat_template_kwargs") or {}


def _place(body: Mapping[str, Any], mind: Mind, *, thinks: bool) -> Thoughts:
    off = _is_off(body)
    if thinks and off and mind == "leaks":
        return "leaked"
    if thinks and body.get("reasoning_effort") == "none":
        return "hidden"
    if body.get("parse_reasoning") is False:
        # "Setting it to [...] false returns empty <think></think> tags."
        return "empty" if off and not thinks and mind != "plain" else "inside"
    # "Decides whether the parsed reasoning content is included in the response."
    return "hidden" if body.get("include_reasoning") is False else "apart"


class Passage(NamedTuple):
    """Tokens of an answer with the same place: apart from its content, or within it.

    Those that are `scored` have log-probabilities.
    """

    apart: bool
    texts: Sequence[str]
    scored: bool = False


def stretches(choice: Choice, where: Thoughts) -> tuple[Passage, Passage]:
    """The thoughts and the text of a choice, with thoughts as they are to be shown."""
    if where in ("inside", "leaked"):
        thoughts = _tagged(choice, _OPEN, _CLOSE) if where == "inside" else leaked(choice)
        return Passage(False, thoughts), Passage(False, choice.texts, scored=True)
    texts = _untagged(choice.texts) if where == "empty" else choice.texts
    return Passage(True, choice.thoughts), Passage(False, texts, scored=True)


def leaked(choice: Choice) -> Sequence[str]:
    """Thoughts as part of the content, as a model writes them that was told not to think."""
    return _tagged(choice, "", _LEAKED_CLOSE)


def _tagged(choice: Choice, opening: str, closing: str) -> Sequence[str]:
    """Thoughts as part of the content; the closing tag is left out if the choice was cut within its thoughts."""
    if not choice.thoughts:
        return ()
    first, *rest = choice.thoughts
    texts = [opening + first, *rest]
    if choice.answer_tokens or choice.finish_reason != "length":
        texts[-1] += closing
    return texts


def _untagged(texts: Sequence[str]) -> Sequence[str]:
    """Content that begins with empty tags."""
    return [_OPEN + _CLOSE + texts[0], *texts[1:]] if texts else texts

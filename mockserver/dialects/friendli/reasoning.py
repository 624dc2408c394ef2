"""Reasoning: which models do it, how a request controls it, and how it is shown (the vendor's guide to reasoning).

A model that can reason does so unless that is switched off: by `chat_template_kwargs.enable_thinking`, which some
models obey, or by a `reasoning_budget` of 0, which all obey. Its thoughts are in a field of their own, the default of
models since December 2025, or in the content between `<think>` and `</think>`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mockserver.core.generation import Choice, Effort
from mockserver.dialects.friendli.models import mind_of
from mockserver.dialects.friendli.wishes import Thoughts

_OPEN, _CLOSE = "<think>\n", "\n</think>\n\n"
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
    # "Setting it to [...] false returns empty <think></think> tags."
    emptied = not thinks and mind_of(name) != "plain" and _template_kwargs(body).get("enable_thinking") is False
    return Reasoning(_effort(body) if thinks else None, _place(body, emptied=emptied), budget)


def _thinks(body: Mapping[str, Any], name: str) -> bool:
    wanted = _template_kwargs(body).get("enable_thinking")
    mind = mind_of(name)
    if mind == "unknown":
        # What runs at an endpoint of one's own is unknown: a client that asks for reasoning knows that the model can.
        asked = body.get("reasoning_effort") is not None or bool(body.get("reasoning_budget"))
        return asked if wanted is None else bool(wanted)
    return mind == "always" or (mind == "toggle" and wanted is not False)


def _effort(body: Mapping[str, Any]) -> Effort:
    """The effort; the vendor's own tools pass it to the template instead."""
    wanted = body.get("reasoning_effort") or _template_kwargs(body).get("reasoning_effort")
    return _EFFORTS.get(wanted, _USUAL) if isinstance(wanted, str) else _USUAL


def _template_kwargs(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The variables that the request sets in the chat template."""
    return body.get("chat_template_kwargs") or {}


def _place(body: Mapping[str, Any], *, emptied: bool) -> Thoughts:
    if body.get("parse_reasoning") is False:
        return "empty" if emptied else "inside"
    # "Decides whether the parsed reasoning content is included in the response."
    return "hidden" if body.get("include_reasoning") is False else "apart"


class Stretch(NamedTuple):
    """Tokens of an answer with the same place: apart from its content, or within it.

    Those that are `scored` have log-probabilities.
    """

    apart: bool
    texts: Sequence[str]
    scored: bool = False


def stretches(choice: Choice, where: Thoughts) -> tuple[Stretch, Stretch]:
    """The thoughts and the text of a choice, with thoughts as they are to be shown."""
    if where == "inside":
        return Stretch(False, _tagged(choice)), Stretch(False, choice.texts, scored=True)
    texts = _untagged(choice.texts) if where == "empty" else choice.texts
    return Stretch(True, choice.thoughts), Stretch(False, texts, scored=True)


def _tagged(choice: Choice) -> Sequence[str]:
    """Thoughts as part of the content; the closing tag is left out if the choice was cut within its thoughts."""
    if not choice.thoughts:
        return ()
    first, *rest = choice.thoughts
    texts = [_OPEN + first, *rest]
    if choice.answer_tokens or choice.finish_reason != "length":
        texts[-1] += _CLOSE
    return texts


def _untagged(texts: Sequence[str]) -> Sequence[str]:
    """Content that begins with empty tags."""
    return [_OPEN + _CLOSE + texts[0], *texts[1:]] if texts else texts

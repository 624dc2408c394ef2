"""Tokens that are counted and not shown: those of thinking, and those of a prediction that did not come true."""

from collections.abc import Sequence

from mockserver.core.generation import Effort, Unseen
from mockserver.core.seeding import Draws, derive
from mockserver.generation import tokens

# How many tokens a model thinks at each effort: at least, and fewer than.
_THINKING: dict[Effort, tuple[int, int]] = {
    "none": (0, 1),
    "minimal": (8, 32),
    "low": (48, 160),
    "medium": (192, 512),
    "high": (640, 1536),
    "xhigh": (1664, 4096),
}
_SPAN = 3


def thinking(effort: Effort | None, content: int, own: int) -> int:
    """How many tokens a choice thinks before it speaks; `content` and `own` are those of its story."""
    if effort is None:
        return 0
    least, most = _THINKING[effort]
    return least + Draws(derive(content, "thinking", own)).below(most - least)


def unseen(reasoning: int, prediction: str | None, answers: Sequence[Sequence[int]], room: int | None) -> Unseen:
    """What is not shown of all answers together; not more than `room` tokens of a prediction are rejected."""
    if prediction is None:
        return Unseen(reasoning)
    expected = tokens.encode(prediction)
    accepted = sum(_came_true(expected, said) for said in answers)
    rejected = len(expected) * len(answers) - accepted
    return Unseen(reasoning, accepted, rejected if room is None else max(min(rejected, room), 0))


def _came_true(expected: Sequence[int], said: Sequence[int]) -> int:
    """How many tokens of a prediction an answer has, in its order.

    Both are read side by side. Where they part, the prediction is taken up again behind the place that has the same
    last three tokens, as a server that checks a draft against its model does.
    """
    behind: dict[tuple[int, ...], int] = {}
    for end in range(_SPAN, len(expected) + 1):
        behind.setdefault(tuple(expected[end - _SPAN : end]), end)
    accepted, at = 0, 0
    for count, token in enumerate(said, 1):
        if at < len(expected) and expected[at] == token:
            accepted, at = accepted + 1, at + 1
        else:
            at = max(behind.get(tuple(said[max(count - _SPAN, 0) : count]), at), at)
    return accepted

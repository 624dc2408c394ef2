"""Tokens that are counted besides those of the answer: of reasoning, and of rejected predictions."""

from collections.abc import Sequence

from mockserver.core.generation import Choice, Effort, Generation, GenerationRequest, Unseen
from mockserver.core.seeding import Draws, derive
from mockserver.model import tokens

# The number of reasoning tokens at each effort: at least the first, less than the second.
_THINKING: dict[Effort, tuple[int, int]] = {
    "none": (0, 1),
    "minimal": (8, 32),
    "low": (48, 160),
    "medium": (192, 512),
    "high": (640, 1536),
    "xhigh": (1664, 4096),
}
_SPAN = 3


def thinking(effort: Effort, content: int, own: int) -> int:
    """The number of reasoning tokens of a choice; `content` and `own` are the seeds of its story."""
    least, most = _THINKING[effort]
    return least + Draws(derive(content, "thinking", own)).below(most - least)


def unseen(request: GenerationRequest, choices: Sequence[Choice]) -> Unseen:
    """The unseen tokens of all choices together; rejected ones only as many as fit into the token limit."""
    reasoning = sum(choice.reasoning for choice in choices)
    if request.prediction is None:
        return Unseen(reasoning)
    most = request.limits.max_tokens
    visible = sum(choice.answer_tokens for choice in choices)
    room = None if most is None else most * len(choices) - visible - reasoning
    return foreseen(request.prediction, [choice.ids for choice in choices], room)._replace(reasoning=reasoning)


def foreseen(prediction: str, answers: Sequence[Sequence[int]], room: int | None = None) -> Unseen:
    """The accepted and rejected tokens of a prediction for all answers; at most `room` tokens are rejected."""
    expected = tokens.encode(prediction)
    accepted = sum(_came_true(expected, ids) for ids in answers)
    rejected = len(expected) * len(answers) - accepted
    return Unseen(0, accepted, rejected if room is None else max(min(rejected, room), 0))


def with_prediction_recounted(generation: Generation) -> Generation:
    """A generation whose choices have been changed, with the tokens of its prediction counted again."""
    old, prediction = generation.usage.unseen, generation.request.prediction
    if old is None or prediction is None:
        return generation
    more = unseen(generation.request, generation.choices)._replace(reasoning=old.reasoning)
    completion = generation.usage.completion_tokens + more.rejected - old.rejected
    return generation._replace(usage=generation.usage._replace(completion_tokens=completion, unseen=more))


def _came_true(expected: Sequence[int], answer: Sequence[int]) -> int:
    """The number of tokens of a prediction that an answer has, in its order.

    Both are read in parallel. Once they differ, the prediction is resumed after the next place with the same last three
    tokens, as by a server that verifies a draft with its model.
    """
    behind: dict[tuple[int, ...], int] = {}
    for end in range(_SPAN, len(expected) + 1):
        behind.setdefault(tuple(expected[end - _SPAN : end]), end)
    accepted, at = 0, 0
    for count, token in enumerate(answer, 1):
        if at < len(expected) and expected[at] == token:
            accepted, at = accepted + 1, at + 1
        else:
            at = max(behind.get(tuple(answer[max(count - _SPAN, 0) : count]), at), at)
    return accepted

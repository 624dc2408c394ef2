"""Faults of the model itself: its output is cut, empty, repetitive, refused or broken, in every dialect's format.

Usage, log-probabilities and finish reasons stay consistent with the output.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from mockserver.core.generation import (
    LONGEST_CHOICE,
    Choice,
    Generation,
    GenerationRequest,
    Position,
    ToolCall,
    first_steps,
)
from mockserver.faults.rules import Fault

Item = TypeVar("Item")

# The token of a line end: ids below 256 are single bytes.
_LINE_END = 10

# How a fault changes a choice.
Change = Callable[[Choice, Fault, GenerationRequest], Choice]


def with_changed_choices(generation: Generation, fault: Fault, change: Change) -> Generation:
    """The generation with each of its choices changed; none is longer than the request allows."""
    request = generation.request
    return generation.with_choices(
        tuple(_within_limits(change(choice, fault, request), request) for choice in generation.choices)
    )


def give_the_same_answer(one: Generation, other: Generation) -> bool:
    """Whether two generations give the same answer."""
    return all(_shown(mine) == _shown(its) for mine, its in zip(one.choices, other.choices, strict=True))


def _shown(choice: Choice) -> tuple[object, ...]:
    calls = [(call.name, call.arguments) for call in choice.calls]
    visible = choice.text, len(choice.ids), choice.finish_reason, choice.stop, choice.refusal, calls
    return *visible, len(choice.thoughts)


def finish(choice: Choice, fault: Fault, request: GenerationRequest) -> Choice:
    """The choice ends at the fault's place (its own end without one), for the reason that the fault names.

    A choice that has ended before that keeps its own reason.
    """
    kept = choice.steps if fault.place.after_token is None else fault.place.after_token
    if choice.steps < kept:
        return choice
    return _beginning(choice, kept)._replace(finish_reason=fault.settings["reason"], stop=None)


def silence(choice: Choice, fault: Fault, request: GenerationRequest) -> Choice:
    """The choice has no text, whatever its thoughts, and ends as if that were natural."""
    return _beginning(choice, len(choice.thoughts))._replace(finish_reason="stop", stop=None)


def repeat(choice: Choice, fault: Fault, request: GenerationRequest) -> Choice:
    """From the fault's place on, the choice repeats one token; in its first call if it has no text."""
    start = _place_in_text(choice, fault)
    if not choice.ids and choice.calls:
        call = choice.calls[0]
        stuck = call._replace(ids=_stuck(call.ids, start), texts=_stuck(call.texts, start))
        return choice._replace(calls=(stuck,))
    return choice._replace(
        ids=_stuck(choice.ids, start), texts=_stuck(choice.texts, start), positions=_stuck(choice.positions, start)
    )


def whitespace(choice: Choice, fault: Fault, request: GenerationRequest) -> Choice:
    """From the fault's place on, nothing but line ends; the choice has no other end."""
    kept = _beginning(choice, len(choice.thoughts) + min(_place_in_text(choice, fault), len(choice.ids)))
    count = min(fault.settings["tokens"], LONGEST_CHOICE)
    alternatives = request.output.logprobs
    top = ((_LINE_END, "\n", -0.01),) if alternatives else ()
    blanks = [] if alternatives is None else [Position(-0.01, top)] * count
    return kept._replace(
        ids=[*kept.ids, *[_LINE_END] * count],
        texts=[*kept.texts, *["\n"] * count],
        positions=[*kept.positions, *blanks],
        finish_reason="length",
        stop=None,
        calls=(),
    )


def decline(choice: Choice, fault: Fault, request: GenerationRequest) -> Choice:
    """The choice refuses to answer; the wording is added later."""
    return silence(choice, fault, request)._replace(refusal=True)


def break_calls(choice: Choice, fault: Fault, request: GenerationRequest) -> Choice:
    """The choice calls functions with unusable arguments or names."""
    broken = _BREAKS[fault.settings["how"]]
    return choice._replace(calls=tuple(broken(call) if call.kind == "function" else call for call in choice.calls))


def _misshaped(call: ToolCall) -> ToolCall:
    """The call with a list around the object that its function takes."""
    texts = list(call.texts)
    if texts:
        texts[0] = f"[{texts[0]}"
        texts[-1] += "]"
    return call._replace(texts=texts)


_BREAKS: dict[str, Callable[[ToolCall], ToolCall]] = {
    "json": lambda call: call.beginning(max(len(call.ids) - 1, 0)),
    "name": lambda call: call._replace(name=f"{call.name}_v2"),
    "schema": _misshaped,
}


def _within_limits(choice: Choice, request: GenerationRequest) -> Choice:
    """The choice, cut to what the request's limit and the context window leave for it."""
    most = max(request.limits.context - choice.prompt.token_count, 0)
    limit = most if request.limits.max_tokens is None else min(request.limits.max_tokens, most)
    room = max(limit - choice.reasoning, 0)
    if choice.answer_tokens <= room:
        return choice
    return _beginning(choice, len(choice.thoughts) + room)._replace(finish_reason="length")


def _stuck(items: Sequence[Item], start: int) -> Sequence[Item]:
    """The items, in which the one at `start` replaces each that follows it."""
    return [*items[:start], *[item for item in items[start : start + 1] for _ in items[start:]]]


def _place_in_text(choice: Choice, fault: Fault) -> int:
    """After how many tokens of its text a choice is changed; its thoughts come first."""
    return max((fault.place.after_token or 0) - len(choice.thoughts), 0)


def _beginning(choice: Choice, steps: int) -> Choice:
    """The choice up to a number of decoding steps, through its thoughts, its text and its calls."""
    thoughts = choice.thoughts[:steps]
    count = steps - len(thoughts)
    return choice._replace(
        thoughts=thoughts,
        reasoning=choice.reasoning - len(choice.thoughts) + len(thoughts),
        ids=choice.ids[:count],
        texts=choice.texts[:count],
        positions=choice.positions[:count],
        calls=first_steps(choice.calls, count - len(choice.ids)),
    )

"""How much of what a model generates has been sent, and how much of it was planned.

What a fault keeps from the client, or a client does not wait for, is planned but not sent. For tokens and tool calls
the player's record counts what was sent; the ends of choices are looked up in the bytes, since an end may be sent with
the last token or long after it.
"""

from collections import deque
from collections.abc import Callable, Iterator, Set
from itertools import chain, islice
from typing import Any

import orjson

from mockserver.core.generation import Choice, Generation, ToolCall
from mockserver.core.timeline import Record
from mockserver.state.plan import Plan

# How many events may follow the one that ends the last choice: usage, the terminator, and what faults add.
_LAST_EVENTS = 8


def sent_and_planned(plan: Plan, generation: Generation, record: Record) -> dict[str, Any]:
    """The usage, finish reasons and tool calls that have been sent so far; and under `planned`, in the same format,
    those that the model has decided on, whether they are sent or not."""
    planned = _output(generation, generation.usage.completion_tokens, generation.choices, lambda call, step: True)
    return {**(planned if _is_whole(plan, record) else _gone_out(plan, generation, record)), "planned": planned}


def has_finished(plan: Plan, record: Record) -> bool:
    """Whether the client was sent the end of a stream, or all of a plain answer."""
    if not plan.timeline.streamed:
        return plan.timeline.ending is None
    last = deque(_sent(plan, record), maxlen=_LAST_EVENTS)
    return plan.context.route.dialect.finishes.search(b"".join(last)) is not None


def _gone_out(plan: Plan, generation: Generation, record: Record) -> dict[str, Any]:
    sent = record.tokens_sent
    tokens = generation.usage.completion_tokens
    if sent < sum(choice.steps for choice in generation.choices):
        tokens = min(tokens, sent)
    ended = _ended(plan, generation, record)
    choices = tuple(choice for choice in generation.choices if choice.index in ended)
    # Choices are sent in parallel, so all of them have progressed equally far.
    return _output(
        generation,
        tokens,
        choices,
        lambda call, step: sent >= sum(min(other.steps, step) for other in generation.choices),
    )


def _output(
    generation: Generation, tokens: int, ended: tuple[Choice, ...], is_out: Callable[[ToolCall, int], bool]
) -> dict[str, Any]:
    calls = [call for call, step in _calls(generation) if is_out(call, step)]
    usage = {"prompt_tokens": generation.usage.prompt_tokens, "completion_tokens": tokens}
    if generation.usage.cached_tokens:
        usage["cached_tokens"] = generation.usage.cached_tokens
    return {
        "usage": usage,
        "finish_reasons": [choice.finish_reason for choice in ended],
        "tool_calls": [{"name": call.name, "arguments": call.arguments} for call in calls],
    }


def _is_whole(plan: Plan, record: Record) -> bool:
    """Whether an answer was completed as planned, without anything missing at its end."""
    breaks_off = any(strike.kind.ends or strike.kind.harm == "truncates" for strike in plan.struck)
    return record.closed_by == "server" and not record.given_up and not breaks_off


def _calls(generation: Generation) -> Iterator[tuple[ToolCall, int]]:
    """The tool calls of an answer, each with the number of tokens after which its choice has written it."""
    for choice in generation.choices:
        step = len(choice.thoughts) + len(choice.ids)
        for call in choice.calls:
            step += call.steps
            yield call, step


def _ended(plan: Plan, generation: Generation, record: Record) -> Set[int]:
    """The indices of the choices whose ends have been sent; for a plain body all or none."""
    unspoilt = all(strike.kind.ends for strike in plan.struck)
    if unspoilt and record.tokens_sent < min((choice.steps for choice in generation.choices), default=0):
        # No end is sent before the tokens, so a long stream need not be searched.
        return frozenset()
    data = b"".join(_sent(plan, record))
    everyone = {choice.index for choice in generation.choices}
    if not plan.timeline.streamed:
        return everyone if _object(data) else frozenset()
    finishes, ended = plan.context.route.dialect.finishes, set[int]()
    # An event without a blank line after it is incomplete.
    for event in data.replace(b"\r\n", b"\n").split(b"\n\n")[:-1]:
        value = _object(event[event.find(b"{") :]) if finishes.search(event) else {}
        if value:
            named = [choice.get("index", 0) for choice in value.get("choices") or () if choice.get("finish_reason")]
            ended.update(named or everyone)
    return ended


def _sent(plan: Plan, record: Record) -> Iterator[bytes]:
    """The frames that have been sent."""
    return islice(chain.from_iterable(run.data for run in plan.timeline.runs), record.events_sent)


def _object(data: bytes) -> dict[str, Any]:
    """The JSON object in the data, empty if there is no valid one."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}

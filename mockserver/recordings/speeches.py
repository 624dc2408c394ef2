"""What the model wrote in a recorded answer: with this speech, a dialect here gives an answer with the same parts."""

from collections.abc import Iterable, Mapping
from typing import Any, get_args

from mockserver.core.generation import FinishReason
from mockserver.model.prepared import Speech
from mockserver.recordings.events import Event
from mockserver.recordings.typed_events import counts_of, is_typed, table, typed_speech

_REASONS: Mapping[str, FinishReason] = {reason: reason for reason in get_args(FinishReason)}
# The fields for reasoning, which differ between servers.
_THOUGHTS = ("reasoning", "reasoning_content")


def speech_of(events: Iterable[Event]) -> Speech | None:
    """The speech of the first choice in the events of a stream or in a body; None if no model answered."""
    events = list(events)
    if is_typed(events):
        return typed_speech(events)
    texts, calls, finish, stop, usage = dict[str, str](), dict[int, list[str]](), None, None, dict[str, Any]()
    spoke = False
    for event in events:
        value = table(event.value)
        usage = table(value.get("usage")) or usage
        for choice in _first_choices(value):
            spoke = True
            finish, stop = choice.get("finish_reason") or finish, choice.get("stop_reason") or stop
            message = table(choice.get("delta")) or table(choice.get("message")) or choice
            for key in ("content", "text", "refusal", *_THOUGHTS):
                part = message.get(key)
                texts[key] = texts.get(key, "") + (part if isinstance(part, str) else "")
            _add_calls(calls, message)
    if not spoke:
        return None
    return Speech(
        text=texts["content"] or texts["text"] or texts["refusal"],
        calls=tuple((name, arguments) for name, arguments in calls.values()),
        refusal=bool(texts["refusal"]),
        reasoning="".join(texts[key] for key in _THOUGHTS),
        finish_reason=_REASONS.get(str(finish)),
        counts=counts_of(usage, "prompt", "completion"),
        stop=stop if isinstance(stop, str) else None,
    )


def speaks(event: Event) -> bool:
    """Whether an event of a stream has a part of what the model says, and does not only announce it."""
    if is_typed([event]):
        return str(event.value.get("type")).endswith(".delta")
    speech = speech_of([event])
    return speech is not None and bool(speech.text or speech.reasoning or speech.calls)


def _first_choices(value: Mapping[str, Any]) -> list[dict[str, Any]]:
    choices = value.get("choices")
    listed = choices if isinstance(choices, list) else []
    return [choice for choice in listed if isinstance(choice, dict) and not choice.get("index")]


def _add_calls(calls: dict[int, list[str]], message: Mapping[str, Any]) -> None:
    """Add the parts of tool calls, each at its index: a name, a piece of the arguments, or both."""
    listed = message.get("tool_calls")
    alone = table(message.get("function_call"))
    parts = [{"function": alone}] if alone else listed if isinstance(listed, list) else []
    for place, part in enumerate(part for part in parts if isinstance(part, dict)):
        index, function = part.get("index"), table(part.get("function"))
        call = calls.setdefault(index if isinstance(index, int) else place, ["", ""])
        for at, key in enumerate(("name", "arguments")):
            call[at] += function[key] if isinstance(function.get(key), str) else ""

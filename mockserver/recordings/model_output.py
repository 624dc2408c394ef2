"""What the model wrote in a recorded answer: with this, a dialect here gives an answer with the same parts."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

from mockserver.core.generation import FinishReason
from mockserver.model.prepared import Counts, ScriptedOutput
from mockserver.recordings.recorded import RecordedEvent

_REASONS: Mapping[object, FinishReason] = {reason: reason for reason in get_args(FinishReason)}
# The fields for reasoning, which differ between servers.
_THOUGHTS = ("reasoning", "reasoning_content")
# The Responses API: the events that end a stream, the reasons for an incomplete response, and the field with the
# arguments of a call, by the type of its item.
_LAST = ("response.completed", "response.incomplete", "response.failed")
_INCOMPLETE: Mapping[object, FinishReason] = {
    "max_output_tokens": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
}
_ARGUMENTS = {"function_call": "arguments", "custom_tool_call": "input"}


def scripted_output(events: Iterable[RecordedEvent]) -> ScriptedOutput | None:
    """What the model says in the first choice in the events of a stream or in a body; None if no model answered."""
    events = list(events)
    if _is_of_responses(events):
        return _output_of_response(events)
    if _is_of_messages(events):
        return _output_of_message(events)
    texts, calls, finish, stop, usage = dict[str, str](), dict[int, list[str]](), None, None, dict[str, Any]()
    spoke = False
    for event in events:
        value = _table(event.value)
        usage = _table(value.get("usage")) or usage
        for choice in _first_choices(value):
            spoke = True
            finish, stop = choice.get("finish_reason") or finish, choice.get("stop_reason") or stop
            message = _table(choice.get("delta")) or _table(choice.get("message")) or choice
            for key in ("content", "text", "refusal", *_THOUGHTS):
                part = message.get(key)
                texts[key] = texts.get(key, "") + (part if isinstance(part, str) else "")
            _add_calls(calls, message)
    if not spoke:
        return None
    return ScriptedOutput(
        text=texts["content"] or texts["text"] or texts["refusal"],
        calls=tuple((name, arguments) for name, arguments in calls.values()),
        refusal=bool(texts["refusal"]),
        reasoning="".join(texts[key] for key in _THOUGHTS),
        finish_reason=_REASONS.get(str(finish)),
        counts=_counts(usage, "prompt", "completion"),
        stop=stop if isinstance(stop, str) else None,
    )


def has_output(event: RecordedEvent) -> bool:
    """Whether an event of a stream has a part of what the model says, and does not only announce it."""
    if _is_of_responses([event]):
        return str(event.value.get("type")).endswith(".delta")
    if _is_of_messages([event]):
        return bool(event.value.get("type") == "content_block_delta")
    scripted = scripted_output([event])
    return scripted is not None and bool(scripted.text or scripted.reasoning or scripted.calls)


def _first_choices(value: Mapping[str, Any]) -> list[dict[str, Any]]:
    choices = value.get("choices")
    listed = choices if isinstance(choices, list) else []
    return [choice for choice in listed if isinstance(choice, dict) and not choice.get("index")]


def _add_calls(calls: dict[int, list[str]], message: Mapping[str, Any]) -> None:
    """Add the parts of tool calls, each at its index: a name, a piece of the arguments, or both."""
    listed = message.get("tool_calls")
    alone = _table(message.get("function_call"))
    parts = [{"function": alone}] if alone else listed if isinstance(listed, list) else []
    for place, part in enumerate(part for part in parts if isinstance(part, dict)):
        index, function = part.get("index"), _table(part.get("function"))
        call = calls.setdefault(index if isinstance(index, int) else place, ["", ""])
        for at, key in enumerate(("name", "arguments")):
            call[at] += function[key] if isinstance(function.get(key), str) else ""


# --- the Responses API --------------------------------------------------------------------------------------------


def _is_of_responses(events: Sequence[RecordedEvent]) -> bool:
    """Whether an answer is a response, or begins with an event of one."""
    value = _table(events[0].value) if events else {}
    return value.get("object") == "response" or str(value.get("type")).startswith("response.")


def _output_of_response(events: Sequence[RecordedEvent]) -> ScriptedOutput | None:
    """What the model says; for a stream that broke off as much as was sent."""
    response = next((found for event in reversed(events) if (found := _whole(event.value))), None)
    items = response["output"] if response else list(_pieces(events))
    parts = [_table(item) for item in items if isinstance(item, dict)]
    if not parts:
        return None
    calls = tuple(
        (str(item.get("name")), str(item.get(_ARGUMENTS[item["type"]], "")))
        for item in parts
        if item.get("type") in _ARGUMENTS
    )
    messages = [part for item in parts if item.get("type") == "message" for part in _tables(item.get("content"))]
    thoughts = [item for item in parts if item.get("type") == "reasoning"]
    refusal = "".join(str(part.get("refusal", "")) for part in messages)
    reason = _table((response or {}).get("incomplete_details")).get("reason")
    return ScriptedOutput(
        text="".join(str(part.get("text", "")) for part in messages) or refusal,
        calls=calls,
        refusal=bool(refusal),
        reasoning="".join(_texts(each.get("content")) or _texts(each.get("summary")) for each in thoughts),
        finish_reason=_INCOMPLETE.get(reason) or ("tool_calls" if calls else "stop" if response else None),
        counts=_counts(_table((response or {}).get("usage")), "input", "output"),
    )


# --- the Messages API ---------------------------------------------------------------------------------------------

# Why a message has ended, in the words of chats; of any other reason nothing is told.
_ENDS: Mapping[object, FinishReason] = {
    **dict.fromkeys(("end_turn", "stop_sequence", "refusal"), "stop"),
    **dict.fromkeys(("max_tokens", "model_context_window_exceeded"), "length"),
    "tool_use": "tool_calls",
}
# The texts of deltas, with the members of their blocks that they are parts of.
_TEXTS = {"text": "text", "thinking": "thinking", "partial_json": "input"}


def _is_of_messages(events: Sequence[RecordedEvent]) -> bool:
    """Whether an answer is a message, or begins with an event of one."""
    kind = str(_table(events[0].value).get("type")) if events else ""
    return kind in ("message", "ping") or kind.startswith(("message_", "content_block_"))


def _output_of_message(events: Sequence[RecordedEvent]) -> ScriptedOutput | None:
    """What the model says; for a stream that broke off as much as was sent."""
    message, blocks = dict[str, Any](), list[dict[str, Any]]()
    for value in (_table(event.value) for event in events):
        if value.get("type") == "message":
            message, blocks = value, _tables(value.get("content"))
        elif value.get("type") == "content_block_start":
            blocks.append({**_table(value.get("content_block")), "input": ""})
        elif value.get("type") == "content_block_delta" and blocks:
            for name, said in _table(value.get("delta")).items():
                if name in _TEXTS and isinstance(said, str):
                    blocks[-1][_TEXTS[name]] = str(blocks[-1].get(_TEXTS[name], "")) + said
        else:
            message |= _table(value.get("message")) | _table(value.get("delta"))
            message["usage"] = _table(message.get("usage")) | _table(value.get("usage"))
    if not blocks and "stop_reason" not in message:
        return None
    usage, stop = _table(message.get("usage")), message.get("stop_sequence")
    read = [_count(usage.get(f"{name}input_tokens")) for name in ("", "cache_creation_", "cache_read_")]
    thought = _table(usage.get("output_tokens_details")).get("thinking_tokens")
    given = [(each, each.get("input") or "{}") for each in blocks if each.get("type") == "tool_use"]
    return ScriptedOutput(
        text="".join(str(each.get("text", "")) for each in blocks),
        calls=tuple(
            (str(each.get("name")), said if isinstance(said, str) else json.dumps(said, ensure_ascii=False))
            for each, said in given
        ),
        refusal=message.get("stop_reason") == "refusal",
        reasoning="".join(str(each.get("thinking", "")) for each in blocks),
        finish_reason=_ENDS.get(message.get("stop_reason")),
        counts=Counts(
            None if read[0] is None else sum(count or 0 for count in read),
            _count(usage.get("output_tokens")),
            read[2] or None,
            _count(thought) or None,
        ),
        stop=stop if isinstance(stop, str) else None,
    )


def _counts(usage: Mapping[str, Any], prompt: str, completion: str) -> Counts:
    """The counts in a usage, which calls the tokens of a prompt and those of a completion by these words."""
    read, written = (_table(usage.get(f"{word}_tokens_details")) for word in (prompt, completion))
    return Counts(
        _count(usage.get(f"{prompt}_tokens")),
        _count(usage.get(f"{completion}_tokens")),
        _count(read.get("cached_tokens")),
        _count(written.get("reasoning_tokens")),
    )


def _table(value: Any) -> dict[str, Any]:
    """An object; empty if the value is none."""
    return value if isinstance(value, dict) else {}


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None


def _whole(value: Any) -> Mapping[str, Any] | None:
    """The response in a body, or in the event at the end of a stream."""
    found = _table(value)
    if found.get("type") in _LAST:
        found = _table(found.get("response"))
    return found if isinstance(found.get("output"), list) and found.get("object") == "response" else None


def _pieces(events: Iterable[RecordedEvent]) -> Iterable[Mapping[str, Any]]:
    """The items of a stream that broke off: the completed ones, and the text of the one in progress."""
    text = ""
    for event in events:
        value = _table(event.value)
        if value.get("type") == "response.output_item.done":
            text = ""
            yield _table(value.get("item"))
        elif value.get("type") == "response.output_text.delta":
            text += str(value.get("delta"))
    if text:
        yield {"type": "message", "content": [{"type": "output_text", "text": text}]}


def _texts(parts: Any) -> str:
    return "".join(str(part.get("text", "")) for part in _tables(parts))


def _tables(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []

"""What the model wrote in a recorded answer of the Responses API: a response, or typed events that end in one."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mockserver.core.generation import FinishReason
from mockserver.model.prepared import Counts, Speech
from mockserver.recordings.events import Event

_LAST = ("response.completed", "response.incomplete", "response.failed")
_REASONS: Mapping[object, FinishReason] = {
    "max_output_tokens": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
}
# The field with the arguments of a call, by the type of its item.
_ARGUMENTS = {"function_call": "arguments", "custom_tool_call": "input"}


def is_typed(events: Sequence[Event]) -> bool:
    """Whether an answer is a response, or begins with an event of one."""
    value = table(events[0].value) if events else {}
    return value.get("object") == "response" or str(value.get("type")).startswith("response.")


def typed_speech(events: Sequence[Event]) -> Speech | None:
    """The speech of the model; for a stream that broke off as much as was sent."""
    response = next((found for event in reversed(events) if (found := _whole(event.value))), None)
    items = response["output"] if response else list(_pieces(events))
    parts = [table(item) for item in items if isinstance(item, dict)]
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
    reason = table((response or {}).get("incomplete_details")).get("reason")
    return Speech(
        text="".join(str(part.get("text", "")) for part in messages) or refusal,
        calls=calls,
        refusal=bool(refusal),
        reasoning="".join(_texts(each.get("content")) or _texts(each.get("summary")) for each in thoughts),
        finish_reason=_REASONS.get(reason) or ("tool_calls" if calls else "stop" if response else None),
        counts=counts_of(table((response or {}).get("usage")), "input", "output"),
    )


def counts_of(usage: Mapping[str, Any], prompt: str, completion: str) -> Counts:
    """The counts in a usage, which calls the tokens of a prompt and those of a completion by these words."""
    read, written = (table(usage.get(f"{word}_tokens_details")) for word in (prompt, completion))
    return Counts(
        _count(usage.get(f"{prompt}_tokens")),
        _count(usage.get(f"{completion}_tokens")),
        _count(read.get("cached_tokens")),
        _count(written.get("reasoning_tokens")),
    )


def table(value: Any) -> dict[str, Any]:
    """An object; empty if the value is none."""
    return value if isinstance(value, dict) else {}


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None


def _whole(value: Any) -> Mapping[str, Any] | None:
    """The response in a body, or in the event at the end of a stream."""
    found = table(value)
    if found.get("type") in _LAST:
        found = table(found.get("response"))
    return found if isinstance(found.get("output"), list) and found.get("object") == "response" else None


def _pieces(events: Iterable[Event]) -> Iterable[Mapping[str, Any]]:
    """The items of a stream that broke off: the completed ones, and the text of the one in progress."""
    text = ""
    for event in events:
        value = table(event.value)
        if value.get("type") == "response.output_item.done":
            text = ""
            yield table(value.get("item"))
        elif value.get("type") == "response.output_text.delta":
            text += str(value.get("delta"))
    if text:
        yield {"type": "message", "content": [{"type": "output_text", "text": text}]}


def _texts(parts: Any) -> str:
    return "".join(str(part.get("text", "")) for part in _tables(parts))


def _tables(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []

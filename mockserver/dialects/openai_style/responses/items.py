"""The `input` of a request as the messages of a chat: what was said, called and given back before.

All of it takes any JSON: a journal reads what was refused, too.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Item = Mapping[str, Any]
Message = dict[str, Any]

_TEXTS = ("input_text", "output_text", "text")


def messages_of(given: object, instructions: object = None) -> list[Message]:
    """The conversation, after its `instructions`; a call belongs to the message of the assistant before it.

    What was thought, and what only points at something stored, says nothing again.
    """
    told: list[Message] = []
    if isinstance(instructions, str) and instructions:
        told.append({"role": "system", "content": instructions})
    if isinstance(given, str):
        return [*told, {"role": "user", "content": given}]
    for item in given if isinstance(given, list) else ():
        read = _READERS.get(_kind(item)) if isinstance(item, dict) else None
        if read is not None:
            read(item, told)
    return told


def files_of(messages: Sequence[Message]) -> list[str]:
    """What names the files in a conversation, in their order."""
    parts = [part for message in messages if isinstance(message["content"], list) for part in message["content"]]
    return [part["file"] for part in parts if part["type"] == "file"]


def _kind(item: Item) -> str:
    """An item's type; one that has none, but a role, is a message."""
    kind = item.get("type")
    return "message" if kind is None and "role" in item else str(kind)


def _say(item: Item, told: list[Message]) -> None:
    told.append({"role": str(item.get("role", "")), "content": _content(item.get("content"))})


def _call(item: Item, told: list[Message], call: Message) -> None:
    if not told or told[-1]["role"] != "assistant":
        told.append({"role": "assistant", "content": ""})
    told[-1].setdefault("tool_calls", []).append({"id": str(item.get("call_id", "")), **call})


def _call_function(item: Item, told: list[Message]) -> None:
    function = {"name": str(item.get("name", "")), "arguments": _text(item.get("arguments"))}
    _call(item, told, {"type": "function", "function": function})


def _call_custom(item: Item, told: list[Message]) -> None:
    custom = {"name": str(item.get("name", "")), "input": _text(item.get("input"))}
    _call(item, told, {"type": "custom", "custom": custom})


def _give_back(item: Item, told: list[Message]) -> None:
    output = _content(item.get("output"))
    told.append({"role": "tool", "tool_call_id": str(item.get("call_id", "")), "content": output})


_READERS: Mapping[str, Callable[[Item, list[Message]], None]] = {
    "message": _say,
    "function_call": _call_function,
    "function_call_output": _give_back,
    "custom_tool_call": _call_custom,
    "custom_tool_call_output": _give_back,
}


def _content(value: object) -> str | list[Message]:
    if not isinstance(value, list):
        return _text(value)
    return [made for part in value if isinstance(part, dict) and (made := _part(part)) is not None]


def _part(part: Item) -> Message | None:
    kind = part.get("type")
    if kind in _TEXTS:
        return {"type": "text", "text": _text(part.get("text"))}
    if kind == "refusal":
        return {"type": "refusal", "refusal": _text(part.get("refusal"))}
    if kind == "input_image":
        return {"type": "image_url", "image_url": {"url": _first(part, "image_url", "file_id")}}
    if kind == "input_file":
        return {"type": "file", "file": _first(part, "file_id", "file_url", "file_data", "filename")}
    return None


def _first(part: Item, *names: str) -> str:
    """The first of these that is there; an address may stand in an object of its own."""
    for name in names:
        value = part.get(name)
        value = value.get("url") if isinstance(value, dict) else value
        if isinstance(value, str):
            return value
    return ""


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""

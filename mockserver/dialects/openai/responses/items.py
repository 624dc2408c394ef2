"""The items of the Responses API: those of a request in the form of chats, as are its tools and its format of text; and
the events of those of an answer."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from mockserver.core.generation import Constraint
from mockserver.dialects.contracts import components
from mockserver.dialects.openai.read import Body, read_format
from mockserver.dialects.openai.replies import Kind

Item = Mapping[str, Any]
Message = dict[str, Any]

_TEXTS = ("input_text", "output_text", "text")
# The tokens of a file: a figure of our own, since no vendor states any.
FILE_TOKENS = 256

# What the text of a compaction begins with, so that it looks as the vendor's do.
_SEAL = "gAAAAAB"


def conversation_of(body: Body) -> str | None:
    """The id of the conversation that a request names, if any."""
    conversation = body.get("conversation")
    return conversation and str(conversation["id"] if isinstance(conversation, Mapping) else conversation)


def sealed(text: str) -> str:
    """A text as the encrypted content of a compaction."""
    return _SEAL + urlsafe_b64encode(text.encode()).decode()


def unsealed(content: object) -> str:
    """The text of a compaction, which is empty if somebody else has made it."""
    try:
        return urlsafe_b64decode(str(content).removeprefix(_SEAL)).decode()
    except ValueError:
        return ""


# --- input -------------------------------------------------------------------------------------------------------

# Everything here accepts any JSON, since a journal also reads requests that were refused.


def messages_of(given: object, instructions: object = None) -> list[Message]:
    """The conversation, preceded by its `instructions`; a call is added to the assistant's message before it.

    A compaction tells what it is a summary of; reasoning items and references to stored items are left out.
    """
    messages: list[Message] = []
    if isinstance(instructions, str) and instructions:
        messages.append({"role": "system", "content": instructions})
    if isinstance(given, str):
        return [*messages, {"role": "user", "content": given}]
    for item in given if isinstance(given, list) else ():
        read = _READERS.get(_kind(item)) if isinstance(item, dict) else None
        if read is not None:
            read(item, messages)
    return messages


def files_of(messages: Sequence[Message]) -> list[str]:
    """The files in a conversation, in order: the id, URL, data or filename of each."""
    parts = [part for message in messages if isinstance(message["content"], list) for part in message["content"]]
    return [part["file"] for part in parts if part["type"] == "file"]


def _kind(item: Item) -> str:
    """An item's type; one without a type but with a role is a message."""
    kind = item.get("type")
    return "message" if kind is None and "role" in item else str(kind)


def _add_message(item: Item, messages: list[Message]) -> None:
    messages.append({"role": str(item.get("role", "")), "content": _content(item.get("content"))})


def _add_call(item: Item, messages: list[Message]) -> None:
    kind, said = ("function", "arguments") if item["type"] == "function_call" else ("custom", "input")
    call = {"name": str(item.get("name", "")), said: _text(item.get(said))}
    if not messages or messages[-1]["role"] != "assistant":
        messages.append({"role": "assistant", "content": ""})
    calls = messages[-1].setdefault("tool_calls", [])
    calls.append({"id": str(item.get("call_id", "")), "type": kind, kind: call})


def _add_output(item: Item, messages: list[Message]) -> None:
    output = _content(item.get("output"))
    messages.append({"role": "tool", "tool_call_id": str(item.get("call_id", "")), "content": output})


def _add_compaction(item: Item, messages: list[Message]) -> None:
    text = unsealed(item.get("encrypted_content"))
    if text:
        messages.append({"role": "developer", "content": text})


_READERS: Mapping[str, Callable[[Item, list[Message]], None]] = {
    "message": _add_message,
    "function_call": _add_call,
    "function_call_output": _add_output,
    "custom_tool_call": _add_call,
    "custom_tool_call_output": _add_output,
    "compaction": _add_compaction,
}


def _content(value: object) -> str | list[Message]:
    if not isinstance(value, list):
        return _text(value)
    return [found for part in value if isinstance(part, dict) and (found := _part(part)) is not None]


def _part(part: Item) -> Message | None:
    kind = part.get("type")
    if kind in _TEXTS:
        return {"type": "text", "text": _text(part.get("text"))}
    if kind == "refusal":
        return {"type": "refusal", "refusal": _text(part.get("refusal"))}
    if kind == "input_image":
        detail = {"detail": part["detail"]} if isinstance(part.get("detail"), str) else {}
        return {"type": "image_url", "image_url": {"url": _first(part, "image_url", "file_id"), **detail}}
    if kind == "input_file":
        return {"type": "file", "file": _first(part, "file_id", "file_url", "file_data", "filename")}
    return None


def _first(part: Item, *names: str) -> str:
    """The first of these fields that is a string; a URL may also be the `url` of an object."""
    for name in names:
        value = part.get(name)
        value = value.get("url") if isinstance(value, dict) else value
        if isinstance(value, str):
            return value
    return ""


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


# --- tools -------------------------------------------------------------------------------------------------------

# Tools that are called; the others the vendor would run itself, which is not simulated.
_CALLED = ("function", "custom")


def offered_tools(body: Body) -> list[Body]:
    """The tools on offer: those of the request, and those that items of its input add."""
    given = body.get("input")
    adding = [item for item in given if item.get("type") == "additional_tools"] if isinstance(given, list) else ()
    return [*(body.get("tools") or ()), *(tool for item in adding for tool in item["tools"])]


def chat_tools(body: Body) -> list[Body]:
    """The tools that can be called, in the form of chats."""
    called = [tool for tool in offered_tools(body) if tool["type"] in _CALLED]
    return [{"type": tool["type"], tool["type"]: _tool_fields(tool)} for tool in called]


def _tool_fields(tool: Body) -> Body:
    """A tool without its type; the grammar of a custom tool is nested one level deeper, as in chats."""
    fields = {name: value for name, value in tool.items() if name != "type" and value is not None}
    form = fields.get("format")
    if tool["type"] == "custom" and isinstance(form, Mapping) and form.get("type") == "grammar":
        fields["format"] = {"type": "grammar", "grammar": form}
    return fields


def chat_choice(body: Body) -> str | Body:
    """The tool choice in the form of chats; `auto` instead of a tool that is never called."""
    choice = body.get("tool_choice") or "auto"
    # If only the service's own tools are on offer, a required call may be of one of them, so none is forced.
    if choice == "required" and offered_tools(body) and not chat_tools(body):
        return "auto"
    if isinstance(choice, str):
        return choice
    if choice["type"] == "allowed_tools":
        named = [_named(tool) for tool in choice["tools"] if tool["type"] in _CALLED]
        return {"type": "allowed_tools", "allowed_tools": {"mode": choice["mode"], "tools": named}}
    return _named(choice) if choice["type"] in _CALLED else "auto"


def _named(tool: Body) -> Body:
    return {"type": tool["type"], tool["type"]: {"name": tool.get("name", "")}}


# What is told of a tool where the request says nothing (recorded in August 2026, of files and images earlier), and what
# the vendor's own tools have used, which are never called here.
_TOOLS = components("mockserver.dialects.openai", "tools")()
TOOL_USAGE: Body = _TOOLS["usage"]
_NOWHERE: Body = {"type": "approximate", "city": None, "country": None, "region": None, "timezone": None}
# What is not repeated.
_UNTOLD = ("external_web_access", "input_fidelity", "input_image_mask")
_REDACTED = "<redacted>"


def echoed_tool(tool: Body) -> Body:
    """A tool as the answer repeats it: with all members, without secrets, and those of a namespace alike."""
    kind = tool["type"]
    given = {name: value for name, value in tool.items() if value is not None and name not in _UNTOLD}
    told = {**_TOOLS["unsaid"].get(kind, {}), **given}
    if "user_location" in told:
        told["user_location"] = {**_NOWHERE, **told["user_location"]}
    elif kind == "mcp":
        told["headers"] = told["headers"] and dict.fromkeys(told["headers"], _REDACTED)
        told["allowed_tools"] = _tool_filter(told["allowed_tools"])
        approval = told["require_approval"]
        if isinstance(approval, Mapping):
            told["require_approval"] = {name: _tool_filter(approval.get(name)) for name in ("always", "never")}
        if "authorization" in told:
            told["authorization"] = _REDACTED
    elif kind == "namespace":
        told["tools"] = [echoed_tool(each) for each in told["tools"]]
    return {"type": kind, **dict(sorted(told.items()))}


def _tool_filter(asked: object) -> object:
    return {"read_only": None, **asked} if isinstance(asked, Mapping) else asked


# --- format ------------------------------------------------------------------------------------------------------


def format_of(body: Body) -> Body:
    """The format of the text; any text will do unless the request says otherwise."""
    form: Body | None = (body.get("text") or {}).get("format")
    return form or {"type": "text"}


def constraint_of(body: Body) -> Constraint | None:
    """The constraint that the format puts on the text; None if any text will do."""
    form = format_of(body)
    return read_format({**form, "json_schema": form})


# --- events of items ---------------------------------------------------------------------------------------------


class Form(NamedTuple):
    """The events of a kind of item: `response.<name>.delta` and `response.<name>.done` have its text, in pieces and as
    a whole; `key` is the field of the whole text.

    `response.<part>.added` and `response.<part>.done` open and close the part of the item which has the text, if it has
    parts, and `place` is the field with the index of that part.
    """

    name: str
    key: str
    part: str = ""
    place: str = ""


_IN_CONTENT = ("content_part", "content_index")
FORMS: Mapping[Kind, Form] = {
    "text": Form("output_text", "text", *_IN_CONTENT),
    "refusal": Form("refusal", "refusal", *_IN_CONTENT),
    "thought": Form("reasoning_text", "text", *_IN_CONTENT),
    "summary": Form("reasoning_summary_text", "text", "reasoning_summary_part", "summary_index"),
    "call": Form("function_call_arguments", "arguments"),
    "custom": Form("custom_tool_call_input", "input"),
}

"""Tools and tool choice in the form of the Responses API: a tool's fields are beside its type.

The service's own tools (code, MCP servers, files) are accepted but never called: their results are not simulated. Only
the web is searched, and only in the observed edition.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from mockserver.core.failures import Refusal
from mockserver.core.generation import Prompt
from mockserver.dialects.openai.fields import Body
from mockserver.dialects.openai.tools import Offer
from mockserver.dialects.yandex.tools import offered_fault, read_tools
from mockserver.model.intent import detect_intent

_CALLED = ("function", "custom")


def read_response_tools(body: Body, *, parallel: bool) -> Offer | Refusal:
    """The tools on offer and the tool choice, or why they are refused."""
    chat = {"tools": list(_chat_tools(body)), "tool_choice": _chat_choice(body)}
    return offered_fault(_offered(body)) or read_tools(chat, parallel=parallel)


def query_of(body: Body, prompt: Prompt) -> str | None:
    """The query of a search of the web; None unless that tool is on offer and the user has just asked a question."""
    searches = any(str(tool["type"]).startswith("web_search") for tool in body.get("tools", ()))
    asked = prompt.topic.rstrip().endswith(("?", "？")) and prompt.messages[-1].role == "user"
    return detect_intent(prompt.topic).subject if searches and asked and body.get("tool_choice") != "none" else None


def _offered(body: Body) -> Iterator[tuple[str, str, Body]]:
    for place, tool in enumerate(body.get("tools", ())):
        if tool["type"] in _CALLED:
            yield f"tools[{place}]", tool["type"], _fields(tool)


def _chat_tools(body: Body) -> Iterator[Body]:
    """The tools that can be called, in the form of chats."""
    for tool in body.get("tools", ()):
        if tool["type"] in _CALLED:
            yield {"type": tool["type"], tool["type"]: _fields(tool)}


def _fields(tool: Body) -> Body:
    """A tool without its type; the grammar of a custom tool is nested one level deeper, as in chats."""
    fields = {name: value for name, value in tool.items() if name != "type" and value is not None}
    form = fields.get("format")
    if tool["type"] == "custom" and isinstance(form, Mapping) and form.get("type") == "grammar":
        fields["format"] = {"type": "grammar", "grammar": form}
    return fields


def _chat_choice(body: Body) -> Any:
    """The tool choice in the form of chats; `auto` instead of a tool that is never called."""
    choice = body.get("tool_choice", "auto")
    # If only the service's own tools are on offer, a required call may be of one of them, so none is forced.
    if choice == "required" and body.get("tools") and not any(_chat_tools(body)):
        return "auto"
    if isinstance(choice, str):
        return choice
    if choice["type"] == "allowed_tools":
        named = [_named(tool) for tool in choice["tools"] if tool["type"] in _CALLED]
        return {"type": "allowed_tools", "allowed_tools": {"mode": choice["mode"], "tools": named}}
    return _named(choice) if choice["type"] in _CALLED else "auto"


def _named(tool: Body) -> Body:
    return {"type": tool["type"], tool["type"]: {"name": tool.get("name", "")}}

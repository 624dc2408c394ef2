"""Tools that are functions, and the choice among them, as chats offer them."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mockserver.core.generation import Tool, ToolChoice

_MODES: Mapping[object, ToolChoice] = {
    "none": ToolChoice("none"),
    "auto": ToolChoice("auto"),
    "required": ToolChoice("required"),
}


class Offer(NamedTuple):
    """The tools that a request offers, and the choice among them."""

    tools: tuple[Tool, ...]
    choice: ToolChoice


def function_tools(rows: Sequence[Mapping[str, Any]] | None) -> tuple[Tool, ...]:
    """The `tools` of a request: rows of `{"type": "function", "function": {"name", "description", "parameters"}}`."""
    return tuple(function_tool(row["function"]) for row in rows or ())


def function_tool(function: Mapping[str, Any]) -> Tool:
    """One function. Without `parameters` it takes none; clients send null for what they leave out."""
    return Tool(function["name"], function.get("description") or "", function.get("parameters") or {})


def parameters_fault(function: Mapping[str, Any]) -> str | None:
    """Why no call of a function could have such `parameters`: they have to be a schema that an object can keep to."""
    if not function.get("parameters"):
        return None
    # Loaded with the first tool: most servers are never offered one.
    from mockserver.generation.arguments import arguments_fault

    return arguments_fault(function["parameters"])


def tool_choice(value: str | Mapping[str, Any] | None, *, parallel: bool = True) -> ToolChoice:
    """A `tool_choice`: one of three words, or a function by name. Nothing said is `auto`."""
    if isinstance(value, Mapping):
        return ToolChoice("required", (value["function"]["name"],), parallel)
    return _MODES["auto" if value is None else value]._replace(parallel=parallel)


def unknown_tool(choice: ToolChoice, tools: Sequence[Tool]) -> str | None:
    """A tool that the choice names and nobody offers."""
    offered = {tool.name for tool in tools}
    return next((name for name in choice.names if name not in offered), None)

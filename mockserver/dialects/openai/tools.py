"""The tools of a chat that are functions, and the choice among them."""

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
    """One function. Without `parameters` it takes no arguments; clients send null for fields that they leave out."""
    return Tool(function["name"], function.get("description") or "", function.get("parameters") or {})


def parameters_fault(function: Mapping[str, Any]) -> str | None:
    """Why no call of a function could fit its `parameters`, which must be a schema that some object conforms to."""
    if not function.get("parameters"):
        return None
    # Imported with the first tool: most servers are never offered one.
    from mockserver.model.tools.arguments import arguments_fault

    return arguments_fault(function["parameters"])


def tool_choice(value: str | Mapping[str, Any] | None, *, parallel: bool = True) -> ToolChoice:
    """A `tool_choice`: one of three words, or a function by name. Without one it is `auto`."""
    if isinstance(value, Mapping):
        return ToolChoice("required", (value["function"]["name"],), parallel)
    return _MODES["auto" if value is None else value]._replace(parallel=parallel)


def unknown_tool(choice: ToolChoice, tools: Sequence[Tool]) -> str | None:
    """A tool that the choice names, but the request does not offer."""
    offered = {tool.name for tool in tools}
    return next((name for name in choice.names if name not in offered), None)

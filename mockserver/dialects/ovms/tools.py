"""Tools and the choice among them, which only the newer server knows (vendor note 6)."""

from collections.abc import Mapping, Sequence
from typing import Any

from mockserver.core.dialects import Model
from mockserver.core.generation import Tool, ToolChoice
from mockserver.dialects.openai.tools import parameters_fault, tool_choice
from mockserver.dialects.ovms.fields import Fields
from mockserver.dialects.ovms.models import must_call

_MODES = ("none", "auto", "required")


def tools_fault(fields: Fields, model: Model) -> str | None:
    """What is wrong with the choice, and then with the first tool that it leaves on offer."""
    fault = _choice_fault(fields.get("tool_choice", "auto"))
    if fault is not None or "tools" not in fields or _chosen(fields) == "none":
        return fault
    tools = fields["tools"]
    if not isinstance(tools, list):
        return "Tools are not an array"
    return next((fault for tool in tools if (fault := _tool_fault(tool, _chosen(fields))) is not None), None)


def _choice_fault(choice: object) -> str | None:
    if isinstance(choice, str):
        return None if choice in _MODES else "tool_choice should be either 'none' or 'auto' or 'required'"
    if not isinstance(choice, dict):
        return "tool_choice is not a valid JSON object or string"
    function = choice.get("function")
    if isinstance(function, dict):
        return None if isinstance(function.get("name"), str) else "tool_choice.function.name is not a valid string"
    if choice.get("type") != "function":
        return "tool_choice.function is not a valid JSON object"
    return None if isinstance(choice.get("name"), str) else "tool_choice.name is not a valid string"


def _tool_fault(tool: object, chosen: str) -> str | None:
    if not isinstance(tool, dict):
        return "Tool is not a JSON object"
    fault = None if "function" in tool else _flat_fault(tool)
    if fault is not None:
        return fault
    function = tool.get("function", tool)
    if not isinstance(function, dict):
        return "Function is not a valid JSON object"
    if not isinstance(function.get("name"), str):
        return "Function object does not contain a valid name field"
    # A tool that is not chosen is dropped before its parameters are checked.
    fit = not _kept(function["name"], chosen) or isinstance(function.get("parameters", {}), dict)
    return None if fit else "Function parameters are not a valid JSON object"


def _flat_fault(tool: Mapping[str, Any]) -> str | None:
    """What is wrong with a tool in the format of the Responses API, without a `function` object."""
    if not isinstance(tool.get("type"), str):
        return "Tool type is missing or invalid"
    return None if tool["type"] == "function" else "Only function tools are supported"


def _chosen(fields: Fields) -> str:
    """The mode, or the name of the chosen function."""
    choice = fields.get("tool_choice", "auto")
    if isinstance(choice, str):
        return choice
    name: str = (choice["function"] if isinstance(choice.get("function"), dict) else choice)["name"]
    return name


def chosen_tool(fields: Fields) -> str | Mapping[str, str]:
    """The choice as an answer tells it: of no tools there is none."""
    chosen = _chosen(fields) if fields.get("tools") is not None else "none"
    return chosen if chosen in _MODES else {"type": "function", "name": chosen}


def _kept(name: str, chosen: str) -> bool:
    return chosen in ("auto", "required", name)


def offered(fields: Fields) -> list[Mapping[str, Any]]:
    """The functions on offer: with a choice by name only those of that name."""
    chosen = _chosen(fields)
    if chosen == "none":
        return []
    functions = (tool.get("function", tool) for tool in fields.get("tools", ()))
    return [function for function in functions if _kept(function["name"], chosen)]


def read_tools(functions: Sequence[Mapping[str, Any]]) -> tuple[Tool, ...]:
    """The functions as tools; an unsatisfiable schema counts as none."""
    return tuple(
        Tool(function["name"], _text(function.get("description")), _usable(function)) for function in functions
    )


def read_choice(fields: Fields, model: str) -> ToolChoice:
    """The choice; a required call is left to a model that the server cannot force to make it.

    A function chosen by name is always called, though the server leaves that to any model.
    """
    chosen = _chosen(fields)
    if chosen == "required" and not must_call(model):
        chosen = "auto"
    return tool_choice(chosen) if chosen in _MODES else ToolChoice("required", (chosen,))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _usable(function: Mapping[str, Any]) -> object:
    return {} if parameters_fault(function) else function.get("parameters") or {}

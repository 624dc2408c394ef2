"""What a model is held to: calls of the tools on offer, and `response_format` (vendor note 6)."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mockserver.core.generation import Constraint, Tool, ToolChoice
from mockserver.dialects.openai.read import parameters_fault
from mockserver.dialects.ovms.endpoints import Check, Fields
from mockserver.dialects.ovms.models import must_call
from mockserver.model.schema import schema_fault

Function = Mapping[str, Any]
_MODES = ("none", "auto", "required")
_AUTO = ToolChoice()


def choice_fault(choice: object, fields: Fields) -> str | None:
    """What is wrong with a `tool_choice`."""
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


def tools_fault(tools: object, fields: Fields) -> str | None:
    """What is wrong with the first tool that a valid choice leaves on offer."""
    chosen = _chosen(fields)
    if chosen == "none":
        return None
    if not isinstance(tools, list):
        return "Tools are not an array"
    return next((fault for tool in tools if (fault := _tool_fault(tool, chosen)) is not None), None)


def _tool_fault(tool: object, chosen: str) -> str | None:
    if not isinstance(tool, dict):
        return "Tool is not a JSON object"
    # In the format of the Responses API there is no `function` object.
    if "function" not in tool and not isinstance(tool.get("type"), str):
        return "Tool type is missing or invalid"
    if "function" not in tool and tool["type"] != "function":
        return "Only function tools are supported"
    function = tool.get("function", tool)
    if not isinstance(function, dict):
        return "Function is not a valid JSON object"
    if not isinstance(function.get("name"), str):
        return "Function object does not contain a valid name field"
    # A tool that is not chosen is dropped before its parameters are checked.
    fit = not _is_kept(function["name"], chosen) or isinstance(function.get("parameters", {}), dict)
    return None if fit else "Function parameters are not a valid JSON object"


TOOLS: tuple[Check, ...] = (("tool_choice", choice_fault), ("tools", tools_fault))


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


def _is_kept(name: str, chosen: str) -> bool:
    return chosen in ("auto", "required", name)


def offered(fields: Fields) -> Sequence[Function]:
    """The functions on offer: with a choice by name only those of that name."""
    chosen = _chosen(fields)
    if chosen == "none" or "tools" not in fields:
        return ()
    functions = (tool.get("function", tool) for tool in fields["tools"])
    return [function for function in functions if _is_kept(function["name"], chosen)]


def read_tools(functions: Sequence[Function]) -> tuple[Tool, ...]:
    """The functions as tools; an unsatisfiable schema counts as none."""
    return tuple(
        Tool(
            function["name"],
            description if isinstance(description := function.get("description"), str) else "",
            {} if parameters_fault(function) else function.get("parameters") or {},
        )
        for function in functions
    )


def read_choice(fields: Fields) -> ToolChoice:
    """The choice; a required call is left to a model that the server cannot force to make it.

    A function chosen by name is always called, though the server leaves that to any model.
    """
    chosen = _chosen(fields)
    if chosen == "none":
        return ToolChoice("none")
    if chosen in _MODES:
        return ToolChoice("required") if chosen == "required" and must_call(fields["model"]) else _AUTO
    return ToolChoice("required", (chosen,))


# --- response_format -------------------------------------------------------------------------------------------------


def read_format(form: Mapping[str, Any]) -> Constraint | None:
    """The constraint of a format; None if any text will do."""
    schema = form.get("json_schema")
    if form.get("type") == "structural_tag":
        form = form["format"] if isinstance(form.get("format"), Mapping) else {}
        schema = form.get("json_schema")
    elif isinstance(schema, Mapping):
        # It is within an object that names it.
        schema = schema.get("schema")
    if form.get("type") == "json_schema":
        return None if schema is None or schema_fault(schema) else Constraint("json_schema", schema)
    pattern = _pattern(form)
    if pattern is None:
        return None
    # Imported with the first pattern: most servers never see one.
    from mockserver.model.regex import fault_in

    return None if fault_in(pattern) else Constraint("regex", pattern)


def _pattern(tag: object) -> str | None:
    """The regular expression that says the same as a tag; None if there is none."""
    match tag:
        case {"type": "const_string", "value": str(value)}:
            return re.sub(r"[\\.^$|?*+()\[\]{}]", r"\\\g<0>", value)
        case {"type": "regex", "pattern": str(pattern)}:
            return f"(?:{pattern})"
        case {"type": "or" | "sequence" as kind, "elements": [_, *_] as elements}:
            found = [_pattern(element) for element in elements]
            known = [pattern for pattern in found if pattern is not None]
            return f"(?:{('|' if kind == 'or' else '').join(known)})" if len(known) == len(found) else None
    return None

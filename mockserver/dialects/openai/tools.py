"""The tools of a chat, the choice among them, and their calls in an answer.

A tool is a function, or a custom tool, whose input is any text or one that matches a regular expression. The older form
of both is `functions` and `function_call`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from mockserver.core.generation import Choice, Constraint, Tool, ToolChoice
from mockserver.dialects.openai.fields import Body

_MODES: Mapping[object, ToolChoice] = {
    "none": ToolChoice("none"),
    "auto": ToolChoice("auto"),
    "required": ToolChoice("required"),
}


class Offer(NamedTuple):
    """The tools that a request offers, and the choice among them."""

    tools: tuple[Tool, ...]
    choice: ToolChoice


NO_OFFER = Offer((), _MODES["auto"])


# --- requests ----------------------------------------------------------------------------------------------------


def read_offer(body: Body) -> Offer:
    """The tools of a valid chat and the choice among them: `tools` and `tool_choice`, or the older `functions`."""
    rows = body.get("tools")
    if not rows and not body.get("functions"):
        return NO_OFFER
    if not rows:
        choice = body.get("function_call")
        named = ToolChoice("required", (choice["name"],)) if isinstance(choice, Mapping) else _MODES[choice or "auto"]
        return Offer(tuple(map(function_tool, body["functions"])), named._replace(parallel=False, legacy=True))
    parallel = body.get("parallel_tool_calls") is not False
    return Offer(tuple(map(any_tool, rows or ())), tool_choice(body.get("tool_choice"), parallel=parallel))


def function_tools(rows: Sequence[Body] | None) -> tuple[Tool, ...]:
    """The `tools` of a request: rows of `{"type": "function", "function": {"name", "description", "parameters"}}`."""
    return tuple(function_tool(row["function"]) for row in rows or ())


def function_tool(function: Body) -> Tool:
    """One function. Without `parameters` it takes no arguments; clients send null for fields that they leave out."""
    return Tool(function["name"], function.get("description") or "", function.get("parameters") or {})


def any_tool(row: Body) -> Tool:
    """A function, or a custom tool: `{"type": "custom", "custom": {"name", "description", "format"}}`."""
    if row["type"] == "function":
        return function_tool(row["function"])
    custom = row["custom"]
    pattern = custom_pattern(custom)
    constraint = None if pattern is None else Constraint("regex", pattern)
    return Tool(custom["name"], custom.get("description") or "", constraint, kind="custom")


def custom_pattern(custom: Body) -> str | None:
    """The regular expression that the input of a custom tool must match, None if there is none."""
    form: Body = custom.get("format") or {}
    grammar: Body = form.get("grammar", form)
    return grammar["definition"] if form.get("type") == "grammar" and grammar["syntax"] == "regex" else None


def parameters_fault(function: Body) -> str | None:
    """Why no call of a function could fit its `parameters`, which must be a schema that some object conforms to."""
    if not function.get("parameters"):
        return None
    # Imported with the first tool: most servers are never offered one.
    from mockserver.model.tools.calls import arguments_fault

    return arguments_fault(function["parameters"])


def tool_choice(value: str | Body | None, *, parallel: bool = True) -> ToolChoice:
    """A `tool_choice`: one of three words, a tool by its name, or several of them. Without one it is `auto`."""
    if value is None or isinstance(value, str):
        choice = _MODES[value or "auto"]
        return choice if parallel else choice._replace(parallel=False)
    if value["type"] == "allowed_tools":
        allowed = value["allowed_tools"]
        return ToolChoice(allowed["mode"], tuple(row[row["type"]]["name"] for row in allowed["tools"]), parallel)
    return ToolChoice("required", (value[value["type"]]["name"],), parallel)


def unknown_tool(choice: ToolChoice, tools: Sequence[Tool]) -> str | None:
    """A tool that the choice names, but the request does not offer."""
    offered = {tool.name for tool in tools}
    return next((name for name in choice.names if name not in offered), None)


def unanswered(ids: Iterable[str]) -> str:
    """What is said of a chat in which no results of calls with these ids follow them."""
    return (
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        f"The following tool_call_ids did not have response messages: {', '.join(ids)}"
    )


# --- answers -----------------------------------------------------------------------------------------------------


def call_members(choice: Choice, place: int, text: object) -> dict[str, Any]:
    """What a call says: the name of its tool, and its arguments or its input."""
    call = choice.calls[place]
    return {"name": call.name, "arguments" if call.kind == "function" else "input": text}


def whole_calls(choice: Choice, id_of: Callable[[Choice, int], str], *, legacy: bool = False) -> dict[str, Any]:
    """The calls as a member of a message, empty if there are none; in the `legacy` form there is one call at most."""
    if not choice.calls:
        return {}
    if legacy:
        return {"function_call": call_members(choice, 0, choice.calls[0].arguments)}
    return {
        "tool_calls": [
            {"id": id_of(choice, place), "type": call.kind, call.kind: call_members(choice, place, call.arguments)}
            for place, call in enumerate(choice.calls)
        ]
    }

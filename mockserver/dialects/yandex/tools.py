"""Tools and tool choice, in today's form and in the older one of `functions` (vendor note A6)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from mockserver.core.failures import Refusal
from mockserver.core.generation import Constraint, Tool, ToolChoice
from mockserver.dialects.openai.fields import Body
from mockserver.dialects.openai.tools import Offer, function_tool, parameters_fault
from mockserver.dialects.yandex.errors import fault


class _Choice(NamedTuple):
    """The tool choice of a request; `named` are the tools that may be called, by kind and name, None for all."""

    mode: Literal["none", "auto", "required"]
    named: tuple[tuple[str, str], ...] | None = None


_MODES = {"none": _Choice("none"), "auto": _Choice("auto"), "required": _Choice("required")}
# The vendor's own example of function calling has parameters `{"type": "int"}`, which JSON Schema does not know.
_ABBREVIATED = {
    "int": "integer",
    "float": "number",
    "str": "string",
    "bool": "boolean",
    "list": "array",
    "dict": "object",
}


def read_tools(body: Body, *, parallel: bool) -> Offer | Refusal:
    """The tools on offer and the tool choice, or why they are refused.

    `parallel`: whether one answer may call several tools.
    """
    unusable = _tools_fault(body)
    if unusable is not None:
        return unusable
    tools = _tools(body)
    choice = _read_choice(body, tools, parallel=parallel)
    return choice if isinstance(choice, Refusal) else Offer(tools, choice)


def _tools_fault(body: Body) -> Refusal | None:
    """The refusal of the first tool that no model can use, because of its parameters or its format."""
    offered = body.get("tools") or ()
    rows = [(f"tools[{n}].{item['type']}", item["type"], item[item["type"]]) for n, item in enumerate(offered)]
    if not rows:
        rows = [(f"functions[{n}]", "function", item) for n, item in enumerate(body.get("functions", ()))]
    return offered_fault(rows)


def offered_fault(rows: Iterable[tuple[str, str, Body]]) -> Refusal | None:
    """The refusal of the first unusable tool; each comes with the path of its field, and its kind."""
    found = (
        _parameters_fault(field, item) if kind == "function" else _format_fault(field, item)
        for field, kind, item in rows
    )
    return next(filter(None, found), None)


def _parameters_fault(field: str, item: Body) -> Refusal | None:
    """The refusal of parameters that are not the satisfiable schema of an object."""
    reason = parameters_fault(_spelled_out(item))
    return fault(f"{field}.parameters", reason) if reason else None


def _format_fault(field: str, item: Body) -> Refusal | None:
    """The refusal of a custom tool's format that is a grammar and not a satisfiable regex."""
    form = _grammar(item)
    if form is None:
        return None
    if form["syntax"] == "lark":
        return fault(f"{field}.format", "has a Lark grammar, which this simulator does not generate; use a regex")
    from mockserver.model.regex import fault_in

    reason = fault_in(form["definition"])
    return (
        fault(f"{field}.format.grammar.definition", f"is not a pattern that a text could match: {reason}")
        if reason
        else None
    )


def _grammar(item: Body) -> Body | None:
    form = item.get("format")
    return form["grammar"] if isinstance(form, Mapping) and form.get("type") == "grammar" else None


def _tools(body: Body) -> tuple[Tool, ...]:
    """The tools that may be called; `functions` count only if there are no `tools`."""
    if body.get("tools"):
        return tuple(map(_tool, body["tools"]))
    return tuple(map(_function, body.get("functions", ())))


def _read_choice(body: Body, tools: Sequence[Tool], *, parallel: bool) -> ToolChoice | Refusal:
    """The tool choice of `tool_choice` or of the older `function_call`, or why it is refused."""
    legacy = not body.get("tools") and bool(body.get("functions"))
    # "This field is deprecated [...] Use `tool_choice` instead", of `function_call`.
    field = "tool_choice" if "tool_choice" in body else "function_call"
    mode, named = _CHOICES[field](body.get(field, "auto"))
    known = [(tool.kind, tool.name) for tool in tools]
    allowed = known if named is None else named
    unknown = next((name for kind, name in allowed if (kind, name) not in known), None)
    if unknown is not None:
        return fault(field, f"names a tool that is not there: {unknown!r}")
    if mode == "required" and not allowed:
        return fault(field, "asks for a call, but there is no tool to call")
    return ToolChoice(mode if allowed else "none", tuple(name for _, name in named or ()), parallel, legacy)


def _function(item: Body) -> Tool:
    return function_tool(_spelled_out(item))


def _spelled_out(item: Body) -> Body:
    """The function with the type names of JSON Schema in its parameters."""
    return {**item, "parameters": _with_known_types(item["parameters"])} if item.get("parameters") else item


def _with_known_types(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_with_known_types(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    known = {name: _with_known_types(value) for name, value in schema.items()}
    named = known.get("type")
    return known | {"type": _ABBREVIATED[named]} if isinstance(named, str) and named in _ABBREVIATED else known


def _tool(item: Body) -> Tool:
    if item["type"] == "function":
        return _function(item["function"])
    custom = item["custom"]
    form = _grammar(custom)
    constraint = Constraint("regex", form["definition"]) if form else None
    return Tool(custom["name"], custom.get("description") or "", constraint, kind="custom")


def _tool_choice(value: Any) -> _Choice:
    """The choice by a mode, by `allowed_tools`, or by the name of a function or of a custom tool."""
    if isinstance(value, str):
        return _MODES[value]
    if value["type"] == "allowed_tools":
        allowed = value["allowed_tools"]
        return _Choice(allowed["mode"], tuple(map(_named, allowed["tools"])))
    return _Choice("required", (_named(value),))


def _named(item: Body) -> tuple[str, str]:
    """A tool by its kind and name."""
    kind = "function" if item.get("function") else "custom"
    return kind, item[kind]["name"]


def _function_call(value: Any) -> _Choice:
    """The choice by a mode, or by the name of a function."""
    return _MODES[value] if isinstance(value, str) else _Choice("required", (("function", value["name"]),))


_CHOICES = {"tool_choice": _tool_choice, "function_call": _function_call}

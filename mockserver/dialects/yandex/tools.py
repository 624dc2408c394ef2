"""Tools and tool choice, in today's form and in the older one of `functions` (vendor note A6)."""

from collections.abc import Iterable, Mapping
from typing import Any

from mockserver.core.failures import Refusal
from mockserver.core.generation import ToolChoice
from mockserver.dialects.openai.read import Body, Offer, any_tool, parameters_fault
from mockserver.dialects.yandex.errors import fault

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
    """The tools on offer and the choice among them, or why they are refused; `functions` count if there are no `tools`.

    `parallel`: whether one answer may call several tools.
    """
    rows, legacy = body.get("tools") or (), False
    fields = [f"tools[{place}].{row['type']}" for place, row in enumerate(rows)]
    if not rows:
        rows = [{"type": "function", "function": each} for each in body.get("functions", ())]
        fields, legacy = [f"functions[{place}]" for place in range(len(rows))], bool(rows)
    unusable = offered_fault((field, row["type"], row[row["type"]]) for field, row in zip(fields, rows, strict=True))
    if unusable is not None:
        return unusable
    tools = tuple([any_tool(_spelled_out(row)) for row in rows])
    # "This field is deprecated [...] Use `tool_choice` instead", of `function_call`.
    field = "tool_choice" if "tool_choice" in body else "function_call"
    mode, named = _read_choice(field, body.get(field, "auto"))
    known = [(tool.kind, tool.name) for tool in tools]
    unknown = next((name for kind, name in named or () if (kind, name) not in known), None)
    if unknown is not None:
        return fault(field, f"names a tool that is not there: {unknown!r}")
    allowed = known if named is None else named
    if mode == "required" and not allowed:
        return fault(field, "asks for a call, but there is no tool to call")
    names = tuple([name for _, name in named or ()])
    return Offer(tools, ToolChoice(mode if allowed else "none", names, parallel, legacy))


def _read_choice(field: str, given: Any) -> tuple[Any, list[tuple[str, str]] | None]:
    """The mode of a tool choice, and the tools that it names by kind and name, None for all."""
    if isinstance(given, str):
        return given, None
    if field == "function_call":
        return "required", [("function", given["name"])]
    if given["type"] == "allowed_tools":
        allowed = given["allowed_tools"]
        return allowed["mode"], [_named(row) for row in allowed["tools"]]
    return "required", [_named(given)]


def _named(row: Body) -> tuple[str, str]:
    kind = "function" if row.get("function") else "custom"
    return kind, row[kind]["name"]


def offered_fault(rows: Iterable[tuple[str, str, Body]]) -> Refusal | None:
    """The refusal of the first tool that no model can use; each comes with the path of its field, and its kind."""
    for field, kind, item in rows:
        refusal = _parameters_fault(field, item) if kind == "function" else _format_fault(field, item)
        if refusal is not None:
            return refusal
    return None


def _parameters_fault(field: str, item: Body) -> Refusal | None:
    """The refusal of parameters that are not the satisfiable schema of an object."""
    reason = parameters_fault({**item, "parameters": _with_known_types(item.get("parameters"))})
    return fault(f"{field}.parameters", reason) if reason else None


def _format_fault(field: str, item: Body) -> Refusal | None:
    """The refusal of a custom tool's format that is a grammar and not a satisfiable regex."""
    form = item.get("format")
    if not isinstance(form, Mapping) or form.get("type") != "grammar":
        return None
    grammar = form["grammar"]
    if grammar["syntax"] == "lark":
        return fault(f"{field}.format", "has a Lark grammar, which this simulator does not generate; use a regex")
    from mockserver.model.regex import fault_in

    reason, place = fault_in(grammar["definition"]), f"{field}.format.grammar.definition"
    return fault(place, f"is not a pattern that a text could match: {reason}") if reason else None


def _spelled_out(row: Body) -> Body:
    """The tool with the type names of JSON Schema in its parameters."""
    parameters = row["function"].get("parameters") if row["type"] == "function" else None
    if not parameters:
        return row
    return {"type": "function", "function": {**row["function"], "parameters": _with_known_types(parameters)}}


def _with_known_types(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_with_known_types(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    known = {name: _with_known_types(value) for name, value in schema.items()}
    named = known.get("type")
    return known | {"type": _ABBREVIATED[named]} if isinstance(named, str) and named in _ABBREVIATED else known

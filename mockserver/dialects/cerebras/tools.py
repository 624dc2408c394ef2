"""Tools of a chat and the choice among them, or why no model can do with them."""

from mockserver.core.dialects import Edition
from mockserver.core.failures import Rejection
from mockserver.dialects.cerebras import strictness
from mockserver.dialects.cerebras.refusals import refused
from mockserver.dialects.openai.fields import Body
from mockserver.dialects.openai.tools import Offer, function_tools, parameters_fault, tool_choice, unknown_tool


def read_tools(body: Body, edition: Edition) -> Offer | Rejection:
    """The tools on offer and the choice among them, or why they are refused."""
    tools = function_tools(body.get("tools"))
    choice = tool_choice(body.get("tool_choice"), parallel=body.get("parallel_tool_calls") is not False)
    unknown = unknown_tool(choice, tools)
    if unknown is not None:
        return refused(f"tool_choice names a function that is not in tools: {unknown!r}", "tool_choice")
    if choice.mode == "required" and not tools:
        return refused("tool_choice requires a call, but there are no tools", "tool_choice")
    return _tools_fault(body, edition) or Offer(tools, choice)


def _tools_fault(body: Body, edition: Edition) -> Rejection | None:
    functions = [row["function"] for row in body.get("tools") or ()]
    if edition == "observed" and len({bool(function.get("strict")) for function in functions}) > 1:
        # Recorded.
        return refused(
            "Tools with mixed values for 'strict' are not allowed. "
            "Please set all tools to 'strict: true' or 'strict: false'",
            "tools",
        )
    for place, function in enumerate(functions):
        reason = _parameters_fault(place, function, edition)
        if reason:
            return refused(reason, "tools")
    return None


def _parameters_fault(place: int, function: Body, edition: Edition) -> str | None:
    if edition == "observed" and function.get("parameters"):
        unsupported = strictness.parameters_fault(function["parameters"], strict=bool(function.get("strict")))
        if unsupported:
            return unsupported
    reason = parameters_fault(function)
    return f"tools.{place}.function.parameters {reason}" if reason else None

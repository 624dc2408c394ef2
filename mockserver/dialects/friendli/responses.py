"""Calls of the three Responses API endpoints become requests to a model (SDK 0.16, and streams of September 2026).

    body -> schema -> checks between fields -> model -> its media -> request -> its context window

Fields that the SDK does not know are allowed, since "additional properties" are, but they have no effect.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from mockserver.core.calls import Call
from mockserver.core.dialects import RequestScope
from mockserver.core.failures import FailureKind, Refusal, Violation
from mockserver.core.generation import Constraint, GenerationRequest, Limits, Output, Sampling, ToolChoice
from mockserver.dialects.friendli.chats import REFUSALS, due_choice, media_in, read_prompt
from mockserver.dialects.friendli.checks import beyond_window
from mockserver.dialects.friendli.errors import invalid, unknown_model, worded
from mockserver.dialects.friendli.formats import as_obeyed, branch_violations, schema_violations
from mockserver.dialects.friendli.models import Place, traits_of
from mockserver.dialects.friendli.read import json_body
from mockserver.dialects.friendli.reasoning import Thoughts, read_reasoning
from mockserver.dialects.friendli.schemas import contract_of
from mockserver.dialects.openai.read import Body, function_tool, number_or, parameters_fault, tool_choice, unknown_tool
from mockserver.dialects.openai.responses.flavour import ResponseOptions
from mockserver.dialects.openai.responses.items import messages_of

_SCHEMA = ("text", "format", "schema")
_ITEMS = frozenset((
    "message", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "reasoning",
))  # fmt: skip


class Wanted(NamedTuple):
    """The sampling and token limit that are in effect, which the answer states, and where the thoughts go."""

    temperature: float
    top_p: float
    limit: int
    thoughts: Thoughts = "apart"


def read_response(place: Place, call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """The request to a place, or its refusal."""
    made = _read(place, call, scope)
    return worded(made, scope.edition) if isinstance(made, Refusal) else made


def _read(place: Place, call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    body = json_body(call.body)
    if isinstance(body, Refusal):
        return body
    violations = [*_unsupported(body)] or contract_of("ResponsesRequest", place, scope.edition).violations(body)
    form = {} if violations else (body.get("text") or {}).get("format") or {}
    functions = [] if violations else [tool for tool in body.get("tools") or () if tool["type"] == "function"]
    violations = violations or [*_conflicts(body, functions, form)]
    if violations:
        return invalid(violations)
    name, model = place(body.get("model"), scope)
    if model is None:
        return unknown_model(name, "observed")
    traits, messages = traits_of(name), messages_of(body["input"], body.get("instructions"))
    if "image" not in traits.senses:
        unseen = [*_images(body)]
        if unseen:
            return invalid(unseen)
    if body.get("tool_choice") == "required" and not functions:
        # Recorded: the engine fails if all tools on offer are custom ones.
        return Refusal(FailureKind.SERVER_ERROR) if body.get("tools") else invalid((_NOTHING_TO_CALL,))
    # Recorded: custom tools are not offered to the model.
    offered = [{"function": tool} for tool in functions]
    prompt = read_prompt(messages, offered or None, media_in(messages))
    reasoning, most = body.get("reasoning") or {}, body.get("max_output_tokens")
    # An effort, and variables of the chat template, which are accepted within `reasoning` alone.
    asked = {"reasoning_effort": reasoning.get("effort")}
    if isinstance(reasoning.get("chat_template_kwargs"), Mapping):
        asked["chat_template_kwargs"] = reasoning["chat_template_kwargs"]
    thought = read_reasoning(asked, traits.mind)
    # The default as recorded of GLM-5.3-Flash, whose own advice it is, for the models of its maker.
    top_p = number_or(body.get("top_p"), 0.95 if name.startswith("zai-org/") else 1.0)
    temperature, count, window = number_or(body.get("temperature"), 1.0), prompt.token_count, model.context
    if count + (most or 0) > window:
        misfit = beyond_window("input", count, window, "max_output_tokens", most or 0)
        return invalid((misfit,), FailureKind.CONTEXT_LENGTH)
    limit = window - count if most is None else int(most)
    return GenerationRequest(
        model=name,
        prompts=(prompt,),
        output=Output(stream=bool(body.get("stream")), reasoning=thought.thoughts != "hidden"),
        limits=Limits(None if most is None else limit, context=window),
        sampling=Sampling(temperature=temperature, top_p=top_p),
        constraint=_constraint(form),
        tools=tuple(map(function_tool, functions)),
        tool_choice=due_choice(_choice(body), prompt) if offered else ToolChoice("none"),
        effort=thought.effort,
        extra=ResponseOptions(body, Wanted(temperature, top_p, limit, thought.thoughts)),
    )


def _unsupported(body: Body) -> Iterator[Violation]:
    """What the vendor's own tools saw refused, in these words; the body may be invalid otherwise."""
    if "chat_template_kwargs" in body:
        yield Violation(("chat_template_kwargs",), "conflict", "no such field: 'chat_template_kwargs'")
    for place, item in _objects(body.get("input")):
        kind = item.get("type")
        if isinstance(kind, str) and kind not in _ITEMS:
            yield Violation(("input", place, "type"), "conflict", f"unsupported input item type: {kind}")
    for place, tool in _objects(body.get("tools")):
        form = tool.get("format")
        if tool.get("type") == "custom" and isinstance(form, Mapping) and form.get("type") == "grammar":
            message = "invalid tools: custom.format type grammar is not supported"
            yield Violation(("tools", place, "format"), "conflict", message)


def _objects(value: object) -> list[tuple[int, Body]]:
    """The objects of a list with their places; none in anything else."""
    items = enumerate(value) if isinstance(value, list) else ()
    return [(place, item) for place, item in items if isinstance(item, Mapping)]


def _images(body: Body) -> Iterator[Violation]:
    """The images of the items; nothing is known of what the content of thoughts is made of."""
    for place, item in _objects(body["input"]):
        for number, part in _objects(item.get("content")):
            if part.get("type") == "input_image":
                yield Violation(("input", place, "content", number), "conflict", REFUSALS["image_url"])


_NOTHING_TO_CALL = Violation(("tool_choice",), "conflict", "tool_choice asks for a call, but there are no tools")


def _conflicts(body: Body, functions: list[Body], form: Body) -> Iterator[Violation]:
    for place, tool in enumerate(body.get("tools") or ()):
        reason = parameters_fault(tool) if tool["type"] == "function" else None
        if reason:
            yield Violation(("tools", place, "parameters"), "conflict", f"invalid tools: parameters {reason}")
    unknown = unknown_tool(_choice(body), [function_tool(tool) for tool in functions])
    if unknown is not None:
        words = f"tool_choice names a function that is not among the tools: {unknown!r}"
        yield Violation(("tool_choice",), "conflict", words)
    yield from schema_violations(form["schema"], _SCHEMA) if form.get("type") == "json_schema" else ()
    yield from branch_violations(body, form.get("schema"), _SCHEMA)


def _choice(body: Body) -> ToolChoice:
    wanted, parallel = body.get("tool_choice"), body.get("parallel_tool_calls") is not False
    if isinstance(wanted, Mapping):
        # A custom tool is unknown to the model, so a choice of one by name leaves the choice to the model.
        wanted = {"type": "function", "function": wanted} if wanted["type"] == "function" else "auto"
    return tool_choice(wanted, parallel=parallel)


def _constraint(form: Body) -> Constraint | None:
    if form.get("type") == "json_schema":
        return Constraint("json_schema", as_obeyed(form["schema"]))
    return Constraint("json_object") if form.get("type") == "json_object" else None

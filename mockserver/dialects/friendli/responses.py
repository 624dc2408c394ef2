"""Calls of the three Responses API endpoints become requests to a model (SDK 0.16, and streams of September 2026).

    body -> schema -> checks between fields -> model -> its media -> request -> its context window

Fields that the SDK does not know are allowed, since "additional properties" are, but they have no effect.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from mockserver.core.calls import Call
from mockserver.core.dialects import Model, RequestScope
from mockserver.core.failures import FailureKind, Refusal, Violation
from mockserver.core.generation import Constraint, GenerationRequest, Limits, Output, Sampling, ToolChoice
from mockserver.dialects.friendli.chats import REFUSALS, read_prompt
from mockserver.dialects.friendli.checks import conflicts
from mockserver.dialects.friendli.errors import invalid, unknown_model, worded
from mockserver.dialects.friendli.formats import (
    BRANCHES,
    as_obeyed,
    fault_of_schema,
    has_several_branches,
    opens_with_an_optional_property,
)
from mockserver.dialects.friendli.models import AskedModel, Place, is_by_vllm, perceives
from mockserver.dialects.friendli.read import json_body
from mockserver.dialects.friendli.reasoning import Reasoning, Thoughts, read_reasoning
from mockserver.dialects.friendli.schemas import RESPONSES
from mockserver.dialects.openai.fields import Body, number_or, whole
from mockserver.dialects.openai.responses.flavour import ResponseOptions
from mockserver.dialects.openai.responses.items import messages_of
from mockserver.dialects.openai.tools import function_tools, parameters_fault, tool_choice, unknown_tool

_SCHEMA = ("text", "format", "schema")
_ITEMS = frozenset(
    (
        "message",
        "function_call",
        "function_call_output",
        "custom_tool_call",
        "custom_tool_call_output",
        "reasoning",
    )
)


class Wanted(NamedTuple):
    """The sampling and token limit that are in effect, which the answer states, and where the thoughts go."""

    temperature: float
    top_p: float
    limit: int
    thoughts: Thoughts = "apart"


def read_response(place: Place, call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """The request to a place, or its refusal."""
    body = json_body(call.body)
    if isinstance(body, Refusal):
        return worded(body, scope.edition)
    violations = (
        conflicts(body, (_unsupported,))
        or RESPONSES.at(place, scope.edition).violations(body)
        or conflicts(body, (_tools, _form, _branches))
    )
    result = invalid(violations) if violations else _fitting(body, place(body.get("model"), scope))
    return worded(result, scope.edition) if isinstance(result, Refusal) else result


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


def _tools(body: Body) -> Iterator[Violation]:
    for place, tool in enumerate(body.get("tools") or ()):
        reason = parameters_fault(tool) if tool["type"] == "function" else None
        if reason:
            yield Violation(("tools", place, "parameters"), "conflict", f"invalid tools: parameters {reason}")
    unknown = unknown_tool(_choice(body), function_tools(_functions(body)))
    if unknown is not None:
        yield Violation(
            ("tool_choice",), "conflict", f"tool_choice names a function that is not among the tools: {unknown!r}"
        )


def _form(body: Body) -> Iterator[Violation]:
    form = _format(body)
    fault = fault_of_schema(form["schema"]) if form.get("type") == "json_schema" else ""
    if fault:
        yield Violation(_SCHEMA, "conflict", fault)
    elif form.get("type") == "json_schema" and opens_with_an_optional_property(form["schema"]):
        yield Violation(_SCHEMA, "conflict", "the first property of an object must be required")


def _branches(body: Body) -> Iterator[Violation]:
    if is_by_vllm(body.get("model") or ""):
        return
    for place, tool in enumerate(body.get("tools") or ()):
        if tool["type"] == "function" and has_several_branches(tool.get("parameters")):
            yield Violation(("tools", place, "parameters"), "conflict", f"invalid tools: {BRANCHES}")
    if has_several_branches(_format(body).get("schema")):
        yield Violation(_SCHEMA, "conflict", BRANCHES)


def _format(body: Body) -> Body:
    return (body.get("text") or {}).get("format") or {}


def _functions(body: Body) -> list[Body]:
    """The functions on offer, in the form of chats. Recorded: custom tools are not offered to the model."""
    return [{"function": tool} for tool in body.get("tools") or () if tool["type"] == "function"]


def _choice(body: Body) -> ToolChoice:
    wanted, parallel = body.get("tool_choice"), body.get("parallel_tool_calls") is not False
    if isinstance(wanted, Mapping):
        # A custom tool is unknown to the model, so a choice of one by name leaves the choice to the model.
        named = wanted["type"] == "function"
        return tool_choice({"type": "function", "function": wanted} if named else "auto", parallel=parallel)
    return tool_choice(wanted, parallel=parallel)


def _fitting(body: Body, asked: AskedModel) -> GenerationRequest | Refusal:
    """The request, if there is such a model, which accepts its media and is large enough; else the refusal."""
    if asked.model is None:
        return unknown_model(asked.name, "observed")
    messages = messages_of(body["input"], body.get("instructions"))
    unseen = tuple(_unsupported_images(body, asked.name))
    if unseen:
        return invalid(unseen)
    functions = _functions(body)
    if body.get("tool_choice") == "required" and not functions:
        # Recorded: the engine fails if all tools on offer are custom ones.
        return Refusal(FailureKind.SERVER_ERROR) if body.get("tools") else invalid((_nothing_to_call(),))
    request = _request(body, asked, messages, functions)
    too_long = tuple(_too_long(body, request, asked.model))
    return invalid(too_long, FailureKind.CONTEXT_LENGTH) if too_long else request


def _nothing_to_call() -> Violation:
    return Violation(("tool_choice",), "conflict", "tool_choice asks for a call, but there are no tools")


def _unsupported_images(body: Body, name: str) -> Iterator[Violation]:
    """The images of the items; nothing is known of what the content of thoughts is made of."""
    if perceives(name, "image"):
        return
    for place, item in _objects(body["input"]):
        for number, part in _objects(item.get("content")):
            if part.get("type") == "input_image":
                yield Violation(("input", place, "content", number), "conflict", REFUSALS["image_url"])


def _request(body: Body, asked: AskedModel, messages: list[dict[str, Any]], functions: list[Body]) -> GenerationRequest:
    assert asked.model is not None
    prompt = read_prompt(messages, functions or None)
    thought = _thought(body, asked.name)
    temperature, top_p = number_or(body.get("temperature"), 1.0), number_or(body.get("top_p"), _usual_top_p(asked.name))
    most = whole(body.get("max_output_tokens"))
    room = max(asked.model.context - prompt.token_count, 0)
    return GenerationRequest(
        model=asked.name,
        prompts=(prompt,),
        output=Output(stream=bool(body.get("stream")), reasoning=thought.thoughts != "hidden"),
        limits=Limits(most, context=asked.model.context),
        sampling=Sampling(temperature=temperature, top_p=top_p),
        constraint=_constraint(body),
        tools=function_tools(functions),
        tool_choice=_choice(body) if functions else ToolChoice("none"),
        effort=thought.effort,
        extra=ResponseOptions(body, Wanted(temperature, top_p, room if most is None else most, thought.thoughts)),
    )


def _thought(body: Body, name: str) -> Reasoning:
    """The reasoning: an effort, and variables of the chat template, which are accepted within `reasoning` alone."""
    asked = body.get("reasoning") or {}
    kwargs = asked.get("chat_template_kwargs")
    fields = {"reasoning_effort": asked.get("effort")}
    return read_reasoning(fields | ({"chat_template_kwargs": kwargs} if isinstance(kwargs, Mapping) else {}), name)


def _usual_top_p(name: str) -> float:
    """The default of `top_p`: as recorded of GLM-5.3-Flash, whose own advice it is, for the models of its maker."""
    return 0.95 if name.startswith("zai-org/") else 1.0


def _constraint(body: Body) -> Constraint | None:
    form = _format(body)
    if form.get("type") == "json_schema":
        return Constraint("json_schema", as_obeyed(form["schema"]))
    return Constraint("json_object") if form.get("type") == "json_object" else None


def _too_long(body: Body, request: GenerationRequest, model: Model) -> Iterator[Violation]:
    count, most = request.prompt_tokens, body.get("max_output_tokens") or 0
    window = f"the model's maximum length is {model.context}"
    if count > model.context:
        yield Violation(("input",), "context", f"the prompt has {count} tokens, {window}")
    elif count + most > model.context:
        message = f"the prompt has {count} tokens and max_output_tokens is {most:.15g}, {window}"
        yield Violation(("max_output_tokens",), "context", message)

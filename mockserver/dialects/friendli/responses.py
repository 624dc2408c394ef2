"""The three Responses API endpoints (SDK 0.16, and streams of September 2026).

    body -> schema -> checks between fields -> model -> its media -> request -> its context window

Fields that the SDK does not know are allowed, since "additional properties" are, but they have no effect.

Recorded of answers: events have lines with their names, and their keys in alphabetical order, unlike the objects within
them; there is no `[DONE]`. An item has one id while it is streamed and another one in the response that ends the
stream, and so has a call. The usage counts no reasoning tokens.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from mockserver.core.dialects import Broken, RequestScope
from mockserver.core.failures import FailureKind, Refusal, Violation
from mockserver.core.generation import Generation, GenerationRequest, Limits, Output, Sampling, ToolChoice, Usage
from mockserver.core.http import Call, Reply, TokenTiming
from mockserver.core.seeding import hex_digits, uuid4_text
from mockserver.dialects.friendli.chats import MEDIA_REFUSALS, accepted, due_choice, media_in, read_prompt, shown
from mockserver.dialects.friendli.checks import branch_violations, read_format, schema_violations, tool_conflicts
from mockserver.dialects.friendli.errors import invalid
from mockserver.dialects.friendli.models import TRAITS
from mockserver.dialects.friendli.read import Place, Thoughts, beyond_window, read_reasoning, valid_body
from mockserver.dialects.openai.read import Body, function_tool, number_or, tool_choice
from mockserver.dialects.openai.replies import GeneratedItem, Members, generated_items, incomplete_reason
from mockserver.dialects.openai.responses.flavour import (
    Responding,
    ResponseFlavour,
    ResponseOptions,
    Run,
    by_group,
    by_token,
    failed,
    responding,
    write,
)
from mockserver.dialects.openai.responses.items import FORMS, format_of, messages_of

_SCHEMA = ("text", "format", "schema")
_ITEMS = frozenset((
    "message", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "reasoning",
))  # fmt: skip


class EffectiveOptions(NamedTuple):
    """The sampling and token limit that are in effect, which the answer states, and where the thoughts go."""

    temperature: float
    top_p: float
    limit: int
    thoughts: Thoughts = "apart"


def read_response(place: Place, call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """The request to a place, or its refusal."""
    found = valid_body(place, call, scope, "ResponsesRequest", _conflicts, _unsupported)
    if isinstance(found, Refusal):
        return found
    body, name, model = found
    functions, form = [tool for tool in body.get("tools") or () if tool["type"] == "function"], format_of(body)
    traits, messages = TRAITS[name], messages_of(body["input"], body.get("instructions"))
    if "image" not in traits.modalities:
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
    thought = read_reasoning(asked, traits.reasoning)
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
        constraint=read_format({"response_format": {**form, "json_schema": form}}, "observed"),
        tools=tuple(map(function_tool, functions)),
        tool_choice=due_choice(_choice(body), prompt) if offered else ToolChoice("none"),
        effort=thought.effort,
        extra=ResponseOptions(body, EffectiveOptions(temperature, top_p, limit, thought.thoughts)),
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
                yield Violation(("input", place, "content", number), "conflict", MEDIA_REFUSALS["image_url"])


_NOTHING_TO_CALL = Violation(("tool_choice",), "conflict", "tool_choice asks for a call, but there are no tools")


def _conflicts(body: Body) -> Iterator[Violation]:
    form = format_of(body)
    functions = [
        (tool["name"], tool.get("parameters"), ("tools", place, "parameters"))
        for place, tool in enumerate(body.get("tools") or ())
        if tool["type"] == "function"
    ]
    yield from tool_conflicts(functions, _choice(body).names)
    yield from schema_violations(form["schema"], _SCHEMA) if form["type"] == "json_schema" else ()
    yield from branch_violations(body, form.get("schema"), _SCHEMA)


def _choice(body: Body) -> ToolChoice:
    wanted, parallel = body.get("tool_choice"), body.get("parallel_tool_calls") is not False
    if isinstance(wanted, Mapping):
        # A custom tool is unknown to the model, so a choice of one by name leaves the choice to the model.
        wanted = {"type": "function", "function": wanted} if wanted["type"] == "function" else "auto"
    return tool_choice(wanted, parallel=parallel)


# --- answers ---------------------------------------------------------------------------------------------------------

# The parts of reasoning as recorded of vLLM; the SDK refuses them, and knows other names.
_PART = "reasoning_part"
# The prefixes of items' ids in a whole response.
_PREFIXES = {"thought": "rs", "text": "msg", "call": "fc"}


def write_response(generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply:
    """The generation as one body, or as a stream of events."""
    flavour = _BY_VLLM if TRAITS[generation.request.model].by_vllm else _OWN
    return write(responding(flavour, generation, pace, scope))


def fail(broken: Broken) -> bytes:
    """The event with which a stream fails: the failed response, the only such event that the SDK knows."""
    return failed(broken, _written)


def _written(kind: str, number: Any, fields: Members) -> bytes:
    event = dict(sorted({**fields, "sequence_number": number, "type": kind}.items()))
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), orjson.dumps(event))


def _response(response: Responding, output: Sequence[Members] | None, status: str) -> Members:
    body, over = response.body, output is not None
    effective = response.options.more or EffectiveOptions(1.0, 1.0, 0)
    reason = incomplete_reason(response.choice) if over else None
    return {
        "id": _id(response),
        "created_at": int(response.scope.now),
        "incomplete_details": {"reason": reason} if reason else None,
        "instructions": body.get("instructions"),
        "metadata": body.get("metadata"),
        "model": response.generation.request.model or None,
        "object": "response",
        "output": output or [],
        "parallel_tool_calls": body.get("parallel_tool_calls") is not False,
        "temperature": effective.temperature,
        "tool_choice": _members(body.get("tool_choice"), "name", "type") or "auto",
        "tools": [_tool(tool) for tool in body.get("tools") or ()],
        "top_p": effective.top_p,
        "background": False,
        "max_output_tokens": effective.limit,
        "max_tool_calls": body.get("max_tool_calls"),
        "previous_response_id": body.get("previous_response_id"),
        "prompt": body.get("prompt"),
        "reasoning": _members(body.get("reasoning"), "effort", "generate_summary", "summary"),
        "service_tier": "auto",
        "status": status,
        "text": _members(body.get("text"), "format", "verbosity"),
        "top_logprobs": body.get("top_logprobs"),
        "truncation": "disabled",
        "usage": _usage(response.generation.usage) if over else None,
        "user": body.get("user"),
    }


def _id(response: Responding) -> str:
    return f"resp_{uuid4_text(response.scope.identity, 'id')}"


def _members(given: Any, *names: str) -> Any:
    """An object with members of these names alone, null unless they were sent; anything else as it is."""
    return {name: given.get(name) for name in names} if isinstance(given, Mapping) else given


def _tool(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """A tool as the answer repeats it: with all members, null unless they were sent; those of its schema are sorted."""
    optional = {"allowed_callers": None, "defer_loading": None, "description": tool.get("description")}
    if tool["type"] == "custom":
        return {"name": tool["name"], "type": "custom", **optional, "format": tool.get("format")}
    parameters = {"parameters": _sorted(tool.get("parameters")), "strict": tool.get("strict")}
    return {"name": tool["name"], **parameters, "type": "function", **optional, "output_schema": None}


def _sorted(value: Any) -> Any:
    """A value with the members of its objects in alphabetical order, as recorded of parameters."""
    if isinstance(value, Mapping):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {
            "cached_tokens": usage.cached_tokens,
            "input_tokens_per_turn": [],
            "cached_tokens_per_turn": [],
        },
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {
            "reasoning_tokens": 0,
            "tool_output_tokens": 0,
            "output_tokens_per_turn": [],
            "tool_output_tokens_per_turn": [],
        },
        "total_tokens": usage.total_tokens,
    }


def _generated(response: Responding) -> list[GeneratedItem]:
    """The items. As in chats, a refusal is a text like any other, and every call is a function's."""
    choice = response.choice
    if response.options.more and response.options.more.thoughts == "leaked":
        _, thoughts, texts = shown(choice, "leaked")
        choice = choice._replace(thoughts=(), texts=(*thoughts, *texts))
    return [
        each._replace(kind="call" if each.is_call else "text" if each.kind == "refusal" else each.kind)
        for each in generated_items(choice, "thought" if choice.thoughts else None)
    ]


def _digits(response: Responding, *parts: str | int) -> str:
    return hex_digits(response.scope.identity, 16, *parts)


def _item(response: Responding, generated: GeneratedItem, text: str | None, id_: str) -> dict[str, Any]:
    """An item of a whole response with its text; None for an item that has only begun."""
    status = "in_progress" if text is None else generated.status
    parts = None if text is None else [_part(response, generated, text, True)]
    if generated.kind == "call":
        call_id = generated.call_id or f"call_{_digits(response, 'call', generated.place)}"
        named = {"arguments": text or "", "call_id": call_id, "name": generated.name, "type": "function_call"}
        return {**named, "id": id_, "caller": None, "namespace": None, "status": status}
    if generated.kind == "thought":
        thought = {"id": id_, "summary": [], "type": "reasoning", "content": parts}
        return {**thought, "encrypted_content": None, "status": status}
    message = {"id": id_, "content": parts or [], "role": "assistant", "status": status, "type": "message"}
    return {**message, "phase": None}


def _streamed_item(response: Responding, generated: GeneratedItem, text: str | None, id_: str) -> Members:
    item = _item(response, generated, text, id_)
    # Recorded of a message that is done.
    return {**item, "summary": []} if generated.kind == "text" and text is not None else item


def _output(response: Responding) -> list[Members]:
    items = list[Members]()
    for generated in _generated(response):
        id_ = f"{_PREFIXES[generated.kind]}_{_digits(response, 'whole', generated.kind, generated.place)}"
        item = _item(response, generated, generated.text, id_)
        if generated.kind == "thought":
            item["status"] = None
        elif generated.kind == "call":
            item["call_id"] = generated.call_id or f"chatcmpl-tool-{_digits(response, 'tool', generated.place)}"
        items.append(item)
    return items


def _part(response: Responding, generated: GeneratedItem, text: str, over: bool) -> Members:
    if generated.kind == "thought":
        return {"text": text, "type": "reasoning_text"}
    return {"annotations": [], "text": text, "type": "output_text", "logprobs": None if over else []}


def _ended(response: Responding, generated: GeneratedItem) -> Members:
    if generated.kind == "text":
        return {"logprobs": []}
    return {"name": generated.name} if generated.kind == "call" else {}


def _runs(response: Responding, generated: GeneratedItem) -> Iterator[Run]:
    """The deltas of vLLM, of several tokens each."""
    if response.generation.prepared:
        return by_token(response, generated)
    return by_group(generated, accepted(generated.texts, generated.first, response.choice.seed))


_OWN = ResponseFlavour(
    _response,
    lambda response: _written,
    _id,
    item_id=lambda response, generated, index: _digits(response, "item", index),
    item=_streamed_item,
    part=_part,
    beside=lambda response, generated, tokens: {"logprobs": []} if generated.kind == "text" else {},
    ended=_ended,
    generated=_generated,
    output=_output,
)

_BY_VLLM = _OWN._replace(runs=_runs, forms={**FORMS, "thought": FORMS["thought"]._replace(part=_PART)})

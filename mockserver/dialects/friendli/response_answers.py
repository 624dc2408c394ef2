"""Answers in the format of the Responses API, as streams of it were recorded in September 2026.

Recorded: events have lines with their names, and their keys in alphabetical order, unlike the objects within them;
there is no `[DONE]`. An item has one id while it is streamed and another one in the response that ends the stream, and
so has a call. The usage counts no reasoning tokens.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from mockserver.core.dialects import Broken, RequestScope
from mockserver.core.generation import Generation, Usage
from mockserver.core.seeding import hex_digits, uuid4_text
from mockserver.core.timeline import Reply, TokenTiming
from mockserver.dialects.friendli.models import traits_of
from mockserver.dialects.friendli.reasoning import shown
from mockserver.dialects.friendli.responses import Wanted
from mockserver.dialects.friendli.write import accepted
from mockserver.dialects.openai.replies import EVENT_STREAM, Members
from mockserver.dialects.openai.responses.flavour import (
    Responding,
    ResponseFlavour,
    Run,
    by_group,
    by_token,
    failed,
    responding,
    write,
)
from mockserver.dialects.openai.responses.items import FORMS, GeneratedItem, generated_items, incomplete_reason

# The parts of reasoning as recorded of vLLM; the SDK refuses them, and knows other names.
_PART = ("response.reasoning_part.added", "response.reasoning_part.done")
# The prefixes of items' ids in a whole response.
_PREFIXES = {"thought": "rs", "text": "msg", "call": "fc"}


def write_response(generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply:
    """The generation as one body, or as a stream of events."""
    flavour = _BY_VLLM if traits_of(generation.request.model).by_vllm else _OWN
    return write(responding(flavour, generation, pace, scope))


def fail(broken: Broken) -> bytes:
    """The event with which a stream fails: the failed response, the only such event that the SDK knows."""
    return failed(broken, _written)


def _written(kind: str, number: Any, fields: Members) -> bytes:
    event = dict(sorted({**fields, "sequence_number": number, "type": kind}.items()))
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), orjson.dumps(event))


# --- the response ------------------------------------------------------------------------------------------------


def _response(response: Responding, output: Sequence[Members] | None, status: str) -> Members:
    body, over = response.body, output is not None
    wanted = response.options.more or Wanted(1.0, 1.0, 0)
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
        "temperature": wanted.temperature,
        "tool_choice": _choice(body.get("tool_choice")),
        "tools": [_tool(tool) for tool in body.get("tools") or ()],
        "top_p": wanted.top_p,
        "background": False,
        "max_output_tokens": wanted.limit,
        "max_tool_calls": body.get("max_tool_calls"),
        "previous_response_id": body.get("previous_response_id"),
        "prompt": body.get("prompt"),
        "reasoning": _reasoning(body.get("reasoning")),
        "service_tier": "auto",
        "status": status,
        "text": _text(body.get("text")),
        "top_logprobs": body.get("top_logprobs"),
        "truncation": "disabled",
        "usage": _usage(response.generation.usage) if over else None,
        "user": body.get("user"),
    }


def _id(response: Responding) -> str:
    return f"resp_{uuid4_text(response.scope.identity, 'id')}"


def _choice(given: Any) -> Any:
    return {"name": given["name"], "type": given["type"]} if isinstance(given, Mapping) else given or "auto"


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


def _reasoning(given: Any) -> Mapping[str, Any] | None:
    names = ("effort", "generate_summary", "summary")
    return {name: given.get(name) for name in names} if isinstance(given, Mapping) else None


def _text(given: Any) -> Mapping[str, Any] | None:
    return {"format": given.get("format"), "verbosity": given.get("verbosity")} if isinstance(given, Mapping) else None


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


# --- items -------------------------------------------------------------------------------------------------------


def _generated(response: Responding) -> list[GeneratedItem]:
    """The items. As in chats, a refusal is a text like any other, and every call is a function's."""
    choice = response.choice
    if response.options.more and response.options.more.thoughts == "leaked":
        _, thoughts, texts = shown(choice, "leaked")
        choice = replace(choice, thoughts=(), texts=(*thoughts, *texts))
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
        call_id = f"call_{_digits(response, 'call', generated.place)}"
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
    """The items in the form of a whole response."""
    items = list[Members]()
    for generated in _generated(response):
        id_ = f"{_PREFIXES[generated.kind]}_{_digits(response, 'whole', generated.kind, generated.place)}"
        item = _item(response, generated, generated.text, id_)
        if generated.kind == "thought":
            item["status"] = None
        elif generated.kind == "call":
            item["call_id"] = f"chatcmpl-tool-{_digits(response, 'tool', generated.place)}"
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
    stream_headers=lambda response: ((b"content-type", EVENT_STREAM + b"; charset=utf-8"),),
)
_BY_VLLM = _OWN._replace(runs=_runs, forms={**FORMS, "thought": FORMS["thought"]._replace(part=_PART)})

"""Answers in the format of the Responses API, as streams of it were recorded in September 2026.

Recorded: events have lines with their names, and their keys in alphabetical order, unlike the objects within them;
there is no `[DONE]`. An item has one id while it is streamed and another one in the response that ends the stream, and
so has a call. The usage counts no reasoning tokens.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import orjson

from mockserver.core.dialects import Broken, RequestScope
from mockserver.core.generation import Choice, Generation, Usage
from mockserver.core.seeding import hex_digits, uuid4_text
from mockserver.core.timeline import TAKEN, FrameBatch, LazyFrames, Reply, TokenTiming
from mockserver.dialects.friendli.drafts import accepted
from mockserver.dialects.friendli.models import is_by_vllm
from mockserver.dialects.friendli.reasoning import leaked
from mockserver.dialects.friendli.responses import Wanted
from mockserver.dialects.openai.bodies import body_reply
from mockserver.dialects.openai.events import EVENT_STREAM, stream_reply
from mockserver.dialects.openai.responses.events import (
    FORMS,
    Event,
    Manner,
    Run,
    Stage,
    by_group,
    by_token,
    numbered,
    quiet,
    told_stages,
)
from mockserver.dialects.openai.responses.failing import data_of, error_code, items_done, next_number
from mockserver.dialects.openai.responses.spoken import Spoken, incomplete_reason, spoken_of

_STREAM = ((b"content-type", EVENT_STREAM + b"; charset=utf-8"),)
# The parts of reasoning as recorded; the SDK refuses them, and knows other names.
_PART = ("response.reasoning_part.added", "response.reasoning_part.done")
_RECORDED = {**FORMS, "thought": FORMS["thought"]._replace(part=_PART)}
# The prefixes of items' ids in a whole response.
_PREFIXES = {"thought": "rs", "text": "msg", "call": "fc"}


class _Answer(NamedTuple):
    """What an answer is written from: the generation, and the request that it repeats."""

    generation: Generation
    wanted: Wanted
    scope: RequestScope

    @property
    def choice(self) -> Choice:
        """The only choice: the API has no `n`."""
        return self.generation.choices[0]

    @property
    def spoken(self) -> list[Spoken]:
        """The items of the answer. As in chats, a refusal is a text like any other, and every call is a function's."""
        return [
            each._replace(kind="call" if each.is_call else "text" if each.kind == "refusal" else each.kind)
            for each in self._items()
        ]

    def _items(self) -> list[Spoken]:
        choice = self.choice
        if self.wanted.thoughts == "leaked":
            return spoken_of(replace(choice, thoughts=(), texts=(*leaked(choice), *choice.texts)), None)
        return spoken_of(choice, "thought" if choice.thoughts else None)

    @property
    def by_vllm(self) -> bool:
        """Whether vLLM serves the model."""
        return is_by_vllm(self.generation.request.model)

    def digits(self, *parts: str | int) -> str:
        """Sixteen hexadecimal digits for an id."""
        return hex_digits(self.scope.identity, 16, *parts)


def write_response(generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply:
    """The generation as one body, or as a stream of events."""
    options = generation.request.extra
    wanted = options if isinstance(options, Wanted) else Wanted({}, 1.0, 1.0, 0)
    answer = _Answer(generation, wanted, scope)
    if generation.request.output.stream:
        return stream_reply(LazyFrames(partial(_events, answer)), _STREAM)
    return body_reply(_response(answer, _items(answer)), generation)


def fail(broken: Broken) -> bytes:
    """The event with which a stream fails: the failed response, the only such event that the SDK knows."""
    sent = broken.events[: broken.sent]
    response = data_of(broken.events[0]).get("response", {})
    error = {"code": error_code(broken.status), "message": broken.message}
    fields = {"response": {**response, "status": "failed", "error": error, "output": items_done(sent)}}
    return _written("response.failed", next_number(sent), fields)


def _written(kind: str, number: Any, fields: Mapping[str, Any]) -> bytes:
    event = dict(sorted({**fields, "sequence_number": number, "type": kind}.items()))
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), orjson.dumps(event))


# --- one body ----------------------------------------------------------------------------------------------------


def _items(answer: _Answer) -> Sequence[Mapping[str, Any]]:
    """The items in the form of a whole response."""
    items = []
    for spoken in answer.spoken:
        id_ = f"{_PREFIXES[spoken.kind]}_{answer.digits('whole', spoken.kind, spoken.place)}"
        item = dict(_item(answer, spoken, spoken.text, id_))
        if spoken.kind == "thought":
            item["status"] = None
        elif spoken.kind == "call":
            item["call_id"] = f"chatcmpl-tool-{answer.digits('tool', spoken.place)}"
        items.append(item)
    return items


def _response(answer: _Answer, output: Sequence[Mapping[str, Any]] | None) -> dict[str, Any]:
    """The response with its output; None for a response in progress."""
    body, over = answer.wanted.body, output is not None
    reason = incomplete_reason(answer.choice) if over else None
    status = ("incomplete" if reason else "completed") if over else "in_progress"
    return {
        "id": f"resp_{uuid4_text(answer.scope.identity, 'id')}",
        "created_at": int(answer.scope.now),
        "incomplete_details": {"reason": reason} if reason else None,
        "instructions": body.get("instructions"),
        "metadata": body.get("metadata"),
        "model": answer.generation.request.model or None,
        "object": "response",
        "output": output or [],
        "parallel_tool_calls": body.get("parallel_tool_calls") is not False,
        "temperature": answer.wanted.temperature,
        "tool_choice": _choice(body.get("tool_choice")),
        "tools": [_tool(tool) for tool in body.get("tools") or ()],
        "top_p": answer.wanted.top_p,
        "background": False,
        "max_output_tokens": answer.wanted.limit,
        "max_tool_calls": body.get("max_tool_calls"),
        "previous_response_id": body.get("previous_response_id"),
        "prompt": body.get("prompt"),
        "reasoning": _reasoning(body.get("reasoning")),
        "service_tier": "auto",
        "status": status,
        "text": _text(body.get("text")),
        "top_logprobs": body.get("top_logprobs"),
        "truncation": "disabled",
        "usage": _usage(answer.generation.usage) if over else None,
        "user": body.get("user"),
    }


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


def _item(answer: _Answer, spoken: Spoken, text: str | None, id_: str) -> Mapping[str, Any]:
    """An item with its text; None for an item that has only begun."""
    status = "in_progress" if text is None else spoken.status
    parts = None if text is None else [_part(spoken, text, True)]
    if spoken.kind == "call":
        call_id = f"call_{answer.digits('call', spoken.place)}"
        named = {"arguments": text or "", "call_id": call_id, "name": spoken.name, "type": "function_call"}
        return {**named, "id": id_, "caller": None, "namespace": None, "status": status}
    if spoken.kind == "thought":
        thought = {"id": id_, "summary": [], "type": "reasoning", "content": parts}
        return {**thought, "encrypted_content": None, "status": status}
    message = {"id": id_, "content": parts or [], "role": "assistant", "status": status, "type": "message"}
    return {**message, "phase": None}


def _streamed_item(answer: _Answer, spoken: Spoken, text: str | None, id_: str) -> Mapping[str, Any]:
    item = _item(answer, spoken, text, id_)
    # Recorded of a message that is done.
    return {**item, "summary": []} if spoken.kind == "text" and text is not None else item


def _part(spoken: Spoken, text: str, over: bool) -> Mapping[str, Any]:
    if spoken.kind == "thought":
        return {"text": text, "type": "reasoning_text"}
    return {"annotations": [], "text": text, "type": "output_text", "logprobs": None if over else []}


# --- a stream ----------------------------------------------------------------------------------------------------


def _events(answer: _Answer) -> Iterator[FrameBatch]:
    return numbered(_stages(answer))


def _stages(answer: _Answer) -> Iterator[Stage]:
    begun = {"response": _response(answer, None)}
    yield quiet(_written, TAKEN, [Event("response.created", begun), Event("response.in_progress", begun)])
    manner = Manner(
        _written,
        partial(_runs, answer),
        partial(_streamed_item, answer),
        _part,
        lambda spoken, tokens: {"logprobs": []} if spoken.kind == "text" else {},
        _ended,
        forms=_RECORDED if answer.by_vllm else FORMS,
    )
    for index, spoken in enumerate(answer.spoken):
        yield from told_stages(spoken, index, answer.digits("item", index), manner)
    kind = "response.incomplete" if incomplete_reason(answer.choice) else "response.completed"
    whole = {"response": _response(answer, _items(answer))}
    yield quiet(_written, answer.generation.last_step, [Event(kind, whole)])


def _runs(answer: _Answer, spoken: Spoken) -> Iterator[Run]:
    """The deltas of an item: of several tokens if vLLM serves the model."""
    if not answer.by_vllm or answer.generation.prepared:
        return by_token(spoken)
    return by_group(spoken, accepted(spoken.texts, spoken.first, answer.choice.seed))


def _ended(spoken: Spoken) -> Mapping[str, Any]:
    if spoken.kind == "text":
        return {"logprobs": []}
    return {"name": spoken.name} if spoken.kind == "call" else {}

"""Answers in the format of `POST /v3/responses`: one body, or typed events without `event:` lines.

As the server's source writes them: there is always a message, though it may be empty; a call's last events come at the
very end; numbers begin at 1; ids are made of the time and of indexes, or constant.
"""

import struct
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import orjson

from mockserver.core.dialects import Broken, RequestScope
from mockserver.core.generation import Choice, Generation
from mockserver.core.timeline import RUN_LENGTH, TAKEN, FrameBatch, LazyFrames, Reply, TokenTiming
from mockserver.dialects.openai.bodies import body_reply
from mockserver.dialects.openai.events import DONE, SLOT, stream_reply
from mockserver.dialects.openai.responses.events import Event, Run, Stage, deltas, numbered, quiet
from mockserver.dialects.openai.responses.failing import data_of, next_number
from mockserver.dialects.ovms.errors import JSON, STREAM, own_words
from mockserver.dialects.ovms.read import Asked
from mockserver.dialects.ovms.tools import chosen_tool, offered
from mockserver.dialects.ovms.write import Part, call_head, is_parsed, parts_of, thoughts, words

_FIRST_NUMBER = 1
_MESSAGE, _REASONING = "msg-0", "rs-0"


class _Answer(NamedTuple):
    """What an answer is written from: the generation, the request that it repeats, and its end in Unix seconds."""

    generation: Generation
    fields: Mapping[str, Any]
    scope: RequestScope
    over: int

    @property
    def choice(self) -> Choice:
        """The only choice of a stream, the first of a body."""
        return self.generation.choices[0]

    @property
    def incomplete(self) -> bool:
        return any(choice.finish_reason == "length" for choice in self.generation.choices)

    @property
    def status(self) -> str:
        return "incomplete" if self.incomplete else "completed"

    def text(self, choice: Choice) -> str:
        return choice.text if is_parsed(self.generation) else "".join(words(choice))

    def thought(self, choice: Choice) -> str:
        return "".join(thoughts(choice, self.generation)) if is_parsed(self.generation) else ""


def write(generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply:
    """The generation as one body, or as a stream of events."""
    options = generation.request.extra
    fields = options.fields if isinstance(options, Asked) else {}
    over = int(scope.now + pace.queue + pace.prefill + pace.decode)
    answer = _Answer(generation, fields, scope, over)
    if generation.request.output.stream:
        return stream_reply(LazyFrames(partial(_events, answer)), STREAM)
    output = [item for choice in generation.choices for item in _items(answer, choice, answer.status)]
    body = {**_around(answer, answer.status), "output": output, "usage": _usage(generation)}
    return body_reply(body, generation, content_type=JSON)


def fail(broken: Broken) -> bytes:
    """The end of a failing stream: opening events not yet sent, `response.failed` with the text so far, [DONE]."""
    sent = broken.events[: broken.sent]
    opening = broken.events[len(sent) : 2]
    payloads = [data_of(event) for event in sent]
    text = "".join(each["delta"] for each in payloads if each.get("type") == "response.output_text.delta")
    response = {
        **data_of(broken.events[0]).get("response", {}),
        "status": "failed",
        "output": [_message(text, "failed")],
    }
    response["error"] = {"code": "server_error", "message": own_words(broken.message)}
    number = next_number([*sent, *opening], _FIRST_NUMBER)
    return b"".join((*opening, _written("response.failed", number, {"response": response}), DONE))


def _written(kind: str, number: Any, fields: Mapping[str, Any]) -> bytes:
    return b"data: %b\n\n" % orjson.dumps({"type": kind, "sequence_number": number, **fields})


# --- the response ------------------------------------------------------------------------------------------------


def _around(answer: _Answer, status: str) -> dict[str, Any]:
    """The members of a response without its output and its usage."""
    fields, created = answer.fields, int(answer.scope.now)
    over = {"completed_at": answer.over} if status == "completed" else {}
    cut = {"incomplete_details": {"reason": "max_tokens"}} if status == "incomplete" else {}
    most = fields.get("max_output_tokens")
    return {
        "id": f"resp-{created}",
        "object": "response",
        "created_at": created,
        **over,
        **cut,
        "error": None,
        "model": answer.generation.request.model,
        "status": status,
        "parallel_tool_calls": True,
        "store": True,
        **_stated(fields, "temperature"),
        "text": {"format": {"type": "text"}},
        "tool_choice": chosen_tool(fields),
        "tools": _tools(fields),
        **_stated(fields, "top_p"),
        **_stated(fields, "min_p"),
        "truncation": "disabled",
        "metadata": {},
        **({"max_output_tokens": most} if most is not None else {}),
    }


def _stated(fields: Mapping[str, Any], name: str) -> dict[str, float]:
    """A number as the server stores it, in single precision; empty if it was not sent."""
    value = fields.get(name)
    return {} if value is None else {name: struct.unpack("f", struct.pack("f", value))[0]}


def _tools(fields: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The functions that have parameters, in the order of their names, as the server's map sorts them."""
    found = {tool["name"]: tool["parameters"] for tool in offered(fields) if tool.get("parameters") is not None}
    return [{"type": "function", "name": name, "parameters": found[name]} for name in sorted(found)]


def _usage(generation: Generation) -> dict[str, int]:
    usage = generation.usage
    return {
        "input_tokens": usage.prompt_tokens,
        "output_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
    }


def _items(answer: _Answer, choice: Choice, status: str) -> Iterator[dict[str, Any]]:
    thought = answer.thought(choice)
    if thought:
        yield _reasoning(thought, f"rs-{choice.index}")
    for place in range(len(choice.calls)) if is_parsed(answer.generation) else ():
        yield _call(answer, choice, place, status, choice.calls[place].arguments)
    yield _message(answer.text(choice), status, f"msg-{choice.index}")


def _reasoning(text: str | None, id_: str = _REASONING) -> dict[str, Any]:
    summary = [] if text is None else [{"type": "summary_text", "text": text}]
    return {"id": id_, "type": "reasoning", "summary": summary}


def _call(answer: _Answer, choice: Choice, place: int, status: str, arguments: str) -> dict[str, Any]:
    id_ = call_head(choice, place, answer.scope)["id"]
    named = {"call_id": id_, "name": choice.calls[place].name, "arguments": arguments}
    return {"id": id_, "type": "function_call", "status": status, **named}


def _message(text: str | None, status: str, id_: str = _MESSAGE) -> dict[str, Any]:
    content = [] if text is None else [_text_part(text)]
    return {"id": id_, "type": "message", "role": "assistant", "status": status, "content": content}


def _text_part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": []}


# --- a stream ----------------------------------------------------------------------------------------------------


def _events(answer: _Answer) -> Iterator[FrameBatch]:
    step = answer.generation.last_step
    yield from chain(numbered(_stages(answer), _FIRST_NUMBER), (FrameBatch((DONE,), (step,), (0,)),))


def _stages(answer: _Answer) -> Iterator[Stage]:
    """ "response.created: after execution is scheduled", "in_progress: when the model starts producing tokens"."""
    begun = {"response": {**_around(answer, "in_progress"), "output": [_message("", "in_progress")]}}
    yield quiet(_written, TAKEN, [Event("response.created", begun)])
    yield quiet(_written, 0, [Event("response.in_progress", begun)])
    for part in parts_of(answer.choice, answer.generation, answer.scope):
        if part.kind == "text":
            yield from _text_stages(answer, part)
        elif part.kind == "thought":
            yield from _thought_stages(answer, part)
        else:
            yield from _call_stages(answer, part)
    yield quiet(_written, answer.generation.last_step, list(_closing(answer)))


def _thought_stages(answer: _Answer, part: Part) -> Iterator[Stage]:
    where = {"output_index": 0, "summary_index": 0, "item_id": _REASONING}
    whole = answer.thought(answer.choice)
    empty, full = ({"type": "summary_text", "text": text} for text in ("", whole))
    first, runs = _runs(part)
    opening = [
        Event("response.output_item.added", {"output_index": 0, "item": _reasoning(None)}),
        Event("response.reasoning_summary_part.added", {**where, "part": empty}),
    ]
    yield quiet(_written, first, opening)
    yield deltas(_written, Event("response.reasoning_summary_text.delta", {**where, "delta": SLOT}), runs)
    closing = [
        Event("response.reasoning_summary_text.done", {**where, "text": whole}),
        Event("response.reasoning_summary_part.done", {**where, "part": full}),
        Event("response.output_item.done", {"output_index": 0, "item": _reasoning(whole)}),
    ]
    # They are closed by what follows: the first token of a text, the name of a tool, or the end.
    yield quiet(_written, min(part.step + part.tokens, answer.generation.last_step), closing)


def _text_stages(answer: _Answer, part: Part) -> Iterator[Stage]:
    index = int(bool(answer.thought(answer.choice)))
    first, runs = _runs(part)
    if not answer.text(answer.choice):
        return
    yield quiet(_written, first, _opened(index))
    yield deltas(_written, Event("response.output_text.delta", {**_at(index), "delta": SLOT}), runs)


def _call_stages(answer: _Answer, part: Part) -> Iterator[Stage]:
    choice = answer.choice
    index = int(bool(answer.thought(choice))) + part.place
    item = _call(answer, choice, part.place, "in_progress", "")
    yield quiet(_written, part.begun, [Event("response.output_item.added", {"output_index": index, "item": item})], 1)
    where = {"item_id": item["id"], "output_index": index, "call_id": item["call_id"]}
    _, runs = _runs(part)
    yield deltas(_written, Event("response.function_call_arguments.delta", {**where, "delta": SLOT}), runs)


def _closing(answer: _Answer) -> Iterator[Event]:
    """The last events of a stream: those of the calls, those of the message, and that of the response."""
    choice, text, status = answer.choice, answer.text(answer.choice), answer.status
    calls = range(len(choice.calls)) if is_parsed(answer.generation) else range(0)
    base = int(bool(answer.thought(choice)))
    for place in calls:
        item = _call(answer, choice, place, status, choice.calls[place].arguments)
        where = {"item_id": item["id"], "output_index": base + place, "call_id": item["call_id"]}
        yield Event("response.function_call_arguments.done", {**where, "arguments": item["arguments"]})
        yield Event("response.output_item.done", {"output_index": base + place, "item": item})
    if text or not calls:
        # So the server has it: a text that came before calls is closed after them, at another index than its deltas.
        index = base + len(calls)
        yield from () if text else _opened(index)
        yield Event("response.output_text.done", {**_at(index), "text": text})
        yield Event("response.content_part.done", {**_at(index), "part": _text_part(text)})
        yield Event("response.output_item.done", {"output_index": index, "item": _message(text, status)})
    output = list(_items(answer, choice, status))
    response = {**_around(answer, status), "output": output, "usage": _usage(answer.generation)}
    yield Event(f"response.{status}", {"response": response})


def _opened(index: int) -> list[Event]:
    return [
        Event("response.output_item.added", {"output_index": index, "item": _message(None, "in_progress")}),
        Event("response.content_part.added", {**_at(index), "part": _text_part("")}),
    ]


def _at(index: int) -> dict[str, Any]:
    return {"output_index": index, "content_index": 0, "item_id": _MESSAGE}


def _runs(part: Part) -> tuple[int, Iterator[Run]]:
    """The decoding step of a part's first flush, and all flushes as deltas, without the empty ones."""
    flushes = ((flush.text, max(part.step + flush.at, 0), flush.out) for flush in part.flushes)
    first = next(flushes)
    return first[1], _run(chain((first,), flushes), part.tokens)


def _run(rows: Iterator[tuple[str, int, int]], most: int) -> Iterator[Run]:
    out, texts, steps, tokens = 0, list[str](), list[int](), list[int]()
    for text, step, total in rows:
        if not text:
            continue
        texts.append(text)
        steps.append(step)
        tokens.append(min(total, most) - out)
        out = min(total, most)
        if len(texts) == RUN_LENGTH:
            yield Run(texts, steps, tokens)
            texts, steps, tokens = [], [], []
    if texts:
        yield Run(texts, steps, tokens)

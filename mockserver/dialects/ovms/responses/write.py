"""Answers in the format of `POST /v3/responses`: one body, or typed events without `event:` lines.

As the server's source writes them: there is always a message, though it may be empty; a call's last events come at the
very end; numbers begin at 1; ids are made of the time and of indexes, or constant.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from operator import itemgetter, sub
from typing import Any

import orjson

from mockserver.core.dialects import Broken, RequestScope
from mockserver.core.generation import Choice, Generation
from mockserver.core.timeline import RUN_LENGTH, TAKEN, Reply, TokenTiming
from mockserver.dialects.openai.replies import DONE, SLOT, Members
from mockserver.dialects.openai.responses import flavour
from mockserver.dialects.openai.responses.flavour import (
    Responding,
    ResponseEvent,
    ResponseFlavour,
    ResponseOptions,
    Run,
    Stage,
    data_of,
    deltas,
    next_number,
    quiet,
    responding,
)
from mockserver.dialects.ovms.errors import JSON, STREAM, own_words
from mockserver.dialects.ovms.read import Asked
from mockserver.dialects.ovms.tools import chosen_tool, offered
from mockserver.dialects.ovms.write import AnswerPart, call_head, is_parsed, parts_of, thoughts, words

_FIRST_NUMBER = 1
_MESSAGE, _REASONING = "msg-0", "rs-0"


def write(generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply:
    """The generation as one body, or as a stream of events."""
    asked = generation.request.extra
    options = ResponseOptions(asked.fields if isinstance(asked, Asked) else {})
    return flavour.write(responding(_RESPONSE, generation, pace, scope)._replace(options=options))


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


def _status(answer: Responding) -> str:
    cut = any(choice.finish_reason == "length" for choice in answer.generation.choices)
    return "incomplete" if cut else "completed"


def _response(answer: Responding, output: Sequence[Members] | None, status: str) -> Members:
    fields, created, pace = answer.body, int(answer.scope.now), answer.pace
    over = {"completed_at": int(answer.scope.now + pace.queue + pace.prefill + pace.decode)}
    most = fields.get("max_output_tokens")
    return {
        "id": f"resp-{created}",
        "object": "response",
        "created_at": created,
        **(over if status == "completed" else {}),
        **({"incomplete_details": {"reason": "max_tokens"}} if status == "incomplete" else {}),
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
        "output": [_message("", status)] if output is None else output,
        **({} if output is None else {"usage": _usage(answer.generation)}),
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
    counts = {"input_tokens": usage.prompt_tokens, "output_tokens": usage.completion_tokens}
    return {**counts, "total_tokens": usage.total_tokens}


def _said(answer: Responding, choice: Choice) -> str:
    return choice.text if is_parsed(answer.generation) else "".join(words(choice))


def _thought(answer: Responding, choice: Choice) -> str:
    return "".join(thoughts(choice, answer.generation)) if is_parsed(answer.generation) else ""


def _calls(answer: Responding, choice: Choice) -> range:
    """The places of the calls that are items of their own."""
    return range(len(choice.calls) if is_parsed(answer.generation) else 0)


def _output(answer: Responding) -> list[Members]:
    """The items of all choices, or of the only one of a stream."""
    return [item for choice in answer.generation.choices for item in _items(answer, choice, _status(answer))]


def _items(answer: Responding, choice: Choice, status: str) -> Iterator[Members]:
    thought = _thought(answer, choice)
    if thought:
        yield _reasoning(thought, f"rs-{choice.index}")
    for place in _calls(answer, choice):
        yield _call(answer, choice, place, status, choice.calls[place].arguments)
    yield _message(_said(answer, choice), status, f"msg-{choice.index}")


def _reasoning(text: str | None, id_: str = _REASONING) -> dict[str, Any]:
    summary = [] if text is None else [{"type": "summary_text", "text": text}]
    return {"id": id_, "type": "reasoning", "summary": summary}


def _call(answer: Responding, choice: Choice, place: int, status: str, arguments: str) -> dict[str, Any]:
    id_ = call_head(choice, place, answer.scope)["id"]
    named = {"call_id": id_, "name": choice.calls[place].name, "arguments": arguments}
    return {"id": id_, "type": "function_call", "status": status, **named}


def _message(text: str | None, status: str, id_: str = _MESSAGE) -> dict[str, Any]:
    content = [] if text is None else [_text_part(text)]
    return {"id": id_, "type": "message", "role": "assistant", "status": status, "content": content}


def _text_part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": []}


# --- a stream ----------------------------------------------------------------------------------------------------


def _stages(answer: Responding) -> Iterator[Stage]:
    """ "response.created: after execution is scheduled", "in_progress: when the model starts producing tokens"."""
    begun = {"response": _response(answer, None, "in_progress")}
    yield quiet(_written, TAKEN, [ResponseEvent("response.created", begun)])
    yield quiet(_written, 0, [ResponseEvent("response.in_progress", begun)])
    for part in parts_of(answer.choice, answer.generation):
        if part.kind == "text":
            yield from _text_stages(answer, part)
        elif part.kind == "thought":
            yield from _thought_stages(answer, part)
        else:
            yield from _call_stages(answer, part)
    yield quiet(_written, answer.generation.last_step, list(_closing(answer)))


def _thought_stages(answer: Responding, part: AnswerPart) -> Iterator[Stage]:
    where = {"output_index": 0, "summary_index": 0, "item_id": _REASONING}
    whole = _thought(answer, answer.choice)
    empty, full = ({"type": "summary_text", "text": text} for text in ("", whole))
    first, runs = _runs(part)
    opening = [
        ResponseEvent("response.output_item.added", {"output_index": 0, "item": _reasoning(None)}),
        ResponseEvent("response.reasoning_summary_part.added", {**where, "part": empty}),
    ]
    yield quiet(_written, first, opening)
    yield deltas(_written, ResponseEvent("response.reasoning_summary_text.delta", {**where, "delta": SLOT}), runs)
    closing = [
        ResponseEvent("response.reasoning_summary_text.done", {**where, "text": whole}),
        ResponseEvent("response.reasoning_summary_part.done", {**where, "part": full}),
        ResponseEvent("response.output_item.done", {"output_index": 0, "item": _reasoning(whole)}),
    ]
    # They are closed by what follows: the first token of a text, the name of a tool, or the end.
    yield quiet(_written, min(part.step + part.tokens, answer.generation.last_step), closing)


def _text_stages(answer: Responding, part: AnswerPart) -> Iterator[Stage]:
    index = int(bool(_thought(answer, answer.choice)))
    first, runs = _runs(part)
    if not _said(answer, answer.choice):
        return
    yield quiet(_written, first, _opened(index))
    yield deltas(_written, ResponseEvent("response.output_text.delta", {**_at(index), "delta": SLOT}), runs)


def _call_stages(answer: Responding, part: AnswerPart) -> Iterator[Stage]:
    choice = answer.choice
    index = int(bool(_thought(answer, choice))) + part.place
    item = _call(answer, choice, part.place, "in_progress", "")
    added = ResponseEvent("response.output_item.added", {"output_index": index, "item": item})
    yield quiet(_written, part.begun, [added], 1)
    where = {"item_id": item["id"], "output_index": index, "call_id": item["call_id"]}
    _, runs = _runs(part)
    yield deltas(_written, ResponseEvent("response.function_call_arguments.delta", {**where, "delta": SLOT}), runs)


def _closing(answer: Responding) -> Iterator[ResponseEvent]:
    """The last events of a stream: those of the calls, those of the message, and that of the response."""
    choice, status = answer.choice, _status(answer)
    text, calls = _said(answer, choice), _calls(answer, choice)
    base = int(bool(_thought(answer, choice)))
    for place in calls:
        item = _call(answer, choice, place, status, choice.calls[place].arguments)
        where = {"item_id": item["id"], "output_index": base + place, "call_id": item["call_id"]}
        yield ResponseEvent("response.function_call_arguments.done", {**where, "arguments": item["arguments"]})
        yield ResponseEvent("response.output_item.done", {"output_index": base + place, "item": item})
    if text or not calls:
        # So the server has it: a text that came before calls is closed after them, at another index than its deltas.
        index = base + len(calls)
        yield from () if text else _opened(index)
        yield ResponseEvent("response.output_text.done", {**_at(index), "text": text})
        yield ResponseEvent("response.content_part.done", {**_at(index), "part": _text_part(text)})
        yield ResponseEvent("response.output_item.done", {"output_index": index, "item": _message(text, status)})
    yield ResponseEvent(
        f"response.{status}", {"response": _response(answer, list(_items(answer, choice, status)), status)}
    )


def _opened(index: int) -> list[ResponseEvent]:
    return [
        ResponseEvent("response.output_item.added", {"output_index": index, "item": _message(None, "in_progress")}),
        ResponseEvent("response.content_part.added", {**_at(index), "part": _text_part("")}),
    ]


def _at(index: int) -> dict[str, Any]:
    return {"output_index": index, "content_index": 0, "item_id": _MESSAGE}


def _runs(part: AnswerPart) -> tuple[int, Iterator[Run]]:
    """The decoding step of a part's first flush, and all flushes as deltas, without the empty ones."""
    flushes = ((flush.text, max(part.step + flush.at, 0), flush.out) for flush in part.flushes)
    first = next(flushes)
    return first[1], _run(chain((first,), flushes), part.tokens)


def _run(rows: Iterator[tuple[str, int, int]], most: int) -> Iterator[Run]:
    out, spoken = 0, filter(itemgetter(0), rows)
    while batch := list(islice(spoken, RUN_LENGTH)):
        totals = [out, *(min(total, most) for _, _, total in batch)]
        tokens = list(map(sub, totals[1:], totals))
        yield Run([text for text, _, _ in batch], [step for _, step, _ in batch], tokens)
        out = totals[-1]


_RESPONSE = ResponseFlavour(
    _response,
    layout=lambda answer: _written,
    output=_output,
    status=_status,
    stages=_stages,
    first=_FIRST_NUMBER,
    done=True,
    stream_headers=lambda answer: STREAM,
    content_type=JSON,
)

"""`POST /v3/responses`: requests, and answers of one body, or of typed events without `event:` lines.

A graph refuses requests by checks in the order of its source. Of the parts of a message only the first text counts; the
server does not read `instructions`. As its source writes answers: there is always a message, though it may be empty; a
call's last events come at the very end; numbers begin at 1; ids are made of the time and of indexes, or constant.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from mockserver.core.dialects import Broken, RequestScope
from mockserver.core.failures import Refusal
from mockserver.core.generation import Choice, Generation, GenerationRequest
from mockserver.core.http import TAKEN, Call, FrameBatch, Reply, TokenTiming
from mockserver.dialects.openai.replies import SLOT, Members
from mockserver.dialects.openai.responses.flavour import (
    EventWriter,
    Responding,
    ResponseEvent,
    ResponseFlavour,
    ResponseOptions,
    Run,
    data_of,
    next_number,
    responding,
    write,
)
from mockserver.dialects.openai.responses.items import messages_of
from mockserver.dialects.openai.streams import DONE
from mockserver.dialects.ovms.checks import checks_of
from mockserver.dialects.ovms.endpoints import Fields
from mockserver.dialects.ovms.errors import JSON, STREAM_HEADERS, own_words
from mockserver.dialects.ovms.guided_generation import TOOLS, chosen_tool, offered
from mockserver.dialects.ovms.read import Message, OvmsOptions, accept, as_templated, pictures_fault, read_conversation
from mockserver.dialects.ovms.write import call_head, parsed_output, parts_of, peeked, runs

Item = Mapping[str, Any]


def read_response(call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """The request, or why the server or its graph refuses it."""
    accepted = accept(call, scope, _CHECKS)
    if isinstance(accepted, Refusal):
        return accepted
    fields, messages = accepted.fields, messages_of(accepted.fields["input"])
    templated = as_templated([_with_first_text(message) for message in messages])
    most = fields.get("max_output_tokens")
    request = read_conversation(accepted._replace(fields=_as_chat(fields)), templated, messages, most)
    if isinstance(request, Refusal):
        return request
    return request._replace(extra=OvmsOptions(request.extra is not None, fields))


def _as_chat(fields: Fields) -> dict[str, Any]:
    """The fields in chat form: "any effort value enables thinking", and `text.format` becomes a `response_format`."""
    chat = dict(fields)
    if fields.get("reasoning", {}).get("effort") is not None:
        chat["chat_template_kwargs"] = {"enable_thinking": True, **fields.get("chat_template_kwargs", {})}
    form = fields["text"].get("format") if isinstance(fields.get("text"), dict) else None
    if isinstance(form, dict) and "response_format" not in fields:
        chat["response_format"] = {"type": form.get("type"), "json_schema": {"schema": form.get("schema")}}
    return chat


def _with_first_text(message: Message) -> Message:
    content = message["content"]
    if isinstance(content, str):
        return message
    return {**message, "content": next((str(part["text"]) for part in content if part["type"] == "text"), "")}


# Items that are not messages: they need no role, and are not checked.
_OTHERS = ("reasoning", "function_call", "function_call_output")


def _items_fault(given: str | Sequence[object], fields: Fields) -> str | None:
    """The fault of the first item that the server cannot read; None if there is none."""
    items = () if isinstance(given, str) else given
    return next((fault for item in items if (fault := _item_fault(item)) is not None), None)


def _item_fault(item: object) -> str | None:
    if not isinstance(item, dict):
        return "input array items must be objects"
    kind, content = item.get("type"), item.get("content", "")
    if kind in _OTHERS:
        return _call_fault(item) if kind == "function_call" else None
    if not isinstance(item.get("role"), str):
        return "input item role is missing or invalid"
    if isinstance(content, str):
        return None
    if not isinstance(content, list):
        return "input item content must be a string or array"
    return next((fault for part in content if (fault := _part_fault(part)) is not None), None)


def _call_fault(item: Item) -> str | None:
    """What a call lacks without which the chat template could not write it."""
    lacks = (
        ("call_id (or id)", not any(isinstance(item.get(name), str) and item[name] for name in ("call_id", "id"))),
        ("name", not isinstance(item.get("name"), str) or not item["name"]),
        ("arguments", not isinstance(item.get("arguments"), str)),
    )
    return next((f"function_call item is missing required {name} field" for name, lacking in lacks if lacking), None)


def _part_fault(part: object) -> str | None:
    if not isinstance(part, dict):
        return "input content items must be objects"
    kind = part.get("type")
    if not isinstance(kind, str):
        return "input content item type is missing or invalid"
    if kind in ("input_text", "output_text"):
        return None if isinstance(part.get("text"), str) else f"{kind} requires a valid text field"
    if kind != "input_image":
        # Parts of unknown types are ignored.
        return None
    if "image_url" not in part:
        return "input_image requires image_url field"
    image = part["image_url"]
    if isinstance(image, dict):
        return None if isinstance(image.get("url"), str) else "input_image.image_url.url is missing or invalid"
    return None if isinstance(image, str) else "input_image.image_url must be a string or object"


_CHECKS = checks_of(
    "responses",
    {
        "each item": (("input", _items_fault),),
        "tools": TOOLS,
        "pictures": (("input", lambda value, fields: pictures_fault(messages_of(value), fields)),),
    },
)

# --- answers ---------------------------------------------------------------------------------------------------------

_FIRST_NUMBER = 1
_MESSAGE, _REASONING = "msg-0", "rs-0"


def write_response(generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply:
    """The generation as one body, or as a stream of events."""
    asked = generation.request.extra
    options = ResponseOptions(asked.fields if isinstance(asked, OvmsOptions) else {})
    return write(responding(_RESPONSE, parsed_output(generation), pace, scope)._replace(options=options))


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


def _status(answer: Responding) -> str:
    cut = any(choice.finish_reason == "length" for choice in answer.generation.choices)
    return "incomplete" if cut else "completed"


def _response(answer: Responding, output: Sequence[Members] | None, status: str) -> Members:
    fields, created, pace = answer.body, int(answer.scope.now), answer.pace
    over = {"completed_at": int(answer.scope.now + pace.queue + pace.prefill + pace.decode)}
    most, counts = fields.get("max_output_tokens"), answer.generation.usage
    usage = {"input_tokens": counts.prompt_tokens, "output_tokens": counts.completion_tokens}
    usage["total_tokens"] = counts.total_tokens
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
        **({} if output is None else {"usage": usage}),
    }


def _stated(fields: Mapping[str, Any], name: str) -> dict[str, float]:
    """A number as the server stores it, in single precision; empty if it was not sent."""
    value = fields.get(name)
    return {} if value is None else {name: struct.unpack("f", struct.pack("f", value))[0]}


def _tools(fields: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The functions that have parameters, in the order of their names, as the server's map sorts them."""
    found = {tool["name"]: tool["parameters"] for tool in offered(fields) if tool.get("parameters") is not None}
    return [{"type": "function", "name": name, "parameters": found[name]} for name in sorted(found)]


def _output(answer: Responding) -> list[Members]:
    """The items of all choices, or of the only one of a stream."""
    return [item for choice in answer.generation.choices for item in _items(answer, choice, _status(answer))]


def _items(answer: Responding, choice: Choice, status: str) -> Iterator[Members]:
    if choice.thoughts:
        yield _reasoning("".join(choice.thoughts), f"rs-{choice.index}")
    for place, call in enumerate(choice.calls):
        yield _call(answer, choice, place, status, call.arguments)
    yield _message(choice.text, status, f"msg-{choice.index}")


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


def _frames(answer: Responding, events: EventWriter) -> Iterator[FrameBatch]:
    """ "response.created: after execution is scheduled", "in_progress: when the model starts producing tokens"."""
    choice, last = answer.choice, answer.generation.last_step
    response = {"response": _response(answer, None, "in_progress")}
    yield events.together(TAKEN, [ResponseEvent("response.created", response)])
    yield events.together(0, [ResponseEvent("response.in_progress", response)])
    for each in parts_of(choice):
        first, part = peeked(each)
        said = (Run(texts, steps, tokens) for texts, steps, tokens, _ in runs(part))
        if part.kind == "thought":
            yield from _thought_frames(
                events, "".join(choice.thoughts), first, said, min(part.step + part.tokens, last)
            )
        elif part.kind == "text" and choice.text:
            index = int(bool(choice.thoughts))
            yield events.together(first, _opened(index))
            yield from events.deltas(ResponseEvent("response.output_text.delta", {**_at(index), "delta": SLOT}), said)
        elif part.kind == "call":
            item = _call(answer, choice, part.place, "in_progress", "")
            where = _of_call(choice, part.place, item)
            added = ResponseEvent("response.output_item.added", {"output_index": where["output_index"], "item": item})
            yield events.together(part.begun, [added], 1)
            delta = ResponseEvent("response.function_call_arguments.delta", {**where, "delta": SLOT})
            yield from events.deltas(delta, said)
    yield events.together(last, list(_closing(answer)))


def _thought_frames(
    events: EventWriter, whole: str, first: int, said: Iterator[Run], last: int
) -> Iterator[FrameBatch]:
    where = {"output_index": 0, "summary_index": 0, "item_id": _REASONING}
    empty, full = ({"type": "summary_text", "text": text} for text in ("", whole))
    opening = [
        ResponseEvent("response.output_item.added", {"output_index": 0, "item": _reasoning(None)}),
        ResponseEvent("response.reasoning_summary_part.added", {**where, "part": empty}),
    ]
    yield events.together(first, opening)
    yield from events.deltas(ResponseEvent("response.reasoning_summary_text.delta", {**where, "delta": SLOT}), said)
    closing = [
        ResponseEvent("response.reasoning_summary_text.done", {**where, "text": whole}),
        ResponseEvent("response.reasoning_summary_part.done", {**where, "part": full}),
        ResponseEvent("response.output_item.done", {"output_index": 0, "item": _reasoning(whole)}),
    ]
    # They are closed by what follows: the first token of a text, the name of a tool, or the end.
    yield events.together(last, closing)


def _closing(answer: Responding) -> Iterator[ResponseEvent]:
    """The last events of a stream: those of the calls, those of the message, and that of the response."""
    choice, text, status = answer.choice, answer.choice.text, _status(answer)
    for place, call in enumerate(choice.calls):
        item = _call(answer, choice, place, status, call.arguments)
        where = _of_call(choice, place, item)
        yield ResponseEvent("response.function_call_arguments.done", {**where, "arguments": item["arguments"]})
        yield ResponseEvent("response.output_item.done", {"output_index": where["output_index"], "item": item})
    if text or not choice.calls:
        # So the server has it: a text that came before calls is closed after them, at another index than its deltas.
        index = int(bool(choice.thoughts)) + len(choice.calls)
        yield from () if text else _opened(index)
        yield ResponseEvent("response.output_text.done", {**_at(index), "text": text})
        yield ResponseEvent("response.content_part.done", {**_at(index), "part": _text_part(text)})
        yield ResponseEvent("response.output_item.done", {"output_index": index, "item": _message(text, status)})
    whole = _response(answer, list(_items(answer, choice, status)), status)
    yield ResponseEvent(f"response.{status}", {"response": whole})


def _opened(index: int) -> list[ResponseEvent]:
    return [
        ResponseEvent("response.output_item.added", {"output_index": index, "item": _message(None, "in_progress")}),
        ResponseEvent("response.content_part.added", {**_at(index), "part": _text_part("")}),
    ]


def _at(index: int) -> dict[str, Any]:
    return {"output_index": index, "content_index": 0, "item_id": _MESSAGE}


def _of_call(choice: Choice, place: int, item: Members) -> dict[str, Any]:
    return {"item_id": item["id"], "output_index": int(bool(choice.thoughts)) + place, "call_id": item["call_id"]}


_RESPONSE = ResponseFlavour(
    _response,
    layout=lambda answer: _written,
    output=_output,
    status=_status,
    frames=_frames,
    first=_FIRST_NUMBER,
    done=True,
    stream_headers=lambda answer: STREAM_HEADERS,
    content_type=JSON,
)

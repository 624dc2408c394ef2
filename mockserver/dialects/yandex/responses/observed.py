"""Responses as they were recorded in September 2026 (observed edition), plain and streamed, of YandexGPT and Alice AI.

Their objects have `"valid": true`, many of them twice; ids are UUIDs; a stream has the data before the event's name and
no space after the colons, counts its events from 1, and has no `[DONE]`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

import orjson

from mockserver.core.seeding import hex_digits, uuid4_text
from mockserver.dialects.openai.replies import Members
from mockserver.dialects.openai.responses.flavour import (
    Responding,
    ResponseEvent,
    ResponseFlavour,
    Run,
    by_group,
    by_token,
)
from mockserver.dialects.openai.responses.items import GeneratedItem, incomplete_reason
from mockserver.dialects.yandex.models import Backend
from mockserver.dialects.yandex.write import token_groups

# An object cannot hold a key twice, so the second has a mark that is removed from the JSON text.
_VALID = {"valid": True}
_TWICE = {"valid": True, "valid\0": True}
_MARKED, _UNMARKED = b'"valid\\u0000":true', b'"valid":true'
# Recorded: one token, then 1 to 5 at a time.
_SMALLEST, _LARGEST = 1, 5
# The members of a web search that nobody has set.
_UNSET = {"web_search": {"filters": None, "search_context_size": None, "user_location": None}}
# Where searches find something, and the tokens of each result; recorded: 2,102 tokens of five results.
_HOSTS = ("example.com", "example.org", "example.net")
_RESULT_TOKENS = 420


class ResponseExtra(NamedTuple):
    """What the writer needs beside the fields of the request: the engine, and the query with which the service searches
    the web before the model answers, if it does."""

    backend: Backend = Backend()
    query: str | None = None


def extra(answer: Responding) -> ResponseExtra:
    """What the request has for the writer."""
    return answer.options.more or ResponseExtra()


def written(kind: str, number: Any, fields: Members) -> bytes:
    """An event of a stream."""
    data = _dumped({"sequence_number": number, **fields, "type": kind})
    return b"data:%b\nevent:%b\n\n" % (data, kind.encode())


def _dumped(value: Members) -> bytes:
    return orjson.dumps(value).replace(_MARKED, _UNMARKED)


def _id(answer: Responding) -> str:
    return uuid4_text(answer.scope.identity, "response")


def _response(answer: Responding, output: Sequence[Members] | None, status: str) -> Members:
    body = answer.body
    reason = incomplete_reason(answer.choice) if output is not None else None
    metadata = body.get("metadata")
    return {
        "id": _id(answer),
        "created_at": _double(int(answer.scope.now)),
        "error": None,
        "incomplete_details": {"reason": reason, **_nested(answer)} if reason else None,
        "instructions": body.get("instructions"),
        "metadata": metadata if isinstance(metadata, dict) else {},
        "model": answer.generation.request.model,
        "object": "response",
        "output": output or [],
        "parallel_tool_calls": body.get("parallel_tool_calls", False),
        "temperature": float(body.get("temperature", 1.0)),
        "tool_choice": body.get("tool_choice", "auto"),
        "tools": [_tool(tool) for tool in body.get("tools", ())],
        "top_p": float(body.get("top_p", 1.0)),
        "background": body.get("background", False),
        "completed_at": None,
        "conversation": _conversation(body.get("conversation")),
        "max_output_tokens": body.get("max_output_tokens"),
        "max_tool_calls": body.get("max_tool_calls"),
        "previous_response_id": body.get("previous_response_id"),
        "prompt": body.get("prompt"),
        "prompt_cache_key": body.get("prompt_cache_key"),
        "prompt_cache_retention": body.get("prompt_cache_retention"),
        "reasoning": body.get("reasoning"),
        "safety_identifier": body.get("safety_identifier"),
        "service_tier": body.get("service_tier", "default"),
        "status": status,
        "text": body.get("text"),
        "top_logprobs": body.get("top_logprobs"),
        "truncation": body.get("truncation"),
        "usage": _usage(answer, over=output is not None),
        "user": body.get("user"),
        **_TWICE,
    }


def _double(number: int) -> orjson.Fragment:
    """A whole number as the service writes it: 1790262606 as 1.790262606E9."""
    digits = str(number)
    if len(digits) < 8:
        return orjson.Fragment(f"{digits}.0".encode())
    return orjson.Fragment(f"{digits[0]}.{digits[1:].rstrip('0') or '0'}E{len(digits) - 1}".encode())


def _nested(answer: Responding) -> Mapping[str, bool]:
    """The mark of an object within a response: once in a stream, twice in a plain answer."""
    return _VALID if answer.streamed else _TWICE


def _conversation(given: Any) -> Members | str | None:
    """The conversation as the request names it: an object, or an id, which any other value is taken for."""
    return given if given is None or isinstance(given, dict | str) else str(given)


def _tool(tool: Members) -> dict[str, Any]:
    if tool["type"] != "function":
        return {"type": tool["type"], **_UNSET.get(tool["type"], {}), **tool, **_TWICE}
    return {
        "name": tool.get("name"),
        "parameters": tool.get("parameters"),
        "strict": tool.get("strict"),
        "type": "function",
        "defer_loading": tool.get("defer_loading"),
        "description": tool.get("description"),
        **_TWICE,
    }


def _usage(answer: Responding, *, over: bool) -> dict[str, Any]:
    """The usage, which is 0 throughout while the response is not complete."""
    usage, valid = answer.generation.usage, _nested(answer)
    found = _RESULT_TOKENS * len(_citations(answer)) if over else 0
    return {
        "input_tokens": usage.prompt_tokens if over else 0,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens if over else 0, **valid, "tool_tokens": found},
        "output_tokens": usage.completion_tokens if over else 0,
        "output_tokens_details": {"reasoning_tokens": answer.reasoning_tokens if over else 0, **valid},
        "total_tokens": usage.total_tokens + found if over else 0,
        **valid,
    }


def _opening(answer: Responding) -> list[ResponseEvent]:
    """The first events, and those of a search of the web."""
    queued, begun = (_response(answer, None, status) for status in ("queued", "in_progress"))
    opening = [
        ResponseEvent("response.created", {"response": queued}),
        ResponseEvent("response.in_progress", {"response": begun}),
    ]
    query = _query(answer)
    if query is None:
        return opening
    items = [_search(answer, words, status) for words, status in (("", "in_progress"), (query, "completed"))]
    begun, done = ({"output_index": 0, "item": item} for item in items)
    where, kind = {"item_id": items[0]["id"], "output_index": 0}, "response.web_search_call"
    return [
        *opening,
        ResponseEvent("response.output_item.added", begun),
        *(ResponseEvent(f"{kind}.{step}", where) for step in ("in_progress", "searching", "completed")),
        ResponseEvent("response.output_item.done", done),
    ]


def _ahead(answer: Responding) -> list[Members]:
    """The item of the search."""
    query = _query(answer)
    return [] if query is None else [_search(answer, query, "completed")]


def _query(answer: Responding) -> str | None:
    """The query of the search that precedes the answer; None if there is no search, as before a call."""
    return None if answer.choice.calls else extra(answer).query


def _search(answer: Responding, query: str, status: str) -> Members:
    valid, id_ = _nested(answer), uuid4_text(answer.scope.identity, "search")
    action = {"query": query, "type": "search", **valid}
    return {"id": id_, "action": action, "status": status, "type": "web_search_call", **valid}


def _citations(answer: Responding) -> list[Members]:
    """What a search has found; recorded citations all have the indexes 0."""
    query = _query(answer)
    if query is None:
        return []
    return [
        {
            "end_index": 0,
            "start_index": 0,
            "title": f"{query} — {host}",
            "type": "url_citation",
            "url": f"https://{host}/{quote(query)}",
            **_nested(answer),
        }
        for host in _HOSTS
    ]


def _item_id(answer: Responding, generated: GeneratedItem, index: int) -> str:
    return uuid4_text(answer.scope.identity, "item", generated.kind, generated.place)


def _item(answer: Responding, generated: GeneratedItem, text: str | None, id_: str) -> Members:
    status, valid = "in_progress" if text is None else generated.status, _nested(answer)
    if generated.is_call:
        kind, key = ("function_call", "arguments") if generated.kind == "call" else ("custom_tool_call", "input")
        call = {key: text or "", "call_id": _call_id(answer, generated), "name": generated.name, "type": kind}
        return {**call, "id": id_, "status": status, **valid}
    if generated.kind in ("summary", "hidden"):
        summed = text is not None and generated.kind == "summary"
        summary = [_content(answer, generated, text or "")] if summed else []
        return {"id": id_, "summary": summary, "type": "reasoning", "status": status, **valid}
    content = [] if text is None else [_content(answer, generated, text)]
    phase = {} if answer.streamed else {"phase": None}
    return {"id": id_, "content": content, "role": "assistant", "status": status, "type": "message", **phase, **valid}


def _call_id(answer: Responding, generated: GeneratedItem) -> str:
    """The id by which a result names its call, as in chats: the tool's name, unless vLLM serves the model."""
    if extra(answer).backend.own:
        return generated.name
    return f"chatcmpl-tool-{hex_digits(answer.scope.identity, 32, 'call', generated.place)}"


def _content(answer: Responding, generated: GeneratedItem, text: str) -> Members:
    """The text of an item within it; only a plain answer has `logprobs` that nobody has asked for, without a value."""
    rows: list[Any] | None = _rows(answer, generated) if answer.detailed else None
    logprobs = {} if answer.streamed and not answer.detailed else {"logprobs": rows}
    return _said(generated, text, logprobs, _nested(answer), _citations(answer))


def _said(
    generated: GeneratedItem,
    text: str,
    logprobs: Members,
    valid: Mapping[str, bool],
    annotations: Sequence[Members] = (),
) -> Members:
    if generated.kind == "summary":
        return {"text": text, "type": "summary_text", **valid}
    if generated.kind == "refusal":
        return {"refusal": text, "type": "refusal", **valid}
    return {"annotations": [*annotations], "text": text, "type": "output_text", **logprobs, **valid}


def _rows(answer: Responding, generated: GeneratedItem) -> list[dict[str, Any]]:
    return answer.logprobs(range(len(generated.texts)))


def _part(answer: Responding, generated: GeneratedItem, text: str, over: bool) -> Members:
    """The part of an item as an event of its own has it."""
    return _said(generated, text, {"logprobs": _rows(answer, generated)} if over else {}, _VALID)


def _beside(answer: Responding, generated: GeneratedItem, tokens: range) -> Members:
    return {"logprobs": answer.logprobs(tokens)} if answer.detailed and generated.kind == "text" else {}


def _ended(answer: Responding, generated: GeneratedItem) -> Members:
    if generated.kind == "call":
        return {"name": generated.name}
    return {"logprobs": _rows(answer, generated)} if answer.detailed and generated.kind == "text" else {}


def runs(answer: Responding, generated: GeneratedItem, *, grouped: bool, **sizes: int) -> Iterator[Run]:
    """The deltas: one token each, or in groups, as in chats, and all arguments of a call."""
    if not grouped:
        return by_token(answer, generated)
    texts = generated.texts
    return by_group(
        generated, [range(len(texts))] if generated.is_call else token_groups(texts, answer.choice.seed, **sizes)
    )


def _runs(answer: Responding, generated: GeneratedItem) -> Iterator[Run]:
    """A few tokens each; one token each of the models that vLLM serves."""
    return runs(answer, generated, grouped=extra(answer).backend.own, smallest=_SMALLEST, largest=_LARGEST)


OBSERVED = ResponseFlavour(
    _response,
    lambda answer: written,
    _id,
    _item_id,
    _item,
    _part,
    _beside,
    _ended,
    _dumped,
    ahead=_ahead,
    runs=_runs,
    opening=_opening,
    first=1,
    stream_headers=lambda answer: extra(answer).backend.stream_headers,
    waits=False,
)

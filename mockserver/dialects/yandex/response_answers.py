"""Answers to `POST /v1/responses`, plain and streamed, in the form of the edition.

The observed ones are those recorded in September 2026 of YandexGPT and Alice AI. Their objects have `"valid": true`,
many of them twice; ids are UUIDs; a stream has the data before the event's name and no space after the colons, counts
its events from 1, and has no `[DONE]`. The documented ones are those of the page, which names the members, but not
their order, nor the form of ids or of a stream's lines: these are OpenAI's.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

import orjson

from mockserver.core.dialects import Broken, RequestScope
from mockserver.core.generation import Generation
from mockserver.core.http import Reply, TokenTiming
from mockserver.core.seeding import hex_digits, uuid4_text
from mockserver.dialects.openai.replies import NOTHING, GeneratedItem, Members, incomplete_reason, ordered
from mockserver.dialects.openai.responses.answers import PREFIXES, RESPONSE, ended, item
from mockserver.dialects.openai.responses.flavour import (
    Responding,
    ResponseEvent,
    ResponseFlavour,
    Run,
    by_group,
    by_token,
    failed,
    identified,
    responding,
    usual_opening,
    write,
)
from mockserver.dialects.openai.responses.items import format_of
from mockserver.dialects.yandex.models import Backend
from mockserver.dialects.yandex.write import token_groups


class ResponseExtra(NamedTuple):
    """What the writer needs beside the fields of the request: the engine, and the query with which the service searches
    the web before the model answers, if it does."""

    backend: Backend = Backend()
    query: str | None = None


def write_response(generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply:
    """The generation as one body, or as a stream of events, in the format of the model's engine."""
    return write(responding(flavour_of(scope), generation, pace, scope))


def flavour_of(scope: RequestScope) -> ResponseFlavour:
    """The flavour of the edition."""
    return _OBSERVED if scope.edition == "observed" else _DOCUMENTED


def fail_response(broken: Broken) -> bytes:
    """The events with which a stream fails: an `error`, and the failed response."""

    def error(problem: Members) -> Members:
        return {**problem, "param": None}

    # Only the page's form begins with the name of the event.
    if broken.events[0].startswith(b"event:"):
        return failed(broken, _documented_event, error=error)
    return failed(broken, _observed_event, _OBSERVED.first, error=error)


def _extra(answer: Responding) -> ResponseExtra:
    return answer.options.more or ResponseExtra()


def _runs(answer: Responding, generated: GeneratedItem, *, grouped: bool, **sizes: int) -> Iterator[Run]:
    """The deltas: one token each, or in groups, as in chats, and all arguments of a call."""
    if not grouped:
        return by_token(answer, generated)
    texts = generated.texts
    return by_group(
        generated, [range(len(texts))] if generated.is_call else token_groups(texts, answer.choice.seed, **sizes)
    )


# --- observed --------------------------------------------------------------------------------------------------------

# An object cannot hold a key twice, so the second has a mark that is removed from the JSON text.
_VALID = {"valid": True}
_TWICE = {"valid": True, "valid\0": True}
_MARKED, _UNMARKED = b'"valid\\u0000":true', b'"valid":true'
_FUNCTION = ("name", "parameters", "strict", "type", "defer_loading", "description")
# The members of a web search that nobody has set.
_UNSET = {"web_search": {"filters": None, "search_context_size": None, "user_location": None}}
# Where searches find something, and the tokens of each result; recorded: 2,102 tokens of five results.
_HOSTS = ("example.com", "example.org", "example.net")
_RESULT_TOKENS = 420


def _observed_event(kind: str, number: Any, fields: Members) -> bytes:
    data = _dumped({"sequence_number": number, **fields, "type": kind})
    return b"data:%b\nevent:%b\n\n" % (data, kind.encode())


def _dumped(value: Members) -> bytes:
    return orjson.dumps(value).replace(_MARKED, _UNMARKED)


def _uuid(answer: Responding) -> str:
    return uuid4_text(answer.scope.identity, "response")


def _observed_response(answer: Responding, output: Sequence[Members] | None, status: str) -> Members:
    body, conversation, metadata = answer.body, answer.body.get("conversation"), answer.body.get("metadata")
    reason = incomplete_reason(answer.choice) if output is not None else None
    return {
        "id": _uuid(answer),
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
        # As the request names it: an object, or an id, which any other value is taken for.
        "conversation": conversation if conversation is None or isinstance(conversation, dict) else str(conversation),
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
        "usage": _observed_usage(answer, over=output is not None),
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


def _tool(tool: Members) -> dict[str, Any]:
    if tool["type"] != "function":
        return {"type": tool["type"], **_UNSET.get(tool["type"], {}), **tool, **_TWICE}
    return {**{name: tool.get(name) for name in _FUNCTION}, **_TWICE}


def _observed_usage(answer: Responding, *, over: bool) -> dict[str, Any]:
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
    opening = [
        ResponseEvent(f"response.{event}", {"response": _observed_response(answer, None, status)})
        for event, status in (("created", "queued"), ("in_progress", "in_progress"))
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
    query = _query(answer)
    return [] if query is None else [_search(answer, query, "completed")]


def _query(answer: Responding) -> str | None:
    """The query of the search that precedes the answer; None if there is no search, as before a call."""
    return None if answer.choice.calls else _extra(answer).query


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


def _observed_item(answer: Responding, generated: GeneratedItem, text: str | None, id_: str) -> Members:
    status, valid = "in_progress" if text is None else generated.status, _nested(answer)
    if generated.is_call:
        kind, key = ("function_call", "arguments") if generated.kind == "call" else ("custom_tool_call", "input")
        # As in chats, it is the tool's name, unless vLLM serves the model.
        call_id = generated.call_id or (generated.name if _extra(answer).backend.own else "")
        call_id = call_id or f"chatcmpl-tool-{hex_digits(answer.scope.identity, 32, 'call', generated.place)}"
        call = {key: text or "", "call_id": call_id, "name": generated.name, "type": kind}
        return {**call, "id": id_, "status": status, **valid}
    if generated.kind in ("summary", "hidden"):
        summed = text is not None and generated.kind == "summary"
        summary = [_content(answer, generated, text or "")] if summed else []
        return {"id": id_, "summary": summary, "type": "reasoning", "status": status, **valid}
    content = [] if text is None else [_content(answer, generated, text)]
    phase = {} if answer.streamed else {"phase": None}
    return {"id": id_, "content": content, "role": "assistant", "status": status, "type": "message", **phase, **valid}


def _content(answer: Responding, generated: GeneratedItem, text: str) -> Members:
    """The text of an item within it; only a plain answer has `logprobs` that nobody has asked for, without a value."""
    rows = answer.logprobs(range(len(generated.texts))) if answer.detailed else None
    said = _said(generated, text, {} if answer.streamed and rows is None else {"logprobs": rows}, _nested(answer))
    return {**said, "annotations": _citations(answer)} if "annotations" in said else said


def _part(answer: Responding, generated: GeneratedItem, text: str, over: bool) -> Members:
    rows = {"logprobs": answer.logprobs(range(len(generated.texts)))} if over else {}
    return _said(generated, text, rows, _VALID)


def _said(generated: GeneratedItem, text: str, logprobs: Members, valid: Mapping[str, bool]) -> Members:
    if generated.kind == "summary":
        return {"text": text, "type": "summary_text", **valid}
    if generated.kind == "refusal":
        return {"refusal": text, "type": "refusal", **valid}
    return {"annotations": [], "text": text, "type": "output_text", **logprobs, **valid}


def _beside(answer: Responding, generated: GeneratedItem, tokens: range) -> Members:
    return {"logprobs": answer.logprobs(tokens)} if answer.detailed and generated.kind == "text" else {}


def _observed_end(answer: Responding, generated: GeneratedItem) -> Members:
    if generated.kind == "call":
        return {"name": generated.name}
    return _beside(answer, generated, range(len(generated.texts)))


_OBSERVED = ResponseFlavour(
    _observed_response,
    lambda answer: _observed_event,
    _uuid,
    lambda answer, generated, index: uuid4_text(answer.scope.identity, "item", generated.kind, generated.place),
    _observed_item,
    _part,
    _beside,
    _observed_end,
    _dumped,
    ahead=_ahead,
    # Recorded: one token, then 1 to 5 at a time; one token each of the models that vLLM serves.
    runs=lambda answer, generated: _runs(answer, generated, grouped=_extra(answer).backend.own, smallest=1, largest=5),
    opening=_opening,
    first=1,
    stream_headers=lambda answer: _extra(answer).backend.stream_headers,
    waits=False,
)


# --- documented ------------------------------------------------------------------------------------------------------

# The members of items, in their order.
_ITEM = ("id", "type", "status", "content", "role", "arguments", "input", "call_id", "name")
_REASONING = ("id", "type", "summary")


def _documented_event(kind: str, number: Any, fields: Members) -> bytes:
    data = orjson.dumps({"type": kind, "sequence_number": number, **fields})
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), data)


def _id(answer: Responding, kind: str, place: int = 0) -> str:
    return f"{kind}_{hex_digits(answer.scope.identity, 48, kind, place)}"


def _documented_response(answer: Responding, output: Sequence[Members] | None, status: str) -> Members:
    body, usage, over = answer.body, answer.generation.usage, output is not None
    reason = incomplete_reason(answer.choice) if over else None
    text, reasoning = body.get("text") or {}, body.get("reasoning") or {}
    # A request names a conversation by its object, or by its id alone.
    given = body.get("conversation")
    conversation = given if given is None or isinstance(given, dict) else {"id": str(given)}
    counts = {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens},
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": answer.reasoning_tokens},
        "total_tokens": usage.total_tokens,
    }
    return {
        "id": _id(answer, "resp"),
        "object": "response",
        "created_at": int(answer.scope.now),
        # The page has no queue.
        "status": "in_progress" if status == "queued" else status,
        "background": body.get("background", False),
        "error": None,
        "incomplete_details": {"reason": reason} if reason else None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "max_tool_calls": body.get("max_tool_calls"),
        "model": answer.generation.request.model,
        "output": output or [],
        "parallel_tool_calls": body.get("parallel_tool_calls", True),
        "previous_response_id": body.get("previous_response_id"),
        **({"prompt": body["prompt"]} if "prompt" in body else NOTHING),
        "prompt_cache_key": body.get("prompt_cache_key"),
        "reasoning": {
            "effort": reasoning.get("effort"),
            "summary": reasoning.get("summary") or reasoning.get("generate_summary"),
        },
        "safety_identifier": body.get("safety_identifier"),
        "service_tier": body.get("service_tier", "default"),
        "store": body.get("store", True),
        "temperature": body.get("temperature", 1.0),
        "text": {"format": format_of(body), "verbosity": text.get("verbosity") or "medium"},
        "tool_choice": body.get("tool_choice", "auto"),
        "tools": body.get("tools", []),
        "top_logprobs": body.get("top_logprobs", 0),
        "top_p": body.get("top_p", 1.0),
        "truncation": body.get("truncation", "disabled"),
        "usage": counts if over else None,
        "user": body.get("user"),
        "metadata": body["metadata"] if isinstance(body.get("metadata"), dict) else {},
        **({"conversation": conversation} if conversation is not None else {}),
    }


def _documented_item(answer: Responding, generated: GeneratedItem, text: str | None, id_: str) -> Members:
    return ordered(_REASONING if generated.kind in ("summary", "hidden") else _ITEM, item(answer, generated, text, id_))


_DOCUMENTED = RESPONSE._replace(
    response=_documented_response,
    layout=lambda answer: _documented_event,
    response_id=lambda answer: _id(answer, "resp"),
    item_id=lambda answer, generated, index: _id(answer, PREFIXES[generated.kind], generated.place),
    item=_documented_item,
    input_item=identified,
    ended=lambda answer, generated: {"name": generated.name} if generated.kind == "call" else ended(answer, generated),
    plain=lambda value: orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE),
    # As in chats, those of Yandex' own models have several tokens each, or all arguments of a call.
    runs=lambda answer, generated: _runs(answer, generated, grouped=_extra(answer).backend.large_chunks),
    pad=lambda answer: None,
    opening=usual_opening,
    stream_headers=_OBSERVED.stream_headers,
)

"""Answers to `POST /v1/responses`, in the form of the edition: here those that the page describes (documented).

The page names the members, but not their order, nor the form of ids or of a stream's lines: these are OpenAI's.
"""

from collections.abc import Sequence
from typing import Any

import orjson

from mockserver.core.dialects import Broken, RequestScope
from mockserver.core.generation import Generation
from mockserver.core.seeding import hex_digits
from mockserver.core.timeline import Reply, TokenTiming
from mockserver.dialects.openai.replies import NOTHING, Members, ordered
from mockserver.dialects.openai.responses.answers import PREFIXES, RESPONSE, ended, item
from mockserver.dialects.openai.responses.flavour import (
    Responding,
    ResponseFlavour,
    failed,
    identified,
    responding,
    usual_opening,
    write,
)
from mockserver.dialects.openai.responses.items import GeneratedItem, format_of, incomplete_reason
from mockserver.dialects.yandex.responses.observed import OBSERVED, extra, runs, written

# The members of items, in their order.
_ITEM = ("id", "type", "status", "content", "role", "arguments", "input", "call_id", "name")
_REASONING = ("id", "type", "summary")


def write_response(generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply:
    """The generation as one body, or as a stream of events, in the format of the model's engine."""
    return write(responding(flavour_of(scope), generation, pace, scope))


def flavour_of(scope: RequestScope) -> ResponseFlavour:
    """The flavour of the edition."""
    return OBSERVED if scope.edition == "observed" else _DOCUMENTED


def fail_response(broken: Broken) -> bytes:
    """The events with which a stream fails: an `error`, and the failed response."""

    def error(problem: Members) -> Members:
        return {**problem, "param": None}

    # Only the page's form begins with the name of the event.
    if broken.events[0].startswith(b"event:"):
        return failed(broken, _written, error=error)
    return failed(broken, written, OBSERVED.first, error=error)


def _written(kind: str, number: Any, fields: Members) -> bytes:
    data = orjson.dumps({"type": kind, "sequence_number": number, **fields})
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), data)


def _id(answer: Responding, kind: str, place: int = 0) -> str:
    return f"{kind}_{hex_digits(answer.scope.identity, 48, kind, place)}"


def _response(answer: Responding, output: Sequence[Members] | None, status: str) -> Members:
    body = answer.body
    reason = incomplete_reason(answer.choice) if output is not None else None
    text, reasoning = body.get("text") or {}, body.get("reasoning") or {}
    # A request names a conversation by its object, or by its id alone.
    given = body.get("conversation")
    conversation = given if given is None or isinstance(given, dict) else {"id": str(given)}
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
        "usage": _usage(answer) if output is not None else None,
        "user": body.get("user"),
        "metadata": body["metadata"] if isinstance(body.get("metadata"), dict) else {},
        **({"conversation": conversation} if conversation is not None else {}),
    }


def _usage(answer: Responding) -> Members:
    usage = answer.generation.usage
    return {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens},
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": answer.reasoning_tokens},
        "total_tokens": usage.total_tokens,
    }


def _item(answer: Responding, generated: GeneratedItem, text: str | None, id_: str) -> Members:
    return ordered(_REASONING if generated.kind in ("summary", "hidden") else _ITEM, item(answer, generated, text, id_))


def _ended(answer: Responding, generated: GeneratedItem) -> Members:
    return {"name": generated.name} if generated.kind == "call" else ended(answer, generated)


_DOCUMENTED = RESPONSE._replace(
    response=_response,
    layout=lambda answer: _written,
    response_id=lambda answer: _id(answer, "resp"),
    item_id=lambda answer, generated, index: _id(answer, PREFIXES[generated.kind], generated.place),
    item=_item,
    input_item=identified,
    ended=_ended,
    plain=lambda value: orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE),
    # As in chats, those of Yandex' own models have several tokens each, or all arguments of a call.
    runs=lambda answer, generated: runs(answer, generated, grouped=extra(answer).backend.large_chunks),
    pad=lambda answer: None,
    opening=usual_opening,
    stream_headers=OBSERVED.stream_headers,
)

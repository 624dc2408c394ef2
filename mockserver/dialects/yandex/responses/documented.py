"""Responses as the page describes them (documented edition).

The page names the members, but not their order, nor the form of ids or of a stream's lines: these are OpenAI's.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from mockserver.core.seeding import alphanumerics, hex_digits
from mockserver.dialects.openai.responses.events import Event, Run, by_group, by_token
from mockserver.dialects.openai.responses.spoken import Spoken, incomplete_reason
from mockserver.dialects.yandex.models import D1
from mockserver.dialects.yandex.responses.answer import Answer
from mockserver.dialects.yandex.write import token_groups

FIRST = 0

# The prefixes of items' ids.
_PREFIXES = {
    "thought": "rs", "summary": "rs", "hidden": "rs", "text": "msg", "refusal": "msg", "call": "fc", "custom": "ctc",
}  # fmt: skip


def written(kind: str, number: Any, fields: Mapping[str, Any]) -> bytes:
    """An event of a stream."""
    data = orjson.dumps({"type": kind, "sequence_number": number, **fields})
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), data)


def plain(value: Mapping[str, Any]) -> bytes:
    """The body of a plain answer."""
    return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)


def response_id(answer: Answer) -> str:
    """The id of a response."""
    return _id(answer, "resp")


def response(answer: Answer, output: Sequence[Mapping[str, Any]] | None, status: str) -> dict[str, Any]:
    """The response with its output and status; no output for a response that is not complete yet."""
    body = answer.body
    reason = incomplete_reason(answer.choice) if output is not None else None
    text, reasoning = body.get("text") or {}, body.get("reasoning") or {}
    conversation = body.get("conversation")
    return {
        "id": response_id(answer),
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
        **({"prompt": body["prompt"]} if "prompt" in body else {}),
        "prompt_cache_key": body.get("prompt_cache_key"),
        "reasoning": {
            "effort": reasoning.get("effort"),
            "summary": reasoning.get("summary") or reasoning.get("generate_summary"),
        },
        "safety_identifier": body.get("safety_identifier"),
        "service_tier": body.get("service_tier", "default"),
        "store": body.get("store", True),
        "temperature": body.get("temperature", 1.0),
        "text": {"format": text.get("format") or {"type": "text"}, "verbosity": text.get("verbosity") or "medium"},
        "tool_choice": body.get("tool_choice", "auto"),
        "tools": body.get("tools", []),
        "top_logprobs": body.get("top_logprobs", 0),
        "top_p": body.get("top_p", 1.0),
        "truncation": body.get("truncation", "disabled"),
        "usage": _usage(answer) if output is not None else None,
        "user": body.get("user"),
        "metadata": body["metadata"] if isinstance(body.get("metadata"), dict) else {},
        **({"conversation": _conversation(conversation)} if conversation is not None else {}),
    }


def search(answer: Answer) -> tuple[list[Event], list[Mapping[str, Any]]]:
    """The events and the items of a search of the web, of which the page shows none."""
    return [], []


def item_id(answer: Answer, spoken: Spoken) -> str:
    """The id of an item."""
    return _id(answer, _PREFIXES[spoken.kind], spoken.place)


def item(answer: Answer, spoken: Spoken, text: str | None, id_: str) -> Mapping[str, Any]:
    """An item with its text; None for an item that has only begun."""
    status = "in_progress" if text is None else spoken.status
    said = text or ""
    if spoken.is_call:
        kind, key = ("function_call", "arguments") if spoken.kind == "call" else ("custom_tool_call", "input")
        call_id = f"call_{alphanumerics(answer.scope.identity, 24, 'call', spoken.place)}"
        return {"id": id_, "type": kind, "status": status, key: said, "call_id": call_id, "name": spoken.name}
    if spoken.kind in ("summary", "hidden"):
        summed = text is not None and spoken.kind == "summary"
        return {"id": id_, "type": "reasoning", "summary": [part(answer, spoken, said, True)] if summed else []}
    content = [] if text is None else [part(answer, spoken, said, True)]
    return {"id": id_, "type": "message", "status": status, "content": content, "role": "assistant"}


def part(answer: Answer, spoken: Spoken, text: str, over: bool) -> Mapping[str, Any]:
    """The part of an item that has its text, open or done."""
    if spoken.kind == "summary":
        return {"type": "summary_text", "text": text}
    if spoken.kind == "refusal":
        return {"type": "refusal", "refusal": text}
    logprobs = answer.logprobs(range(len(spoken.texts))) if over else []
    return {"type": "output_text", "annotations": [], "logprobs": logprobs, "text": text}


def beside(answer: Answer, spoken: Spoken, tokens: range) -> Mapping[str, Any]:
    """The members beside a delta."""
    return {"logprobs": answer.logprobs(tokens) if tokens else []} if spoken.kind == "text" else {}


def ended(answer: Answer, spoken: Spoken) -> Mapping[str, Any]:
    """The members beside the whole text."""
    if spoken.kind == "text":
        return {"logprobs": answer.logprobs(range(len(spoken.texts)))}
    return {"name": spoken.name} if spoken.kind == "call" else {}


def runs(answer: Answer, spoken: Spoken) -> Iterator[Run]:
    """The deltas: as in chats, those of Yandex' own models have several tokens each, or all arguments of a call."""
    if answer.backend is not D1:
        return by_token(spoken)
    texts = spoken.texts
    return by_group(spoken, [range(len(texts))] if spoken.is_call else token_groups(texts, answer.choice.seed))


def _id(answer: Answer, kind: str, place: int = 0) -> str:
    """An id in OpenAI's form."""
    return f"{kind}_{hex_digits(answer.scope.identity, 48, kind, place)}"


def _conversation(given: Any) -> Mapping[str, Any] | None:
    """The object of a conversation, which a request names by that object or by its id alone."""
    return given if isinstance(given, dict) else {"id": str(given)}


def _usage(answer: Answer) -> dict[str, Any]:
    usage = answer.generation.usage
    return {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens},
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": answer.reasoning_tokens},
        "total_tokens": usage.total_tokens,
    }

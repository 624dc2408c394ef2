"""Answers in the format of `POST /v1/responses`: one body, or a stream of typed events.

The page names the members, but not their order, nor the form of ids or of a stream's lines: these are OpenAI's.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import orjson

from mockserver.core.dialects import Broken, Site
from mockserver.core.generation import Choice, Generation, Usage
from mockserver.core.seeding import alphanumerics, hex_digits
from mockserver.core.timeline import TAKEN, Frames, Lazy, Pace, Reply
from mockserver.dialects.openai_style.events import stream_reply
from mockserver.dialects.openai_style.logprobs import chat_logprobs
from mockserver.dialects.openai_style.responses.events import (
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
from mockserver.dialects.openai_style.responses.failing import data_of, error_code, items_done, next_number
from mockserver.dialects.openai_style.responses.spoken import Spoken, Thoughts, incomplete_reason, spoken_of
from mockserver.dialects.yandex.backends import D1, Backend, backend_of
from mockserver.dialects.yandex.body import json_reply
from mockserver.dialects.yandex.chunks import token_groups
from mockserver.dialects.yandex.responses import Asked
from mockserver.dialects.yandex.uri import ModelUri, parse_uri

# The prefixes of items' ids.
_PREFIXES = {
    "thought": "rs", "summary": "rs", "hidden": "rs", "text": "msg", "refusal": "msg", "call": "fc", "custom": "ctc",
}  # fmt: skip


class _Answer(NamedTuple):
    """What an answer is written from: the generation, the request that it repeats, and the engine."""

    generation: Generation
    asked: Asked
    backend: Backend
    site: Site

    @property
    def choice(self) -> Choice:
        """The only choice: the API has no `n`."""
        return self.generation.choices[0]

    @property
    def spoken(self) -> list[Spoken]:
        """The items of the answer; thoughts are summarised if requested, else hidden."""
        unseen = self.generation.usage.unseen
        thoughts: Thoughts | None = "summary" if self.choice.thoughts else None
        if thoughts is None and unseen is not None and unseen.reasoning:
            thoughts = "hidden"
        return spoken_of(self.choice, thoughts)

    def id(self, kind: str, place: int = 0) -> str:
        """An id in OpenAI's form."""
        return f"{kind}_{hex_digits(self.site.identity, 48, kind, place)}"

    def item_id(self, spoken: Spoken) -> str:
        return self.id(_PREFIXES[spoken.kind], spoken.place)


def write(generation: Generation, pace: Pace, site: Site) -> Reply:
    """The generation as one body, or as a stream of events, in the format of the model's engine."""
    wishes = generation.request.wishes
    asked = wishes if isinstance(wishes, Asked) else Asked({}, False)
    uri = parse_uri(generation.request.model) or ModelUri("gpt", "", generation.request.model)
    answer = _Answer(generation, asked, backend_of(uri.name), site)
    if generation.request.output.stream:
        return stream_reply(Lazy(partial(_events, answer)), answer.backend.stream_headers)
    return json_reply(_response(answer, _items(answer)), generation)


def fail(broken: Broken) -> bytes:
    """The events with which a stream fails: an `error`, and the failed response."""
    sent = broken.events[: broken.sent]
    number, code = next_number(sent), error_code(broken.status)
    error = {"code": code, "message": broken.message}
    response = {
        **data_of(broken.events[0]).get("response", {}),
        "status": "failed",
        "error": error,
        "output": items_done(sent),
    }
    error_event = _written("error", number, {**error, "param": None})
    return error_event + _written("response.failed", number + 1, {"response": response})


def _written(kind: str, number: Any, fields: Mapping[str, Any]) -> bytes:
    data = orjson.dumps({"type": kind, "sequence_number": number, **fields})
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), data)


# --- one body ----------------------------------------------------------------------------------------------------


def _items(answer: _Answer) -> list[Mapping[str, Any]]:
    return [_item(answer, each, each.text, answer.item_id(each)) for each in answer.spoken]


def _response(answer: _Answer, output: list[Mapping[str, Any]] | None) -> dict[str, Any]:
    """The response with its output; None for a response in progress."""
    body, over = answer.asked.body, output is not None
    reason = incomplete_reason(answer.choice) if over else None
    status = ("incomplete" if reason else "completed") if over else "in_progress"
    text, reasoning = body.get("text") or {}, body.get("reasoning") or {}
    conversation = body.get("conversation")
    return {
        "id": answer.id("resp"),
        "object": "response",
        "created_at": int(answer.site.now),
        "status": status,
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
        "usage": _usage(answer.generation.usage) if over else None,
        "user": body.get("user"),
        "metadata": body["metadata"] if isinstance(body.get("metadata"), dict) else {},
        **({"conversation": _conversation(conversation)} if conversation is not None else {}),
    }


def _conversation(given: Any) -> Mapping[str, Any] | None:
    """The object of a conversation, which a request names by that object or by its id alone."""
    return given if isinstance(given, dict) else {"id": str(given)}


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens},
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.unseen.reasoning if usage.unseen else 0},
        "total_tokens": usage.total_tokens,
    }


def _item(answer: _Answer, spoken: Spoken, text: str | None, id_: str) -> Mapping[str, Any]:
    """An item with its text; None for an item that has only begun."""
    status = "in_progress" if text is None else spoken.status
    written = text or ""
    if spoken.is_call:
        kind, key = ("function_call", "arguments") if spoken.kind == "call" else ("custom_tool_call", "input")
        call_id = f"call_{alphanumerics(answer.site.identity, 24, 'call', spoken.place)}"
        return {"id": id_, "type": kind, "status": status, key: written, "call_id": call_id, "name": spoken.name}
    if spoken.kind in ("summary", "hidden"):
        summed = text is not None and spoken.kind == "summary"
        return {"id": id_, "type": "reasoning", "summary": [_part(answer, spoken, written, True)] if summed else []}
    content = [] if text is None else [_part(answer, spoken, written, True)]
    return {"id": id_, "type": "message", "status": status, "content": content, "role": "assistant"}


def _part(answer: _Answer, spoken: Spoken, text: str, over: bool) -> Mapping[str, Any]:
    if spoken.kind == "summary":
        return {"type": "summary_text", "text": text}
    if spoken.kind == "refusal":
        return {"type": "refusal", "refusal": text}
    logprobs = _logprobs(answer, range(len(spoken.texts))) if over else []
    return {"type": "output_text", "annotations": [], "logprobs": logprobs, "text": text}


def _logprobs(answer: _Answer, tokens: range) -> list[dict[str, Any]]:
    wanted = answer.generation.request.output.logprobs is not None
    return chat_logprobs(answer.choice, tokens.start, tokens.stop) if wanted else []


# --- a stream ----------------------------------------------------------------------------------------------------


def _events(answer: _Answer) -> Iterator[Frames]:
    return numbered(_stages(answer))


def _stages(answer: _Answer) -> Iterator[Stage]:
    begun = {"response": _response(answer, None)}
    yield quiet(_written, TAKEN, [Event("response.created", begun), Event("response.in_progress", begun)])
    manner = Manner(
        _written,
        partial(_grouped, answer.choice.seed) if answer.backend is D1 else by_token,
        partial(_item, answer),
        partial(_part, answer),
        partial(_beside, answer),
        partial(_ended, answer),
        detailed=answer.generation.request.output.logprobs is not None,
    )
    for index, spoken in enumerate(answer.spoken):
        yield from told_stages(spoken, index, answer.item_id(spoken), manner)
    kind = "response.incomplete" if incomplete_reason(answer.choice) else "response.completed"
    whole = {"response": _response(answer, _items(answer))}
    yield quiet(_written, answer.generation.last_step, [Event(kind, whole)])


def _beside(answer: _Answer, spoken: Spoken, tokens: range) -> Mapping[str, Any]:
    return {"logprobs": _logprobs(answer, tokens) if tokens else []} if spoken.kind == "text" else {}


def _ended(answer: _Answer, spoken: Spoken) -> Mapping[str, Any]:
    if spoken.kind == "text":
        return {"logprobs": _logprobs(answer, range(len(spoken.texts)))}
    return {"name": spoken.name} if spoken.kind == "call" else {}


def _grouped(seed: int, spoken: Spoken) -> Iterator[Run]:
    """Several tokens in a delta, as in the chats of Yandex' own models; a call's arguments in a single one."""
    groups = iter([range(len(spoken.texts))]) if spoken.is_call else token_groups(spoken.texts, seed)
    return by_group(spoken, groups)

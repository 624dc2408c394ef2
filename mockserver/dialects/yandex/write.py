"""Answers in the format of `POST /v1/chat/completions` (vendor note A3: recorded bodies).

Order of keys: id, object, created, model, choices, usage. "Absent keys are omitted, never null."
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from mockserver.core.dialects import Site
from mockserver.core.generation import Choice, Generation, Unseen, Usage
from mockserver.core.seeding import uuid4_text
from mockserver.core.timeline import Frames, Lazy, Pace, Reply
from mockserver.dialects.openai.events import DONE, at_step, event, stream_reply, weave
from mockserver.dialects.openai.logprobs import chat_logprobs
from mockserver.dialects.yandex.backends import Backend, backend_of
from mockserver.dialects.yandex.calls import CallForm, call_form, message_calls
from mockserver.dialects.yandex.chunks import DETAILED_RUN, Chunks, large_chunks, token_chunks
from mockserver.dialects.yandex.replies import json_reply
from mockserver.dialects.yandex.uri import ModelUri, parse_uri


def write(generation: Generation, pace: Pace, site: Site) -> Reply:
    """The generation as one body, or as a stream of chunks, in the format of the model's engine."""
    uri = parse_uri(generation.request.model) or ModelUri("gpt", "", generation.request.model)
    backend = backend_of(uri.name)
    envelope = partial(_envelope, _identified(uri, backend, site))
    form = call_form(generation, uri, backend, site)
    if generation.request.output.stream:
        frames = Lazy(partial(_frames, generation, form, partial(envelope, "chat.completion.chunk")))
        return stream_reply(frames, backend.stream_headers)
    choices = [_choice(choice, generation, form) for choice in generation.choices]
    body = envelope("chat.completion", choices) | {"usage": _usage(generation.usage)}
    return json_reply(body, generation)


def _identified(uri: ModelUri, backend: Backend, site: Site) -> dict[str, Any]:
    return {
        "id": backend.id_prefix + uuid4_text(site.identity, "id"),
        "created": int(site.now),
        "model": str(uri) if backend.names_folder else uri.without_folder,
    }


def _envelope(identified: dict[str, Any], kind: str, choices: list[Any]) -> dict[str, Any]:
    return {"id": identified["id"], "object": kind, **identified, "choices": choices}


def _choice(choice: Choice, generation: Generation, form: CallForm) -> dict[str, Any]:
    written: dict[str, Any] = {
        "index": choice.index,
        "message": {"role": "assistant", **_content(choice), **message_calls(choice, form), **_thoughts(choice)},
    }
    # Only the tokens of the message's text have log-probabilities, those of calls have none.
    if generation.request.output.logprobs is not None and not (choice.calls and not choice.texts):
        rows = chat_logprobs(choice)
        # The page has `refusal` beside `content`; an absent key is omitted.
        written["logprobs"] = {"content": [], "refusal": rows} if choice.refusal else {"content": rows}
    return written | {"finish_reason": choice.finish_reason}


def _content(choice: Choice) -> dict[str, str]:
    """The text, which is omitted if the limit was reached while the model was still thinking: users read null there."""
    if choice.thoughts and not choice.texts and not choice.calls:
        return {}
    # "With tool calls `content` is `""` (not null)"; we assume the same of a refusal.
    return {"content": "", "refusal": choice.text} if choice.refusal else {"content": choice.text}


def _thoughts(choice: Choice) -> dict[str, str]:
    """The thoughts, the last member of a message as in vLLM's answers; empty if there are none."""
    return {"reasoning_content": "".join(choice.thoughts)} if choice.thoughts else {}


def _usage(usage: Usage) -> dict[str, Any]:
    """Token counts in the recorded order: prompt, total, completion; and the details, if there are any."""
    counts: dict[str, Any] = {
        "prompt_tokens": usage.prompt_tokens,
        "total_tokens": usage.total_tokens,
        "completion_tokens": usage.completion_tokens,
    }
    if usage.unseen is not None:
        counts["completion_tokens_details"] = _details(usage.unseen)
    if usage.cached_tokens:
        counts["prompt_tokens_details"] = {"cached_tokens": usage.cached_tokens}
    return counts


def _details(unseen: Unseen) -> dict[str, int]:
    """The page's breakdown. "Like reasoning tokens", rejected ones "are still counted in the total"."""
    return {
        "accepted_prediction_tokens": unseen.accepted,
        "reasoning_tokens": unseen.reasoning,
        "rejected_prediction_tokens": unseen.rejected,
    }


def _frames(generation: Generation, form: CallForm, envelope: "partial[dict[str, Any]]") -> Iterator[Frames]:
    output = generation.request.output
    chunks: Chunks = large_chunks if form.backend.large_chunks else token_chunks
    detailed = output.logprobs is not None
    streams = [chunks(choice, envelope, form, detailed) for choice in generation.choices]
    yield from weave(streams, DETAILED_RUN) if detailed else weave(streams)
    usage = event(envelope([]) | {"usage": _usage(generation.usage)}) if output.include_usage else b""
    closing = (usage, DONE) if usage else (DONE,)
    yield at_step(generation.last_step, closing)

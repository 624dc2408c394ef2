"""Answers in the format of `POST /llm/v1/chat/completions`: the page, and its two examples (vendor note B3).

Order of keys: id, object, created, model, system_fingerprint, choices, usage; those of `usage`: prompt, total,
completion. The examples have no `system_fingerprint`, nor does the observed edition. A stream opens with a chunk of
the role and closes with an empty text, finish reason and usage in one chunk; a key without a value is `null` in a
choice, but there is no `usage` key before the last chunk.
"""

from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any

from mockserver.core.dialects import Site
from mockserver.core.generation import Choice, Generation, Usage
from mockserver.core.seeding import hex_digits
from mockserver.core.timeline import OPENING, Frames, Lazy, Pace, Reply
from mockserver.dialects.openai.bodies import body_reply
from mockserver.dialects.openai.events import (
    DONE,
    EVENT_STREAM,
    SLOT,
    at_step,
    choice_frames,
    event,
    stream_reply,
    template,
    weave,
)
from mockserver.dialects.openai.logprobs import chat_logprobs
from mockserver.dialects.upstash.headers import within_limits

# Log-probabilities are written for this many tokens at a time, of all choices together: with twenty alternatives each
# they make half a megabyte of text.
_DETAILED_RUN = 64


def write(generation: Generation, pace: Pace, site: Site) -> Reply:
    """The generation as one body, or as a stream of chunks."""
    if generation.request.output.stream:
        frames = Lazy(partial(_chunks, generation, site))
        return stream_reply(frames, ((b"content-type", EVENT_STREAM), *within_limits(site)))
    choices = [_choice(choice, generation) for choice in generation.choices]
    body = _envelope("chat.completion", choices, generation, site) | {"usage": _usage(generation.usage)}
    return body_reply(body, generation, headers=within_limits(site))


def _envelope(kind: str, choices: list[Any], generation: Generation, site: Site) -> dict[str, Any]:
    model = generation.request.model
    envelope: dict[str, Any] = {
        "id": f"cmpl-{hex_digits(site.identity, 32, 'id')}",
        "object": kind,
        "created": int(site.now),
        "model": model,
    }
    if site.edition == "documented":
        # "you should refer to the system_fingerprint response parameter to monitor changes in the backend"
        envelope["system_fingerprint"] = _system_fingerprint(site.seed, model)
    envelope["choices"] = choices
    return envelope


@lru_cache(maxsize=256)
def _system_fingerprint(seed: int, model: str) -> str:
    return f"fp_{hex_digits(seed, 10, 'system', model)}"


def _usage(usage: Usage) -> dict[str, int]:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "total_tokens": usage.total_tokens,
        "completion_tokens": usage.completion_tokens,
    }


def _choice(choice: Choice, generation: Generation) -> dict[str, Any]:
    return {
        "index": choice.index,
        "message": {"role": "assistant", "content": choice.text},
        "logprobs": None if generation.request.output.logprobs is None else {"content": chat_logprobs(choice)},
        "finish_reason": choice.finish_reason,
        # "null if the completion finished for some other reason including encountering the EOS token"
        "stop_reason": choice.stop,
    }


def _chunks(generation: Generation, site: Site) -> Iterator[Frames]:
    envelope = partial(_envelope, "chat.completion.chunk", generation=generation, site=site)
    choices, last = [], generation.last_choice
    for choice in generation.choices:
        closing = envelope([_ending(choice)])
        if choice is last:
            closing["usage"] = _usage(generation.usage)
        opening = envelope([_part(choice.index, {"role": "assistant"})])
        choices.append(_choice_chunks(choice, generation, event(opening), event(closing), envelope))
    yield from weave(choices) if generation.request.output.logprobs is None else weave(choices, _DETAILED_RUN)
    yield at_step(generation.last_step, (DONE,))


def _part(index: int, delta: dict[str, Any], logprobs: object = None) -> dict[str, Any]:
    return {"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": None}


def _ending(choice: Choice) -> dict[str, Any]:
    """The last part of a choice: without `logprobs`, and with `stop_reason` only if a stop sequence was met."""
    ending: dict[str, Any] = {
        "index": choice.index,
        "delta": {"content": ""},
        "finish_reason": choice.finish_reason,
    }
    return ending if choice.stop is None else ending | {"stop_reason": choice.stop}


def _choice_chunks(
    choice: Choice, generation: Generation, first: bytes, last: bytes, envelope: "partial[dict[str, Any]]"
) -> Iterator[Frames]:
    if generation.request.output.logprobs is None:
        around = template(envelope([_part(choice.index, {"content": SLOT})]))
        return choice_frames(choice, around, (first,), (last,))
    return _detailed_chunks(choice, max(_DETAILED_RUN // len(generation.choices), 1), first, last, envelope)


def _detailed_chunks(
    choice: Choice, most: int, first: bytes, last: bytes, envelope: "partial[dict[str, Any]]"
) -> Iterator[Frames]:
    """Chunks with the log-probabilities of their token beside its text, written `most` at a time."""
    yield at_step(OPENING, (first,))
    for start in range(0, len(choice.ids), most):
        stop = start + most
        data = [
            event(envelope([_part(choice.index, {"content": text}, {"content": [row]})]))
            for text, row in zip(choice.texts[start:stop], chat_logprobs(choice, start, stop), strict=True)
        ]
        yield Frames(data, range(start, start + len(data)), (1,) * len(data))
    yield at_step(choice.last_step, (last,))

"""Completions on today's wire: `text_completion` bodies and chunks, followed by `[DONE]` (vendor note B3).

Keys are in alphabetical order, as the engine was recorded to write them; those of the vendor's examples were rearranged
by hand. A body has no `created`, a chunk no `model`, `seed` or `tokens`.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import orjson

from mockserver.core.dialects import Site
from mockserver.core.generation import Choice, Generation
from mockserver.core.seeding import hex_digits
from mockserver.core.timeline import Frames, Lazy, Reply
from mockserver.dialects.friendli.sampled import Around, sampled_frames
from mockserver.dialects.openai.bodies import body_reply, usage_object
from mockserver.dialects.openai.events import (
    DONE,
    EVENT_STREAM,
    SLOT,
    at_step,
    event,
    json_texts,
    stream_reply,
    template,
    weave,
)
from mockserver.dialects.openai.logprobs import legacy_logprobs

# Marks the place of the token's id, as SLOT that of its text: another byte that no UTF-8 text has.
_WRITTEN_TOKEN_SLOT = b"\xfe"
_TOKEN_SLOT: Any = orjson.Fragment(_WRITTEN_TOKEN_SLOT)


def write_current(generation: Generation, site: Site) -> Reply:
    """The generation as one body, or as a stream of chunks."""
    id = f"cmpl-{hex_digits(site.identity, 32, 'id')}"
    if generation.request.output.stream:
        frames = Lazy(partial(_chunks, generation, id, int(site.now)))
        return stream_reply(frames, ((b"content-type", EVENT_STREAM),))
    model, detailed = generation.request.model, generation.request.output.logprobs is not None
    body = {
        "choices": [_choice(choice, detailed=detailed) for choice in generation.choices],
        "id": id,
        # A container is called without a model's name, and states none.
        **({"model": model} if model else {}),
        "object": "text_completion",
        "usage": _usage(generation),
    }
    return body_reply(body, generation)


def _choice(choice: Choice, *, detailed: bool) -> dict[str, Any]:
    # "The starting character position of each token in the generated text."
    logprobs = {"logprobs": legacy_logprobs(choice.texts, choice.positions, 0)} if detailed else {}
    return {
        "finish_reason": choice.finish_reason,
        "index": choice.index,
        **logprobs,
        "seed": choice.seed,
        "text": choice.text,
        "tokens": list(choice.ids),
    }


def _usage(generation: Generation) -> dict[str, int]:
    return dict(sorted(usage_object(generation.usage).items()))


def _chunks(generation: Generation, id: str, created: int) -> Iterator[Frames]:
    chunk = partial(_chunk, id=id, created=created)
    detailed = generation.request.output.logprobs is not None
    yield from weave([_choice_chunks(choice, chunk, detailed=detailed) for choice in generation.choices])
    closing = (event(chunk([], usage=_usage(generation))),) if generation.request.output.include_usage else ()
    yield at_step(generation.last_step, (*closing, DONE))


def _chunk(choices: list[Any], *, id: str, created: int, **more: object) -> dict[str, Any]:
    return {"choices": choices, "created": created, "id": id, "object": "text_completion", **more}


def _choice_chunks(choice: Choice, chunk: "partial[dict[str, Any]]", *, detailed: bool) -> Iterator[Frames]:
    if detailed:
        yield from _detailed_frames(choice, chunk)
    else:
        yield from sampled_frames(choice, _around(choice, chunk), json_texts)
    # The finish reason comes alone: "text":"" and no `token`.
    last = {"finish_reason": choice.finish_reason, "index": choice.index, "logprobs": None, "text": ""}
    yield at_step(choice.last_step, (event(chunk([last])),))


def _around(choice: Choice, chunk: "partial[dict[str, Any]]") -> Around:
    before, rest = template(chunk([_token(choice.index, SLOT, _TOKEN_SLOT, None)]))
    between, _, after = rest.partition(_WRITTEN_TOKEN_SLOT)
    return Around(before, between, after)


def _token(index: int, text: str, token: int | str, logprobs: object) -> dict[str, Any]:
    return {"finish_reason": None, "index": index, "logprobs": logprobs, "text": text, "token": token}


def _detailed_frames(choice: Choice, chunk: "partial[dict[str, Any]]") -> Iterator[Frames]:
    """Chunks with the log-probabilities of their tokens."""
    offset = 0
    for step, (token, text, position) in enumerate(zip(choice.ids, choice.texts, choice.positions, strict=True)):
        rows = legacy_logprobs([text], [position], offset)
        offset += len(text)
        yield Frames((event(chunk([_token(choice.index, text, token, rows)])),), (step,), (1,))

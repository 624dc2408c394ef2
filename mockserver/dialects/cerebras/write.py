"""Generations in the format of `POST /v1/completions` (vendor note A3: recorded bodies and streams).

Keys on the wire: id, choices, created, model, system_fingerprint, object, usage, time_info; those of a choice stand in
alphabetical order. A stream opens with an empty text and closes with a chunk of finish reason, usage and time_info.
"""

from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any

from mockserver.core.dialects import Site
from mockserver.core.generation import Choice, Generation
from mockserver.core.seeding import hex_digits, uuid4_text
from mockserver.core.timeline import OPENING, Frames, Lazy, Pace, Reply
from mockserver.dialects.openai_style.bodies import body_reply, usage_object
from mockserver.dialects.openai_style.events import (
    DONE,
    SLOT,
    at_step,
    choice_frames,
    event,
    stream_reply,
    template,
    weave,
)
from mockserver.dialects.openai_style.logprobs import legacy_logprobs

# What the service adds to queue, prompt and completion time before it looks at the clock again (recorded: 1.5 to 4 ms).
_BOOKKEEPING = 0.002


def write(generation: Generation, pace: Pace, site: Site) -> Reply:
    """The generation as one body, or as a stream of chunks."""
    id = f"chatcmpl-{uuid4_text(site.identity, 'id')}"
    headers = ((b"inference-id", id.encode()),)
    if generation.request.output.stream:
        frames = Lazy(partial(_chunks, generation, pace, site, id))
        return stream_reply(frames, ((b"content-type", b"text/event-stream; charset=utf-8"), *headers))
    choices = [_choice(choice, generation) for choice in generation.choices]
    body = _envelope(id, choices, generation, site) | _closing(generation, pace, site)
    return body_reply(body, generation, headers=headers)


def _envelope(id: str, choices: list[Any], generation: Generation, site: Site) -> dict[str, Any]:
    model = generation.request.model
    return {
        "id": id,
        "choices": choices,
        "created": int(site.now),
        "model": model,
        "system_fingerprint": _system_fingerprint(site.seed, model),
        "object": "text_completion",
    }


@lru_cache(maxsize=256)
def _system_fingerprint(seed: int, model: str) -> str:
    return f"fp_{hex_digits(seed, 20, 'system', model)}"


def _closing(generation: Generation, pace: Pace, site: Site) -> dict[str, Any]:
    usage = usage_object(generation.usage) | {
        "prompt_tokens_details": {"cached_tokens": generation.usage.cached_tokens}
    }
    return {"usage": usage, "time_info": _times(pace, site)}


def _times(pace: Pace, site: Site) -> dict[str, float]:
    """What the engine states about its time, in seconds to the nanosecond."""
    total = sum((pace.queue, pace.prefill, pace.decode)) + (_BOOKKEEPING if pace.schedule else 0.0)
    return {
        "queue_time": round(pace.queue, 9),
        "prompt_time": round(pace.prefill, 9),
        "completion_time": round(pace.decode, 9),
        "total_time": round(total, 9),
        # An integer in the captures of the page's time, a fraction today.
        "created": int(site.now) if site.edition == "documented" else round(site.now, 6),
    }


def _choice(choice: Choice, generation: Generation) -> dict[str, Any]:
    output = generation.request.output
    written: dict[str, Any] = {"finish_reason": choice.finish_reason, "index": choice.index}
    if output.logprobs is not None:
        # "0 enables but omits top_logprobs"; offsets are "character offsets since the prompt".
        texts, positions = [*choice.echo_texts, *choice.texts], [*choice.echo_positions, *choice.positions]
        offset = 0 if output.echo else len(choice.prompt.text)
        written["logprobs"] = legacy_logprobs(texts, positions, offset, with_top=output.logprobs > 0)
    if output.token_ids:
        # "Return raw tokens instead of text."
        return written | {"text": "", "tokens": list(choice.ids)}
    return written | {"text": (choice.prompt.text if output.echo else "") + choice.text}


def _chunks(generation: Generation, pace: Pace, site: Site, id: str) -> Iterator[Frames]:
    envelope = partial(_envelope, id, generation=generation, site=site)
    closing = _closing(generation, pace, site)
    choices, last = [], generation.last_choice
    for choice in generation.choices:
        opening = _opening(choice, generation)
        ending = envelope([{"finish_reason": choice.finish_reason, "index": choice.index, "text": ""}])
        if choice is last:
            ending |= closing
        choices.append(_choice_chunks(choice, generation, event(envelope([opening])), event(ending), envelope))
    yield from weave(choices)
    yield at_step(generation.last_step, (DONE,))


def _opening(choice: Choice, generation: Generation) -> dict[str, Any]:
    """The first chunk's choice: an empty text, or the prompt that is echoed, with its log-probabilities."""
    output = generation.request.output
    if not output.echo:
        return {"index": choice.index, "text": ""}
    opening: dict[str, Any] = {"index": choice.index}
    if output.logprobs is not None:
        rows = legacy_logprobs(choice.echo_texts, choice.echo_positions, 0, with_top=output.logprobs > 0)
        opening["logprobs"] = rows
    return opening | {"text": choice.prompt.text}


def _choice_chunks(
    choice: Choice, generation: Generation, first: bytes, last: bytes, envelope: "partial[dict[str, Any]]"
) -> Iterator[Frames]:
    output = generation.request.output
    if output.logprobs is None and not output.token_ids:
        around = template(envelope([{"index": choice.index, "text": SLOT}]))
        return choice_frames(choice, around, (first,), (last,))
    return _detailed_chunks(choice, generation, first, last, envelope)


def _detailed_chunks(
    choice: Choice, generation: Generation, first: bytes, last: bytes, envelope: "partial[dict[str, Any]]"
) -> Iterator[Frames]:
    """Chunks that carry more than a text: the log-probabilities or the id of their token."""
    output = generation.request.output
    offset = len(choice.prompt.text)
    yield at_step(OPENING, (first,))
    for step, (token, text) in enumerate(zip(choice.ids, choice.texts, strict=True)):
        written: dict[str, Any] = {"index": choice.index}
        if output.logprobs is not None:
            rows = legacy_logprobs([text], [choice.positions[step]], offset, with_top=output.logprobs > 0)
            written["logprobs"] = rows
        written |= {"text": "", "tokens": [token]} if output.token_ids else {"text": text}
        offset += len(text)
        yield Frames((event(envelope([written])),), (step,), (1,))
    yield at_step(choice.last_step, (last,))

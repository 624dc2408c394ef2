"""Generations in the format of `POST /v1/completions` (vendor note A3: recorded bodies and streams).

The keys of a choice stand in alphabetical order. A stream opens with an empty text and closes with a chunk of finish
reason, usage and time_info.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from mockserver.core.dialects import Site
from mockserver.core.generation import Choice, Generation
from mockserver.core.timeline import OPENING, Frames, Lazy, Pace, Reply
from mockserver.dialects.cerebras.envelope import answer_id, enveloped, id_headers, streamed, times
from mockserver.dialects.openai.bodies import body_reply, usage_object
from mockserver.dialects.openai.events import DONE, SLOT, at_step, choice_frames, event, template, weave
from mockserver.dialects.openai.logprobs import legacy_logprobs


def write(generation: Generation, pace: Pace, site: Site) -> Reply:
    """The generation as one body, or as a stream of chunks."""
    id = answer_id(site)
    envelope = partial(enveloped, id=id, kind="text_completion", generation=generation, site=site)
    if generation.request.output.stream:
        return streamed(Lazy(partial(_chunks, generation, _closing(generation, pace, site), envelope)), id)
    choices = [_choice(choice, generation) for choice in generation.choices]
    body = envelope(choices) | _closing(generation, pace, site)
    return body_reply(body, generation, headers=id_headers(id))


def _closing(generation: Generation, pace: Pace, site: Site) -> dict[str, Any]:
    usage = usage_object(generation.usage) | {
        "prompt_tokens_details": {"cached_tokens": generation.usage.cached_tokens}
    }
    return {"usage": usage, "time_info": times(pace, site)}


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


def _chunks(generation: Generation, closing: dict[str, Any], envelope: "partial[dict[str, Any]]") -> Iterator[Frames]:
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

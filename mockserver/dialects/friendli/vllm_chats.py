"""Chats of a model that vLLM serves, as recorded of GLM-5.3-Flash in September 2026.

An answer was recorded: its members are in vLLM's order, without vLLM's own extensions, and reasoning comes behind the
content under both its names. Streams are assumed to be vLLM's with the same members: the role comes first and alone,
members without a value are omitted, and the usage is in a last chunk without choices. A chunk has several tokens, as
events of the same model's responses were recorded to have.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import orjson

from mockserver.core.dialects import Site
from mockserver.core.generation import Choice, Generation
from mockserver.core.seeding import hex_digits, uuid4_text
from mockserver.core.timeline import OPENING, Frames, Lazy, Reply
from mockserver.dialects.friendli.drafts import accepted, one_by_one
from mockserver.dialects.friendli.options import options_of
from mockserver.dialects.friendli.reasoning import Stretch, stretches
from mockserver.dialects.openai.bodies import body_reply
from mockserver.dialects.openai.calls import call_frames
from mockserver.dialects.openai.events import (
    DONE,
    EVENT_STREAM,
    SLOT,
    Template,
    at_step,
    event,
    group_frames,
    stream_reply,
    template,
    weave,
)
from mockserver.dialects.openai.logprobs import chat_logprobs

_STREAM = ((b"content-type", EVENT_STREAM + b"; charset=utf-8"),)


def write_vllm_chat(generation: Generation, site: Site) -> Reply:
    """The generation as one body, or as a stream of chunks."""
    if generation.request.output.stream:
        return stream_reply(Lazy(partial(_events, generation, site)), _STREAM)
    body = {
        **_around(generation, site, "chat.completion"),
        "choices": [_choice(choice, generation, site) for choice in generation.choices],
        "service_tier": None,
        "system_fingerprint": None,
        "usage": _usage(generation),
    }
    return body_reply(body, generation)


def _around(generation: Generation, site: Site, kind: str) -> Mapping[str, Any]:
    id_ = f"chatcmpl-{uuid4_text(site.identity, 'id')}"
    return {"id": id_, "object": kind, "created": int(site.now), "model": generation.request.model}


def _usage(generation: Generation) -> Mapping[str, Any]:
    usage = generation.usage
    details = {"cached_tokens": usage.cached_tokens, "created_cache_tokens": usage.written_tokens}
    media = options_of(generation.request).media
    return {
        "prompt_tokens": usage.prompt_tokens,
        "total_tokens": usage.total_tokens,
        "completion_tokens": usage.completion_tokens,
        "prompt_tokens_details": {**details, "multimodal_tokens": dict(media) or None},
    }


# --- one body ----------------------------------------------------------------------------------------------------


def _choice(choice: Choice, generation: Generation, site: Site) -> Mapping[str, Any]:
    detailed = generation.request.output.logprobs is not None
    return {
        "index": choice.index,
        "message": _message(choice, generation, site),
        "logprobs": {"content": chat_logprobs(choice)} if detailed else None,
        "finish_reason": choice.finish_reason,
    }


def _message(choice: Choice, generation: Generation, site: Site) -> Mapping[str, Any]:
    """The message; its content is null if there are only thoughts or calls."""
    found = stretches(choice, options_of(generation.request).thoughts)
    thought, content = (
        "".join(t for each in found if each.apart is apart for t in each.texts) for apart in (True, False)
    )
    calls = [
        {"id": _call_id(choice, place, site), "type": "function", "function": _function(call.name, call.arguments)}
        for place, call in enumerate(choice.calls)
    ]
    return {
        "role": "assistant",
        "content": content if content or not (thought or calls) else None,
        **({"tool_calls": calls} if calls else {}),
        **(_thought(thought) if thought else {}),
    }


def _thought(text: str) -> Mapping[str, str]:
    return {"reasoning": text, "reasoning_content": text}


def _function(name: str, arguments: str) -> Mapping[str, str]:
    return {"name": name, "arguments": arguments}


def _call_id(choice: Choice, place: int, site: Site) -> str:
    """Recorded of a call in a response."""
    return f"chatcmpl-tool-{hex_digits(site.identity, 16, 'call', choice.index, place)}"


# --- a stream ----------------------------------------------------------------------------------------------------


class _Stream(NamedTuple):
    """A choice of a generation, and what its chunks are made of."""

    choice: Choice
    generation: Generation
    site: Site
    around: Mapping[str, Any]

    def groups(self, texts: Sequence[str], step: int) -> Iterator[range]:
        """Which tokens share a chunk, for texts that begin with a decoding step."""
        return (one_by_one if self.generation.prepared else accepted)(texts, step, self.choice.seed)

    def chunk(
        self, delta: Mapping[str, Any], logprobs: object = None, finish_reason: str | None = None
    ) -> Mapping[str, Any]:
        """A chunk of the choice."""
        part = {"index": self.choice.index, "delta": delta, "logprobs": logprobs, "finish_reason": finish_reason}
        return {**self.around, "choices": [part]}


def _events(generation: Generation, site: Site) -> Iterator[Frames]:
    around = _around(generation, site, "chat.completion.chunk")
    yield from weave([_choice_events(_Stream(choice, generation, site, around)) for choice in generation.choices])
    wanted = generation.request.output.include_usage
    usage = (event({**around, "choices": [], "usage": _usage(generation)}),) if wanted else ()
    yield at_step(generation.last_step, (*usage, DONE))


def _choice_events(stream: _Stream) -> Iterator[Frames]:
    choice, step = stream.choice, 0
    yield at_step(OPENING, (event(stream.chunk({"role": "assistant", "content": ""})),))
    for stretch in stretches(choice, options_of(stream.generation.request).thoughts):
        yield from _stretch_frames(stream, stretch, step)
        step += len(stretch.texts)
    yield from call_frames(
        choice,
        lambda place, call: event(stream.chunk(_fragment(place, _begun(stream, place)))),
        lambda place: template(stream.chunk(_fragment(place, {"function": {"arguments": SLOT}}))),
        partial(_arguments, stream),
    )
    yield at_step(choice.last_step, (event(stream.chunk({}, finish_reason=choice.finish_reason)),))


def _stretch_frames(stream: _Stream, stretch: Stretch, step: int) -> Iterator[Frames]:
    texts, groups = stretch.texts, stream.groups(stretch.texts, step)
    if stretch.apart:
        thought = template(stream.chunk({"reasoning": SLOT}))
        yield from group_frames(groups, partial(_thought_event, thought, texts), step)
    elif stretch.scored and stream.generation.request.output.logprobs is not None:
        # Log-probabilities make a chunk large, so one is written at a time.
        for group in groups:
            yield from group_frames(iter((group,)), partial(_scored_event, stream, texts), step)
    else:
        yield from group_frames(groups, partial(template(stream.chunk({"content": SLOT})).holding, texts), step)


def _scored_event(stream: _Stream, texts: Sequence[str], group: range) -> bytes:
    """The chunk of a group of tokens with the log-probabilities of all of them."""
    rows = chat_logprobs(stream.choice, group.start, group.stop)
    return event(stream.chunk({"content": "".join(texts[group.start : group.stop])}, {"content": rows}))


def _thought_event(around: Template, texts: Sequence[str], group: range) -> bytes:
    """The chunk of a group of thoughts, under both their names."""
    written = orjson.dumps("".join(texts[group.start : group.stop]))
    return around.before + written + b',"reasoning_content":' + written + around.after


def _begun(stream: _Stream, place: int) -> Mapping[str, Any]:
    call = stream.choice.calls[place]
    id_ = _call_id(stream.choice, place, stream.site)
    return {"id": id_, "type": "function", "function": _function(call.name, "")}


def _fragment(place: int, told: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"tool_calls": [{"index": place, **told}]}


def _arguments(stream: _Stream, texts: Sequence[str], around: Template, step: int) -> Iterator[Frames]:
    return group_frames(stream.groups(texts, step), partial(around.holding, texts), step)

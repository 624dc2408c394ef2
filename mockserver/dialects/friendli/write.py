"""Completions and chats on the wire of their edition (vendor note B3).

By the page, chats have fewer members around their choices than today, and completions stream `token_sampled` events and
one `complete` event, without `[DONE]`. Today's keys are in alphabetical order, as the engine was recorded to send them.

Chats of a model that vLLM serves were recorded of GLM-5.3-Flash in September 2026: their members are in vLLM's order,
without vLLM's own extensions, and reasoning comes behind the content. Their streams are assumed to be vLLM's with the
same members; a chunk has several tokens, as events of the same model's responses were recorded to have.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate
from typing import Any

import orjson

from mockserver.core.dialects import RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.generation import Choice, Generation
from mockserver.core.seeding import alphanumerics, hex_digits, uuid4_text
from mockserver.core.timeline import FrameBatch, LazyFrames, Reply, TokenTiming
from mockserver.dialects.friendli.drafts import accepted, one_by_one
from mockserver.dialects.friendli.forced import enforced
from mockserver.dialects.friendli.models import is_by_vllm
from mockserver.dialects.friendli.reasoning import options_of, stretches
from mockserver.dialects.openai.bodies import body_reply, usage_object
from mockserver.dialects.openai.events import EVENT_STREAM, JsonTexts, at_step, json_texts, stream_reply, weave
from mockserver.dialects.openai.flavour import NOTHING, Encoding, Flavour, Members, Rendering, Segment
from mockserver.dialects.openai.flavour import write as write_answer
from mockserver.dialects.openai.logprobs import chat_logprobs, legacy_logprobs

# What stands between the logits of a position and its log-probabilities: the same number everywhere.
_LOG_PARTITION = 18.0


def write(generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply | Refusal:
    """A completion as in the page, or as today's service sends it; or a refusal if it takes too long."""
    if _is_late(generation, pace):
        return Refusal(FailureKind.TIMEOUT)
    generation = enforced(generation)
    documented = scope.edition == "documented"
    return _write_sampled(generation) if documented else write_answer(_COMPLETION, generation, pace, scope)


def write_chat(generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply | Refusal:
    """An answer to a conversation, or a refusal if it takes too long."""
    if _is_late(generation, pace):
        return Refusal(FailureKind.TIMEOUT)
    if scope.edition == "documented":
        flavour = _PAGE_CHAT
    elif is_by_vllm(generation.request.model):
        flavour = _PREPARED_VLLM_CHAT if generation.prepared else _VLLM_CHAT
    else:
        flavour = _CHAT
    return write_answer(flavour, generation, pace, scope)


def _is_late(generation: Generation, pace: TokenTiming) -> bool:
    """Whether an answer begins later than the timeout of its request: a stream with its first token, a body with its
    last."""
    timeout = options_of(generation.request).timeout
    begins = pace.queue + pace.prefill + (0 if generation.request.output.stream else pace.decode)
    return timeout is not None and begins > timeout


# --- encodings ---------------------------------------------------------------------------------------------------


def _spaced(value: object) -> bytes:
    return json.dumps(value).encode()


def _sorted(value: object) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


# As `json.dumps` does it: ", " and ": " between the parts as in the page's stream, and ASCII alone, since the client of
# that time cuts its lines at U+2028 and U+0085 too. Nothing around a text comes from the request.
_PAGE = Encoding(_spaced, JsonTexts(_spaced), "\0the text of a token\0")
# Compact, and with the keys in alphabetical order.
_TODAY = Encoding(_sorted, json_texts)


# --- chats -------------------------------------------------------------------------------------------------------


def _around(rendering: Rendering) -> Members:
    """Today's members; all chunks but the last have a usage of null. A container may be called without a model."""
    model, scope = rendering.generation.request.model, rendering.scope
    around = {"created": int(scope.now), "id": f"chatcmpl-{hex_digits(scope.identity, 32, 'id')}", "usage": None}
    return {**around, "model": model} if model else around


def _counts(rendering: Rendering) -> Members:
    """Token counts, and how many tokens of the prompt came from a cache, if any did."""
    usage = rendering.generation.usage
    cached = {"prompt_tokens_details": {"cached_tokens": usage.cached_tokens}} if usage.cached_tokens else {}
    return {**usage_object(usage), **cached}


def _call_id(rendering: Rendering, choice: Choice, place: int) -> str:
    return f"call_{alphanumerics(rendering.scope.identity, 24, 'call', choice.index, place)}"


def _said(rendering: Rendering, choice: Choice) -> tuple[str | None, Members]:
    """The content, null if there are only thoughts or calls; and the thoughts, under both their names."""
    found = stretches(choice, options_of(rendering.generation.request).thoughts)
    thought, content = (
        "".join(text for each in found if each.apart is apart for text in each.texts) for apart in (True, False)
    )
    shown = content if content or not (thought or choice.calls) else None
    return shown, {"reasoning": thought, "reasoning_content": thought} if thought else NOTHING


def _whole_calls(choice: Choice, ids: Sequence[str]) -> Members:
    calls = [
        {"id": id_, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for id_, call in zip(ids, choice.calls, strict=True)
    ]
    return {"tool_calls": calls} if calls else NOTHING


def _choice_members(rendering: Rendering, choice: Choice) -> Members:
    content, thoughts = _said(rendering, choice)
    ids = [_call_id(rendering, choice, place) for place in range(len(choice.calls))]
    message = {"role": "assistant", "content": content, **thoughts, **_whole_calls(choice, ids)}
    scored = rendering.generation.request.output.logprobs is not None
    return {"message": message, **({"logprobs": {"content": chat_logprobs(choice)}} if scored else NOTHING)}


def _segments(rendering: Rendering, choice: Choice) -> Sequence[Segment]:
    """Thoughts, text and calls; the first chunk has the role too."""
    calls = _calls(rendering, choice, [_call_id(rendering, choice, place) for place in range(len(choice.calls))])
    said = [segment for segment in (*_texts(rendering, choice), *calls) if segment.steps]
    return [said[0]._replace(first={"role": "assistant"}), *said[1:]] if said else ()


def _texts(rendering: Rendering, choice: Choice) -> Iterator[Segment]:
    request, slot = rendering.generation.request, rendering.flavour.encoding.slot
    scores = partial(_scores, choice) if request.output.logprobs is not None else None
    for apart, texts, scored in stretches(choice, options_of(request).thoughts):
        delta = {"reasoning": slot, "reasoning_content": slot} if apart else {"content": slot}
        yield Segment(delta, texts, beside=scores if scored else None)


def _scores(choice: Choice, at: range) -> Members:
    return {"logprobs": {"content": chat_logprobs(choice, at.start, at.stop)}}


def _calls(rendering: Rendering, choice: Choice, ids: Sequence[str]) -> Iterator[Segment]:
    for place, (id_, call) in enumerate(zip(ids, choice.calls, strict=True)):
        begun = {"index": place, "id": id_, "type": "function", "function": {"name": call.name, "arguments": ""}}
        delta = {"index": place, "function": {"arguments": rendering.flavour.encoding.slot}}
        yield Segment({"tool_calls": [delta]}, call.texts, head={"tool_calls": [begun]})


_CHAT = Flavour(
    around=_around,
    counts=_counts,
    choice_members=_choice_members,
    segments=_segments,
    encoding=_TODAY,
)
_PAGE_CHAT = _CHAT._replace(
    around=lambda rendering: {"created": int(rendering.scope.now)},
    body=("choices", "usage", "created"),
    chunk=("choices", "created"),
    choice=("index", "message", "finish_reason", "logprobs"),
    part=("index", "delta", "finish_reason", "logprobs"),
    encoding=_PAGE,
)


# --- chats by vLLM -----------------------------------------------------------------------------------------------


def _vllm_around(rendering: Rendering) -> Members:
    scope = rendering.scope
    id_ = f"chatcmpl-{uuid4_text(scope.identity, 'id')}"
    return {"id": id_, "created": int(scope.now), "model": rendering.generation.request.model}


def _vllm_counts(rendering: Rendering) -> Members:
    usage = rendering.generation.usage
    details = {"cached_tokens": usage.cached_tokens, "created_cache_tokens": usage.written_tokens}
    media = options_of(rendering.generation.request).media
    return {
        "prompt_tokens": usage.prompt_tokens,
        "total_tokens": usage.total_tokens,
        "completion_tokens": usage.completion_tokens,
        "prompt_tokens_details": {**details, "multimodal_tokens": dict(media) or None},
    }


def _vllm_call_ids(rendering: Rendering, choice: Choice) -> list[str]:
    """Recorded of a call in a response."""
    identity = rendering.scope.identity
    return [
        f"chatcmpl-tool-{hex_digits(identity, 16, 'call', choice.index, place)}" for place in range(len(choice.calls))
    ]


def _vllm_choice_members(rendering: Rendering, choice: Choice) -> Members:
    content, thoughts = _said(rendering, choice)
    calls = _whole_calls(choice, _vllm_call_ids(rendering, choice))
    scored = rendering.generation.request.output.logprobs is not None
    return {
        "message": {"role": "assistant", "content": content, **calls, **thoughts},
        "logprobs": {"content": chat_logprobs(choice)} if scored else None,
    }


def _vllm_segments(rendering: Rendering, choice: Choice) -> Sequence[Segment]:
    return (*_texts(rendering, choice), *_calls(rendering, choice, _vllm_call_ids(rendering, choice)))


_VLLM_CHAT = Flavour(
    around=_vllm_around,
    counts=_vllm_counts,
    closing_around=lambda rendering: {"service_tier": None, "system_fingerprint": None},
    choice_members=_vllm_choice_members,
    opening=lambda rendering, choice: ({"delta": {"role": "assistant", "content": ""}},),
    segments=_vllm_segments,
    groups=lambda rendering, choice, texts, step: accepted(texts, step, choice.seed),
    body=("id", "object", "created", "model", "choices", "service_tier", "system_fingerprint", "usage"),
    stream_headers=((b"content-type", EVENT_STREAM + b"; charset=utf-8"),),
)
_PREPARED_VLLM_CHAT = _VLLM_CHAT._replace(
    groups=lambda rendering, choice, texts, step: one_by_one(texts, step, choice.seed)
)


# --- completions of today ----------------------------------------------------------------------------------------


def _text_around(rendering: Rendering) -> Members:
    """A body has no `created`, a chunk no `model`. A container is called without a model's name, and states none."""
    model, scope = rendering.generation.request.model, rendering.scope
    around = {"id": f"cmpl-{hex_digits(scope.identity, 32, 'id')}", "created": int(scope.now)}
    return {**around, "model": model} if model else around


def _whole_text(rendering: Rendering, choice: Choice) -> Members:
    scored = rendering.generation.request.output.logprobs is not None
    # "The starting character position of each token in the generated text."
    logprobs = {"logprobs": legacy_logprobs(choice.texts, choice.positions, 0)} if scored else NOTHING
    return {**logprobs, "seed": choice.seed, "text": choice.text, "tokens": list(choice.ids)}


def _sampled(rendering: Rendering, choice: Choice) -> Sequence[Segment]:
    """A chunk for each token, with its id."""
    offsets = [*accumulate(map(len, choice.texts), initial=0)]

    def delta(at: range) -> Members:
        return {"text": choice.texts[at.start], "token": choice.ids[at.start]}

    def scores(at: range) -> Members:
        kept = slice(at.start, at.stop)
        return {"logprobs": legacy_logprobs(choice.texts[kept], choice.positions[kept], offsets[at.start])}

    scored = rendering.generation.request.output.logprobs is not None
    return (Segment(delta, choice.texts, beside=scores if scored else None),)


_COMPLETION = Flavour(
    around=_text_around,
    counts=lambda rendering: dict(sorted(usage_object(rendering.generation.usage).items())),
    choice_members=_whole_text,
    segments=_sampled,
    # The finish reason comes alone: "text":"" and no `token`.
    closing=lambda rendering, choice: {"logprobs": None, "text": ""},
    kind="text_completion",
    chunk_kind="text_completion",
    body=("choices", "id", "model", "object", "usage"),
    chunk=("choices", "created", "id", "object", "usage"),
    choice=("finish_reason", "index", "logprobs", "seed", "text", "tokens"),
    part=("finish_reason", "index", "logprobs", "text", "token"),
)


# --- completions of the page -------------------------------------------------------------------------------------


def _write_sampled(generation: Generation) -> Reply:
    """One body, or an event for each token and one with the whole answer."""
    if generation.request.output.stream:
        return stream_reply(LazyFrames(partial(_events, generation)), ((b"content-type", EVENT_STREAM),))
    return body_reply(_spaced(_answer(generation)), generation)


def _events(generation: Generation) -> Iterator[FrameBatch]:
    yield from weave([_token_events(choice) for choice in generation.choices])
    # On one line, though the page prints it on many, since its client reads line by line; and without a `token`.
    yield at_step(generation.last_step, (_event({"event": "complete", **_answer(generation)}),))


def _token_events(choice: Choice) -> Iterator[FrameBatch]:
    for step, (text, token) in enumerate(zip(choice.texts, choice.ids, strict=True)):
        sampled = {"event": "token_sampled", "index": choice.index, "text": text, "token": token}
        yield FrameBatch((_event(sampled),), (step,), (1,))


def _event(value: Mapping[str, Any]) -> bytes:
    return b"data: " + _spaced(value) + b"\n\n"


def _answer(generation: Generation) -> Members:
    options = options_of(generation.request)
    choices = []
    for choice in generation.choices:
        # One number for each token: the vendor's own evaluation tool sums them up; logits are a guess.
        logprobs = [position.logprob for position in choice.positions]
        members: dict[str, Any] = {"index": choice.index, "seed": choice.seed, "text": choice.text}
        members["tokens"] = list(choice.ids)
        if options.logprobs:
            members["logprobs"] = logprobs
        if options.logits:
            members["logits"] = [round(logprob + _LOG_PARTITION, 6) for logprob in logprobs]
        choices.append(members)
    return {"choices": choices, "usage": usage_object(generation.usage)}

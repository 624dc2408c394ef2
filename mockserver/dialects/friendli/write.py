"""Completions and chats on the wire of their edition (vendor note B3).

By the page, chats have fewer members around their choices than today, and completions stream `token_sampled` events and
one `complete` event, without `[DONE]`. Today's keys are in alphabetical order, as the engine was recorded to send them.

Chats of a model that vLLM serves were recorded of GLM-5.3-Flash in September 2026: their members are in vLLM's order,
without vLLM's own extensions, and reasoning comes behind the content. Their streams are assumed to be vLLM's with the
same members; a chunk has several tokens, as events of the same model's responses were recorded to have.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate, chain
from typing import Any

import orjson

from mockserver.core.dialects import RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.generation import Choice, Generation, GenerationRequest, Position, Sampling
from mockserver.core.seeding import alphanumerics, derive, hex_digits, uuid4_text
from mockserver.core.timeline import FrameBatch, LazyFrames, Reply, TokenTiming
from mockserver.dialects.friendli.models import traits_of
from mockserver.dialects.friendli.reasoning import options_of, shown
from mockserver.dialects.openai.flavour import Encoding, Flavour, Rendering, Segment
from mockserver.dialects.openai.flavour import write as write_answer
from mockserver.dialects.openai.replies import (
    EVENT_STREAM,
    NOTHING,
    JsonTexts,
    Members,
    at_step,
    batches,
    body_reply,
    chat_logprobs,
    json_texts,
    legacy_logprobs,
    stream_reply,
    usage_object,
    weave,
    whole_calls,
)
from mockserver.model import tokens
from mockserver.model.intent import detect_intent
from mockserver.model.logprobs import positions, scale

# What stands between the logits of a position and its log-probabilities: the same number everywhere.
_LOG_PARTITION = 18.0


# The most tokens of an event by vLLM.
_MOST = 5


def write(generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply | Refusal:
    """A completion as in the page, or as today's service sends it; or a refusal if it takes too long."""
    if _is_late(generation, pace):
        return Refusal(FailureKind.TIMEOUT)
    forced = options_of(generation.request).forced
    if forced and not generation.prepared:
        choices = [_enforced(choice, forced, generation.request) for choice in generation.choices]
        generation = generation._replace(choices=tuple(choices))
    documented = scope.edition == "documented"
    return _write_sampled(generation) if documented else write_answer(_COMPLETION, generation, pace, scope)


def write_chat(generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply | Refusal:
    """An answer to a conversation, or a refusal if it takes too long."""
    if _is_late(generation, pace):
        return Refusal(FailureKind.TIMEOUT)
    by_vllm = traits_of(generation.request.model).by_vllm
    flavour = _PAGE_CHAT if scope.edition == "documented" else _VLLM_CHAT if by_vllm else _CHAT
    return write_answer(flavour, generation, pace, scope)


def _is_late(generation: Generation, pace: TokenTiming) -> bool:
    """Whether an answer begins later than the timeout of its request: a stream with its first token, a body with its
    last."""
    timeout = options_of(generation.request).timeout
    begins = pace.queue + pace.prefill + (0 if generation.request.output.stream else pace.decode)
    return timeout is not None and begins > timeout


def accepted(texts: Sequence[str], step: int, key: int) -> Iterator[range]:
    """Which tokens share an event, if texts begin with a decoding step; `key` decides how many do.

    With speculative decoding, a step accepts several tokens that were drafted: recorded of GLM-5.3-Flash, in whose
    streams an event has 1 to 6 tokens, and the first event of an answer has one.
    """
    alone = 1 if step == 0 and texts else 0
    return chain((range(1),) * alone, batches(alone, len(texts), 1, _MOST, key))


def _enforced(choice: Choice, forced: tuple[int, ...], request: GenerationRequest) -> Choice:
    """The choice with the tokens of `forced_output_tokens`: "a token sequence that is enforced as a generation output".

    The model has generated a text of the same length, whose timing is kept. The scores are those of the forced tokens:
    they depend on the model, the prompt and the preceding tokens, but on no seed, as needed by an evaluation that
    compares the likelihood of several answers to one question.
    """
    ids = forced[: len(choice.ids)]
    texts, scores = tokens.texts(ids), list[Position]()
    if choice.positions:
        likely = scale(Sampling(), detect_intent(choice.prompt.topic).language)
        key = derive(0, "forced", request.model, choice.prompt.text)
        for token, text in zip(ids, texts, strict=True):
            key = derive(key, token)
            scores += positions((token,), (text,), request.output.logprobs or 0, key, likely)
    reason = choice.finish_reason if len(ids) < len(forced) else "stop"
    return replace(choice, ids=ids, texts=texts, finish_reason=reason, positions=tuple(scores))


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
    identity = rendering.scope.identity
    if rendering.flavour is _VLLM_CHAT:
        # Recorded of a call in a response.
        return f"chatcmpl-tool-{hex_digits(identity, 16, 'call', choice.index, place)}"
    return f"call_{alphanumerics(identity, 24, 'call', choice.index, place)}"


def _choice_members(rendering: Rendering, choice: Choice) -> Members:
    """The content, null if there are only thoughts or calls; the calls; and the thoughts, under both their names."""
    request = rendering.generation.request
    apart, thoughts, texts = shown(choice, options_of(request).thoughts)
    thought, content = "".join(thoughts), "".join(texts)
    if not apart:
        thought, content = "", thought + content
    message: dict[str, Any] = {"role": "assistant", "content": content or None if thought or choice.calls else content}
    if choice.calls:
        message |= whole_calls(choice, partial(_call_id, rendering))
    if thought:
        message |= {"reasoning": thought, "reasoning_content": thought}
    if request.output.logprobs is not None:
        return {"message": message, "logprobs": {"content": chat_logprobs(choice)}}
    return {"message": message, "logprobs": None} if rendering.flavour is _VLLM_CHAT else {"message": message}


def _segments(rendering: Rendering, choice: Choice) -> Sequence[Segment]:
    """Thoughts, text and calls; the first chunk has the role too."""
    said = [segment for segment in _told(rendering, choice) if segment.steps]
    return [said[0]._replace(first={"role": "assistant"}), *said[1:]] if said else ()


def _told(rendering: Rendering, choice: Choice) -> Iterator[Segment]:
    request, slot = rendering.generation.request, rendering.flavour.encoding.slot
    apart, thoughts, texts = shown(choice, options_of(request).thoughts)
    yield Segment({"reasoning": slot, "reasoning_content": slot} if apart else {"content": slot}, thoughts)
    scores = partial(_scores, choice) if request.output.logprobs is not None else None
    yield Segment({"content": slot}, texts, beside=scores)
    for place, call in enumerate(choice.calls):
        function = {"name": call.name, "arguments": ""}
        begun = {"index": place, "id": _call_id(rendering, choice, place), "type": "function", "function": function}
        delta = {"index": place, "function": {"arguments": slot}}
        yield Segment({"tool_calls": [delta]}, call.texts, head={"tool_calls": [begun]})


def _scores(choice: Choice, at: range) -> Members:
    return {"logprobs": {"content": chat_logprobs(choice, at.start, at.stop)}}


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


def _vllm_groups(rendering: Rendering, choice: Choice, texts: Sequence[str], step: int) -> Iterator[range]:
    """The pieces of a prepared answer are kept apart."""
    if rendering.generation.prepared:
        return (range(place, place + 1) for place in range(len(texts)))
    return accepted(texts, step, choice.seed)


_VLLM_CHAT = Flavour(
    around=_vllm_around,
    counts=_vllm_counts,
    closing_around=lambda rendering: {"service_tier": None, "system_fingerprint": None},
    choice_members=_choice_members,
    opening=lambda rendering, choice: ({"delta": {"role": "assistant", "content": ""}},),
    segments=lambda rendering, choice: [*_told(rendering, choice)],
    groups=_vllm_groups,
    body=("id", "object", "created", "model", "choices", "service_tier", "system_fingerprint", "usage"),
    stream_headers=((b"content-type", EVENT_STREAM + b"; charset=utf-8"),),
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

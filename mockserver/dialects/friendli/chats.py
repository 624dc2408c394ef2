"""The three chat endpoints: requests and answers.

    body -> unknown fields -> schema -> checks between fields -> model -> its media -> request -> checks against both

By the page each stage refuses with all the mistakes that it finds; today only the first is reported, in one message.
By the page answers also have fewer members around their choices than today (vendor note B3). Today's keys are in
alphabetical order, as the engine was recorded to send them.

Chats of a model that vLLM serves were recorded of GLM-5.3-Flash in September 2026: their members are in vLLM's order,
without vLLM's own extensions, and reasoning comes behind the content. Their streams are assumed to be vLLM's with the
same members; a chunk has several tokens, as events of the same model's responses were recorded to have.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

import orjson

from mockserver.core.dialects import Edition, Model, RequestScope
from mockserver.core.failures import FailureKind, Refusal, Violation
from mockserver.core.generation import Choice, Generation, GenerationRequest, Output, Prompt, ToolChoice
from mockserver.core.http import Call, Reply, TokenTiming
from mockserver.core.seeding import hex_digits, uuid4_text
from mockserver.dialects.friendli.checks import CHAT_CHECKS, CHAT_FIELDS, conflicts, read_format
from mockserver.dialects.friendli.errors import invalid
from mockserver.dialects.friendli.models import TRAITS, Traits
from mockserver.dialects.friendli.read import (
    FriendliOptions,
    Place,
    Reasoning,
    Thoughts,
    contract_of,
    json_body,
    known_fields,
    misfits,
    options_of,
    read_limits,
    read_reasoning,
    read_sampling,
    read_stops,
    read_timeout,
)
from mockserver.dialects.openai.read import NO_OFFER, Body, chat_prompt, read_offer, with_media
from mockserver.dialects.openai.replies import (
    EVENT_STREAM,
    Flavour,
    Members,
    Rendering,
    Segment,
    chat_logprobs,
    usage_object,
    vllm_usage,
    whole_calls,
    write,
)
from mockserver.dialects.openai.streams import batches, call_segment, scores

Messages = Sequence[Mapping[str, Any]]
# A part that is not text: the places of the message and of the part, its kind, and its URL.
Medium = tuple[int, int, str, str]
# The tokens of each medium: figures of our own, since the vendor states none.
_MEDIA_TOKENS = {"image_url": 256, "audio_url": 128, "video_url": 1024}
# How models that only read text refuse each medium.
MEDIA_REFUSALS = {
    "image_url": "This model does not support image/video inputs.",
    "video_url": "This model does not support image/video inputs.",
    "audio_url": "This model does not support audio inputs.",
}

# The first client knows no thoughts.
_NO_THOUGHT = Reasoning(None, "hidden")


def read_chat(place: Place, call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """The request to a place, or its refusal."""
    body, edition = json_body(call.body), scope.edition
    if isinstance(body, Refusal):
        return body
    known = known_fields(edition, "ChatFields")
    if not body.keys() <= known:
        if edition == "observed":
            strangers = [name for name in body if name not in known]
            return invalid([Violation((name,), "conflict", f"no such field: '{name}'") for name in strangers])
        body = {name: value for name, value in body.items() if name in known}
    checked = body
    if body.get("reasoning_effort") == "none" and TRAITS[str(body.get("model"))].by_vllm:
        # Recorded: vLLM accepts an effort that the engine refuses.
        checked = {**body, "reasoning_effort": None}
    contract = contract_of("ChatCompletionRequest", place, edition)
    if not contract.accepts(checked):
        return invalid(contract.violations(checked))
    messages, missing = body["messages"], []
    for number, message in enumerate(messages):
        if message["role"] == "assistant" and message.get("content") is None and not message.get("tool_calls"):
            # "The content of assistant message. Required unless `tool_calls` is specified."
            missing.append(Violation(("messages", number, "content"), "required", "Field required"))
    found = missing if CHAT_FIELDS.isdisjoint(body) else [*missing, *conflicts(body, CHAT_CHECKS[edition])]
    if found:
        return invalid(found)
    asked = place(body.get("model"), scope)
    if isinstance(asked, Refusal):
        return asked
    if body.get("max_completion_tokens") is not None:
        # The limit under the older of its two names.
        body["max_tokens"] = body["max_completion_tokens"]
    name, model = asked
    media, traits = media_in(messages), TRAITS[name]
    unread = [*_unread(media, traits)] if media else ()
    if unread:
        return invalid(unread)
    thought = read_reasoning(body, traits.reasoning) if edition == "observed" else _NO_THOUGHT
    request = _request(body, name, model, edition, thought, media)
    return misfits(body, request, model) or request


def _unread(media: Sequence[Medium], traits: Traits) -> Iterator[Violation]:
    """The media that a model does not read, or that are not of the kind which they are said to be."""
    for at, number, kind, url in media:
        where, modality = ("messages", at, "content", number), kind.removesuffix("_url")
        if modality not in traits.modalities:
            yield Violation(where, "conflict", MEDIA_REFUSALS[kind])
        elif url.startswith("data:") and not url.startswith(f"data:{modality}/"):
            # Recorded of a PDF in the place of an image.
            yield Violation(where, "conflict", "Failed to load media")


def _request(
    body: Body, name: str, model: Model, edition: Edition, thought: Reasoning, media: Sequence[Medium]
) -> GenerationRequest:
    prompt = read_prompt(body["messages"], body.get("tools"), media)
    prompts = (prompt,)
    tools, choice = NO_OFFER
    if body.get("tools"):
        # A choice among no tools is tolerated.
        tools, choice = read_offer(body)
        choice = due_choice(choice, prompt)
    counts: dict[str, int] = {}
    for *_, kind, _ in media:
        medium = kind.removesuffix("_url")
        counts[medium] = counts.get(medium, 0) + _MEDIA_TOKENS[kind]
    timeout = read_timeout(body) if edition == "documented" else None
    return GenerationRequest(
        model=name,
        prompts=prompts,
        output=Output(
            stream=bool(body.get("stream")),
            include_usage=bool((body.get("stream_options") or {}).get("include_usage")),
            logprobs=int(body.get("top_logprobs") or 0) if body.get("logprobs") else None,
            reasoning=thought.thoughts in ("apart", "inside", "leaked"),
        ),
        limits=read_limits(body, model, prompts),
        stops=read_stops(body),
        sampling=read_sampling(body),
        constraint=read_format(body, edition) if "response_format" in body else None,
        tools=tools,
        tool_choice=choice,
        n=int(body.get("n") or 1),
        effort=thought.effort,
        budget=thought.budget,
        extra=FriendliOptions(timeout, thoughts=thought.thoughts, media=counts),
    )


def media_in(messages: Messages) -> list[Medium]:
    """The parts of messages that are not text."""
    found = []
    for place, message in enumerate(messages):
        content = message.get("content")
        for number, part in enumerate(content if isinstance(content, list) else ()):
            kind = part["type"]
            if kind in _MEDIA_TOKENS:
                found.append((place, number, kind, part[kind]["url"]))
    return found


def read_prompt(messages: Messages, tools: object, media: Sequence[Medium]) -> Prompt:
    """The conversation as a prompt, with the `tools` on offer; each medium changes the answer by its URL."""
    prompt = chat_prompt(messages, tools)
    return with_media(prompt, [(kind, url, _MEDIA_TOKENS[kind]) for *_, kind, url in media]) if media else prompt


def due_choice(choice: ToolChoice, prompt: Prompt) -> ToolChoice:
    """The choice, but none of a named tool once its result follows the last user message.

    The first client's own tests send the same `tool_choice` with the result, and expect a text.
    """
    for message in reversed(prompt.messages) if choice.mode == "required" and choice.names else ():
        if message.role == "user":
            break
        if message.answers in choice.names:
            return ToolChoice("none")
    return choice


# --- answers ---------------------------------------------------------------------------------------------------------


def write_chat(generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply | Refusal:
    """An answer to a conversation, or a refusal if it takes too long."""
    if scope.edition == "documented":
        late = is_late(generation, pace)
        return Refusal(FailureKind.TIMEOUT) if late else write(_PAGE_CHAT, generation, pace, scope)
    by_vllm = TRAITS[generation.request.model].by_vllm
    return write(_VLLM_CHAT if by_vllm else _CHAT, generation, pace, scope)


def is_late(generation: Generation, pace: TokenTiming) -> bool:
    """Whether an answer begins later than the timeout of its request: a stream with its first token, a body with its
    last."""
    timeout = options_of(generation.request).timeout
    if timeout is None:
        return False
    return pace.queue + pace.prefill + (0 if generation.request.output.stream else pace.decode) > timeout


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


def _choice_members(rendering: Rendering, choice: Choice) -> Members:
    """The content, null if there are only thoughts or calls; the calls; and the thoughts, under both their names."""
    request = rendering.generation.request
    apart, thoughts, texts = shown(choice, options_of(request).thoughts)
    thought, content = "".join(thoughts), "".join(texts)
    if not apart:
        thought, content = "", thought + content
    message: dict[str, Any] = {"role": "assistant", "content": content or None if thought or choice.calls else content}
    if choice.calls:
        message |= whole_calls(rendering, choice)
    if thought:
        message |= {"reasoning": thought, "reasoning_content": thought}
    if request.output.logprobs is None:
        return {"message": message}
    return {"message": message, "logprobs": {"content": chat_logprobs(choice)}}


def _with_role(rendering: Rendering, choice: Choice) -> Sequence[Segment]:
    """Thoughts, text and calls; the first chunk has the role too."""
    said = [segment for segment in _segments(rendering, choice) if segment.steps]
    return [said[0]._replace(first={"role": "assistant"}), *said[1:]] if said else ()


def _segments(rendering: Rendering, choice: Choice) -> Iterator[Segment]:
    slot = rendering.flavour.slot
    apart, thoughts, texts = shown(choice, options_of(rendering.generation.request).thoughts)
    yield Segment({"reasoning": slot, "reasoning_content": slot} if apart else {"content": slot}, thoughts)
    yield Segment({"content": slot}, texts, beside=scores(rendering, choice))
    yield from (call_segment(rendering, choice, place) for place in range(len(choice.calls)))


_OPEN, _CLOSE = "<think>\n", "\n</think>\n\n"
_LEAKED_CLOSE = "</think>"


def shown(choice: Choice, where: Thoughts) -> tuple[bool, Sequence[str], Sequence[str]]:
    """The thoughts of a choice as they are to be shown: whether apart from the content; their texts, and the content's.

    The closing tag is left out if the choice was cut within its thoughts.
    """
    texts = choice.texts
    if where == "empty" and texts:
        texts = [_OPEN + _CLOSE + texts[0], *texts[1:]]
    if where not in ("inside", "leaked") or not choice.thoughts:
        return where not in ("inside", "leaked"), choice.thoughts, texts
    opening, closing = (_OPEN, _CLOSE) if where == "inside" else ("", _LEAKED_CLOSE)
    first, *rest = choice.thoughts
    thoughts = [opening + first, *rest]
    if choice.answer_tokens or choice.finish_reason != "length":
        thoughts[-1] += closing
    return False, thoughts, texts


def spaced(value: object) -> bytes:
    """JSON as in the page's stream, with ", " and ": " between the parts, and ASCII alone: the client of that time cuts
    its lines at U+2028 and U+0085 too."""
    return json.dumps(value).encode()


_CHAT = Flavour(
    around=_around,
    counts=_counts,
    choice_members=_choice_members,
    segments=_with_role,
    # Compact, and with the keys in alphabetical order.
    dump=partial(orjson.dumps, option=orjson.OPT_SORT_KEYS),
)
_PAGE_CHAT = _CHAT._replace(
    around=lambda rendering: {"created": int(rendering.scope.now)},
    body=("choices", "usage", "created"),
    chunk=("choices", "created"),
    choice=("index", "message", "finish_reason", "logprobs"),
    part=("index", "delta", "finish_reason", "logprobs"),
    dump=spaced,
    # Nothing around a text comes from the request.
    slot="\0the text of a token\0",
)

# --- by vLLM ---------------------------------------------------------------------------------------------------------


def _vllm_around(rendering: Rendering) -> Members:
    scope = rendering.scope
    id_ = f"chatcmpl-{uuid4_text(scope.identity, 'id')}"
    return {"id": id_, "created": int(scope.now), "model": rendering.generation.request.model}


def _vllm_counts(rendering: Rendering) -> Members:
    usage = rendering.generation.usage
    details = {"cached_tokens": usage.cached_tokens, "created_cache_tokens": usage.written_tokens}
    media = options_of(rendering.generation.request).media
    return {**vllm_usage(usage), "prompt_tokens_details": {**details, "multimodal_tokens": dict(media) or None}}


def _vllm_groups(rendering: Rendering, choice: Choice, texts: Sequence[str], step: int) -> Iterator[range]:
    """The pieces of a prepared answer are kept apart."""
    if rendering.generation.prepared:
        return (range(place, place + 1) for place in range(len(texts)))
    return accepted(texts, step, choice.seed)


# The most tokens of an event by vLLM.
_MOST = 5


def accepted(texts: Sequence[str], step: int, key: int) -> Iterator[range]:
    """Which tokens share an event, if texts begin with a decoding step; `key` decides how many do.

    With speculative decoding, a step accepts several tokens that were drafted: recorded of GLM-5.3-Flash, in whose
    streams an event has 1 to 6 tokens, and the first event of an answer has one.
    """
    alone = 1 if step == 0 and texts else 0
    return chain((range(1),) * alone, batches(alone, len(texts), 1, _MOST, key))


_VLLM_CHAT = Flavour(
    around=_vllm_around,
    counts=_vllm_counts,
    closing_around=lambda rendering: {"service_tier": None, "system_fingerprint": None},
    choice_members=lambda rendering, choice: {"logprobs": None, **_choice_members(rendering, choice)},
    opening=lambda rendering, choice: ({"delta": {"role": "assistant", "content": ""}},),
    segments=lambda rendering, choice: [*_segments(rendering, choice)],
    groups=_vllm_groups,
    # Recorded of a call in a response.
    call_id=lambda rendering, choice, place: (
        f"chatcmpl-tool-{hex_digits(rendering.scope.identity, 16, 'call', choice.index, place)}"
    ),
    body=("id", "object", "created", "model", "choices", "service_tier", "system_fingerprint", "usage"),
    stream_headers=((b"content-type", EVENT_STREAM + b"; charset=utf-8"),),
)

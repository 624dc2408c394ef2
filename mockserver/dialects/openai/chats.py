"""`POST /v1/chat/completions`: requests (facts B), answers (E3) and streams (E4), also as Azure's deployments lay them
out (I)."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import orjson

from mockserver.core.dialects import RequestScope
from mockserver.core.failures import Refusal
from mockserver.core.generation import Choice, Generation, GenerationRequest, Limits, Output, Stops, Unseen
from mockserver.core.http import OPENING, Call, LazyFrames, Reply, TokenTiming
from mockserver.core.seeding import alphanumerics
from mockserver.dialects.contracts import Contract, components
from mockserver.dialects.openai.azure import NOT_FOUND, OF_PROMPT, of_answer
from mockserver.dialects.openai.checks import (
    CHAT_CHECKS,
    RequestRules,
    accept,
    effort_asked,
    too_long,
    without_json_word,
)
from mockserver.dialects.openai.models import EFFORTS, SNAPSHOTS, TIERS, UNKNOWN, Family, fingerprint_of
from mockserver.dialects.openai.read import (
    NO_OFFER,
    chat_prompt,
    content_text,
    is_azure,
    read_format,
    read_offer,
    sampling,
    stop_texts,
    with_images,
)
from mockserver.dialects.openai.replies import (
    NOTHING,
    Flavour,
    Members,
    Rendering,
    Segment,
    call_members,
    chat_logprobs,
    pretty,
    usage_object,
    whole_body,
    whole_calls,
    write,
)
from mockserver.dialects.openai.streams import at_step, call_segment, scores

_RULES = RequestRules(Contract(components(__package__, "openai"), "ChatCompletionRequest"))


class ChatOptions(NamedTuple):
    """What only the writer needs of a request: the model's family, the tier that answers state, whether chunks are
    padded, whether a tool was named, which some models tell by their finish reason, whether Azure answers, and which
    model moderates, if any does."""

    family: Family = UNKNOWN
    tier: str = "default"
    padded: bool = True
    named: bool = False
    azure: bool = False
    moderated_by: str | None = None


# --- requests ----------------------------------------------------------------------------------------------------


def read_chat(call: Call, scope: RequestScope, rules: RequestRules = _RULES) -> GenerationRequest | Refusal:
    """The request, or why it is refused by the rules of OpenAI, or of a vendor that differs a little."""
    asked = accept(call, scope, "chat", rules, CHAT_CHECKS)
    if isinstance(asked, Refusal):
        return asked
    body, model, family = asked
    form = body.get("response_format")
    refusal = without_json_word(body) if form is not None and rules.json_word else None
    if refusal is not None:
        return refusal
    prompt = with_images(chat_prompt(body["messages"], body.get("tools") or body.get("functions")), body["messages"])
    refusal = too_long(prompt.token_count, model, family, "chat")
    if refusal is not None:
        return refusal
    options, stop, tier = body.get("stream_options") or NOTHING, body.get("stop"), body.get("service_tier") or "auto"
    most = body.get("max_completion_tokens")
    most = body.get("max_tokens") if most is None else most
    effort, choice = effort_asked(body, family), body.get("tool_choice")
    predicted = body.get("prediction")
    tools, tool_choice = read_offer(body) if body.get("tools") or body.get("functions") else NO_OFFER
    request = GenerationRequest(
        model=body["model"],
        prompts=(prompt,),
        output=Output(
            stream=bool(body.get("stream")),
            include_usage=bool(options.get("include_usage")),
            logprobs=int(body.get("top_logprobs") or 0) if body.get("logprobs") else None,
        ),
        limits=Limits(None if most is None else int(most), context=model.context),
        stops=Stops() if stop is None else Stops(stop_texts(stop)),
        sampling=sampling(body),
        constraint=None if form is None else read_format(form),
        tools=tools,
        tool_choice=tool_choice,
        n=int(body.get("n") or 1),
        effort=None if effort is None else EFFORTS[effort],
        prediction=None if predicted is None else content_text(predicted["content"]),
        extra=ChatOptions(
            family,
            TIERS.get(tier, tier),
            options.get("include_obfuscation") is not False,
            isinstance(choice, dict) and choice["type"] != "allowed_tools",
            is_azure(call),
            (body.get("moderation") or NOTHING).get("model"),
        ),
    )
    return request if rules.adapt is None else rules.adapt(body, request)


# --- answers -----------------------------------------------------------------------------------------------------


def write_chat(generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply:
    """The generation as one body, or as a stream of chunks, ahead of which one of Azure's tells of the prompt."""
    options = _options(generation)
    reply = write(_AZURE if options.azure else CHAT, _finished(generation, options), pace, scope)
    if not (options.azure and reply.streamed):
        return reply
    told = {**dict.fromkeys(("id", "model", "object"), ""), "choices": [], "created": 0, **_PROMPT_FILTERS}
    first = b"data: %b\n\n" % _sorted(told)
    return reply._replace(frames=LazyFrames(lambda: chain((at_step(OPENING, (first,)),), reply.frames)))


def whole_chat(generation: Generation, pace: TokenTiming, scope: RequestScope) -> dict[str, Any]:
    """The members of the one body."""
    rendering = Rendering(CHAT, _finished(generation, _options(generation)), pace, scope)
    return whole_body(rendering, _around(rendering))


def _options(generation: Generation) -> ChatOptions:
    extra = generation.request.extra
    return extra if isinstance(extra, ChatOptions) else ChatOptions()


def _finished(generation: Generation, options: ChatOptions) -> Generation:
    """The generation with the finish reasons of its model."""
    if options.named and options.family.named_finish == "stop":
        choices = [
            choice._replace(finish_reason="stop") if choice.finish_reason == "tool_calls" else choice
            for choice in generation.choices
        ]
        generation = generation._replace(choices=tuple(choices))
    return generation


def chat_id(scope: RequestScope) -> str:
    """The id of the answer to a request."""
    return f"chatcmpl-{alphanumerics(scope.identity, 29, 'id')}"


def _around(rendering: Rendering) -> Members:
    generation, scope = rendering.generation, rendering.scope
    model, output, options = generation.request.model, generation.request.output, _options(rendering.generation)
    return {
        "id": chat_id(scope),
        "created": int(scope.now),
        "model": SNAPSHOTS.get(model, model),
        **(NOTHING if options.family.searches else {"service_tier": options.tier}),
        "system_fingerprint": "" if options.family.searches else fingerprint_of(model, options.family),
        **({"usage": None} if output.stream and output.include_usage else NOTHING),
    }


def _counts(rendering: Rendering) -> Members:
    """The usage with all its details, each of which is always there; only models that bill what is written to the cache
    tell it, in a place that is not known."""
    usage = rendering.generation.usage
    unseen, cached = usage.unseen or Unseen(), {"cached_tokens": usage.cached_tokens, "audio_tokens": 0}
    if _options(rendering.generation).family.cache_options:
        cached["cache_write_tokens"] = usage.written_tokens
    return {
        **usage_object(usage),
        "prompt_tokens_details": cached,
        "completion_tokens_details": {
            "reasoning_tokens": unseen.reasoning,
            "audio_tokens": 0,
            "accepted_prediction_tokens": unseen.accepted,
            "rejected_prediction_tokens": unseen.rejected,
        },
    }


def _streams(rendering: Rendering) -> bool:
    return rendering.generation.request.output.stream


def _moderation(rendering: Rendering) -> Members | None:
    """What is said of the prompt and of the answers, if they are moderated."""
    generation, model = rendering.generation, _options(rendering.generation).moderated_by
    if model is None:
        return None
    # Imported on first use: hardly any chat is moderated.
    from mockserver.dialects.openai.moderations import moderation_result

    said = {"input": [generation.request.prompts[0].text], "output": [choice.text for choice in generation.choices]}
    told = {side: [moderation_result(each, model, rendering.scope) for each in texts] for side, texts in said.items()}
    results = {"type": "moderation_results", "model": model}
    return {"moderation": {side: {**results, "results": each} for side, each in told.items()}}


def _refuses(rendering: Rendering, choice: Choice) -> bool:
    """Whether a choice is told as a refusal; where messages have none, it is a text."""
    return choice.refusal and "refusal" in (rendering.flavour.message or ("refusal",))


def _choice_members(rendering: Rendering, choice: Choice) -> Members:
    text, refuses, thoughts = choice.text, _refuses(rendering, choice), rendering.flavour.thoughts
    message = {
        "role": "assistant",
        "content": None if refuses or (choice.calls and not text) else text,
        **({thoughts: "".join(choice.thoughts)} if thoughts and choice.thoughts else NOTHING),
        **(whole_calls(rendering, choice) if choice.calls else NOTHING),
        "refusal": text if refuses else None,
        "annotations": [],
    }
    return {
        **_unset(rendering),
        "message": message,
        "finish_reason": choice.finish_reason,
        **_logprobs(rendering, choice, range(len(choice.texts))),
    }


def _logprobs(rendering: Rendering, choice: Choice, at: range) -> Members:
    """The log-probabilities of the tokens in a range; empty if they are not asked for."""
    if rendering.generation.request.output.logprobs is None:
        return NOTHING
    rows = chat_logprobs(choice, at.start, at.stop)
    content, refusal = (None, rows) if _refuses(rendering, choice) else (rows, None)
    return {"logprobs": {"content": content, "refusal": refusal}}


def _unset(rendering: Rendering) -> Members:
    """A model that reasons, hears or searches has no log-probabilities, and does not say so."""
    family = _options(rendering.generation).family
    silent = family.efforts or family.hears or family.searches
    return {"finish_reason": None} if silent else {"logprobs": None, "finish_reason": None}


def _opening(rendering: Rendering, choice: Choice) -> Sequence[Members]:
    """The role with an empty text. A single call stands beside it, several follow."""
    if choice.calls and not choice.texts:
        return () if len(choice.calls) == 1 else ({"delta": {"role": "assistant", "content": None}},)
    content = {"content": None, "refusal": ""} if _refuses(rendering, choice) else {"content": "", "refusal": None}
    return ({"delta": {"role": "assistant", **content}, **_logprobs(rendering, choice, range(0))},)


def _segments(rendering: Rendering, choice: Choice) -> Sequence[Segment]:
    """The thoughts, the text, then the calls."""
    slot, shown = rendering.flavour.slot, rendering.flavour.thoughts
    said = "refusal" if _refuses(rendering, choice) else "content"
    text = Segment({said: slot}, choice.texts, beside=scores(rendering, choice))
    calls = _calls(rendering, choice, alone=not rendering.flavour.opening(rendering, choice))
    thoughts = (Segment({shown: slot}, choice.thoughts),) if shown and choice.thoughts else ()
    return (*thoughts, text, *calls)


def _calls(rendering: Rendering, choice: Choice, *, alone: bool) -> Iterator[Segment]:
    slot, legacy = rendering.flavour.slot, rendering.generation.request.tool_choice.legacy
    if rendering.flavour.whole_calls and choice.calls:
        whole = whole_calls(rendering, choice)
        if not legacy:
            whole = {"tool_calls": [{"index": place, **call} for place, call in enumerate(whole["tool_calls"])]}
        yield Segment(head=whole, head_tokens=sum(call.steps for call in choice.calls))
        return
    for place, call in enumerate(choice.calls):
        segment = call_segment(rendering, choice, place)
        if legacy:
            head = {"function_call": call_members(choice, place, "")}
            segment = Segment({"function_call": {"arguments": slot}}, call.texts, head)
        if alone:
            segment = segment._replace(
                head={"role": "assistant", "content": None, **(segment.head or NOTHING), "refusal": None}
            )
        yield segment


CHAT = Flavour(
    around=_around,
    counts=_counts,
    choice_members=_choice_members,
    segments=_segments,
    logprobs=_logprobs,
    opening=_opening,
    unset=_unset,
    closing_around=lambda rendering: NOTHING if _streams(rendering) else _moderation(rendering) or NOTHING,
    trailing=_moderation,
    body=("id", "object", "created", "model", "choices", "usage", "service_tier", "system_fingerprint", "moderation"),
    chunk=("id", "object", "created", "model", "service_tier", "system_fingerprint", "choices", "moderation", "usage"),
    opening_step=0,
    plain=pretty,
    stream_headers=((b"content-type", b"text/event-stream; charset=utf-8"),),
    padding=lambda rendering: b"}" if _options(rendering.generation).padded else None,
)


# --- answers of Azure --------------------------------------------------------------------------------------------


_sorted = partial(orjson.dumps, option=orjson.OPT_SORT_KEYS)
# Without whitespace, keys in alphabetical order but for those of the prompt's results, and with the results of filters.
_RESULTS = b'[{"prompt_index":0,"content_filter_results":%b}]' % _sorted(OF_PROMPT)
_PROMPT_FILTERS = {"prompt_filter_results": orjson.Fragment(_RESULTS)}


def _latencies(rendering: Rendering) -> Members:
    """How long the answer took, in milliseconds."""
    times = rendering.pace.schedule or (0.0,)
    first, last, ahead = (round(each * 1000) for each in (times[0], times[-1], rendering.pace.queue))
    between = (last - first) // max(len(times) - 1, 1)
    checkpoint = {
        **dict.fromkeys(("engine_tbt_ms", "service_tbt_ms"), between),
        **dict.fromkeys(("engine_ttft_ms", "user_visible_ttft_ms"), max(first - ahead, 0)),
        "engine_ttlt_ms": max(last - ahead, 0),
        "pre_inference_ms": ahead,
        "service_ttft_ms": first,
        **dict.fromkeys(("service_ttlt_ms", "total_duration_ms"), last),
    }
    return {"latency_checkpoint": checkpoint}


def _azure_members(rendering: Rendering, choice: Choice) -> Members:
    """A choice with what the filters have found in its text."""
    results = {} if choice.calls else of_answer(blocked=choice.finish_reason == "content_filter")
    return {"logprobs": None, **CHAT.choice_members(rendering, choice), "content_filter_results": results}


def _azure_segments(rendering: Rendering, choice: Choice) -> Sequence[Segment]:
    text, *calls = CHAT.segments(rendering, choice)
    results, scores = {"content_filter_results": {"protected_material_text": NOT_FOUND}}, text.beside
    return (text._replace(beside=lambda group: {**results, **(scores(group) if scores else NOTHING)}), *calls)


_AZURE = CHAT._replace(
    around=lambda rendering: {**CHAT.around(rendering), **_PROMPT_FILTERS},
    counts=lambda rendering: {**_counts(rendering), **(NOTHING if _streams(rendering) else _latencies(rendering))},
    closing_around=lambda rendering: _latencies(rendering) if _streams(rendering) else CHAT.closing_around(rendering),
    choice_members=_azure_members,
    segments=_azure_segments,
    unset=lambda rendering: {"content_filter_results": {}, "logprobs": None, "finish_reason": None},
    body=(*CHAT.body, "prompt_filter_results"),
    chunk=(*CHAT.chunk, "latency_checkpoint"),
    choice=(*CHAT.choice, "content_filter_results"),
    part=(*CHAT.part, "content_filter_results"),
    dump=_sorted,
    plain=lambda value: _sorted(value) + b"\n",
    padding=lambda rendering: b',"object":' if _options(rendering.generation).padded else None,
)

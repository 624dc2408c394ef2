"""Answers of completions and chats, plain and streamed (vendor note A3: recorded bodies and streams).

The keys of a choice stand in alphabetical order, and what has no value is absent. A stream opens with the role, or with
an empty text, and closes with a chunk of finish reason, usage and time_info. Until 2025 (documented) it told all tool
calls at once, and calls, usage and times had another order.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain
from typing import Any, NamedTuple

from mockserver.core.dialects import Edition, RequestScope
from mockserver.core.generation import Choice, Generation, Unseen
from mockserver.core.http import Reply, TokenTiming
from mockserver.core.seeding import derive, hex_digits, uuid4_text
from mockserver.dialects.cerebras.models import ALL_DETAILS, ModelFamily, Shown
from mockserver.dialects.openai.replies import (
    NOTHING,
    Flavour,
    Members,
    Rendering,
    Segment,
    call_id,
    chat_logprobs,
    legacy_logprobs,
    usage_object,
    write,
)
from mockserver.dialects.openai.streams import batches, legacy_scores, scores
from mockserver.model import tokens
from mockserver.model.logprobs import asked_positions

# What the service adds to queue, prompt and completion time before it looks at the clock again (recorded: 1.5 to 4 ms).
_BOOKKEEPING = 0.002
# How many tokens a chunk of today's service has: recorded are 1 to 26, mostly so many.
_SMALLEST, _LARGEST = 4, 8
# The order of today's usage, in which details are next to what they are details of.
_TODAY = (
    "image_tokens",
    "total_tokens",
    "completion_tokens",
    "completion_tokens_details",
    "prompt_tokens",
    "prompt_tokens_details",
)


class CerebrasOptions(NamedTuple):
    """What the writer of chats needs of a request: the model's family and the time of its answers, where thoughts are
    shown, how many tokens of the prompt are those of images, and whether the service may choose the tier."""

    family: ModelFamily = ModelFamily()
    era: Edition = "documented"
    shown: Shown = "text_parsed"
    image_tokens: int = 0
    any_tier: bool = False

    def tags(self, choice: Choice) -> tuple[str, str]:
        """What stands before and behind the thoughts within the content; nothing ends those that are cut short."""
        if self.shown != "raw" or not choice.thoughts:
            return "", ""
        before, behind = self.family.tags
        return before, behind if choice.answer_tokens else ""


def _options(generation: Generation) -> CerebrasOptions:
    extra = generation.request.extra
    return extra if isinstance(extra, CerebrasOptions) else CerebrasOptions()


def write_chat(generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply:
    """A chat as one body, or as a stream of chunks, each with several tokens unless there are log-probabilities."""
    # What a stub says keeps to the stub's pieces.
    joins = _options(generation).era == scope.edition == "observed" and not generation.prepared
    joins = joins and generation.request.output.logprobs is None
    return write(_JOINED_CHAT if joins else _CHAT, generation, pace, scope)


# --- around the choices ------------------------------------------------------------------------------------------


def _around(rendering: Rendering) -> Members:
    model, scope = rendering.generation.request.model, rendering.scope
    return {
        # An id has the prefix of chats even for a completion.
        "id": f"chatcmpl-{uuid4_text(scope.identity, 'id')}",
        "created": int(scope.now),
        "model": model,
        "system_fingerprint": _system_fingerprint(scope.seed, model),
    }


@lru_cache(maxsize=256)
def _system_fingerprint(seed: int, model: str) -> str:
    return f"fp_{hex_digits(seed, 20, 'system', model)}"


def _times(rendering: Rendering) -> Members:
    """The times that the engine states, in seconds to the nanosecond."""
    pace, scope = rendering.pace, rendering.scope
    total = sum((pace.queue, pace.prefill, pace.decode)) + (_BOOKKEEPING if pace.schedule else 0.0)
    return {
        "queue_time": round(pace.queue, 9),
        "prompt_time": round(pace.prefill, 9),
        "completion_time": round(pace.decode, 9),
        "total_time": round(total, 9),
        # An integer in the captures of the page's time, a fraction today.
        "created": int(scope.now) if scope.edition == "documented" else round(scope.now, 6),
    }


_KEYS = ("id", "choices", "created", "model", "system_fingerprint", "object", "usage", "time_info", "service_tier_used")


# --- completions -------------------------------------------------------------------------------------------------


def _completion_counts(rendering: Rendering) -> Members:
    usage = rendering.generation.usage
    return {**usage_object(usage), "prompt_tokens_details": {"cached_tokens": usage.cached_tokens}}


def _whole_text(rendering: Rendering, choice: Choice) -> Members:
    output = rendering.generation.request.output
    # "Return raw tokens instead of text."
    members: dict[str, Any] = {"text": "", "tokens": list(choice.ids)} if output.token_ids else {"text": choice.text}
    if output.echo:
        members["text"] = choice.prompt.text + choice.text
    if output.logprobs is not None:
        # "0 enables but omits top_logprobs"; offsets are "character offsets since the prompt".
        texts, positions = [*choice.echo_texts, *choice.texts], [*choice.echo_positions, *choice.positions]
        offset = 0 if output.echo else len(choice.prompt.text)
        members["logprobs"] = legacy_logprobs(texts, positions, offset, with_top=output.logprobs > 0)
    return members


def _opening_text(rendering: Rendering, choice: Choice) -> Sequence[Members]:
    """An empty text, or the prompt that is echoed, with its log-probabilities."""
    output = rendering.generation.request.output
    if not output.echo:
        return ({"text": ""},)
    if output.logprobs is None:
        return ({"text": choice.prompt.text},)
    rows = legacy_logprobs(choice.echo_texts, choice.echo_positions, 0, with_top=output.logprobs > 0)
    return ({"text": choice.prompt.text, "logprobs": rows},)


def _texts(rendering: Rendering, choice: Choice) -> Sequence[Segment]:
    """The tokens, as texts or as ids."""
    output = rendering.generation.request.output
    beside = legacy_scores(rendering, choice, len(choice.prompt.text), with_top=bool(output.logprobs))
    if output.token_ids:
        ids = choice.ids
        return (Segment(lambda at: {"text": "", "tokens": [ids[at.start]]}, choice.texts, beside=beside),)
    return (Segment({"text": rendering.flavour.slot}, choice.texts, beside=beside),)


_COMPLETION = Flavour(
    around=_around,
    counts=_completion_counts,
    closing_around=lambda rendering: {"time_info": _times(rendering)},
    choice_members=_whole_text,
    opening=_opening_text,
    segments=_texts,
    closing=lambda rendering, choice: {"text": ""},
    # The page requires it of a choice, as a text or null.
    unset=lambda rendering: {"finish_reason": None} if rendering.scope.edition == "documented" else NOTHING,
    headers=lambda rendering, around: ((b"inference-id", around["id"].encode()),),
    kind="text_completion",
    chunk_kind="text_completion",
    body=_KEYS,
    chunk=_KEYS,
    choice=("finish_reason", "index", "logprobs", "text", "tokens"),
    part=("finish_reason", "index", "logprobs", "text", "tokens"),
    usage="last",
    stream_headers=((b"content-type", b"text/event-stream; charset=utf-8"),),
)
write_completion = partial(write, _COMPLETION)


# --- chats -------------------------------------------------------------------------------------------------------


def _chat_counts(rendering: Rendering) -> Members:
    """The usage with the details that the model's family states, in the order of its era (recorded)."""
    usage, options = rendering.generation.usage, _options(rendering.generation)
    family = options.family
    stated: dict[str, Any] = {
        **usage_object(usage),
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }
    if family.images:
        counted = stated if family.images == "usage" else stated["prompt_tokens_details"]
        counted["image_tokens"] = options.image_tokens
    unseen = usage.unseen or Unseen()
    # A model without reasoning of its own has some if a stub prescribes it.
    more = rendering.generation.request.prediction is not None or (unseen.reasoning > 0 and not family.efforts)
    details = ALL_DETAILS if more else family.details
    if details:
        known = {
            "accepted_prediction_tokens": unseen.accepted,
            "rejected_prediction_tokens": unseen.rejected,
            "reasoning_tokens": unseen.reasoning,
        }
        stated["completion_tokens_details"] = {name: known[name] for name in details}
    return stated if options.era == "documented" else {name: stated[name] for name in _TODAY if name in stated}


def _chat_times(rendering: Rendering) -> Members:
    """The engine's times, and the tier. Today times begin with `created`, which is a fraction in all recorded chats."""
    options = _options(rendering.generation)
    stated = {**_times(rendering), "created": round(rendering.scope.now, 6)}
    times = stated if options.era == "documented" else {"created": stated["created"], **stated}
    # "Only present when service_tier was set to auto in the request." Nothing is ever too busy for the default.
    return {"time_info": times, **({"service_tier_used": "default"} if options.any_tier else NOTHING)}


def _message(rendering: Rendering, choice: Choice) -> Members:
    """The whole message, in which a call or a thought stands for an absent content; and its log-probabilities."""
    options = _options(rendering.generation)
    thoughts, text = "".join(choice.thoughts), choice.text
    message: dict[str, Any] = {}
    if options.shown == "raw":
        before, behind = options.tags(choice)
        thoughts, text = "", f"{before}{thoughts}{behind}{text}"
    if text or not (thoughts or choice.calls):
        message["content"] = text
    if thoughts:
        message["reasoning"] = thoughts
    calls = []
    for place, call in enumerate(choice.calls):
        function = {"name": call.name, "arguments": call.arguments}
        told = {"function": function, "type": "function", "id": call_id(rendering, choice, place)}
        calls.append(told if options.era == "observed" else dict(reversed(told.items())))
    if calls:
        message["tool_calls"] = calls
    message["role"] = "assistant"
    if rendering.generation.request.output.logprobs is None:
        return {"message": message}
    by_field: dict[str, Sequence[Any]] = {"logprobs": chat_logprobs(choice)}
    if choice.thoughts:
        field = _thoughts_field(options.shown)
        by_field[field] = [*_thought_rows(rendering, choice)(0, None), *by_field.get(field, ())]
    scores = {field: {"content": rows} for field, rows in by_field.items() if rows or not choice.calls}
    return {"message": message, **scores}


def _thoughts_field(shown: Shown) -> str:
    """The field that holds the log-probabilities of thoughts.

    "`text_parsed`: similar to `parsed`, but logprobs will not be separated into `reasoning_logprobs` and `logprobs`."
    """
    return "reasoning_logprobs" if shown == "parsed" else "logprobs"


def _thought_rows(rendering: Rendering, choice: Choice) -> Callable[[int, int | None], list[Any]]:
    """The log-probabilities of thoughts from a token to another; their ids are found by their texts."""
    request = rendering.generation.request
    ids = [next(iter(tokens.encode(text)), tokens.EOS) for text in choice.thoughts]
    key = derive(choice.seed, "thoughts")
    positions = asked_positions(request, choice.prompt, ids, choice.thoughts, key, request.sampling)
    return partial(chat_logprobs, choice._replace(ids=ids, texts=choice.thoughts, positions=positions))


def _thought_scores(rendering: Rendering, choice: Choice) -> Callable[[range], Members]:
    field, rows = _thoughts_field(_options(rendering.generation).shown), _thought_rows(rendering, choice)
    return lambda at: {field: {"content": rows(at.start, at.stop)}}


def _opening(rendering: Rendering, choice: Choice) -> Sequence[Members]:
    """The role, and what stands before thoughts within the content."""
    before, _ = _options(rendering.generation).tags(choice)
    role: Members = {"delta": {"role": "assistant"}}
    return (role, {"delta": {"content": before}}) if before else (role,)


def _segments(rendering: Rendering, choice: Choice) -> Sequence[Segment]:
    """Thoughts, text and calls, a chunk for each token, with its log-probabilities if requested."""
    options, slot = _options(rendering.generation), rendering.flavour.slot
    _, behind = options.tags(choice)
    said, beside = [], scores(rendering, choice)
    if choice.thoughts:
        delta = {"content" if options.shown == "raw" else "reasoning": slot}
        said.append(Segment(delta, choice.thoughts, beside=_thought_scores(rendering, choice) if beside else None))
    if behind:
        said.append(Segment(head={"content": behind}, head_tokens=0))
    return (*said, Segment({"content": slot}, choice.texts, beside=beside), *_calls(rendering, choice, options))


def _joined_segments(rendering: Rendering, choice: Choice) -> Sequence[Segment]:
    """Thoughts and text as one: a chunk in which the thoughts end may begin the text as well. Then the calls."""
    options = _options(rendering.generation)
    _, behind = options.tags(choice)
    thoughts = [*choice.thoughts[:-1], choice.thoughts[-1] + behind] if behind else choice.thoughts
    texts = [*thoughts, *choice.texts]
    border = 0 if options.shown == "raw" else len(thoughts)

    def delta(group: range) -> Mapping[str, Any]:
        thought, text = (
            "".join(texts[group.start : min(border, group.stop)]),
            texts[max(border, group.start) : group.stop],
        )
        both = {"content": "".join(text)} if text else {}
        return {**both, "reasoning": thought} if thought else both

    said = {"content": rendering.flavour.slot} if not border else delta
    return (Segment(said, texts), *_calls(rendering, choice, options))


def _groups(rendering: Rendering, choice: Choice, texts: Sequence[str], step: int) -> Iterator[range]:
    """Which tokens share a chunk: the very first has its own, and in half of all answers so has the last thought.

    Recorded: of twelve streams that go from thoughts to a text, six have a chunk with both.
    """
    alone = 1 if step == 0 else 0
    groups = chain((range(1),) * alone, batches(alone, len(texts), _SMALLEST, _LARGEST, choice.seed))
    border = len(choice.thoughts) if step == 0 and _options(rendering.generation).shown != "raw" else 0
    return groups if not border or derive(choice.seed, "border") % 2 else _parted(groups, border)


def _parted(groups: Iterable[range], border: int) -> Iterator[range]:
    """The groups, of which the one that crosses a border is two."""
    for group in groups:
        if group.start < border < group.stop:
            yield range(group.start, border)
            group = range(border, group.stop)
        yield group


def _calls(rendering: Rendering, choice: Choice, options: CerebrasOptions) -> Sequence[Segment]:
    """Each call as a name and then its arguments piece by piece, or all of them in one chunk.

    The order of the keys of a fragment is its own (recorded).
    """
    if not choice.calls:
        return ()

    def begun(place: int, arguments: str) -> Members:
        function = {"name": choice.calls[place].name, "arguments": arguments}
        return {"function": function, "type": "function", "id": call_id(rendering, choice, place), "index": place}

    if options.family.whole_calls or options.era == "documented":
        whole = [begun(place, call.arguments) for place, call in enumerate(choice.calls)]
        return (Segment(head={"tool_calls": whole}, head_tokens=sum(call.steps for call in choice.calls)),)
    slot = rendering.flavour.slot
    return [
        Segment(
            {"tool_calls": [{"function": {"arguments": slot}, "type": "function", "index": place}]},
            call.texts,
            head={"tool_calls": [begun(place, "")]},
        )
        for place, call in enumerate(choice.calls)
    ]


_CHAT = _COMPLETION._replace(
    counts=_chat_counts,
    closing_around=_chat_times,
    choice_members=_message,
    opening=_opening,
    segments=_segments,
    closing=lambda rendering, choice: {"delta": {}},
    unset=lambda rendering: NOTHING,
    call_id=lambda rendering, choice, place: hex_digits(rendering.scope.identity, 9, "call", choice.index, place),
    kind="chat.completion",
    chunk_kind="chat.completion.chunk",
    choice=("finish_reason", "index", "logprobs", "message", "reasoning_logprobs"),
    part=("delta", "finish_reason", "index", "logprobs", "reasoning_logprobs"),
)
_JOINED_CHAT = _CHAT._replace(segments=_joined_segments, groups=_groups)

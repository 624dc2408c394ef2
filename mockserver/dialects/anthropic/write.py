"""Messages as Anthropic writes them, and as those do who speak its wire: one body, or a stream of events (facts A6 to
A9).

An answer is a list of content blocks. Each is written whole in a body; in a stream by an event that starts it, a delta
for each of its tokens, and one that stops it. A `MessageFlavour` states what vendors form in ways of their own.
"""

from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import orjson

from mockserver.core.dialects import RequestScope
from mockserver.core.generation import Choice, Generation
from mockserver.core.seeding import Draws, alphanumerics, derive, hex_digits
from mockserver.core.timeline import OPENING, RUN_LENGTH, FrameBatch, LazyFrames, Reply, TemplatedFrames, TokenTiming
from mockserver.dialects.anthropic.models import family_of, resolved
from mockserver.dialects.anthropic.read import MessageOptions
from mockserver.dialects.openai.bodies import body_reply
from mockserver.dialects.openai.events import EVENT_STREAM, SLOT, at_step, json_texts, stream_reply
from mockserver.dialects.openai.flavour import Members, ordered
from mockserver.dialects.openai.responses.spoken import Spoken, spoken_of

_PING = b'event: ping\ndata: {"type": "ping"}\n\n'
_PADDINGS = [b" " * count for count in range(16)]


class Writing(NamedTuple):
    """An answer that is being written, in a flavour."""

    flavour: "MessageFlavour"
    generation: Generation
    scope: RequestScope
    options: MessageOptions

    @property
    def choice(self) -> Choice:
        """The only choice: the API has no `n`."""
        return self.generation.choices[0]


class MessageFlavour(NamedTuple):
    """How a vendor writes messages.

    - `message`: the members of a message, in their order; `ending`: those of the delta that ends a stream.
    - `around`: what a message has beside its content, the reason of its end and its usage.
    - `usage`: that of a body, of the message that begins a stream ("start"), and of the delta that ends it ("end").
    - `calling`: what a call has beside its name and its input; its id is made of the place that it has.
    - `pings`: whether an event `ping` follows the start of the first block; `pads`: whether blanks hide the lengths.
    """

    message: Sequence[str]
    ending: Sequence[str]
    around: Callable[[Writing], Members]
    usage: Callable[[Writing, str], Members]
    call_id: Callable[[Writing, int], str]
    calling: Members
    pings: bool = False
    pads: bool = False


class Block(NamedTuple):
    """A content block: as a body has it, as a stream starts it, its delta with SLOT in the place of a token's text
    (None if it has none), and the deltas ahead of and after those of its tokens."""

    spoken: Spoken
    whole: Members
    start: Members
    delta: Members | None = None
    first: Sequence[Members] = ()
    last: Sequence[Members] = ()


def blocks_of(writing: Writing) -> list[Block]:
    """The blocks of an answer; a text that is empty has none."""
    found = spoken_of(writing.choice, writing.options.thoughts)
    return [_block(writing, each) for each in found if each.texts or each.kind not in ("text", "refusal")]


def _block(writing: Writing, spoken: Spoken) -> Block:
    text = spoken.text
    if spoken.is_call:
        id_ = writing.flavour.call_id(writing, spoken.place)
        around = {"type": "tool_use", "id": id_, "name": spoken.name}
        silent = text == "{}"
        delta = {"type": "input_json_delta", "partial_json": SLOT}
        return Block(
            spoken,
            {**around, "input": _input(text), **writing.flavour.calling},
            {**around, "input": {}, **writing.flavour.calling},
            None if silent else delta,
            first=({**delta, "partial_json": ""},),
        )
    if spoken.kind in ("text", "refusal"):
        start = {"type": "text", "text": ""}
        return Block(spoken, {**start, "text": text}, start, {"type": "text_delta", "text": SLOT})
    sealed = _sealed(writing)
    if writing.options.redacted:
        whole = {"type": "redacted_thinking", "data": sealed}
        return Block(spoken, whole, whole)
    start = {"type": "thinking", "thinking": "", "signature": ""}
    signature = ({"type": "signature_delta", "signature": sealed},)
    delta = {"type": "thinking_delta", "thinking": SLOT}
    return Block(spoken, {**start, "thinking": text, "signature": sealed}, start, delta, last=signature)


def _input(text: str) -> object:
    """The input of a call; that of one which is cut short cannot be read."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}


def _sealed(writing: Writing) -> str:
    """What stands for encrypted thoughts: longer ones are longer."""
    size = 210 + min(writing.choice.reasoning, 1_000)
    blocks = [hex_digits(writing.scope.identity, 128, "signature", place) for place in range(-(-size // 64))]
    return b64encode(bytes.fromhex("".join(blocks))[:size]).decode()


def stop_reason(writing: Writing) -> str:
    """Why an answer has ended, in the vendor's word."""
    choice, limits = writing.choice, writing.generation.request.limits
    if choice.refusal or choice.finish_reason == "content_filter":
        return "refusal"
    if choice.finish_reason == "length":
        used = writing.generation.usage.completion_tokens
        filled = limits.max_tokens is None or used < limits.max_tokens
        return "model_context_window_exceeded" if filled and not writing.generation.prepared else "max_tokens"
    if choice.finish_reason in ("tool_calls", "function_call"):
        return "tool_use"
    return "end_turn" if choice.stop is None else "stop_sequence"


def _ending(writing: Writing) -> Members:
    reason, stop = stop_reason(writing), writing.choice.stop
    details = {"type": "refusal", "category": None, "explanation": None} if reason == "refusal" else None
    return {
        "stop_reason": reason,
        "stop_sequence": stop if reason == "stop_sequence" else None,
        "stop_details": details,
    }


def _message(writing: Writing, content: Sequence[Members], ending: Members, when: str) -> Members:
    members = {**writing.flavour.around(writing), "type": "message", "role": "assistant", "content": content}
    return ordered(writing.flavour.message, {**members, **ending, "usage": writing.flavour.usage(writing, when)})


def write(flavour: MessageFlavour, generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply:
    """The generation as one body, or as a stream of events."""
    extra = generation.request.extra
    writing = Writing(flavour, generation, scope, extra if isinstance(extra, MessageOptions) else MessageOptions())
    if generation.request.output.stream:
        headers = ((b"content-type", EVENT_STREAM + b"; charset=utf-8"), (b"cache-control", b"no-cache"))
        return stream_reply(LazyFrames(partial(_frames, writing)), headers)
    return body_reply(_message(writing, [each.whole for each in blocks_of(writing)], _ending(writing), ""), generation)


def _frames(writing: Writing) -> Iterator[FrameBatch]:
    """The events of a stream."""
    flavour, draws, last = (
        writing.flavour,
        Draws(derive(writing.scope.identity, "padding")),
        writing.generation.last_step,
    )

    def closed(body: bytes) -> bytes:
        return body[:-1] + _PADDINGS[draws.below(16)] + b"}\n\n" if flavour.pads else body + b"\n\n"

    def event(kind: str, **members: Any) -> bytes:
        return b"event: %b\ndata: %b" % (kind.encode(), closed(orjson.dumps({"type": kind, **members})))

    unended = dict.fromkeys(_ending(writing))
    yield at_step(OPENING, (event("message_start", message=_message(writing, [], unended, "start")),))
    for index, block in enumerate(blocks_of(writing)):
        spoken, delta = block.spoken, partial(event, "content_block_delta", index=index)
        opening = [event("content_block_start", index=index, content_block=block.start)]
        opening += [_PING] if flavour.pings and not index else []
        opening += [delta(delta=each) for each in block.first]
        yield FrameBatch(opening, (spoken.step,) * len(opening), (int(spoken.is_call), *(0,) * (len(opening) - 1)))
        closing = [*(delta(delta=each) for each in block.last), event("content_block_stop", index=index)]
        untold = len(spoken.texts)
        if block.delta is not None:
            untold = 0
            before, after = (
                b"event: content_block_delta\ndata: "
                + orjson.dumps({"type": "content_block_delta", "index": index, "delta": block.delta})
            ).split(b"\xff")
            for start in range(0, len(spoken.texts), RUN_LENGTH):
                texts = spoken.texts[start : start + RUN_LENGTH]
                pieces = [json_texts[text] + closed(after) for text in texts]
                steps = range(spoken.first + start, spoken.first + start + len(texts))
                yield FrameBatch(TemplatedFrames(before, pieces, b""), steps, (1,) * len(texts))
        yield FrameBatch(closing, (spoken.last,) * len(closing), (*(0,) * (len(closing) - 1), untold))
    ended, usage = ordered(flavour.ending, _ending(writing)), flavour.usage(writing, "end")
    yield at_step(last, (event("message_delta", delta=ended, usage=usage), event("message_stop")))


# --- Anthropic's own ---------------------------------------------------------------------------------------------


def _around(writing: Writing) -> Members:
    identity, model = writing.scope.identity, writing.generation.request.model
    return {"model": resolved(model), "id": f"msg_011{alphanumerics(identity, 21, 'id')}"}


def _usage(writing: Writing, when: str) -> Members:
    usage, hour = writing.generation.usage, writing.options.hour
    read, made = usage.cached_tokens, usage.written_tokens
    counts = {
        "input_tokens": max(usage.prompt_tokens - read - made, 0),
        "cache_creation_input_tokens": made,
        "cache_read_input_tokens": read,
    }
    thinking = {"output_tokens_details": {"thinking_tokens": usage.unseen.reasoning if usage.unseen else 0}}
    if when == "end":
        return {**counts, "output_tokens": usage.completion_tokens, **thinking}
    created = {"ephemeral_5m_input_tokens": 0 if hour else made, "ephemeral_1h_input_tokens": made if hour else 0}
    return {
        **counts,
        "cache_creation": created,
        "output_tokens": min(usage.completion_tokens, 1) if when == "start" else usage.completion_tokens,
        **({} if when == "start" else thinking),
        "service_tier": "standard",
        "inference_geo": "global" if family_of(writing.generation.request.model).instructed else "not_available",
    }


def _call_id(writing: Writing, place: int) -> str:
    return f"toolu_01{alphanumerics(writing.scope.identity, 22, 'call', place)}"


MESSAGE = MessageFlavour(
    message=("model", "id", "type", "role", "content", "stop_reason", "stop_sequence", "stop_details", "usage"),
    ending=("stop_reason", "stop_sequence", "stop_details"),
    around=_around,
    usage=_usage,
    call_id=_call_id,
    calling={"caller": {"type": "direct"}},
    pings=True,
    pads=True,
)
write_message = partial(write, MESSAGE)

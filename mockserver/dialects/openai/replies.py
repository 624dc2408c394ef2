"""Chats and completions as OpenAI answers them, and as those do who speak its wire with differences; and what replies
are made of: the members that several vendors have in theirs, and the items that an answer consists of.

A vendor is a `Flavour`: tables that name the members of its answers in their order, and a function for each piece that
it forms in its own way. `write` makes one body of a generation, or a stream of chunks (`streams`).
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from email.utils import formatdate
from functools import lru_cache, partial
from itertools import accumulate
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import orjson

from mockserver.core.dialects import RequestScope, on_demand
from mockserver.core.generation import Choice, FinishReason, Generation, Position, Usage
from mockserver.core.http import OPENING, FrameBatch, LazyFrames, RawHeaders, Reply, TokenTiming
from mockserver.core.seeding import alphanumerics
from mockserver.model import tokens

JSON = b"application/json"
EVENT_STREAM = b"text/event-stream"
Members = Mapping[str, Any]
NOTHING: Members = MappingProxyType({})


@lru_cache(maxsize=8)
def date_header(second: int) -> tuple[bytes, bytes]:
    """The `date` header of a Unix time."""
    return b"date", formatdate(second, usegmt=True).encode()


def body_reply(
    value: object, generation: Generation | None = None, *, headers: RawHeaders = (), content_type: bytes = JSON
) -> Reply:
    """A reply of one body (a JSON value, or bytes as they are), due when the generation is complete, or at once."""
    body = value if isinstance(value, bytes) else orjson.dumps(value)
    if generation is None:
        step = count = 0
    else:
        step, count = generation.last_step, generation.usage.completion_tokens
    return Reply(200, ((b"content-type", content_type), *headers), (FrameBatch((body,), (step,), (count,)),))


def event(value: object) -> bytes:
    """A server-sent event of one data line."""
    return b"data: " + orjson.dumps(value) + b"\n\n"


def pretty(value: object) -> bytes:
    """A body as OpenAI lays out chats and completions: two spaces for each level, and a newline at the end."""
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")


def plain(value: object) -> bytes:
    """A body as it lays out others: two spaces for each level, ASCII alone, and no newline at the end."""
    body = orjson.dumps(value, option=orjson.OPT_INDENT_2)
    if body.isascii():
        return body
    return _BEYOND_ASCII.sub(lambda found: _escaped(found[0]), body.decode()).encode()


def _escaped(text: str) -> str:
    units = text.encode("utf-16-be").hex()
    return "".join([f"\\u{units[place : place + 4]}" for place in range(0, len(units), 4)])


# --- flavours ----------------------------------------------------------------------------------------------------

# Marks the place of the text in the chunk that a template is made of: a byte that no UTF-8 text has.
SLOT: Any = orjson.Fragment(b"\xff")


class Segment(NamedTuple):
    """Tokens of a choice that go to the same place of its message: thoughts, text, the arguments of a call.

    `delta` has the flavour's slot where the text goes, once or more often, or makes the delta of the tokens in a
    range. A `head` is a delta of its own ahead of the texts, which stands for `head_tokens` tokens. `first` are further
    members of the first delta. `beside` gives further members of the part with the tokens in a range: their
    log-probabilities, their ids.
    """

    delta: Members | Callable[[range], Members] = NOTHING
    texts: Sequence[str] = ()
    head: Members | None = None
    head_tokens: int = 1
    first: Members = NOTHING
    beside: Callable[[range], Members] | None = None

    @property
    def steps(self) -> int:
        """How many decoding steps it takes."""
        return len(self.texts) + (self.head_tokens if self.head is not None else 0)


class Flavour(NamedTuple):
    """How a vendor writes the answers of one operation. The tables:

    - `kind`, `chunk_kind`: the `object` of a body and of a chunk.
    - `body`, `chunk`, `choice`, `part`: the members of a body, of a chunk, of a choice in a body and in a chunk, in
      their order; those that have no value are left out. `message`: those of a message and its deltas, if these are
      fewer, or in another order, than the functions below give.
    - `usage`: which chunk has the usage: one of its `own` if the request wants it, the `last` one of a choice always,
      or `each` one, up to its tokens.
    - `delta`: what every delta has, unless it says otherwise. `thoughts`: the member of messages and deltas that shows
      the model's thoughts; without it nothing does.
    - `opening_step`: the decoding step after which a choice is opened.
    - `dump` makes all JSON; `plain` that of bodies, if these have a layout of their own. `slot` marks the place of a
      text in a value, and is something that no request can hold.
    - `stream_headers`: those of a stream, its content type among them.

    The functions are given the answer that is written (`Rendering`), and the choice that it is about:

    - `around`: the members around the choices, of a body and of every chunk.
    - `counts`: the usage; `closing_around`: what stands beside it; `opening_around`: what stands around the choices in
      the chunk that opens the first one, and in no other.
    - `choice_members`: what a choice of a body has beside its index and its finish reason.
    - `unset`: the members of a part, but for the closing one, that are null if they have no value.
    - `opening`: the members of each part that opens a choice.
    - `segments`: its tokens, in their order.
    - `logprobs`: the log-probabilities of the tokens of a text that are in a range.
    - `groups`: which of a segment's texts share a chunk, given the step of the first; without it each has its own.
    - `call_id`: the id of the call at a place; `whole_calls`: whether a chunk has all calls, with all their arguments.
    - `trailing`: the members of a chunk without choices that comes after the usage; None without one.
    - `closing`: the members of the part that ends a choice, but for its finish reason; None if its last token ends it,
      and none if nothing does. `ending`: further members of the part that ends it.
    - `headers`: of an answer, beside those that every answer of the vendor has; it is also given what is `around`.
    - `padding`: ahead of the last of which bytes chunks are padded, so that their lengths tell nothing of their texts;
      None if they are not.
    """

    around: "Callable[[Rendering], Members]"
    counts: "Callable[[Rendering], Members]"
    choice_members: "Callable[[Rendering, Choice], Members]"
    segments: "Callable[[Rendering, Choice], Sequence[Segment]]"
    opening: "Callable[[Rendering, Choice], Sequence[Members]]" = lambda rendering, choice: ()
    closing: "Callable[[Rendering, Choice], Members | None]" = lambda rendering, choice: {
        **rendering.flavour.unset(rendering),
        "delta": {},
    }
    unset: "Callable[[Rendering], Members]" = lambda rendering: {"logprobs": None, "finish_reason": None}
    closing_around: "Callable[[Rendering], Members]" = lambda rendering: NOTHING
    opening_around: "Callable[[Rendering], Members]" = lambda rendering: NOTHING
    trailing: "Callable[[Rendering], Members | None]" = lambda rendering: None
    call_id: "Callable[[Rendering, Choice, int], str]" = lambda rendering, choice, place: (
        f"call_{alphanumerics(rendering.scope.identity, 24, 'call', choice.index, place)}"
    )
    logprobs: "Callable[[Rendering, Choice, range], Members]" = lambda rendering, choice, at: {
        "logprobs": {"content": chat_logprobs(choice, at.start, at.stop)}
    }
    ending: "Callable[[Rendering, Choice], Members] | None" = None
    groups: "Callable[[Rendering, Choice, Sequence[str], int], Iterable[range]] | None" = None
    headers: "Callable[[Rendering, Members], RawHeaders]" = lambda rendering, around: ()
    kind: str = "chat.completion"
    chunk_kind: str = "chat.completion.chunk"
    body: tuple[str, ...] = ("id", "object", "created", "model", "choices", "usage")
    chunk: tuple[str, ...] = ("id", "object", "created", "model", "choices", "usage")
    choice: tuple[str, ...] = ("index", "message", "logprobs", "finish_reason")
    part: tuple[str, ...] = ("index", "delta", "logprobs", "finish_reason")
    message: tuple[str, ...] | None = None
    whole_calls: bool = False
    usage: Literal["own", "last", "each", "none"] = "own"
    delta: Members = NOTHING
    thoughts: str | None = None
    opening_step: int = OPENING
    dump: Callable[[object], bytes] = orjson.dumps
    slot: Any = SLOT
    plain: Callable[[object], bytes] | None = None
    stream_headers: RawHeaders = ((b"content-type", EVENT_STREAM),)
    padding: "Callable[[Rendering], bytes | None]" = lambda rendering: None


class Rendering(NamedTuple):
    """An answer that is being written: what the model generates, at what pace, for which request, in which flavour."""

    flavour: Flavour
    generation: Generation
    pace: TokenTiming
    scope: RequestScope


# Loaded with the first stream.
_chunks = on_demand(f"{__package__}.streams:chunks")


def write(flavour: Flavour, generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply:
    """The generation as one body, or as a stream of chunks."""
    rendering = Rendering(flavour, generation, pace, scope)
    around = flavour.around(rendering)
    headers = flavour.headers(rendering, around)
    if generation.request.output.stream:
        frames = LazyFrames(partial(_chunks, rendering, around))
        return Reply(200, (*flavour.stream_headers, *headers), frames, streamed=True)
    encoded = (flavour.plain or flavour.dump)(whole_body(rendering, around))
    return body_reply(encoded, generation, headers=headers)


def whole_body(rendering: Rendering, around: Members) -> dict[str, Any]:
    """The members of an answer that is no stream; `around` are those around its choices."""
    flavour, generation, _, _ = rendering
    choices = []
    for choice in generation.choices:
        members: dict[str, Any] = {"index": choice.index, "finish_reason": choice.finish_reason}
        members |= flavour.choice_members(rendering, choice)
        if flavour.message is not None and "message" in members:
            members["message"] = ordered(flavour.message, members["message"])
        choices.append(ordered(flavour.choice, members))
    body = {
        **around,
        **flavour.closing_around(rendering),
        "object": flavour.kind,
        "choices": choices,
        "usage": flavour.counts(rendering),
    }
    return ordered(flavour.body, body)


def call_id(rendering: Rendering, choice: Choice, place: int) -> str:
    """The id of the call at a place: that of a stub, or one of the vendor's."""
    return choice.calls[place].id or rendering.flavour.call_id(rendering, choice, place)


def whole_calls(rendering: Rendering, choice: Choice) -> dict[str, Any]:
    """The calls of a choice as a member of a message; in the older form there is one at most."""
    said = [call_members(choice, place, call.arguments) for place, call in enumerate(choice.calls)]
    if rendering.generation.request.tool_choice.legacy:
        return {"function_call": said[0]}
    return {
        "tool_calls": [
            {"id": call_id(rendering, choice, place), "type": call.kind, call.kind: said[place]}
            for place, call in enumerate(choice.calls)
        ]
    }


# --- members -----------------------------------------------------------------------------------------------------


def ordered(names: Sequence[str], values: Members) -> dict[str, Any]:
    """The values in the order of their names, as far as there are any."""
    return {name: values[name] for name in names if name in values}


def usage_object(usage: Usage) -> dict[str, int]:
    """Token counts in the usual order: prompt, completion, total."""
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
    }


def vllm_usage(usage: Usage) -> dict[str, int]:
    """The same in the order in which vLLM writes them: prompt, total, completion."""
    return {
        "prompt_tokens": usage.prompt_tokens,
        "total_tokens": usage.total_tokens,
        "completion_tokens": usage.completion_tokens,
    }


def call_members(choice: Choice, place: int, text: object) -> dict[str, Any]:
    """What a call says: the name of its tool, and its arguments or its input."""
    call = choice.calls[place]
    return {"name": call.name, "arguments" if call.kind == "function" else "input": text}


# Chats state the log-probabilities of tokens in so many first ranks, and this one for all others.
_RANKS = 20
_UNLIKELY = -9999.0


def legacy_logprobs(
    texts: Sequence[str], positions: Sequence[Position], offset: int, *, with_top: bool = True, with_own: bool = True
) -> dict[str, Any]:
    """Log-probabilities as completions have them: four parallel lists; offsets count characters from `offset`.

    `with_own` adds a token to its alternatives if it is not among them.
    """
    rows: dict[str, Any] = {
        "text_offset": list(accumulate(map(len, texts), initial=offset))[: len(texts)],
        "token_logprobs": [position.logprob for position in positions],
        "tokens": list(texts),
    }
    if with_top:
        rows["top_logprobs"] = [
            {text: logprob for _, text, logprob in position.top} | ({own: position.logprob} if with_own else {})
            for own, position in zip(texts, positions, strict=True)
        ]
    return rows


def chat_logprobs(choice: Choice, start: int = 0, stop: int | None = None) -> list[dict[str, Any]]:
    """Log-probabilities as chats have them: one object per token, with its bytes and its alternatives."""
    kept = slice(start, stop)
    return [
        {**_chat_logprob(token, text, _stated(position)), "top_logprobs": [_chat_logprob(*row) for row in position.top]}
        for token, text, position in zip(choice.ids[kept], choice.texts[kept], choice.positions[kept], strict=True)
    ]


def _stated(position: Position) -> float:
    """The log-probability "if it is within the top 20 most likely tokens. Otherwise, the value -9999.0"."""
    return position.logprob if position.rank < _RANKS else _UNLIKELY


def _chat_logprob(token: int, text: str, logprob: float) -> dict[str, Any]:
    # The token's own bytes may be part of a character; a stop may have cut its text short.
    whole, shown = tokens.token_bytes(token), text.encode()
    return {"token": text, "logprob": logprob, "bytes": list(shown if shown and whole.startswith(shown) else whole)}


# --- items -------------------------------------------------------------------------------------------------------

# A thought is shown in full, summarised or hidden; a refusal takes the place of a text.
Kind = Literal["thought", "summary", "hidden", "text", "refusal", "call", "custom"]
Thoughts = Literal["thought", "summary", "hidden"]

# Why an answer is incomplete, in the words of the Responses API.
_INCOMPLETE: Mapping[FinishReason, str] = {"length": "max_output_tokens", "content_filter": "content_filter"}


class GeneratedItem(NamedTuple):
    """One item of an answer: the texts of its tokens, and the decoding step (`step`) with which it begins.

    `place` is the index of a call among those of the choice, `call_id` the id that a stub gives it, if any. Its name
    takes a decoding step of its own, before those of its arguments.
    """

    kind: Kind
    texts: Sequence[str]
    step: int
    place: int = 0
    name: str = ""
    complete: bool = True
    call_id: str = ""

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(self.texts)

    @property
    def is_call(self) -> bool:
        """Whether it is a tool call."""
        return self.kind in ("call", "custom")

    @property
    def first(self) -> int:
        """The decoding step of the first of its texts."""
        return self.step + self.is_call

    @property
    def last(self) -> int:
        """The decoding step after which it is complete."""
        return max(self.first + len(self.texts) - 1, self.step)

    @property
    def status(self) -> str:
        """Its status once it is done."""
        return "completed" if self.complete else "incomplete"


def incomplete_reason(choice: Choice) -> str | None:
    """Why the answer is incomplete; None if it is complete."""
    return _INCOMPLETE.get(choice.finish_reason)


def generated_items(choice: Choice, thoughts: Thoughts | None) -> list[GeneratedItem]:
    """The items of an answer; `thoughts` says how its thoughts are shown, None if there are none.

    An answer without calls has a text, though it may be empty, unless it is cut short within its thoughts. The last
    item of an incomplete answer is incomplete.
    """
    thought, found = len(choice.thoughts), list[GeneratedItem]()
    if thoughts is not None:
        found.append(GeneratedItem(thoughts, choice.thoughts, 0))
    cut_in_thought = thoughts is not None and choice.finish_reason == "length" and not choice.answer_tokens
    if choice.texts or not (choice.calls or cut_in_thought):
        step = thought if choice.texts else choice.last_step
        found.append(GeneratedItem("refusal" if choice.refusal else "text", choice.texts, step))
    step = thought + len(choice.texts)
    for place, call in enumerate(choice.calls):
        kind: Kind = "call" if call.kind == "function" else "custom"
        found.append(GeneratedItem(kind, call.texts, step, place, call.name, call_id=call.id))
        step += call.steps
    if found and incomplete_reason(choice) is not None:
        found[-1] = found[-1]._replace(complete=False)
    return found

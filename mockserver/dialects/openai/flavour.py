"""Chats and completions as OpenAI writes them, and as those do who speak its wire with differences.

A vendor is a `Flavour`: tables that name the members of its answers in their order, and a function for each piece that
it forms in its own way. `write` makes one body of a generation, or a stream of chunks: for each choice what opens it,
its segments token by token, and what closes it; then the usage, and `[DONE]`.

A chunk costs what its text costs: everything around the text is encoded once per segment.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, Literal, NamedTuple
from zlib import crc32

import orjson

from mockserver.core.dialects import RequestScope
from mockserver.core.generation import Choice, Generation
from mockserver.core.seeding import alphanumerics
from mockserver.core.timeline import (
    OPENING,
    RUN_LENGTH,
    FrameBatch,
    LazyFrames,
    RawHeaders,
    Reply,
    TemplatedFrames,
    TokenTiming,
)
from mockserver.dialects.openai.replies import (
    DONE,
    EVENT_STREAM,
    NOTHING,
    SLOT,
    JsonTexts,
    Members,
    at_step,
    body_reply,
    call_members,
    json_texts,
    ordered,
    weave,
)

# How many chunks are written at a time if each has log-probabilities, which make it large.
_DETAILED_RUN = 8


class Encoding(NamedTuple):
    """How values become JSON. `texts` has the texts of tokens as JSON strings; `slot` marks the place of a text in a
    value, and is something that no request can hold."""

    dump: Callable[[object], bytes] = orjson.dumps
    texts: JsonTexts = json_texts
    slot: Any = SLOT


class Segment(NamedTuple):
    """Tokens of a choice that go to the same place of its message: thoughts, text, the arguments of a call.

    `delta` has the encoding's slot where the text goes, once or more often, or makes the delta of the tokens in a
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
    - `encoding` of all JSON; `plain` writes bodies, if these have a layout of their own.
    - `stream_headers`: those of a stream, its content type among them.

    The functions are given the answer that is written (`Rendering`), and the choice that it is about:

    - `around`: the members around the choices, of a body and of every chunk.
    - `counts`: the usage; `closing_around`: what stands beside it; `opening_around`: what stands around the choices in
      the chunk that opens the first one, and in no other.
    - `choice_members`: what a choice of a body has beside its index and its finish reason.
    - `unset`: the members of a part, but for the closing one, that are null if they have no value.
    - `opening`: the members of each part that opens a choice.
    - `segments`: its tokens, in their order.
    - `groups`: which of a segment's texts share a chunk, given the step of the first; without it each has its own.
    - `call_id`: the id of the call at a place; `whole_calls`: whether a chunk has all calls, with all their arguments.
    - `trailing`: the members of a chunk without choices that comes after the usage; None without one.
    - `closing`: the members of the part that ends a choice, but for its finish reason; None if its last token ends it,
      and none if nothing does.
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
    encoding: Encoding = Encoding()
    plain: Callable[[object], bytes] | None = None
    stream_headers: RawHeaders = ((b"content-type", EVENT_STREAM),)
    padding: "Callable[[Rendering], bytes | None]" = lambda rendering: None


class Rendering(NamedTuple):
    """An answer that is being written: what the model generates, at what pace, for which request, in which flavour."""

    flavour: Flavour
    generation: Generation
    pace: TokenTiming
    scope: RequestScope


def write(flavour: Flavour, generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply:
    """The generation as one body, or as a stream of chunks."""
    rendering = Rendering(flavour, generation, pace, scope)
    around = flavour.around(rendering)
    headers = flavour.headers(rendering, around)
    if generation.request.output.stream:
        frames = LazyFrames(partial(_frames, rendering, around))
        return Reply(200, (*flavour.stream_headers, *headers), frames, streamed=True)
    encoded = (flavour.plain or flavour.encoding.dump)(whole_body(rendering, around))
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


def _frames(rendering: Rendering, around: Members) -> Iterator[FrameBatch]:
    """The stream of all choices, step by step."""
    flavour, generation, _, scope = rendering
    around, unset = {**around, "object": flavour.chunk_kind}, flavour.unset(rendering)
    closing = {**flavour.closing_around(rendering), "usage": flavour.counts(rendering)}
    ends = closing if flavour.usage in ("last", "each") else NOTHING
    place = flavour.padding(rendering)
    pad = None if place is None else _padding(scope.identity, place)
    first_choice, last_choice, begins = generation.choices[0], generation.last_choice, flavour.opening_around(rendering)
    streams = [
        _Stream(
            rendering,
            choice,
            around,
            unset,
            begins if choice is first_choice else NOTHING,
            ends if choice is last_choice else NOTHING,
            pad,
        )
        for choice in generation.choices
    ]
    output = generation.request.output
    yield from weave([stream.frames() for stream in streams], RUN_LENGTH if output.logprobs is None else _DETAILED_RUN)
    last = (closing if flavour.usage == "own" and output.include_usage else None, flavour.trailing(rendering))
    events = [streams[0].event({**around, "choices": [], **each}) for each in last if each is not None]
    yield at_step(generation.last_step, (*events, DONE))


class _Stream(NamedTuple):
    """The chunks of one choice: `around` is what stands around it in each of them, `begins` and `ends` in the first and
    in the last."""

    rendering: Rendering
    choice: Choice
    around: Members
    unset: Members
    begins: Members
    ends: Members
    pad: Callable[[bytes], bytes] | None

    def frames(self) -> Iterator[FrameBatch]:
        """What opens the choice, its segments, and what closes it, unless its last token does."""
        rendering, choice = self.rendering, self.choice
        flavour = rendering.flavour
        opening, closing = flavour.opening(rendering, choice), flavour.closing(rendering, choice)
        ending, begins, step = {"finish_reason": choice.finish_reason}, self.begins, 0
        if opening:
            first = self.part(opening[0], around=begins)
            yield at_step(flavour.opening_step, [first, *map(self.part, opening[1:])])
            begins = NOTHING
        segments = [each for each in flavour.segments(rendering, choice) if each.texts or each.head is not None]
        if closing is None and not segments:
            closing = {**self.unset, "delta": {}}
        for segment in segments:
            is_last = closing is None and segment is segments[-1]
            yield from self.segment(segment, step, begins, ending if is_last else NOTHING)
            step, begins = step + segment.steps, NOTHING
        if closing:
            yield at_step(choice.last_step, (self.event({**self.chunk({**closing, **ending}), **self.ends}),))

    def segment(self, segment: Segment, step: int, begins: Members, ending: Members) -> Iterator[FrameBatch]:
        """Its head, and a chunk for each text or group of texts: the first with what stands around the beginning, the
        last with the members of the `ending`."""
        delta, texts, head, head_tokens, first, beside = segment
        if head is not None:
            members, ends = {"delta": {**first, **head}}, bool(ending) and not texts
            if ends:
                members |= ending
            step, first = step + head_tokens, NOTHING
            data = self.part(members, step, {**begins, **self.ends} if ends else begins)
            yield FrameBatch((data,), (step - 1,), (head_tokens,))
            begins = NOTHING
        if not texts:
            return
        flavour, size = self.rendering.flavour, len(texts)
        written, slot = flavour.encoding.texts, flavour.encoding.slot
        parts = [] if callable(delta) else self.template(delta)
        is_plain = beside is None and not callable(delta) and flavour.usage != "each"

        def chunk(group: range) -> bytes:
            is_first, ends = bool(first or begins) and group.start == 0, bool(ending) and group.stop == size
            text = "".join(texts[group.start : group.stop])
            if is_plain and not (is_first or ends):
                return self.sealed(written[text].join(parts))
            members = delta(group) if callable(delta) else _filled(delta, slot, text)
            said: dict[str, Any] = {"delta": {**first, **members} if is_first else members}
            said |= {**(beside(group) if beside else NOTHING), **(ending if ends else NOTHING)}
            around = {**(begins if is_first else NOTHING), **(self.ends if ends else NOTHING)}
            return self.part(said, step + group.stop, around)

        if flavour.groups is not None:
            groups = iter(flavour.groups(self.rendering, self.choice, texts, step))
        elif not is_plain:
            groups = (range(place, place + 1) for place in range(size))
        else:
            start, stop = 1 if first or begins else 0, size - 1 if ending else size
            if start:
                yield FrameBatch((chunk(range(1)),), (step,), (1,))
            if start < stop:
                yield from self.tokens(texts[start:stop], parts, step + start)
            if ending and start <= stop:
                yield FrameBatch((chunk(range(stop, size)),), (step + stop,), (1,))
            return
        # Those with more beside their texts are large, and written one by one.
        most = RUN_LENGTH if beside is None else 1
        while run := tuple(islice(groups, most)):
            yield FrameBatch([*map(chunk, run)], [step + group.stop - 1 for group in run], [*map(len, run)])

    def tokens(self, texts: Sequence[str], parts: Sequence[bytes], step: int) -> Iterator[FrameBatch]:
        """A chunk for each text, which differ in nothing else."""
        before, *between, after = parts
        written = self.rendering.flavour.encoding.texts.__getitem__
        for start in range(0, len(texts), RUN_LENGTH):
            pieces = [*map(written, texts[start : start + RUN_LENGTH])]
            if between:
                pieces = [text + b"".join([each + text for each in between]) for text in pieces]
            data: Sequence[bytes] = TemplatedFrames(before, pieces, after)
            if self.pad is not None:
                data = [*map(self.pad, data)]
            yield FrameBatch(data, range(step + start, step + start + len(pieces)), (1,) * len(pieces))

    def part(self, members: Members, steps: int = 0, around: Members = NOTHING) -> bytes:
        """The chunk with a part of the choice, after so many decoding steps, and what else stands around it."""
        chunk = self.chunk({**self.unset, **members})
        if self.rendering.flavour.usage == "each":
            chunk["usage"] = self.counted(steps)
        return self.event({**chunk, **around})

    def counted(self, steps: int) -> Members:
        """The usage after so many decoding steps."""
        rendering = self.rendering
        generation = rendering.generation
        left = sum(max(choice.steps - steps, 0) for choice in generation.choices)
        usage = generation.usage._replace(completion_tokens=generation.usage.completion_tokens - left)
        if usage.unseen is not None:
            thoughts = sum(max(len(choice.thoughts) - steps, 0) for choice in generation.choices)
            usage = usage._replace(unseen=usage.unseen._replace(reasoning=usage.unseen.reasoning - thoughts))
        return rendering.flavour.counts(rendering._replace(generation=generation._replace(usage=usage)))

    def template(self, delta: Members) -> list[bytes]:
        """The event of the chunk with this delta, split where the slot is."""
        encoding = self.rendering.flavour.encoding
        value = ordered(self.rendering.flavour.chunk, self.chunk({**self.unset, "delta": delta}))
        return (b"data: " + encoding.dump(value) + b"\n\n").split(encoding.dump(encoding.slot))

    def chunk(self, members: Members) -> dict[str, Any]:
        """The chunk around a part; where parts have no `delta`, its members are their own."""
        flavour = self.rendering.flavour
        names, shown = flavour.part, flavour.message
        if "delta" not in names:
            members = {**members, **members.get("delta", NOTHING)}
        else:
            delta = {**flavour.delta, **members["delta"]}
            members = {**members, "delta": delta if shown is None else ordered(shown, delta)}
        return {**self.around, "choices": [ordered(names, {**members, "index": self.choice.index})]}

    def event(self, chunk: Members) -> bytes:
        """A chunk as an event."""
        flavour = self.rendering.flavour
        return self.sealed(b"data: " + flavour.encoding.dump(ordered(flavour.chunk, chunk)) + b"\n\n")

    def sealed(self, event: bytes) -> bytes:
        """The event, with the padding that hides its length if the vendor pads."""
        return event if self.pad is None else self.pad(event)


def _filled(value: Any, slot: object, text: str) -> Any:
    """The value with the text in the place of the slot."""
    if value is slot:
        return text
    if isinstance(value, Mapping):
        return {name: _filled(each, slot, text) for name, each in value.items()}
    return [_filled(each, slot, text) for each in value] if isinstance(value, list) else value


def _padding(identity: int, place: bytes) -> Callable[[bytes], bytes]:
    """Adds `obfuscation` to an event, so much that its JSON has a multiple of 16 characters and one (recorded)."""
    letters = alphanumerics(identity, 512, "obfuscation").encode()

    def padded(event: bytes) -> bytes:
        body = event[6:-3]
        start = crc32(body) % 496
        count = -(len(body.decode()) + len(',"obfuscation":""}') - 1) % 16
        before, found, after = event.rpartition(place)
        return b'%b,"obfuscation":"%b"%b%b' % (before, letters[start : start + count], found, after)

    return padded

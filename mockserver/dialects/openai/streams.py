"""Streams of chunks: for each choice what opens it, its segments token by token, and what closes it; then the usage,
and `[DONE]`; and what other streams of server-sent events are made of.

A chunk costs what its text costs: everything around the text is encoded once per segment.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from heapq import merge
from itertools import accumulate, islice
from operator import itemgetter
from typing import Any, NamedTuple
from zlib import crc32

import orjson

from mockserver.core.generation import Choice
from mockserver.core.http import RUN_LENGTH, FrameBatch, TemplatedFrames
from mockserver.core.seeding import Draws, alphanumerics, derive
from mockserver.dialects.openai.replies import (
    NOTHING,
    SLOT,
    Members,
    Rendering,
    Segment,
    call_id,
    call_members,
    event,
    legacy_logprobs,
    ordered,
)

DONE = b"data: [DONE]\n\n"
# How many chunks are written at a time if each has log-probabilities, which make it large.
_DETAILED_RUN = 8


def chunks(rendering: Rendering, around: Members) -> Iterator[FrameBatch]:
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
        ending: dict[str, Any] = {"finish_reason": choice.finish_reason}
        if flavour.ending is not None:
            ending |= flavour.ending(rendering, choice)
        begins, step = self.begins, 0
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
        written, slot = _texts_by(flavour.dump), flavour.slot
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
        written = _texts_by(self.rendering.flavour.dump).__getitem__
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
        flavour = self.rendering.flavour
        value = ordered(flavour.chunk, self.chunk({**self.unset, "delta": delta}))
        return (b"data: " + flavour.dump(value) + b"\n\n").split(flavour.dump(flavour.slot))

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
        return self.sealed(b"data: " + flavour.dump(ordered(flavour.chunk, chunk)) + b"\n\n")

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


# --- segments ----------------------------------------------------------------------------------------------------


def scores(rendering: Rendering, choice: Choice) -> Callable[[range], Members] | None:
    """What states the log-probabilities of tokens of a text beside them; None if they are not asked for."""
    asked = rendering.generation.request.output.logprobs is not None
    return partial(rendering.flavour.logprobs, rendering, choice) if asked else None


def legacy_scores(
    rendering: Rendering, choice: Choice, offset: int, **shown: bool
) -> Callable[[range], Members] | None:
    """The same of completions, whose texts begin at an `offset` in characters; `shown` is as of `legacy_logprobs`."""
    if rendering.generation.request.output.logprobs is None:
        return None
    texts, positions, offsets = choice.texts, choice.positions, [*accumulate(map(len, choice.texts), initial=offset)]

    def scores(at: range) -> Members:
        kept, start = slice(at.start, at.stop), offsets[at.start]
        return {"logprobs": legacy_logprobs(texts[kept], positions[kept], start, **shown)}

    return scores


def call_segment(rendering: Rendering, choice: Choice, place: int) -> Segment:
    """The call at a place: its name, then its arguments piece by piece."""
    call = choice.calls[place]
    begun = {"index": place, "id": call_id(rendering, choice, place), "type": call.kind}
    said = {"arguments" if call.kind == "function" else "input": rendering.flavour.slot}
    head = {"tool_calls": [{**begun, call.kind: call_members(choice, place, "")}]}
    return Segment({"tool_calls": [{"index": place, call.kind: said}]}, call.texts, head)


# --- what streams are made of ------------------------------------------------------------------------------------

# Longer texts come from stubs, and rarely twice.
_LONGEST_TOKEN = 64


class JsonTexts(dict[str, bytes]):
    """A cache of texts as JSON strings, mostly those of tokens; it is emptied when it is full, since a prompt may hold
    any text."""

    def __init__(self, write: Callable[[str], bytes]) -> None:
        super().__init__()
        self._write = write

    def __missing__(self, text: str) -> bytes:
        if len(text) > _LONGEST_TOKEN:
            return self._write(text)
        if len(self) >= 65_536:
            self.clear()
        written = self[text] = self._write(text)
        return written


json_texts = JsonTexts(orjson.dumps)


@cache
def _texts_by(dump: Callable[[object], bytes]) -> JsonTexts:
    """The texts as that function writes them."""
    return json_texts if dump is orjson.dumps else JsonTexts(dump)


def template(value: Mapping[str, Any], write: Callable[[object], bytes] = event) -> tuple[bytes, bytes]:
    """What comes before and after the text of an event in which SLOT marks its place; `write` makes what is sent of a
    value. ValueError without a SLOT."""
    before, slot, after = write(value).partition(orjson.dumps(SLOT))
    if not slot:
        raise ValueError(f"no SLOT is where the text would go: {value!r:.80}")
    return before, after


def batches(start: int, stop: int, least: int, most: int, key: int) -> Iterator[range]:
    """Which tokens share an event: from `least` to `most` at a time, as `key` decides.

    Fewer tokens are parted in the same places.
    """
    draws = Draws(derive(key, "chunks"))
    while start < stop:
        end = min(start + least + draws.below(most - least + 1), stop)
        yield range(start, end)
        start = end


def at_step(step: int, events: Sequence[bytes]) -> FrameBatch:
    """Events that carry no token, sent after a decoding step. TypeError for one that is in no sequence."""
    if isinstance(events, bytes):
        raise TypeError(f"at_step takes a sequence of events, not {events!r:.80}")
    return FrameBatch(tuple(events), (step,) * len(events), (0,) * len(events))


def weave(choices: Sequence[Iterable[FrameBatch]], most: int = RUN_LENGTH) -> Iterator[FrameBatch]:
    """The frames of several choices as one stream: step by step, and within a step choice by choice.

    Runs have at most `most` frames: fewer than usual if each of them takes long to write.
    """
    if len(choices) == 1:
        yield from choices[0]
        return
    rows = merge(*map(_rows, choices), key=itemgetter(1))
    while batch := list(islice(rows, most)):
        yield FrameBatch(*zip(*batch, strict=True))


def _rows(frames: Iterable[FrameBatch]) -> Iterator[tuple[bytes, int, int]]:
    for run in frames:
        yield from zip(*run, strict=True)

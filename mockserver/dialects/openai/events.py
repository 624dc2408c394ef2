"""Streams of server-sent events: one event per token, alike but for the token's text."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import merge
from itertools import islice
from operator import itemgetter
from typing import Any, NamedTuple

import orjson

from mockserver.core.generation import Choice
from mockserver.core.seeding import Draws, derive
from mockserver.core.timeline import OPENING, RUN_LENGTH, FrameBatch, LazyFrames, RawHeaders, Reply, TemplatedFrames

EVENT_STREAM = b"text/event-stream"
DONE = b"data: [DONE]\n\n"


class Template(NamedTuple):
    """A chunk of a stream, without the one text that changes from token to token: what comes before and after it."""

    before: bytes
    after: bytes


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
# Marks the place of the text in the chunk that a template is made of: a byte that no UTF-8 text has.
_SLOT = b"\xff"
SLOT: Any = orjson.Fragment(_SLOT)


def event(value: object) -> bytes:
    """A server-sent event of one data line."""
    return b"data: " + orjson.dumps(value) + b"\n\n"


def template(value: Mapping[str, Any], write: Callable[[object], bytes] = event) -> Template:
    """The template of an event in which SLOT marks the place of the text; `write` makes what is sent of a value."""
    before, _, after = write(value).partition(_SLOT)
    return Template(before, after)


def stream_reply(frames: LazyFrames[FrameBatch], headers: RawHeaders) -> Reply:
    """A reply of server-sent events; `headers` name the content type."""
    return Reply(200, headers, frames, streamed=True)


def choice_frames(
    choice: Choice, around: Template, first: Sequence[bytes] = (), last: Sequence[bytes] = ()
) -> Iterator[FrameBatch]:
    """One event per token, after the events that open the choice and before those that close it."""
    if first:
        yield at_step(OPENING, first)
    yield from token_frames(choice.texts, around, len(choice.thoughts))
    if last:
        yield at_step(choice.last_step, last)


def token_frames(
    texts: Sequence[str], around: Template, step: int = 0, written: Mapping[str, bytes] = json_texts
) -> Iterator[FrameBatch]:
    """One event per token; the first is sent after the given decoding step, the others after the following ones.

    `written` encodes the texts for the events: as JSON strings, unless the vendor has a way of its own.
    """
    write = written.__getitem__
    for start in range(0, len(texts), RUN_LENGTH):
        pieces = [*map(write, texts[start : start + RUN_LENGTH])]
        data = TemplatedFrames(around.before, pieces, around.after)
        yield FrameBatch(data, range(step + start, step + start + len(pieces)), (1,) * len(pieces))


def batches(start: int, stop: int, least: int, most: int, key: int) -> Iterator[range]:
    """Which tokens share an event: from `least` to `most` at a time, as `key` decides.

    Fewer tokens are parted in the same places.
    """
    draws = Draws(derive(key, "chunks"))
    while start < stop:
        end = min(start + least + draws.below(most - least + 1), stop)
        yield range(start, end)
        start = end


def group_frames(groups: Iterator[range], write: Callable[[range], bytes], step: int = 0) -> Iterator[FrameBatch]:
    """One event per group of tokens, which leaves with the last of them; the first token has a decoding step."""
    while run := tuple(islice(groups, RUN_LENGTH)):
        yield FrameBatch([*map(write, run)], [step + group.stop - 1 for group in run], [*map(len, run)])


def at_step(step: int, events: Sequence[bytes]) -> FrameBatch:
    """Events that carry no token, sent after a decoding step."""
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

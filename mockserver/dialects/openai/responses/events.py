"""Typed, numbered events: those that open an item, its deltas, and those that close it.

A stream is a sequence of stages. Each of them writes its events from a number on, which it gets when the stages before
it have been written; so a stream of any length is written while it is sent.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import orjson

from mockserver.core.timeline import RUN_LENGTH, FrameBatch, TemplatedFrames
from mockserver.dialects.openai.events import SLOT, json_texts
from mockserver.dialects.openai.responses.spoken import Kind, Spoken

# Marks the place of the number in an event that becomes a template, as SLOT marks that of the text.
_NUMBER: Any = orjson.Fragment(b"\xfe")
_MARK = re.compile(rb"([\xfe\xff])")

# Makes the bytes of an event from its type, its number and its other fields.
Write = Callable[[str, Any, Mapping[str, Any]], bytes]
Stage = Callable[[int], Iterator[FrameBatch]]


class Event(NamedTuple):
    """An event without its number: its type, and its other fields (`told`)."""

    type: str
    told: Mapping[str, Any]


class Run(NamedTuple):
    """A run of deltas: the text of each, the decoding step after which it is sent, and the number of its tokens."""

    texts: Sequence[str]
    steps: Sequence[int]
    tokens: Sequence[int]


class Form(NamedTuple):
    """The types of the events of a kind of item.

    `delta` and `done` have its text, in pieces and as a whole; `key` is the field of the whole text. `part` are the
    events that open and close the part of the item which has the text, if it has parts, and `place` is the field with
    the index of that part.
    """

    delta: str
    done: str
    key: str
    part: tuple[str, str] | None = None
    place: str = ""


_CONTENT_PART = ("response.content_part.added", "response.content_part.done")
_SUMMARY_PART = ("response.reasoning_summary_part.added", "response.reasoning_summary_part.done")
FORMS: Mapping[Kind, Form] = {
    "text": Form("response.output_text.delta", "response.output_text.done", "text", _CONTENT_PART, "content_index"),
    "refusal": Form("response.refusal.delta", "response.refusal.done", "refusal", _CONTENT_PART, "content_index"),
    "thought": Form(
        "response.reasoning_text.delta", "response.reasoning_text.done", "text", _CONTENT_PART, "content_index"
    ),
    "summary": Form(
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.done",
        "text",
        _SUMMARY_PART,
        "summary_index",
    ),
    "call": Form("response.function_call_arguments.delta", "response.function_call_arguments.done", "arguments"),
    "custom": Form("response.custom_tool_call_input.delta", "response.custom_tool_call_input.done", "input"),
}


class Manner(NamedTuple):
    """How a vendor streams an item: `write` writes events, `runs` cuts its texts into deltas, `forms` are their types.

    `item` makes the item from its text, None if it has only begun, and its id; `part` the part of the item which has
    the text, open or done (True); `beside` the further fields of a delta with the tokens in a range; `ended` those of
    the event with the whole text. If `detailed`, the further fields of texts and refusals depend on the tokens of each
    delta.
    """

    write: Write
    runs: Callable[[Spoken], Iterator[Run]]
    item: Callable[[Spoken, str | None, str], Mapping[str, Any]]
    part: Callable[[Spoken, str, bool], Mapping[str, Any]]
    beside: Callable[[Spoken, range], Mapping[str, Any]]
    ended: Callable[[Spoken], Mapping[str, Any]]
    detailed: bool = False
    forms: Mapping[Kind, Form] = FORMS


def numbered(stages: Iterable[Stage], first: int = 0) -> Iterator[FrameBatch]:
    """The events of all stages in order, numbered from `first` on."""
    for stage in stages:
        written = 0
        for frames in stage(first):
            written += len(frames.data)
            yield frames
        first += written


def quiet(write: Write, step: int, events: Sequence[Event], tokens: int = 0) -> Stage:
    """Events that are sent together after a decoding step; the first of them counts the tokens, if there are any."""

    def stage(number: int) -> Iterator[FrameBatch]:
        data = [write(event.type, number + place, event.told) for place, event in enumerate(events)]
        yield FrameBatch(data, (step,) * len(data), (tokens, *(0,) * (len(data) - 1)))

    return stage


def deltas(write: Write, event: Event, runs: Iterable[Run]) -> Stage:
    """A copy of the event for each text, with the text in the place of SLOT."""

    def stage(number: int) -> Iterator[FrameBatch]:
        before, mark, between, _, after = _MARK.split(write(event.type, _NUMBER, event.told))
        numbered_first, dumped = mark == b"\xfe", json_texts.__getitem__
        for texts, steps, tokens in runs:
            numbers = range(number, number + len(texts))
            pairs = zip(map(dumped, texts), numbers, strict=True)
            if numbered_first:
                pieces = [b"%d%b%b" % (at, between, text) for text, at in pairs]
            else:
                pieces = [b"%b%b%d" % (text, between, at) for text, at in pairs]
            yield FrameBatch(TemplatedFrames(before, pieces, after), steps, tokens)
            number += len(texts)

    return stage


def detailed_deltas(write: Write, runs: Iterable[Run], told: Callable[[str, range], Event]) -> Stage:
    """An event for each text with further fields on its tokens: `told` makes it from a text and their places."""

    def stage(number: int) -> Iterator[FrameBatch]:
        place = 0
        for run in runs:
            for text, step, tokens in zip(*run, strict=True):
                event = told(text, range(place, place + tokens))
                yield FrameBatch((write(event.type, number, event.told),), (step,), (tokens,))
                number, place = number + 1, place + tokens

    return stage


def by_token(spoken: Spoken) -> Iterator[Run]:
    """One delta per token."""
    texts, step = spoken.texts, spoken.first
    for start in range(0, len(texts), RUN_LENGTH):
        kept = texts[start : start + RUN_LENGTH]
        yield Run(kept, range(step + start, step + start + len(kept)), (1,) * len(kept))


def by_group(spoken: Spoken, groups: Iterable[range]) -> Iterator[Run]:
    """One delta per group of tokens, which is sent after the last of them; empty groups have none."""
    texts, first = spoken.texts, spoken.first
    filled = (group for group in groups if group)
    while batch := list(islice(filled, RUN_LENGTH)):
        joined = ["".join(texts[group.start : group.stop]) for group in batch]
        yield Run(joined, [first + group.stop - 1 for group in batch], [len(group) for group in batch])


def told_stages(spoken: Spoken, index: int, id_: str, manner: Manner) -> Iterator[Stage]:
    """The stages of an item of a stream, with its index and its id: its opening, its deltas, its closing."""
    write, text = manner.write, spoken.text
    added = Event("response.output_item.added", {"output_index": index, "item": manner.item(spoken, None, id_)})
    done = Event("response.output_item.done", {"output_index": index, "item": manner.item(spoken, text, id_)})
    form = manner.forms.get(spoken.kind)
    if form is None:
        yield quiet(write, spoken.last, (added, done))
        return
    where = {"item_id": id_, "output_index": index, **({form.place: 0} if form.place else {})}
    opening, closing = [added], [Event(form.done, {**where, form.key: text, **manner.ended(spoken)})]
    if form.part is not None:
        begun, over = form.part
        opening.append(Event(begun, {**where, "part": manner.part(spoken, "", False)}))
        closing.append(Event(over, {**where, "part": manner.part(spoken, text, True)}))
    yield quiet(write, spoken.step, opening, tokens=int(spoken.is_call))
    yield _item_deltas(spoken, form.delta, where, manner)
    yield quiet(write, spoken.last, (*closing, done))


def _item_deltas(spoken: Spoken, kind: str, where: Mapping[str, Any], manner: Manner) -> Stage:
    def delta_event(text: Any, tokens: range) -> Event:
        return Event(kind, {**where, "delta": text, **manner.beside(spoken, tokens)})

    runs = manner.runs(spoken)
    if manner.detailed and spoken.kind in ("text", "refusal"):
        return detailed_deltas(manner.write, runs, delta_event)
    return deltas(manner.write, delta_event(SLOT, range(0)), runs)

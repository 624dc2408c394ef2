"""What replies are made of: the body or the stream of events that is sent, the members that several vendors have in
theirs, and the items that an answer consists of."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from email.utils import formatdate
from functools import lru_cache
from heapq import merge
from itertools import accumulate, islice
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import orjson

from mockserver.core.generation import Choice, FinishReason, Generation, Position, Usage
from mockserver.core.seeding import Draws, derive
from mockserver.core.timeline import RUN_LENGTH, FrameBatch, LazyFrames, RawHeaders, Reply
from mockserver.model import tokens

JSON = b"application/json"
Members = Mapping[str, Any]
NOTHING: Members = MappingProxyType({})


def date_header(now: float) -> tuple[bytes, bytes]:
    """The `date` header of an instant in Unix seconds."""
    return _date_header(int(now))


@lru_cache(maxsize=8)
def _date_header(second: int) -> tuple[bytes, bytes]:
    return b"date", formatdate(second, usegmt=True).encode()


def header_value(text: str) -> bytes:
    """A text in a header, which cannot have every character that a name of a request's may have."""
    return text.encode("ascii", "replace").translate(None, bytes(range(32)))


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


def call_members(choice: Choice, place: int, text: object) -> dict[str, Any]:
    """What a call says: the name of its tool, and its arguments or its input."""
    call = choice.calls[place]
    return {"name": call.name, "arguments" if call.kind == "function" else "input": text}


# Chats state the log-probabilities of tokens in so many first ranks, and this one for all others.
_RANKS = 20
_UNLIKELY = -9999.0


def legacy_logprobs(
    texts: Sequence[str], positions: Sequence[Position], offset: int, *, with_top: bool = True
) -> dict[str, Any]:
    """Log-probabilities as completions have them: four parallel lists; offsets count characters from `offset`."""
    rows: dict[str, Any] = {
        "text_offset": list(accumulate(map(len, texts), initial=offset))[: len(texts)],
        "token_logprobs": [position.logprob for position in positions],
        "tokens": list(texts),
    }
    if with_top:
        rows["top_logprobs"] = [
            {text: logprob for _, text, logprob in position.top} | {own: position.logprob}
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


# --- streams -----------------------------------------------------------------------------------------------------

EVENT_STREAM = b"text/event-stream"
DONE = b"data: [DONE]\n\n"
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


def template(value: Mapping[str, Any], write: Callable[[object], bytes] = event) -> tuple[bytes, bytes]:
    """What comes before and after the text of an event in which SLOT marks its place; `write` makes what is sent of a
    value. ValueError without a SLOT."""
    before, slot, after = write(value).partition(_SLOT)
    if not slot:
        raise ValueError(f"no SLOT is where the text would go: {value!r:.80}")
    return before, after


def stream_reply(frames: LazyFrames[FrameBatch], headers: RawHeaders) -> Reply:
    """A reply of server-sent events; `headers` name the content type."""
    return Reply(200, headers, frames, streamed=True)


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

"""The chunks of one choice: a few large ones from Yandex' own models, one per token from vLLM (vendor note A4)."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

import orjson

from mockserver.core.generation import Choice
from mockserver.core.timeline import OPENING, RUN_LENGTH, Frames
from mockserver.dialects.openai.calls import call_frames
from mockserver.dialects.openai.events import SLOT, Template, at_step, batches, event, template, token_frames
from mockserver.dialects.openai.logprobs import chat_logprobs
from mockserver.dialects.yandex.calls import CallForm, delta_calls, first_fragment, last_delta, next_fragment

# Makes a chunk from its choices.
Envelope = Callable[[list[Any]], dict[str, Any]]
# The frames of a choice; with True each chunk also carries the log-probabilities of its tokens.
Chunks = Callable[[Choice, Envelope, CallForm, bool], Iterator[Frames]]

# The first word counts no more tokens than this: the first chunk ends there at the latest.
_LONGEST_WORD = 5
# "chunks of ~10-20 tokens"
_SMALLEST, _LARGEST = 10, 20
# How many chunks are written at a time if each has log-probabilities: of up to twenty tokens and their alternatives.
DETAILED_RUN = 8


def large_chunks(choice: Choice, envelope: Envelope, form: CallForm, detailed: bool) -> Iterator[Frames]:
    """Chunks of several tokens: "role together with the first text, finish_reason on the last content chunk"."""
    if choice.texts or not choice.calls:
        make = partial(_large_chunk, choice, envelope, detailed, template(_text_chunk(choice, envelope)))
        groups = token_groups(choice.texts, choice.seed)
        while batch := tuple(islice(groups, 1 if detailed else RUN_LENGTH)):
            # A chunk is sent after the last of its tokens.
            steps = [max(group.stop - 1, 0) for group in batch]
            yield Frames([make(group) for group in batch], steps, [len(group) for group in batch])
    if choice.calls:
        yield _large_calls(choice, envelope, form)


def token_chunks(choice: Choice, envelope: Envelope, form: CallForm, detailed: bool) -> Iterator[Frames]:
    """Chunks as vLLM sends them: "role chunk, one token per chunk, empty delta with finish_reason"."""
    apart = form.backend.role_apart
    if apart or not choice.answer_tokens:
        opening = {"role": "assistant"} if apart else {"role": "assistant", _text_key(choice): ""}
        yield at_step(OPENING, (event(_chunk(choice, envelope, opening)),))
    yield from token_frames(choice.thoughts, template(_chunk(choice, envelope, {"reasoning_content": SLOT})))
    yield from _text_tokens(choice, envelope, 0 if apart else 1, detailed)
    if choice.calls and form.backend.whole_calls:
        role = {} if apart or choice.texts else {"role": "assistant"}
        data = event(_chunk(choice, envelope, {**role, **delta_calls(choice, form)}))
        yield Frames((data,), (choice.last_step,), (sum(call.steps for call in choice.calls),))
    else:
        yield from call_frames(
            choice,
            lambda place, _: event(_chunk(choice, envelope, first_fragment(choice, place, form))),
            lambda place: template(_chunk(choice, envelope, next_fragment(place, form))),
        )
    ending = last_delta(choice, form)
    if ending is not None:
        yield at_step(choice.last_step, (event(_chunk(choice, envelope, ending, finish_reason=choice.finish_reason)),))


def token_groups(texts: Sequence[str], key: int, smallest: int = _SMALLEST, largest: int = _LARGEST) -> Iterator[range]:
    """The tokens of each chunk: the first word alone, then 10 to 20 (or others) at a time, as derived from `key`.

    A text that is cut short is divided at the same places. An empty text is one empty group.
    """
    start = _first_word(texts)
    yield range(start)
    yield from batches(start, len(texts), smallest, largest, key)


def _first_word(texts: Sequence[str]) -> int:
    """The number of tokens of the first word, which ends before the next token that begins with white space."""
    longest = min(len(texts), _LONGEST_WORD)
    return next((count for count in range(1, longest) if texts[count][:1].isspace()), longest)


def _chunk(choice: Choice, envelope: Envelope, delta: dict[str, Any], **more: Any) -> dict[str, Any]:
    return envelope([{"index": choice.index, "delta": delta, **more}])


def _text_chunk(choice: Choice, envelope: Envelope) -> dict[str, Any]:
    return _chunk(choice, envelope, {_text_key(choice): SLOT})


def _text_key(choice: Choice) -> str:
    return "refusal" if choice.refusal else "content"


def _large_chunk(choice: Choice, envelope: Envelope, detailed: bool, around: Template, group: range) -> bytes:
    """One chunk. Only the first and the last have more than a text, unless `detailed` by log-probabilities."""
    text = "".join(choice.texts[group.start : group.stop])
    first, last = group.start == 0, group.stop == len(choice.texts)
    if not (first or last or detailed):
        return around.before + orjson.dumps(text) + around.after
    delta = {"role": "assistant", _text_key(choice): text} if first else {_text_key(choice): text}
    more: dict[str, Any] = {}
    if detailed:
        more["logprobs"] = _logprobs(choice, group)
    if last and not choice.calls:
        more["finish_reason"] = choice.finish_reason
    return event(_chunk(choice, envelope, delta, **more))


def _large_calls(choice: Choice, envelope: Envelope, form: CallForm) -> Frames:
    """All calls at once: "one single chunk: delta {role, tool_calls:[whole call]} and `finish_reason`"."""
    role = {} if choice.texts else {"role": "assistant"}
    delta = {**role, **delta_calls(choice, form)}
    data = event(_chunk(choice, envelope, delta, finish_reason=choice.finish_reason))
    return Frames((data,), (choice.last_step,), (choice.steps - len(choice.texts),))


def _text_tokens(choice: Choice, envelope: Envelope, first: int, detailed: bool) -> Iterator[Frames]:
    """A chunk for each token of the text; the `first` so many of them have the role as well."""
    before, single = len(choice.thoughts), len(choice.texts) if detailed else first
    for place, text in enumerate(choice.texts[:single]):
        role = {"role": "assistant"} if place < first else {}
        more = {"logprobs": _logprobs(choice, range(place, place + 1))} if detailed else {}
        data = event(_chunk(choice, envelope, {**role, _text_key(choice): text}, **more))
        yield Frames((data,), (before + place,), (1,))
    yield from token_frames(choice.texts[single:], template(_text_chunk(choice, envelope)), before + single)


def _logprobs(choice: Choice, group: range) -> dict[str, Any]:
    """The log-probabilities of a chunk's own tokens."""
    # "refusal[] [...] Required field", but only in a stream.
    rows = chat_logprobs(choice, group.start, group.stop)
    return {"content": [], "refusal": rows} if choice.refusal else {"content": rows, "refusal": []}

"""The chunks of one choice: a few large ones from Yandex' own models, one per token from vLLM (vendor note A4)."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

import orjson

from mockserver.core.generation import Choice
from mockserver.core.timeline import OPENING, RUN_LENGTH, Frames
from mockserver.dialects.openai_style.calls import call_frames
from mockserver.dialects.openai_style.events import SLOT, Template, at_step, batches, event, template, token_frames
from mockserver.dialects.openai_style.logprobs import chat_logprobs
from mockserver.dialects.yandex.calls import CallForm, delta_calls, first_fragment, last_delta, next_fragment

# Puts the choices of a chunk into the chunk.
Envelope = Callable[[list[Any]], dict[str, Any]]
# The frames of a choice; with True each chunk also carries the log-probabilities of its tokens.
Chunks = Callable[[Choice, Envelope, CallForm, bool], Iterator[Frames]]

# No word is longer than this many tokens, where the first chunk has to end.
_LONGEST_WORD = 5
# "chunks of ~10-20 tokens"
_SMALLEST, _LARGEST = 10, 20
# With log-probabilities so many chunks are written at a time: one has those of twenty tokens, and of their rivals.
DETAILED_RUN = 8


def large_chunks(choice: Choice, envelope: Envelope, form: CallForm, detailed: bool) -> Iterator[Frames]:
    """Chunks of several tokens: "role together with the first text, finish_reason on the last content chunk"."""
    if choice.texts or not choice.calls:
        make = partial(_large_chunk, choice, envelope, detailed, template(_text_chunk(choice, envelope)))
        groups = token_groups(choice.texts, choice.seed)
        while batch := tuple(islice(groups, 1 if detailed else RUN_LENGTH)):
            # A chunk leaves with the last of its tokens.
            steps = [max(group.stop - 1, 0) for group in batch]
            yield Frames([make(group) for group in batch], steps, [len(group) for group in batch])
    if choice.calls:
        yield _large_calls(choice, envelope, form)


def token_chunks(choice: Choice, envelope: Envelope, form: CallForm, detailed: bool) -> Iterator[Frames]:
    """Chunks as vLLM has them: "role chunk, one token per chunk, empty delta with finish_reason"."""
    apart = form.backend.role_apart
    if apart or not choice.answer_tokens:
        opening = {"role": "assistant"} if apart else {"role": "assistant", _said_in(choice): ""}
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


def token_groups(texts: Sequence[str], key: int) -> Iterator[range]:
    """Which tokens share a chunk: the first word alone, then 10 to 20 at a time, as `key` decides.

    A shorter text is cut in the same places. No text at all is one group of nothing.
    """
    start = _first_word(texts)
    yield range(start)
    yield from batches(start, len(texts), _SMALLEST, _LARGEST, key)


def _first_word(texts: Sequence[str]) -> int:
    """How many tokens the first word has: it ends before the next token that begins with white space."""
    longest = min(len(texts), _LONGEST_WORD)
    return next((count for count in range(1, longest) if texts[count][:1].isspace()), longest)


def _chunk(choice: Choice, envelope: Envelope, delta: dict[str, Any], **more: Any) -> dict[str, Any]:
    return envelope([{"index": choice.index, "delta": delta, **more}])


def _text_chunk(choice: Choice, envelope: Envelope) -> dict[str, Any]:
    return _chunk(choice, envelope, {_said_in(choice): SLOT})


def _said_in(choice: Choice) -> str:
    return "refusal" if choice.refusal else "content"


def _large_chunk(choice: Choice, envelope: Envelope, detailed: bool, around: Template, group: range) -> bytes:
    """One chunk. Only the first and the last have more than a text, unless details are asked for."""
    text = "".join(choice.texts[group.start : group.stop])
    first, last = group.start == 0, group.stop == len(choice.texts)
    if not (first or last or detailed):
        return around.before + orjson.dumps(text) + around.after
    delta = {"role": "assistant", _said_in(choice): text} if first else {_said_in(choice): text}
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
    """A chunk for each token of the text; the `first` of them, if any, tell the role as well."""
    before, single = len(choice.thoughts), len(choice.texts) if detailed else first
    for place, text in enumerate(choice.texts[:single]):
        role = {"role": "assistant"} if place < first else {}
        more = {"logprobs": _logprobs(choice, range(place, place + 1))} if detailed else {}
        data = event(_chunk(choice, envelope, {**role, _said_in(choice): text}, **more))
        yield Frames((data,), (before + place,), (1,))
    yield from token_frames(choice.texts[single:], template(_text_chunk(choice, envelope)), before + single)


def _logprobs(choice: Choice, group: range) -> dict[str, Any]:
    """A token's log-probabilities stand in the chunk that carries the token."""
    # "refusal[] [...] Required field", in a stream alone.
    rows = chat_logprobs(choice, group.start, group.stop)
    return {"content": [], "refusal": rows} if choice.refusal else {"content": rows, "refusal": []}

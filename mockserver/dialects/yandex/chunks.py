"""The chunks of one choice: a few large ones from Yandex' own models, one per token from vLLM (vendor note A4)."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

import orjson

from mockserver.core.generation import Choice
from mockserver.core.seeding import Draws, derive
from mockserver.core.timeline import OPENING, RUN_LENGTH, Frames
from mockserver.dialects.openai_style import SLOT, Template, at_step, chat_logprobs, choice_frames, event, template

# Puts the choices of a chunk into the chunk.
Envelope = Callable[[list[Any]], dict[str, Any]]
# The frames of a choice; with True each chunk also carries the log-probabilities of its tokens.
Chunks = Callable[[Choice, Envelope, bool], Iterator[Frames]]

# No word is longer than this many tokens, where the first chunk has to end.
_LONGEST_WORD = 5
# "chunks of ~10-20 tokens"
_SMALLEST, _LARGEST = 10, 20


def large_chunks(choice: Choice, envelope: Envelope, detailed: bool) -> Iterator[Frames]:
    """Chunks of several tokens: "role together with the first text, finish_reason on the last content chunk"."""
    make = partial(_large_chunk, choice, envelope, detailed, template(_text_chunk(choice, envelope)))
    groups = token_groups(choice.texts, choice.seed)
    while batch := tuple(islice(groups, RUN_LENGTH)):
        # A chunk leaves with the last of its tokens.
        steps = [max(group.stop - 1, 0) for group in batch]
        yield Frames([make(group) for group in batch], steps, [len(group) for group in batch])


def token_chunks(choice: Choice, envelope: Envelope, detailed: bool) -> Iterator[Frames]:
    """Chunks as vLLM has them: "role chunk, one token per chunk, empty delta with finish_reason"."""
    first = event(envelope([{"index": choice.index, "delta": {"role": "assistant"}}]))
    last = event(envelope([{"index": choice.index, "delta": {}, "finish_reason": choice.finish_reason}]))
    if not detailed:
        return choice_frames(choice, template(_text_chunk(choice, envelope)), (first,), (last,))
    return _detailed_tokens(choice, envelope, first, last)


def token_groups(texts: Sequence[str], key: int) -> Iterator[range]:
    """Which tokens share a chunk: the first word alone, then 10 to 20 at a time, as `key` decides.

    A shorter text is cut in the same places. No text at all is one group of nothing.
    """
    start = _first_word(texts)
    yield range(start)
    draws = Draws(derive(key, "chunks"))
    while start < len(texts):
        stop = min(start + _SMALLEST + draws.below(_LARGEST - _SMALLEST + 1), len(texts))
        yield range(start, stop)
        start = stop


def _first_word(texts: Sequence[str]) -> int:
    """How many tokens the first word has: it ends before the next token that begins with white space."""
    longest = min(len(texts), _LONGEST_WORD)
    return next((count for count in range(1, longest) if texts[count][:1].isspace()), longest)


def _text_chunk(choice: Choice, envelope: Envelope) -> dict[str, Any]:
    return envelope([{"index": choice.index, "delta": {"content": SLOT}}])


def _large_chunk(choice: Choice, envelope: Envelope, detailed: bool, around: Template, group: range) -> bytes:
    """One chunk. Only the first and the last have more than a text, unless details are asked for."""
    text = "".join(choice.texts[group.start : group.stop])
    first, last = group.start == 0, group.stop == len(choice.texts)
    if not (first or last or detailed):
        return around.before + orjson.dumps(text) + around.after
    delta = {"role": "assistant", "content": text} if first else {"content": text}
    written: dict[str, Any] = {"index": choice.index, "delta": delta}
    if detailed:
        written["logprobs"] = _logprobs(choice, group)
    if last:
        written["finish_reason"] = choice.finish_reason
    return event(envelope([written]))


def _detailed_tokens(choice: Choice, envelope: Envelope, first: bytes, last: bytes) -> Iterator[Frames]:
    yield at_step(OPENING, (first,))
    for step, text in enumerate(choice.texts):
        rows = _logprobs(choice, range(step, step + 1))
        written = {"index": choice.index, "delta": {"content": text}, "logprobs": rows}
        yield Frames((event(envelope([written])),), (step,), (1,))
    yield at_step(choice.last_step, (last,))


def _logprobs(choice: Choice, group: range) -> dict[str, Any]:
    """A token's log-probabilities stand in the chunk that carries the token."""
    # "refusal[] [...] Required field", in a stream alone; nothing is refused.
    return {"content": chat_logprobs(choice, group.start, group.stop), "refusal": []}

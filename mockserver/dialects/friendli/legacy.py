"""Completions on the page's wire: `token_sampled` events, one `complete` event, and no `[DONE]` (vendor note B3).

The encoding is that of `wires`.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from mockserver.core.generation import Choice, Generation
from mockserver.core.timeline import Frames, Lazy, Reply
from mockserver.dialects.friendli.options import ChatOptions, options_of
from mockserver.dialects.friendli.sampled import Around, sampled_frames
from mockserver.dialects.friendli.wires import PAGE
from mockserver.dialects.openai.bodies import body_reply, usage_object
from mockserver.dialects.openai.events import EVENT_STREAM, at_step, stream_reply, weave

# What stands between the logits of a position and its log-probabilities: the same number everywhere.
_LOG_PARTITION = 18.0


def write_legacy(generation: Generation) -> Reply:
    """The generation as one body, or as an event for each token and one with the whole answer."""
    if generation.request.output.stream:
        return stream_reply(Lazy(partial(_events, generation)), ((b"content-type", EVENT_STREAM),))
    return body_reply(PAGE.write(_answer(generation)), generation)


def _events(generation: Generation) -> Iterator[Frames]:
    yield from weave([sampled_frames(choice, _around(choice), PAGE.texts) for choice in generation.choices])
    # On one line, though the page prints it on many, since its client reads line by line; and without a `token`.
    complete = PAGE.event({"event": "complete", **_answer(generation)})
    yield at_step(generation.last_step, (complete,))


def _around(choice: Choice) -> Around:
    return Around(b'data: {"event": "token_sampled", "index": %d, "text": ' % choice.index, b', "token": ', b"}\n\n")


def _answer(generation: Generation) -> dict[str, Any]:
    options = options_of(generation.request)
    choices = [_choice(choice) | _scores(choice, options) for choice in generation.choices]
    return {"choices": choices, "usage": usage_object(generation.usage)}


def _choice(choice: Choice) -> dict[str, Any]:
    return {"index": choice.index, "seed": choice.seed, "text": choice.text, "tokens": list(choice.ids)}


def _scores(choice: Choice, options: ChatOptions) -> dict[str, list[float]]:
    """One number for each token: the vendor's own evaluation tool sums `choice["logprobs"]` up; logits are a guess."""
    logprobs = [position.logprob for position in choice.positions]
    scores = {}
    if options.logprobs:
        scores["logprobs"] = logprobs
    if options.logits:
        scores["logits"] = [round(logprob + _LOG_PARTITION, 6) for logprob in logprobs]
    return scores

"""Streams of chats (recorded, vendor note A3): role, thoughts, text, tool calls, and a last chunk with the usage."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from mockserver.core.generation import Choice, Generation
from mockserver.core.timeline import OPENING, Frames
from mockserver.dialects.cerebras.logprobs import Stretch, text_rows, thought_rows, thoughts_field
from mockserver.dialects.cerebras.style import Style, next_fragment
from mockserver.dialects.openai.calls import call_frames
from mockserver.dialects.openai.events import (
    DONE,
    SLOT,
    Template,
    at_step,
    batches,
    event,
    group_frames,
    template,
    token_frames,
    weave,
)

# Makes a chunk from its choices.
Envelope = Callable[[list[Any]], dict[str, Any]]

# How many tokens a chunk of today's service has: recorded are 1 to 26, mostly so many.
_SMALLEST, _LARGEST = 4, 8
# How many chunks are written at a time if each has log-probabilities, which make it large.
_DETAILED_RUN = 8


class _ChoiceStream(NamedTuple):
    """A choice of a generation, and how its stream is written."""

    choice: Choice
    generation: Generation
    style: Style
    envelope: Envelope

    @property
    def detailed(self) -> bool:
        return self.generation.request.output.logprobs is not None

    @property
    def joined(self) -> bool:
        """Whether a chunk has several tokens; with log-probabilities it has one."""
        return self.style.joins and not self.detailed

    def chunk(self, delta: dict[str, Any], **more: Any) -> dict[str, Any]:
        """A chunk; the keys of its choice are in alphabetical order."""
        return self.envelope([dict(sorted({"delta": delta, "index": self.choice.index, **more}.items()))])


def chat_frames(generation: Generation, style: Style, envelope: Envelope, closing: dict[str, Any]) -> Iterator[Frames]:
    """The stream of a generation; usage and times are in the chunk that ends its last choice."""
    streams = [_ChoiceStream(choice, generation, style, envelope) for choice in generation.choices]
    last = generation.last_choice
    choices = [_choice_frames(stream, closing if stream.choice is last else {}) for stream in streams]
    yield from weave(choices, _DETAILED_RUN) if streams[0].detailed else weave(choices)
    yield at_step(generation.last_step, (DONE,))


def _choice_frames(stream: _ChoiceStream, closing: dict[str, Any]) -> Iterator[Frames]:
    choice, style = stream.choice, stream.style
    before, behind = style.tags(choice)
    yield at_step(OPENING, _events(stream, {"role": "assistant"}, *([{"content": before}] if before else ())))
    if stream.joined:
        yield from _joined_frames(stream, behind)
    else:
        yield from _thought_frames(stream)
        if behind:
            yield at_step(len(choice.thoughts) - 1, _events(stream, {"content": behind}))
        yield from _token_frames(stream, "content", choice.texts, len(choice.thoughts), "logprobs", text_rows)
    yield from _call_frames(stream)
    ending = stream.chunk({}, finish_reason=choice.finish_reason) | closing
    yield at_step(choice.last_step, (event(ending),))


def _events(stream: _ChoiceStream, *deltas: dict[str, Any]) -> tuple[bytes, ...]:
    return tuple(event(stream.chunk(delta)) for delta in deltas)


def _thought_frames(stream: _ChoiceStream) -> Iterator[Frames]:
    shown, request = stream.style.shown, stream.generation.request
    name = "content" if shown == "raw" else "reasoning"
    return _token_frames(
        stream, name, stream.choice.thoughts, 0, thoughts_field(shown), lambda choice: thought_rows(choice, request)
    )


def _token_frames(
    stream: _ChoiceStream,
    name: str,
    texts: Sequence[str],
    step: int,
    field: str,
    rows_of: Callable[[Choice], Stretch],
) -> Iterator[Frames]:
    """A chunk for each token of one member of the delta, with its log-probabilities if requested."""
    if not texts:
        return
    if not stream.detailed:
        yield from token_frames(texts, template(stream.chunk({name: SLOT})), step)
        return
    rows = rows_of(stream.choice)
    for place, text in enumerate(texts):
        data = event(stream.chunk({name: text}, **{field: {"content": rows(place, place + 1)}}))
        yield Frames((data,), (step + place,), (1,))


def _joined_frames(stream: _ChoiceStream, behind: str) -> Iterator[Frames]:
    """Chunks of several tokens, the first of one; that in which the thoughts end may begin the text as well."""
    choice = stream.choice
    thoughts = [*choice.thoughts[:-1], choice.thoughts[-1] + behind] if behind else choice.thoughts
    texts = [*thoughts, *choice.texts]
    border = 0 if stream.style.shown == "raw" else len(thoughts)
    thought, text = (template(stream.chunk({name: SLOT})) for name in ("reasoning", "content"))

    def write(group: range) -> bytes:
        if group.start < border < group.stop:
            both = {"content": "".join(texts[border : group.stop]), "reasoning": "".join(texts[group.start : border])}
            return event(stream.chunk(both))
        return thought.holding(texts, group) if group.stop <= border else text.holding(texts, group)

    yield from group_frames(chain((range(1),) if texts else (), _batches(stream, 1, len(texts))), write)


def _batches(stream: _ChoiceStream, start: int, stop: int) -> Iterator[range]:
    return batches(start, stop, _SMALLEST, _LARGEST, stream.choice.seed)


def _call_frames(stream: _ChoiceStream) -> Iterator[Frames]:
    """The tool calls: each as a name and then its arguments piece by piece, or all of them in one chunk."""
    choice, style = stream.choice, stream.style
    if choice.calls and style.whole_calls:
        whole = [style.fragment(choice, place, call.arguments) for place, call in enumerate(choice.calls)]
        tokens = sum(call.steps for call in choice.calls)
        yield Frames(_events(stream, {"tool_calls": whole}), (choice.last_step,), (tokens,))
        return
    yield from call_frames(
        choice,
        lambda place, _: event(stream.chunk({"tool_calls": [style.fragment(choice, place, "")]})),
        lambda place: template(stream.chunk({"tool_calls": [next_fragment(place, SLOT)]})),
        partial(_joined_arguments, stream) if stream.joined else token_frames,
    )


def _joined_arguments(stream: _ChoiceStream, texts: Sequence[str], around: Template, step: int) -> Iterator[Frames]:
    return group_frames(_batches(stream, 0, len(texts)), partial(around.holding, texts), step)

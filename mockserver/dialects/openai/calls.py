"""Tool calls in a stream: the name in one event, then the arguments token by token."""

from collections.abc import Callable, Iterator, Sequence

from mockserver.core.generation import Choice, ToolCall
from mockserver.core.timeline import Frames
from mockserver.dialects.openai.events import Template, token_frames


def call_frames(
    choice: Choice,
    begin: Callable[[int, ToolCall], bytes],
    go_on: Callable[[int], Template],
    tell: Callable[[Sequence[str], Template, int], Iterator[Frames]] = token_frames,
) -> Iterator[Frames]:
    """The fragments of all calls of a choice, after its thoughts and its text.

    `begin` writes the event that opens the call at a place of the choice, `go_on` gives the template of the events with
    its arguments, and `tell` makes frames of these from a decoding step on.
    """
    step = len(choice.thoughts) + len(choice.texts)
    for place, call in enumerate(choice.calls):
        yield Frames((begin(place, call),), (step,), (1,))
        yield from tell(call.texts, go_on(place), step + 1)
        step += call.steps

"""The chunks of a chat's only choice: thoughts, text and tool calls, grouped as by each edition (vendor note 6)."""

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, NamedTuple

from mockserver.core.dialects import Site
from mockserver.core.generation import Choice, Generation
from mockserver.core.timeline import Frames
from mockserver.dialects.openai_style.events import SLOT, at_step, event, template
from mockserver.dialects.ovms.envelope import chunk, ending, handshake
from mockserver.dialects.ovms.grouping import GROUPING, Flush, by_delay
from mockserver.dialects.ovms.spoken import call_head, finish_reason, is_parsed, thoughts, words
from mockserver.dialects.ovms.streams import Stretch, stretch_frames

_KIND = "chat.completion.chunk"
# Arguments are held back by one token more than texts, because of their closing bracket.
_CALL_DELAY = 4

# Makes the delta of a piece of text.
_Delta = Callable[[Any], dict[str, Any]]


class _Part(NamedTuple):
    """A part of a choice: the flushes of its texts, their delta, the number of tokens, and the step of the first.

    If it begins with an event of its own (`begun`: the name of a tool), that has a step of its own.
    """

    flushes: Iterator[Flush]
    delta: _Delta
    tokens: int
    step: int = 0
    begun: tuple[dict[str, Any], int] | None = None


def chunks(generation: Generation, site: Site) -> Iterator[Frames]:
    """The whole stream: its chunks, the last with the finish reason; then the usage if requested, and the end."""
    (choice,) = generation.choices
    first, *rest = _parts(choice, generation, site)
    flush = next(first.flushes)
    waits = flush.at > 0 or first.begun is not None or bool(choice.thoughts)
    if site.edition == "observed" and waits and choice.steps > 1:
        hello = {"delta": {"role": "assistant", "content": None}}
        yield at_step(0, (handshake(hello, _KIND, generation, site),))
    parts = (first._replace(flushes=chain((flush,), first.flushes)), *rest)
    for part in parts:
        yield from _frames(part, part is parts[-1], generation, site)


def _frames(part: _Part, last: bool, generation: Generation, site: Site) -> Iterator[Frames]:
    (choice,) = generation.choices

    def write(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        return chunk({"delta": delta}, reason, _KIND, generation, site)

    def close(text: str) -> tuple[bytes, ...]:
        # "empty `{}` if only a finish is left"; the older server's has an empty content.
        delta = part.delta(text) if text or site.edition == "documented" else {}
        return event(write(delta, finish_reason(choice, generation))), *ending(_KIND, generation, site)

    if part.begun is not None:
        delta, step = part.begun
        yield Frames((event(write(delta)),), (step,), (1,))
    stretch = Stretch(part.flushes, template(write(part.delta(SLOT))), part.tokens, part.step)
    yield from stretch_frames(stretch, close if last else None)


def _parts(choice: Choice, generation: Generation, site: Site) -> list[_Part]:
    """The parts in the order of the stream, at least one."""
    if not is_parsed(generation):
        texts = words(choice)
        return [_Part(GROUPING[site.edition](texts), _content, len(texts))]
    thought, spoken = len(choice.thoughts), len(choice.thoughts) + len(choice.texts)
    parts = [_Part(by_delay(thoughts(choice, generation)), _reasoning, thought)] if thought else []
    if choice.texts:
        parts.append(_Part(by_delay(choice.texts), _content, len(choice.texts), thought))
    parts += _call_parts(choice, spoken, site)
    return parts or [_Part(by_delay(()), _content, 0)]


def _call_parts(choice: Choice, step: int, site: Site) -> Iterator[_Part]:
    """A part for each call: "first tool delta" with its name, then its arguments."""
    for place, call in enumerate(choice.calls):
        head = {**call_head(choice, place, site), "index": place, "function": {"name": call.name}}
        count = len(call.texts)
        # The name is sent once the arguments have begun, which those of a call that is cut short may not have.
        begun = {"tool_calls": [head]}, step + min(count, 2)
        flushes = by_delay(call.texts, _CALL_DELAY)
        yield _Part(flushes, _arguments(place), count, step + min(count, 1), begun)
        step += call.steps


def _content(text: Any) -> dict[str, Any]:
    return {"content": text}


def _reasoning(text: Any) -> dict[str, Any]:
    return {"reasoning_content": text}


def _arguments(place: int) -> _Delta:
    return lambda text: {"tool_calls": [{"index": place, "function": {"arguments": text}}]}

"""The chunks of a chat's only choice: thoughts, text and tool calls, grouped as by each edition (vendor note 6)."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

from mockserver.core.dialects import Site
from mockserver.core.generation import Generation
from mockserver.core.timeline import Frames
from mockserver.dialects.openai.events import SLOT, at_step, event, template
from mockserver.dialects.ovms.envelope import chunk, ending, handshake
from mockserver.dialects.ovms.parts import Part, parts_of
from mockserver.dialects.ovms.spoken import call_head, finish_reason
from mockserver.dialects.ovms.streams import Stretch, stretch_frames

_KIND = "chat.completion.chunk"


def chunks(generation: Generation, site: Site) -> Iterator[Frames]:
    """The whole stream: its chunks, the last with the finish reason; then the usage if requested, and the end."""
    (choice,) = generation.choices
    first, *rest = parts_of(choice, generation, site)
    flush = next(first.flushes)
    waits = flush.at > 0 or first.kind == "call" or bool(choice.thoughts)
    if site.edition == "observed" and waits and choice.steps > 1:
        hello = {"delta": {"role": "assistant", "content": None}}
        yield at_step(0, (handshake(hello, _KIND, generation, site),))
    parts = (first._replace(flushes=chain((flush,), first.flushes)), *rest)
    for part in parts:
        yield from _frames(part, part is parts[-1], generation, site)


def _frames(part: Part, last: bool, generation: Generation, site: Site) -> Iterator[Frames]:
    (choice,) = generation.choices

    def write(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        return chunk({"delta": delta}, reason, _KIND, generation, site)

    def close(text: str) -> tuple[bytes, ...]:
        # "empty `{}` if only a finish is left"; the older server's has an empty content.
        delta = _delta(part, text) if text or site.edition == "documented" else {}
        return event(write(delta, finish_reason(choice, generation))), *ending(_KIND, generation, site)

    if part.kind == "call":
        # "first tool delta" with its name, then its arguments.
        name = {"name": choice.calls[part.place].name}
        head = {**call_head(choice, part.place, site), "index": part.place, "function": name}
        yield Frames((event(write({"tool_calls": [head]})),), (part.begun,), (1,))
    stretch = Stretch(part.flushes, template(write(_delta(part, SLOT))), part.tokens, part.step)
    yield from stretch_frames(stretch, close if last else None)


def _delta(part: Part, text: Any) -> dict[str, Any]:
    if part.kind == "call":
        return {"tool_calls": [{"index": part.place, "function": {"arguments": text}}]}
    return {"content" if part.kind == "text" else "reasoning_content": text}

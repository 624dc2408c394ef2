"""The parts of an answer in the order of its stream: thoughts, text and calls, each grouped into flushes."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from mockserver.core.dialects import Site
from mockserver.core.generation import Choice, Generation
from mockserver.dialects.ovms.grouping import GROUPING, Flush, by_delay
from mockserver.dialects.ovms.spoken import is_parsed, thoughts, words

# Arguments are held back by one token more than texts, because of their closing bracket.
_CALL_DELAY = 4


class Part(NamedTuple):
    """A part of a choice: the flushes of its texts, the number of its tokens, and the decoding step of the first.

    A call has its index among the calls in `place`; its name is sent with a decoding step of its own, `begun`.
    """

    kind: Literal["thought", "text", "call"]
    flushes: Iterator[Flush]
    tokens: int
    step: int = 0
    place: int = 0
    begun: int = 0


def parts_of(choice: Choice, generation: Generation, site: Site) -> list[Part]:
    """The parts in the order of the stream, at least one."""
    if not is_parsed(generation):
        texts = words(choice)
        return [Part("text", GROUPING[site.edition](texts), len(texts))]
    thought, spoken = len(choice.thoughts), len(choice.thoughts) + len(choice.texts)
    parts = [Part("thought", by_delay(thoughts(choice, generation)), thought)] if thought else []
    if choice.texts:
        parts.append(Part("text", by_delay(choice.texts), len(choice.texts), thought))
    parts += _calls(choice, spoken)
    return parts or [Part("text", by_delay(()), 0)]


def _calls(choice: Choice, step: int) -> Iterator[Part]:
    for place, call in enumerate(choice.calls):
        count = len(call.texts)
        flushes = by_delay(call.texts, _CALL_DELAY)
        # The name is sent once the arguments have begun, which those of a call that is cut short may not have.
        yield Part("call", flushes, count, step + min(count, 1), place, step + min(count, 2))
        step += call.steps

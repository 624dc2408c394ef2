"""What an answer is made of on its way into a stream: thoughts, words and calls, each held back in groups."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from mockserver.core.dialects import Site
from mockserver.core.generation import Choice, Generation
from mockserver.dialects.ovms.grouping import GROUPING, Flush, by_delay
from mockserver.dialects.ovms.spoken import is_parsed, thoughts, words

# Arguments are held back by one flush more than texts are, for what closes them.
_CALL_DELAY = 4


class Part(NamedTuple):
    """Some of a choice's texts on their way: their flushes, how many tokens they are, and the step of the first.

    A call has a `place`, and its name leaves with a step of its own, at which it has `begun`.
    """

    kind: Literal["thought", "text", "call"]
    flushes: Iterator[Flush]
    tokens: int
    step: int = 0
    place: int = 0
    begun: int = 0


def parts_of(choice: Choice, generation: Generation, site: Site) -> list[Part]:
    """At least one part, in the order of the stream."""
    if not is_parsed(generation):
        said = words(choice)
        return [Part("text", GROUPING[site.edition](said), len(said))]
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
        # The name is out when the arguments have begun; those of a call that is cut short may not have.
        yield Part("call", flushes, count, step + min(count, 1), place, step + min(count, 2))
        step += call.steps

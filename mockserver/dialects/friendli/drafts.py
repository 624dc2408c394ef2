"""Which tokens share an event of a stream: with speculative decoding, a step accepts several tokens that were drafted.

Recorded of GLM-5.3-Flash, in whose streams an event has 1 to 6 tokens, and the first event of an answer has one.
"""

from collections.abc import Iterator, Sequence
from itertools import chain

from mockserver.dialects.openai.events import batches

_MOST = 5


def accepted(texts: Sequence[str], step: int, key: int) -> Iterator[range]:
    """The groups of tokens that share an event, if texts begin with a decoding step; `key` decides how many do."""
    alone = 1 if step == 0 and texts else 0
    return chain((range(1),) if alone else (), batches(alone, len(texts), 1, _MOST, key))


def one_by_one(texts: Sequence[str], step: int, key: int) -> Iterator[range]:
    """The same for the pieces of a prepared answer, which are kept apart."""
    return (range(place, place + 1) for place in range(len(texts)))

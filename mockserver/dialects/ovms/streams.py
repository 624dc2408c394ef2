"""Texts become the events of a stream: one for each flush, with the decoding step after which it is sent."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from operator import sub
from typing import NamedTuple

import orjson

from mockserver.core.timeline import RUN_LENGTH, Frames
from mockserver.dialects.openai.events import Template
from mockserver.dialects.ovms.grouping import Flush

# The last events of a stream, the first of which has the remaining text.
Close = Callable[[str], Sequence[bytes]]


class Stretch(NamedTuple):
    """Texts of one kind: their flushes, the event of each, and how many tokens of the answer they have.

    The first text is sent after the decoding step `step`; a negative one precedes the first step.
    """

    flushes: Iterator[Flush]
    around: Template
    tokens: int
    step: int = 0


def stretch_frames(stretch: Stretch, close: Close | None) -> Iterator[Frames]:
    """One event per flush. With `close` the last one ends the stream; without, it is left out if it is empty."""
    (before, after), step, dumps = stretch.around, stretch.step, orjson.dumps
    ahead, most = max(-step, 0), stretch.tokens
    out = 0
    while run := list(islice(stretch.flushes, RUN_LENGTH)):
        if close is None and run[-1].last and not run[-1].text:
            run.pop()
        data = [before + dumps(text) + after for text, _, _, _ in run]
        steps = [at + step if at + step > 0 else 0 for _, at, _, _ in run]
        totals = [min(total - ahead, most) if total > ahead else 0 for _, _, total, _ in run]
        tokens = [*map(sub, totals, (out, *totals))]
        if close is not None and run[-1].last:
            closing = close(run[-1].text)
            data[-1:] = closing
            steps += [steps[-1]] * (len(closing) - 1)
            tokens += [0] * (len(closing) - 1)
        if run:
            yield Frames(data, steps, tokens)
            out = totals[-1]

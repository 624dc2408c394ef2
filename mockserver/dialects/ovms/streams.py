"""Texts on their way into a stream: an event for each flush, with the decoding step that lets it go."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from operator import sub
from typing import NamedTuple

import orjson

from mockserver.core.timeline import RUN_LENGTH, Frames
from mockserver.dialects.openai_style.events import Template
from mockserver.dialects.ovms.grouping import Flush

# The events that a stream ends with, of which the first has the text that is left.
Close = Callable[[str], Sequence[bytes]]


class Stretch(NamedTuple):
    """Texts of one kind: their flushes, the event around each of them, and how many tokens of the answer they are.

    The first text leaves with the decoding step `step`; below 0 it was there before the first.
    """

    flushes: Iterator[Flush]
    around: Template
    tokens: int
    step: int = 0


def stretch_frames(stretch: Stretch, close: Close | None = None) -> Iterator[Frames]:
    """One event per flush. With `close` it is the stream's last; without, what is left and empty is left out."""
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

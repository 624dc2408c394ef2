"""Grouping of tokens into the events of a stream, as by the server's two text streamers (vendor note 3, "Grouping").

Both hold text back: the older one until a space ends a word, the newer one for three tokens. Both flush everything at a
line end, and wait while a character is incomplete; a token without text is part of a character.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from operator import sub
from typing import NamedTuple

import orjson

from mockserver.core.dialects import Edition
from mockserver.core.timeline import RUN_LENGTH, FrameBatch
from mockserver.dialects.openai.replies import Template

_DELAY = 3
_INCOMPLETE = "\ufffd"


class Flush(NamedTuple):
    """The text of one event. It is sent once token `at` is decoded, and completes the first `out` tokens."""

    text: str
    at: int
    out: int
    last: bool = False


Grouping = Callable[[Sequence[str]], Iterator[Flush]]


def by_words(texts: Sequence[str]) -> Iterator[Flush]:
    """Flushes up to the last space, the last one with all that is left; `texts[k]` is what token k adds.

    Text that the last token releases is part of the last flush.
    """
    held = ""  # words without an end
    fresh = ""  # what no end was looked for in, since it breaks off within a character
    for at, text in enumerate(texts[:-1]):
        ending = text[-1:]
        fresh = fresh + text if fresh else text
        if not ending or ending == _INCOMPLETE:
            continue
        # All can go up to a line end, else "up to and including the last space (only U+0020)".
        cut = len(fresh) if ending == "\n" else fresh.rfind(" ") + 1
        if cut:
            yield Flush(held + fresh[:cut], at, at + (cut == len(fresh)))
            held = fresh[cut:]
        else:
            held += fresh
        fresh = ""
    yield Flush(held + fresh + "".join(texts[-1:]), max(len(texts) - 1, 0), len(texts), last=True)


def by_delay(texts: Sequence[str], delay: int = _DELAY) -> Iterator[Flush]:
    """Flushes with a delay of some tokens, the last one with all that is left."""
    held: list[str] = []
    for at, text in enumerate(texts):
        held.append(text)
        ending = text[-1:]
        if ending == "\n":
            yield Flush("".join(held), at, at + 1)
            held = []
            continue
        ready = len(held) + 1 - delay
        # A slot whose own text was incomplete counts for nothing, and neither does anything before the last is whole.
        if ready > 0 and ending and ending != _INCOMPLETE and not _incomplete(held[ready - 1]):
            text = held[0] if ready == 1 else "".join(held[:ready])
            del held[:ready]
            yield Flush(text, at, at + 1 - len(held))
    yield Flush("".join(held), max(len(texts) - 1, 0), len(texts), last=True)


def _incomplete(text: str) -> bool:
    return not text or text.endswith(_INCOMPLETE)


GROUPING: dict[Edition, Grouping] = {"documented": by_words, "observed": by_delay}

# --- streams ---------------------------------------------------------------------------------------------------------

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


def stretch_frames(stretch: Stretch, close: Close | None) -> Iterator[FrameBatch]:
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
            yield FrameBatch(data, steps, tokens)
            out = totals[-1]

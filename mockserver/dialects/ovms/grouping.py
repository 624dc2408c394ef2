"""Grouping of tokens into the events of a stream, as by the server's two text streamers (vendor note 3, "Grouping").

Both hold text back: the older one until a space ends a word, the newer one for three tokens. Both flush everything at a
line end, and wait while a character is incomplete; a token without text is part of a character.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from mockserver.core.dialects import Edition

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

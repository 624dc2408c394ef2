"""Tokens become the texts of a stream's events, as the server's two text streamers do it (vendor note 3, "Grouping").

Both hold text back: the older one until a space shows that a word is over, the newer one for three tokens. Both let
everything go at a line end, and wait while a character is incomplete; a token that adds no text is a part of one.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from mockserver.core.dialects import Edition

_DELAY = 3
_INCOMPLETE = "\ufffd"


class Flush(NamedTuple):
    """The text of one event. It leaves when token `at` is there; with it, the first `out` tokens are out."""

    text: str
    at: int
    out: int
    last: bool = False


Grouping = Callable[[Sequence[str]], Iterator[Flush]]


def by_words(texts: Sequence[str]) -> Iterator[Flush]:
    """Flushes up to the last space, the last one with all that is left; `texts[k]` is what token k adds.

    What the last token lets go is part of that last one.
    """
    held: list[str] = []  # words without an end
    fresh = ""  # what no end was looked for in, since it breaks off within a character
    for at, text in enumerate(texts[:-1]):
        fresh += text
        cut = 0 if _incomplete(text) else _word_end(fresh)
        if cut:
            yield Flush("".join(held) + fresh[:cut], at, at + (cut == len(fresh)))
            held, fresh = [fresh[cut:]], ""
        elif not _incomplete(text):
            held.append(fresh)
            fresh = ""
    yield Flush("".join(held) + fresh + "".join(texts[-1:]), max(len(texts) - 1, 0), len(texts), last=True)


def _word_end(text: str) -> int:
    """How much of a text can go: all up to a line end, else "up to and including the last space (only U+0020)"."""
    return len(text) if text.endswith("\n") else text.rfind(" ") + 1


def by_delay(texts: Sequence[str]) -> Iterator[Flush]:
    """Flushes of the text up to the token before last, the last one with all that is left."""
    held: list[str] = []
    for at, text in enumerate(texts):
        held.append(text)
        if text.endswith("\n"):
            yield Flush("".join(held), at, at + 1)
            held = []
            continue
        ready = len(held) + 1 - _DELAY
        # A slot whose own text was incomplete counts for nothing, and neither does anything before the last is whole.
        if ready > 0 and not _incomplete(text) and not _incomplete(held[ready - 1]):
            said = "".join(held[:ready])
            del held[:ready]
            yield Flush(said, at, at + 1 - len(held))
    yield Flush("".join(held), max(len(texts) - 1, 0), len(texts), last=True)


def _incomplete(text: str) -> bool:
    return not text or text.endswith(_INCOMPLETE)


GROUPING: dict[Edition, Grouping] = {"documented": by_words, "observed": by_delay}

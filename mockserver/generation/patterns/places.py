"""Places between characters: what precedes and follows one, and which anchors match there."""

from enum import IntEnum

from mockserver.generation.patterns.characters import WORD


class Beside(IntEnum):
    """What precedes or follows a place: an end of the text, or a character."""

    EDGE = 0
    WORD = 1
    OTHER = 2
    NEWLINE = 3


def stands(kind: str, before: Beside, after: Beside) -> bool:
    """Whether an anchor of this kind matches at a place."""
    if kind == "start":
        return before is Beside.EDGE
    if kind == "end":
        return after is Beside.EDGE
    if kind == "line_start":
        return before in (Beside.EDGE, Beside.NEWLINE)
    if kind == "line_end":
        return after in (Beside.EDGE, Beside.NEWLINE)
    border = (before is Beside.WORD) != (after is Beside.WORD)
    if kind == "boundary":
        return border
    # Python and JavaScript do not agree about the empty text.
    return not border and (before, after) != (Beside.EDGE, Beside.EDGE)


def beside(character: str) -> Beside:
    """What a character is to the place beside it; "" is the end of the text."""
    if not character:
        return Beside.EDGE
    if character in WORD:
        return Beside.WORD
    return Beside.NEWLINE if character == "\n" else Beside.OTHER


def bit(before: Beside, after: Beside) -> int:
    """The bit of a place, given by what is before and after it, in a set of places."""
    return 1 << (len(Beside) * before + after)


# The places where each kind of anchor matches, as a set of bits; and all places.
STANDING = {
    kind: sum(bit(before, after) for before in Beside for after in Beside if stands(kind, before, after))
    for kind in ("start", "end", "line_start", "line_end", "boundary", "inside")
}
EVERYWHERE = sum(bit(before, after) for before in Beside for after in Beside)

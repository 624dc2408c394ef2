"""Places between characters: what stands before and after one, and which anchors hold there."""

from enum import IntEnum

from mockserver.generation.patterns.characters import WORD


class Beside(IntEnum):
    """What stands before or after a place: an end of the text, or a character."""

    EDGE = 0
    WORD = 1
    OTHER = 2
    NEWLINE = 3


def stands(kind: str, before: Beside, after: Beside) -> bool:
    """Whether a place is one of that kind."""
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
    # Python and JavaScript do not agree about a text without any character.
    return not border and (before, after) != (Beside.EDGE, Beside.EDGE)


def beside(character: str) -> Beside:
    """What a character is to the place beside it; "" is the end of the text."""
    if not character:
        return Beside.EDGE
    if character in WORD:
        return Beside.WORD
    return Beside.NEWLINE if character == "\n" else Beside.OTHER


def bit(before: Beside, after: Beside) -> int:
    """A place, by what is before and after it, as one bit of a set of places."""
    return 1 << (len(Beside) * before + after)


# The places of each kind, as a set of bits; and all places.
STANDING = {
    kind: sum(bit(before, after) for before in Beside for after in Beside if stands(kind, before, after))
    for kind in ("start", "end", "line_start", "line_end", "boundary", "inside")
}
EVERYWHERE = sum(bit(before, after) for before in Beside for after in Beside)

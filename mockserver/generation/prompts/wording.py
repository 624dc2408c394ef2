"""The words of a prompt, to tell cheaply which patterns it cannot match."""

import re
from collections.abc import Iterable
from typing import NamedTuple

# How many characters of a prompt are read for what it asks, so that one of a megabyte costs no more than a short one.
STRETCH = 1200
# A word of a text as it is written, with the apostrophes and hyphens within.
WORD = re.compile(r"[^\W_]+(?:['\u2019\-][^\W_]+)*")

_PIECE = re.compile(r"[^\W_]+")
# Replaces every ASCII character that is neither a letter nor a digit by a space.
_BLANKS = bytes(code if chr(code).isalnum() else ord(" ") for code in range(128)).ljust(256)


class Wording(NamedTuple):
    """The words of a text in lower case, split at apostrophes and hyphens too.

    `folded` is the whole text, case-folded; empty for a text in ASCII.
    """

    words: frozenset[str]
    folded: str

    def may_have(self, words: Iterable[str], stems: tuple[str, ...] = ()) -> bool:
        """Whether the text has one of the words, or one of the stems (which are not ASCII) anywhere."""
        if not self.words.isdisjoint(words):
            return True
        return bool(self.folded) and any(stem in self.folded for stem in stems)


def stretch_of(text: str) -> str:
    """A text as far as it is read: the beginning and the end of a long one."""
    return text if len(text) <= STRETCH else f"{text[: STRETCH // 2]}\n{text[-STRETCH // 2 :]}"


def wording_of(lowered: str) -> Wording:
    """The words of a text in lower case."""
    if lowered.isascii():
        return Wording(frozenset(lowered.encode().translate(_BLANKS).decode().split()), "")
    # Patterns that ignore case also match letters that are not each other's lower case, such as the Turkish i.
    folded = lowered.casefold().replace("i\u0307", "i").replace("ı", "i")
    words = frozenset(_PIECE.findall(lowered))
    return Wording(words if folded == lowered else words.union(_PIECE.findall(folded)), folded)

"""Sets of characters and of places between them: natural-looking members, and the kinds that a pattern tells apart.

The shorthands (`\\d`, `\\w`, `\\s`) are those of ASCII. Surrogates belong to no set, since UTF-8 cannot encode them.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum
from functools import cache, cached_property, reduce
from itertools import chain, islice
from operator import or_
from string import ascii_lowercase, ascii_uppercase, digits
from typing import NamedTuple

from mockserver.core.caches import cache_short
from mockserver.model.regex.sizes import PatternError

Range = tuple[int, int]

# The most familiar characters beyond ASCII.
_FOREIGN = "éüñçöèàäßøåаеоинтсрвлкмдпабгαβγδελмщ日本語文字一二三ひらがなカタカナ한국어«»—…°©€£"
# The preferred emoji are the faces, and of their components the skin tones.
_FACES = "".join(map(chr, range(0x1F600, 0x1F640)))
_SKINS = "".join(map(chr, range(0x1F3FB, 0x1F400)))
_MOST_EMOJI = 5_000
_PUNCTUATION = "-_.,:;!?'\"()/@#%&+=*<>[]{}|\\^~`$"
_SOME = 64


@dataclass(frozen=True)
class Characters:
    """A set of characters, as ranges of code points (with both ends) in ascending order that do not touch."""

    ranges: tuple[Range, ...]

    def __contains__(self, character: str) -> bool:
        code = ord(character)
        place = bisect_left(self.ranges, (code + 1,))
        return place > 0 and code <= self.ranges[place - 1][1]

    def __or__(self, other: "Characters") -> "Characters":
        return characters(self.ranges + other.ranges)

    def __and__(self, other: "Characters") -> "Characters":
        return ~(~self | ~other)

    def __invert__(self) -> "Characters":
        taken = characters((*self.ranges, _SURROGATES)).ranges
        starts = [0, *(high + 1 for _, high in taken)]
        ends = [*(low - 1 for low, _ in taken), 0x10FFFF]
        return Characters(tuple(pair for pair in zip(starts, ends, strict=True) if pair[0] <= pair[1]))

    @cached_property
    def usual(self) -> str:
        """The members that look natural in a text, of the most usual kind only; empty for an empty set."""
        if all(letter in self for letter in ascii_lowercase):
            return ascii_lowercase
        for emoji in (_FACES, _SKINS):
            if emoji[0] in self and _are_emoji(self):
                return "".join(character for character in emoji if character in self)
        for kind in (digits + ascii_uppercase + ascii_lowercase, " ", _PUNCTUATION, "\n\t\r", _FOREIGN):
            known = "".join(character for character in kind if character in self)
            if known:
                # Of letters in both cases the lower ones look best, as in hexadecimal numbers.
                lower = "".join(character for character in known if not character.isupper())
                return lower if all(character.lower() in lower for character in known) else known
        codes = chain.from_iterable(range(low, high + 1) for low, high in reversed(self.ranges))
        return "".join(map(chr, islice(codes, _SOME)))


def characters(ranges: Iterable[Range]) -> Characters:
    """The union of ranges."""
    merged: list[Range] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return Characters(tuple(merged))


def members(text: str) -> Characters:
    """The set of a text's characters."""
    return characters((ord(character), ord(character)) for character in text)


_SURROGATES = (0xD800, 0xDFFF)
NONE = Characters(())
ANY = ~NONE
DIGITS = members(digits)
WORD = members(ascii_lowercase + ascii_uppercase + digits + "_")
SPACE = members(" \t\n\r\f\v")
LINE = ~members("\n")


def either_case(found: Characters) -> Characters:
    """The set with the other case of its letters; in a large set, only of its first characters."""
    codes = islice(chain.from_iterable(range(low, high + 1) for low, high in found.ranges), 0x600)
    swapped = (chr(code).swapcase() for code in codes)
    return found | members("".join(text for text in swapped if len(text) == 1))


# Where characters with properties are looked for: they are enough to write texts.
_SEARCHED = ((0, 0xD7FF), (0xE000, 0x1FFFF), (0xE0000, 0xE0FFF))


def property_set(name: str) -> Characters | None:
    """The characters of a Unicode category, script or other property (`L`, `Uppercase_Letter`, `Script=Greek`); None
    for unknown names.

    Case in names is ignored, as in Unicode. Most characters beyond the second plane are left out.
    """
    return _property_set(name.lower().replace("_", ""))


@cache_short(256, 80)
def _property_set(name: str) -> Characters | None:
    import regex  # slow to import, and rarely needed

    try:
        sought = regex.compile(rf"\p{{{name}}}+")
    except regex.error:
        return None
    runs = chain.from_iterable(map(sought.finditer, _searched_texts()))
    return characters((ord(run[0][0]), ord(run[0][-1])) for run in runs)


@cache
def _searched_texts() -> tuple[str, ...]:
    return tuple("".join(map(chr, range(low, high + 1))) for low, high in _SEARCHED)


@cache
def _no_emoji() -> Characters:
    """All characters but emoji and their components."""
    emoji = (property_set(name) or NONE for name in ("emoji", "emojicomponent", "extendedpictographic"))
    return ~reduce(or_, emoji)


def _are_emoji(found: Characters) -> bool:
    # Most sets have one of these characters or are larger, which saves making the set of all emoji.
    if any(character in found for character in "A !é") or sum(high - low for low, high in found.ranges) > _MOST_EMOJI:
        return False
    return found & _no_emoji() == NONE


class Beside(IntEnum):
    """What precedes or follows a place: an end of the text, or a character."""

    EDGE = 0
    WORD = 1
    OTHER = 2
    NEWLINE = 3


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


def _places(stands: Callable[[Beside, Beside], bool]) -> int:
    return sum(bit(before, after) for before in Beside for after in Beside if stands(before, after))


_LINE_ENDS = (Beside.EDGE, Beside.NEWLINE)
# The places where each kind of anchor matches, as a set of bits; and all places.
STANDING = {
    "start": _places(lambda before, after: before is Beside.EDGE),
    "end": _places(lambda before, after: after is Beside.EDGE),
    "line_start": _places(lambda before, after: before in _LINE_ENDS),
    "line_end": _places(lambda before, after: after in _LINE_ENDS),
    "boundary": _places(lambda before, after: (before is Beside.WORD) != (after is Beside.WORD)),
    # Python and JavaScript do not agree about the empty text.
    "inside": _places(
        lambda before, after: (before is Beside.WORD) == (after is Beside.WORD) and {before, after} != {Beside.EDGE}
    ),
}
EVERYWHERE = _places(lambda before, after: True)

_MOST_SETS = 400


class Kind(NamedTuple):
    """Characters that the pattern does not distinguish, with what each is `beside` a place, and one as a `sample`.

    The lower the `rank`, the more usual they are in texts.
    """

    found: Characters
    beside: Beside
    rank: int
    sample: str


def kinds_of(sets: set[Characters]) -> tuple[Kind, ...]:
    """The characters of all sets, partitioned so that each set is a union of kinds."""
    if len(sets) > _MOST_SETS:
        raise PatternError(f"more than {_MOST_SETS} different sets of characters are not supported here")
    ordered = sorted(sets, key=lambda found: found.ranges)
    borders = sorted({border for found in ordered for low, high in found.ranges for border in (low, high + 1)})
    marks = [0] * len(borders)
    for number, found in enumerate(ordered):
        for low, high in found.ranges:
            for place in range(bisect_left(borders, low), bisect_left(borders, high + 1)):
                marks[place] |= 1 << number
    ranges: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for place, mark in enumerate(marks):
        if mark:
            ranges[mark].append((borders[place], borders[place + 1] - 1))
    return tuple(_kind(Characters(tuple(found))) for found in ranges.values())


def _kind(found: Characters) -> Kind:
    sample = found.usual[0]
    rank = 0 if sample.isascii() and sample.isalnum() else 1 if sample in " -_.@" else 2 if " " < sample < "\x7f" else 4
    return Kind(found, beside(sample), rank, sample)

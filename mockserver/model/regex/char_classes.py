"""Sets of characters: their members that look natural in a text, and the kinds that a pattern tells apart.

The shorthands (`\\d`, `\\w`, `\\s`) are those of ASCII. Surrogates belong to no set, since UTF-8 cannot encode them.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain, islice
from string import ascii_lowercase, ascii_uppercase, digits

from mockserver.core.caches import cache_short
from mockserver.model.regex.sizes import PatternError

Range = tuple[int, int]

# The most familiar characters beyond ASCII.
_FOREIGN = "éüñçöèàäßøåаеоинтсрвлкмдпабгαβγδελмщ日本語文字一二三ひらがなカタカナ한국어«»—…°©€£"
# The preferred emoji are the faces, and of their components the skin tones.
_EMOJI = ("".join(map(chr, range(0x1F600, 0x1F640))), "".join(map(chr, range(0x1F3FB, 0x1F400))))
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

    @property
    def codes(self) -> Iterable[int]:
        """All members, as code points."""
        return chain.from_iterable(range(low, high + 1) for low, high in self.ranges)

    @cached_property
    def usual(self) -> str:
        """The members that look natural in a text, of the most usual kind only; empty for an empty set."""
        if all(letter in self for letter in ascii_lowercase):
            return ascii_lowercase
        # Digits are emoji too, by Unicode. Most other sets have one of these characters.
        kinds = [] if any(character in self for character in "A !é") else [*_EMOJI]
        for kind in (*kinds, digits + ascii_uppercase + ascii_lowercase, " ", _PUNCTUATION, "\n\t\r", _FOREIGN):
            known = "".join(character for character in kind if character in self)
            if known:
                # Of letters in both cases the lower ones look best, as in hexadecimal numbers.
                lower = "".join(character for character in known if not character.isupper())
                return lower if all(character.lower() in lower for character in known) else known
        return "".join(map(chr, islice(Characters(self.ranges[::-1]).codes, _SOME)))

    @cached_property
    def rank(self) -> int:
        """How unusual the most usual members of a set that is not empty are in texts."""
        sample = self.usual[0]
        if sample.isascii() and sample.isalnum():
            return 0
        return 1 if sample in " -_.@" else 2 if " " < sample < "\x7f" else 4


def characters(ranges: Iterable[Range]) -> Characters:
    """The union of ranges."""
    merged: list[Range] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return Characters(tuple(merged))


@cache_short(128, 1)
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
    swapped = (chr(code).swapcase() for code in islice(found.codes, 0x600))
    return found | members("".join(text for text in swapped if len(text) == 1))


@cache_short(256, 80)
def property_set(text: str) -> Characters:
    """The characters of a Unicode category, script or other property, as a pattern names it: `\\p{L}`, `\\P{sc=Greek}`.

    Case in names is ignored, as in Unicode. Characters beyond the second plane are left out. Raises PatternError for
    unknown names.
    """
    import regex  # slow to import, and rarely needed

    try:
        sought = regex.compile(f"{text}+")
    except regex.error:
        raise PatternError(f"unknown property {text[2:].strip('{^}')}") from None
    found = characters((ord(run[0][0]), ord(run[0][-1])) for run in sought.finditer(_searched()))
    return found & ANY  # a run may span the surrogates


@cache
def _searched() -> str:
    """The characters of the first two planes, which are enough to write texts."""
    return "".join(map(chr, (*range(0xD800), *range(0xE000, 0x20000))))


_MOST_SETS = 400


def kinds_of(sets: set[Characters]) -> Sequence[Characters]:
    """The characters of all sets, partitioned into kinds that no set distinguishes."""
    if len(sets) > _MOST_SETS:
        raise PatternError(f"more than {_MOST_SETS} different sets of characters are not supported here")
    ordered = sorted(sets, key=lambda found: found.ranges)
    borders = sorted({border for found in ordered for low, high in found.ranges for border in (low, high + 1)})
    marks = [0] * len(borders)
    for number, found in enumerate(ordered):
        for low, high in found.ranges:
            for place in range(bisect_left(borders, low), bisect_left(borders, high + 1)):
                marks[place] |= 1 << number
    ranges: dict[int, list[Range]] = defaultdict(list)
    for place, mark in enumerate(marks):
        if mark:
            ranges[mark].append((borders[place], borders[place + 1] - 1))
    return [Characters(tuple(found)) for found in ranges.values()]

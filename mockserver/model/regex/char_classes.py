"""Sets of characters and of places between them: natural-looking members, and the kinds that a pattern tells apart.

The shorthands (`\\d`, `\\w`, `\\s`) are those of ASCII. Surrogates belong to no set, since UTF-8 cannot encode them.
"""

import unicodedata
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from functools import cache, lru_cache
from itertools import chain, islice
from string import ascii_lowercase, ascii_uppercase, digits
from typing import NamedTuple

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


@dataclass(frozen=True, slots=True)
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
        shared: list[Range] = []
        mine, others = 0, 0
        while mine < len(self.ranges) and others < len(other.ranges):
            (low, high), (start, end) = self.ranges[mine], other.ranges[others]
            if max(low, start) <= min(high, end):
                shared.append((max(low, start), min(high, end)))
            mine, others = (mine + 1, others) if high < end else (mine, others + 1)
        return characters(shared)

    def __invert__(self) -> "Characters":
        starts = [0, *(high + 1 for _, high in self.ranges)]
        ends = [*(low - 1 for low, _ in self.ranges), 0x10FFFF]
        gaps = characters(pair for pair in zip(starts, ends, strict=True) if pair[0] <= pair[1])
        return gaps & _ENCODABLE if self.ranges != _ENCODABLE.ranges else NONE


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


_ENCODABLE = Characters(((0, 0xD7FF), (0xE000, 0x10FFFF)))
NONE = Characters(())
ANY = _ENCODABLE
DIGITS = members(digits)
WORD = members(ascii_lowercase + ascii_uppercase + digits + "_")
SPACE = members(" \t\n\r\f\v")
LINE = ~members("\n")


@lru_cache(maxsize=256)
def either_case(found: Characters) -> Characters:
    """The set with the other case of its letters; in a large set, only of its first characters."""
    codes = islice(chain.from_iterable(range(low, high + 1) for low, high in found.ranges), 0x600)
    swapped = (chr(code).swapcase() for code in codes)
    return found | members("".join(text for text in swapped if len(text) == 1))


@lru_cache(maxsize=1024)
def usual(found: Characters) -> str:
    """The members that look natural in a text, of the most usual kind only; empty for an empty set."""
    if all(letter in found for letter in ascii_lowercase):
        return ascii_lowercase
    for emoji in (_FACES, _SKINS):
        if emoji[0] in found and _are_emoji(found):
            return "".join(character for character in emoji if character in found)
    for kind in (digits + ascii_uppercase + ascii_lowercase, " ", _PUNCTUATION, "\n\t\r", _FOREIGN):
        known = "".join(character for character in kind if character in found)
        if known:
            # Of letters in both cases the lower ones look best, as in hexadecimal numbers.
            lower = "".join(character for character in known if not character.isupper())
            return lower if all(character.lower() in lower for character in known) else known
    codes = chain.from_iterable(range(low, high + 1) for low, high in reversed(found.ranges))
    return "".join(map(chr, islice(codes, _SOME)))


_SCRIPTS: dict[str, tuple[Range, ...]] = {
    "latin": ((0x41, 0x5A), (0x61, 0x7A), (0xC0, 0xD6), (0xD8, 0xF6), (0xF8, 0x24F)),
    "greek": ((0x391, 0x3A1), (0x3A3, 0x3E1)),
    "cyrillic": ((0x400, 0x481), (0x48A, 0x52F)),
    "hebrew": ((0x5D0, 0x5EA),),
    "arabic": ((0x620, 0x63F), (0x641, 0x64A)),
    "devanagari": ((0x904, 0x939),),
    "thai": ((0xE01, 0xE30),),
    "hiragana": ((0x3041, 0x3096),),
    "katakana": ((0x30A1, 0x30FA),),
    "han": ((0x4E00, 0x9FFF),),
    "hangul": ((0xAC00, 0xD7A3),),
}
_OTHERS: dict[str, tuple[Range, ...]] = {"any": ANY.ranges, "ascii": ((0, 0x7F),)}
# The properties of emoji, by each of their names, and the ranges in which the characters with them lie.
_EMOJI = {
    name: names.partition("|")[0]
    for names in (
        "emoji", "emojipresentation|epres", "emojimodifier|emod", "emojimodifierbase|ebase", "emojicomponent|ecomp",
        "extendedpictographic|extpict",
    )
    for name in names.split("|")
}  # fmt: skip
_EMOJI_PLANES = ((0, 0xD7FF), (0xE000, 0x1FFFF), (0xE0000, 0xE0FFF))
_CATEGORIES = {
    "letter": "L", "alphabetic": "L", "alpha": "L", "uppercaseletter": "Lu", "uppercase": "Lu",
    "lowercaseletter": "Ll", "lowercase": "Ll", "titlecaseletter": "Lt", "modifierletter": "Lm",
    "otherletter": "Lo", "mark": "M",
    "number": "N", "decimalnumber": "Nd", "digit": "Nd", "letternumber": "Nl", "othernumber": "No",
    "punctuation": "P", "punct": "P", "dashpunctuation": "Pd", "symbol": "S", "mathsymbol": "Sm",
    "currencysymbol": "Sc", "separator": "Z", "spaceseparator": "Zs", "whitespace": "Z", "control": "Cc",
}  # fmt: skip
_CATEGORIES |= {
    short.lower(): short
    for short in (*_CATEGORIES.values(), "C", "Mn", "Mc", "Ps", "Pe", "Pc", "Po", "Pi", "Pf", "Sk", "So")
}


@cache
def property_set(name: str) -> Characters | None:
    """The characters of a Unicode category or script (`L`, `Uppercase_Letter`, `Script=Greek`); None for unknown names.

    Case in names is ignored, as in Unicode. Except for emoji only characters of the first plane are included, which are
    enough to write texts.
    """
    key, _, value = name.lower().replace("_", "").rpartition("=")
    if not key and value in _EMOJI:
        return _of_emoji(_EMOJI[value])
    named = (_OTHERS | _SCRIPTS if not key else _SCRIPTS).get(value.removeprefix("is"))
    if named is not None and key in ("script", "sc", "scriptextensions", "scx", ""):
        return characters(named)
    if key not in ("generalcategory", "gc", "") or value not in _CATEGORIES:
        return None
    return _of_category(_CATEGORIES[value])


@cache
def _of_category(category: str) -> Characters:
    codes = (code for low, high in ((0, 0xD7FF), (0xE000, 0xFFFF)) for code in range(low, high + 1))
    return characters((code, code) for code in codes if unicodedata.category(chr(code)).startswith(category))


@cache
def _of_emoji(name: str) -> Characters:
    """The characters with a property of emoji, which Python's own tables do not have."""
    import regex  # slow to import, and rarely needed

    text = "".join(chr(code) for low, high in _EMOJI_PLANES for code in range(low, high + 1))
    runs = regex.finditer(rf"\p{{{name}}}", text)
    return characters((ord(run[0]), ord(run[0])) for run in runs)


@cache
def _no_emoji() -> Characters:
    """All characters but emoji and their components."""
    return ~(_of_emoji("emoji") | _of_emoji("emojicomponent") | _of_emoji("extendedpictographic"))


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
    sample = usual(found)[0]
    rank = 0 if sample.isascii() and sample.isalnum() else 1 if sample in " -_.@" else 2 if " " < sample < "\x7f" else 4
    return Kind(found, beside(sample), rank, sample)

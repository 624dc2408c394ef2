"""How large a pattern is with its repetitions unfolded: counted in one pass, before anything compiles the pattern.

It is not counted on the tree that `syntax` makes, since validators compile patterns too that cannot be read there.
"""

import re
from typing import NamedTuple

from mockserver.core.caches import Cache

# Longer patterns are refused everywhere.
LONGEST_PATTERN = 20_000
# Counts end here, so that nested repetitions do not make numbers of many digits.
HUGE = 1 << 40

# Each alternative either fails at once or consumes what it has scanned, so that one pass takes linear time.
_PIECE = re.compile(
    r"""
    \(\?\#[^)]*\)?
    | (?P<look> \(\?<?[=!] )
    | (?P<open> \( (?: \?(?: P?<\w+> | [a-zA-Z-]*: | > | (?=\() ) )? )
    | (?P<close> \) )
    | (?P<least> \{[0-9]{0,10} ) (?P<range> , (?P<most> [0-9]{0,10} ) )? [0-9,]* \}
    | (?P<loop> [*+?] )
    | (?P<back> \\[1-9] | \\k | \(\?P= )
    | (?P<category> \\[pP] (?: \{[^{}]*\} )? )
    | (?P<wide> \\[DWS] | \. )
    | (?P<set> \[\^?\]?(?:\\.|[^\]\\])*+\]? )
    | (?P<plain> [\w\ -]+ (?![*+?{]) )
    | \\. | .
    """,
    re.VERBOSE | re.DOTALL,
)
_CASELESS = re.compile(r"\(\?[a-hj-zA-Z]*i")
# The states of what stands for many characters: compilers spell each out in UTF-8, and where case is ignored they look
# at every character of a range.
_WIDE, _CATEGORY, _VAST = 10, 400, 5_000
_CATEGORIES = re.compile(r"\\[pP]")
_VAST_RANGE = re.compile(r"-(?:[^\x00-\x7f]|\\[uUx])|\\[DWSpP]|\[\^")
# What a condition on the text around a place adds, and how much more dearly what it holds is searched for.
_LOOK, _LOOK_FACTOR = 60, 4
# The characters of the class that a shorthand is replaced with, and how many are read again in the time of a state.
_SHORTHAND, _SPELLED_OUT, _REREAD = re.compile(r"\\[dDwWsSc]"), 40, 20


class PatternError(ValueError):
    """A pattern that is malformed, not supported, or without a match that could be found."""


class Size(NamedTuple):
    """The size of a pattern with its repetitions unfolded; each count ends at `HUGE`.

    `states` are those of the automaton that a compiler makes of it, some for each of its `pieces`. `loose` are pieces
    that a search may have to follow at once for each character of a text: those of repetitions without a fixed number,
    and all where a match may begin anywhere.
    """

    states: int
    pieces: int
    loose: int


_NOTHING = Size(0, 0, 0)
_sizes: Cache[str, Size] = Cache(2**20)
# The bytes of a kept size and of its place.
_KEPT = 400


def _measured(pattern: str) -> Size:
    caseless = _CASELESS.search(pattern) is not None
    groups, factors, last = [_NOTHING], [1], _NOTHING
    for piece in _PIECE.finditer(pattern):
        kind = piece.lastgroup
        if kind in ("open", "look"):
            groups.append(Size(1, 1, 0) if kind == "open" else Size(_LOOK, _LOOK, _LOOK))
            factors.append(1 if kind == "open" else _LOOK_FACTOR)
            last = _NOTHING
        elif kind in ("least", "range", "most", "loop"):
            repeated = _repeated(last, piece)
            groups[-1] = _sum(groups[-1], repeated, less=last)
            last = repeated
        elif kind != "close":
            last = _one(piece, caseless=caseless)
            groups[-1] = _sum(groups[-1], last)
        elif len(groups) > 1:
            inner, factor = groups.pop(), factors.pop()
            last = Size(*(min(count * factor, HUGE) for count in inner))
            groups[-1] = _sum(groups[-1], last)
    while len(groups) > 1:
        inner = groups.pop()
        groups[-1] = _sum(groups[-1], inner)
    # A compiler that replaces each shorthand reads the pattern again for each, with the classes that it has put in.
    shorthands = len(_SHORTHAND.findall(pattern))
    reread = shorthands * (len(pattern) + _SPELLED_OUT * shorthands) // _REREAD
    whole = _sum(groups[0], Size(reread, 0, 0))
    return whole if pattern.startswith("^") else whole._replace(loose=whole.pieces)


def size_of(pattern: str) -> Size:
    """The size of a pattern, in time that grows with its length only; huge if it is longer than `LONGEST_PATTERN`."""
    if len(pattern) > LONGEST_PATTERN:
        return Size(HUGE, HUGE, HUGE)
    known = _sizes.find(pattern)
    if known is None:
        known = _measured(pattern)
        _sizes.keep(pattern, known, _KEPT + 4 * len(pattern))
    return known


def _one(piece: re.Match[str], *, caseless: bool) -> Size:
    """The size of a character, a class or a reference."""
    kind, text = piece.lastgroup, piece[0]
    if kind == "back":
        return Size(_LOOK, _LOOK, _LOOK)
    if kind == "category":
        return Size(_VAST if caseless else _CATEGORY, 1, 0)
    if kind == "wide":
        return Size(_WIDE, 1, 0)
    if kind == "plain":
        return Size(len(text), len(text), 0)
    if kind != "set":
        return Size(1, 1, 1 if text == "|" else 0)
    states = 1 + _WIDE * text.startswith("[^") + (len(text) // 16 if text.isascii() else len(text))
    states += _CATEGORY * len(_CATEGORIES.findall(text))
    return Size(states + _VAST * (caseless and _VAST_RANGE.search(text) is not None), 1, 0)


def _repeated(part: Size, piece: re.Match[str]) -> Size:
    if piece["loop"]:
        return Size(part.states + 1, part.pieces + 1, part.pieces + 1)
    least = int(piece["least"][1:] or 0)
    most = max(int(piece["most"] or 0) if piece["range"] else least, least, 1)
    states, pieces = min(part.states * most, HUGE), min(part.pieces * most, HUGE)
    fixed = piece["range"] is None or piece["most"] == piece["least"][1:]
    loose = min(part.loose * most, HUGE) if fixed else pieces
    return Size(states, pieces, loose)


def _sum(total: Size, more: Size, less: Size = _NOTHING) -> Size:
    return Size(*(min(a + b - c, HUGE) for a, b, c in zip(total, more, less, strict=True)))

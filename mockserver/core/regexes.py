"""Regular expressions of users: what they may say, and searches that end.

What may be written is for Python's own `re` to say, which also words what is wrong. But a search of `re` cannot be
stopped, and a pattern such as `(a|aa)+$` would hold the server for ever. So the search is one of the `regex` package,
which gives up in time: all searches for one request have so much time together, however many there are. That package
has a syntax of its own beside Python's, which is escaped, and it writes out what has to come several times, so that the
length of that is bounded.
"""

import re
import threading
from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b

# A search is given up after so many seconds of the processor's time; those for the same request that come after one
# which was given up, after so many.
PATIENCE = 0.1
_REST = 0.002
# No more pieces than this may stand one after the other, once the package has written them out: some 100 MB. A group
# costs it as much time as so many pieces.
_MOST_PIECES = 200_000
_GROUP = 40
# So many texts in which a pattern was searched for too long are known, lest they be searched again.
_REMEMBERED = 256

# None of these may look far ahead in vain: patterns may be long.
_PIECES = r"""
    (?P<comment> \(\?\#[^)]*\)? {verbose} )
    | (?P<open> \( (?: \?(?: P?<\w+> | <?[=!] | [a-zA-Z-]*: | > ) )? )
    | (?P<close> \) )
    | (?P<least> \{{[0-9]+(?=(?:,[0-9]*)?\}}) ) (?:,[0-9]*)? \}}
    | (?P<begin> \[ \^?\]? ) (?P<items> (?: \\. | [^\]\\] )*+ ) (?P<end> \]? )
    | \\N\{{[^}}]*\}}? | \\. | \{{,[0-9]*\}} | (?P<brace> \{{ ) | .
"""
_PIECE = re.compile(_PIECES.format(verbose=""), re.VERBOSE | re.DOTALL)
_PIECE_OF_VERBOSE = re.compile(_PIECES.format(verbose=r"| \#[^\n]* | \s+"), re.VERBOSE | re.DOTALL)
_SET_ITEM = re.compile(r"(\\.|.)(?:-(\\.|.))?", re.DOTALL)
# What may mean more in a set than itself: `re` warns of it, and the package understands some of it.
_SIGNS_OF_SETS = frozenset("[-&~|")
# Flags for the whole stand at its start.
_VERBOSE = re.compile(r"(?:\(\?#[^)]*\)|\(\?[a-wyzA-Z]+\))*+\(\?[a-wyzA-Z]*+x[a-zA-Z]*+\)")


class _Budget(threading.local):
    """What a thread has left for the searches of a request."""

    left = PATIENCE


_budget = _Budget()


def renew_patience() -> None:
    """What this thread searches from now on is for another request."""
    _budget.left = PATIENCE


class RegexError(ValueError):
    """A text that is no regular expression, or one that asks for too much; the text says why."""


class Regex:
    """A regular expression that has been read."""

    __slots__ = ("_given_up", "_search")

    def __init__(self, text: str) -> None:
        import regex  # slow to import, and seldom needed

        try:
            self._search = regex.compile(text, regex.VERSION0, cache_pattern=False).search
        except (regex.error, RecursionError, OverflowError) as error:
            raise RegexError(str(error)) from None
        self._given_up: dict[bytes, float] = {}

    def search(self, text: str) -> bool | None:
        """Whether something is found in a text; None where that took too long to tell."""
        patience = _budget.left
        known = bool(self._given_up) and self._given_up.get(_digest(text), 0.0) >= patience
        if not known:
            try:
                return self._search(text, timeout=patience) is not None
            except (TimeoutError, MemoryError):
                self._give_up(text, patience)
        # Also what was given up for an earlier request counts for this one: its answer does not depend on others.
        _budget.left = _REST
        return None

    def _give_up(self, text: str, patience: float = PATIENCE) -> None:
        if len(self._given_up) >= _REMEMBERED:
            self._given_up.clear()
        self._given_up[_digest(text)] = patience


@lru_cache(maxsize=1024)
def read_regex(text: str) -> Regex:
    """The regular expression that a text is. Raises RegexError."""
    pieces = list((_PIECE_OF_VERBOSE if _VERBOSE.match(text) else _PIECE).finditer(text))
    escaped = "".join(map(_escaped, pieces))
    try:
        re.compile(escaped)
    except (re.error, ValueError, OverflowError, RecursionError) as error:
        raise RegexError(_complaint(text) or str(error)) from None
    # Where the comments of such a part begin and end takes a parser to tell.
    if any(piece.lastgroup == "open" and "x" in piece[0] and piece[0].endswith(":") for piece in pieces):
        raise RegexError("a part of it alone is verbose, by (?x:...): say (?x) at its start")
    if _size(pieces) > _MOST_PIECES:
        most = f"no more than {_MOST_PIECES} characters, or {_MOST_PIECES // _GROUP} groups"
        raise RegexError(f"it asks for too much: {most}, can stand one after the other")
    return Regex(escaped)


def _complaint(text: str) -> str:
    """What `re` says of a text as it was written, where it says anything."""
    try:
        re.compile(text)
    except re.error as error:
        return str(error)
    except (ValueError, OverflowError):
        return "the repetition number is too large"
    except RecursionError:
        return "it is nested too deep"
    except FutureWarning:  # an error in tests
        pass
    return ""


def _size(pieces: Iterable[re.Match[str]]) -> int:
    """How many pieces stand one after the other at least, once everything that has to be repeated is written out."""
    totals, last = [0], 0
    for piece in pieces:
        kind = piece.lastgroup
        if kind == "least":
            times = max(int(piece["least"][1:]), 1)
            totals[-1] += last * (times - 1)
            last *= times
        elif kind == "open":
            totals.append(_GROUP)
        elif kind != "comment":
            last = totals.pop() if kind == "close" and len(totals) > 1 else 1
            totals[-1] += last
    return sum(totals)


def _escaped(piece: re.Match[str]) -> str:
    """A piece in which nothing means more to the package than it means to `re`."""
    if piece.lastgroup == "brace":
        return r"\{"
    if piece.lastgroup == "end":
        return piece["begin"] + _SET_ITEM.sub(_escaped_item, piece["items"]) + piece["end"]
    return piece[0]


def _escaped_item(found: re.Match[str]) -> str:
    """A member of a set, or a range of members."""
    ends = (rf"\{end}" if end in _SIGNS_OF_SETS else end for end in found.groups() if end is not None)
    return "-".join(ends)


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()

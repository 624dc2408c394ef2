"""Regular expressions of users, with searches that are guaranteed to end.

The syntax is that of Python's own `re`, which also words the errors. But a search of `re` cannot be interrupted, and a
pattern such as `(a|aa)+$` would block the server for ever. So the search is left to the `regex` package, which has
timeouts: all searches for one request share a time budget. Syntax that this package has beyond Python's is escaped; and
because it expands repetitions such as `a{1000}`, the expanded length is bounded.
"""

import re
import threading
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from itertools import chain
from re import _parser as parser  # type: ignore[attr-defined, unused-ignore]
from time import thread_time
from typing import Any

from mockserver.core.caches import Cache

# The searches for one request have so many seconds of CPU time together; after one that was given up, so many.
TIME_BUDGET = 0.05
_REST = 0.002
# How many pieces an expanded pattern may have, and the bytes that a pattern and each of its pieces take, roughly.
# Compiling a group takes as long as so many pieces.
_MOST_PIECES = 50_000
_LEAST_MEMORY, _PIECE_MEMORY = 2_000, 500
_GROUP = 40
# How many characters a pattern may have. Nothing interrupts the compiler, which takes some 50 us for each of them.
_LONGEST = 4096
# How many sets with far more than ASCII a pattern may have that ignores case: each is compiled character by character.
_MOST_VAST_SETS = 2
# Literals are looked for only if they take at most some milliseconds: so many characters of a text, for each of them.
_MOST_COMPARED = 10_000_000
# A literal of fewer characters is in too many texts.
_SHORTEST = 2
# For so many texts a pattern remembers that their search was given up, and does not repeat it.
_REMEMBERED = 256

# The pieces of a pattern. No alternative may scan far ahead in vain: patterns may be long.
_PIECES = r"""
    (?P<comment> \(\?\#[^)]*\)? {verbose} )
    | (?P<flags> \(\?[a-zA-Z-]*x[a-zA-Z-]*: )
    | \{{[0-9]+(?:,[0-9]*)?\}}
    | (?P<begin> \[ \^?\]? ) (?P<items> (?: \\. | [^\]\\] )*+ ) (?P<end> \]? )
    | \\N\{{[^}}]*\}}? | \\. | \{{,[0-9]*\}} | (?P<brace> \{{ ) | .
"""
_PIECE = re.compile(_PIECES.format(verbose=""), re.VERBOSE | re.DOTALL)
_PIECE_OF_VERBOSE = re.compile(_PIECES.format(verbose=r"| \#[^\n]* | \s+"), re.VERBOSE | re.DOTALL)
_SET_ITEM = re.compile(r"(\\.|.)(?:-(\\.|.))?", re.DOTALL)
# Characters that may be operators within a set: `re` only warns of them, the `regex` package interprets some.
_SIGNS_OF_SETS = frozenset("[-&~|")
# A range within a set that ends beyond ASCII, perhaps written with digits; flags, among them `i`.
_VAST = re.compile(r"-(?:[^\x00-\x7f]|\\[uUxN0-7])")
_CASELESS = re.compile(r"\(\?[a-hj-zA-Z]*i")
# Global flags, among them `x`, at the start of a pattern.
_VERBOSE = re.compile(r"(?:\(\?#[^)]*\)|\(\?[a-wyzA-Z]+\))*+\(\?[a-wyzA-Z]*+x[a-zA-Z]*+\)")


class _Budget(threading.local):
    """How much time a thread has left for the searches of its request."""

    left = TIME_BUDGET


_budget = _Budget()


def renew_time_budget() -> None:
    """Renew the time budget: from now on this thread searches for another request."""
    _budget.left = TIME_BUDGET


class RegexError(ValueError):
    """A text that is not a regular expression, or one that expands to too much; the message says why."""


class Regex:
    """A compiled regular expression; whatever it matches has one of the `literals`, with `caseless` in any case."""

    __slots__ = ("_caseless", "_given_up", "_literals", "_replace", "_search", "group_names")

    def __init__(self, text: str, literals: Sequence[str] = (), *, caseless: bool = False) -> None:
        import regex  # slow to import, and rarely needed

        try:
            compiled = regex.compile(text, regex.VERSION0, cache_pattern=False)
        except (regex.error, RecursionError, OverflowError) as error:
            raise RegexError(str(error)) from None
        self._search, self._replace = compiled.search, compiled.sub
        self.group_names = tuple(compiled.groupindex)
        self._given_up: dict[bytes, float] = {}
        self._caseless = caseless
        # Beyond ASCII, letters of different cases may not correspond one to one.
        usable = not caseless or all(map(str.isascii, literals))
        self._literals = tuple(each.lower() if caseless else each for each in literals) if usable else ()

    def search(self, text: str) -> bool | None:
        """Whether the expression matches anywhere in a text; None if the search was given up."""
        if self._literals and len(self._literals) * len(text) <= _MOST_COMPARED and not self._has_literal(text):
            return False
        left = _budget.left
        if left <= 0:
            return None
        if not self._given_up or self._given_up.get(_digest(text), 0.0) < left:
            began = thread_time()
            try:
                return self._search(text, timeout=left) is not None
            except (TimeoutError, MemoryError) as error:
                # The timeout is in the time of all threads. Others may have cut this search short, but not the next.
                if isinstance(error, TimeoutError) and thread_time() - began < left / 2:
                    return None
                self._give_up(text, left)
            finally:
                _budget.left -= thread_time() - began
        # Charged even if it was given up for an earlier request: so the answer to this one does not depend on others.
        _budget.left = min(left - _REST, _REST)
        return None

    def groups(self, text: str) -> Mapping[str, str]:
        """What the named groups have found in a text, by their names; nothing if the search was given up."""
        try:
            found = self._search(text, timeout=max(_budget.left, _REST))
        except (TimeoutError, MemoryError):
            return {}
        groups = {} if found is None else found.groupdict()
        return {name: part for name, part in groups.items() if part is not None}

    def replaced(self, text: str, by: str) -> str:
        """A text in which all that the expression finds is replaced; unchanged if the search was given up."""
        left = _budget.left
        if left <= 0:
            return text
        began = thread_time()
        try:
            return str(self._replace(lambda _: by, text, timeout=left))
        except (TimeoutError, MemoryError):
            return text
        finally:
            _budget.left -= thread_time() - began

    def _has_literal(self, text: str) -> bool:
        """Whether a text contains one of the literals; true as well if that is not known."""
        if self._caseless:
            if not text.isascii():
                return True
            text = text.lower()
        # A loop, since this is called for each of a thousand stubs.
        for literal in self._literals:  # noqa: SIM110
            if literal in text:
                return True
        return False

    def _give_up(self, text: str, after: float) -> None:
        if len(self._given_up) >= _REMEMBERED:
            self._given_up.clear()
        self._given_up[_digest(text)] = after


_known: Cache[str, Regex] = Cache(64 * 2**20)


def read_regex(text: str) -> Regex:
    """Compile a regular expression. Raises RegexError."""
    known = _known.find(text)
    if known is not None:
        return known
    if len(text) > _LONGEST:
        raise RegexError(
            f"it has {len(text)} characters, at most {_LONGEST} are possible; split it into several, joined by `any`"
        )
    pieces = list((_PIECE_OF_VERBOSE if _VERBOSE.match(text) else _PIECE).finditer(text))
    vast = sum(_VAST.search(piece["items"]) is not None for piece in pieces if piece.lastgroup == "end")
    if vast > _MOST_VAST_SETS and _CASELESS.search(text):
        raise RegexError(f"it ignores case, so at most {_MOST_VAST_SETS} of its sets may have ranges beyond ASCII")
    escaped = "".join(map(_escaped, pieces))
    try:
        tree = parser.parse(escaped)
        re.compile(escaped)
        size, literals = _size(tree), _literals(tree)
    except (re.error, ValueError, OverflowError, RecursionError) as error:
        raise RegexError(_complaint(text) or str(error)) from None
    # Only a parser could tell where the comments within such a group begin and end.
    if any(piece.lastgroup == "flags" for piece in pieces):
        raise RegexError("only a part of it is verbose, by (?x:...); put (?x) at its start instead")
    if size > _MOST_PIECES:
        most = f"{_MOST_PIECES} characters or {_MOST_PIECES // _GROUP} groups"
        raise RegexError(f"it is too long: at most {most} may follow one another")
    known = Regex(escaped, literals, caseless=bool(tree.state.flags & re.IGNORECASE))
    _known.keep(text, known, _LEAST_MEMORY + _PIECE_MEMORY * size)
    return known


def _complaint(text: str) -> str:
    """The error of `re` for the text as the user wrote it; empty if it has none."""
    try:
        re.compile(text)
    except re.error as error:
        return str(error)
    except (ValueError, OverflowError):
        return "the repetition number is too large"
    except RecursionError:
        return "it is nested too deeply"
    except FutureWarning:  # an error in tests
        pass
    return ""


def _size(tree: Any) -> int:
    """How many pieces a pattern, as Python's parser gives it, has at least once its repetitions are expanded."""
    total = 0
    for kind, value in tree:
        size = sum(map(_size, _inner(value)))
        if str(kind).endswith("_REPEAT"):
            total += max(value[0], 1) * size
        else:
            # Alternatives are no group of their own.
            total += size + (_GROUP if _inner(value) and str(kind) != "BRANCH" else 1)
    return total


def _inner(value: Any) -> list[Any]:
    """The sequences within the value of a part."""
    if isinstance(value, parser.SubPattern):
        return [value]
    return [found for each in value for found in _inner(each)] if isinstance(value, tuple | list) else []


def _literals(tree: Any) -> tuple[str, ...]:
    """Texts of which one is in whatever a pattern matches, the longest that are known; empty if there may be none."""
    found: list[tuple[str, ...]] = []
    run = ""
    for kind, value in [*tree, ("END", None)]:
        if str(kind) == "LITERAL":
            run += chr(value)
            continue
        found.append((run,))
        run = ""
        if str(kind) == "BRANCH":
            options = [*map(_literals, value[1])]
            found.append(tuple(chain.from_iterable(options)) if all(options) else ())
    best = max(found, key=lambda texts: min(map(len, texts), default=0))
    return best if min(map(len, best), default=0) >= _SHORTEST else ()


def _escaped(piece: re.Match[str]) -> str:
    """The piece, with everything escaped that `regex` would read otherwise than `re`."""
    if piece.lastgroup == "brace":
        return r"\{"
    if piece.lastgroup == "end":
        return piece["begin"] + _SET_ITEM.sub(_escaped_item, piece["items"]) + piece["end"]
    return piece[0]


def _escaped_item(found: re.Match[str]) -> str:
    """A character or a range of characters within a set, escaped."""
    ends = (rf"\{end}" if end in _SIGNS_OF_SETS else end for end in found.groups() if end is not None)
    return "-".join(ends)


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()

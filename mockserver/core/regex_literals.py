"""Literals of a regular expression: texts of which every match has at least one.

Whether a text contains them is known sooner than a search for the expression ends.
"""

import re
from collections.abc import Iterable

# Global flags may change what characters mean; they are at the start of a pattern, with or without comments.
_HEAD = re.compile(r"(?:\(\?#[^)]*\)|\(\?[a-zA-Z]+\))*+")
_FLAGS = re.compile(r"\(\?([a-zA-Z]+)\)")
_HARMLESS = frozenset("aimsu")
# Escapes that go on in the pieces after them, such as `\x41`.
_LONG_ESCAPES = tuple("\\" + character for character in "xuU0123456789")
# A literal of fewer characters is in too many texts.
_SHORTEST = 2


def literals_of(text: str, pieces: Iterable[re.Match[str]]) -> tuple[str, ...]:
    """Texts of which one is in whatever a pattern matches, given its text and pieces; empty if there may be none.

    Only what is outside of groups counts: the longest literal of each alternative.
    """
    if not _HARMLESS.issuperset(_flags(text)):
        return ()
    found = [""]
    run, depth = "", 0
    for piece in pieces:
        kind, said = piece.lastgroup, piece[0]
        if said in _LONG_ESCAPES:
            return ()
        if kind in ("open", "close"):
            depth += 1 if kind == "open" else -1
        elif depth == 0 and (character := _character(kind, said)):
            run += character
            continue
        elif depth == 0 and _may_be_absent(kind, said):
            run = run[:-1]
        found[-1] = max(found[-1], run, key=len)
        run = ""
        if depth == 0 and said == "|":
            found.append("")
    found[-1] = max(found[-1], run, key=len)
    return tuple(found) if min(map(len, found)) >= _SHORTEST else ()


def ignores_case(text: str) -> bool:
    """Whether a pattern begins with a flag by which upper and lower case are the same."""
    return "i" in _flags(text)


def _flags(text: str) -> str:
    head = _HEAD.match(text)
    return "".join(_FLAGS.findall(head[0])) if head is not None else ""


def _character(kind: str | None, said: str) -> str:
    """The character that a piece stands for; empty if it stands for anything else."""
    if kind == "brace":
        return said
    if kind is not None or (len(said) == 1 and said in ".^$|*+?"):
        return ""
    if len(said) == 1:
        return said
    return said[1] if len(said) == 2 and said[0] == "\\" and not said[1].isalnum() else ""


def _may_be_absent(kind: str | None, said: str) -> bool:
    """Whether a piece is a quantifier by which what precedes it may be absent."""
    if kind == "least":
        return int(re.match(r"\{(\d+)", said)[1]) == 0  # type: ignore[index]
    return said in ("*", "?") or said.startswith("{,")

"""Patterns in requests: the syntax that the vendor's regular expressions lack."""

import re
from functools import lru_cache

# The pieces of a pattern with a meaning of their own: an escape, a whole class, a lookaround, an anchor.
_PIECE = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*+\]?|\(\?<?[=!]|[\^$]", re.DOTALL)
_UNICODE_ESCAPE = re.compile(r"\\[NpP]")
# "Lookaheads/lookbehinds (e.g., `\a`, `\z`, `^`, `$`, `(?=)`, `(?!)`, `(?<=...)`, `(?<!...)`) are not supported."
_LOOKS = {"^", "$", r"\A", r"\a", r"\Z", r"\z", "(?=", "(?!", "(?<=", "(?<!"}


@lru_cache(maxsize=256)
def fault_of(pattern: str) -> str:
    """Why the vendor refuses a pattern; empty if it accepts it."""
    # Imported with the first pattern: most servers never see one.
    from mockserver.model.regex import PatternError, fault_in, read_pattern

    pieces = _PIECE.findall(pattern)
    if _LOOKS.intersection(pieces):
        return "lookaheads, lookbehinds and anchors are not supported in a regex"
    # "Unicode escape patterns (e.g., `\N`, `\p`, `\P`) are not supported."
    if any(_UNICODE_ESCAPE.search(piece) for piece in pieces):
        return "Unicode escape patterns are not supported in a regex"
    try:
        read_pattern(pattern)
    except PatternError:
        return "schema is not a valid regular expression"
    return "no text that could be generated matches the regex" if fault_in(pattern) else ""

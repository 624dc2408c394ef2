"""Patterns (regular expressions), and texts that match them."""

from mockserver.model.regex.matches import (
    continue_match,
    fault_in,
    find_match,
    tell_match,
    write_match,
)
from mockserver.model.regex.sampling import LONGEST
from mockserver.model.regex.sizes import PatternError
from mockserver.model.regex.syntax import read_pattern

__all__ = [
    "LONGEST",
    "PatternError",
    "continue_match",
    "fault_in",
    "find_match",
    "read_pattern",
    "tell_match",
    "write_match",
]

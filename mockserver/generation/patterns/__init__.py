"""Patterns (regular expressions), and texts that match them."""

from mockserver.generation.patterns.matches import (
    continue_match,
    fault_in,
    find_match,
    tell_match,
    write_match,
)
from mockserver.generation.patterns.sampling import LONGEST
from mockserver.generation.patterns.sizes import PatternError
from mockserver.generation.patterns.syntax import read_pattern

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

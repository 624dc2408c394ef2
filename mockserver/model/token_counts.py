"""Facts about a whole text: its number of tokens, for the usage, and a name for it, from which seeds are derived."""

from functools import lru_cache

from mockserver.core.seeding import fingerprint
from mockserver.model import tokens

# The longest text whose count is remembered with it, and the longest that is its own name, in characters.
_SHORT = 8_192
_LONGEST_NAME = 65_536
_MOST_COUNTS = 1024

# System prompts are repeated in every request; and so are, by fingerprint, the long documents and tools of agents.
_remembered = lru_cache(maxsize=_MOST_COUNTS)(tokens.count)
_counts: dict[str, int] = {}


def token_count(text: str) -> int:
    """The number of tokens of a text. Counting a megabyte takes some forty milliseconds, the first time."""
    if len(text) <= _SHORT:
        return _remembered(text)
    name = fingerprint(_data(text))
    count = _counts.get(name)
    if count is None:
        if len(_counts) >= _MOST_COUNTS:
            _counts.clear()
        count = _counts[name] = tokens.count(text)
    return count


def name_of(text: str) -> str:
    """The name of a text, from which seeds are derived: the text itself, or a fingerprint if it is long."""
    return text if len(text) <= _LONGEST_NAME else fingerprint(_data(text))


def _data(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")

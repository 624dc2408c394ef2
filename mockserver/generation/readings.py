"""Facts about a whole text: its number of tokens, for the usage, and a name for it, from which seeds are derived.

The counts of short texts are cached. Counting a text of a megabyte takes some forty milliseconds, naming it one. A
caller that must not block for so long reads the text ahead in parts (`read_ahead`). Both are cached.
"""

from collections import OrderedDict
from collections.abc import Iterator
from functools import lru_cache
from threading import Lock
from typing import NamedTuple

from mockserver.core.haste import take_time
from mockserver.core.seeding import fingerprint, fingerprinting
from mockserver.generation import tokens

# The maximum length of a short text, and of a text that is its own name, in characters.
_SHORT = 8_192
_LONGEST_NAME = 65_536
# Longer texts that were not read ahead, such as the JSON of a hundred tools, take longer than a loop may be blocked.
_LONGEST_UNREAD = 32_768
# How many characters are counted, or hashed, at a time: a fraction of a millisecond's work.
_COUNTED = 4_096
# Counting a dense text takes this many times as long. Beyond ASCII each character may be a piece of its own; and what
# has no space in so many characters is no prose: its words (identifiers, base64, minified code) are hardly ever cached.
_DENSE = 8
_SPACED = 16
_HASHED = 131_072
# The maximum length of all long texts in the cache together; the latest is always kept.
_MOST_CHARACTERS = 8_000_000
_MOST_COUNTS = 1024


class _Reading(NamedTuple):
    """The facts about a long text."""

    tokens: int
    name: str


class _Readings:
    """A cache of the facts about the latest long texts."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, _Reading] = OrderedDict()
        self._characters = 0
        self._lock = Lock()

    def find(self, text: str) -> _Reading | None:
        with self._lock:
            return self._known.get(text)

    def keep(self, text: str, reading: _Reading) -> None:
        with self._lock:
            if text in self._known:
                return
            self._known[text] = reading
            self._characters += len(text)
            while self._characters > _MOST_CHARACTERS and len(self._known) > 1:
                self._characters -= len(self._known.popitem(last=False)[0])


_readings = _Readings()
# The counts of long texts that were not read ahead, by fingerprint. Agents offer the same tools in each request.
_counts: dict[str, int] = {}


def is_short(text: str) -> bool:
    """Whether reading a text takes only about a millisecond."""
    return len(text) <= _SHORT // _DENSE or (len(text) <= _SHORT and not _is_dense(text))


def _is_dense(text: str) -> bool:
    return not text.isascii() or text.count(" ") * _SPACED < len(text)


def token_count(text: str) -> int:
    """The number of tokens of a text; a very long one takes time if it has not been read ahead."""
    known = None if is_short(text) else _readings.find(text)
    if known is not None:
        return known.tokens
    if len(text) <= _SHORT:
        return _remembered(text)
    name = fingerprint(_data(text))
    count = _counts.get(name)
    if count is None:
        if len(text) > _LONGEST_UNREAD:
            take_time()
        if len(_counts) >= _MOST_COUNTS:
            _counts.clear()
        count = _counts[name] = tokens.count(text)
    return count


def name_of(text: str) -> str:
    """The name of a text, from which seeds are derived: the text itself, or a fingerprint if it is long."""
    if len(text) <= _LONGEST_NAME:
        return text
    known = _readings.find(text)
    return fingerprint(_data(text)) if known is None else known.name


def read_ahead(text: str) -> Iterator[None]:
    """Read a long text in parts, one per iteration; at the end `token_count` and `name_of` have it cached."""
    if _readings.find(text) is not None:
        return
    count = 0
    for counted in tokens.count_slices(text, _COUNTED // _DENSE if _is_dense(text) else _COUNTED):
        count += counted
        yield
    name = fingerprinting()
    for start in range(0, len(text), _HASHED):
        name.update(_data(text[start : start + _HASHED]))
        yield
    _readings.keep(text, _Reading(count, name.hexdigest()))


def _data(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


# System prompts are repeated in every request.
_remembered = lru_cache(maxsize=1024)(tokens.count)

"""What is read of a whole text: how many tokens it has, for those who bill it, and a name to derive from.

Short texts are counted once and remembered. To count a text of a megabyte takes some forty milliseconds, to name it
one. Whoever may not be held up for so long reads it ahead, a stretch at a time; then both are known to whoever asks.
"""

from collections import OrderedDict
from collections.abc import Iterator
from functools import lru_cache
from threading import Lock
from typing import NamedTuple

from mockserver.core.seeding import fingerprint, fingerprinting
from mockserver.generation import tokens

# Texts of so many characters are short, and go by their own name up to so many.
_SHORT = 8_192
_LONGEST_NAME = 65_536
# So many characters are counted, or hashed, at a time: a fraction of a millisecond's work.
_COUNTED = 4_096
# Beyond ASCII there may be a piece for each character: that takes so many times as long.
_DENSE = 8
_HASHED = 131_072
# Long texts of so many characters together are remembered, and always the latest.
_MOST_CHARACTERS = 8_000_000


class _Reading(NamedTuple):
    """What is known of a long text."""

    tokens: int
    name: str


class _Readings:
    """Those of the long texts that came last."""

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


def is_short(text: str) -> bool:
    """Whether a text is read in a fraction of a millisecond."""
    return len(text) <= (_SHORT if text.isascii() else _SHORT // _DENSE)


def token_count(text: str) -> int:
    """How many tokens a text has."""
    known = None if is_short(text) else _readings.find(text)
    if known is not None:
        return known.tokens
    return _remembered(text) if len(text) <= _SHORT else tokens.count(text)


def name_of(text: str) -> str:
    """What stands for a text where one is derived from: itself, unless it is long enough to be read but once."""
    if len(text) <= _LONGEST_NAME:
        return text
    known = _readings.find(text)
    return fingerprint(_data(text)) if known is None else known.name


def read_ahead(text: str) -> Iterator[None]:
    """Read a long text stretch by stretch; when all are done, `token_count` and `name_of` know it."""
    if _readings.find(text) is not None:
        return
    count = 0
    for counted in tokens.count_slices(text, _COUNTED if text.isascii() else _COUNTED // _DENSE):
        count += counted
        yield
    name = fingerprinting()
    for start in range(0, len(text), _HASHED):
        name.update(_data(text[start : start + _HASHED]))
        yield
    _readings.keep(text, _Reading(count, name.hexdigest()))


def _data(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


# System prompts come with every request.
_remembered = lru_cache(maxsize=1024)(tokens.count)

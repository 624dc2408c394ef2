"""How many tokens a text has, for those who bill it: short texts are remembered, long ones may be counted ahead.

To count a text of a megabyte takes some fifty milliseconds. Whoever may not be held up for so long counts it ahead, a
stretch at a time; then it is known to whoever asks.
"""

from collections import OrderedDict
from collections.abc import Iterator
from functools import lru_cache
from threading import Lock

from mockserver.generation import tokens

# Texts of so many characters are short.
SHORT = 8_192
# So many characters are counted at a time: a fraction of a millisecond's work.
_STRETCH = 4_096
# Long texts of so many characters together are remembered, and always the latest.
_MOST_CHARACTERS = 8_000_000


class _Counted:
    """The counts of the long texts that came last."""

    def __init__(self) -> None:
        self._counts: OrderedDict[str, int] = OrderedDict()
        self._characters = 0
        self._lock = Lock()

    def find(self, text: str) -> int | None:
        with self._lock:
            return self._counts.get(text)

    def keep(self, text: str, count: int) -> None:
        with self._lock:
            if text in self._counts:
                return
            self._counts[text] = count
            self._characters += len(text)
            while self._characters > _MOST_CHARACTERS and len(self._counts) > 1:
                self._characters -= len(self._counts.popitem(last=False)[0])


_counted = _Counted()


def token_count(text: str) -> int:
    """How many tokens a text has."""
    if len(text) <= SHORT:
        return _remembered(text)
    known = _counted.find(text)
    return tokens.count(text) if known is None else known


def count_ahead(text: str) -> Iterator[None]:
    """Count a long text stretch by stretch; when all are done, `token_count` knows the sum."""
    if _counted.find(text) is not None:
        return
    total = 0
    for count in tokens.count_slices(text, _STRETCH):
        total += count
        yield
    _counted.keep(text, total)


# System prompts come with every request.
_remembered = lru_cache(maxsize=1024)(tokens.count)

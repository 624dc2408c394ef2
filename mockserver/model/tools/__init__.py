"""Tool calls: which tools a model calls, and what their arguments are."""

from collections.abc import Iterator
from functools import cache

from mockserver.model.languages import sections


@cache
def words(name: str) -> frozenset[str]:
    """A section of `words.txt`, whose words may have several endings: `us(e|ing)`."""
    lines = sections("tools/words.txt")[name]
    return frozenset(word for line in lines for written in line.split() for word in _spelled_out(written))


def _spelled_out(written: str) -> Iterator[str]:
    stem, varies, endings = written.partition("(")
    return (stem + ending for ending in endings.rstrip(")").split("|")) if varies else iter((written,))

"""How many values a JSON text has, estimated without parsing it.

A parser blocks the whole process: tens of megabytes of prose take it some hundredths of a second, but as many bytes of
small values take seconds, and a gigabyte of memory. No reasonable request has that many values.
"""

from collections.abc import Iterator

# How many values a body may have: token ids, embeddings and schemas need some hundred thousand at most.
MOST_VALUES = 500_000

_STARTS = (b",", b"[", b"{")
# A piece of so many bytes is scanned in a fraction of a millisecond, and so are so many quotes.
_PIECE = 131_072
_QUOTES = 250
_QUOTE = b'"'
# So many backslashes are skipped at once, which is an even number.
_RUN = 4096
_BACKSLASHES = b"\\" * _RUN


def has_more_values(text: bytes, most: int = MOST_VALUES) -> bool:
    """Whether a JSON text has more than `most` values, by the commas and opening brackets outside its strings."""
    return max(counted(text, most), default=0) > most


def counted(text: bytes, most: int) -> Iterator[int]:
    """How many values have been found so far, in steps that take a fraction of a millisecond each.

    The steps end beyond `most`, or if there are no more even with those that only seem to begin, within strings.
    """
    if len(text) <= most:
        return
    seeming = 0
    for place in range(0, len(text), _PIECE):
        seeming += _starts(text, place, place + _PIECE)
        yield 0
        if seeming > most:
            break
    if seeming > most:
        yield from _counted_outside_strings(text, most)


def _counted_outside_strings(text: bytes, most: int) -> Iterator[int]:
    count = place = quotes = 0
    while place < len(text) and count <= most:
        quote = text.find(_QUOTE, place)
        end = len(text) if quote < 0 else quote
        for start in range(place, end, _PIECE):
            count += _starts(text, start, min(start + _PIECE, end))
            if end - start > _PIECE:
                yield count
        place, opened = end + 1, end + 1
        while (quote := text.find(_QUOTE, place)) >= 0:
            quotes += 1
            if quotes % _QUOTES == 0:
                yield count
            place = quote + 1
            if not _is_escaped(text, quote, opened):
                break
        else:
            place = len(text)
    yield count


def _starts(text: bytes, start: int, end: int) -> int:
    """How many values begin in a part of a text."""
    return sum(text.count(each, start, end) for each in _STARTS)


def _is_escaped(text: bytes, quote: int, opened: int) -> bool:
    """Whether a quote in a string, whose content begins at `opened`, has an odd number of backslashes before it."""
    while quote - _RUN >= opened and text.startswith(_BACKSLASHES, quote - _RUN):
        quote -= _RUN
    before = text[max(opened, quote - _RUN) : quote]
    return (len(before) - len(before.rstrip(b"\\"))) % 2 == 1

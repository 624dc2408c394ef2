"""How many values a JSON text has, estimated without parsing it.

A parser blocks the whole process: tens of megabytes of prose take it some hundredths of a second, but as many bytes of
small values take seconds, and a gigabyte of memory. No reasonable request has that many values.
"""

# How many values a body may have: token ids, embeddings and schemas need some hundred thousand at most.
MOST_VALUES = 500_000

_STARTS = (b",", b"[", b"{")
# A piece of so many bytes is scanned in a fraction of a millisecond; between two, other threads may run.
_PIECE = 262_144
_QUOTE, _BACKSLASH = b'"', 0x5C


def has_more_values(text: bytes, most: int = MOST_VALUES) -> bool:
    """Whether a JSON text has more than `most` values, by the commas and opening brackets outside its strings."""
    if len(text) <= most or _starts(text, 0, len(text), most) <= most:
        return False
    count = place = 0
    while place < len(text) and count <= most:
        quote = text.find(_QUOTE, place)
        end = len(text) if quote < 0 else quote
        count += _starts(text, place, end, most)
        place = end if quote < 0 else _end_of_string(text, quote + 1)
    return count > most


def _starts(text: bytes, start: int, end: int, most: int) -> int:
    """How many values begin in a part of a text; stops counting beyond `most`."""
    count = 0
    for place in range(start, end, _PIECE):
        count += sum(text.count(each, place, min(place + _PIECE, end)) for each in _STARTS)
        if count > most:
            break
    return count


def _end_of_string(text: bytes, start: int) -> int:
    """The position after the quote, not escaped, that ends the string whose content begins at `start`."""
    place = start
    while (quote := text.find(_QUOTE, place)) >= 0:
        back = quote
        while back > place and text[back - 1] == _BACKSLASH:
            back -= 1
        if (quote - back) % 2 == 0:
            return quote + 1
        place = quote + 1
    return len(text)

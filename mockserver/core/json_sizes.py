"""How many values a JSON text has, told without parsing it.

A parser holds the whole process while it reads a text: of tens of megabytes of prose some hundredths of a second, of as
many bytes of small values some seconds, and they take a gigabyte. No request that is meant has so many.
"""

# More values than this no body may have: token ids, embeddings and schemas have some hundred thousand at the most.
MOST_VALUES = 500_000

_STARTS = (b",", b"[", b"{")
# So many bytes are looked at in a fraction of a millisecond; between two such pieces others may have a turn.
_PIECE = 262_144
_QUOTE, _BACKSLASH = b'"', 0x5C


def has_more_values(text: bytes, most: int = MOST_VALUES) -> bool:
    """Whether a JSON text has more than so many values: commas and opening brackets, outside its strings."""
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
    """How many values start in a part of a text, as far as there are not too many already."""
    count = 0
    for place in range(start, end, _PIECE):
        count += sum(text.count(each, place, min(place + _PIECE, end)) for each in _STARTS)
        if count > most:
            break
    return count


def _end_of_string(text: bytes, start: int) -> int:
    """The place behind the quote that ends a string, which begins at `start`: one that nothing escapes."""
    place = start
    while (quote := text.find(_QUOTE, place)) >= 0:
        back = quote
        while back > place and text[back - 1] == _BACKSLASH:
            back -= 1
        if (quote - back) % 2 == 0:
            return quote + 1
        place = quote + 1
    return len(text)

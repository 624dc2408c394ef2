"""The tokenizer, text to token ids and back: our own, reversible, and the same on every machine.

Strategy. One regular expression cuts a text into pretokens: a word with the space or mark before it, up to three
digits, a run of marks, or white space. Each cut depends on a bounded part of the text, so work is linear and a text
may be counted in slices. A pretoken is split greedily into the longest pieces of the vocabulary; a character without a
piece falls back to its UTF-8 bytes. Splits are kept in a bounded cache, which makes it fast.

The ids, in this order:
- 0 to 255: the single bytes, which also are the ASCII characters;
- the first two bytes of every longer UTF-8 character, so that a rare one costs two tokens (an emoji three);
- numbers of two and three digits, then runs of white space;
- the lines of `vocabulary.txt`, a piece each, in their order (made by `tests/tools/make_vocabulary.py`);
- `EOS` and `BOS`, which have no text.
"""

import codecs
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from itertools import chain, islice
from typing import NamedTuple

from mockserver.core.seeding import fingerprint

VOCABULARY_SIZE = 49152
EOS = VOCABULARY_SIZE - 2
BOS = VOCABULARY_SIZE - 1

# Every character matches one of the alternatives. A letter that is newer than Python's Unicode tables counts as a mark,
# which changes no id: it has no piece, so it is encoded as bytes either way.
_PRETOKEN = (
    r"[ -/:-@\[-`{-~]?[^\W\d_]{1,20}"  # a word, with the space or mark before it
    r"| ?[!-/:-@\[-`{-~]{1,12}"  # marks, with the space before them
    r"|\d{1,3}"
    r"|[\r\n]{1,4}\t{0,12}(?: {1,32}(?!\S))?"  # line ends and indentation; its last space belongs to the word after it
    r"| {1,32}(?!\S)"
    r"| ?[^\w\s]{1,12}"  # marks outside ASCII
    r"|\t{1,12}"
    r"|\s"
)
# No cut depends on more than this many characters after its start (the longest alternative and what it looks ahead at).
_LOOKAHEAD = 64
# Pieces are looked up by this many of their first characters.
_PREFIX = 3
# The vocabulary is read in parts of about this many bytes.
_PART = 8192
_WINDOW = 1 << 11
_REMEMBERED_PRETOKENS = 1 << 13
_LONGEST_WORD = 64
_REPLACEMENT = "\ufffd"


@cache
def pretoken(*, ascii: bool) -> re.Pattern[str]:
    """The expression that cuts a text. For ASCII texts one with explicit letters gives the same cuts, but faster."""
    return re.compile(_PRETOKEN.replace(r"[^\W\d_]", "[A-Za-z]").replace(r"\d", "[0-9]") if ascii else _PRETOKEN)


class _Vocabulary(NamedTuple):
    texts: list[str]  # by id; bytes that are not a character are surrogates (errors="surrogateescape")
    ids: dict[str, int]  # of whole characters and pieces only
    starts: dict[bytes, int]  # the first two bytes of longer characters
    reach: dict[str, int]  # the length of the longest piece that begins with these three characters, where it has more


def _character_starts() -> list[bytes]:
    # Consecutive characters share their first two bytes: 64 of those with three bytes, 4096 of those with four.
    codes = chain(range(0x800, 0x10000, 64), range(0x10000, 0x110000, 4096))
    return sorted({chr(code).encode("utf-8", "ignore")[:2] for code in codes} - {b""})


def _numbers() -> list[str]:
    return [f"{number:0{digits}}" for digits in (2, 3) for number in range(10**digits)]


def _white_space() -> list[str]:
    ends = [end * times for end in ("\n", "\r\n") for times in (1, 2)]
    return [
        *(" " * length for length in range(2, 33)),
        *("\t" * length for length in range(2, 13)),
        *(end + " " * length for end in ends for length in range(33) if len(end) + length > 1),
        *(end + "\t" * length for end in ends for length in range(1, 13)),
        "\n\n\n",
        "\n\n\n\n",
    ]


def _lines() -> Iterator[str]:
    # Decoded part by part: as one text, because of its Chinese, it would take two bytes for each letter.
    data = (files("mockserver.model") / "vocabulary.txt").read_bytes().removesuffix(b"\n")
    start = 0
    while start < len(data):
        end = data.find(b"\n", start + _PART)
        end = end if end >= 0 else len(data)
        yield from data[start:end].decode().split("\n")
        start = end + 1


def made_texts() -> list[str]:
    """The texts of all ids below the first line of the vocabulary file; bytes are surrogates (`surrogateescape`)."""
    starts = [start.decode("utf-8", "surrogateescape") for start in _character_starts()]
    return [*map(chr, range(128)), *map(chr, range(0xDC80, 0xDD00)), *starts, *_numbers(), *_white_space()]


@cache
def _vocabulary() -> _Vocabulary:
    # This takes some twenty milliseconds.
    # No lists in between: each would take half a megabyte that the process then keeps.
    texts = made_texts()
    first_line = len(texts)
    texts.extend(chain(_lines(), ("", "")))
    starts = _character_starts()
    first_piece = 256 + len(starts)
    ids: dict[str, int] = {}
    for start in range(first_piece, EOS, _WINDOW):
        ids.update(zip(islice(texts, start, min(start + _WINDOW, EOS)), range(start, EOS), strict=False))
    ids.update(zip(texts[:128], range(128), strict=True))
    # Sorted by length, as the lines are, so that the last value of a key is that of its longest piece.
    longer = sorted((text for text in _white_space() if len(text) > _PREFIX), key=len)
    pieces = chain(longer, islice(texts, bisect_right(texts, _PREFIX, first_line, EOS, key=len), EOS))
    reach = {piece[:_PREFIX]: len(piece) for piece in pieces}
    return _Vocabulary(texts, ids, dict(zip(starts, range(256, first_piece), strict=True)), reach)


class _Splits(dict[str, tuple[int, ...]]):
    """A cache of the ids of pretokens and of words, which consist of pretokens; except those that are too long.

    It is cleared when it is full, so that hostile text cannot fill the memory.
    """

    def __missing__(self, text: str) -> tuple[int, ...]:
        ids, found = _vocabulary().ids, list[int]()
        for part in pretoken(ascii=text.isascii()).findall(text):
            if part in ids:
                found.append(ids[part])
            else:
                found += _split(part)
        split = tuple(found)
        if len(text) > _LONGEST_WORD:
            return split
        if len(self) >= _REMEMBERED_PRETOKENS:
            self.clear()
        self[text] = split
        return split


_SPLITS = _Splits()
_lookup = _SPLITS.__getitem__


def _split(pretoken: str) -> list[int]:
    """The ids of a pretoken: of the longest piece at its start, then of the longest at the start of the rest, etc."""
    _, ids, starts, reach = _vocabulary()
    split: list[int] = []
    start = 0
    while start < len(pretoken):
        part = pretoken[start : start + reach.get(pretoken[start : start + _PREFIX], _PREFIX)]
        while part and part not in ids:
            part = part[:-1]
        if part:
            split.append(ids[part])
        else:
            split += _spell(pretoken[start], starts)
        start += len(part) or 1
    return split


def _spell(character: str, starts: dict[bytes, int]) -> Sequence[int]:
    """The byte tokens of a character without a piece; half a surrogate pair, which UTF-8 cannot encode, is U+FFFD."""
    data = character.encode("utf-8", "ignore") or b"\xef\xbf\xbd"
    return data if len(data) == 2 else (starts[data[:2]], *data[2:])


def _windows(text: str, size: int) -> Iterator[list[str]]:
    """The pretokens of a text, in lists: each has those that start within the next `size` characters or so."""
    find = pretoken(ascii=text.isascii()).findall
    start = 0
    while start < len(text):
        pretokens = find(text, start, start + size + _LOOKAHEAD)
        end = min(start + size + _LOOKAHEAD, len(text))
        if end < len(text):
            # A pretoken that starts near the end might be cut differently with more text: it goes to the next window.
            while (last := end - len(pretokens[-1])) >= start + size:
                end = last
                pretokens.pop()
        start = end
        yield pretokens


def _words(text: str) -> list[str]:
    """The parts of a text between its spaces, each with the space before it, which are found faster than its pretokens:
    no pretoken goes beyond a single space. Its pretokens, if it has other white space."""
    if text.isprintable() and "  " not in text:
        return text.replace(" ", "\n ").split("\n")
    return pretoken(ascii=text.isascii()).findall(text)


def encode(text: str) -> list[int]:
    """The ids of a text."""
    if len(text) <= _WINDOW:
        return [*chain.from_iterable(map(_lookup, _words(text)))]
    return [*chain.from_iterable(map(_lookup, chain.from_iterable(_windows(text, _WINDOW))))]


def count(text: str) -> int:
    """The number of tokens of a text: `len(encode(text))`, but cheaper."""
    if len(text) <= _WINDOW:
        return sum(map(len, map(_lookup, _words(text))))
    return sum(count_slices(text, _WINDOW))


def count_slices(text: str, size: int = 1024) -> Iterator[int]:
    """The token counts of a text's consecutive slices of about `size` characters; their sum is exactly `count(text)`.

    Each costs less than 2 ms at the default size, whatever the text, so that a server can do other work in between.
    """
    for pretokens in _windows(text, size):
        yield sum(map(len, map(_lookup, pretokens)))


def _text(token: int) -> str:
    return _vocabulary().texts[token] if 0 <= token < VOCABULARY_SIZE else _REPLACEMENT


def token_bytes(id: int) -> bytes:
    """The bytes of a token: none for a special token, those of U+FFFD for an id outside the vocabulary."""
    return _text(id).encode("utf-8", "surrogateescape")


def decode(ids: Sequence[int]) -> str:
    """The text of ids. Special tokens add nothing; U+FFFD replaces bytes that are not UTF-8, and unknown ids."""
    return "".join(map(_text, ids)).encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def texts(ids: Sequence[int]) -> list[str]:
    """The text that each token adds to a stream; together they are `decode(ids)`.

    A token that ends inside a character adds what is before that; the token that completes the character adds it. If
    none does, the last token adds U+FFFD.
    """
    known = not ids or (min(ids) >= 0 and max(ids) < VOCABULARY_SIZE)
    parts = [*map(_vocabulary().texts.__getitem__ if known else _text, ids)]
    try:
        # Usually every token consists of whole characters; other bytes are surrogates, which UTF-8 cannot encode.
        "".join(parts).encode()
        return parts
    except UnicodeEncodeError:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
    parts = [decoder.decode(token_bytes(token)) for token in ids]
    if parts:
        parts[-1] += decoder.decode(b"", final=True)
    return parts


class Phrase(NamedTuple):
    """A text with its tokens; `texts` joined are the text."""

    ids: tuple[int, ...]
    texts: tuple[str, ...]


@lru_cache(maxsize=8192)
def phrase(text: str) -> Phrase:
    """The phrase of a text that is used often; cached."""
    return fresh_phrase(text)


def fresh_phrase(text: str) -> Phrase:
    """The phrase of a text that is unlikely to be used again; not cached."""
    ids = encode(text)
    # The tokens of an ASCII text are whole characters.
    added = map(_vocabulary().texts.__getitem__, ids) if text.isascii() else texts(ids)
    return Phrase(tuple(ids), tuple(added))


# Facts about a whole text: its number of tokens, for the usage, and a name for it, from which seeds are derived.

# The longest text whose count is remembered with it, and the longest that is its own name, in characters.
_SHORT = 8_192
_LONGEST_NAME = 65_536
_MOST_COUNTS = 1024

# System prompts are repeated in every request; and so are, by fingerprint, the long documents and tools of agents.
_remembered = lru_cache(maxsize=_MOST_COUNTS)(count)
_counts: dict[str, int] = {}


def token_count(text: str) -> int:
    """The number of tokens of a text. Counting a megabyte takes some forty milliseconds, the first time."""
    if len(text) <= _SHORT:
        return _remembered(text)
    name = fingerprint(_data(text))
    known = _counts.get(name)
    if known is None:
        if len(_counts) >= _MOST_COUNTS:
            _counts.clear()
        known = _counts[name] = count(text)
    return known


def name_of(text: str) -> str:
    """The name of a text, from which seeds are derived: the text itself, or a fingerprint if it is long."""
    return text if len(text) <= _LONGEST_NAME else fingerprint(_data(text))


def _data(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")

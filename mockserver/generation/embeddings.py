"""Embeddings: texts as points on a sphere, near each other where the texts speak of the same things.

Each term of a text (a stem, a number, or a concept, which words of several languages share) draws the text towards a
place of its own, which a keyed hash gives; a little comes from the text as a whole, so that no two texts are the same.
So a question is nearer to the passage that answers it than to others, and equal texts have equal embeddings on every
machine. What a text means beyond its terms, nothing here knows.
"""

import re
from array import array
from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b, shake_128
from math import sqrt
from struct import Struct

from mockserver.generation import corpus
from mockserver.generation.subject import brief
from mockserver.generation.terms import is_concept, terms

# Into how many dimensions a term reaches, and how much a concept counts beside the stem of a word.
_REACH = 16
_CONCEPT = 1.5
# How much of an embedding comes from the text as a whole, beside a single term.
_OWN = 0.35
_NUMBER = re.compile(r"\d+")
# So many characters are looked through at a time: some milliseconds' work at the most.
_STRETCH = 8_192
_DRAWN = Struct(f"<{_REACH}I")


def embed(text: str, size: int, key: int) -> "array[float]":
    """The embedding of a text in `size` dimensions, in a space which `key` stands for: floats of 32 bits, length 1."""
    point = _own_point(text, size, key)
    for term in _terms_of(text):
        weight = _CONCEPT if is_concept(term) else 1.0
        for number in _numbers(term, key):
            point[number % size] += weight if number >> 31 else -weight
    return _of_length_one(point)


def shortened(embedding: "array[float]", dimensions: int) -> "array[float]":
    """The first dimensions of an embedding, made as long as all of them were."""
    return _of_length_one(embedding[:dimensions])


def likeness(one: "array[float]", other: "array[float]") -> float:
    """How near two embeddings are: the cosine of the angle between them."""
    return sum(mine * its for mine, its in zip(one, other, strict=True))


def _terms_of(text: str) -> frozenset[str]:
    """What a text speaks of, without the words that every text has, unless it has no others."""
    return _terms_beside(text, corpus.stopwords(brief(text).language)) or _terms_beside(text, frozenset())


def _terms_beside(text: str, stopwords: frozenset[str]) -> frozenset[str]:
    found: set[str] = set()
    for stretch in _stretches(text):
        found |= terms(stretch, stopwords)
        found.update(_NUMBER.findall(stretch))
    return frozenset(found)


def _stretches(text: str) -> Iterator[str]:
    """The text in parts that end in a blank: a pattern that looks through all of a long one holds up every thread."""
    start = 0
    while len(text) - start > _STRETCH:
        blank = text.rfind(" ", start, start + _STRETCH)
        end = start + _STRETCH if blank < 0 else blank + 1
        yield text[start:end]
        start = end
    yield text[start:]


def _own_point(text: str, size: int, key: int) -> list[float]:
    """A short way into a direction that is the text's own."""
    drawn = shake_128(b"%d\n%s" % (key, text.encode(errors="surrogatepass"))).digest(size)
    scale = _OWN * sqrt(3 * _REACH / size) / 127.5
    return [(value - 127.5) * scale for value in drawn]


@lru_cache(maxsize=8192)
def _numbers(term: str, key: int) -> tuple[int, ...]:
    """What says into which dimensions a term reaches, and, in the highest of 32 bits, to which side of each."""
    salt = key.to_bytes(8, "little")
    return _DRAWN.unpack(blake2b(term.encode(errors="surrogatepass"), digest_size=_DRAWN.size, salt=salt).digest())


def _of_length_one(point: Sequence[float]) -> "array[float]":
    length = sqrt(sum(value * value for value in point)) or 1.0
    return array("f", [value / length for value in point])

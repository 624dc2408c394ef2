"""Embeddings: texts as points on a sphere, near each other if the texts are about the same things.

Each term of a text (a stem, a number, or a concept, which words of several languages share) adds a vector of its own,
given by a keyed hash; a small vector comes from the text as a whole, so that different texts have different embeddings.
So a question is nearer to the passage that answers it than to others, and equal texts have equal embeddings on every
machine. The meaning of a text beyond its terms is not considered.
"""

import re
from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b, shake_128
from math import sqrt
from operator import mul
from struct import Struct

from mockserver.model import languages
from mockserver.model.intent import detect_intent
from mockserver.model.terms import is_concept, terms

# The number of dimensions to which a term adds, and the weight of a concept relative to a stem.
_REACH = 16
_CONCEPT = 1.5
# The weight of the text as a whole relative to a single term.
_OWN = 0.35
_NUMBER = re.compile(r"\d+")
# How many characters are searched at a time: at most some milliseconds' work.
_STRETCH = 8_192
_DRAWN = Struct(f"<{_REACH}I")


def embed(text: str, size: int, key: int) -> "array[float]":
    """The embedding of a text in `size` dimensions, in the space of a `key`: 32-bit floats, normalized to length 1."""
    # Sums of weights are exact, whatever the order of the terms.
    added: defaultdict[int, float] = defaultdict(float)
    for term in _terms_of(text):
        weight = _CONCEPT if is_concept(term) else 1.0
        for number in _numbers(term, key):
            added[number % size] += weight if number >> 31 else -weight
    point = _own_point(text, size, key)
    for place, weight in added.items():
        point[place] += weight
    return _of_length_one(point)


def shortened(embedding: "array[float]", dimensions: int) -> "array[float]":
    """The first dimensions of an embedding, normalized to length 1 again."""
    return _of_length_one(embedding[:dimensions])


def likeness(one: "array[float]", other: "array[float]") -> float:
    """The cosine similarity of two embeddings, which have length 1."""
    product: float = sum(map(mul, one, other))
    return product


def _terms_of(text: str) -> set[str]:
    """The terms and numbers of a text without its stopwords, unless it has no other words."""
    found: set[str] = set()
    for stopwords in (languages.stopwords(detect_intent(text).language), frozenset[str]()):
        for stretch in _stretches(text):
            found.update(terms(stretch, stopwords), _NUMBER.findall(stretch))
        if found:
            break
    return found


def _stretches(text: str) -> Iterator[str]:
    """The text in parts, split after spaces: a search through all of a long text would block every thread."""
    start = 0
    while len(text) - start > _STRETCH:
        blank = text.rfind(" ", start, start + _STRETCH)
        end = start + _STRETCH if blank < 0 else blank + 1
        yield text[start:end]
        start = end
    yield text[start:]


def _own_point(text: str, size: int, key: int) -> list[float]:
    """A short vector in a direction that depends on the whole text."""
    drawn = shake_128(b"%d\n%s" % (key, text.encode(errors="surrogatepass"))).digest(size)
    scale = _OWN * sqrt(3 * _REACH / size) / 127.5
    return [(value - 127.5) * scale for value in drawn]


@lru_cache(maxsize=8192)
def _numbers(term: str, key: int) -> tuple[int, ...]:
    """Numbers that give the dimensions to which a term adds, and, in the highest of 32 bits, the sign."""
    salt = key.to_bytes(8, "little")
    return _DRAWN.unpack(blake2b(term.encode(errors="surrogatepass"), digest_size=_DRAWN.size, salt=salt).digest())


def _of_length_one(point: Sequence[float]) -> "array[float]":
    length = sqrt(sum(map(mul, point, point))) or 1.0
    return array("f", [value / length for value in point])

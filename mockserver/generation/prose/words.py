"""Phrases split into words and marks, and the words of a language that can replace them."""

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from mockserver.core.seeding import Draws
from mockserver.generation import corpus, tokens
from mockserver.generation.corpus import Phrase

_LETTERS = re.compile(r"[^\W\d_]+")
# Letters of scripts that do not separate words by spaces: there each token is a word.
_UNBROKEN = ("\u3040", "\u30ff"), ("\u3400", "\u9fff")
_ENDING = 2
# The sections of a corpus that hold sentences.
_SENTENCES = ("openers", "subject", "body", "continuations", "bullets", "closers")


class Unit(NamedTuple):
    """A word with what precedes it, or a run of marks, as tokens.

    `word` is the word in lower case, empty for anything else; `lead` is what precedes it.
    """

    ids: tuple[int, ...]
    texts: tuple[str, ...]
    text: str
    lead: str
    word: str


class Pool:
    """The allowed words of a language, all of them and by their endings."""

    def __init__(self, words: Iterable[str]) -> None:
        self.words = tuple(words)
        self._by_ending: dict[str, list[str]] = {}
        for word in self.words:
            self._by_ending.setdefault(word[-_ENDING:], []).append(word)

    def other(self, unit: Unit, draws: Draws) -> Unit:
        """Another word in place of a unit, usually with the same ending, and with the same lead and capitalization."""
        alike = self._by_ending.get(unit.word[-_ENDING:], ()) if draws.below(4) else ()
        word = draws.pick(alike if len(alike) > 3 else self.words)
        return in_place(unit, word)


def in_place(unit: Unit, word: str, *, lead: str | None = None) -> Unit:
    """A word after the lead of a unit (or another lead), capitalized if the unit is."""
    lead = unit.lead if lead is None else lead
    capital = unit.text[len(unit.lead) : len(unit.lead) + 1].isupper()
    return _spelled(lead, word.capitalize() if capital else word)


@lru_cache(maxsize=16_384)
def _spelled(lead: str, word: str) -> Unit:
    ids = tuple(tokens.encode(lead + word))
    return Unit(ids, tuple(tokens.texts(ids)), lead + word, lead, word.lower())


def words_of(text: str) -> frozenset[str]:
    """The words of a text, in lower case."""
    return frozenset(_LETTERS.findall(text.lower()))


@lru_cache(maxsize=8192)
def units(phrase: Phrase) -> tuple[Unit, ...]:
    """The words and marks of a phrase, which together are all its tokens."""
    return tuple(_unit(phrase, start, stop) for start, stop in _borders(phrase.texts))


def _borders(texts: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    start = 0
    for index in range(1, len(texts)):
        if not _goes_on(texts[index - 1], texts[index]):
            yield start, index
            start = index
    if texts:
        yield start, len(texts)


def _goes_on(before: str, text: str) -> bool:
    """Whether a token continues the word, or the character, of the one before it."""
    if not before or not text:
        return not before
    return before[-1].isalpha() and text[0].isalpha() and not any(first <= text[0] <= last for first, last in _UNBROKEN)


def _unit(phrase: Phrase, start: int, stop: int) -> Unit:
    texts = phrase.texts[start:stop]
    text = "".join(texts)
    found = _LETTERS.search(text)
    if found is None or found.end() != len(text):
        return Unit(phrase.ids[start:stop], texts, text, text, "")
    return Unit(phrase.ids[start:stop], texts, text, text[: found.start()], found[0].lower())


@cache
def vocabulary(language: str) -> tuple[str, ...]:
    """The words in the language's own sentences, in lower case, without duplicates."""
    sections = corpus.language(language)
    sentences = [sentence for name in _SENTENCES for sentence in sections.get(name, ())]
    if language in ("zh", "ja"):
        found = (text for sentence in sentences for text in corpus.phrase(sentence).texts)
        return tuple(dict.fromkeys(text for text in found if text and _LETTERS.fullmatch(text)))
    found = (word for sentence in sentences for word in _LETTERS.findall(sentence.replace("{subject}", "")))
    return tuple(dict.fromkeys(word for word in found if word == word.lower() and (len(word) > 2 or language == "ko")))

"""Words and marks of phrases, the words of a language that can replace them, and what never appears in an answer:
banned tokens, sequences of tokens, and texts."""

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from mockserver.core.caches import Cache
from mockserver.core.generation import Sampling
from mockserver.core.seeding import Draws
from mockserver.model import languages, tokens
from mockserver.model.tokens import Phrase, fresh_phrase, phrase

# A bias of this value or less is a ban.
NEVER = -40.0
# Banned tokens and sequences whose texts have fewer characters are not banned as texts too.
_SHORTEST_TEXT = 2


_LETTERS = re.compile(r"[^\W\d_]+")
# Letters of scripts that do not separate words by spaces: there each token is a word.
_UNBROKEN = ("\u3040", "\u30ff"), ("\u3400", "\u9fff")
_ENDING = 2
# What is known of phrases of more tokens is not remembered.
_LONGEST_SENTENCE = 100
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
    return Unit(*fresh_phrase(lead + word), lead + word, lead, word.lower())


def words_of(text: str) -> frozenset[str]:
    """The words of a text, in lower case."""
    return frozenset(_LETTERS.findall(text.lower()))


def units(phrase: Phrase) -> tuple[Unit, ...]:
    """The words and marks of a phrase, which together are all its tokens."""
    return (_units if len(phrase.ids) <= _LONGEST_SENTENCE else _units.__wrapped__)(phrase)


@lru_cache(maxsize=4096)
def _units(phrase: Phrase) -> tuple[Unit, ...]:
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
    sections = languages.sentences(language)
    sentences = [sentence for name in _SENTENCES for sentence in sections.get(name, ())]
    if language in ("zh", "ja"):
        found = (text for sentence in sentences for text in phrase(sentence).texts)
        return tuple(dict.fromkeys(text for text in found if text and _LETTERS.fullmatch(text)))
    found = (word for sentence in sentences for word in _LETTERS.findall(sentence.replace("{subject}", "")))
    return tuple(dict.fromkeys(word for word in found if word == word.lower() and (len(word) > 2 or language == "ko")))


class _Index:
    """Texts or sequences of tokens, which can be found by their ends in a longer one."""

    def __init__(self, rows: Iterable[Sequence[object]]) -> None:
        self.rows = frozenset(rows)
        self.longest = max(map(len, self.rows), default=1)
        self._lengths = sorted({len(row) for row in self.rows})
        self._ends = {row[-1] for row in self.rows}

    def found(self, row: Sequence[object], fresh: int) -> bool:
        """Whether one of them ends among the last `fresh` items of a row."""
        for end in range(len(row) - fresh + 1, len(row) + 1):
            if row[end - 1] in self._ends:
                for length in self._lengths:
                    if length > end:
                        break
                    if row[end - length : end] in self.rows:
                        return True
        return False


class BannedTokens:
    """What is forbidden. Banned tokens that are not too short are also banned as texts, however these are tokenized.

    `kept` is for what others derive from it.
    """

    def __init__(self, never: tuple[int, ...], sequences: tuple[tuple[int, ...], ...], texts: tuple[str, ...]) -> None:
        self._tokens = {*never, *(sequence[0] for sequence in sequences if len(sequence) == 1)}
        self._sequences = _Index(sequence for sequence in sequences if len(sequence) > 1)
        decoded = [*map(tokens.decode, sequences), *(tokens.decode((token,)) for token in self._tokens)]
        whole = (text for text in decoded if len(text.strip()) >= _SHORTEST_TEXT and "\ufffd" not in text)
        self._texts = _Index([*filter(None, texts), *whole])
        # How much of the text before a word is needed to judge the word: in characters, and in tokens.
        self.text_reach = self._texts.longest - 1
        self.token_reach = self._sequences.longest - 1
        self.kept: dict[Hashable, Any] = {}

    def __bool__(self) -> bool:
        return bool(self._tokens or self._sequences.rows or self._texts.rows)

    def forbid(self, unit: Unit, before: tuple[int, ...], text_before: str) -> bool:
        """Whether a unit must not follow the given tokens and text, of which the reach of the bans is enough."""
        if self._tokens and not self._tokens.isdisjoint(unit.ids):
            return True
        if self._sequences.found((*before, *unit.ids), len(unit.ids)):
            return True
        return self._texts.found(text_before + unit.text, len(unit.text))

    def forbid_token(self, token: int, text: str) -> bool:
        """Whether a token is forbidden everywhere."""
        return token in self._tokens or self._texts.found(text, len(text))


def banned_tokens(sampling: Sampling) -> BannedTokens:
    """The bans of a request; the same for all without any."""
    never = tuple(token for token, bias in sampling.logit_bias if bias <= NEVER)
    bans = never, sampling.bad_tokens, sampling.bad_words
    if not any(bans):
        return _NOTHING_BANNED
    known = _bans.find(bans)
    if known is None:
        known = BannedTokens(*bans)
        banned = len(never) + len(sampling.bad_words) + sum(map(len, sampling.bad_tokens))
        size = _TOKEN_MEMORY * banned + _CHARACTER_MEMORY * sum(map(len, sampling.bad_words))
        _bans.keep(bans, known, _LEAST_MEMORY + size)
    return known


_NOTHING_BANNED = BannedTokens((), (), ())
_bans: Cache[tuple[object, ...], BannedTokens] = Cache(8 * 2**20)
# What bans take, roughly, in bytes: the words of a language that they leave, each token or text, and each character.
_LEAST_MEMORY, _TOKEN_MEMORY, _CHARACTER_MEMORY = 300_000, 150, 8


def allowed_words(language: str, forbidden: BannedTokens) -> Pool:
    """The words of a language that are not forbidden."""
    known: Pool | None = forbidden.kept.get(language)
    if known is None:
        known = Pool(word for word in vocabulary(language) if not forbidden.forbid_token(-1, word))
        forbidden.kept[language] = known
    return known

"""Bans: tokens, sequences of tokens, and texts that never appear in an answer."""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from mockserver.core.generation import Sampling
from mockserver.generation import tokens
from mockserver.generation.prose.words import Pool, Unit, vocabulary

# A bias of this value or less is a ban.
NEVER = -40.0
# Banned tokens and sequences whose texts have fewer characters are not banned as texts too.
_SHORTEST_TEXT = 2


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


class Bans:
    """What is forbidden. Banned tokens that are not too short are also banned as texts, however these are tokenized."""

    def __init__(
        self,
        biases: tuple[tuple[int, float], ...] = (),
        sequences: tuple[tuple[int, ...], ...] = (),
        texts: tuple[str, ...] = (),
    ) -> None:
        single = {sequence[0] for sequence in sequences if len(sequence) == 1}
        self._tokens = single | {token for token, bias in biases if bias <= NEVER}
        self._sequences = _Index(sequence for sequence in sequences if len(sequence) > 1)
        decoded = [*map(tokens.decode, sequences), *(tokens.decode((token,)) for token in self._tokens)]
        whole = (text for text in decoded if len(text.strip()) >= _SHORTEST_TEXT and "\ufffd" not in text)
        self._texts = _Index([*filter(None, texts), *whole])
        # How much of the text before a word is needed to judge the word: in characters, and in tokens.
        self.text_reach = self._texts.longest - 1
        self.token_reach = self._sequences.longest - 1

    def __bool__(self) -> bool:
        return bool(self._tokens or self._sequences.rows or self._texts.rows)

    def forbid(self, unit: Unit, before: Sequence[int], text_before: str) -> bool:
        """Whether a unit must not follow the given tokens and text."""
        if self._tokens and not self._tokens.isdisjoint(unit.ids):
            return True
        return self._completes(unit.ids, before) or self._spells(unit.text, text_before)

    def forbid_token(self, token: int, text: str) -> bool:
        """Whether a token is forbidden everywhere."""
        return token in self._tokens or self._spells(text, "")

    def _completes(self, ids: tuple[int, ...], before: Sequence[int]) -> bool:
        if not self._sequences.rows:
            return False
        return self._sequences.found((*before[max(len(before) - self.token_reach, 0) :], *ids), len(ids))

    def _spells(self, text: str, text_before: str) -> bool:
        if not self._texts.rows:
            return False
        return self._texts.found(text_before[max(len(text_before) - self.text_reach, 0) :] + text, len(text))


def bans(sampling: Sampling) -> Bans:
    """The bans of a request."""
    return _bans(sampling.logit_bias, sampling.bad_tokens, sampling.bad_words)


@lru_cache(maxsize=64)
def _bans(
    biases: tuple[tuple[int, float], ...], sequences: tuple[tuple[int, ...], ...], texts: tuple[str, ...]
) -> Bans:
    return Bans(biases, sequences, texts)


@lru_cache(maxsize=64)
def sayable(language: str, forbidden: Bans) -> Pool:
    """The words of a language that are not forbidden."""
    words = vocabulary(language)
    return Pool(word for word in words if not forbidden.forbid_token(-1, word)) if forbidden else _pool(language)


@lru_cache(maxsize=16)
def _pool(language: str) -> Pool:
    return Pool(vocabulary(language))

"""Log-probabilities that hold together.

Each position has a shape: the log-probabilities of the first 21 ranks, whose probabilities add up to less than one. A
greedy choice has the first rank; a sampled one mostly. Rivals are common tokens of the language. What a position says
does not depend on how many rivals are asked for.
"""

from collections.abc import Sequence
from functools import cache
from math import log

from mockserver.core.generation import Position
from mockserver.core.seeding import Draws
from mockserver.generation import corpus
from mockserver.generation.tokens import token_bytes

RANKS = 21
_SHAPES = 64


def positions(
    ids: Sequence[int], texts: Sequence[str], alternatives: int, key: int, *, greedy: bool, language: str
) -> tuple[Position, ...]:
    """One position per token, each with its `alternatives` likeliest tokens, best first."""
    draws = Draws(key)
    rivals = _rivals(language)
    return tuple(
        _position(draws.bits(), token, text, min(alternatives, RANKS), rivals, greedy=greedy)
        for token, text in zip(ids, texts, strict=True)
    )


def score(ids: Sequence[int], texts: Sequence[str], key: int, language: str) -> float:
    """How likely the model finds a whole choice: its mean log-probability."""
    rows = positions(ids, texts, 0, key, greedy=False, language=language)
    return sum(row.logprob for row in rows) / len(rows) if rows else 0.0


def _position(
    bits: int, token: int, text: str, alternatives: int, rivals: Sequence[tuple[int, str]], *, greedy: bool
) -> Position:
    shape = _shapes()[bits % _SHAPES]
    rank = 0 if greedy else _rank(bits >> 6)
    if alternatives == 0:
        return Position(shape[rank])
    top: list[tuple[int, str, float]] = []
    start = (bits >> 16) % len(rivals)
    step = 0
    for place in range(alternatives):
        if place == rank:
            top.append((token, text, shape[rank]))
            continue
        rival = rivals[(start + step) % len(rivals)]
        if rival[0] == token or rival[1] == text:
            step += 1
            rival = rivals[(start + step) % len(rivals)]
        step += 1
        top.append((*rival, shape[place]))
    return Position(shape[rank], tuple(top))


def _rank(bits: int) -> int:
    """The rank of a sampled token: the first in three cases of four, else one of the next six."""
    return 0 if bits & 3 else 1 + ((bits >> 2) & 0xFF) * 6 // 256


@cache
def _shapes() -> tuple[tuple[float, ...], ...]:
    """The log-probabilities by rank, for models that are less and less sure of themselves."""
    shapes = []
    for index in range(_SHAPES):
        sure = 0.35 + 0.64 * ((index + 0.5) / _SHAPES) ** 0.5
        fall = 0.35 + 0.3 * (index % 7) / 7
        rest = (1 - sure) * 0.98
        shares = [sure] + [rest * (1 - fall) * fall**rank for rank in range(RANKS - 1)]
        shapes.append(tuple(round(log(share), 6) for share in sorted(shares, reverse=True)))
    return tuple(shapes)


@cache
def _rivals(language: str) -> tuple[tuple[int, str], ...]:
    """Tokens of the language's own sentences, in a fixed mixed order, no text twice."""
    seen: dict[str, int] = {}
    for sentence in corpus.language(language)["body"]:
        for token, text in zip(*corpus.phrase(sentence), strict=True):
            # Only whole characters: a part of one would have bytes that its text does not show.
            if token_bytes(token) == text.encode():
                seen.setdefault(text, token)
    mixed = sorted(seen.items(), key=lambda item: (item[1] * 0x9E3779B97F4A7C15) & ((1 << 64) - 1))
    return tuple((token, text) for text, token in mixed)

"""Ranks candidates, for beam search and for the best of independent samples.

A candidate's score is the sum of its log-probabilities divided by its length to the power of `length_penalty`: 1
compares means, more favours long answers, less than 1 short ones. The log-probabilities are those that an answer shows.
"""

from collections.abc import Sequence
from math import inf, log

from mockserver.core.generation import Position, Sampling


def ranked(candidates: Sequence[Sequence[Position]], sampling: Sampling) -> list[int]:
    """The indices of the candidates, best first.

    With `early_stopping` the search ends when `beams` candidates have ended, so that only the shortest are compared.
    """
    order = list(range(len(candidates)))
    if sampling.early_stopping and sampling.beams > 1:
        order = sorted(order, key=lambda place: len(candidates[place]))[: sampling.beams]
    return sorted(order, key=lambda place: badness(candidates[place], sampling.length_penalty))


def badness(positions: Sequence[Position], length_penalty: float) -> float:
    """The logarithm of the negated score of a candidate; infinite, the worst, for one without tokens."""
    total = -sum(position.logprob for position in positions)
    # As a logarithm, since the power of a length may exceed the range of floats.
    return log(total) - length_penalty * log(len(positions)) if total > 0 else inf

"""How far the sampling parameters let a choice depart from the likeliest answer.

A story is decided turn by turn. At each turn the greedy story (that of key 0) has one number and the choice's own story
another; the more freedom the sampling leaves, the more often the choice takes its own. So without freedom all seeds
give the greedy story, with some of it similar ones, and with the defaults every seed gives a story of its own. At a
temperature above 1 single words are replaced as well.
"""

from mockserver.core.generation import Sampling
from mockserver.core.seeding import Draws, derive

# The minimum probability of the likeliest token: a lower `top_p` leaves no other one. A `min_p` from which no other one
# is left. And a `top_k` with the same effect as none.
_LEAST_SHARE = 0.2
_NO_RIVAL = 0.8
_ALL_TOKENS = 40
# All fields but the seeds, as most requests have them: then nothing holds a choice back, and no word is changed.
_USUAL = Sampling()[1:]

# The share of words replaced per unit of temperature above 1, and if likely tokens are always excluded (XTC).
_STRAY_BY_HEAT = 0.15
_STRAY_BY_EXCLUSION = 0.2


def freedom(sampling: Sampling) -> float:
    """The share of turns that a choice decides by itself: from 0.0 (greedy: the seed does not matter) to 1.0."""
    if sampling[1:] == _USUAL:
        return 1.0
    if sampling.temperature == 0 or sampling.top_k == 1:
        return 0.0
    return min(sampling.temperature, 1.0) ** 2 * _kept(sampling)


def straying(sampling: Sampling) -> float:
    """The share of words that are replaced by unlikely ones: 0 up to a temperature of 1, unless XTC is requested."""
    if (sampling.temperature <= 1 and not sampling.xtc_probability) or freedom(sampling) == 0:
        return 0.0
    heat = _STRAY_BY_HEAT * max(sampling.temperature - 1.0, 0.0)
    # XTC excludes all tokens above the threshold but the least likely of them: above 0.5 there is at most one.
    exclusion = _STRAY_BY_EXCLUSION * sampling.xtc_probability if sampling.xtc_threshold < 0.5 else 0.0
    return min(heat + exclusion, 1.0) * _kept(sampling)


def is_plain(sampling: Sampling) -> bool:
    """Whether stories stay as they are, since no sampling parameter changes their words."""
    return sampling[1:] == _USUAL or not (
        sampling.logit_bias
        or sampling.bad_words
        or sampling.bad_tokens
        or sampling.no_repeat_ngram > 1
        or sampling.frequency_penalty
        or sampling.presence_penalty
        or sampling.repetition_penalty != 1
        or straying(sampling)
    )


def _kept(sampling: Sampling) -> float:
    """The share of the alternatives that `top_p`, `min_p` and `top_k` leave, from 0.0 to 1.0."""
    if sampling.top_p >= 1 and sampling.min_p <= 0 and not 0 < sampling.top_k < _ALL_TOKENS:
        return 1.0
    nucleus = (sampling.top_p - _LEAST_SHARE) / (1 - _LEAST_SHARE)
    relative = 1 - sampling.min_p / _NO_RIVAL
    few = 1 - 1 / sampling.top_k if 0 < sampling.top_k < _ALL_TOKENS else 1.0
    return max(min(nucleus, 1.0), 0.0) * max(relative, 0.0) * few


class Blend(Draws):
    """The draws of a choice with limited freedom: those of the greedy story, and at some turns its own."""

    __slots__ = ("_freedom", "_greedy", "_turns")

    def __init__(self, own: int, greedy: int, freedom: float) -> None:
        super().__init__(own)
        self._greedy, self._turns = Draws(greedy), Draws(derive(own, "turns"))
        self._freedom = freedom

    def bits(self) -> int:
        """The next 64 bits, of either story."""
        own, likeliest = super().bits(), self._greedy.bits()
        return own if self._turns.unit() < self._freedom else likeliest

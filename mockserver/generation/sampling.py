"""How far the controls of sampling let a choice depart from the likeliest answer.

A story is decided turn by turn. At each turn the greedy story (that of key 0) has one number and the choice's own story
another; the freer the sampling, the oftener the choice takes its own. So without freedom all seeds tell the greedy
story, with some of it they tell much the same, and at the defaults every seed tells a story of its own. Beyond a
temperature of 1 the words themselves begin to stray.
"""

from mockserver.core.generation import Sampling
from mockserver.core.seeding import Draws, derive

# The likeliest token has at least this share, so that a lower `top_p` leaves nothing else; as much of its share, as
# `min_p`, leaves nothing else either. So many tokens are as good as all of them.
_LEAST_SHARE = 0.2
_NO_RIVAL = 0.8
_ALL_TOKENS = 40

# How many words in a hundred stray per degree of temperature beyond 1, and where likely tokens are always left out.
_STRAY_BY_HEAT = 0.15
_STRAY_BY_EXCLUSION = 0.2


def freedom(sampling: Sampling) -> float:
    """How many of its turns a choice decides by itself: from 0.0 (greedy: no seed matters) to 1.0."""
    if sampling.temperature == 0 or sampling.top_k == 1:
        return 0.0
    return min(sampling.temperature, 1.0) ** 2 * _kept(sampling)


def straying(sampling: Sampling) -> float:
    """The share of words that are drawn from far down the list: none up to a temperature of 1."""
    if (sampling.temperature <= 1 and not sampling.xtc_probability) or freedom(sampling) == 0:
        return 0.0
    heat = _STRAY_BY_HEAT * max(sampling.temperature - 1.0, 0.0)
    # Tokens above the threshold are left out, but for the least of them: above one half there is never a second one.
    exclusion = _STRAY_BY_EXCLUSION * sampling.xtc_probability if sampling.xtc_threshold < 0.5 else 0.0
    return min(heat + exclusion, 1.0) * _kept(sampling)


def _kept(sampling: Sampling) -> float:
    """What the filters leave of the alternatives, from 0.0 to 1.0."""
    if sampling.top_p >= 1 and sampling.min_p <= 0 and not 0 < sampling.top_k < _ALL_TOKENS:
        return 1.0
    nucleus = (sampling.top_p - _LEAST_SHARE) / (1 - _LEAST_SHARE)
    relative = 1 - sampling.min_p / _NO_RIVAL
    few = 1 - 1 / sampling.top_k if 0 < sampling.top_k < _ALL_TOKENS else 1.0
    return max(min(nucleus, 1.0), 0.0) * max(relative, 0.0) * few


class Blend(Draws):
    """The draws of a choice that is not quite free: those of the greedy story, and in some places its own."""

    __slots__ = ("_freedom", "_greedy", "_turns")

    def __init__(self, own: int, greedy: int, freedom: float) -> None:
        super().__init__(own)
        self._greedy, self._turns = Draws(greedy), Draws(derive(own, "turns"))
        self._freedom = freedom

    def bits(self) -> int:
        """The next 64 bits, of one story or the other."""
        own, likeliest = super().bits(), self._greedy.bits()
        return own if self._turns.unit() < self._freedom else likeliest

"""The waits between attempts: whether there are any, and whether they grow.

A few waits prove little. Each function withholds judgement until there are enough of them, and allows for the time that
a client needs to come back at all.
"""

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

# A client that is back within this time has not waited, in seconds.
_AT_ONCE = 0.03
# Opening a new connection on a busy machine may take this long, in seconds; so many waits are needed to judge that.
_NEARLY_AT_ONCE, _NEARLY_WAITS = 0.15, 5
# Waits that differ by no more than this share plus these seconds count as equal.
_SAME_SHARE, _SAME_SECONDS = 0.15, 0.005


def come_at_once(waits: Sequence[float]) -> bool:
    """Whether a client came back at once, repeatedly; a single quick retry is acceptable."""
    if len(waits) < 2 or _grow(waits):
        return False
    return median(waits) < _AT_ONCE or _stay_short(waits)


def stay_the_same(waits: Sequence[float]) -> bool:
    """Whether at least three waits are all equal."""
    return len(waits) >= 3 and max(waits) - min(waits) <= _SAME_SHARE * min(waits) + _SAME_SECONDS


def _stay_short(waits: Sequence[float]) -> bool:
    """Whether many waits are all short, and the later ones hardly longer than the earlier ones."""
    half = len(waits) // 2
    enough = len(waits) >= _NEARLY_WAITS and max(waits) < _NEARLY_AT_ONCE
    return enough and median(waits[half:]) < 1.3 * median(waits[:half])


def _grow(waits: Sequence[float]) -> bool:
    """Whether waits grow steadily, even if they are short."""
    steady = all(after >= 1.2 * before for before, after in pairwise(waits))
    return steady and waits[-1] >= max(1.5 * waits[0], _AT_ONCE / 2)

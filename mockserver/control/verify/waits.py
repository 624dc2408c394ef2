"""Statistics of the waits between attempts: whether they grow, and whether they have jitter.

A few waits prove little. Each function withholds judgement until there are enough of them, and allows for the time that
a client needs to come back at all.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import median

# A client that is back within this time has not waited, in seconds.
_AT_ONCE = 0.03
# Opening a new connection on a busy machine may take this long, in seconds; so many waits are needed to judge that.
_NEARLY_AT_ONCE, _NEARLY_WAITS = 0.15, 5
# Waits that differ by no more than this share plus these seconds count as equal.
_SAME_SHARE, _SAME_SECONDS = 0.15, 0.005
# Waits that follow a rule this exactly have no jitter; waits below the shortest are mostly noise.
_EXACT_SHARE, _EXACT_SECONDS, _SHORTEST = 0.015, 0.004, 0.05
# How many waits must agree with others before it counts as no coincidence.
_AGREEMENTS = 3

# Growth without jitter: by a factor, or (see `_follows_a_rule`) by the same amount each time.
_FACTORS = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 10.0)


def come_at_once(waits: Sequence[float]) -> bool:
    """Whether a client came back at once, repeatedly; a single quick retry is acceptable."""
    if len(waits) < 2 or _grow(waits):
        return False
    return median(waits) < _AT_ONCE or _stay_short(waits)


def stay_the_same(waits: Sequence[float]) -> bool:
    """Whether at least three waits are all equal."""
    return len(waits) >= 3 and max(waits) - min(waits) <= _SAME_SHARE * min(waits) + _SAME_SECONDS


def have_no_jitter(series: Iterable[Sequence[float]]) -> bool | None:
    """Whether the waits of some calls follow a rule exactly; None if there are too few to judge."""
    long = [waits for waits in series if min(waits) >= _SHORTEST]
    agreements = [_follows_a_rule(waits) for waits in long if len(waits) > _AGREEMENTS]
    together = _same_in_each(long)
    if not agreements and together is None:
        return None
    return any(agreements) or together is True


def _stay_short(waits: Sequence[float]) -> bool:
    """Whether many waits are all short, and the later ones hardly longer than the earlier ones."""
    half = len(waits) // 2
    enough = len(waits) >= _NEARLY_WAITS and max(waits) < _NEARLY_AT_ONCE
    return enough and median(waits[half:]) < 1.3 * median(waits[:half])


def _grow(waits: Sequence[float]) -> bool:
    """Whether waits grow steadily, even if they are short."""
    steady = all(after >= 1.2 * before for before, after in pairwise(waits))
    return steady and waits[-1] >= max(1.5 * waits[0], _AT_ONCE / 2)


def _follows_a_rule(waits: Sequence[float]) -> bool:
    """Whether each wait results from the first one by a simple rule."""
    rules = [[factor**number for number in range(len(waits))] for factor in _FACTORS]
    rules.append([number + 1.0 for number in range(len(waits))])
    return any(_agree([waited / step for waited, step in zip(waits, rule, strict=True)]) for rule in rules)


def _same_in_each(series: Sequence[Sequence[float]]) -> bool | None:
    """Whether every call has the same wait at the same position; None if there are too few calls."""
    columns = [
        [waits[place] for waits in series if len(waits) > place] for place in range(max(map(len, series), default=0))
    ]
    agreements = sum(len(column) - 1 for column in columns)
    return all(map(_agree, columns)) if agreements >= _AGREEMENTS and len(series) > 1 else None


def _agree(waits: Sequence[float]) -> bool:
    return max(waits) - min(waits) <= _EXACT_SHARE * min(waits) + _EXACT_SECONDS

"""What the waits between attempts show: whether they grow, and whether chance has a hand in them.

Few waits show little. Each function keeps silent until there are enough of them, and allows for the time that a client
needs to come back at all.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import median

# Whoever is back within this time has not waited, in seconds.
_AT_ONCE = 0.03
# Whoever opens a connection anew, on a busy machine, may need this long; it takes so many waits to tell.
_NEARLY_AT_ONCE, _NEARLY_WAITS = 0.15, 5
# Waits that differ by no more than this share, and these seconds, are the same wait.
_SAME_SHARE, _SAME_SECONDS = 0.15, 0.005
# Waits that follow a rule this exactly owe nothing to chance; shorter waits than the shortest are mostly noise.
_EXACT_SHARE, _EXACT_SECONDS, _SHORTEST = 0.015, 0.004, 0.05
# How many waits have to agree with the others before it is no accident.
_AGREEMENTS = 3

# How waits grow without chance: by a factor, or by the same amount each time.
_FACTORS = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 10.0)


def come_at_once(waits: Sequence[float]) -> bool:
    """Whether a client came back at once, again and again; a single quick retry is no harm."""
    if len(waits) < 2 or _grow(waits):
        return False
    return median(waits) < _AT_ONCE or _stay_short(waits)


def stay_the_same(waits: Sequence[float]) -> bool:
    """Whether three waits or more are all of one length."""
    return len(waits) >= 3 and max(waits) - min(waits) <= _SAME_SHARE * min(waits) + _SAME_SECONDS


def have_no_jitter(series: Iterable[Sequence[float]]) -> bool | None:
    """Whether the waits of some calls follow a rule exactly; None when there are too few to tell."""
    long = [waits for waits in series if min(waits) >= _SHORTEST]
    agreements = [_follows_a_rule(waits) for waits in long if len(waits) > _AGREEMENTS]
    together = _same_in_each(long)
    if not agreements and together is None:
        return None
    return any(agreements) or together is True


def _stay_short(waits: Sequence[float]) -> bool:
    """Whether many waits are all short, and the later ones hardly longer than the earlier."""
    half = len(waits) // 2
    enough = len(waits) >= _NEARLY_WAITS and max(waits) < _NEARLY_AT_ONCE
    return enough and median(waits[half:]) < 1.3 * median(waits[:half])


def _grow(waits: Sequence[float]) -> bool:
    """Whether waits, however short, grow steadily."""
    steady = all(after >= 1.2 * before for before, after in pairwise(waits))
    return steady and waits[-1] >= max(1.5 * waits[0], _AT_ONCE / 2)


def _follows_a_rule(waits: Sequence[float]) -> bool:
    """Whether each wait is what a plain rule makes of the first one."""
    rules = [[factor**number for number in range(len(waits))] for factor in _FACTORS]
    rules.append([number + 1.0 for number in range(len(waits))])
    return any(_agree([waited / step for waited, step in zip(waits, rule, strict=True)]) for rule in rules)


def _same_in_each(series: Sequence[Sequence[float]]) -> bool | None:
    """Whether the same wait comes at the same place in every call; None when there are too few calls."""
    columns = [
        [waits[place] for waits in series if len(waits) > place] for place in range(max(map(len, series), default=0))
    ]
    agreements = sum(len(column) - 1 for column in columns)
    return all(map(_agree, columns)) if agreements >= _AGREEMENTS and len(series) > 1 else None


def _agree(waits: Sequence[float]) -> bool:
    return max(waits) - min(waits) <= _EXACT_SHARE * min(waits) + _EXACT_SECONDS

"""A profile as a picture: how its first tokens and its gaps are distributed, drawn in blocks."""

from collections.abc import Sequence
from itertools import pairwise
from math import log
from statistics import median

from mockserver.latency.profiles import Profile
from mockserver.latency.timing import draw_timing

_BLOCKS = "▁▂▃▄▅▆▇█"
_BARS = 30
_ANSWERS = 512
_STEPS = 4096
# The picture leaves out the outermost of so many parts at either end.
_OUTERMOST = 200
# The prompt for which the time to the first token is drawn: a paragraph.
PROMPT_TOKENS = 100


def picture(profile: Profile) -> list[str]:
    """Two lines of at most 78 columns: the time to the first token, and from one chunk of tokens to the next.

    The axis is logarithmic, from the value at its left to the one at its right.
    """
    paces = [draw_timing(profile, 1, PROMPT_TOKENS, key) for key in range(_ANSWERS)]
    firsts = [made.schedule[0] if made.schedule else 0.0 for made in paces]
    instants = dict.fromkeys(draw_timing(profile, _STEPS, PROMPT_TOKENS, 0).schedule)
    gaps = [after - before for before, after in pairwise(instants)] or [0.0]
    return [_line("first token", firsts), _line("gap", gaps)]


def _line(name: str, values: Sequence[float]) -> str:
    ordered = sorted(values)
    outermost = len(ordered) // _OUTERMOST
    shown = ordered[outermost : len(ordered) - outermost]
    least, most = shown[0], shown[-1]
    half = median(values)
    if most - least <= 1e-9 + least * 1e-6:
        return f"{name:11} {'':9} {_BLOCKS[-1]:{_BARS}} always {_time(half)}"
    return f"{name:11} {_time(least):>9} {_bars(shown)} {_time(most):9} half in {_time(half)}"


def _bars(ordered: Sequence[float]) -> str:
    """A histogram of sorted values; empty bars are blank."""
    least = max(ordered[0], ordered[-1] / 1e6, 1e-9)
    width = log(ordered[-1] / least) / _BARS
    counts = [0] * _BARS
    for value in ordered:
        counts[min(int(log(max(value, least) / least) / width), _BARS - 1)] += 1
    highest = max(counts)
    return "".join(_BLOCKS[-(-count * len(_BLOCKS) // highest) - 1] if count else " " for count in counts)


def _time(seconds: float) -> str:
    if seconds == 0:
        return "0"
    if seconds < 0.001:
        return f"{seconds * 1e6:.0f} us"
    if seconds < 1:
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds:.3g} s"

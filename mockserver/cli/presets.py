"""`mockserver presets`: the latency presets, and a picture of each: how first tokens and gaps are distributed."""

import argparse
from collections.abc import Sequence
from itertools import pairwise
from math import log
from pathlib import Path
from statistics import median
from textwrap import fill

from mockserver.cli.command import Command, argument
from mockserver.core.installed import load_dialects
from mockserver.latency.parse_latency import NotationError, preset_profile, read_profile
from mockserver.latency.profiles import OFF, REALISTIC, Profile, presets
from mockserver.latency.timing import draw_timing
from mockserver.server.files import TraceFiles
from mockserver.state.settings import ConfigError, Settings
from mockserver.state.settings.checks import check_all

_BLOCKS = "▁▂▃▄▅▆▇█"
_BARS = 30
_ANSWERS = 512
_STEPS = 4096
# The picture leaves out the outermost of so many parts at either end.
_OUTERMOST = 200
# The prompt for which the time to the first token is drawn: a paragraph.
_PROMPT_TOKENS = 100


def show_presets(options: argparse.Namespace) -> int:
    """Print all presets, or the one latency that is given, with pictures of their distributions."""
    if options.latency is not None:
        try:
            print("\n".join(picture(read_profile(options.latency, traces=TraceFiles(Path())))))
        except NotationError as error:
            raise ConfigError(f"--latency {options.latency!r}: {error}") from None
        return 0
    check_all(Settings(), load_dialects())
    print(f"{OFF}: no delays\n{REALISTIC}: the preset of each dialect")
    for name, preset in presets().items():
        print(f"\n{name}: {preset.summary}")
        print(fill(preset.latency, 78, initial_indent="  ", subsequent_indent="  "))
        for line in picture(preset_profile(name)):
            print(f"  {line}")
    print(f"\nTimes to the first token are for a prompt of {_PROMPT_TOKENS} tokens. Axes are logarithmic.")
    return 0


def picture(profile: Profile) -> list[str]:
    """Two lines of at most 78 columns: the time to the first token, and from one chunk of tokens to the next.

    The axis is logarithmic, from the value at its left to the one at its right.
    """
    paces = [draw_timing(profile, 1, _PROMPT_TOKENS, key) for key in range(_ANSWERS)]
    firsts = [made.schedule[0] if made.schedule else 0.0 for made in paces]
    instants = dict.fromkeys(draw_timing(profile, _STEPS, _PROMPT_TOKENS, 0).schedule)
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


COMMAND = Command(
    show_presets,
    (argument("--latency", metavar="LATENCY", help="show this latency instead, such as 'slow, jitter=0.3'"),),
)

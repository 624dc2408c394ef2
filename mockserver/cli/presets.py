"""`mockserver presets`: the latency presets, and how a latency looks."""

import argparse
from pathlib import Path
from textwrap import fill

from mockserver.cli.command import Command, argument
from mockserver.latency.parse_latency import NotationError, preset_profile, read_profile
from mockserver.latency.pictures import PROMPT_TOKENS, picture
from mockserver.latency.profiles import OFF, REALISTIC, presets
from mockserver.server.files import TraceFiles
from mockserver.state.settings import ConfigError


def show_presets(options: argparse.Namespace) -> int:
    """Print all presets, or the one latency that is given, with pictures of their distributions."""
    if options.latency is not None:
        try:
            print("\n".join(picture(read_profile(options.latency, traces=TraceFiles(Path())))))
        except NotationError as error:
            raise ConfigError(f"--latency {options.latency!r}: {error}") from None
        return 0
    print(f"{OFF}: no delays\n{REALISTIC}: the preset of each dialect")
    for name, preset in presets().items():
        print(f"\n{name}: {preset.summary}")
        print(fill(preset.latency, 78, initial_indent="  ", subsequent_indent="  "))
        for line in picture(preset_profile(name)):
            print(f"  {line}")
    print(f"\nTimes to the first token are for a prompt of {PROMPT_TOKENS} tokens. Axes are logarithmic.")
    return 0


COMMAND = Command(
    show_presets,
    (argument("--latency", metavar="LATENCY", help="show this latency instead, such as 'slow, jitter=0.3'"),),
)

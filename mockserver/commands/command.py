"""What a command is, and how it complains."""

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

Argument = tuple[tuple[str, ...], Mapping[str, Any]]


class Command(NamedTuple):
    """A command: what runs it, its own arguments, and whether it takes all settings too; `about` is said by its help
    alone."""

    name: str
    run: Callable[[argparse.Namespace], int]
    help: str
    arguments: tuple[Argument, ...] = ()
    takes_settings: bool = False
    about: str = ""


def argument(*names: str, **how: Any) -> Argument:
    """An argument, as argparse takes it."""
    return names, how


def announce(words: str) -> None:
    """Say on the standard output what a server has to say. It serves on where nobody reads that to its end, as in
    `mockserver serve | head -1`, or where it cannot be said."""
    if sys.stdout is None:
        return
    try:
        # In one piece: whoever reads the first line has it all.
        sys.stdout.write(f"{words}\n")
        sys.stdout.flush()
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            complain(f"the standard output takes nothing: {error.strerror}")
        # What was not said is not to be said at the end either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def flush_outputs() -> None:
    """Let out what was said, as far as there is anybody to hear it."""
    for output in (sys.stdout, sys.stderr):
        if output is not None:
            with suppress(OSError):
                output.flush()


def complain(words: str) -> None:
    """Say on the standard error what is wrong."""
    print(f"mockserver: {words}", file=sys.stderr)

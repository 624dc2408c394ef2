"""What a command is, and how it complains."""

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

# How places are written that may be empty, or hold more than one word.
_MANY = {"?": "[{}]", "*": "{} ...", "+": "{} ..."}

Argument = tuple[tuple[str, ...], Mapping[str, Any]]


class Command(NamedTuple):
    """A command: what runs it, its own arguments, and whether it takes all settings too.

    Its help tells `about` it more than its line in the list of commands, and of the settings those that `matter`, where
    not all of them do. `words` are those of which its first place is one.
    """

    name: str
    run: Callable[[argparse.Namespace], int]
    help: str
    arguments: tuple[Argument, ...] = ()
    takes_settings: bool = False
    about: str = ""
    matter: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

    @property
    def usage(self) -> str:
        """How it is written."""
        places = (how for names, how in self.arguments if not names[0].startswith("-"))
        words = (_MANY.get(how.get("nargs", ""), "{}").format(how["metavar"]) for how in places)
        return " ".join(("mockserver", self.name, "[options]", *words))

    @property
    def own_flags(self) -> tuple[str, ...]:
        """The options that it takes beside settings."""
        return tuple(name for names, _ in self.arguments for name in names if name.startswith("--"))


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

"""The definition of a command, and its output."""

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

# The notation of positional arguments that are optional or repeatable.
_MANY = {"?": "[{}]", "*": "{} ...", "+": "{} ..."}

Argument = tuple[tuple[str, ...], Mapping[str, Any]]


class Command(NamedTuple):
    """A command: the function that runs it, its own arguments, and whether it also takes all settings.

    `about` is the description in its help; `help` is its line in the list of commands. Its help lists the settings that
    `matter`, or all. `words` are the possible values of its first positional argument.
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
        """Its usage line."""
        places = (how for names, how in self.arguments if not names[0].startswith("-"))
        words = (_MANY.get(how.get("nargs", ""), "{}").format(how["metavar"]) for how in places)
        return " ".join(("mockserver", self.name, "[options]", *words))

    @property
    def own_flags(self) -> tuple[str, ...]:
        """The options that it takes besides settings."""
        return tuple(name for names, _ in self.arguments for name in names if name.startswith("--"))


def argument(*names: str, **how: Any) -> Argument:
    """An argument in argparse's terms."""
    return names, how


def announce(words: str) -> None:
    """Write a server's message to standard output. The server continues if nobody reads it to the end, as in
    `mockserver serve | head -1`, or if it cannot be written."""
    if sys.stdout is None:
        return
    try:
        # In a single write: a reader of the first line gets it all.
        sys.stdout.write(f"{words}\n")
        sys.stdout.flush()
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            complain(f"cannot write to standard output: {error.strerror}")
        # What could not be written must not be written at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def flush_outputs() -> None:
    """Flush standard output and error, ignoring closed ones, and those that a signal has interrupted in doing so."""
    for output in (sys.stdout, sys.stderr):
        if output is not None:
            with suppress(OSError, RuntimeError):
                output.flush()


def complain(words: str) -> None:
    """Write an error message to standard error."""
    print(f"mockserver: {words}", file=sys.stderr)

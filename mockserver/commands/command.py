"""What a command is, and how it complains."""

import argparse
import sys
from collections.abc import Callable, Mapping
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


def complain(words: str) -> None:
    """Say on the standard error what is wrong."""
    print(f"mockserver: {words}", file=sys.stderr)

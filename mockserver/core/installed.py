"""Which dialects are installed: all are found through the entry-point group `mockserver.dialects`, built-in or not."""

import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from operator import attrgetter
from pathlib import Path

from mockserver.core.dialects import Dialect

GROUP = "mockserver.dialects"
_ENTRIES = re.compile(rf"^\[{re.escape(GROUP)}\]$(.*?)(?=^\[|\Z)", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"^(\S+) *= *(\S+)$", re.MULTILINE)


def load_dialects() -> dict[str, Dialect]:
    """Every installed dialect by name."""
    return {name: load_dialect(name) for name in entries()}


@cache
def load_dialect(name: str) -> Dialect:
    """The installed dialect of that name; KeyError if there is none."""
    module, _, place = entries()[name].partition(":")
    dialect: Dialect = attrgetter(place)(import_module(module))
    return dialect


@cache
def entries() -> dict[str, str]:
    """The entry point of each dialect (`module:attribute`), by its name."""
    # `importlib.metadata` would take a tenth of the server's start, so it is only asked when no folder has any entry:
    # packages may be imported from an archive.
    found = {name: place for folder in reversed(sys.path) for name, place in _entries_in(folder)}
    if not found:
        from importlib.metadata import entry_points

        found = {entry.name: entry.value for entry in entry_points(group=GROUP)}
    return dict(sorted(found.items()))


def _entries_in(folder: str) -> Iterator[tuple[str, str]]:
    """The entry points of the packages installed in a folder; none if there is no such folder."""
    for file in Path(folder).glob("*.*-info/entry_points.txt"):
        for group in _ENTRIES.findall(file.read_text("utf-8", errors="replace")):
            yield from _ENTRY.findall(group)

"""The installed dialects: found and loaded.

To add a dialect, write a folder whose `dialect.py` holds one `Dialect`, and name that in the entry-point group
`mockserver.dialects`. Built-in or not, all are found through it.
"""

import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from traceback import walk_tb

from mockserver.core.dialect_checks import defects_of
from mockserver.core.dialects import Dialect

GROUP = "mockserver.dialects"
_ENTRIES = re.compile(rf"^\[{re.escape(GROUP)}\]$(.*?)(?=^\[|\Z)", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"^(\S+) *= *(\S+)$", re.MULTILINE)
# One mistake may show in many places.
_MOST_DEFECTS = 3


class DialectError(ImportError):
    """An installed dialect that cannot be loaded, or is not whole."""


def load_dialects() -> dict[str, Dialect]:
    """Every installed dialect by name. Raises DialectError."""
    return {name: load_dialect(name) for name in entries()}


@cache
def load_dialect(name: str) -> Dialect:
    """The installed dialect of that name; KeyError if there is none. Raises DialectError."""
    entry = entries()[name]
    module, _, place = entry.partition(":")
    try:
        dialect: Dialect = attrgetter(place)(import_module(module))
    except Exception as error:
        told = f"{type(error).__name__}: {error}{_line_of(error, module)}"
        raise DialectError(f"dialect {name} ({entry}): {told}") from error
    # A test looks at the built-in ones, so that no start of the server has to.
    defects = [] if _is_built_in(module) else [*dict.fromkeys(defects_of(dialect))]
    if not defects and dialect.name != name:
        defects = [f"its name is {dialect.name!r}, but that of its entry point {name!r}"]
    if defects:
        raise DialectError(f"dialect {name} ({entry}): " + "; ".join(defects[:_MOST_DEFECTS]))
    return dialect


def _line_of(error: BaseException, module: str) -> str:
    """The line of a module at which an error has arisen; empty if that is elsewhere."""
    lines = [line for frame, line in walk_tb(error.__traceback__) if frame.f_globals.get("__name__") == module]
    return f" (line {lines[-1]})" if lines else ""


@cache
def entries() -> dict[str, str]:
    """The entry point of each dialect (`module:attribute`), by its name. Raises DialectError if one has the name of a
    built-in one."""
    # `importlib.metadata` would take a tenth of the server's start, so it is only asked when no folder has any entry:
    # packages may be imported from an archive.
    pairs = [pair for folder in reversed(sys.path) for pair in _entries_in(folder)]
    found = dict(pairs)
    for name, place in pairs:
        if _is_built_in(place) != _is_built_in(found[name]):
            raise DialectError(f"dialect {name}: both {place} and {found[name]} have this name; yours needs another")
    if not found:
        from importlib.metadata import entry_points

        found = {entry.name: entry.value for entry in entry_points(group=GROUP)}
    return dict(sorted(found.items()))


def _is_built_in(entry: str) -> bool:
    return entry.startswith("mockserver.")


def _entries_in(folder: str) -> Iterator[tuple[str, str]]:
    """The entry points of the packages installed in a folder; none if there is no such folder."""
    for file in Path(folder).glob("*.*-info/entry_points.txt"):
        for group in _ENTRIES.findall(file.read_text("utf-8", errors="replace")):
            yield from _ENTRY.findall(group)

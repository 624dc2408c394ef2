"""Which dialects are installed: found through the entry-point group `mockserver.dialects`, the built-in ones too."""

from functools import cache
from importlib.metadata import EntryPoint, entry_points

from mockserver.core.dialects import Dialect

_GROUP = "mockserver.dialects"


def load_dialects() -> dict[str, Dialect]:
    """Every installed dialect by name."""
    return {name: load_dialect(name) for name in _entries()}


@cache
def load_dialect(name: str) -> Dialect:
    """One installed dialect; KeyError when there is none of that name."""
    dialect: Dialect = _entries()[name].load()
    return dialect


@cache
def _entries() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in sorted(entry_points(group=_GROUP), key=lambda entry: entry.name)}

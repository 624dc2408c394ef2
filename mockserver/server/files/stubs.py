"""Stub files: the folder that `--stubs` names, read when the settings are put in force.

Every `*.toml` (a list of [[stub]]) and `*.json` ({"stubs": [...]} or {"stub": [...]}, a list, or one table) in it and
its subfolders is read, in the order of the names; a reply's `file` is relative to its stub file. All files that are
read are noted in `sources`.
"""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mockserver.core.dialects import Dialect
from mockserver.core.toml import read_toml
from mockserver.server.files.sources import Sources
from mockserver.state.abilities import check_abilities
from mockserver.state.configuration.names import Operations
from mockserver.state.configuration.toml_places import located
from mockserver.state.routing import operations_of
from mockserver.state.settings import ConfigError, Settings
from mockserver.state.stubs.notation import NOTES, check_names, check_unique, read_stubs
from mockserver.state.stubs.registry import Stub
from mockserver.state.stubs.values import StubError

_SUFFIXES = (".toml", ".json")
_NO_STUBS = ("_", ".")


def standing_stubs(
    settings: Settings, dialects: Mapping[str, Dialect], sources: Sources | None = None
) -> tuple[Stub, ...]:
    """The stubs of the settings: those of the config file, then those of the folder. Raises ConfigError."""
    operations = operations_of(dialects)
    stubs = (*settings.stub, *(load_stubs(Path(settings.stubs), operations, sources) if settings.stubs else ()))
    try:
        check_unique(stubs)
        for stub in settings.stub:
            check_names(stub, operations)
        for stub in stubs:
            check_abilities(stub, dialects, settings)
    except StubError as error:
        raise ConfigError(str(error)) from None
    return stubs


def load_stubs(folder: Path, operations: Operations | None = None, sources: Sources | None = None) -> tuple[Stub, ...]:
    """The stubs of a folder's files; if `operations` are given, stubs must not match others. Raises ConfigError, which
    names the file and the place in it."""
    sources = Sources() if sources is None else sources
    files = sorted(map(Path, sources.note_folder(folder, _stub_files)))
    if folder.is_file():
        raise ConfigError(f"stubs: {folder} is a file; name the folder that it is in")
    if not folder.is_dir():
        raise ConfigError(f"stubs: folder {folder} does not exist")
    other = None if files else min(map(Path, _files(str(folder))), default=None)
    if other is not None:
        raise ConfigError(
            f"stubs: no *.toml or *.json files in {folder}, only others such as {other.relative_to(folder)}"
        )
    return tuple(stub for path in files for stub in _load(path, folder, operations, sources))


def stubs_at(path: Path, operations: Operations) -> tuple[Stub, ...]:
    """The stubs of a folder's files, or of one file, as a server would read them. Raises ConfigError."""
    stubs = load_stubs(path, operations) if path.is_dir() else _load(path, path.parent, operations, Sources())
    try:
        check_unique(stubs)
    except StubError as error:
        raise ConfigError(f"{path}: {error}") from None
    return stubs


def _stub_files(folder: str) -> Iterator[str]:
    return (path for path in _files(folder) if path.endswith(_SUFFIXES))


def _files(folder: str) -> Iterator[str]:
    """The files in a folder and its subfolders, except hidden ones and those with an underscore, which hold bodies."""
    for place, folders, names in os.walk(folder):
        folders[:] = (name for name in folders if not name.startswith(_NO_STUBS))
        paths = (os.path.join(place, name) for name in names if not name.startswith(_NO_STUBS))
        yield from filter(os.path.isfile, paths)


def _load(path: Path, folder: Path, operations: Operations | None, sources: Sources) -> tuple[Stub, ...]:
    name, text = str(path.relative_to(folder)), ""
    try:
        text = sources.note(path).read_text(encoding="utf-8-sig")
        document = read_toml(text) if path.suffix == ".toml" else json.loads(text)
        tables = _tables(document, path.suffix)
        stubs = read_stubs(tables, "stub", lambda wanted: sources.note(path.parent / wanted).read_bytes(), name)
        for number, stub in enumerate(stubs if operations is not None else ()):
            check_names(stub, operations or {}, f"stub[{number}]")
        return stubs
    except StubError as error:
        message = located(str(error), text, name) if path.suffix == ".toml" else f"{name}: {error}"
        raise ConfigError(message) from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{name}: {error}") from None
    except OSError as error:
        raise ConfigError(f"{name}: {error.strerror or error}") from None


def _tables(document: Any, suffix: str) -> Any:
    """The list of tables in a document; the name of its schema and comments are for editors and people."""
    if not isinstance(document, dict):
        return document
    document = {key: value for key, value in document.items() if key not in NOTES}
    if suffix == ".json" and document.keys() == {"stubs"}:
        return document["stubs"]
    if suffix == ".json" and "stub" not in document:
        return [document]
    others = [key for key in document if key != "stub"]
    if others:
        raise StubError(f"{others[0]}: a stub file can contain only [[stub]]")
    return document.get("stub", [])

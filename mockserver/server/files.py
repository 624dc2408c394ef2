"""Files that a server reads: its config, its stubs, recorded traces; each is noted, so that changes are noticed."""

import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from mockserver.core.dialects import Dialect
from mockserver.core.installed import load_dialects
from mockserver.core.toml import read_toml
from mockserver.latency.traces import NO_TRACES, TraceError, TraceFile, Traces, read_trace
from mockserver.state.settings import ConfigError, Settings
from mockserver.state.settings.config_file import from_toml, located
from mockserver.state.settings.options import settle
from mockserver.state.stub_support import check_stub
from mockserver.state.stubs.parse_stubs import NOTES, check_names, check_unique, read_stubs
from mockserver.state.stubs.stub import Stub
from mockserver.state.stubs.values import StubError

# Distinguishes the versions of a file; None if there is no file.
Stamp = tuple[int, int, int] | None

_NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})
_LONGEST_TRACE = 32 * 1024 * 1024  # bytes
_STUB_SUFFIXES = (".toml", ".json")
_NO_STUBS = ("_", ".")


def stamp_of(path: str) -> Stamp:
    """The version of a file."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):  # no file has a null byte in its name
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


class Sources:
    """Files and folders. Each is noted before it is read: changes after that are noticed, even during reading, and a
    file that could not be read is noticed when it appears."""

    def __init__(self) -> None:
        self._files: dict[str, Stamp] = {}
        self._folders: dict[str, frozenset[str]] = {}

    def __bool__(self) -> bool:
        return bool(self._files or self._folders)

    def note(self, path: Path) -> Path:
        """Note a file that is about to be read, and return its path. The first version noted counts."""
        self._files.setdefault(str(path), stamp_of(str(path)))
        return path

    def read(self, path: Path) -> bytes:
        """Note a file, and return its content. Raises OSError, also for a device, which may have no end."""
        self.note(path)
        if "\0" in str(path) or (path.exists() and not path.is_file()):
            raise OSError("is not a file")
        return path.read_bytes()

    def note_folder(self, folder: Path) -> frozenset[str]:
        """Note a folder whose stub files are about to be read, and return these."""
        found = self._folders[str(folder)] = frozenset(_stub_files(str(folder)))
        return found

    def changed(self) -> list[str]:
        """The paths of all files that have changed, appeared or disappeared."""
        changed = [path for path, stamp in self._files.items() if stamp_of(path) != stamp]
        for folder, files in self._folders.items():
            changed += sorted(files.symmetric_difference(_stub_files(folder)))
        return list(dict.fromkeys(changed))


# --- traces -------------------------------------------------------------------------------------------------------


class TraceFiles:
    """Reads each recording once; file names are relative to a folder. Recordings that are already `known` are not read
    again, and the files that are read are noted in the `sources`."""

    def __init__(self, folder: Path, known: Traces = NO_TRACES, sources: Sources | None = None) -> None:
        self._folder = folder
        self._known = known
        self._sources = Sources() if sources is None else sources
        self._read: dict[TraceFile, tuple[float, ...]] = {}

    def __call__(self, recording: TraceFile) -> tuple[float, ...]:
        """The times of a recording, in seconds. Raises TraceError."""
        found = self._known.known.get(recording) or self._read.get(recording)
        if found is None:
            path = self._sources.note(self._folder / recording.file)
            found = self._read[recording] = read_trace(recording, _trace(path))
        return found

    def traces(self) -> Traces:
        """All recordings that are known by now."""
        return Traces(self._read).over(self._known)


def merged_traces(config: Traces, options: Traces) -> Traces:
    """The recordings of the config file and of the options. Raises ConfigError if the same name refers to two files."""
    for recording in config.known.keys() & options.known.keys():
        if config.known[recording] != options.known[recording]:
            raise ConfigError(
                f"latency: {recording.file} names different files in the config's folder and in the working directory; "
                "write the full path of one of them"
            )
    return options.over(config)


def _trace(path: Path) -> bytes:
    if not path.is_file():
        raise TraceError(f"file {path} does not exist")
    try:
        with path.open("rb") as file:
            data = file.read(_LONGEST_TRACE + 1)
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror}") from None
    if len(data) > _LONGEST_TRACE:
        raise TraceError(f"{path}: has more than {_LONGEST_TRACE // 1024**2} MiB")
    return data


# --- the config file ---------------------------------------------------------------------------------------------


def settings_by(
    config: Path | None,
    read_beside: Callable[[TraceFiles], Mapping[str, Any]],
    *,
    usual: Mapping[str, Any] = _NO_OPTIONS,
    without: Collection[str] = (),
    pinned: Collection[str] = (),
    sources: Sources | None = None,
) -> Settings:
    """The settings of a config file, if there is one, over the `usual` ones and under those that are given besides.

    `read_beside` reads the latter, which may name traces. The routes of the file override neither these nor the
    `pinned` ones; settings named in `without` are ignored in the file. File names in the config are relative to it,
    others to the working directory. All files that are read are noted in the `sources`. Raises ConfigError.
    """
    sources = Sources() if sources is None else sources
    here = TraceFiles(Path(), sources=sources)
    there = TraceFiles(config.parent if config else Path(), sources=sources)
    beside = read_beside(here)
    file = read_config(config, there, sources) if config else {}
    return settle(
        usual,
        {name: value for name, value in file.items() if name not in without},
        beside,
        {"pinned": frozenset((*pinned, *beside)), "traces": merged_traces(there.traces(), here.traces())},
    )


def read_config(path: Path, traces: TraceFiles, sources: Sources | None = None) -> dict[str, Any]:
    """The settings of a config file, by name; its latencies may name `traces`. Raises ConfigError, with the file and
    the line. All files that are read are noted in the `sources`."""
    sources = Sources() if sources is None else sources
    try:
        text = sources.note(path).read_text(encoding="utf-8-sig")
        file = from_toml(text, str(path), lambda name: sources.read(path.parent / name), traces, load_dialects())
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: is not UTF-8 text") from None
    # File names are relative to the config file, wherever the server is started.
    return file | {"stubs": str(path.parent / file["stubs"])} if file.get("stubs") else file


# --- stubs --------------------------------------------------------------------------------------------------------
# Every `*.toml` (a list of [[stub]]) and `*.json` ({"stubs": [...]} or {"stub": [...]}, a list, or one table) in the
# folder that `--stubs` names and its subfolders is read, in the order of the names; a reply's `file` is relative to its
# stub file.


def configured_stubs(
    settings: Settings, dialects: Mapping[str, Dialect], sources: Sources | None = None
) -> tuple[Stub, ...]:
    """The stubs of the settings: those of the config file, then those of the folder. Raises ConfigError."""
    stubs = (*settings.stub, *(load_stubs(Path(settings.stubs), dialects, sources) if settings.stubs else ()))
    try:
        check_unique(stubs)
        for stub in stubs:
            check_stub(stub, dialects, settings)
    except StubError as error:
        raise ConfigError(str(error)) from None
    return stubs


def load_stubs(folder: Path, dialects: Mapping[str, Dialect], sources: Sources | None = None) -> tuple[Stub, ...]:
    """The stubs of a folder's files, or of a single file, which must match none but these dialects. Raises ConfigError,
    which names the file and the place in it."""
    sources = Sources() if sources is None else sources
    if folder.is_file():
        if folder.suffix not in _STUB_SUFFIXES:
            raise ConfigError(f"stubs: {folder} is no *.toml or *.json file")
        return _load_stubs(folder, folder.parent, dialects, sources)
    files = sorted(map(Path, sources.note_folder(folder)))
    if not folder.is_dir():
        # A single file that is gone may come back.
        sources.note(folder)
        raise ConfigError(f"stubs: {folder} does not exist")
    other = None if files else min(map(Path, _files(str(folder))), default=None)
    if other is not None:
        raise ConfigError(
            f"stubs: no *.toml or *.json files in {folder}, only others such as {other.relative_to(folder)}"
        )
    return tuple(stub for path in files for stub in _load_stubs(path, folder, dialects, sources))


def _stub_files(folder: str) -> Iterator[str]:
    return (path for path in _files(folder) if path.endswith(_STUB_SUFFIXES))


def _files(folder: str) -> Iterator[str]:
    """The files in a folder and its subfolders, except hidden ones and those with an underscore, which hold bodies."""
    for place, folders, names in os.walk(folder) if "\0" not in folder else ():
        folders[:] = (name for name in folders if not name.startswith(_NO_STUBS))
        paths = (os.path.join(place, name) for name in names if not name.startswith(_NO_STUBS))
        yield from filter(os.path.isfile, paths)


def _load_stubs(path: Path, folder: Path, dialects: Mapping[str, Dialect], sources: Sources) -> tuple[Stub, ...]:
    name, text = str(path.relative_to(folder)), ""
    try:
        text = sources.note(path).read_text(encoding="utf-8-sig")
        document = read_toml(text) if path.suffix == ".toml" else json.loads(text)
        tables = _stub_tables(document, path.suffix)
        stubs = read_stubs(tables, "stub", lambda wanted: sources.read(path.parent / wanted), name)
        for number, stub in enumerate(stubs):
            check_names(stub, dialects, f"stub[{number}]")
        return stubs
    except StubError as error:
        message = located(str(error), text, name) if path.suffix == ".toml" else f"{name}: {error}"
        raise ConfigError(message) from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{name}: {error}") from None
    except OSError as error:
        raise ConfigError(f"{name}: {error.strerror or error}") from None


def _stub_tables(document: Any, suffix: str) -> Any:
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

"""Tapes: the files that takes are written to, each when it has ended; what is written stays if a recorder dies."""

from collections import Counter
from collections.abc import Callable, Mapping
from io import SEEK_END
from pathlib import Path
from typing import BinaryIO, NamedTuple

import orjson

from mockserver.control.journal.archives import ARCHIVE_BEGIN, ARCHIVE_END
from mockserver.control.settings import ConfigError, Settings
from mockserver.serving.recording.takes import Take, archive_entry, journal_line


class _Form(NamedTuple):
    """A format of files: `write` makes the item of a take, `begin` readies a file for items and counts those it has, by
    namespace. Items are separated by `between`; `end` follows the last one.
    """

    write: Callable[[Take, int, Settings], bytes]
    begin: Callable[[BinaryIO, Path, bool], Counter[str]]
    between: bytes
    end: bytes


class Tape:
    """A file to which takes are appended. Raises ConfigError if it cannot be one."""

    def __init__(self, path: Path, settings: Settings, *, force: bool = False) -> None:
        form = _FORMS.get(path.suffix.lower())
        if form is None:
            raise ConfigError(f"record: {path}: the name of a recording ends in {' or '.join(_FORMS)}")
        self.path, self.taken = path, 0
        self._form, self._settings = form, settings
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("r+b" if path.exists() else "x+b")
        except OSError as error:
            raise ConfigError(f"record: {error.filename or path}: {error.strerror}") from None
        try:
            self._counts = form.begin(self._file, path, force)
            self._file.flush()
        except ConfigError:
            self._file.close()
            raise

    def write(self, take: Take) -> None:
        """Append a take. Raises OSError."""
        form, namespace = self._form, take.target.namespace
        # Each namespace numbers its own exchanges, as in a journal.
        item = form.write(take, self._counts[namespace] + 1, self._settings)
        self._file.seek(-len(form.end), SEEK_END)
        self._file.write((form.between if self._counts else b"") + item + form.end)
        self._file.flush()
        self._counts[namespace] += 1
        self.taken += 1

    def close(self) -> None:
        """Close the file, and remove it if it holds nothing."""
        self._file.close()
        if not self._counts:
            self.path.unlink(missing_ok=True)


def _line(take: Take, number: int, settings: Settings) -> bytes:
    return journal_line(take, number, settings) + b"\n"


def _begin_lines(file: BinaryIO, path: Path, force: bool) -> Counter[str]:
    """Go on after the lines of a journal; with `force` the file is emptied."""
    if force:
        file.truncate(0)
    counts, line = Counter[str](), b"\n"
    for number, line in enumerate(file, 1):
        if line.strip():
            counts[_namespace(line, f"record: {path}, line {number}")] += 1
    if not line.endswith(b"\n"):
        file.write(b"\n")
    return counts


def _namespace(line: bytes, place: str) -> str:
    """The namespace of an exchange in a journal."""
    try:
        known = orjson.loads(line)
    except orjson.JSONDecodeError:
        known = None
    if not isinstance(known, Mapping) or "number" not in known:
        raise ConfigError(f"{place}: is no exchange of a journal; choose another name, or --force")
    return str(known.get("namespace", ""))


def _begin_archive(file: BinaryIO, path: Path, force: bool) -> Counter[str]:
    """Begin an archive; an older one is only replaced by `force`."""
    if file.read(1) and not force:
        raise ConfigError(f"record: {path} is there already; --force replaces it, and a .jsonl is appended to")
    file.seek(0)
    file.truncate()
    file.write(ARCHIVE_BEGIN + ARCHIVE_END)
    return Counter()


_FORMS: Mapping[str, _Form] = {
    ".jsonl": _Form(_line, _begin_lines, b"", b""),
    ".har": _Form(archive_entry, _begin_archive, b",", ARCHIVE_END),
}

"""Tapes: the files that takes are written to, each when it has ended; what is written stays if a recorder dies."""

from collections.abc import Callable, Mapping
from io import SEEK_END
from pathlib import Path
from typing import BinaryIO, NamedTuple

import orjson

from mockserver.control.journal.archives import har
from mockserver.control.settings import ConfigError, Settings
from mockserver.serving.recording.takes import Take, archive_entry, journal_line


class _Form(NamedTuple):
    """A format of files: `write` makes the item of a take, `begin` readies a file for items and counts those it has.

    Items are separated by `between`; `end` follows the last one.
    """

    write: Callable[[Take, int, Settings], bytes]
    begin: Callable[[BinaryIO, Path, bool], int]
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
            self._before = form.begin(self._file, path, force)
            self._file.flush()
        except ConfigError:
            self._file.close()
            raise

    def write(self, take: Take) -> None:
        """Append a take. Raises OSError."""
        form, number = self._form, self._before + self.taken + 1
        item = form.write(take, number, self._settings)
        self._file.seek(-len(form.end), SEEK_END)
        self._file.write((form.between if number > 1 else b"") + item + form.end)
        self._file.flush()
        self.taken += 1

    def close(self) -> None:
        """Close the file, and remove it if it holds nothing."""
        self._file.close()
        if not self.taken and not self._before:
            self.path.unlink(missing_ok=True)


def _line(take: Take, number: int, settings: Settings) -> bytes:
    return journal_line(take, number, settings) + b"\n"


def _begin_lines(file: BinaryIO, path: Path, force: bool) -> int:
    """Go on after the lines of a journal; with `force` the file is emptied."""
    if force:
        file.truncate(0)
    count, last = 0, b""
    for line in file:
        count, last = count + bool(line.strip()), line
    if not last:
        return 0
    try:
        known = orjson.loads(last)
    except orjson.JSONDecodeError:
        known = None
    if not isinstance(known, Mapping) or "number" not in known:
        raise ConfigError(f"record: {path}: its last line is no exchange of a journal; choose another name, or --force")
    if not last.endswith(b"\n"):
        file.write(b"\n")
    return count


def _begin_archive(file: BinaryIO, path: Path, force: bool) -> int:
    """Begin an archive; an older one is only replaced by `force`."""
    if file.read(1) and not force:
        raise ConfigError(f"record: {path} is there already; --force replaces it, and a .jsonl is appended to")
    file.seek(0)
    file.truncate()
    file.write(_ARCHIVE_BEGIN + _ARCHIVE_END)
    return 0


_ARCHIVE_BEGIN, _, _ARCHIVE_END = orjson.dumps(har([])).rpartition(b"[")
_ARCHIVE_BEGIN += b"["
_FORMS: Mapping[str, _Form] = {
    ".jsonl": _Form(_line, _begin_lines, b"", b""),
    ".har": _Form(archive_entry, _begin_archive, b",", _ARCHIVE_END),
}

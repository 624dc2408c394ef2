"""Sources: the files that something was read from, in the versions that were read, so that changes are noticed."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

# What tells one version of a file from the next; None while there is no file.
Stamp = tuple[int, int, int] | None
# The paths of the files in a folder that count.
Lister = Callable[[str], Iterable[str]]


def stamp_of(path: str) -> Stamp:
    """The version of a file."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


class Sources:
    """Files and folders. Each is noted before it is read: what changes from then on is seen, also while it is read, and
    one that could not be read is seen when it is there."""

    def __init__(self) -> None:
        self._files: dict[str, Stamp] = {}
        self._folders: dict[str, tuple[Lister, frozenset[str]]] = {}

    def __bool__(self) -> bool:
        return bool(self._files or self._folders)

    def note(self, path: Path) -> Path:
        """The path of a file that is about to be read. Of several times the first one counts."""
        self._files.setdefault(str(path), stamp_of(str(path)))
        return path

    def note_folder(self, folder: Path, lister: Lister) -> frozenset[str]:
        """The files of a folder that count, each of which is about to be read."""
        listed = frozenset(lister(str(folder)))
        self._folders[str(folder)] = lister, listed
        return listed

    def changed(self) -> list[str]:
        """The paths of all files that have changed, come, or gone."""
        changed = [path for path, stamp in self._files.items() if stamp_of(path) != stamp]
        for folder, (lister, listed) in self._folders.items():
            changed += sorted(listed.symmetric_difference(lister(folder)))
        return list(dict.fromkeys(changed))

    def anew(self) -> "Sources":
        """The same files and folders, in the versions that they have now."""
        now = Sources()
        now._files = {path: stamp_of(path) for path in self._files}
        now._folders = {folder: (lister, frozenset(lister(folder))) for folder, (lister, _) in self._folders.items()}
        return now

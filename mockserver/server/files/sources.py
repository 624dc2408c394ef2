"""Sources: the files that something was read from, with their versions, so that changes are noticed."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

# Distinguishes the versions of a file; None if there is no file.
Stamp = tuple[int, int, int] | None
# Lists the paths of the relevant files in a folder.
Lister = Callable[[str], Iterable[str]]


def stamp_of(path: str) -> Stamp:
    """The version of a file."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


class Sources:
    """Files and folders. Each is noted before it is read: changes after that are noticed, even during reading, and a
    file that could not be read is noticed when it appears."""

    def __init__(self) -> None:
        self._files: dict[str, Stamp] = {}
        self._folders: dict[str, tuple[Lister, frozenset[str]]] = {}

    def __bool__(self) -> bool:
        return bool(self._files or self._folders)

    def note(self, path: Path) -> Path:
        """Note a file that is about to be read, and return its path. The first version noted counts."""
        self._files.setdefault(str(path), stamp_of(str(path)))
        return path

    def note_folder(self, folder: Path, lister: Lister) -> frozenset[str]:
        """Note a folder whose relevant files are about to be read, and return these."""
        listed = frozenset(lister(str(folder)))
        self._folders[str(folder)] = lister, listed
        return listed

    def changed(self) -> list[str]:
        """The paths of all files that have changed, appeared or disappeared."""
        changed = [path for path, stamp in self._files.items() if stamp_of(path) != stamp]
        for folder, (lister, listed) in self._folders.items():
            changed += sorted(listed.symmetric_difference(lister(folder)))
        return list(dict.fromkeys(changed))

    def anew(self) -> "Sources":
        """The same files and folders, in their current versions."""
        now = Sources()
        now._files = {path: stamp_of(path) for path in self._files}
        now._folders = {folder: (lister, frozenset(lister(folder))) for folder, (lister, _) in self._folders.items()}
        return now

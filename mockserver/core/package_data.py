"""Files that come with a package.

As `pkgutil.get_data` finds them, which costs every start a millisecond to import.
"""

from importlib import import_module
from pathlib import Path


def read_data(package: str, name: str) -> bytes:
    """A file that lies in a package, or in a folder of it (`corpus/en.txt`). Raises OSError where there is none."""
    module = import_module(package)
    assert module.__file__ is not None, f"{package} is a package with a file of its own"
    path = str(Path(module.__file__).parent / name)
    # A loader of a kind of its own, as that of packages in archives, knows where its files are.
    read = getattr(module.__loader__, "get_data", None)
    return bytes(read(path)) if read is not None else Path(path).read_bytes()

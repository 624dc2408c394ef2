"""Files that come with a package.

The same as `pkgutil.get_data`, whose import would cost every start a millisecond.
"""

from importlib import import_module
from pathlib import Path


def read_data(package: str, name: str) -> bytes:
    """The content of a file in a package, or in a folder of it (`corpus/en.txt`). Raises OSError if there is none."""
    module = import_module(package)
    assert module.__file__ is not None, f"{package} is a package with a file of its own"
    path = str(Path(module.__file__).parent / name)
    # Loaders such as that of packages in archives read their files themselves.
    read = getattr(module.__loader__, "get_data", None)
    return bytes(read(path)) if read is not None else Path(path).read_bytes()

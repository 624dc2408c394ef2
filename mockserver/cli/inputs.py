"""The inputs of commands: files, and standard input."""

import sys
from pathlib import Path

from mockserver.state.settings import ConfigError


def bytes_of(source: str) -> bytes:
    """The content of a file, or of standard input for `-`. Raises ConfigError."""
    try:
        return sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
    except OSError as error:
        raise ConfigError(f"{source}: {error.strerror}") from None

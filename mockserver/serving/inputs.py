"""What a command is given to read: a file, or what comes over the standard input."""

import sys
from pathlib import Path

from mockserver.control.settings import ConfigError


def bytes_of(source: str) -> bytes:
    """What is in a file, or comes over the standard input where it is called `-`. Raises ConfigError."""
    try:
        return sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
    except OSError as error:
        raise ConfigError(f"{source}: {error.strerror}") from None

"""Waiting for what happens in its own time."""

import time
from collections.abc import Callable

_SECONDS = 30.0


def until(holds: Callable[[], bool]) -> None:
    """Ask again and again whether something holds; AssertionError if it never does."""
    deadline = time.monotonic() + _SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.001)

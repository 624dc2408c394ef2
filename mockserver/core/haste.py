"""Haste: how work that would block the event loop is noticed before it begins.

How long a task takes is often known only to the function deep down that performs it: solving a schema of a hundred
bytes may take a second. The event loop calls `in_haste(work)`. A function that is about to take long calls `take_time`,
which raises TakesLongError if its thread is in haste; the caller then repeats the work in another thread.
"""

import threading
from collections.abc import Callable
from functools import cache
from typing import TypeVar

Result = TypeVar("Result")

_here = threading.local()


class TakesLongError(Exception):
    """The work would take more than a few milliseconds, and is to be repeated where it blocks nobody."""


def in_haste(work: Callable[[], Result]) -> Result:
    """The result of `work`. Raises TakesLongError if that would take long; `work` has had no effect then."""
    _here.hurries = True
    try:
        return work()
    finally:
        _here.hurries = False


def take_time() -> None:
    """Announce that what follows takes long. Raises TakesLongError if this thread is in haste."""
    if getattr(_here, "hurries", False):
        raise TakesLongError


def loaded_once(load: Callable[[], Result]) -> Callable[[], Result]:
    """A cached function. Its first call takes long, and is made once, however many threads need the result."""
    only, lock = cache(load), threading.Lock()

    @cache
    def loaded() -> Result:
        take_time()
        with lock:
            return only()

    return loaded

"""Haste and leisure: how work that would block the event loop is noticed before it begins, and done elsewhere.

How long a task takes is often known only to the function deep down that performs it: solving a schema of a hundred
bytes may take a second. The event loop calls `in_haste(work)`. A function that is about to take long calls `take_time`,
which raises TakesLongError if its thread is in haste; the caller then repeats the work in another thread, with
`at_leisure(work, pause)`. There, long work calls `breathe` between its pieces, so that the event loop gets its turns.
"""

import threading
from collections.abc import Callable
from functools import cache
from typing import TypeVar

Result = TypeVar("Result")


class _Thread(threading.local):
    hurries = False
    pause: Callable[[], object] | None = None


_here = _Thread()


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
    if _here.hurries:
        raise TakesLongError


def at_leisure(work: Callable[[], Result], pause: Callable[[], object]) -> Result:
    """The result of `work`, which calls `pause` between its pieces, as often as once in a fraction of a millisecond."""
    _here.pause = pause
    try:
        return work()
    finally:
        _here.pause = None


def breathe() -> None:
    """End a piece of long work: pause, if this thread works at leisure."""
    if _here.pause is not None:
        _here.pause()


def loaded_once(load: Callable[[], Result]) -> Callable[[], Result]:
    """A cached function. Its first call takes long, and is made once, however many threads need the result."""
    only, lock = cache(load), threading.Lock()

    @cache
    def loaded() -> Result:
        take_time()
        with lock:
            return only()

    return loaded

"""Haste: an event loop must not be held up, so it asks in haste; what would take long says so instead of doing it.

How long something takes is often known only to whoever does it: a schema of a hundred bytes may take a second. It calls
`take_time` before it begins. Nobody is in haste unless `in_haste` says so, and then in its own thread alone.
"""

import threading
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")

_here = threading.local()


class TakesLongError(Exception):
    """What is asked for would take more than some milliseconds: to be asked again by somebody who has time."""


def in_haste(work: Callable[[], Result]) -> Result:
    """What `work` gives; raises TakesLongError where that would take long, and nothing has come of it then."""
    _here.hurries = True
    try:
        return work()
    finally:
        _here.hurries = False


def take_time() -> None:
    """What follows takes long. Raises TakesLongError where somebody is in haste."""
    if getattr(_here, "hurries", False):
        raise TakesLongError

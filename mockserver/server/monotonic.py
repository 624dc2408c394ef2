"""The system's monotonic time, also where a library has frozen the time for tests.

freezegun and its kind replace `time.monotonic` in the module `time`, and under any name that a module has for it. They
do not reach the attributes of classes. A server that reads frozen time would never send what is due later.
"""

import time
from collections.abc import Callable
from functools import partial
from types import BuiltinFunctionType


def _of_the_system() -> Callable[[], float]:
    """The function behind `time.monotonic`, even if that is replaced at the moment."""
    if isinstance(time.monotonic, BuiltinFunctionType) or not hasattr(time, "clock_gettime"):
        return time.monotonic
    return partial(time.clock_gettime, time.CLOCK_MONOTONIC)


class Monotonic:
    """The system's monotonic clock."""

    now = staticmethod(_of_the_system())
    """The present instant in seconds."""

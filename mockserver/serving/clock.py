"""The clock of a loop: what time it is, and one alarm for all deadlines.

Loops wake their own timers to the millisecond at best, and uvloop's idea of the time is as coarse. Where the kernel has
timers that are files (Linux), one of them serves all deadlines of a loop, kept in a heap: a wake-up costs the same
whether one stream waits or a thousand, and comes within some microseconds. Elsewhere the loop's own timers do.
"""

import asyncio
import contextlib
import ctypes
import heapq
import os
import struct
import sys
import time
from collections.abc import Callable
from itertools import count
from typing import Protocol
from weakref import WeakKeyDictionary, finalize

Wake = Callable[[], None]

# A wake-up costs more than what it wakes: after each the timer rests for so many seconds. Under load whatever is due
# within them shares one; a single stream never notices.
_REST = 0.000_15
# Whatever is due after this instant (in seconds) is never due.
_LATEST = 2.0**40


class Clock(Protocol):
    """Seconds that only go forward, and calls at an instant of them."""

    def now(self) -> float:
        """The present instant in seconds."""

    def call_at(self, instant: float, wake: Wake) -> Wake:
        """Call `wake` at an instant, on the loop; the answer cancels that."""


class LoopsClock(Clock, Protocol):
    """The clock of a loop, which several others may go by: each owns the calls that it asks for."""

    def call_at(self, instant: float, wake: Wake, owner: object = None) -> Wake:
        """Call `wake` at an instant, on the loop; the answer cancels that."""

    def hasten(self, owner: object, seconds: float) -> None:
        """Make all the calls of an owner so many seconds earlier."""


class LoopClock:
    """A clock made of a loop's own time and timers."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._owned: dict[asyncio.TimerHandle, tuple[object, list[Wake]]] = {}

    def now(self) -> float:
        """The present instant on the loop's clock."""
        return self._loop.time()

    def call_at(self, instant: float, wake: Wake, owner: object = None) -> Wake:
        """Call `wake` at an instant of the loop's clock; the answer cancels that."""
        held = [wake]
        self._set(instant, held, owner)
        return held.clear

    def hasten(self, owner: object, seconds: float) -> None:
        """Make all the calls of an owner so many seconds earlier."""
        for handle, (other, held) in tuple(self._owned.items()):
            if other is owner:
                handle.cancel()
                del self._owned[handle]
                self._set(handle.when() - seconds, held, owner)

    def _set(self, instant: float, held: list[Wake], owner: object) -> None:
        def ring() -> None:
            del self._owned[handle]
            for wake in held:
                wake()

        handle = self._loop.call_at(instant, ring)
        self._owned[handle] = (owner, held)


class ShiftedClock:
    """A clock that can be put forward: another one's time, plus what has been advanced so far.

    Whoever waits for an instant that is reached by an advance is woken at once.
    """

    def __init__(self, base: LoopsClock) -> None:
        self._base = base
        self._shift = 0.0

    @property
    def shift(self) -> float:
        """How far it is ahead, in seconds."""
        return self._shift

    def now(self) -> float:
        """The present instant."""
        return self._base.now() + self._shift

    def call_at(self, instant: float, wake: Wake) -> Wake:
        """Call `wake` at an instant of this clock; the answer cancels that."""
        return self._base.call_at(instant - self._shift, wake, self)

    def advance(self, seconds: float) -> None:
        """Put the clock forward."""
        self._shift += seconds
        self._base.hasten(self, seconds)


class TimerClock:
    """A clock made of the system's monotonic time and one kernel timer."""

    def __init__(self, loop: asyncio.AbstractEventLoop, timer: int) -> None:
        self._timer = timer
        self._waiting: list[tuple[float, int, list[Wake], object]] = []
        self._order = count()
        self._armed = float("inf")
        loop.add_reader(timer, self._ring)
        finalize(loop, os.close, timer)

    def now(self) -> float:
        """The present instant on the system's monotonic clock."""
        return time.monotonic()

    def call_at(self, instant: float, wake: Wake, owner: object = None) -> Wake:
        """Call `wake` at an instant of the monotonic clock; the answer cancels that."""
        held = [wake]
        heapq.heappush(self._waiting, (instant, next(self._order), held, owner))
        if instant < self._armed:
            self._arm(instant)
        # A cancelled entry stays in the heap, empty, until its time comes.
        return held.clear

    def hasten(self, owner: object, seconds: float) -> None:
        """Make all the calls of an owner so many seconds earlier."""
        entries = self._waiting
        # Changed in place: this may be called by something that it has just woken.
        entries[:] = [(at - seconds if who is owner else at, order, held, who) for at, order, held, who in entries]
        heapq.heapify(entries)
        if entries:
            self._arm(entries[0][0])

    def _arm(self, instant: float) -> None:
        self._armed = instant
        # A time that has passed rings at once; zero would switch the timer off.
        _set_timer(self._timer, min(max(instant, 1e-9), _LATEST))

    def _ring(self) -> None:
        # Whoever is called asks to be called again: the timer is set once, when all have been.
        self._armed = float("-inf")
        due, waiting = time.monotonic(), self._waiting
        try:
            while waiting and waiting[0][0] <= due:
                for wake in heapq.heappop(waiting)[2]:
                    wake()
        finally:
            self._armed = float("inf")
            # Either keeps the timer from ringing on; what is read does not matter.
            if waiting:
                self._arm(max(waiting[0][0], time.monotonic() + _REST))
            else:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._timer, 8)


_clocks: "WeakKeyDictionary[asyncio.AbstractEventLoop, LoopsClock]" = WeakKeyDictionary()


def clock_of(loop: asyncio.AbstractEventLoop) -> LoopsClock:
    """The one clock of a loop."""
    clock = _clocks.get(loop)
    if clock is None:
        clock = _clocks[loop] = _make_clock(loop)
    return clock


def _make_clock(loop: asyncio.AbstractEventLoop) -> LoopsClock:
    if not sys.platform.startswith("linux"):
        return LoopClock(loop)
    try:
        return TimerClock(loop, _create_timer())
    except (OSError, AttributeError, NotImplementedError):
        return LoopClock(loop)


_TIMER_ABSOLUTE = 1
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform.startswith("linux") else None
# The same for a call that never waits, and is made for each event: without letting other threads in.
_quick = ctypes.PyDLL(None) if sys.platform.startswith("linux") else None
_pack = struct.Struct("qqqq").pack


def _create_timer() -> int:
    # os.timerfd_create exists from Python 3.13 on; the system call is older than any Python that we support.
    assert _libc is not None
    timer = int(_libc.timerfd_create(time.CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC))
    if timer < 0:
        raise OSError(ctypes.get_errno(), "timerfd_create")
    return timer


def _set_timer(timer: int, instant: float) -> None:
    assert _quick is not None
    seconds = int(instant)
    # The interval (none), and the instant: each in seconds and nanoseconds.
    value = _pack(0, 0, seconds, int((instant - seconds) * 1e9))
    _quick.timerfd_settime(timer, _TIMER_ABSOLUTE, value, None)

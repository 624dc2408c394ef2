"""The clock of an event loop: the time, and alarms.

Loops wake their timers with a resolution of a millisecond at best, and uvloop's time is as coarse. Where the kernel has
timer file descriptors (Linux), one of them serves all alarms of a loop, which are kept in a heap: a wake-up costs the
same for one waiting stream as for a thousand, and is accurate to some microseconds. Elsewhere the loop's own timers are
used.

Each namespace has a clock based on that of the loop (`ShiftedClock`): it is the `owner` of its alarms, which the loop's
clock keeps, and its instants are ahead by its `shift`.
"""

import asyncio
import contextlib
import ctypes
import os
import struct
import sys
import time
from collections.abc import Callable
from functools import partial
from heapq import heapify, heappop, heappush, heapreplace
from itertools import count
from types import BuiltinFunctionType
from weakref import WeakKeyDictionary, finalize, proxy, ref

from mockserver.state.namespaces import Namespace, check_advance

# What an alarm calls, with the present instant of its clock. It returns when to ring again, or None not to.
Wake = Callable[[float], float | None]

# Waking the process costs more than what is then called. So the timer rests for so many seconds before it rings again,
# longer for each alarm that has just rung: the denser the alarms, the more of them share a wake-up. One stream alone is
# not affected.
_REST = 0.000_15
_MORE_REST = 0.000_01
_LONGEST_REST = 0.000_5
# How many alarms ring at once before the loop gets to its other work.
_MOST_AT_ONCE = 256
# An alarm after this instant (in seconds) never rings.
_LATEST = 2.0**40


def _of_the_system() -> Callable[[], float]:
    """The function behind `time.monotonic`, even if that is replaced at the moment."""
    if isinstance(time.monotonic, BuiltinFunctionType) or not hasattr(time, "clock_gettime"):
        return time.monotonic
    return partial(time.clock_gettime, time.CLOCK_MONOTONIC)


class Monotonic:
    """The system's monotonic time, also where a library has frozen the time for tests.

    freezegun and its kind replace `time.monotonic` in the module `time`, and under any name that a module has for it.
    They do not reach the attributes of classes. A server that reads frozen time would never send what is due later.
    """

    now = staticmethod(_of_the_system())
    """The present instant in seconds."""


class Alarm:
    """A call of `wake` at an instant of its owner's clock; an alarm that has rung may be set again."""

    # `number` sets alarms of the same instant apart; `entry` is the valid one in the heap, others were replaced.
    __slots__ = ("_clock", "entry", "number", "owner", "wake")

    def __init__(self, clock: "LoopClock", wake: Wake, owner: "ShiftedClock", number: int) -> None:
        self._clock = clock
        self.wake = wake
        self.owner = owner
        self.number = number
        self.entry: _Entry | None = None

    def set(self, instant: float) -> None:
        """Ring at an instant of the clock, in seconds, instead of the one that was set before."""
        clock, instant = self._clock, instant - self.owner.shift
        self.entry = entry = (instant, self.number, self)
        heappush(clock.waiting, entry)
        if instant < clock.armed:
            clock.arm(instant)

    def cancel(self) -> None:
        """Never ring again."""
        # The entry stays in the heap until its time comes, but the callback is released at once.
        self.entry = None
        self.wake = _ignore


def _ignore(now: float) -> None:
    """What a cancelled alarm calls."""


# The instant at which an alarm rings, its number, and the alarm.
_Entry = tuple[float, int, Alarm]


class ShiftedClock:
    """A clock that can be put forward: that of a loop plus `shift`, the seconds by which it has been advanced.

    An alarm whose instant is reached by an advance rings at once.
    """

    def __init__(self, base: "LoopClock", shift: float = 0.0) -> None:
        self._base = base
        self._base_now = base.now
        self.shift = shift

    def now(self) -> float:
        """The present instant, in seconds."""
        return self._base_now() + self.shift

    def alarm(self, wake: Wake) -> Alarm:
        """An alarm that calls `wake` at instants of this clock, on the loop."""
        return self._base.alarm(wake, self)

    def advance(self, seconds: float) -> None:
        """Put the clock forward."""
        self.shift += seconds
        self._base.bring_forward(self, seconds)


class LoopClock:
    """A clock made of a loop's own time and timers.

    `waiting` is the heap of the alarms that are set. One timer serves all of them; it is `armed` for an instant.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        # Only a proxy, so that the clock does not keep the loop alive.
        self._loop: asyncio.AbstractEventLoop = proxy(loop)
        self._timer: asyncio.TimerHandle | None = None
        self.waiting: list[_Entry] = []
        self._numbers = count(1)
        self.armed = float("inf")

    def now(self) -> float:
        """The present instant in seconds."""
        return self._loop.time()

    def alarm(self, wake: Wake, owner: ShiftedClock) -> Alarm:
        """An alarm whose instants are those of the owner's clock."""
        return Alarm(self, wake, owner, next(self._numbers))

    def bring_forward(self, owner: ShiftedClock, seconds: float) -> None:
        """Make all the alarms of an owner ring so many seconds earlier."""
        entries = self.waiting
        for place, entry in enumerate(entries):
            instant, number, alarm = entry
            if alarm.owner is owner and alarm.entry is entry:
                # Changed in place, because this may be called by an alarm that is just ringing.
                alarm.entry = entries[place] = (instant - seconds, number, alarm)
        heapify(entries)
        if entries:
            self.arm(entries[0][0])

    def arm(self, instant: float) -> None:
        """Make the timer ring at an instant."""
        self.armed = instant
        self._disarm()
        self._timer = self._loop.call_at(instant, self._ring)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _rest(self, due: float, woken: int) -> None:
        """Arm the timer for the next alarm, after so many that were due."""
        self.arm(self.waiting[0][0])

    def _ring(self) -> None:
        # A loop's timer may be early by its resolution.
        waiting, now = self.waiting, self.now
        due, woken = max(now(), self.armed), 0
        # Alarms that are called set themselves again: the timer is armed once, after all of them.
        self.armed = float("-inf")
        try:
            while waiting and waiting[0][0] <= due and woken < _MOST_AT_ONCE:
                entry = waiting[0]
                alarm = entry[2]
                if alarm.entry is not entry:
                    heappop(waiting)
                    continue
                woken += 1
                # The entry is no longer valid. It is replaced by the next one, which costs half of removing and adding.
                alarm.entry = None
                owner = alarm.owner
                again = alarm.wake(now() + owner.shift)
                if again is not None:
                    alarm.entry = following = (again - owner.shift, alarm.number, alarm)
                    if waiting[0] is entry:
                        heapreplace(waiting, following)
                    else:
                        heappush(waiting, following)
        finally:
            if waiting:
                self._rest(due, woken)
            else:
                self.armed = float("inf")
                self._disarm()


class TimerClock(LoopClock):
    """A clock made of the system's monotonic time and one kernel timer."""

    now = staticmethod(Monotonic.now)

    def __init__(self, loop: asyncio.AbstractEventLoop, timer: int) -> None:
        super().__init__(loop)
        self._file = timer
        loop.add_reader(timer, self._ring)
        finalize(loop, os.close, timer)

    def arm(self, instant: float) -> None:
        """Make the kernel timer ring at an instant."""
        self.armed = instant
        # An instant that has passed rings at once; zero would disarm the timer.
        _set_timer(self._file, min(max(instant, 1e-9), _LATEST))

    def _rest(self, due: float, woken: int) -> None:
        first = self.waiting[0][0]
        # Otherwise the timer keeps ringing, and the loop comes back after its other work.
        if first > self.now():
            self.arm(max(first, due + min(_REST + woken * _MORE_REST, _LONGEST_REST)))

    def _disarm(self) -> None:
        # Reading stops the timer from ringing; the value does not matter.
        with contextlib.suppress(BlockingIOError):
            os.read(self._file, 8)


_clocks: "WeakKeyDictionary[asyncio.AbstractEventLoop, LoopClock]" = WeakKeyDictionary()


def clock_of(loop: asyncio.AbstractEventLoop) -> LoopClock:
    """The one clock of a loop."""
    clock = _clocks.get(loop)
    if clock is None:
        clock = _clocks[loop] = _make_clock(loop)
    return clock


def _make_clock(loop: asyncio.AbstractEventLoop) -> LoopClock:
    if not sys.platform.startswith("linux"):
        return LoopClock(loop)
    try:
        return TimerClock(loop, _create_timer())
    except (OSError, AttributeError, NotImplementedError):
        return LoopClock(loop)


class Clocks:
    """The clocks of the namespaces of a server."""

    def __init__(self) -> None:
        self._clocks: WeakKeyDictionary[Namespace, tuple[ref[asyncio.AbstractEventLoop], ShiftedClock]]
        self._clocks = WeakKeyDictionary()
        # The clock that was asked for last, which mostly is asked for again.
        self._latest: tuple[Namespace, ref[asyncio.AbstractEventLoop], ShiftedClock] | None = None

    def of(self, namespace: Namespace) -> ShiftedClock:
        """The clock of a namespace, in the running loop."""
        loop, latest = asyncio.get_running_loop(), self._latest
        if latest is not None and latest[0] is namespace and latest[1]() is loop:
            return latest[2]
        known = self._clocks.get(namespace)
        if known is None or known[0]() is not loop:
            # An application that is called in process may run on several loops in turn, as in tests.
            known = self._clocks[namespace] = (ref(loop), ShiftedClock(clock_of(loop), namespace.shift))
        self._latest = (namespace, *known)
        return known[1]

    def advance(self, namespace: Namespace, seconds: float) -> float:
        """Advance the clock of a namespace, and return how far it is ahead now, in seconds.

        Raises ValueError if it cannot be advanced by so much.
        """
        check_advance(seconds)
        clock = self.of(namespace)
        clock.advance(seconds)
        namespace.shift = clock.shift
        return clock.shift


_TIMER_ABSOLUTE = 1
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform.startswith("linux") else None
# The same library for a call that never blocks and is made for each event: PyDLL does not release the GIL.
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

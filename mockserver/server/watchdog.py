"""The end of a process that was told to end: within a second, whatever it computes.

A signal's handler in Python waits for the interpreter, and a computation in C may hold that for ever. But the system's
part of a handler always runs, and writes the signal's number to a socket (`signal.set_wakeup_fd`). A small process of
its own reads it there, and kills the server if it is not gone in time. It ends with the server.
"""

import os
import select
import signal
import socket
import sys
import time
from _thread import start_new_thread
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

# How long a process may take from a signal to its end, in seconds, if Python still runs, and if it does not.
END_SECONDS = 0.8
KILL_SECONDS = 0.86
# More files than a server has open when it begins.
_MOST_OPEN = 4_096
_ENDING = (signal.SIGTERM, signal.SIGINT)
_STUCK = b"mockserver was still computing after it was told to end: ended at once\n"


def end_in_time() -> None:
    """End this process at its deadline, if it has not ended by then."""
    # Not a `Thread`, whose locks may be held by what a signal has interrupted; so may those of the log.
    start_new_thread(_end_at_deadline, ())


def _end_at_deadline() -> NoReturn:
    time.sleep(END_SECONDS)
    with suppress(OSError):
        os.write(2, _STUCK)
    os._exit(0)


@contextmanager
def watched() -> Iterator[int | None]:
    """Have this process watched by another; yields where the numbers of signals are to be written, if that works here.

    Only a main thread hears signals, and only Unix has them.
    """
    if sys.platform == "win32":
        yield None
        return
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    watcher = os.fork()
    if watcher == 0:
        _watch(theirs.fileno())
    theirs.close()
    try:
        yield ours.fileno()
    finally:
        signal.set_wakeup_fd(-1)
        ours.close()
        os.waitpid(watcher, 0)


def _watch(told: int) -> NoReturn:
    """Wait for the end of the process that has forked this one, and bring it about in time after a signal."""
    try:
        signal.set_wakeup_fd(-1)
        # A terminal's keys send signals to both.
        for each in (*_ENDING, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(each, signal.SIG_IGN)
        server = os.getppid()
        for first, last in ((0, 2), (3, told), (told + 1, _MOST_OPEN)):
            os.closerange(first, last)
        while not {*_ENDING} & {*(numbers := os.read(told, 64))}:
            if not numbers:
                os._exit(0)
        deadline = time.monotonic() + KILL_SECONDS
        while (left := deadline - time.monotonic()) > 0:
            if select.select([told], [], [], left)[0] and not os.read(told, 64):
                os._exit(0)
        with suppress(OSError):
            os.write(2, _STUCK)
        if os.getppid() == server:
            os.kill(server, signal.SIGKILL)
    finally:
        os._exit(0)

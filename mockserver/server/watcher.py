"""Ends the process that has started it in time after a signal: a program of its own, which imports next to nothing.

Its standard input is a socket, where the system writes the number of each signal that the other process gets, and which
is closed with that process. The argument is how long that process may take to end, in seconds.
"""

import os
import select
import sys
import time

ENDING = frozenset((2, 15))  # SIGINT, SIGTERM
_KILL = 9
STUCK = b"mockserver was still computing after it was told to end: ended at once\n"


def watch(seconds: float) -> None:
    """Wait for the end of the parent, and bring it about if it takes longer after a signal."""
    server = os.getppid()
    while ENDING.isdisjoint(numbers := os.read(0, 64)):
        if not numbers:
            return
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        if select.select([0], [], [], left)[0] and not os.read(0, 64):
            return
    os.write(2, STUCK)
    if os.getppid() == server:
        os.kill(server, _KILL)


if __name__ == "__main__":
    watch(float(sys.argv[1]))

"""Several processes behind one port: the system distributes the connections, and a process that dies is replaced.

The first process serves nothing. It holds the address, forks the others, and stops them on request. Each has a
listening socket of its own; if the first process is killed, they notice by a pipe, and stop.
"""

import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.process import BaseProcess

from mockserver.server.app import App
from mockserver.server.listener import BACKLOG, bind_socket, bound_socket
from mockserver.server.logs import log
from mockserver.server.server import KILL_SECONDS, serve
from mockserver.state.settings import ConfigError

# A worker that dies within so many seconds has failed to start; after so many such deaths in a row, all stop.
_EARLY = 1.0
_MOST_EARLY = 5

# How often the workers are looked at if no signal comes, in seconds.
_POLL_SECONDS = 1.0
# Windows, which has no SIGCHLD, has no workers either.
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD) if sys.platform != "win32" else ()

Work = Callable[[int, socket.socket], None]


def listeners_for(app: App, count: int) -> list[socket.socket]:
    """Sockets that listen on the settings' one address, `count` of them. Raises ConfigError if it is not available."""
    if sys.platform != "linux":
        raise ConfigError("workers: several processes can share a port only on Linux; leave it at 1")
    # First bound exclusively, to detect that another server uses the address.
    with bound_socket(app.settings) as alone:
        family, address = alone.family, alone.getsockname()
    return [_listener(family, address) for _ in range(count)]


def _listener(family: int, address: tuple[str | int, ...]) -> socket.socket:
    listener = bind_socket(family, address, shared=True)
    listener.listen(BACKLOG)
    return listener


def serve_by_workers(app: App, listeners: list[socket.socket]) -> int:
    """Serve each socket with a process until interrupted or terminated; the exit code is 1 if they keep dying."""
    ours, theirs = os.pipe()

    def work(number: int, listener: socket.socket) -> None:
        os.close(theirs)
        app.become_worker(number)
        serve(app, listener, lifeline=ours)

    # A socket that does not listen holds the address, even while no worker lives.
    with bind_socket(listeners[0].family, listeners[0].getsockname(), shared=True):
        return WorkerPool(listeners, work).run()


class WorkerPool:
    """Worker processes, one for each socket. `work` gets the number of the worker (from 1) and its socket."""

    def __init__(self, listeners: Sequence[socket.socket], work: Work) -> None:
        self._family, self._address = listeners[0].family, listeners[0].getsockname()
        self._listeners = dict(enumerate(listeners, start=1))
        self._work = work
        # Each worker, and when it began, by its number.
        self._workers: dict[int, tuple[BaseProcess, float]] = {}
        self._early_deaths = 0

    def run(self) -> int:
        """Keep the workers running until told to stop; return the exit code. They stop however it ends."""
        with _blocked(_SIGNALS):
            try:
                for number in tuple(self._listeners):
                    self._start(number)
                while self._replace_the_dead():
                    came = signal.sigtimedwait(_SIGNALS, _POLL_SECONDS)
                    if came is not None and came.si_signo != signal.SIGCHLD:
                        return 0
                return 1
            finally:
                self._stop()

    def _start(self, number: int) -> None:
        with self._listeners.pop(number, None) or _listener(self._family, self._address) as listener:
            worker = get_context("fork").Process(target=self._be_worker, args=(number, listener))
            worker.start()
        self._workers[number] = worker, time.monotonic()

    def _be_worker(self, number: int, listener: socket.socket) -> None:
        """What a forked process does."""
        for other in self._listeners.values():
            other.close()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        try:
            self._work(number, listener)
        except KeyboardInterrupt:
            pass
        except Exception:
            log.exception("worker %d has failed", number)
            sys.exit(1)

    def _replace_the_dead(self) -> bool:
        """Restart workers that have died; return False if that has become pointless."""
        for number, (worker, began) in tuple(self._workers.items()):
            code = worker.exitcode
            if code is None:
                continue
            how = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
            early = time.monotonic() - began < _EARLY
            self._early_deaths = self._early_deaths + 1 if early else 0
            if self._early_deaths >= _MOST_EARLY:
                log.error("worker %d has ended (%s) soon after its start, like others", number, how)
                return False
            log.warning("worker %d has ended (%s); a new one takes its place", number, how)
            self._start(number)
        return True

    def _stop(self) -> None:
        """Stop all workers, and kill those that do not obey."""
        deadline = time.monotonic() + KILL_SECONDS
        workers = [worker for worker, _ in self._workers.values()]
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.join(max(deadline - time.monotonic(), 0))
            worker.kill()


@contextmanager
def _blocked(signals: Collection[signal.Signals]) -> Iterator[None]:
    """Signals wait until they are asked for. (One that meets another thread acts as it does by default.)"""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    before = {each: signal.signal(each, signal.SIG_DFL) for each in signals}
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for each, handler in before.items():
            signal.signal(each, handler)

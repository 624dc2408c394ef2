"""Servers: one that owns the process, and one in a thread, around the same application.

A process that is told to end does so within a second, whatever it computes. A signal's handler in Python waits for the
interpreter, and a computation in C may hold that for ever. But the system's part of a handler always runs, and writes
the signal's number to a socket (`signal.set_wakeup_fd`). A shell, which takes little memory, reads it there, and kills
the server if it is not gone in time. It ends with the server.
"""

import asyncio
import os
import signal
import socket
import sys
import threading
import time
from _thread import start_new_thread
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from shutil import which
from types import FrameType
from typing import Any, Literal, NoReturn, Protocol, Self, TypeVar

import uvicorn
from starlette.types import Receive, Send
from uvicorn.server import ServerState

from mockserver.faults.catalogue import FAULTS
from mockserver.server.clock import Monotonic
from mockserver.server.cors import AccessGuard
from mockserver.server.following import end_feeds
from mockserver.server.listener import BACKLOG, Handshake, Listener, accept_all_pending, bind
from mockserver.server.scheduling import Threads
from mockserver.server.sockets.connection import HttpProtocol
from mockserver.server.urls import url_of
from mockserver.state.settings import Settings

Loop = Literal["auto", "asyncio", "uvloop"]
Result = TypeVar("Result")

# How long a stopping server lets its answers play on, in seconds: a process, and a server in a thread.
_GRACE = 0.5
_SHORT_GRACE = 0.03
# How often a stopping server checks whether all connections are closed, and how long it waits after breaking them off.
_LOOK = 0.002
_ABORT_SECONDS = 0.2
# The number of open files and connections that a server raises its limit to, at most.
_MOST_FILES = 65_536
# The longest time in seconds for a call in the server's thread.
_DEADLINE = 10.0
# The longest time in seconds until a server in a thread has ended; the thread is left alone if something keeps it busy.
_LONGEST_STOP = 1.5
# How long a process may take from a signal to its end, in seconds, if Python still runs, and if it does not.
_END_SECONDS = 0.8
KILL_SECONDS = 0.86
_STUCK = "mockserver was still computing after it was told to end: ended at once\n"
# Kills the process that has started it if that takes too long to end after a signal. The standard input has the number
# of each signal that it gets, as a byte, and ends with it. The arguments are the time in seconds, and what to say then.
_TOOLS = ("sh", "od", "sleep")
_WATCHER = """\
while number=$(od -An -tu1 -N1) && [ "$number" ]; do
  case $(($number)) in
    2 | 15) [ "$killer" ] || { { sleep "$1" >/dev/null 2>&1; printf %s "$2" >&2; kill -9 $PPID; } & killer=$!; } ;;
  esac
done
[ -z "$killer" ] || kill -9 "$killer"
"""


class ServedApp(Protocol):
    """An application that a server can serve."""

    @property
    def guard(self) -> AccessGuard:
        """What turns requests away, which depends on where the server is bound."""

    @property
    def settings(self) -> Settings:
        """The settings in force."""

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None: ...


class _Config(uvicorn.Config):
    """uvicorn's configuration, with the server's listener once there is one."""

    listener: Listener | None = None


class UvicornServer(uvicorn.Server):
    """uvicorn's server, which adds no headers of its own to those of the dialects, with three additions: its listener
    can fail; on shutdown it breaks off hanging answers after a grace period instead of waiting for them; and it stops
    when the other end of its `lifeline`, a pipe, is closed.

    A signal that ends it also sets a deadline for the process, whatever keeps it busy."""

    config: _Config

    def __init__(self, app: ServedApp, loop: Loop = "auto") -> None:
        config = _Config(
            app,
            http=HttpProtocol,
            proxy_headers=False,
            loop=loop,
            ssl_certfile=app.settings.tls_cert,
            ssl_keyfile=app.settings.tls_key,
            server_header=False,
            date_header=False,
            access_log=False,
            log_config=None,
            ws="none",
            timeout_keep_alive=75,
        )
        super().__init__(config)
        self._app = app
        self._stopping = asyncio.Event()
        self.grace = _GRACE
        self.lifeline: int | None = None
        # Where the system writes the numbers of signals, for who watches this process.
        self.wakeup: int | None = None
        self._threads = Threads()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve the one socket, unless a listener fault takes effect at once."""
        assert sockets, "the socket is bound before the server starts"
        self._app.guard.bound_to(sockets[0].getsockname()[0])
        asyncio.get_running_loop().set_default_executor(self._threads)
        await super().startup([])
        listener = self.config.listener = Listener(sockets[0], self._listen)
        for fault in self._app.settings.fault:
            if FAULTS[fault.kind].listens:
                listener.apply(fault)
        await listener.open()
        if self.wakeup is not None:
            signal.set_wakeup_fd(self.wakeup, warn_on_full_buffer=False)
        if self.lifeline is not None:
            asyncio.get_running_loop().add_reader(self.lifeline, self._cut_off)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Note a signal to end; a second one leaves no time to answers."""
        if self.should_exit:
            self.force_exit = True
        else:
            # Not a `Thread`, whose locks may be held by what a signal has interrupted; so may those of the log.
            start_new_thread(_end_at_deadline, ())
        super().handle_exit(sig, frame)

    def _cut_off(self) -> None:
        assert self.lifeline is not None, "what is cut has been held"
        asyncio.get_running_loop().remove_reader(self.lifeline)
        self.stop()

    def stop(self) -> None:
        """Stop as soon as the grace period allows; must be called in the server's thread."""
        self.should_exit = True
        self._stopping.set()

    async def main_loop(self) -> None:
        """Serve until stopped. A signal only sets a flag, which is checked ten times a second."""
        while not self.should_exit:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), 0.1)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let answers play on for the grace period, then break them off."""
        if self.config.listener is not None:
            await self.config.listener.close()
        for each in sockets or ():
            each.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        end_feeds()
        await self._wait_for_connections(self.grace)
        # Tasks that wait for something are cancelled first, so that they can answer that it will not come.
        for task in list(self.server_state.tasks):
            task.cancel()
        await asyncio.sleep(_LOOK)
        for connection in list(self.server_state.connections):
            assert isinstance(connection, HttpProtocol), "no other protocol is spoken"
            connection.give_up()
        await self._wait_for_connections(_ABORT_SECONDS)
        # What is still queued is not begun any more.
        self._threads.shutdown(wait=False, cancel_futures=True)
        await self.lifespan.shutdown()

    async def _wait_for_connections(self, seconds: float) -> None:
        """Wait until no connections and no tasks are left, or until the time is over."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while (self.server_state.connections or self.server_state.tasks) and loop.time() < deadline:
            if self.force_exit:
                return
            await asyncio.sleep(_LOOK)

    async def _listen(self, listener: socket.socket) -> asyncio.AbstractServer:
        """Serve a socket as uvicorn does, but accept all waiting connections at once."""
        make = partial(HttpProtocol, self.config, self.server_state, self.lifespan.state)
        tls = self.config.ssl
        if tls is not None:
            tls.sslobject_class = Handshake
        protocols = accept_all_pending(listener, make, tls)
        server = await asyncio.get_running_loop().create_server(protocols, sock=listener, ssl=tls, backlog=BACKLOG)
        self.servers[:] = [server]
        return server


def serve(app: ServedApp, listener: socket.socket, lifeline: int | None = None) -> None:
    """Serve until interrupted or terminated, or until the other end of the pipe `lifeline` is closed."""
    # Long prompts are planned in threads: these yield to the loop within half a millisecond instead of five.
    sys.setswitchinterval(0.000_5)
    server = UvicornServer(app)
    server.lifeline = lifeline
    # A worker is watched by the process that has started it.
    with watched() if lifeline is None else nullcontext() as server.wakeup:
        _lift_limit_of_files()
        server.run(sockets=[listener])


def _lift_limit_of_files() -> None:
    """Raise the limit of open files as far as the system allows: the default is often 1,024 or 256.

    At the limit, uvloop closes new connections, and files that are read lazily cannot be opened.
    """
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        # Some systems have a lower limit that getrlimit does not report.
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class AppThread:
    """A server of an application in a thread of its own, which starts and stops with a `with` block.

    `url` is its base URL without a trailing slash, `loop` the kind of event loop.
    """

    def __init__(self, app: ServedApp, loop: Loop = "auto") -> None:
        self.settings = app.settings
        self._listener = bind(self.settings)
        self._server = UvicornServer(app, loop)
        self._server.grace = _SHORT_GRACE
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, name="mockserver", daemon=True)
        self.url = url_of(self._listener, secure=self.settings.is_secure)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self.stop()

    @property
    def state(self) -> ServerState:
        """The connections and tasks that are open."""
        return self._server.server_state

    def start(self) -> None:
        """Start serving. The socket is listening already: a client that connects earlier waits in its queue."""
        if self._loop is not None or self._listener.fileno() < 0:
            raise RuntimeError("A server can be started only once; make another MockServer().")
        self._loop = loop = (self._server.config.get_loop_factory() or asyncio.new_event_loop)()
        if isinstance(loop, asyncio.BaseEventLoop):
            # A test may freeze the time of its process; uvloop's is not affected.
            loop.time = Monotonic.now  # type: ignore[method-assign]
        self._thread.start()

    def stop(self) -> None:
        """Stop the server; answers that are still playing are broken off."""
        if self._loop is not None and self._thread.is_alive():
            # The loop may have ended by itself.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._server.stop)
            self._thread.join(_LONGEST_STOP)
        self._listener.close()

    def call(self, function: Callable[[], Result]) -> Result:
        """Run a function in the server's thread, where the application's state may be used, and return its result."""
        if threading.current_thread() is self._thread:
            return function()

        async def run() -> Result:
            return function()

        return self.wait(run(), 0.0)

    def wait(self, awaitable: Coroutine[Any, Any, Result], seconds: float) -> Result:
        """Run a coroutine in the server's thread and return its result; it should take no more than `seconds`."""
        if self._loop is None or not self._thread.is_alive():
            awaitable.close()
            raise RuntimeError("The server is not running: use it within `with MockServer() as server:`.")
        if threading.current_thread() is self._thread:
            awaitable.close()
            raise RuntimeError("A function that decides whether a stub matches cannot wait for clients.")
        return asyncio.run_coroutine_threadsafe(awaitable, self._loop).result(seconds + _DEADLINE)

    def _run(self) -> None:
        loop = self._loop
        assert loop is not None, "a server that runs has been started"
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(self._server.serve(sockets=[self._listener]))


def _end_at_deadline() -> NoReturn:
    """End this process at its deadline, if it has not ended by then."""
    time.sleep(_END_SECONDS)
    with suppress(OSError):
        os.write(2, _STUCK.encode())
    os._exit(0)


@contextmanager
def watched() -> Iterator[int | None]:
    """Have this process watched by another; yields where the numbers of signals are to be written, if that works here.

    Only a main thread hears signals, and only Unix has them. Hardly any system lacks the tools.
    """
    shell, *others = map(which, _TOOLS)
    if sys.platform == "win32" or shell is None or None in others:
        yield None
        return
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    program = (shell, "-c", _WATCHER, "watcher", str(KILL_SECONDS), _STUCK)
    # A terminal's keys send signals to both.
    blocked = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
    actions = [(os.POSIX_SPAWN_DUP2, theirs.fileno(), 0)]
    watcher = os.posix_spawn(shell, program, os.environ, file_actions=actions, setsigmask=blocked)
    theirs.close()
    try:
        yield ours.fileno()
    finally:
        signal.set_wakeup_fd(-1)
        ours.close()
        os.waitpid(watcher, 0)

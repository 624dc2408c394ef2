"""The listening socket of a server: bound to its address, served, and failing for a while where a fault says so.

refuse           the socket does not listen: its address is kept, and connections are refused
accept_nothing   the system makes connections, but they are not accepted until the time is over

Existing connections are not affected.
"""

import asyncio
import contextlib
import errno
import logging
import socket
import ssl
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal, get_args

from mockserver.faults.rules import Fault
from mockserver.state.settings import ConfigError, Settings

log = logging.getLogger("mockserver")

Failure = Literal["accept_nothing", "refuse"]
ListenerState = Literal["open"] | Failure
Listen = Callable[[socket.socket], Awaitable[asyncio.AbstractServer]]
Protocols = Callable[[], asyncio.Protocol]

BACKLOG = 2048

# How often to retry binding while a socket that is being closed still has its address, in seconds.
_RETRY = 0.001
# Accepting one connection takes some dozens of microseconds: those beyond so many wait for the loop's next iteration.
_ACCEPTED_AT_ONCE = 128


def bind(settings: Settings) -> socket.socket:
    """A listening socket at the settings' address. Raises ConfigError if the address is not available.

    The socket is bound here rather than by the server, so that the port is known before anything starts.
    """
    listener = bound_socket(settings)
    listener.listen(BACKLOG)
    return listener


def bound_socket(settings: Settings) -> socket.socket:
    """A socket bound to the settings' address but not listening yet. Raises ConfigError if it is not available."""
    _check_tls(settings)
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return bind_socket(family, (settings.host, settings.port))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ConfigError(
                f"Port {settings.port} on {settings.host} is taken. Choose another with --port or "
                "MOCKSERVER_PORT (0 picks a free one)."
            ) from None
        raise ConfigError(f"Cannot listen on {settings.host}:{settings.port}: {error.strerror or error}") from None


def _check_tls(settings: Settings) -> None:
    """Raise ConfigError if the settings' certificate and key cannot be used."""
    certificate, key = settings.tls_cert, settings.tls_key
    if certificate is None:
        if key is not None:
            raise ConfigError("tls_key: a key needs its certificate; set --tls-cert too")
        return
    for place, file in (("tls_cert", certificate), ("tls_key", key)):
        if file is not None and not Path(file).is_file():
            raise ConfigError(f"{place}: file {file} does not exist")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except (ssl.SSLError, OSError) as error:
        files = f"{certificate} and {key}" if key else f"{certificate} alone"
        advice = "" if key else "; a key in a file of its own is named by --tls-key"
        raise ConfigError(f"tls_cert: {files} must contain a certificate and its key as PEM{advice}: {error}") from None


def bind_socket(family: int, address: tuple[str | int, ...], *, shared: bool = False) -> socket.socket:
    """A socket that is bound to an address but not listening yet. Raises OSError.

    Several sockets may bind a `shared` address, and the system distributes connections among them. The protocol is
    given explicitly because asyncio only disables Nagle's algorithm on sockets that are declared as TCP.
    """
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if shared:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        bound.bind(address)
    except OSError:
        bound.close()
        raise
    return bound


class Listener:
    """A listening socket, not served before it is opened; `listen` makes a server, which then owns the socket."""

    def __init__(self, bound: socket.socket, listen: Listen) -> None:
        self._family, self._address = bound.family, bound.getsockname()
        self._socket = bound
        self._shared = sys.platform == "linux" and bool(bound.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT))
        self._server: asyncio.AbstractServer | None = None
        self._listen = listen
        self._state: ListenerState = "accept_nothing"
        self._failures: dict[Failure, int] = dict.fromkeys(get_args(Failure), 0)
        self._changing = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def state(self) -> ListenerState:
        """What a client that connects now encounters."""
        return self._state

    async def open(self) -> None:
        """Serve, unless a failure has already begun."""
        await self._settle()

    def fail(self, failure: Failure, start: float, seconds: float) -> None:
        """Make the listener fail in `start` seconds, for `seconds`. Of overlapping failures the worse takes effect."""
        if not start:
            self._failures[failure] += 1
        task = asyncio.ensure_future(self._fail(failure, start, seconds))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def apply(self, fault: Fault) -> None:
        """Fail as a fault prescribes; its time starts now."""
        chance = fault.chance
        assert chance.seconds is not None, "a fault of a listener has an end"
        self.fail("refuse" if fault.kind == "refuse" else "accept_nothing", chance.start, chance.seconds)

    async def recover(self) -> None:
        """End all failures, and cancel future ones."""
        await self._forget()
        self._failures = dict.fromkeys(self._failures, 0)
        await self._settle()

    async def close(self) -> None:
        """Close the socket for good; connections that were accepted before are made."""
        await self._forget()
        await self._stop_accepting()
        self._socket.close()

    async def _forget(self) -> None:
        """Cancel all scheduled changes. One that is under way is completed first, to keep the state consistent."""
        async with self._changing:
            tasks = tuple(self._tasks)
            for task in tasks:
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _fail(self, failure: Failure, start: float, seconds: float) -> None:
        if start:
            await asyncio.sleep(start)
            self._failures[failure] += 1
        await self._settle()
        await asyncio.sleep(seconds)
        self._failures[failure] -= 1
        await self._settle()

    async def _settle(self) -> None:
        """Bring the socket into the state required by the failures; one change at a time."""
        async with self._changing:
            wanted: ListenerState = next(
                (failure for failure in ("refuse", "accept_nothing") if self._failures[failure]), "open"
            )
            if wanted == self._state:
                return
            await self._stop_accepting()
            if wanted == "refuse":
                await self._rebind()
            else:
                self._socket.listen(BACKLOG)
            if wanted == "open":
                self._server = await self._listen(self._socket)
            self._state = wanted

    async def _stop_accepting(self) -> None:
        """Stop accepting connections, if they are accepted, while the socket keeps listening."""
        if self._server is None:
            return
        # asyncio loses connections that it has just accepted when its server is closed: stop accepting, and give it a
        # few iterations for those. Other loops do not know the socket as a file descriptor, and have no such problem.
        with contextlib.suppress(NotImplementedError, ValueError):
            asyncio.get_running_loop().remove_reader(self._socket)
        for _ in range(3):
            await asyncio.sleep(0)
        # The server closes its own socket; a duplicate keeps the listening socket open.
        self._socket = self._socket.dup()
        self._server.close()
        self._server = None

    async def _rebind(self) -> None:
        """Stop listening, but keep the address with a socket that is only bound."""
        self._socket.close()
        while True:
            # uvloop closes a server's socket in its next iteration.
            with contextlib.suppress(OSError):
                self._socket = bind_socket(self._family, self._address, shared=self._shared)
                return
            await asyncio.sleep(_RETRY)


def accept_all_pending(listener: socket.socket, protocols: Protocols, tls: ssl.SSLContext | None) -> Protocols:
    """A protocol factory for a listener's server in the running loop, which also accepts all waiting connections.

    asyncio accepts every connection that waits. uvloop accepts one per iteration of its loop: of a hundred clients that
    connect together, the last would wait until those before it have been served a dozen times. So for each connection
    that uvloop accepts, those queued behind it are accepted here.
    """
    loop = asyncio.get_running_loop()
    if isinstance(loop, asyncio.BaseEventLoop):
        return protocols
    accepting: set[asyncio.Task[None]] = set()

    async def accept(connection: socket.socket) -> None:
        # A client that fails the TLS handshake has left.
        with contextlib.suppress(OSError):
            await loop.connect_accepted_socket(protocols, connection, ssl=tls)

    def protocol() -> asyncio.Protocol:
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                connection, _ = listener.accept()
            except OSError:
                # Mostly because nothing waits. uvloop will report any other error when it accepts.
                break
            connection.setblocking(False)
            task = loop.create_task(accept(connection))
            accepting.add(task)
            task.add_done_callback(accepting.discard)
        return protocols()

    return protocol


class Handshake(ssl.SSLObject):
    """A TLS connection that logs when its client speaks plain HTTP instead: all that the client sees is its end."""

    def do_handshake(self) -> None:
        """Perform the handshake. Raises ssl.SSLError."""
        try:
            super().do_handshake()
        except ssl.SSLError as error:
            if error.reason == "HTTP_REQUEST":
                log.warning("Plain HTTP received, but the server speaks HTTPS: use https:// in the client's base URL.")
            raise

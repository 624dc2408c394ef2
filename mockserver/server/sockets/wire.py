"""The connection below HTTP: what a fault needs that no HTTP response can do.

Each connection of our server has a `Wire`. Without one (an application that is called in process), transport faults are
refused.
"""

import asyncio
import contextlib
import socket
import struct
import sys
from collections.abc import Callable

from mockserver.core.http import ConnectionFault

if sys.platform == "linux":
    from fcntl import ioctl
    from termios import TIOCOUTQ as _OUT_QUEUE
else:
    ioctl, _OUT_QUEUE = None, 0

# The ASGI extension that holds the server's `Listener`; listener faults are only possible with it.
LISTENER = "mockserver.listener"
# The ASGI extension that holds the `Wire` of the connection.
WIRE = "mockserver.wire"

# SO_LINGER with a time of zero: closing a socket then resets the connection.
_NO_LINGER = struct.pack("hh" if sys.platform == "win32" else "ii", 1, 0)
_DRAIN_POLL = 0.001
# A reset may discard what the peer has not read yet, so the peer is given a moment to read.
_READING_TIME = 0.02


class Wire:
    """The connection of one request, below HTTP."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._socket: socket.socket | None = transport.get_extra_info("socket")
        self._secure = transport.get_extra_info("sslcontext") is not None
        # Whether nothing is answered any more; what still comes is dropped, or resets the connection.
        self.dead = False
        self._resets = False

    def write(self, data: bytes) -> None:
        """Write raw bytes outside HTTP; nothing if the client has left."""
        if data and not self._transport.is_closing():
            self._transport.write(data)

    async def break_off(
        self, ending: ConnectionFault, ended: Callable[[], None] = lambda: None, dead: Callable[[], None] = lambda: None
    ) -> None:
        """Once everything that was written has left the process, send the raw bytes of an ending, and end the
        connection so. `ended` is called before the client can notice, even if sending fails; or `dead` if the
        connection stays open."""
        try:
            await self._drain()
            if ending.raw:
                self.write(ending.raw)
                await self._drain()
        finally:
            if ending.how in ("reset", "close"):
                ended()
        if ending.how == "reset":
            await asyncio.sleep(_READING_TIME)
            self._reset()
        elif ending.how == "close":
            # Without any HTTP (FIN; under TLS without a close_notify alert).
            self._transport.abort()
        else:
            # A server that hangs, or whose machine has gone: not even the end of the connection is sent. What the
            # client sends to the machine from now on is answered by a reset, as from the one that replaces it.
            self.dead, self._resets = True, ending.how == "half_open"
            dead()

    def receive(self) -> None:
        """Data has arrived on a dead connection."""
        if self._resets:
            self._reset()

    async def _drain(self) -> None:
        while not self._transport.is_closing() and self._transport.get_write_buffer_size():
            await asyncio.sleep(_DRAIN_POLL)
        if self._secure:
            # Under TLS the transport counts only data that is not encrypted yet; encrypted data waits in an inner
            # transport that is not accessible. While it does, the system's own buffer is not empty either, and is
            # refilled after each iteration of the loop.
            while not self._transport.is_closing() and _unacknowledged(self._socket):
                await asyncio.sleep(_DRAIN_POLL)

    def _reset(self) -> None:
        if self._socket is not None and _is_open(self._socket):
            # Some systems refuse this on a connection that the peer has just reset.
            with contextlib.suppress(OSError):
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        self._transport.abort()


def _unacknowledged(connection: socket.socket | None) -> int:
    """How many bytes the peer has not acknowledged yet; 0 if the system does not provide the number."""
    if connection is None or ioctl is None or not _is_open(connection):
        return 0
    try:
        return int(struct.unpack("i", ioctl(connection.fileno(), _OUT_QUEUE, b"\0" * 4))[0])
    except OSError:
        return 0


def _is_open(connection: socket.socket) -> bool:
    """Whether a connection is still open; it is closed soon after the client has left."""
    return connection.fileno() >= 0

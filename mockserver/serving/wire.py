"""The wire under HTTP: what a fault needs that no HTTP answer can do.

uvicorn's protocol, with one thing more: it puts a small `Wire` into each request's scope, as an ASGI extension. Where
there is none (an application called in process), transport faults are refused.
"""

import asyncio
import socket
import struct
import sys
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

EXTENSION = "mockserver.wire"

# "Linger, for no time at all": closing a socket then resets the connection.
_NO_LINGER = struct.pack("hh" if sys.platform == "win32" else "ii", 1, 0)
_DRAIN_POLL = 0.001
# A reset may throw away what the peer has not read yet, so it is given a moment to.
_READING_TIME = 0.02


class Wire:
    """The connection of one request, behind the back of HTTP."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport

    async def drain(self) -> None:
        """Wait until all that was written is on its way."""
        while self._transport.get_write_buffer_size() and not self._transport.is_closing():
            await asyncio.sleep(_DRAIN_POLL)

    def write(self, data: bytes) -> None:
        """Bytes that HTTP knows nothing of."""
        self._transport.write(data)

    def close(self) -> None:
        """End the connection at once, without a word (FIN; under TLS without its farewell)."""
        self._transport.abort()

    async def reset(self) -> None:
        """Break the connection (RST)."""
        await asyncio.sleep(_READING_TIME)
        connection = self._transport.get_extra_info("socket")
        if connection is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        self._transport.abort()


class WireProtocol(HttpToolsProtocol):
    """uvicorn's HTTP protocol with a wire in every scope."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Remember the wire of the connection."""
        super().connection_made(transport)
        self._extensions: dict[str, Any] = {EXTENSION: Wire(transport)}

    def on_message_begin(self) -> None:
        """Put the wire into the scope of the request that begins."""
        super().on_message_begin()
        self.scope["extensions"] = self._extensions

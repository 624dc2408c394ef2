"""The connection below HTTP: what a fault needs that no HTTP response can do.

This is uvicorn's protocol with a small `Wire` added to each connection. Without one (an application that is called in
process), transport faults are refused.
"""

import asyncio
import contextlib
import socket
import struct
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import httptools

from mockserver.serving.misdirected import complaint_about
from mockserver.serving.sockets.batches import Batch, BatchedTransport
from mockserver.serving.sockets.idle import IdleProtocol

if sys.platform == "linux":
    from fcntl import ioctl
    from termios import TIOCOUTQ as _OUT_QUEUE
else:
    ioctl, _OUT_QUEUE = None, 0

# The ASGI extension that holds the server's `Door`; listener faults are only possible with it.
DOOR = "mockserver.door"
# The ASGI extension that holds the `Wire` of the connection.
WIRE = "mockserver.wire"

# A request head that has not ended after so many bytes is considered endless: no legitimate client sends as much.
_LONGEST_HEAD = 262_144
_HEAD_TOO_LONG = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: text/plain; charset=utf-8\r\n"
    b"content-length: 34\r\nconnection: close\r\n\r\nThe head of the request is endless"
)

# Data with more than a few request heads is parsed in stretches of so many bytes: thousands of pipelined requests,
# which the system delivers as one piece, take some hundred milliseconds.
_STRETCH = 2_048
_FEW_HEADS = 8
# After so many bytes at once, other connections are read first.
_MUCH = 65_536

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
        self.dead = False

    async def drain(self) -> None:
        """Wait until everything that was written has left the process."""
        while not self._transport.is_closing() and self._transport.get_write_buffer_size():
            await asyncio.sleep(_DRAIN_POLL)
        if self._secure:
            # Under TLS the transport counts only data that is not encrypted yet; encrypted data waits in an inner
            # transport that is not accessible. While it does, the system's own buffer is not empty either, and is
            # refilled after each iteration of the loop.
            while not self._transport.is_closing() and _unacknowledged(self._socket):
                await asyncio.sleep(_DRAIN_POLL)

    def write(self, data: bytes) -> None:
        """Write raw bytes outside HTTP; nothing if the client has left."""
        if not self._transport.is_closing():
            self._transport.write(data)

    def close(self) -> None:
        """End the connection at once, without any HTTP (FIN; under TLS without a close_notify alert)."""
        self._transport.abort()

    async def reset(self) -> None:
        """Break the connection (RST)."""
        await asyncio.sleep(_READING_TIME)
        self._reset()

    def die(self) -> None:
        """Send nothing more, not even the end of the connection, like a server whose machine has gone. What the client
        sends from now on is answered by a reset, as from the machine that replaces it."""
        self.dead = True

    def receive(self) -> None:
        """Data has arrived on a dead connection: reset it."""
        self._reset()

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


def _without_offer(headers: Iterable[tuple[bytes, bytes]]) -> Iterator[bytes]:
    """The lines of headers, without the `upgrade` token of `Connection` that makes an `Upgrade` header an offer."""
    for name, value in headers:
        if name == b"connection":
            options = [word.strip() for word in value.split(b",") if word.strip().lower() != b"upgrade"]
            if not options:
                continue
            value = b", ".join(options)
        yield name + b": " + value


class WireProtocol(IdleProtocol):
    """uvicorn's HTTP protocol with a wire; the ASGI scope contains it, and the server's door.

    A client that offers to upgrade to another protocol, as some do with HTTP/2, is answered in this one (RFC 9110, 7.8:
    "a server MAY ignore a received Upgrade header field"). The parser stops at the head of such a request, since what
    follows might be in the new protocol; so the head is parsed once more, without the offer.
    """

    transport: BatchedTransport
    # The head of a request that offers an upgrade, without the offer, until it is parsed again.
    _reduced_head = b""
    # How many bytes of an unfinished head have arrived; None between heads.
    _head_size: int | None = None
    # Data that has arrived and is not parsed yet, because other connections get their turn in between.
    _rest = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Create the wire of the connection, above which whole answers wait for others."""
        batched = BatchedTransport(transport, getattr(self.config, "batch", None) or Batch(self.loop))
        super().connection_made(batched)
        self.wire = Wire(batched)

    def eof_received(self) -> None:
        """Write what waits: the client sends nothing more, and the transport is about to close."""
        self.transport.send()

    def data_received(self, data: bytes) -> None:
        """Process what the client sends, unless the connection is dead."""
        if self.wire.dead:
            self.wire.receive()
        elif self._rest:
            self._rest += data
        elif len(data) > _STRETCH and data.count(b"\r\n\r\n") > _FEW_HEADS:
            self._rest = data
            self._parse_some()
        else:
            self._parse(data)
            if len(data) >= _MUCH:
                self._pause_for_others()

    def _pause_for_others(self) -> None:
        """Read on after other connections: some loops read as long as there is something, a megabyte for a millisecond
        and a half."""
        if not self.flow.read_paused and not self.transport.is_closing():
            self.transport.pause_reading()
            self.loop.call_soon(self._read_on)

    def _read_on(self) -> None:
        if not self.flow.read_paused and not self.transport.is_closing():
            self.transport.resume_reading()

    def _parse_some(self) -> None:
        """Parse a stretch of the data, and schedule the next one after other connections."""
        if self.parser is None or self.wire.dead or self.transport.is_closing():
            self._rest = b""
            return
        stretch, self._rest = self._rest[:_STRETCH], self._rest[_STRETCH:]
        self._parse(stretch)
        if self._rest:
            self.loop.call_soon(self._parse_some)

    def _parse(self, data: bytes) -> None:
        self.busy()
        while True:
            try:
                self.parser.feed_data(data)
                if self._head_size is not None:
                    self._measure_head(len(data))
                return
            except httptools.HttpParserUpgrade as offer:
                if not self._reduced_head:
                    return
                data, self._reduced_head = self._reduced_head + data[offer.args[0] :], b""
            except httptools.HttpParserError:
                message = complaint_about(data)
                self.logger.warning(message)
                self.send_400_response(message)
                return

    def on_message_begin(self) -> None:
        """A head begins. The scope that uvicorn would make here is made only if the request goes to the application."""
        self.url = b""
        self.headers = []
        self.expect_100_continue = False
        self._head_size = 0

    def _measure_head(self, size: int) -> None:
        """Count the bytes of a head that has not ended yet, and refuse an endless one."""
        assert self._head_size is not None, "a head has begun"
        self._head_size += size
        if self._head_size > _LONGEST_HEAD:
            self.transport.write(_HEAD_TOO_LONG)
            self.transport.close()

    def is_offer(self) -> bool:
        """Whether the request with this head offers an upgrade; if so, it is parsed again without the offer."""
        parser = self.parser
        # A request for a tunnel (CONNECT) has no other meaning.
        if not parser.should_upgrade() or parser.get_method() == b"CONNECT":
            return False
        first = b"%b %b HTTP/%b" % (parser.get_method(), self.url, parser.get_http_version().encode())
        self._reduced_head = b"\r\n".join((first, *_without_offer(self.headers), b"", b""))
        return True

    def on_headers_complete(self) -> None:
        """Pass the request to the ASGI application, with the connection's wire and the server's door in the scope."""
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.expect_100_continue = url, expects
        self.headers += headers
        extensions: dict[str, Any] = {DOOR: getattr(self.config, "door", None), WIRE: self.wire}
        self.scope["extensions"] = extensions
        super().on_headers_complete()

"""The wire under HTTP: what a fault needs that no HTTP answer can do.

uvicorn's protocol, with one thing more: a small `Wire` under each connection. Where there is none (an application
called in process), transport faults are refused.
"""

import asyncio
import contextlib
import socket
import struct
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import httptools

from mockserver.serving.idle import IdleProtocol

if sys.platform == "linux":
    from fcntl import ioctl
    from termios import TIOCOUTQ as _OUT_QUEUE
else:
    ioctl, _OUT_QUEUE = None, 0

# The ASGI extension that is the server's `Door`: where it is, listeners can fail.
DOOR = "mockserver.door"

# A head that has not come to its end after so many bytes never will: no client that is meant sends so much.
_LONGEST_HEAD = 262_144
_HEAD_TOO_LONG = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: text/plain; charset=utf-8\r\n"
    b"content-length: 34\r\nconnection: close\r\n\r\nThe head of the request is endless"
)

# Of what comes with more heads than a few, so many bytes are parsed at a time: a row of thousands of requests, which a
# system hands over as one piece, takes some hundred milliseconds.
_STRETCH = 2_048
_FEW_HEADS = 8

# "Linger, for no time at all": closing a socket then resets the connection.
_NO_LINGER = struct.pack("hh" if sys.platform == "win32" else "ii", 1, 0)
_DRAIN_POLL = 0.001
# A reset may throw away what the peer has not read yet, so it is given a moment to.
_READING_TIME = 0.02


class Wire:
    """The connection of one request, below HTTP."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._socket: socket.socket | None = transport.get_extra_info("socket")
        self._secure = transport.get_extra_info("sslcontext") is not None
        self.dead = False

    async def drain(self) -> None:
        """Wait until all that was written is on its way."""
        while not self._transport.is_closing() and self._transport.get_write_buffer_size():
            await asyncio.sleep(_DRAIN_POLL)
        if self._secure:
            # Under TLS the transport tells what is not encrypted yet; what is waits in another one, out of sight. While
            # it does, the system's own buffer has bytes too, and it is filled again after each round of the loop.
            while not self._transport.is_closing() and _unacknowledged(self._socket):
                await asyncio.sleep(_DRAIN_POLL)

    def write(self, data: bytes) -> None:
        """Bytes that HTTP knows nothing of; none where the client has left."""
        if not self._transport.is_closing():
            self._transport.write(data)

    def close(self) -> None:
        """End the connection at once, without a word (FIN; under TLS without its farewell)."""
        self._transport.abort()

    async def reset(self) -> None:
        """Break the connection (RST)."""
        await asyncio.sleep(_READING_TIME)
        self._reset()

    def die(self) -> None:
        """Say nothing more, not even that it is over: as a server whose machine went away. Whatever the client sends
        from now on is answered by a reset, as by the machine that came in its place."""
        self.dead = True

    def receive(self) -> None:
        """Something has come for a dead connection."""
        self._reset()

    def _reset(self) -> None:
        if self._socket is not None and _is_open(self._socket):
            # Some systems refuse it for a connection that the other side has just broken.
            with contextlib.suppress(OSError):
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        self._transport.abort()


def _unacknowledged(connection: socket.socket | None) -> int:
    """How many bytes the other side has not acknowledged yet; 0 where the system does not tell."""
    if connection is None or ioctl is None or not _is_open(connection):
        return 0
    try:
        return int(struct.unpack("i", ioctl(connection.fileno(), _OUT_QUEUE, b"\0" * 4))[0])
    except OSError:
        return 0


def _is_open(connection: socket.socket) -> bool:
    """Whether a connection has not been closed yet, as it is soon after the client has left."""
    return connection.fileno() >= 0


def _without_offer(headers: Iterable[tuple[bytes, bytes]]) -> Iterator[bytes]:
    """The lines of headers, without the word that makes an `Upgrade` among them an offer."""
    for name, value in headers:
        if name == b"connection":
            said = [word.strip() for word in value.split(b",") if word.strip().lower() != b"upgrade"]
            if not said:
                continue
            value = b", ".join(said)
        yield name + b": " + value


class WireProtocol(IdleProtocol):
    """uvicorn's HTTP protocol with a wire; whoever is asked over ASGI finds the server's door in the scope.

    Whoever offers to go on in another protocol, as some clients do with HTTP/2, is answered in this one (RFC 9110, 7.8:
    "a server MAY ignore a received Upgrade header field"). The parser stops at the head of such a request, since what
    follows it might be that protocol already; so the head is parsed once more, without the offer.
    """

    # The head of the request that comes with an offer, without it, until that is parsed.
    _reduced_head = b""
    # How much has come of a head that has not ended; None between heads.
    _head_size: int | None = None
    # What has come and is to be parsed yet, by turns with everybody else.
    _rest = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Remember the wire of the connection."""
        super().connection_made(transport)
        self.wire = Wire(transport)

    def data_received(self, data: bytes) -> None:
        """Take what the client sends, unless the connection is dead."""
        if self.wire.dead:
            self.wire.receive()
        elif self._rest:
            self._rest += data
        elif len(data) > _STRETCH and data.count(b"\r\n\r\n") > _FEW_HEADS:
            self._rest = data
            self._parse_some()
        else:
            self._parse(data)

    def _parse_some(self) -> None:
        """Parse a stretch of what has come, and the next one when others have had their turn."""
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
                said = "Invalid HTTP request received."
                self.logger.warning(said)
                self.send_400_response(said)
                return

    def on_message_begin(self) -> None:
        """A head begins. What uvicorn tells an application of it is made when the request goes to one."""
        self.url = b""
        self.headers = []
        self.expect_100_continue = False
        self._head_size = 0

    def _measure_head(self, size: int) -> None:
        """Note that so many bytes have come, and a head has not ended with them."""
        assert self._head_size is not None, "a head has begun"
        self._head_size += size
        if self._head_size > _LONGEST_HEAD:
            self.transport.write(_HEAD_TOO_LONG)
            self.transport.close()

    def is_offer(self) -> bool:
        """Whether the request whose head has come offers another protocol: it will come again, as if it did not."""
        parser = self.parser
        # Whoever wants a tunnel has nothing else to say.
        if not parser.should_upgrade() or parser.get_method() == b"CONNECT":
            return False
        first = b"%b %b HTTP/%b" % (parser.get_method(), self.url, parser.get_http_version().encode())
        self._reduced_head = b"\r\n".join((first, *_without_offer(self.headers), b"", b""))
        return True

    def on_headers_complete(self) -> None:
        """Have the application asked over ASGI; with the server's door in the scope."""
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.expect_100_continue = url, expects
        self.headers += headers
        extensions: dict[str, Any] = {DOOR: getattr(self.config, "door", None)}
        self.scope["extensions"] = extensions
        super().on_headers_complete()

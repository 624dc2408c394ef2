"""How a connection is read: each gets its share, and what is unclear, too long or too slow is refused."""

import asyncio
import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

import httptools
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from mockserver.server.sockets.wire import Wire

# A head of more bytes, or of more fields, is refused: no legitimate client sends as much.
_LONGEST_HEAD = 131_072
_MOST_FIELDS = 256
# How many bytes of chunk sizes, extensions and trailers a body may have beyond so many for each of its own bytes.
_MOST_EXCESS = 131_072
_FRAMING = 16
# The longest time between two looks at a connection, in seconds; no deadline is nearer when it begins.
_LOOK_SECONDS = 30.0
# The seconds that a head may take to arrive, and a body; a body gets a second more for each so many of its bytes.
HEAD_SECONDS = 30.0
BODY_SECONDS = 60.0
_SLOWEST = 500

# Data with many lines (heads, chunks) is parsed in stretches of so many bytes, with other connections in between.
_STRETCH = 2_048
_FEW_LINES = 128
# After so many bytes at once, other connections are read first.
_MUCH = 65_536
# How long a client that is refused may go on to send, so that it does not lose the answer, in seconds.
_LINGER = 0.5

# RFC 3986, 3.2.2: a name, an IPv4 address, or an IP literal in brackets; then perhaps a port.
_HOST = re.compile(rb"(?:\[[0-9A-Fa-f:.v]+\]|[-A-Za-z0-9._~%!$&'()*+,;=]*)(?::[0-9]*)?")
_INVALID = "Invalid HTTP request received."
# The first bytes of other protocols, and what is wrong.
_OTHER_PROTOCOLS = (
    # The record of a TLS handshake; the next byte is the minor version.
    (
        b"\x16\x03",
        "This is a TLS handshake, but the server speaks plain HTTP: use http:// in the client's base URL, "
        "or serve HTTPS (--tls-cert).",
    ),
    # The preface of HTTP/2 with prior knowledge, which gRPC begins with too (RFC 9113, 3.4).
    (b"PRI * HTTP/2", "This is HTTP/2 (or gRPC), but the server speaks HTTP/1.1 only."),
    (
        b"CONNECT ",
        "This asks for a tunnel, but the server is no proxy: set the client's base URL, or let the vendor's own name "
        "lead here, with a certificate of `mockserver certs`.",
    ),
)
_CHECKED = frozenset((b"host", b"transfer-encoding", b"expect"))


class _Flow(FlowControl):
    """uvicorn's flow control, which does not read on while a connection has something to process."""

    def __init__(self, protocol: "LimitedProtocol") -> None:
        super().__init__(protocol.transport)
        self._protocol = protocol

    def resume_reading(self) -> None:
        """Read on if everything that was read has been processed."""
        if self.read_paused and not self._protocol.has_more():
            super().resume_reading()


class _RefusedError(Exception):
    """Stops the parser, because what it has found is refused."""


class LimitedProtocol(HttpToolsProtocol):
    """uvicorn's HTTP protocol with limits, and a wire for faults.

    A connection gets its share and no more: in each turn of the event loop it begins one request, or parses one stretch
    of data. What has been read and is not parsed waits in `_rest`, requests that are parsed and not begun wait in the
    `pipeline`; while there is either, or the client does not take its answers, nothing more is read.

    A client that offers to upgrade to another protocol, as some do with HTTP/2, is answered in this one (RFC 9110, 7.8:
    "a server MAY ignore a received Upgrade header field"). The parser stops at the head of such a request, since what
    follows might be in the new protocol; so the head is parsed once more, without the offer.

    uvicorn sets a timer after each answer, and cancels it with the next request. Here a connection has one timer, which
    looks from time to time how long the connection has been waiting for its client.
    """

    transport: asyncio.Transport
    # The head of a request that offers an upgrade, without the offer, until it is parsed again.
    _reduced_head = b""
    # How many bytes of an unfinished head have arrived; None between heads.
    _head_size: int | None = None
    # Data that has arrived, and where in it that begins which is not parsed yet.
    _rest = b""
    _start = 0
    # The latest request that has begun to be answered.
    _current: Any = None
    # Whether a request has begun while the present data was parsed, and whether a later turn will go on.
    _has_begun = False
    _goes_on = False
    # Whether a body is arriving; how many bytes of it have been counted and not counted yet, and how many there are too
    # many around them.
    _in_body = False
    _payload = 0
    _arrived = 0
    _excess = 0
    # When what is arriving, a head or a body, was first found incomplete, on the loop's clock in seconds.
    _since: float | None = None
    _hosts = 0
    _host = b""
    _coding: bytes | None = None
    # What is left to tell the client before the connection is closed; empty once it is told.
    _refusal: bytes | None = None
    # Whether the client has sent all that it will.
    _has_ended = False
    # When the connection was made, or the last answer ended, on the loop's clock in seconds; None during a request.
    _idle_since: float | None = None
    timeout_keep_alive_task: asyncio.TimerHandle | None
    pipeline: deque[Any]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Create the wire of the connection, and begin to look after it."""
        super().connection_made(transport)
        self.flow = _Flow(self)
        self.wire = Wire(transport)
        self.become_idle()
        self._look_after(_LOOK_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timer."""
        super().connection_lost(exc)
        self._unset_keepalive_if_required()

    def become_idle(self) -> None:
        """Mark the connection as idle from now on."""
        self._idle_since = self.loop.time()

    def has_more(self) -> bool:
        """Whether something that was read is still to be processed."""
        return bool(self.pipeline or self._rest) or self._refusal is not None

    def eof_received(self) -> bool:  # type: ignore[override]
        """The client sends nothing more. It gets the answers to what waits, unless it has left one behind."""
        if self.scheme == "https":
            # The transport is closed in any case: what has no time is lost.
            for _ in range(_FEW_LINES):
                if not self._goes_on:
                    break
                self._go_on()
            return False
        self._has_ended = self.has_more() and self._is_free() and self._refusal != b""
        return self._has_ended

    def data_received(self, data: bytes) -> None:
        """Process what the client sends, unless the connection is dead."""
        if self.wire.dead:
            self.wire.receive()
        elif self._refusal is not None:
            return
        elif self._rest or self.pipeline or self.flow.write_paused:
            self._rest, self._start = self._rest[self._start :] + data, 0
            self.flow.pause_reading()
        elif len(data) > _STRETCH and data.count(b"\r\n") > _FEW_LINES:
            self._rest = data
            self.flow.pause_reading()
            self._parse_stretch()
        else:
            self._parse(data)
            if self.pipeline:
                self.flow.pause_reading()
                self.go_on_soon()
            elif len(data) >= _MUCH:
                self._pause_for_others()

    def resume_writing(self) -> None:
        """Go on, because the client reads again."""
        super().resume_writing()
        if self.has_more():
            self.go_on_soon()

    def on_response_complete(self) -> None:
        """Go on with what waits in a later turn; if nothing does, become idle."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        if self.pipeline or self._rest or self._refusal is not None:
            self.go_on_soon()
        else:
            if self.flow.read_paused:
                self.flow.resume_reading()
            self.become_idle()

    def go_on_soon(self) -> None:
        """Go on with what waits after other connections."""
        if not self._goes_on:
            self._goes_on = True
            self.loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        """Begin the next request, or parse the next stretch of data."""
        self._goes_on = False
        if self.parser is None or self.transport.is_closing():
            self._rest = b""
        elif self.wire.dead:
            # What waits gets no answer; but whether the client leaves is only known if it is read.
            self._rest = b""
            self.pipeline.clear()
            self.flow.resume_reading()
        elif self.flow.write_paused or (self.pipeline and not self._is_free()):
            # Called again when that is over.
            return
        elif self.pipeline:
            self._begin(self.pipeline.pop())
            self.go_on_soon()
        elif self._rest:
            self._parse_stretch()
        elif self._refusal is not None:
            if self._refusal and self._is_free():
                self._send_refusal(self._refusal)
        elif self._has_ended and (self._in_body or self._is_free()):
            self.transport.close()
        elif not self._has_ended:
            self.flow.resume_reading()
            if self._idle_since is None and self._head_size is None and self._is_free():
                self.become_idle()

    def _is_free(self) -> bool:
        """Whether no answer is owed to a request that has begun."""
        return self._current is None or self._current.response_complete

    def _begin(self, cycle: Any) -> None:
        """Begin to answer a request."""
        self._current, self._has_begun = cycle, True
        cycle.start()

    def take_up(self, cycle: Any) -> None:
        """Begin a request; or let it wait, if it is not the first of this turn or the client takes no more answers."""
        current = self._current
        is_free = current is None or current.response_complete
        if self.pipeline or self._has_begun or self.flow.write_paused or not is_free:
            self.pipeline.appendleft(cycle)
        else:
            self._begin(cycle)

    def _pause_for_others(self) -> None:
        """Read on after other connections: some loops read as long as there is something, a megabyte for a millisecond
        and a half."""
        if not self.flow.read_paused and not self.transport.is_closing():
            self.transport.pause_reading()
            self.loop.call_soon(self._read_on)

    def _read_on(self) -> None:
        if not self.flow.read_paused and not self.transport.is_closing():
            self.transport.resume_reading()

    def _parse_stretch(self) -> None:
        """Parse a stretch of the data, without copying the rest."""
        start, self._start = self._start, self._start + _STRETCH
        stretch = memoryview(self._rest)[start : self._start]
        if self._start >= len(self._rest):
            self._rest, self._start = b"", 0
        self._parse(stretch)
        self.go_on_soon()

    def _parse(self, data: bytes | memoryview) -> None:
        self._has_begun = False
        while True:
            try:
                self.parser.feed_data(data)
                if self._head_size is not None:
                    self._measure_head(len(data))
                elif self._in_body:
                    self._measure_body(len(data))
                return
            except httptools.HttpParserUpgrade as offer:
                if not self._reduced_head:
                    return
                data, self._reduced_head = self._reduced_head + data[offer.args[0] :], b""
            except httptools.HttpParserError:
                if self._refusal is None:
                    beginning = bytes(data[:16])
                    why = (f" {text}" for prefix, text in _OTHER_PROTOCOLS if beginning.startswith(prefix))
                    self.refuse(400, _INVALID + next(why, ""))
                return

    def refuse(self, status: int, message: str) -> None:
        """Parse nothing more, and close the connection with a refusal once the requests before are answered."""
        self.logger.warning(message)
        text = message.encode()
        head = b"content-type: text/plain; charset=utf-8\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
        self._refusal = STATUS_LINE[status] + head % len(text) + text
        self._rest, self._since = b"", None
        broken = self.cycle if self._in_body else None
        if broken is None or broken is not self._current:
            if self.pipeline and self.pipeline[0] is broken:
                self.pipeline.popleft()
            self.flow.pause_reading()
            if self._is_free() and not self.pipeline:
                self._send_refusal(self._refusal)
            else:
                self.go_on_soon()
        elif broken.response_complete or getattr(broken, "response_started", False):
            self.transport.close()
        else:
            self._send_refusal(self._refusal)

    def _send_refusal(self, refusal: bytes) -> None:
        """Send a refusal and the end of the connection. What the client still sends is read for a moment, since the
        system takes back what it has not delivered if a connection is closed with something unread."""
        self._refusal = b""
        self.transport.write(refusal)
        if self._has_ended or not self.transport.can_write_eof():
            self.transport.close()
            return
        self.transport.write_eof()
        self.transport.resume_reading()
        self.loop.call_later(_LINGER, self.transport.close)

    def on_message_begin(self) -> None:
        """A head begins. uvicorn would make a scope here, before it is known what it is for."""
        self.url = b""
        self.headers = []
        self.expect_100_continue = False
        self._head_size = self._hosts = 0
        self._host = b""
        self._coding = self._since = None
        self._in_body = False
        self._idle_since = None

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a field to the head. Those of a trailer are dropped: nothing here asks for them."""
        if self._in_body:
            return
        name = name.lower()
        if name in _CHECKED:
            if name == b"host":
                self._hosts += 1
                self._host = value
                if not _HOST.fullmatch(value):
                    self._hosts = 2
            elif name == b"expect":
                self.expect_100_continue = value.lower() == b"100-continue"
            else:
                self._coding = value
        self.headers.append((name, value))

    def check_head(self) -> None:
        """Refuse a head by which the request could be understood in two ways, or that is too long."""
        self._head_size = None
        self._in_body, self._since = True, None
        self._payload = self._arrived = self._excess = 0
        version = self.parser.get_http_version()
        if version == "1.1":
            if self._hosts != 1:
                self._refuse_head(400, "A request needs the header Host exactly once, with a valid value.")
        elif version != "1.0":
            self._refuse_head(505, f"This server speaks HTTP/1.1, not HTTP/{version}.")
        elif self._hosts > 1:
            self._refuse_head(400, "The header Host may occur once at most, with a valid value.")
        else:
            self.expect_100_continue = False
        if self._coding is not None and (self._coding.lower() != b"chunked" or version == "1.0"):
            self._refuse_head(400, "Transfer-Encoding must be `chunked` and nothing else, in HTTP/1.1.")
        if b"://" in self.url[:16] and self.url.split(b"/", 3)[2].partition(b"?")[0].lower() != self._host.lower():
            self._refuse_head(400, "The host of the request target is not that of the header Host.")
        if len(self.headers) > _MOST_FIELDS:
            self._refuse_head(431, f"The head of the request has more than {_MOST_FIELDS} fields.")

    def _refuse_head(self, status: int, message: str) -> NoReturn:
        self._in_body = False
        self.refuse(status, message)
        raise _RefusedError

    def _measure_head(self, size: int) -> None:
        """Count the bytes of a head that has not ended yet, and refuse an endless one."""
        assert self._head_size is not None, "a head has begun"
        self._head_size += size
        if self._since is None:
            self._since = self.loop.time()
        if self._head_size > _LONGEST_HEAD or len(self.headers) > _MOST_FIELDS:
            self._head_size = None
            self.refuse(414 if len(self.url) > _LONGEST_HEAD // 2 else 431, "The head of the request is endless")

    def _measure_body(self, size: int) -> None:
        """Count what a chunked body has besides its bytes, and refuse endless extensions and trailers."""
        if self._since is None:
            self._since = self.loop.time()
        payload, self._arrived = self._arrived, 0
        self._payload += payload
        self._excess = max(0, self._excess + size - _FRAMING * payload)
        if self._excess > _MOST_EXCESS:
            self.refuse(400, "The chunk extensions, or the trailer, of the request are endless")

    def deadline(self) -> float | None:
        """When the connection is closed if nothing happens, on the loop's clock in seconds."""
        if self._since is None:
            return None if self._idle_since is None else self._idle_since + self.timeout_keep_alive
        if self.has_more() or self.flow.write_paused:
            # It is not read: its time begins anew.
            self._since = self.loop.time()
        if self._head_size is not None:
            return self._since + HEAD_SECONDS
        return self._since + BODY_SECONDS + self._payload / _SLOWEST

    def expire(self) -> None:
        """Close the connection, whose deadline is over."""
        if self._since is None:
            self.transport.close()
        else:
            self.refuse(408, "The request was not complete in time")

    def _look_after(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self._look)

    def _look(self) -> None:
        """Close the connection if its deadline is over; else look again at the deadline, or earlier."""
        self.timeout_keep_alive_task = None
        if self.transport.is_closing():
            return
        deadline = self.deadline()
        left = _LOOK_SECONDS if deadline is None else deadline - self.loop.time()
        if left > 0:
            self._look_after(min(left, _LOOK_SECONDS))
        else:
            self.expire()

    def is_offer(self) -> bool:
        """Whether the request with this head offers an upgrade; if so, it is parsed again without the offer."""
        parser = self.parser
        # A request for a tunnel (CONNECT) has no other meaning.
        if not parser.should_upgrade() or parser.get_method() == b"CONNECT":
            return False
        first = b"%b %b HTTP/%b" % (parser.get_method(), self.url, parser.get_http_version().encode())
        self._reduced_head = b"\r\n".join((first, *_without_offer(self.headers), b"", b""))
        return True


def _without_offer(headers: Iterable[tuple[bytes, bytes]]) -> Iterator[bytes]:
    """The lines of headers, without the `upgrade` token of `Connection` that makes an `Upgrade` header an offer."""
    for name, value in headers:
        if name == b"connection":
            options = [word.strip() for word in value.split(b",") if word.strip().lower() != b"upgrade"]
            if not options:
                continue
            value = b", ".join(options)
        yield name + b": " + value

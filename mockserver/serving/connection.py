"""The direct way in and out: requests to the dialects, served without ASGI in between.

uvicorn's protocol parses and keeps the connection. For whatever the application takes directly, the request goes to it
as one value once it is whole, and the answer goes to the transport, a write for each write of the player; no task is
made for it. Everything else, such as the admin API, takes uvicorn's own way.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Protocol
from urllib.parse import unquote

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from mockserver.core.calls import Headers
from mockserver.core.timeline import Closer, Ending, RawHeaders
from mockserver.serving.player import Performance, Then
from mockserver.serving.reception import Incoming
from mockserver.serving.wire import WireProtocol

_LAST_CHUNK = b"0\r\n\r\n"
_BODILESS = (204, 304)
# So much of an answer fits into a record of TLS; and into 64 KiB, with its head.
_RECORD = 16_384
_READ = 61_440


class Direct(Protocol):
    """An application that takes requests as values."""

    def takes(self, path: str, headers: Headers) -> bool:
        """Whether a request is for it."""

    @property
    def max_body(self) -> int:
        """The largest body that it takes, in bytes."""

    def take(self, incoming: Incoming, sink: "Answer") -> None:
        """Answer a request, now or later."""


class _Ignored:
    """An event that nobody waits for."""

    def set(self) -> None:
        """Nothing to do."""


class Answer:
    """One request on a connection and its answer: a sink for the player, and what uvicorn asks of a cycle."""

    message_event = _Ignored()

    __slots__ = (
        *("app", "disconnected", "headers", "keep_alive", "method", "more_body", "path", "query"),
        *("response_complete", "too_large"),
        *("_bodiless", "_chunked", "_closed_by", "_expectant", "_gone", "_head", "_old", "_parts", "_protocol"),
        *("_resume", "_send", "_size", "_taken"),
    )

    def __init__(
        self, protocol: "DirectProtocol", app: Direct, method: str, path: str, query: str, headers: Headers
    ) -> None:
        self.app = app
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
        self._parts: list[bytes] = []
        self._size = 0
        self.more_body = True
        self.too_large = False
        # A client that speaks HTTP/1.0 knows of no chunks, and is not kept.
        self._old = protocol.parser.get_http_version() == "1.0"
        self.keep_alive = not self._old and protocol.parser.should_keep_alive()
        self.disconnected = False
        self.response_complete = False
        self._protocol = protocol
        self._head = b""
        self._chunked = False
        self._bodiless = method == "HEAD"
        # How chunks go to the client, from the second on and while it takes more: nothing else has to be asked then.
        self._send: Callable[[bytes], object] | None = None
        self._resume: Then | None = None
        self._gone: Callable[[Closer], None] | None = None
        self._closed_by: Closer = "client"
        self._taken = False
        self._expectant = protocol.expect_100_continue

    def feed(self, body: bytes) -> None:
        """Take a part of the request's body."""
        if self.too_large:
            return
        self._parts.append(body)
        self._size += len(body)
        if self._size > self.app.max_body:
            self.too_large = True
            self._parts.clear()

    def encourage(self) -> None:
        """Ask for the body, where the client waits to be asked; one that will be too large is refused unseen."""
        if self._expectant and self.more_body and not self._size:
            length = self.headers.get("content-length") or ""
            self.too_large = length.isdecimal() and int(length[:20]) > self.app.max_body
            if self.too_large:
                self.keep_alive = False
            else:
                self._protocol.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        self._expectant = False

    def start(self) -> None:
        """Have the request answered, now that it is its turn, if it is whole."""
        self.encourage()
        if self._taken or (self.more_body and not self.too_large) or self.disconnected:
            return
        self._taken = True
        body = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts.clear()
        self.app.take(
            Incoming(self.method, self.path, self.query, self.headers, body, self.too_large, wired=True), self
        )

    def play(self, performance: Performance) -> None:
        """Play the answer; it is told when the connection ends."""
        self._gone = performance.leave
        if self.disconnected:
            performance.leave(self._closed_by)
        else:
            performance.play()

    @property
    def longest_write(self) -> int:
        """What clients read at once: a record of TLS, or as much as most of them ask a socket for."""
        return _RECORD if self._protocol.scheme == "https" else _READ

    def begin(self, status: int, headers: RawHeaders, length: int | None) -> None:
        """Prepare the head, which leaves with the first part of the body."""
        if not self.keep_alive:
            # What a vendor says of a connection that is kept is not said of one that ends.
            headers = tuple(header for header in headers if header[0] != b"connection")
        lines = [*map(b": ".join, headers)]
        bodiless = status in _BODILESS
        if length is not None and not bodiless:
            lines.append(b"content-length: %d" % length)
        elif not bodiless and not _has_length(headers):
            if self._old:
                self.keep_alive = False
            else:
                self._chunked = True
                lines.append(b"transfer-encoding: chunked")
        if not self.keep_alive:
            lines.append(b"connection: close")
        lines += (b"", b"")
        self._bodiless = self._bodiless or bodiless
        self._head = STATUS_LINE[status] + b"\r\n".join(lines)

    def write(self, data: bytes, *, last: bool) -> bool:
        """Send a part of the body, as a chunk where nobody knows the length."""
        if self._send is not None and not last and data:
            self._send(b"%x\r\n%b\r\n" % (len(data), data))
            return self._send is not None
        if self.disconnected:
            return False
        if self._bodiless:
            data = b""
        elif self._chunked:
            data = b"%x\r\n%b\r\n" % (len(data), data) if data else b""
            if last:
                data += _LAST_CHUNK
        if self._head:
            data, self._head = self._head + data, b""
        if data:
            self._protocol.transport.write(data)
        if last:
            self._complete()
        else:
            self.go_on()
        return not self._protocol.flow.write_paused

    def go_on(self) -> None:
        """Send chunks without further ado from now on, if this is an answer in chunks and the client takes more."""
        protocol = self._protocol
        plain = self._chunked and not self._bodiless and not self._head and not self.response_complete
        self._send = protocol.transport.write if plain and not protocol.flow.write_paused else None

    def pause(self) -> None:
        """The client takes no more for now."""
        self._send = None

    def blocked(self, resume: Then) -> bool:
        """Whether the client is slow to take what has been written."""
        if not self._protocol.flow.write_paused:
            return False
        self._resume = resume
        return True

    def break_off(self, ending: Ending, ended: Then) -> None:
        """End the answer badly, once what has been written is on its way."""
        task = asyncio.ensure_future(self._break_off(ending, ended))
        self._protocol.tasks.add(task)
        task.add_done_callback(self._protocol.tasks.discard)

    def abort(self) -> None:
        """Drop the connection."""
        self._protocol.transport.abort()

    def writable(self) -> None:
        """The client takes more again."""
        self.go_on()
        resume, self._resume = self._resume, None
        if resume is not None:
            resume()

    def leave(self) -> None:
        """The connection has ended: the client has left, unless the server was first."""
        self.disconnected = True
        self._send = None
        gone, self._gone, self._resume = self._gone, None, None
        self._parts.clear()
        if gone is not None:
            gone(self._closed_by)

    def give_up(self) -> None:
        """The server ends the connection."""
        self._closed_by = "server"
        self.leave()

    async def _break_off(self, ending: Ending, ended: Then) -> None:
        wire = self._protocol.wire
        try:
            if self._head:
                wire.write(self._head)
                self._head = b""
            await wire.drain()
            if ending.raw:
                wire.write(ending.raw)
                await wire.drain()
        finally:
            # Before the client can know; and whatever has become of it.
            if ending.how in ("reset", "close"):
                ended()
        if ending.how == "reset":
            await wire.reset()
        elif ending.how == "close":
            wire.close()
        elif ending.how == "half_open":
            wire.die()

    def _complete(self) -> None:
        self.response_complete = True
        self._gone = None
        if not self.keep_alive:
            self._protocol.transport.close()
        self._protocol.on_response_complete()


class DirectProtocol(WireProtocol):
    """uvicorn's HTTP protocol, which hands requests to the application directly where it takes them so.

    uvicorn's `cycle` is the request that came last; those before it may still wait in the `pipeline` for their turn.
    """

    cycle: Any
    # The answer whose turn it is: what the transport tells is for it, whatever has come since.
    _current: Answer | None = None

    def on_headers_complete(self) -> None:
        """Begin an answer of our own, or leave the request to uvicorn."""
        self._head_size = None
        if self.is_offer():
            return
        app = self.config.loaded_app
        answer = self._answer(app)
        if answer is None:
            super().on_headers_complete()
            return
        previous, self.cycle = self.cycle, answer
        if previous is not None and not previous.response_complete:
            # A request that comes before the last one's answer waits for its turn.
            self.flow.pause_reading()
            self.pipeline.appendleft((answer, app))  # type: ignore[arg-type]
        else:
            self._current = answer
            answer.encourage()
            if answer.too_large:
                answer.start()

    def on_body(self, body: bytes) -> None:
        """Keep a part of the body."""
        if not isinstance(self.cycle, Answer):
            super().on_body(body)
        elif not self.cycle.response_complete:
            self.cycle.feed(body)
            if self.cycle.too_large and not self.pipeline:
                self.cycle.start()

    def on_message_complete(self) -> None:
        """Have the request answered."""
        if self._reduced_head:
            return
        if not isinstance(self.cycle, Answer):
            super().on_message_complete()
        elif not self.cycle.response_complete:
            self.cycle.more_body = False
            if not self.pipeline:
                self.cycle.start()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the answer that is being played; those that wait for their turn will have none."""
        super().connection_lost(exc)
        self.pipeline.clear()
        current, self._current = self._current, None
        # Whoever is named here names the connection: nobody would let go of the other but the garbage collector.
        self.cycle = None
        if current is not None and not current.response_complete:
            current.leave()

    def give_up(self) -> None:
        """End the connection, and what is being answered on it."""
        if self._current is not None and not self._current.response_complete:
            self._current.give_up()
        self.transport.abort()

    def pause_writing(self) -> None:
        """Have the answer wait until the client reads."""
        super().pause_writing()
        if self._current is not None:
            self._current.pause()

    def resume_writing(self) -> None:
        """Go on with the answer that waited for the client to read."""
        super().resume_writing()
        if self._current is not None:
            self._current.writable()

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        if isinstance(cycle, Answer):
            self._current = cycle
            # Not at once: a long row of requests would grow into a deep stack of calls.
            self.loop.call_soon(cycle.start)
        else:
            super()._start_asgi_task(cycle, app)

    def _answer(self, app: Any) -> Answer | None:
        """The answer to the request whose head has come, where the application takes it directly."""
        takes: Callable[[str, Headers], bool] | None = getattr(app, "takes", None)
        if takes is None:
            return None
        path, query = _parted(self.url)
        headers = Headers(self.headers)
        if not takes(path, headers):
            return None
        parser = self.parser
        return Answer(self, app, parser.get_method().decode("ascii"), path, query, headers)


def _parted(url: bytes) -> tuple[str, str]:
    """The path of a request's target, with what was escaped in it, and its query as it came."""
    if url.startswith(b"/") and b"#" not in url:
        # As all clients but proxies say it: the path and the query, and nothing else.
        raw, _, asked = url.partition(b"?")
    else:
        parsed = httptools.parse_url(url)
        raw, asked = parsed.path, parsed.query or b""
    path = raw.decode("ascii")
    return unquote(path) if "%" in path else path, asked.decode("latin-1")


def _has_length(headers: RawHeaders) -> bool:
    return any(name == b"content-length" for name, _ in headers)

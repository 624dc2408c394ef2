"""A connection: each request becomes an ASGI scope, and its answer is a transport for the player.

The application is called with complete requests. What the player writes goes to the socket, one write for each.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any
from urllib.parse import unquote

import httptools
from starlette.types import ASGIApp, Message, Scope
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from mockserver.core.http import ClosedBy, ConnectionFault, RawHeaders, TemplatedFrames
from mockserver.server.asgi import Transport
from mockserver.server.player import Callback, Playback
from mockserver.server.scheduling import resumed
from mockserver.server.sockets.protocol import LimitedProtocol
from mockserver.server.sockets.wire import LISTENER, WIRE
from mockserver.server.urls import ADMIN

_ASGI = {"version": "3.0", "spec_version": "2.3"}
_LAST_CHUNK = b"0\r\n\r\n"
_BODILESS = (204, 304)
# How many bytes of an answer fit into a TLS record, and into 64 KiB together with the head.
_RECORD = 16_384
_READ = 61_440


class HttpProtocol(LimitedProtocol):
    """uvicorn's HTTP protocol, whose answers are played on the connection.

    uvicorn's `cycle` is the latest request; earlier ones may be waiting in the `pipeline`.
    """

    cycle: "Answer | None"  # type: ignore[assignment]

    def on_headers_complete(self) -> None:
        """Begin an answer, or let the request wait."""
        self.check_head()
        if self.parser.should_upgrade() and self.is_offer():
            return
        app: Any = self.config.loaded_app
        scope = self._scope()
        at_once = app.answers_at_once and not scope["path"].startswith(ADMIN)
        self.cycle = Answer(self, app, scope, app.settings.max_body, at_once=at_once)
        self.take_up(self.cycle)

    def on_body(self, body: bytes) -> None:
        """Process a part of the body."""
        self._arrived += len(body)
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            cycle.feed(body)
            if cycle.too_large and cycle is self._current:
                cycle.start()

    def on_message_complete(self) -> None:
        """Start the answer to the complete request."""
        if self._reduced_head:
            return
        self._in_body, self._since = False, None
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            cycle.more_body = False
            if cycle is self._current:
                cycle.start()

    def connection_lost(self, exc: Exception | None) -> None:
        """Notify the answer that is being played; waiting requests are dropped."""
        super().connection_lost(exc)
        self.pipeline.clear()
        current, self._current = self._current, None
        # Connection, answer and flow control refer to each other: without cycles they are freed without garbage
        # collection.
        self.cycle = None
        self.flow = FlowControl(self.transport)
        self._rest = b""
        if current is not None and not current.response_complete:
            current.leave()

    def give_up(self) -> None:
        """End the connection, and the answer on it."""
        if self._current is not None and not self._current.response_complete:
            self._current.give_up()
        self.transport.abort()

    def pause_writing(self) -> None:
        """Pause the answer because the client reads too slowly."""
        super().pause_writing()
        if self._current is not None:
            self._current.pause()

    def resume_writing(self) -> None:
        """Resume the answer because the client reads again."""
        super().resume_writing()
        if self._current is not None:
            self._current.writable()

    def _scope(self) -> Scope:
        """The ASGI scope of the request with this head."""
        if self.url.startswith(b"/") and b"#" not in self.url:
            # The usual form; only requests to proxies have more than path and query.
            raw_path, _, query = self.url.partition(b"?")
        else:
            parsed = httptools.parse_url(self.url)
            raw_path, query = parsed.path, parsed.query or b""
        path = raw_path.decode("ascii")
        return {
            "type": "http",
            "asgi": _ASGI,
            "http_version": self.parser.get_http_version(),
            "server": self.server,
            "client": self.client,
            "scheme": self.scheme,
            "method": self.parser.get_method().decode("ascii"),
            "root_path": "",
            "path": unquote(path) if "%" in path else path,
            "raw_path": raw_path,
            "query_string": query,
            "headers": self.headers,
            "state": self.app_state.copy(),
            "extensions": {LISTENER: getattr(self.config, "listener", None), WIRE: self.wire},
        }


class Answer(Transport):
    """One request on a connection and its answer: a transport for the player, and a request cycle for uvicorn.

    The application is called once the whole body has arrived, or is too large.
    """

    # What uvicorn sets when a request goes on or its client leaves; nothing waits for it here.
    message_event = asyncio.Event()

    __slots__ = (
        *("disconnected", "keep_alive", "longest_write", "more_body", "scope"),
        *("response_complete", "too_large"),
        *("_bodiless", "_chunked", "_closed_by", "_awaits_continue", "_gone", "_body", "_head", "_old", "_protocol"),
        *("_application", "_at_once", "_interrupted", "_left", "_max_body", "_resume", "_send", "_taken"),
    )

    def __init__(
        self, protocol: HttpProtocol, application: ASGIApp, scope: Scope, max_body: int, *, at_once: bool
    ) -> None:
        self.scope = scope
        scope["extensions"][self.EXTENSION] = self
        self._at_once = at_once
        self._application = application
        self._max_body = max_body
        # Set when the client leaves, for applications that wait for that.
        self._left: asyncio.Event | None = None
        # None once it is read.
        self._body: bytes | bytearray | None = b""
        self.more_body = True
        self.too_large = False
        # HTTP/1.0 has no chunked encoding, and its connections are not kept alive.
        self._old = protocol.parser.get_http_version() == "1.0"
        self.keep_alive = not self._old and protocol.parser.should_keep_alive()
        self.disconnected = False
        self.response_complete = False
        self._protocol = protocol
        # As much as clients read at once: a TLS record, or the usual size of a read from a socket.
        self.longest_write = _RECORD if protocol.scheme == "https" else _READ
        self._head = b""
        self._chunked = False
        self._bodiless = scope["method"] == "HEAD"
        # The transport's write while the fast path applies: only chunks follow, and the client reads.
        self._send: Callable[[bytes], object] | None = None
        self._resume: Callback | None = None
        self._interrupted: Callback | None = None
        self._gone: Callable[[ClosedBy], None] | None = None
        self._closed_by: ClosedBy = "client"
        self._taken = False
        self._awaits_continue = protocol.expect_100_continue

    def feed(self, body: bytes) -> None:
        """Add a part of the request's body."""
        if self.too_large:
            return
        if not self._body:
            self._body = body
        else:
            # Joined at once: a million small chunks take no more memory than their bytes.
            if isinstance(self._body, bytes):
                self._body = bytearray(self._body)
            self._body += body
        if len(self._body) > self._max_body:
            self.too_large = True
            self._body = b""

    def send_continue(self) -> None:
        """Send the `100 Continue` that the client awaits, unless the body will be too large."""
        if self.more_body and not self._body:
            length = next((value for name, value in self.scope["headers"] if name == b"content-length"), b"")
            self.too_large = length.isdigit() and int(length[:20]) > self._max_body
            if self.too_large:
                self.keep_alive = False
            else:
                self._protocol.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        self._awaits_continue = False

    def start(self) -> None:
        """Call the application if the request is complete; to be called when its turn has come."""
        if self._awaits_continue:
            self.send_continue()
        if self._taken or (self.more_body and not self.too_large) or self.disconnected:
            return
        self._taken = True
        running = self._run()
        if self._at_once:
            # Like the eager tasks of Python 3.12, but without a current task until it first waits. Most answers never
            # do: a task for each would cost as much as a tenth of the answer, and come too late for a client that
            # closes its half of a TLS connection with its request.
            try:
                awaited = running.send(None)
            except StopIteration:
                return
            running = resumed(running, awaited)
        self._go_on_with(running)

    def _go_on_with(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine as one of the server's tasks, for which its end waits."""
        tasks = self._protocol.tasks
        task = self._protocol.loop.create_task(coroutine)
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    async def _run(self) -> None:
        try:
            await self._application(self.scope, self.receive, self.send)
        except Exception as error:
            self._protocol.logger.error("Exception in ASGI application", exc_info=error)
            if not self.response_complete:
                self.abort()

    async def receive(self) -> Message:
        """The request's body, once; after that, that the client has left."""
        if not self.disconnected and self._body is not None:
            body, self._body = bytes(self._body), None
            return {"type": "http.request", "body": body}
        if not (self.disconnected or self.response_complete):
            self._left = asyncio.Event()
            await self._left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """A part of an answer that the application itself writes."""
        if self.disconnected:
            return
        if message["type"] == "http.response.start":
            headers = tuple((bytes(name).lower(), bytes(value)) for name, value in message.get("headers", ()))
            length = next((int(value) for name, value in headers if name == b"content-length"), None)
            self.begin(message["status"], tuple(each for each in headers if each[0] != b"content-length"), length)
        else:
            self.write(message.get("body", b""), last=not message.get("more_body", False))
            await self._protocol.flow.drain()

    def play(self, playback: Playback) -> None:
        """Play the answer, and stop the playback when the connection ends."""
        self._gone = playback.leave
        if self.disconnected:
            playback.leave(self._closed_by)
        else:
            playback.play()

    def begin(self, status: int, headers: RawHeaders, length: int | None) -> None:
        """Prepare the head, which is sent with the first part of the body."""
        if not self.keep_alive:
            # A vendor's header for persistent connections is left out if the connection will be closed.
            headers = tuple(header for header in headers if header[0] != b"connection")
        lines = [*map(b": ".join, headers)]
        bodiless = status in _BODILESS
        if length is not None and not bodiless:
            lines.append(b"content-length: %d" % length)
        elif not bodiless and b"content-length" not in dict(headers):
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
        """Send a part of the body, as a chunk if its total length is unknown."""
        if self.disconnected:
            return False
        if self._bodiless:
            data = b""
        elif self._chunked:
            data = _chunk(data) if data else b""
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

    def write_more(self, data: bytes) -> bool:
        """The same for a part in the middle: almost all of a timed stream."""
        if self._send is None:
            return self.write(data, last=False)
        self._send(_chunk(data))
        return self._send is not None

    def steady(
        self, frames: TemplatedFrames, interrupted: Callback
    ) -> tuple[Sequence[bytes], Callable[[bytes], object]] | None:
        """The frames as chunks, for the transport, as long as the client reads."""
        if self._send is None:
            return None
        self._interrupted = interrupted
        return frames.changed(_chunk), self._send

    def go_on(self) -> None:
        """Use the fast path from now on if only chunks follow and the client reads."""
        protocol = self._protocol
        plain = self._chunked and not self._bodiless and not self._head and not self.response_complete
        self._send = protocol.transport.write if plain and not protocol.flow.write_paused else None

    def pause(self) -> None:
        """Leave the fast path, since the client has stopped reading."""
        self._send = None
        if self._interrupted is not None:
            self._interrupted()

    def gone(self) -> bool:
        """Whether a write has found that the client has left; the loop says so in its next turn."""
        return self._protocol.transport.is_closing()

    def blocked(self, resume: Callback) -> bool:
        """Whether the client reads too slowly, or not at all; `resume` is called when it reads again."""
        if not self._protocol.flow.write_paused and not self.gone():
            return False
        self._resume = resume
        return True

    def break_off(self, ending: ConnectionFault, ended: Callback) -> None:
        """End the answer with a fault's ending, once everything written has left."""
        wire = self._protocol.wire
        head, self._head = self._head, b""
        wire.write(head)
        self._go_on_with(wire.break_off(ending, ended, self._protocol.go_on_soon))

    def abort(self) -> None:
        """Drop the connection."""
        self._protocol.transport.abort()

    def writable(self) -> None:
        """Resume playing, since the client reads again."""
        self.go_on()
        resume, self._resume = self._resume, None
        if resume is not None:
            resume()

    def leave(self) -> None:
        """End the answer with the connection, which the client closed unless the server did so first."""
        self.disconnected = True
        self._send = None
        gone, self._gone, self._resume, self._interrupted = self._gone, None, None, None
        self._body = None
        self.scope["extensions"].pop(self.EXTENSION, None)
        if self._left is not None:
            self._left.set()
        if gone is not None:
            gone(self._closed_by)

    def give_up(self) -> None:
        """End the answer because the server closes the connection."""
        self._closed_by = "server"
        self.leave()

    def _complete(self) -> None:
        self.response_complete = True
        # Answer and scope refer to each other: without that cycle they are freed without garbage collection.
        self.scope["extensions"].pop(self.EXTENSION, None)
        if self._left is not None:
            self._left.set()
        # Answer and playback refer to each other: without that cycle they are freed without garbage collection.
        self._gone = self._interrupted = None
        if not self.keep_alive:
            self._protocol.transport.close()
        self._protocol.on_response_complete()


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)

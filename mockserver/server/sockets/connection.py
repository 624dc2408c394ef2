"""The protocol of a connection: each request becomes an ASGI scope with the connection's transport as an extension.

uvicorn's protocol parses requests and keeps the connection. The application is called with complete requests, and its
answer is written to the transport with one write for each write of the player.
"""

from typing import Any
from urllib.parse import unquote

import httptools
from starlette.types import Scope
from uvicorn.protocols.http.flow_control import FlowControl

from mockserver.server.sockets.answers import Answer
from mockserver.server.sockets.wire import LISTENER, WIRE, WireProtocol

_ASGI = {"version": "3.0", "spec_version": "2.3"}


class HttpProtocol(WireProtocol):
    """uvicorn's HTTP protocol, whose answers are played on the connection.

    uvicorn's `cycle` is the latest request; earlier ones may be waiting in the `pipeline`.
    """

    cycle: Answer | None  # type: ignore[assignment]

    def on_headers_complete(self) -> None:
        """Begin an answer, or let the request wait."""
        self.check_head()
        if self.parser.should_upgrade() and self.is_offer():
            return
        app: Any = self.config.loaded_app
        scope = self._scope()
        self.cycle = Answer(self, app, scope, app.settings.max_body, at_once=app.answers_at_once(scope["path"]))
        self._start_asgi_task(self.cycle, app)

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

    def begin(self, cycle: Any, app: Any) -> None:
        """Begin to answer a request."""
        self._current, self._has_begun = cycle, True
        cycle.start()

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

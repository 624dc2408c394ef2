"""The protocol of a connection: requests to the dialects bypass ASGI.

uvicorn's protocol parses requests and keeps the connection. A complete request that the application takes directly is
passed to it as one value, and its answer is written to the transport, with one write for each write of the player;
there is no task per request. Whole answers may wait for one another (see `batches`). All other requests, such as those
to the admin API, are left to uvicorn.
"""

from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import httptools

from mockserver.core.calls import Headers
from mockserver.serving.sockets.direct_answers import Answer
from mockserver.serving.sockets.wire import WireProtocol


class DirectProtocol(WireProtocol):
    """uvicorn's HTTP protocol, which passes requests to the application directly if it takes them.

    uvicorn's `cycle` is the latest request; earlier ones may be waiting in the `pipeline`.
    """

    cycle: Any

    def on_headers_complete(self) -> None:
        """Begin an answer of ours, or leave the request to uvicorn."""
        self.check_head()
        if self.is_offer():
            return
        app = self.config.loaded_app
        answer = self._answer(app)
        if answer is None:
            super().on_headers_complete()
            return
        self.cycle = answer
        self._start_asgi_task(answer, app)

    def on_body(self, body: bytes) -> None:
        """Process a part of the body."""
        self._arrived += len(body)
        cycle = self.cycle
        if not isinstance(cycle, Answer):
            super().on_body(body)
        elif not cycle.response_complete:
            cycle.feed(body)
            if cycle.too_large and cycle is self._current:
                cycle.start()

    def on_message_complete(self) -> None:
        """Start the answer to the complete request."""
        if self._reduced_head:
            return
        self._in_body, self._since = False, None
        cycle = self.cycle
        if not isinstance(cycle, Answer):
            super().on_message_complete()
        elif not cycle.response_complete:
            cycle.more_body = False
            if cycle is self._current:
                cycle.start()

    def connection_lost(self, exc: Exception | None) -> None:
        """Notify the answer that is being played; waiting requests are dropped."""
        super().connection_lost(exc)
        self.pipeline.clear()
        current, self._current = self._current, None
        # Answer and connection refer to each other: without that cycle they are freed without garbage collection.
        self.cycle = None
        self._rest = b""
        if current is None or current.response_complete:
            return
        if isinstance(current, Answer):
            current.leave()
        else:
            current.disconnected = True
            current.message_event.set()

    def give_up(self) -> None:
        """End the connection, and the answer on it."""
        if isinstance(self._current, Answer) and not self._current.response_complete:
            self._current.give_up()
        self.transport.abort()

    def pause_writing(self) -> None:
        """Pause the answer because the client reads too slowly."""
        super().pause_writing()
        if isinstance(self._current, Answer):
            self._current.pause()

    def resume_writing(self) -> None:
        """Resume the answer because the client reads again."""
        super().resume_writing()
        if isinstance(self._current, Answer):
            self._current.writable()

    def begin(self, cycle: Any, app: Any) -> None:
        """Begin to answer a request."""
        if isinstance(cycle, Answer):
            self._current, self._has_begun = cycle, True
            cycle.start()
        else:
            super().begin(cycle, app)

    def _answer(self, app: Any) -> Answer | None:
        """The answer to the request with this head, if the application takes it directly."""
        takes: Callable[[str, Headers], bool] | None = getattr(app, "takes", None)
        if takes is None:
            return None
        path, query = _split_target(self.url)
        headers = Headers(self.headers)
        if not takes(path, headers):
            return None
        parser = self.parser
        return Answer(self, app, parser.get_method().decode("ascii"), path, query, headers)


def _split_target(url: bytes) -> tuple[str, str]:
    """The unquoted path of a request target, and its query unchanged."""
    if url.startswith(b"/") and b"#" not in url:
        # The usual form; only requests to proxies have more than path and query.
        raw, _, query = url.partition(b"?")
    else:
        parsed = httptools.parse_url(url)
        raw, query = parsed.path, parsed.query or b""
    path = raw.decode("ascii")
    return unquote(path) if "%" in path else path, query.decode("latin-1")

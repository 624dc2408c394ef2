"""The protocol of a connection: requests to the dialects are served without ASGI in between.

uvicorn's protocol parses requests and keeps the connection. A request that the application takes directly is given to
it as one value when it is whole, and its answer goes to the transport, one write for each write of the player; no task
is made for it. All others, such as those to the admin API, go uvicorn's own way.
"""

from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import httptools

from mockserver.core.calls import Headers
from mockserver.serving.direct_answers import Answer
from mockserver.serving.wire import WireProtocol


class DirectProtocol(WireProtocol):
    """uvicorn's HTTP protocol, which gives requests to the application directly if it takes them.

    uvicorn's `cycle` is the latest request; earlier ones may still wait in the `pipeline` for their turn.
    """

    cycle: Any
    # The answer whose turn it is; events of the transport concern it, whatever has come since.
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
            # Pipelined requests wait for their turn.
            self.flow.pause_reading()
            self.pipeline.appendleft((answer, app))  # type: ignore[arg-type]
        else:
            self._current = answer
            answer.send_continue()
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
        """Tell the answer that is being played; requests that wait get none."""
        super().connection_lost(exc)
        self.pipeline.clear()
        current, self._current = self._current, None
        # Answer and connection refer to each other: cut that cycle, so that they need not wait for the collector.
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
            # Not at once: many pipelined requests would make a deep stack of calls.
            self.loop.call_soon(cycle.start)
        else:
            super()._start_asgi_task(cycle, app)

    def _answer(self, app: Any) -> Answer | None:
        """The answer to the request whose head has come, where the application takes it directly."""
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
    """The unquoted path of a request's target, and its query as it came."""
    if url.startswith(b"/") and b"#" not in url:
        # The usual form; only clients of proxies send more than path and query.
        raw, _, asked = url.partition(b"?")
    else:
        parsed = httptools.parse_url(url)
        raw, asked = parsed.path, parsed.query or b""
    path = raw.decode("ascii")
    return unquote(path) if "%" in path else path, asked.decode("latin-1")

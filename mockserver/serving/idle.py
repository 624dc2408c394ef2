"""Idle connections: one that nobody asks anything for a while is closed.

uvicorn sets a timer after each answer, and takes it back with the next request. Here a connection has one timer at the
most: it looks when it rings how long nobody has asked, and is set again for what is left.
"""

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class IdleProtocol(HttpToolsProtocol):
    """uvicorn's HTTP protocol, which notes when a connection becomes idle instead of setting a timer each time."""

    # When the last answer ended, on the loop's clock in seconds; None while a request is coming or being answered.
    _idle_since: float | None = None
    timeout_keep_alive_task: asyncio.TimerHandle | None

    def busy(self) -> None:
        """Something has come: the connection is not idle."""
        self._idle_since = None

    def on_response_complete(self) -> None:
        """Go on with the next request, if one has come already; else be idle."""
        if self.pipeline or self.transport.is_closing():
            super().on_response_complete()
            return
        self.server_state.total_requests += 1
        self.flow.resume_reading()
        self._idle_since = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self._look_after(self.timeout_keep_alive)

    def timeout_keep_alive_handler(self) -> None:
        """Close the connection, if it has been idle for long enough."""
        self.timeout_keep_alive_task = None
        if self._idle_since is None:
            return
        left = self._idle_since + self.timeout_keep_alive - self.loop.time()
        if left > 0:
            self._look_after(left)
        else:
            super().timeout_keep_alive_handler()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody will ask any more."""
        super().connection_lost(exc)
        self._unset_keepalive_if_required()

    def _look_after(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self.timeout_keep_alive_handler)

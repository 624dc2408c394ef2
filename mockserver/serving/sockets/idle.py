"""Idle connections: one without requests for a while is closed.

uvicorn sets a timer after each answer, and cancels it with the next request. Here a connection has at most one timer:
when it rings, it checks how long the connection has been idle, and is set again for the remaining time.
"""

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class IdleProtocol(HttpToolsProtocol):
    """uvicorn's HTTP protocol, which records when a connection becomes idle instead of setting a timer each time."""

    # When the last answer ended, on the loop's clock in seconds; None during a request.
    _idle_since: float | None = None
    timeout_keep_alive_task: asyncio.TimerHandle | None

    def busy(self) -> None:
        """Mark the connection as not idle, because data has arrived."""
        self._idle_since = None

    def on_response_complete(self) -> None:
        """Continue with the next pipelined request; without one, become idle."""
        if self.pipeline or self.transport.is_closing():
            super().on_response_complete()
            return
        self.server_state.total_requests += 1
        self.flow.resume_reading()
        self._idle_since = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self._look_after(self.timeout_keep_alive)

    def timeout_keep_alive_handler(self) -> None:
        """Close the connection if it has been idle for long enough."""
        self.timeout_keep_alive_task = None
        if self._idle_since is None:
            return
        left = self._idle_since + self.timeout_keep_alive - self.loop.time()
        if left > 0:
            self._look_after(left)
        else:
            super().timeout_keep_alive_handler()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timer."""
        super().connection_lost(exc)
        self._unset_keepalive_if_required()

    def _look_after(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self.timeout_keep_alive_handler)

"""Deadlines of connections: one that is idle, or whose request does not get complete, is closed.

uvicorn sets a timer after each answer, and cancels it with the next request. Here a connection has one timer, which
looks from time to time how long the connection has been waiting for its client.
"""

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

# The longest time between two looks, in seconds; no deadline is nearer when it begins.
LOOK_SECONDS = 30.0


class IdleProtocol(HttpToolsProtocol):
    """uvicorn's HTTP protocol, which records when a connection becomes idle instead of setting a timer each time."""

    # When the connection was made, or the last answer ended, on the loop's clock in seconds; None during a request.
    _idle_since: float | None = None
    timeout_keep_alive_task: asyncio.TimerHandle | None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to look after the connection."""
        super().connection_made(transport)
        self.become_idle()
        self._look_after(LOOK_SECONDS)

    def become_idle(self) -> None:
        """Mark the connection as idle from now on."""
        self._idle_since = self.loop.time()

    def deadline(self) -> float | None:
        """When the connection is closed if nothing happens, on the loop's clock in seconds."""
        return None if self._idle_since is None else self._idle_since + self.timeout_keep_alive

    def expire(self) -> None:
        """Close the connection, whose deadline is over."""
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timer."""
        super().connection_lost(exc)
        self._unset_keepalive_if_required()

    def _look_after(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self._look)

    def _look(self) -> None:
        """Close the connection if its deadline is over; else look again at the deadline, or earlier."""
        self.timeout_keep_alive_task = None
        if self.transport.is_closing():
            return
        deadline = self.deadline()
        left = LOOK_SECONDS if deadline is None else deadline - self.loop.time()
        if left > 0:
            self._look_after(min(left, LOOK_SECONDS))
        else:
            self.expire()

"""The player: performs a timeline over ASGI, each frame at its absolute deadline.

Frames that are due at the same moment leave in one write, which is bounded and ends on a frame's border, because a
write is the cost of an event and because some clients lose an event that a read cuts in two. In single mode every
frame is a write of its own. While the player waits, it also listens for the client to leave, and stops at once.
"""

import asyncio
from bisect import bisect_right
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from mockserver.core.timeline import Outcome, RawHeaders, Run, Timeline

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

# A joined write stays below this many bytes, so that it mostly arrives in one read.
_LONGEST_WRITE = 16_384


class _Departure:
    """Notices that the client has left, once somebody waits; wakes whoever is waiting."""

    def __init__(self, receive: Receive) -> None:
        self.left = False
        self._task = asyncio.ensure_future(self._listen(receive))
        self._sleeper: asyncio.Future[None] | None = None

    async def sleep_until(self, deadline: float) -> None:
        """Wait for the deadline on the loop's clock, or for the client to leave."""
        loop = asyncio.get_running_loop()
        self._sleeper = loop.create_future()
        timer = loop.call_at(deadline, self._wake)
        try:
            await self._sleeper
        finally:
            timer.cancel()
            self._sleeper = None

    def forget(self) -> None:
        """Stop listening."""
        self._task.cancel()

    async def _listen(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.left = True
        self._wake()

    def _wake(self) -> None:
        if self._sleeper is not None and not self._sleeper.done():
            self._sleeper.set_result(None)


async def play(timeline: Timeline, receive: Receive, send: Send, *, arrived: float, joined: bool = True) -> Outcome:
    """Perform a timeline whose request arrived at `arrived` on the loop's clock (seconds).

    The outcome counts what was sent before the end, or before the client left.
    """
    performance = _Performance(timeline, receive, send, arrived, joined)
    try:
        await performance.run()
    finally:
        performance.close()
    return performance.outcome()


class _Performance:
    """One timeline being played: what has gone out so far, and whether anybody still listens."""

    def __init__(self, timeline: Timeline, receive: Receive, send: Send, arrived: float, joined: bool) -> None:
        self._timeline = timeline
        self._receive = receive
        self._send = send
        self._arrived = arrived
        self._joined = joined and timeline.streamed
        self._loop = asyncio.get_running_loop()
        self._departure: _Departure | None = None
        self._started = False
        self._events = 0
        self._tokens = 0

    async def run(self) -> None:
        """Play run after run; between runs others get their turn."""
        for run in self._timeline.runs:
            if self._events:
                await asyncio.sleep(0)
            if not await self._play_run(run):
                return
        await self._finish()

    def close(self) -> None:
        """Stop listening for the client."""
        if self._departure is not None:
            self._departure.forget()

    def outcome(self) -> Outcome:
        """How it ended."""
        left = self._departure is not None and self._departure.left
        seconds = self._loop.time() - self._arrived
        return Outcome("client" if left else "server", self._events, self._tokens, seconds)

    async def _play_run(self, run: Run) -> bool:
        """Play a run; False when the client has left."""
        start, count = 0, len(run.data)
        while start < count:
            elapsed = self._loop.time() - self._arrived
            if run.due[start] > elapsed and not await self._wait(run.due[start]):
                return False
            end = self._batch(run, start, max(elapsed, run.due[start]))
            data = run.data[start] if end == start + 1 else b"".join(run.data[start:end])
            await self._write(data)
            self._events += end - start
            self._tokens += sum(run.tokens[start:end])
            start = end
        return True

    def _batch(self, run: Run, start: int, elapsed: float) -> int:
        """The end of the frames that may leave together: those that are due, up to the bound."""
        if not self._joined:
            return start + 1
        end = bisect_right(run.due, elapsed, lo=start + 1)
        size = len(run.data[start])
        for index in range(start + 1, end):
            size += len(run.data[index])
            if size > _LONGEST_WRITE:
                return index
        return end

    async def _wait(self, due: float) -> bool:
        """Wait until an instant, in seconds after arrival; False when the client has left by then."""
        if self._departure is None:
            self._departure = _Departure(self._receive)
        await self._departure.sleep_until(self._arrived + due)
        return not self._departure.left

    async def _write(self, data: bytes) -> None:
        if not self._started:
            self._started = True
            await self._send(_head(self._timeline, len(data)))
        await self._send({"type": "http.response.body", "body": data, "more_body": self._timeline.streamed})

    async def _finish(self) -> None:
        if self._timeline.streamed:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})


def _head(timeline: Timeline, length: int) -> Message:
    headers: RawHeaders = timeline.headers
    if not timeline.streamed:
        headers = (*headers, (b"content-length", b"%d" % length))
    return {"type": "http.response.start", "status": timeline.status, "headers": headers}

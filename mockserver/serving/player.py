"""The player: performs a timeline over ASGI, each frame at its absolute deadline.

Frames that are due at the same moment leave in one write, which is bounded and ends on a frame's border, because a
write is the cost of an event and because some clients lose an event that a read cuts in two. In single mode every
frame is a write of its own. While the player waits, it also listens for the client to leave, and stops at once.
"""

import asyncio
from bisect import bisect_right
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from itertools import accumulate
from typing import Any

from mockserver.core.timeline import Ending, Outcome, RawHeaders, Run, Timeline
from mockserver.serving.clock import Clock
from mockserver.serving.wire import Wire

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

# A joined write stays below this many bytes, so that it mostly arrives in one read.
_LONGEST_WRITE = 16_384


class _Departure:
    """Notices that the client has left, once somebody waits; wakes whoever is waiting."""

    def __init__(self, receive: Receive, clock: Clock) -> None:
        self.left = False
        self._clock = clock
        self._task = asyncio.ensure_future(self._listen(receive))
        self._sleeper: asyncio.Future[None] | None = None

    async def sleep_until(self, deadline: float) -> None:
        """Wait for the deadline, or for the client to leave."""
        if self.left:
            return
        self._sleeper = asyncio.get_running_loop().create_future()
        cancel = self._clock.call_at(deadline, self._wake)
        try:
            await self._sleeper
        finally:
            cancel()
            self._sleeper = None

    async def wait(self) -> None:
        """Wait until the client has left."""
        await self._task

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


async def play(
    timeline: Timeline,
    receive: Receive,
    send: Send,
    *,
    clock: Clock,
    arrived: float,
    joined: bool = True,
    wire: Wire | None = None,
) -> Outcome:
    """Perform a timeline whose request arrived at the instant `arrived` of the clock.

    The outcome counts what was sent before the end, or before the client left. A timeline that ends badly needs a wire.
    """
    performance = _Performance(timeline, receive, send, clock, arrived, joined, wire)
    try:
        await performance.run()
    finally:
        performance.close()
    return performance.outcome()


class _Performance:
    """One timeline being played: what is due and gathers for the next write, what has gone out, who still listens."""

    def __init__(
        self,
        timeline: Timeline,
        receive: Receive,
        send: Send,
        clock: Clock,
        arrived: float,
        joined: bool,
        wire: Wire | None,
    ) -> None:
        self._timeline = timeline
        self._receive = receive
        self._send = send
        self._clock = clock
        self._arrived = arrived
        self._wire = wire
        self._broken = False
        self._longest = _LONGEST_WRITE if joined else 0
        self._departure: _Departure | None = None
        self._started = False
        self._gathered: list[bytes] = []
        self._size = 0
        self._events = 0
        self._tokens = 0
        self._tokens_gathered = 0

    async def run(self) -> None:
        """Play run after run, to the end or until the client leaves."""
        for run in self._timeline.runs:
            if not await self._play_run(run):
                return
        if self._timeline.ending is None:
            await self._write(last=True)
        else:
            await self._break_off(self._timeline.ending)

    def close(self) -> None:
        """Stop listening for the client."""
        if self._departure is not None:
            self._departure.forget()

    def outcome(self) -> Outcome:
        """How it ended."""
        left = self._departure is not None and self._departure.left and not self._broken
        return Outcome("client" if left else "server", self._events, self._tokens, self._elapsed())

    async def _play_run(self, run: Run) -> bool:
        """Play a run; False when the client has left."""
        start, count = 0, len(run.data)
        while start < count:
            due = run.due[start]
            if due > self._elapsed():
                await self._write()
                if not await self._wait(due):
                    return False
            end = bisect_right(run.due, max(due, self._elapsed()), lo=start + 1)
            await self._gather(run.data[start:end], run.tokens[start:end])
            start = end
        return True

    async def _gather(self, data: Sequence[bytes], tokens: Sequence[int]) -> None:
        """Put frames that are due to the next write; write in between whenever it has grown long."""
        ends = list(accumulate(map(len, data), initial=0))
        start = 0
        while start < len(data):
            room = self._longest - self._size
            fitting = bisect_right(ends, ends[start] + room) - 1
            # A frame that is longer than any write is a write of its own.
            stop = fitting if self._gathered else max(fitting, start + 1)
            if stop <= start:
                await self._write()
                # Others get their turn between the writes of a long answer.
                await asyncio.sleep(0)
                continue
            self._gathered += data[start:stop]
            self._size += ends[stop] - ends[start]
            self._tokens_gathered += sum(tokens[start:stop])
            start = stop

    async def _break_off(self, ending: Ending) -> None:
        """End badly, and wait until the connection is gone: a server does not take kindly to an answer without end."""
        assert self._wire is not None, "whoever plays a broken timeline gives it a wire"
        await self._write()
        if ending.head and not self._started:
            self._started = True
            await self._send(_head(self._timeline))
        await self._wire.drain()
        if ending.raw:
            self._wire.write(ending.raw)
            await self._wire.drain()
        if ending.how == "reset":
            await self._wire.reset()
        elif ending.how == "close":
            self._wire.close()
        self._broken = ending.how != "hang"
        self._departure = self._departure or _Departure(self._receive, self._clock)
        await self._departure.wait()

    async def _wait(self, due: float) -> bool:
        """Wait until an instant, in seconds after arrival; False when the client has left by then."""
        if self._departure is None:
            self._departure = _Departure(self._receive, self._clock)
        await self._departure.sleep_until(self._arrived + due)
        return not self._departure.left

    async def _write(self, *, last: bool = False) -> None:
        """Send what has gathered, in one write."""
        if not self._gathered and not last:
            return
        body = b"".join(self._gathered)
        if not self._started:
            self._started = True
            await self._send(_head(self._timeline))
        await self._send({"type": "http.response.body", "body": body, "more_body": not last})
        self._events += len(self._gathered)
        self._tokens += self._tokens_gathered
        self._gathered.clear()
        self._size = self._tokens_gathered = 0

    def _elapsed(self) -> float:
        return self._clock.now() - self._arrived


def _head(timeline: Timeline) -> Message:
    headers: RawHeaders = timeline.headers
    if not timeline.streamed and timeline.ending is None:
        length = sum(len(data) for run in timeline.runs for data in run.data)
        headers = (*headers, (b"content-length", b"%d" % length))
    return {"type": "http.response.start", "status": timeline.status, "headers": headers}

"""The player: performs a timeline over ASGI, each frame at its absolute deadline.

Frames that are due at the same moment leave in one write, which is bounded and ends on a frame's border, because a
write is the cost of an event and because some clients lose an event that a read cuts in two. In single mode every
frame is a write of its own. While the player waits, it also listens for the client to leave, and stops at once.
"""

import asyncio
from bisect import bisect_right
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal

from mockserver.core.timeline import Ending, RawHeaders, Record, Run, Timeline
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


@dataclass(slots=True)
class Stage:
    """Where a timeline is played: who listens, who speaks, whose clock counts, and the wire where there is one.

    With `joined`, frames that are due at the same moment leave in one write.
    """

    receive: Receive
    send: Send
    clock: Clock
    joined: bool = True
    wire: Wire | None = None


async def play(
    timeline: Timeline, stage: Stage, arrived: float, record: Record, ended: Callable[[], None] = lambda: None
) -> None:
    """Perform a timeline whose request arrived at the instant `arrived` of the stage's clock.

    The record is kept as it happens; `ended` is called when nothing more will be sent, before the client can know.
    A timeline that ends badly needs a wire.
    """
    performance = _Performance(timeline, stage, arrived, record, ended)
    try:
        await performance.run()
    finally:
        performance.close()


class _Performance:
    """One timeline being played: what is due and gathers for the next write, and who still listens."""

    def __init__(
        self, timeline: Timeline, stage: Stage, arrived: float, record: Record, ended: Callable[[], None]
    ) -> None:
        self._timeline = timeline
        self._stage = stage
        self._arrived = arrived
        self._record = record
        self._ended = ended
        self._longest = _LONGEST_WRITE if stage.joined else 0
        self._departure: _Departure | None = None
        self._started = False
        self._gathered: list[bytes] = []
        self._size = 0
        self._tokens_gathered = 0

    async def run(self) -> None:
        """Play run after run, to the end or until the client leaves."""
        for run in self._timeline.runs:
            if not await self._play_run(run):
                self._end("client")
                return
        if self._timeline.ending is None:
            await self._write(last=True)
        else:
            await self._break_off(self._timeline.ending)

    def close(self) -> None:
        """Stop listening for the client. Whatever broke the performance off ended it for the client."""
        if self._departure is not None:
            self._departure.forget()
        self._end("client")

    def _end(self, closed_by: Literal["server", "client"]) -> None:
        """Note who has ended the answer, once."""
        if self._record.closed_by is None:
            self._record.closed_by = closed_by
            self._record.seconds = self._elapsed()
            self._ended()

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
        wire = self._stage.wire
        assert wire is not None, "whoever plays a broken timeline gives it a wire"
        await self._write()
        if ending.head and not self._started:
            await self._start()
        await wire.drain()
        if ending.raw:
            wire.write(ending.raw)
            await wire.drain()
        if ending.how != "hang":
            self._end("server")
        if ending.how == "reset":
            await wire.reset()
        elif ending.how == "close":
            wire.close()
        await self._listener().wait()

    async def _wait(self, due: float) -> bool:
        """Wait until an instant, in seconds after arrival; False when the client has left by then."""
        departure = self._listener()
        await departure.sleep_until(self._arrived + due)
        return not departure.left

    def _listener(self) -> _Departure:
        if self._departure is None:
            self._departure = _Departure(self._stage.receive, self._stage.clock)
        return self._departure

    async def _start(self) -> None:
        self._started = True
        await self._stage.send(_head(self._timeline))

    async def _write(self, *, last: bool = False) -> None:
        """Send what has gathered, in one write."""
        if not self._gathered and not last:
            return
        body = b"".join(self._gathered)
        if not self._started:
            await self._start()
        if self._gathered:
            self._record.wrote(len(self._gathered), self._tokens_gathered, self._elapsed())
        if last:
            self._end("server")
        await self._stage.send({"type": "http.response.body", "body": body, "more_body": not last})
        self._gathered.clear()
        self._size = self._tokens_gathered = 0

    def _elapsed(self) -> float:
        return self._stage.clock.now() - self._arrived


def _head(timeline: Timeline) -> Message:
    headers: RawHeaders = timeline.headers
    if not timeline.streamed and timeline.ending is None:
        length = sum(len(data) for run in timeline.runs for data in run.data)
        headers = (*headers, (b"content-length", b"%d" % length))
    return {"type": "http.response.start", "status": timeline.status, "headers": headers}

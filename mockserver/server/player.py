"""The player: performs a timeline, writing each frame at its absolute deadline.

Frames that are due at the same moment are joined into one write, because each write is costly. The write is bounded and
ends at a frame boundary, because some clients lose an event that is split between two reads. Frames of different
moments stay apart even if the machine is too busy to be on time. In single mode every frame is a write of its own. No
task waits while nothing is due: the clock calls the player, which writes.
"""

import asyncio
import logging
from bisect import bisect_right
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Protocol

from mockserver.core.failures import SimulatorError
from mockserver.core.http import (
    ClosedBy,
    ConnectionFault,
    RawHeaders,
    Record,
    TemplatedFrames,
    TimedFrames,
    Timeline,
)
from mockserver.server.clock import Alarm, ShiftedClock

log = logging.getLogger("mockserver")

# When a stream is late, gaps of up to so many seconds may close, and wider ones up to this share of its lateness.
_NARROW_GAP = 0.004
_CATCH_UP_SHARE = 1 / 64
# How many frames of a long answer are written before other connections get their turn. A larger frame, such as one of
# log-probabilities, takes long to make: it counts as several of so many bytes.
_TURN = 256
_FRAME = 256
# The bytes on the wire of a run with at most so many frames are computed at once.
_MOST_STEADY = 512
# The answer if none can be made.
_FAILED = SimulatorError(500, "error", "An error in mockserver or in a dialect: see the traceback in the log.").body

# A callback without arguments.
Callback = Callable[[], None]


class ResponseWriter(Protocol):
    """Where an answer goes: one client, over any transport.

    Joined frames stop growing at a size of `longest_write` bytes, so that a write mostly arrives in one read.
    """

    longest_write: int

    def begin(self, status: int, headers: RawHeaders, length: int | None) -> None:
        """Send the head, which may wait for the first write. Without a `length` the body's size is unknown."""

    def write(self, data: bytes, *, last: bool) -> bool:
        """Send a part of the body, the final one if `last`. Return whether the client may take more."""

    def write_more(self, data: bytes) -> bool:
        """The same for a part that is not empty and not the final one."""
        return self.write(data, last=False)

    def steady(
        self, frames: TemplatedFrames, interrupted: Callback
    ) -> "tuple[Sequence[bytes], Callable[[bytes], object]] | None":
        """These frames as they are sent, and the transport's own write, to be used until `interrupted` is called; None
        if there is more to a write than that."""
        return None

    def gone(self) -> bool:
        """Whether the client is known to have left, of which the player will be told soon."""
        return False

    def blocked(self, resume: Callback) -> bool:
        """Whether the client takes no more for now; if so, `resume` is called once it does."""

    def break_off(self, ending: ConnectionFault, ended: Callback) -> None:
        """Make the answer fail; `ended` is called when nothing more will be sent, unless the client leaves first."""

    def abort(self) -> None:
        """Drop the client, because its answer cannot go on."""


class Playback:
    """A timeline on its way to a client. Its request arrived at the instant `arrived` of the clock.

    The record is kept up to date; `ended` is called when nothing more will be sent, before the client can notice.
    """

    __slots__ = (
        *("_alarm", "_arrived", "_begun", "_clock", "_count", "_ended", "_ends", "_longest", "_over", "_position"),
        *("_record", "_run", "_runs", "_writer", "_timeline"),
    )

    def __init__(
        self,
        timeline: Timeline,
        writer: ResponseWriter,
        clock: ShiftedClock,
        arrived: float,
        record: Record,
        ended: Callback = lambda: None,
        *,
        joined: bool = True,
    ) -> None:
        self._timeline = timeline
        self._writer = writer
        self._clock = clock
        self._arrived = arrived
        self._record = record
        self._ended = ended
        self._longest = writer.longest_write if joined else 0
        self._runs: Iterator[TimedFrames] = iter(timeline.runs)
        self._run: TimedFrames | None = None
        self._position = 0
        self._count = 0
        # Where the frames of the run end, in bytes from its beginning; computed when first needed.
        self._ends: Sequence[int] | None = None
        self._begun = False
        self._over = False
        self._alarm: Alarm | None = None

    @property
    def over(self) -> bool:
        """Whether nothing more will be played."""
        return self._over

    def play(self) -> None:
        """Write what is due, and set an alarm for the rest."""
        again = self._wake(self._clock.now())
        if again is not None:
            if self._alarm is None:
                self._alarm = self._clock.alarm(self._wake)
            self._alarm.set(again)

    def _wake(self, now: float) -> float | None:
        """Write what is due now. Return the instant at which the rest is due, or None if no alarm is needed."""
        try:
            if not self._begun and self._play_at_once(now - self._arrived):
                return None
            due = self._play(now - self._arrived)
            if due is not None and self._alarm is not None and self._is_steady():
                ticks = self._ticks(self._alarm)
                self._alarm.wake = ticks.send
                return next(ticks)
        except Exception:
            self._fail()
            return None
        return None if due is None else self._arrived + due

    def _play_at_once(self, elapsed: float) -> bool:
        """Write an answer that is a single frame and due. Most are: this spares them what only longer ones need."""
        status, headers, runs, streamed, ending, until = self._timeline
        if streamed or ending is not None or type(runs) is not tuple or len(runs) != 1:
            return False
        data, due, tokens = runs[0]
        if len(due) != 1 or due[0] > elapsed or until > elapsed:
            return False
        frame, self._begun = data[0], True
        self._writer.begin(status, headers, len(frame))
        record = self._record
        record.wrote(1, tokens[0], elapsed)
        self._over = True
        if record.closed_by is None:
            record.closed_by, record.seconds = "server", elapsed
            self._ended()
        self._writer.write(frame, last=True)
        return True

    def _fail(self) -> None:
        """End an answer because of an error of our own, or of a dialect: with our refusal, or by dropping a client that
        has been sent a part of it."""
        log.exception("an error in mockserver or in a dialect, in the middle of an answer")
        self.leave("server")
        if self._begun:
            self._writer.abort()
            return
        self._begun, headers = True, [each for each in self._timeline.headers if each[0] != b"content-type"]
        self._writer.begin(500, (*headers, (b"content-type", b"application/json")), len(_FAILED))
        self._writer.write(_FAILED, last=True)

    def _is_steady(self) -> bool:
        """Whether the next frame is due alone, and has one after it in its run."""
        run, position = self._run, self._position
        return (
            run is not None and self._begun and position + 1 < self._count and run.due[position] < run.due[position + 1]
        )

    def _ticks(self, alarm: Alarm) -> Generator[float | None, float, None]:
        """Write frames one at a time, as long as each is due alone: almost all of a timed stream.

        It is what the alarm calls meanwhile: resumed with the present instant, it yields the next one. A thousand
        streams take turns, so that each time nothing of a stream is left in the CPU's cache: what is needed of it lies
        in the variables here, close together.
        """
        assert self._run is not None, "a frame is left"
        due, tokens = self._run.due, self._run.tokens
        data, write = self._steady(self._run)
        arrived, joined, record = self._arrived, self._longest > 0, self._record
        note = record.instants.append
        position, last = self._position, self._count - 1
        at = due[position]
        elapsed = yield arrived + at
        try:
            while True:
                elapsed -= arrived
                if at > elapsed:
                    elapsed = yield arrived + at
                    continue
                until = elapsed if elapsed - at <= _NARROW_GAP or not joined else _catch_up_until(at, elapsed)
                if position == last or due[position + 1] <= until:
                    alarm.wake = self._wake
                    yield self._wake(arrived + elapsed)
                    return
                if tokens[position] == 1:
                    note(elapsed)
                else:
                    record.wrote(1, tokens[position], elapsed)
                frame = data[position]
                self._position = position = position + 1
                at = due[position]
                # The transport's own write returns nothing.
                if write(frame) is False:
                    alarm.wake = self._wake
                    yield arrived + at if self._is_taken() else None
                    return
                elapsed = yield arrived + at
        except Exception:
            self._fail()
            yield None

    def _steady(self, run: TimedFrames) -> tuple[Sequence[bytes], Callable[[bytes], object]]:
        """What is to be written for each frame of a run, and how."""
        data = run.data
        if type(data) is not TemplatedFrames:
            return data, self._writer.write_more
        steady = self._writer.steady(data, self._interrupt) if len(data) <= _MOST_STEADY else None
        return steady or ([*data], self._writer.write_more)

    def _interrupt(self) -> None:
        """See to everything at the next wake-up: the client has stopped reading."""
        if self._alarm is not None:
            self._alarm.wake = self._wake

    def _play(self, elapsed: float) -> float | None:
        """The same as `_wake`, but in seconds since the request arrived."""
        turn = _TURN
        while not self._over:
            run = self._run if self._position != self._count else self._current()
            if run is None:
                return self._finish(elapsed)
            due = run.due[self._position]
            if due > elapsed:
                return due
            until = elapsed if elapsed - due <= _NARROW_GAP or not self._longest else _catch_up_until(due, elapsed)
            turn -= self._write_joined(run, until, elapsed) if self._longest else self._write_each(run, elapsed)
            if self._over or not self._is_taken():
                return None
            if turn <= 0:
                asyncio.get_running_loop().call_soon(self.play)
                return None
            if self._run is not None and (due := self._run.due[self._position]) > until:
                return due
            elapsed = self._clock.now() - self._arrived
        return None

    def _is_taken(self) -> bool:
        """Whether the client takes more; if not, playing resumes when it does."""
        return not self._writer.blocked(self.play)

    def leave(self, closed_by: ClosedBy = "client") -> None:
        """Stop playing: the client has left or will stay silent for good, or the server gives up the answer."""
        if self._record.closed_by is None:
            self._record.given_up = closed_by == "server"
        self._end(closed_by)

    def _current(self) -> TimedFrames | None:
        """The run that has a frame left, or None if all have been played."""
        while self._position == self._count:
            self._run = next(self._runs, None)
            self._position = 0
            self._ends = None
            if self._run is None:
                return None
            self._count = len(self._run.due)
        return self._run

    def _write_joined(self, run: TimedFrames, until: float, elapsed: float) -> int:
        """Write the frames due by `until`, of this run and later ones, at once. Return how many usual ones they are."""
        parts: list[bytes] = []
        size = events = tokens = 0
        following: TimedFrames | None = run
        while following is not None and following.due[self._position] <= until and size < self._longest:
            start = self._position
            stop = self._fitting(following, until, self._longest - size, alone=not parts)
            if stop == start:
                break
            parts.append(following.joined(start, stop))
            size += len(parts[-1])
            events += stop - start
            tokens += sum(following.tokens[start:stop])
            self._position = stop
            following = self._current()
        data = parts[0] if len(parts) == 1 else b"".join(parts)
        last = self._announce(elapsed, size)
        self._record.wrote(events, tokens, elapsed)
        if last:
            self._end("server")
        self._writer.write(data, last=last)
        return max(events, size // _FRAME)

    def _fitting(self, run: TimedFrames, until: float, room: int, *, alone: bool) -> int:
        """The end of the next frames of a run that are due and fit into a write; a write's first one always fits."""
        start = self._position
        if alone and start + 1 == self._count:
            return self._count
        stop = bisect_right(run.due, until, lo=start)
        if stop - start == 1 and alone:
            return stop
        if self._ends is None:
            self._ends = run.ends()
        fitting = bisect_right(self._ends, self._ends[start] + room, lo=start, hi=stop + 1) - 1
        return max(fitting, start + 1) if alone else fitting

    def _write_each(self, run: TimedFrames, elapsed: float) -> int:
        """Write each due frame of this run separately, up to a turn's worth. Return how many they were."""
        start = self._position
        stop = min(bisect_right(run.due, elapsed, lo=start), start + _TURN)
        self._position = stop
        self._current()
        last = self._announce(elapsed, len(run.data[start]))
        self._record.wrote_each(run.tokens[start:stop], elapsed)
        if last:
            self._end("server")
        if start < stop - 1:
            data, write = self._steady(run) if len(run.data) <= _MOST_STEADY else (run.data, self._writer.write_more)
            gone = self._writer.gone
            for frame in data[start : stop - 1]:
                if gone():
                    break
                write(frame)
        self._writer.write(run.data[stop - 1], last=last)
        return stop - start

    def _announce(self, elapsed: float, length: int) -> bool:
        """Send the head before the first write, which has `length` bytes. Return whether the next writes end the answer
        because no frame is left."""
        timeline = self._timeline
        last = self._run is None and timeline.ending is None and timeline.until <= elapsed
        if not self._begun:
            self._begin(length if last and not timeline.streamed else None)
        return last

    def _begin(self, length: int | None) -> None:
        """Send the head. A plain answer states its length, unless it will be broken off."""
        self._begun = True
        timeline = self._timeline
        if length is None and not timeline.streamed and timeline.ending is None:
            length = sum(len(data) for run in timeline.runs for data in run.data)
        self._writer.begin(timeline.status, timeline.headers, length)

    def _finish(self, elapsed: float) -> float | None:
        """End an answer that has no frame left, once its time has come: with a failure if the timeline has one, else
        with an empty last write. Return when that will be, if it is still to come."""
        timeline = self._timeline
        if timeline.until > elapsed:
            return timeline.until
        ending = timeline.ending
        if ending is None:
            if not self._begun:
                self._begin(0)
            self._end("server")
            self._writer.write(b"", last=True)
            return None
        self._over = True
        if ending.head and not self._begun:
            self._begin(None)
        self._writer.break_off(ending, lambda: self._end("server"))
        return None

    def _end(self, closed_by: ClosedBy) -> None:
        """Play nothing more, and record who ended the answer, once: before the client can notice."""
        self._over = True
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if self._record.closed_by is None:
            self._record.closed_by = closed_by
            self._record.seconds = self._elapsed()
            self._ended()

    def _elapsed(self) -> float:
        return self._clock.now() - self._arrived


def _catch_up_until(due: float, elapsed: float) -> float:
    """The instant until which frames leave together with a late one. A busy server keeps the gaps that are noticeable,
    and gives each stream a turn; but the later a stream is, the more of it leaves at once."""
    late = elapsed - due
    return due + min(_NARROW_GAP + late * _CATCH_UP_SHARE, late)

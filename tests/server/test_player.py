"""The player with a virtual clock: what is sent, when, and in how many writes."""

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import pytest
from starlette.types import Receive, Send

from mockserver.core.http import (
    ConnectionFault,
    LazyFrames,
    RawHeaders,
    Record,
    TemplatedFrames,
    TimedFrames,
    Timeline,
)
from mockserver.server.asgi import AsgiWriter, play
from mockserver.server.clock import LoopClock, ShiftedClock
from mockserver.server.player import Callback, Playback, ResponseWriter
from tests.support.virtual import be_busy, run_virtually


@dataclass
class Client:
    """The other end: notes when each message came, and leaves at an instant if told to."""

    leaves_at: float = 1e9
    writes: list[tuple[float, bytes]] = field(default_factory=list)
    status: int = 0

    async def receive(self) -> dict[str, Any]:
        await asyncio.sleep(self.leaves_at)
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        elif message["body"]:
            self.writes.append((round(asyncio.get_running_loop().time(), 6), message["body"]))


def played_virtually(timeline: Timeline, client: Client, *, joined: bool = True) -> Record:
    return run_virtually(played(timeline, client.receive, client.send, joined=joined))


async def played(timeline: Timeline, receive: Receive, send: Send, *, joined: bool = True) -> Record:
    record = Record()
    writer = AsgiWriter()
    clock = ShiftedClock(LoopClock(asyncio.get_running_loop()))
    await play(Playback(timeline, writer, clock, 0.0, record, joined=joined), writer, receive, send)
    return record


def outcome(record: Record) -> tuple[object, ...]:
    """Who ended it, the events and tokens sent, and when it was over."""
    return record.closed_by, record.events_sent, record.tokens_sent, record.seconds


def stream(*events: tuple[bytes, float]) -> Timeline:
    data, due = zip(*events, strict=True)
    return Timeline(200, (), (TimedFrames(data, due, (1,) * len(data)),), streamed=True)


def test_every_event_leaves_at_its_absolute_deadline() -> None:
    client = Client()
    record = played_virtually(stream((b"a", 0.1), (b"b", 0.11), (b"c", 5.0)), client)
    assert client.writes == [(0.1, b"a"), (0.11, b"b"), (5.0, b"c")]
    assert outcome(record) == ("server", 3, 3, 5.0)
    assert list(record.event_instants()) == [0.1, 0.11, 5.0]


def test_events_due_at_the_same_instant_share_a_write() -> None:
    client = Client()
    played_virtually(stream((b"a", 0.0), (b"b", 0.0), (b"c", 0.5), (b"d", 0.5)), client)
    assert client.writes == [(0.0, b"ab"), (0.5, b"cd")]


class Reader(ResponseWriter):
    """A client that takes everything at once: notes what came, and when."""

    longest_write = 16_384

    def __init__(self, name: str, heard: list[tuple[float, str, bytes]]) -> None:
        self._name = name
        self._heard = heard

    def begin(self, status: int, headers: RawHeaders, length: int | None) -> None:
        """Not of interest here."""

    def write(self, data: bytes, *, last: bool) -> bool:
        self._heard.append((round(asyncio.get_running_loop().time(), 6), self._name, data))
        return True

    def blocked(self, resume: Callback) -> bool:
        return False

    def break_off(self, ending: ConnectionFault, ended: Callback) -> None:
        raise NotImplementedError

    def abort(self) -> None:
        raise NotImplementedError


def heard_late(gap: float, *, stall: float = 0.05, names: str = "a") -> list[tuple[float, str, bytes]]:
    """What comes of streams of a hundred events, each begun a bit after the one before, from a server that is busy
    with something else for some time after the tenth events: instant, stream and data of each write."""
    heard: list[tuple[float, str, bytes]] = []

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        loop.call_at(10.25 * gap, be_busy, stall)
        clock = ShiftedClock(LoopClock(loop))
        for number, name in enumerate(names):
            events = [(b"x", event * gap + number * gap / 10) for event in range(100)]
            Playback(stream(*events), Reader(name, heard), clock, 0.0, Record()).play()
        await asyncio.sleep(100 * gap + stall)

    run_virtually(serve())
    return heard


def test_a_late_stream_keeps_its_events_apart() -> None:
    heard = heard_late(0.01)
    assert [data for _, _, data in heard] == [b"x"] * 100
    # Five come as soon as the server is free again, one behind the other; those after them when they are due.
    assert [at for at, _, _ in heard[10:18]] == [0.1, *[0.1525] * 5, 0.16, 0.17]


def test_late_streams_take_turns_in_the_order_in_which_their_events_were_due() -> None:
    assert "".join(name for _, name, _ in heard_late(0.01, names="abc")) == "abc" * 100


def test_gaps_that_nobody_would_notice_close_where_a_stream_is_late() -> None:
    late = [len(data) for at, _, data in heard_late(0.001) if at == 0.06025]
    assert sum(late) == 50
    assert all(4 <= size <= 6 for size in late)


def test_the_later_a_stream_is_the_more_of_it_leaves_at_a_time() -> None:
    late = [len(data) for at, _, data in heard_late(0.01, stall=0.85) if at == 0.9525]
    assert late == sorted(late, reverse=True)
    assert (late[0], late[-1], sum(late)) == (2, 1, 85)


@pytest.mark.parametrize("size, count, writes", [(50, 1000, 1), (6_000, 48, 6), (50_000, 8, 2)])
def test_long_answers_take_turns_after_so_many_events_or_fewer_of_large_ones(
    size: int, count: int, writes: int
) -> None:
    heard: list[tuple[float, str, bytes]] = []

    async def serve() -> None:
        clock = ShiftedClock(LoopClock(asyncio.get_running_loop()))
        for name in "ab":
            Playback(stream(*[(b"x" * size, 0.0)] * count), Reader(name, heard), clock, 0.0, Record()).play()
        await asyncio.sleep(1)

    run_virtually(serve())
    order = "".join(name for _, name, _ in heard)
    assert order == ("a" * writes + "b" * writes) * (len(order) // writes // 2)
    assert order.count("a") > 2 * writes


def test_in_single_mode_every_event_is_a_write() -> None:
    client = Client()
    played_virtually(stream((b"a", 0.0), (b"b", 0.0), (b"c", 0.5)), client, joined=False)
    assert client.writes == [(0.0, b"a"), (0.0, b"b"), (0.5, b"c")]


def test_a_joined_write_is_bounded_and_ends_on_an_events_border() -> None:
    client = Client()
    events = [bytes([97 + index]) * 6000 for index in range(5)]
    played_virtually(stream(*((event, 0.0) for event in events)), client)
    assert [body for _, body in client.writes] == [events[0] + events[1], events[2] + events[3], events[4]]


def test_what_is_due_at_once_is_bounded_also_before_what_comes_later() -> None:
    client = Client()
    played_virtually(stream(*((b"x" * 6000, 0.0) for _ in range(5)), (b"y", 1.0)), client)
    assert [(at, len(body)) for at, body in client.writes] == [(0.0, 12_000), (0.0, 12_000), (0.0, 6_000), (1.0, 1)]


def test_one_event_larger_than_the_bound_is_still_written_whole() -> None:
    client = Client()
    played_virtually(stream((b"x" * 50_000, 0.0), (b"y", 0.0)), client)
    assert [len(body) for _, body in client.writes] == [50_000, 1]


def test_a_stream_that_is_cut_at_an_instant_ends_then_and_not_with_its_last_event() -> None:
    client = Client()
    record = played_virtually(stream((b"a", 0.1), (b"b", 0.2))._replace(until=0.75), client)
    assert client.writes == [(0.1, b"a"), (0.2, b"b")]
    assert outcome(record) == ("server", 2, 2, 0.75)
    assert outcome(played_virtually(Timeline(200, (), (), until=0.5), Client())) == ("server", 0, 0, 0.5)


@pytest.mark.parametrize("leaves_at, broken_at, closed_by", [(9.0, 0.75, "server"), (0.5, None, "client")])
def test_an_answer_is_broken_off_at_its_instant_unless_the_client_has_left(
    leaves_at: float, broken_at: float | None, closed_by: str
) -> None:
    class Breaking(Reader):
        broken_at: float | None = None

        def break_off(self, ending: ConnectionFault, ended: Callback) -> None:
            self.broken_at = asyncio.get_running_loop().time()
            ended()

    async def serve() -> tuple[float | None, str | None]:
        loop, record, reader = asyncio.get_running_loop(), Record(), Breaking("a", [])
        timeline = stream((b"a", 0.1), (b"b", 0.2))._replace(until=0.75, ending=ConnectionFault("reset"))
        playback = Playback(timeline, reader, ShiftedClock(LoopClock(loop)), 0.0, record)
        loop.call_at(leaves_at, playback.leave)
        playback.play()
        await asyncio.sleep(10)
        return reader.broken_at, record.closed_by

    assert run_virtually(serve()) == (broken_at, closed_by)


def test_a_clock_that_is_put_forward_reaches_the_end_of_an_answer() -> None:
    async def serve() -> tuple[float, list[tuple[float, bytes]]]:
        client, writer, record = Client(), AsgiWriter(), Record()
        clock = ShiftedClock(LoopClock(asyncio.get_running_loop()))
        asyncio.get_running_loop().call_at(0.5, clock.advance, 60)
        timeline = stream((b"a", 0.1))._replace(until=30.0)
        await play(Playback(timeline, writer, clock, 0.0, record), writer, client.receive, client.send)
        return record.seconds, client.writes

    assert run_virtually(serve()) == (60.5, [(0.1, b"a")])


def test_a_client_that_leaves_ends_the_work_at_once() -> None:
    client = Client(leaves_at=0.25)
    record = played_virtually(stream((b"a", 0.1), (b"b", 0.2), (b"c", 60.0)), client)
    assert client.writes == [(0.1, b"a"), (0.2, b"b")]
    assert outcome(record) == ("client", 2, 2, 0.25)


def test_a_plain_answer_states_its_length() -> None:
    heads = []

    async def send(message: Any) -> None:
        heads.append(message)

    timeline = Timeline(201, ((b"x-a", b"b"),), (TimedFrames((b"body",), (0.3,), (7,)),))
    record = run_virtually(played(timeline, Client().receive, send))
    assert heads == [
        {"type": "http.response.start", "status": 201, "headers": [(b"x-a", b"b"), (b"content-length", b"4")]},
        {"type": "http.response.body", "body": b"body", "more_body": False},
    ]
    assert outcome(record) == ("server", 1, 7, 0.3)


@pytest.mark.parametrize("begun", [False, True])
def test_a_timeline_that_fails_ends_the_answer_and_is_logged(begun: bool, caplog: pytest.LogCaptureFixture) -> None:
    def runs() -> Iterator[TimedFrames]:
        yield TimedFrames((b"a", b"b"), (0.1, 0.2 if begun else 0.1), (1, 1))
        raise ZeroDivisionError

    client = Client()
    timeline = Timeline(200, ((b"content-type", b"text/event-stream"),), LazyFrames(runs), streamed=True)
    with pytest.raises(RuntimeError, match="cannot continue") if begun else nullcontext():
        played_virtually(timeline, client)
    if begun:
        assert (client.status, client.writes) == (200, [(0.1, b"a")])
    else:
        [(_, body)] = client.writes
        assert (client.status, json.loads(body)["error"]["type"]) == (500, "mockserver_error")
    assert "in the middle of an answer" in caplog.text


class Line(ResponseWriter):
    """A transport that is written to directly, until the client stops reading after the third such write."""

    longest_write = 16_384

    def __init__(self) -> None:
        self.heard: list[tuple[float, bytes]] = []
        self.reads = True
        self.resume: Callback = lambda: None

    def begin(self, status: int, headers: RawHeaders, length: int | None) -> None:
        """Not of interest here."""

    def write(self, data: bytes, *, last: bool) -> bool:
        self.heard.append((round(asyncio.get_running_loop().time(), 6), data))
        return self.reads

    def steady(
        self, frames: TemplatedFrames, interrupted: Callback
    ) -> tuple[Sequence[bytes], Callable[[bytes], object]]:
        def send(data: bytes) -> None:
            self.write(data, last=False)
            if len(self.heard) == 4:
                self.reads = False
                interrupted()

        return frames.changed(bytes.upper), send

    def blocked(self, resume: Callback) -> bool:
        self.resume = resume
        return not self.reads

    def break_off(self, ending: ConnectionFault, ended: Callback) -> None:
        raise NotImplementedError

    def abort(self) -> None:
        raise NotImplementedError

    def read_again(self) -> None:
        self.reads = True
        self.resume()


def test_a_steady_stream_is_written_directly_and_notices_a_client_that_stops_reading() -> None:
    line, record = Line(), Record()
    due = tuple(round(0.1 * number, 1) for number in range(1, 9))
    run = TimedFrames(
        TemplatedFrames(b"<", [b"%c" % (97 + number) for number in range(8)], b">"), due, (1, 0, 1, 1, 1, 1, 1, 1)
    )

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        loop.call_at(0.55, line.read_again)
        Playback(Timeline(200, (), (run,), streamed=True), line, ShiftedClock(LoopClock(loop)), 0.0, record).play()
        await asyncio.sleep(1)

    run_virtually(serve())
    # Direct writes are upper case: not the first and the last, nor the one that finds that the client does not read.
    said = [b"<a>", b"<B>", b"<C>", b"<D>", b"<e>", b"<F>", b"<G>", b"<h>"]
    assert line.heard == list(zip(due, said, strict=True))
    assert [round(at, 6) for at in record.event_instants()] == list(due)
    assert outcome(record)[:3] == ("server", 8, 7)

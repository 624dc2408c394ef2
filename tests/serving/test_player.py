"""The player against a virtual clock: what leaves, when, and in how many writes."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from mockserver.core.timeline import Lazy, Record, Run, Timeline
from mockserver.serving.asgi import AsgiSink, Receive, Send, perform
from mockserver.serving.clock import LoopClock
from mockserver.serving.player import Performance
from tests.support.virtual import run_virtually


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
    sink = AsgiSink()
    clock = LoopClock(asyncio.get_running_loop())
    await perform(Performance(timeline, sink, clock, 0.0, record, joined=joined), sink, receive, send)
    return record


def outcome(record: Record) -> tuple[object, ...]:
    """Who ended it, the events and tokens sent, and when it was over."""
    return record.closed_by, record.events_sent, record.tokens_sent, record.seconds


def stream(*events: tuple[bytes, float]) -> Timeline:
    data, due = zip(*events, strict=True)
    return Timeline(200, (), (Run(data, due, (1,) * len(data)),), streamed=True)


def test_every_event_leaves_at_its_absolute_deadline() -> None:
    client = Client()
    record = played_virtually(stream((b"a", 0.1), (b"b", 0.11), (b"c", 5.0)), client)
    assert client.writes == [(0.1, b"a"), (0.11, b"b"), (5.0, b"c")]
    assert outcome(record) == ("server", 3, 3, 5.0)
    assert [record.sent_at(event) for event in range(4)] == [0.1, 0.11, 5.0, None]


def test_events_due_at_the_same_instant_share_a_write() -> None:
    client = Client()
    played_virtually(stream((b"a", 0.0), (b"b", 0.0), (b"c", 0.5), (b"d", 0.5)), client)
    assert client.writes == [(0.0, b"ab"), (0.5, b"cd")]


def test_in_single_mode_every_event_is_a_write() -> None:
    client = Client()
    played_virtually(stream((b"a", 0.0), (b"b", 0.0), (b"c", 0.5)), client, joined=False)
    assert client.writes == [(0.0, b"a"), (0.0, b"b"), (0.5, b"c")]


def test_a_joined_write_is_bounded_and_ends_on_an_events_border() -> None:
    client = Client()
    events = [bytes([97 + index]) * 6000 for index in range(5)]
    played_virtually(stream(*((event, 0.0) for event in events)), client)
    assert [body for _, body in client.writes] == [events[0] + events[1], events[2] + events[3], events[4]]


def test_one_event_larger_than_the_bound_is_still_written_whole() -> None:
    client = Client()
    played_virtually(stream((b"x" * 50_000, 0.0), (b"y", 0.0)), client)
    assert [len(body) for _, body in client.writes] == [50_000, 1]


def test_a_client_that_leaves_ends_the_work_at_once() -> None:
    client = Client(leaves_at=0.25)
    record = played_virtually(stream((b"a", 0.1), (b"b", 0.2), (b"c", 60.0)), client)
    assert client.writes == [(0.1, b"a"), (0.2, b"b")]
    assert outcome(record) == ("client", 2, 2, 0.25)


def test_a_plain_answer_states_its_length() -> None:
    heads = []

    async def send(message: Any) -> None:
        heads.append(message)

    timeline = Timeline(201, ((b"x-a", b"b"),), (Run((b"body",), (0.3,), (7,)),))
    record = run_virtually(played(timeline, Client().receive, send))
    assert heads == [
        {"type": "http.response.start", "status": 201, "headers": ((b"x-a", b"b"), (b"content-length", b"4"))},
        {"type": "http.response.body", "body": b"body", "more_body": False},
    ]
    assert outcome(record) == ("server", 1, 7, 0.3)


def test_a_timeline_that_fails_in_the_middle_ends_the_answer_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def runs() -> Iterator[Run]:
        yield Run((b"a",), (0.1,), (1,))
        raise ZeroDivisionError

    client = Client()
    with pytest.raises(RuntimeError, match="cannot go on"):
        played_virtually(Timeline(200, (), Lazy(runs), streamed=True), client)
    assert client.writes == []
    assert "in the middle of an answer" in caplog.text

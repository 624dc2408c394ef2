"""The batch: whole answers of one turn of the loop leave together, in order, and none is lost."""

import asyncio
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from mockserver import MockServer
from mockserver.server.sockets.write_coalescing import Batch, BatchedTransport
from mockserver.state.settings import Settings
from tests.support.asking import FROZEN
from tests.support.sockets import LISTENERS, LOOPS, Line, post, quiet_settings
from tests.support.virtual import be_busy, run_virtually

COMPLETIONS = "/cerebras/v1/completions"
REQUEST = {"model": "llama3.1-8b", "prompt": "Tell me about sea otters", "max_tokens": 12}
CLOSING = post(COMPLETIONS, REQUEST, "connection: close")


class Log(asyncio.Transport):
    """The transports of a server: what was done to which of them, in order."""

    def __init__(self, name: str, done: list[str]) -> None:
        super().__init__()
        self.name, self.done, self.closing = name, done, False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.done.append(f"{self.name}: {bytes(data).decode()}")

    def close(self) -> None:
        self.closing = True
        self.done.append(f"{self.name} closed")

    def abort(self) -> None:
        self.closing = True
        self.done.append(f"{self.name} dropped")

    def is_closing(self) -> bool:
        return self.closing

    def get_write_buffer_size(self) -> int:
        return 100


class Connections:
    """The connections of one batch, by name, and what was done to their transports."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.batch = Batch(loop, now=loop.time)
        self.done: list[str] = []
        self.transports: dict[str, Log] = {}

    def __call__(self, name: str) -> BatchedTransport:
        transport = self.transports[name] = Log(name, self.done)
        return BatchedTransport(transport, self.batch)


def in_one_turn(act: Callable[[Connections], None]) -> tuple[list[str], list[str]]:
    """What was done within the turn in which something happens, and what by the end of the next one."""

    async def turn() -> tuple[list[str], list[str]]:
        connections = Connections()
        act(connections)
        at_once = [*connections.done]
        await asyncio.sleep(0)
        return at_once, connections.done[len(at_once) :]

    return run_virtually(turn())


def test_the_first_answer_of_a_turn_leaves_at_once_and_the_others_at_its_end() -> None:
    def act(connections: Connections) -> None:
        for name in "abc":
            connections(name).write_soon(b"answer")

    assert in_one_turn(act) == (["a: answer"], ["b: answer", "c: answer"])


def test_an_answer_waits_half_a_millisecond_at_most() -> None:
    def act(connections: Connections) -> None:
        for name in "abcdefg":
            connections(name).write_soon(b"1")
            be_busy(0.000_2)

    assert in_one_turn(act) == (["a: 1", "b: 1", "c: 1", "d: 1", "e: 1", "f: 1", "g: 1"], [])


def test_what_waits_longest_leaves_first() -> None:
    def act(connections: Connections) -> None:
        for name in "abcd":
            connections(name).write_soon(b"1")
        be_busy(0.001)
        connections("e").write_soon(b"1")

    assert in_one_turn(act) == (["a: 1", "b: 1", "c: 1", "d: 1", "e: 1"], [])


def test_each_turn_has_a_first_answer() -> None:
    async def turns() -> list[str]:
        connections = Connections()
        a, b = connections("a"), connections("b")
        for _ in range(3):
            a.write_soon(b"1")
            b.write_soon(b"2")
            connections.done.append("-")
            await asyncio.sleep(0)
        return connections.done

    assert run_virtually(turns()) == ["a: 1", "-", "b: 2"] * 3


def test_an_answer_leaves_before_whatever_was_put_off_since_it_began() -> None:
    async def turn() -> list[str]:
        connections = Connections()
        connections("a").write_soon(b"1")
        await asyncio.sleep(0)
        connections.done.clear()
        b, c = connections("b"), connections("c")
        b.begin_answer()
        asyncio.get_running_loop().call_soon(connections.done.append, "the log's line")
        b.write_soon(b"2")
        c.write_soon(b"3")
        await asyncio.sleep(0)
        return connections.done

    assert run_virtually(turn()) == ["b: 2", "c: 3", "the log's line"]


def test_answers_on_one_connection_wait_together_and_are_counted() -> None:
    def act(connections: Connections) -> None:
        connections("a").write_soon(b"first")
        b = connections("b")
        b.write_soon(b"one, ")
        b.write_soon(b"two")
        assert b.get_write_buffer_size() == len("one, two") + 100

    assert in_one_turn(act) == (["a: first"], ["b: one, two"])


@pytest.mark.parametrize(
    "act, done",
    [
        (lambda batched: batched.write(b"now"), ["b: waits", "b: now"]),
        (lambda batched: batched.close(), ["b: waits", "b closed"]),
        (lambda batched: batched.abort(), ["b: waits", "b dropped"]),
    ],
)
def test_whatever_happens_to_a_connection_happens_after_its_answer(
    act: Callable[[BatchedTransport], None], done: list[str]
) -> None:
    def turn(connections: Connections) -> None:
        connections("a").write_soon(b"first")
        b = connections("b")
        b.write_soon(b"waits")
        act(b)

    assert in_one_turn(turn) == (["a: first", *done], [])


def test_nothing_is_written_to_a_connection_that_has_ended_meanwhile() -> None:
    def act(connections: Connections) -> None:
        connections("a").write_soon(b"first")
        b, c = connections("b"), connections("c")
        b.write_soon(b"2")
        c.write_soon(b"3")
        connections.transports["b"].closing = True

    assert in_one_turn(act) == (["a: first"], ["c: 3"])


@pytest.fixture(scope="module", params=LOOPS)
def server(request: pytest.FixtureRequest) -> Iterator[MockServer]:
    """A quiet server on each loop."""
    with MockServer(Settings(port=0, latency="off", log_level="warning", created=FROZEN), request.param) as running:
        yield running


def answers_to(server: MockServer, *requests: bytes) -> tuple[list[bytes], str]:
    """The answers to requests that are sent at once, heads included, and how the connection ended."""
    with Line(server) as line:
        line.send(b"".join(requests))
        received, end = line.read()
    return received.split(b"HTTP/1.1 ")[1:], end


def undated(answer: bytes) -> bytes:
    """An answer without what differs each time: its dates and times, and how it is cut into chunks."""
    return re.sub(rb"(?m)^(date|x-[^:]*|[0-9a-f]+)(: .*)?\r\n|\r\n", b"", answer)


def test_answers_that_may_wait_and_those_that_may_not_keep_their_order(server: MockServer) -> None:
    """Plain ones, streams in one write and in many, one of the admin API, and refusals."""
    plain, stream = post(COMPLETIONS, REQUEST), post(COMPLETIONS, REQUEST | {"stream": True})
    long = post(COMPLETIONS, REQUEST | {"stream": True, "max_tokens": 2000, "min_tokens": 2000})
    page, refused = b"GET /_mockserver/docs/faults HTTP/1.1\r\nhost: localhost\r\n\r\n", post("/nowhere", {})
    row = [plain, stream, plain, long, plain, plain, page, plain, refused, stream, plain]
    alone = {each: answers_to(server, each, CLOSING)[0][0] for each in row}
    assert len({undated(answer) for answer in alone.values()}) == 5
    together, end = answers_to(server, *row, CLOSING)
    assert end == "closed"
    assert [*map(undated, together[:-1])] == [undated(alone[each]) for each in row]


@pytest.mark.parametrize("fault, end", [("reset", "reset"), ('{ kind = "close", after_event = 2 }', "closed")])
def test_what_waits_before_a_fault_arrives_before_it(server: MockServer, fault: str, end: str) -> None:
    struck = post(COMPLETIONS, REQUEST | {"stream": True}, f"x-mockserver-fault: {fault}")
    answers, ended = answers_to(server, *[post(COMPLETIONS, REQUEST)] * 3, struck)
    assert ended == end
    assert len({undated(answer) for answer in answers[:3]}) == 1
    assert answers[2].endswith(b"}")


def test_who_asks_for_the_end_of_the_connection_gets_its_answers_before(server: MockServer) -> None:
    answers, end = answers_to(server, *[post(COMPLETIONS, REQUEST)] * 2, CLOSING, post(COMPLETIONS, REQUEST))
    assert ([answer[:3] for answer in answers], end) == ([b"200"] * 3, "closed")


@pytest.fixture(params=LISTENERS, ids=str)
def many(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Line]]:
    """Many connections to a server, on each loop, plain and under TLS."""
    settings = quiet_settings(request, tmp_path_factory, created=FROZEN)
    with MockServer(settings, request.param[0]) as running, ExitStack() as opened:
        yield [opened.enter_context(Line(running)) for _ in range(40)]


def test_many_connections_get_an_answer_each(many: list[Line]) -> None:
    for _ in range(3):
        for line in many:
            line.send(post(COMPLETIONS, REQUEST))
        answers = [line.read(until=b"}") for line in many]
        assert {end for _, end in answers} == {"open"}
        assert len({undated(answer) for answer, _ in answers}) == 1


def test_who_sends_nothing_more_is_answered_all_the_same(many: list[Line]) -> None:
    for line in many:
        line.send_last(post(COMPLETIONS, REQUEST))
    answers = [line.read(until=b"}") for line in many]
    assert all(answer.startswith(b"HTTP/1.1 200 OK\r\n") for answer, _ in answers)
    assert len({undated(answer) for answer, _ in answers}) == 1

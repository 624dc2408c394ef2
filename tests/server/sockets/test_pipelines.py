"""Pipelines: requests in a row on one connection, answered in order, one in each turn of the event loop."""

import asyncio
import random
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from mockserver import MockServer
from mockserver.server.server import Loop
from mockserver.state.settings import Settings
from tests.support.connections import connection
from tests.support.sockets import LOOPS, connected
from tests.support.virtual import run_virtually

REQUEST = b"GET /%d HTTP/1.1\r\nhost: localhost\r\n\r\n"


def request(number: int, draw: random.Random) -> bytes:
    """A request of any kind for the path /n<number>, whose answer tells that path."""
    admin = b"/_mockserver" if draw.random() < 0.2 else b""
    head = b"%b %b/n%d HTTP/1.1\r\nhost: localhost\r\n"
    body = bytes(draw.choices(b'{}\r\n "a', k=draw.choice((0, 1, 30, 3000))))
    kind = draw.randrange(3)
    if kind == 0:
        return head % (b"GET", admin, number) + b"x-a: b\r\n" * draw.randrange(9) + b"\r\n"
    if kind == 1:
        return head % (b"POST", admin, number) + b"content-length: %d\r\n\r\n" % len(body) + body
    size = draw.choice((1, 7, 5000))
    parts = [body[start : start + size] for start in range(0, len(body), size)]
    chunks = b"".join(b"%x;e=1\r\n%b\r\n" % (len(part), part) for part in parts)
    trailer = b"x-trailer: a\r\n" * draw.randrange(3)
    return (
        head % (b"PUT", admin, number) + b"transfer-encoding: chunked\r\n\r\n" + chunks + b"0\r\n" + trailer + b"\r\n"
    )


def fragments(data: bytes, draw: random.Random) -> list[bytes]:
    """The data in pieces of random sizes."""
    pieces, start = [], 0
    while start < len(data):
        size = draw.choice((1, 5, 100, 3000, 70_000))
        pieces.append(data[start : start + size])
        start += size
    return pieces


def paths_in(client: socket.socket, count: int) -> list[int]:
    """The numbers that so many answers tell."""
    file, numbers = client.makefile("rb"), []
    for _ in range(count):
        head = list(iter(lambda: file.readline().strip(), b""))
        assert head[:1], "the connection ended"
        assert head[0].startswith(b"HTTP/1.1 4"), head
        length = next(int(line.split(b":")[1]) for line in head if line.lower().startswith(b"content-length"))
        told = re.search(rb"/n(\d+)", file.read(length))
        assert told is not None, head
        numbers.append(int(told[1]))
    file.close()
    return numbers


@pytest.fixture(params=LOOPS, scope="module")
def each_loop(request: pytest.FixtureRequest) -> Iterator[MockServer]:
    loop: Loop = request.param
    with MockServer(Settings(port=0, latency="off", log_level="error"), loop=loop) as server:
        yield server


@pytest.mark.parametrize("seed", range(12))
def test_random_pipelines_in_random_fragments_are_answered_in_order(each_loop: MockServer, seed: int) -> None:
    draw = random.Random(seed)
    numbers = list(range(draw.choice((1, 3, 50, 400))))
    pieces = fragments(b"".join(request(number, draw) for number in numbers), draw)
    with connected(each_loop) as client:

        def send() -> None:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for piece in pieces:
                client.sendall(piece)

        sender = threading.Thread(target=send)
        sender.start()
        try:
            assert paths_in(client, len(numbers)) == numbers
        finally:
            sender.join()


@pytest.mark.parametrize("seed", range(6))
def test_connections_that_end_in_the_middle_of_a_pipeline_leave_nothing_behind(
    each_loop: MockServer, seed: int
) -> None:
    draw = random.Random(seed)
    for _ in range(10):
        data = b"".join(request(number, draw) for number in range(30))
        with connected(each_loop) as client:
            client.sendall(data[: draw.randrange(len(data))])
            if draw.random() < 0.5:
                client.shutdown(socket.SHUT_WR)
                with suppress(ConnectionError):
                    while client.recv(65_536):
                        pass
    with connected(each_loop) as client:
        client.sendall(REQUEST % 1)
        assert client.recv(12) == b"HTTP/1.1 404"


def test_who_sends_a_row_of_requests_and_ends_gets_all_answers(each_loop: MockServer) -> None:
    with connected(each_loop) as client:
        client.sendall(b"".join(REQUEST % number for number in range(500)))
        client.shutdown(socket.SHUT_WR)
        received = b""
        while data := client.recv(1_000_000):
            received += data
    assert received.count(b"HTTP/1.1 404") == 500


def test_a_bad_request_in_a_row_is_refused_after_the_answers_before_it(each_loop: MockServer) -> None:
    good = b"".join(REQUEST % number for number in range(20))
    with connected(each_loop) as client:
        client.sendall(good + b"GET / HTTP/1.1\r\n\r\n" + good)
        received = b""
        while data := client.recv(1_000_000):
            received += data
    statuses = [part[:3] for part in received.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [b"404"] * 20 + [b"400"]


def test_a_connection_begins_one_request_in_each_turn_of_the_loop() -> None:
    async def scenario() -> list[int]:
        protocol, line = connection(answers_after=-1)
        protocol.data_received(b"".join(REQUEST % number for number in range(200)))
        writes = []
        for _ in range(1000):
            before = line.writes
            await asyncio.sleep(0)
            writes.append(line.writes - before)
        assert line.writes == 200
        return writes

    assert max(run_virtually(scenario())) == 1


def test_nothing_is_read_while_much_waits_or_answers_are_not_taken() -> None:
    async def scenario() -> None:
        protocol, line = connection(answers_after=-1)
        row = b"".join(REQUEST % number for number in range(5000))
        protocol.data_received(row)
        assert not line.is_read
        for _ in range(100):
            await asyncio.sleep(0)
        protocol.pause_writing()
        for _ in range(100):
            await asyncio.sleep(0)
        count = line.writes
        assert 0 < count < 5000
        for _ in range(100):
            await asyncio.sleep(0)
        assert (line.writes, line.is_read) == (count, False)
        protocol.resume_writing()
        while line.writes < 5000:
            await asyncio.sleep(0)
        for _ in range(5):
            await asyncio.sleep(0)
        assert line.is_read
        assert protocol._rest == b""

    run_virtually(scenario())


def test_a_client_that_does_not_take_its_answers_gets_no_more_begun() -> None:
    async def scenario() -> None:
        protocol, line = connection(answers_after=-1)
        protocol.pause_writing()
        protocol.data_received(REQUEST % 1)
        await asyncio.sleep(1)
        assert (line.writes, line.is_read) == (0, False)
        protocol.resume_writing()
        await asyncio.sleep(1)
        assert (line.writes, line.is_read) == (1, True)

    run_virtually(scenario())

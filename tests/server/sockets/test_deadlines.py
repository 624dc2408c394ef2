"""Idle connections: closed after a timeout since the last answer, but not during an answer."""

import asyncio

from mockserver.server.sockets.protocol import BODY_SECONDS, HEAD_SECONDS
from tests.support.connections import TIMEOUT, connection
from tests.support.virtual import run_virtually

REQUEST = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"


def test_a_connection_is_closed_when_nobody_has_asked_for_the_timeout() -> None:
    async def closed_at() -> float | None:
        protocol, line = connection()
        protocol.data_received(REQUEST)
        await asyncio.sleep(TIMEOUT - 1)
        assert line.closed_at is None
        await asyncio.sleep(TIMEOUT)
        return line.closed_at

    assert run_virtually(closed_at()) == TIMEOUT


def test_each_answer_gives_the_connection_the_whole_timeout_anew() -> None:
    async def closed_at() -> float | None:
        protocol, line = connection()
        for _ in range(5):
            protocol.data_received(REQUEST)
            await asyncio.sleep(TIMEOUT - 1)
        assert line.writes == 5
        await asyncio.sleep(TIMEOUT)
        return line.closed_at

    assert run_virtually(closed_at()) == 4 * (TIMEOUT - 1) + TIMEOUT


def test_a_connection_that_waits_for_a_slow_answer_is_not_idle() -> None:
    async def closed_at() -> float | None:
        protocol, line = connection(answers_after=3 * TIMEOUT)
        protocol.data_received(REQUEST)
        await asyncio.sleep(10 * TIMEOUT)
        assert line.writes == 1
        return line.closed_at

    assert run_virtually(closed_at()) == 4 * TIMEOUT


def test_a_request_that_has_only_begun_to_come_keeps_the_connection() -> None:
    async def closed_at() -> float | None:
        protocol, line = connection()
        protocol.data_received(REQUEST)
        await asyncio.sleep(TIMEOUT - 1)
        protocol.data_received(REQUEST[:20])
        await asyncio.sleep(HEAD_SECONDS - 1)
        assert line.closed_at is None
        protocol.data_received(REQUEST[20:])
        await asyncio.sleep(2 * TIMEOUT)
        return line.closed_at

    assert run_virtually(closed_at()) == 2 * TIMEOUT + HEAD_SECONDS - 2


def test_a_connection_on_which_nothing_comes_is_closed() -> None:
    async def closed_at() -> float | None:
        protocol, line = connection()
        for _ in range(9):
            await asyncio.sleep(TIMEOUT / 8)
            # Empty lines before a request are ignored.
            protocol.data_received(b"\r\n")
        return line.closed_at

    assert run_virtually(closed_at()) == TIMEOUT


def trickle(start: bytes, piece: bytes, seconds: float) -> tuple[float | None, bytes]:
    """When a connection is closed that gets a piece every second, and what it is told."""

    async def scenario() -> tuple[float | None, bytes]:
        protocol, line = connection()
        protocol.data_received(start)
        for _ in range(int(seconds)):
            if line.closed_at is not None:
                break
            await asyncio.sleep(1)
            protocol.data_received(piece)
        return line.closed_at, line.written

    return run_virtually(scenario())


def test_a_head_that_trickles_is_given_up() -> None:
    closed_at, written = trickle(REQUEST[:-2], b"x-a: b\r\n", 100)
    assert closed_at == HEAD_SECONDS
    assert written.startswith(b"HTTP/1.1 408 ")


def test_a_body_that_trickles_is_given_up() -> None:
    for start, piece in (
        (b"content-length: 90000\r\n\r\n", b"x"),
        (b"transfer-encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
        (b"transfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n", b"x-trailer: a\r\n"),
        (b"transfer-encoding: chunked\r\n\r\n1;", b"extension=1;"),
    ):
        closed_at, written = trickle(REQUEST[:-2] + start, piece, 100)
        assert closed_at is not None
        assert BODY_SECONDS <= closed_at < BODY_SECONDS + 1
        assert written.startswith(b"HTTP/1.1 408 ")


def test_a_body_that_comes_at_a_modest_rate_has_all_its_time() -> None:
    piece = b"x" * 1000
    closed_at, _ = trickle(REQUEST[:-2] + b"content-length: 500000\r\n\r\n", piece, 500)
    assert closed_at is None


def test_a_body_behind_a_slow_answer_has_its_time_once_it_is_read() -> None:
    async def scenario() -> tuple[float | None, int]:
        protocol, line = connection(answers_after=300)
        protocol.data_received(REQUEST + REQUEST[:-2] + b"content-length: 9\r\n\r\n1234")
        await asyncio.sleep(320)
        protocol.data_received(b"56789")
        await asyncio.sleep(301)
        return line.closed_at, line.writes

    assert run_virtually(scenario()) == (None, 2)


def test_nothing_is_left_to_ring_for_a_connection_that_has_ended() -> None:
    async def handle() -> asyncio.TimerHandle:
        protocol, _ = connection()
        protocol.data_received(REQUEST)
        await asyncio.sleep(1)
        timer = protocol.timeout_keep_alive_task
        assert timer is not None
        protocol.connection_lost(ConnectionResetError())
        return timer

    assert run_virtually(handle()).cancelled()

"""Idle connections: closed after a timeout since the last answer, but not during an answer."""

import asyncio

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
        await asyncio.sleep(TIMEOUT)
        assert line.closed_at is None
        protocol.data_received(REQUEST[20:])
        await asyncio.sleep(2 * TIMEOUT)
        return line.closed_at

    assert run_virtually(closed_at()) == 3 * TIMEOUT - 1


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

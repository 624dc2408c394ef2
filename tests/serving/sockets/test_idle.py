"""Idle connections: closed after a timeout since the last answer, but not during an answer."""

import asyncio
from typing import Any, cast

import uvicorn
from uvicorn.server import ServerState

from mockserver.core.calls import Headers
from mockserver.serving.reception import Incoming
from mockserver.serving.sockets.connection import DirectProtocol
from mockserver.serving.sockets.direct_answers import Answer
from tests.support.virtual import run_virtually

REQUEST = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"
TIMEOUT = 75.0


class Answering:
    """An application that answers each request after so many seconds."""

    max_body = 1024

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def takes(self, path: str, headers: Headers) -> bool:
        return True

    def take(self, incoming: Incoming, sink: Answer) -> None:
        asyncio.get_running_loop().call_later(self.seconds, self.answer, sink)

    def answer(self, sink: Answer) -> None:
        sink.begin(200, (), 2)
        sink.write(b"ok", last=True)


class Line(asyncio.Transport):
    """A transport that notes how much was written, and when it was closed."""

    def __init__(self) -> None:
        super().__init__()
        self.writes = 0
        self.closed_at: float | None = None

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.writes += 1

    def is_closing(self) -> bool:
        return self.closed_at is not None

    def close(self) -> None:
        self.closed_at = asyncio.get_running_loop().time()

    def resume_reading(self) -> None:
        pass


def connection(answers_after: float = 0.0) -> tuple[DirectProtocol, Line]:
    config = uvicorn.Config(cast(Any, Answering(answers_after)), timeout_keep_alive=int(TIMEOUT), log_config=None)
    config.load()
    config.loaded_app = config.app
    protocol, line = DirectProtocol(config, ServerState(), {}, asyncio.get_running_loop()), Line()
    protocol.connection_made(line)
    return protocol, line


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

"""A connection whose other end is the test: the server's protocol, on a transport that only notes what happens."""

import asyncio
from typing import Any, cast

import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from mockserver.server.asgi import Transport
from mockserver.server.sockets.connection import HttpProtocol

TIMEOUT = 75.0


class Answering:
    """An application that answers each request after so many seconds, or at once if these are negative."""

    max_body = 1_000_000

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.settings = self
        self.answers_at_once = seconds < 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.seconds >= 0:
            await asyncio.sleep(self.seconds)
        transport: Transport = scope["extensions"][Transport.EXTENSION]
        transport.begin(200, (), 2)
        transport.write(b"ok", last=True)


class Line(asyncio.Transport):
    """A transport that notes how much was written, when it was closed, and whether it is being read."""

    def __init__(self) -> None:
        super().__init__()
        self.writes = 0
        self.written = b""
        self.closed_at: float | None = None
        self.is_read = True

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.writes += 1
        self.written += data

    def can_write_eof(self) -> bool:
        return False

    def is_closing(self) -> bool:
        return self.closed_at is not None

    def close(self) -> None:
        self.closed_at = asyncio.get_running_loop().time()

    def pause_reading(self) -> None:
        self.is_read = False

    def resume_reading(self) -> None:
        self.is_read = True


def connection(answers_after: float = 0.0) -> tuple[HttpProtocol, Line]:
    """A connection to an application that answers each request after so many seconds."""
    config = uvicorn.Config(cast(Any, Answering(answers_after)), timeout_keep_alive=int(TIMEOUT), log_config=None)
    config.load()
    config.loaded_app = config.app
    protocol, line = HttpProtocol(config, ServerState(), {}, asyncio.get_running_loop()), Line()
    protocol.connection_made(line)
    return protocol, line

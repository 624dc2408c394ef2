"""How long a server in a thread takes to start, answer once and stop: `python -m tests.bench.thread product|bare`."""

import asyncio
import sys
import threading
import time
from contextlib import AbstractContextManager
from types import TracebackType

import uvicorn

from mockserver import MockServer
from tests.bench import questions
from tests.bench.bare import application, config
from tests.bench.servers import ask, free_port


class BareThread:
    """uvicorn in a thread, stopped by its own `should_exit`."""

    def __init__(self) -> None:
        self.port = free_port()
        self._server = uvicorn.Server(config(application(b"{}", []), self.port, "uvloop"))
        self._thread = threading.Thread(target=lambda: asyncio.run(self._server.serve()))

    def __enter__(self) -> "BareThread":
        self._thread.start()
        while not self._server.started:
            time.sleep(0.0005)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.should_exit = True
        self._thread.join()


def _product() -> tuple[AbstractContextManager[object], int, bytes]:
    server = MockServer()
    return server, int(server.url.rpartition(":")[2]), questions.plain(8)


def _bare() -> tuple[AbstractContextManager[object], int, bytes]:
    server = BareThread()
    return server, server.port, questions.bare_plain(8)


def taken(kind: str) -> float:
    """The seconds from the creation of the server to its end."""
    began = time.perf_counter()
    server, port, probe = _product() if kind == "product" else _bare()
    with server:
        ask(("127.0.0.1", port), probe)
    return time.perf_counter() - began


if __name__ == "__main__":
    # The first run pays for imports.
    taken(sys.argv[1])
    print(taken(sys.argv[1]))

"""Many clients that connect at once to a busy server: none waits until the others have been served."""

import asyncio
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from urllib.parse import urlsplit

import pytest

from mockserver import create_app
from mockserver.server.server import AppThread
from tests.support.sockets import BODY, LISTENERS, LOOPS, Line, post, quiet_settings, request_with_fault

CROWD = 100
# The loops hand over who has come, and what each has said, in a round or two each; one by one, a crowd would take a
# hundred.
ROUNDS = 8
GOOD = post("/cerebras/v1/completions", BODY)


@pytest.fixture(params=LISTENERS, ids=[f"{loop}-{'tls' if secure else 'plain'}" for loop, secure in LISTENERS])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppThread]:
    """A quiet server in a thread, on each loop, plain and under TLS."""
    with AppThread(create_app(quiet_settings(request, tmp_path_factory)), request.param[0]) as thread:
        yield thread


class Busy:
    """A server that does something else until it is let go."""

    def __init__(self, server: AppThread) -> None:
        self._server = server
        self._begun, self._done = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._hold)
        self.connections = -1

    def __enter__(self) -> "Busy":
        self._thread.start()
        assert self._begun.wait(10)
        return self

    def __exit__(self, *raised: object) -> None:
        self._done.set()
        self._thread.join(10)

    def _hold(self) -> None:
        self.connections = self._server.wait(self._work(), 10)

    async def _work(self) -> int:
        """How many are in a few rounds after the work."""
        self._begun.set()
        self._done.wait(10)
        for _ in range(ROUNDS):
            await asyncio.sleep(0)
        return len(self._server.state.connections)


@pytest.mark.parametrize("server", [(loop, False) for loop in LOOPS], indirect=True, ids=LOOPS)
def test_a_crowd_comes_in_within_a_few_rounds_of_the_loop(server: AppThread) -> None:
    target = urlsplit(server.url)
    with ExitStack() as stack:
        with Busy(server) as busy:
            for _ in range(CROWD):
                stack.enter_context(socket.create_connection((target.hostname or "", target.port or 0), timeout=5))
        assert busy.connections == CROWD
        assert set(server.call(partial(_delays, server))) == {0}


def test_everybody_of_a_crowd_is_served_and_hit_like_anybody_else(server: AppThread) -> None:
    reset = request_with_fault("reset", stream=False)
    with Busy(server):
        answers: list[tuple[bytes, str]] = []
        threads = [
            threading.Thread(target=lambda said=said: answers.append(_ask(server, said))) for said in [GOOD, reset] * 20
        ]
        for thread in threads:
            thread.start()
    for thread in threads:
        thread.join(10)
    assert sorted(how for _, how in answers) == ["open"] * 20 + ["reset"] * 20
    assert all(b"200 OK" in received for received, how in answers if how == "open")


def test_who_leaves_a_crowd_before_the_handshake_is_not_missed(
    server: AppThread, caplog: pytest.LogCaptureFixture
) -> None:
    target = urlsplit(server.url)
    with Busy(server):
        for _ in range(20):
            socket.create_connection((target.hostname or "", target.port or 0), timeout=5).close()
    received, _ = _ask(server, GOOD)
    assert b"200 OK" in received
    assert not caplog.records


def _ask(server: AppThread, request: bytes) -> tuple[bytes, str]:
    try:
        with Line(server) as line:
            line.send(request)
            return line.read(until=b"}")
    except (ConnectionResetError, ssl.SSLError):
        return b"", "reset"


def _delays(server: AppThread) -> list[int]:
    """For each connection, whether its small writes wait for others: 0 where they do not."""
    sockets = [it.transport.get_extra_info("socket") for it in server.state.connections]
    return [0 if it.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) else 1 for it in sockets]

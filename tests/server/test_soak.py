"""Many clients that fail in every way leave nothing behind: no connection, no task, no open file."""

import gc
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mockserver import MockServer
from mockserver.faults.catalogue import FAULTS
from mockserver.server.player import Playback
from mockserver.server.sockets.connection import Answer, HttpProtocol
from mockserver.state.settings import Settings
from tests.support.sockets import connected, post
from tests.support.waiting import until

# Four for each fault.
CLIENTS = 4 * len(FAULTS)


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def context(server: MockServer, number: int) -> None:
    """One client: takes what comes for a moment, whatever it is, and leaves."""
    kind = list(FAULTS)[number % len(FAULTS)]
    fault = (
        f'{{ kind = "{kind}", after_event = {number % 4} }}'
        if "after_event" in FAULTS[kind].places and number % 2
        else kind
    )
    body = {"model": "m", "prompt": f"prompt {number}", "stream": True, "max_tokens": 20}
    headers = (f"x-mockserver-fault: {fault}", "x-mockserver-latency: itl=1ms")
    with connected(server) as client:
        client.settimeout(0.15)
        client.sendall(post("/cerebras/v1/completions", body, *headers))
        leaves = time.monotonic() + 0.3
        try:
            while client.recv(65_536) and time.monotonic() < leaves:
                pass
        except (TimeoutError, ConnectionError):
            return


@pytest.mark.skipif(not Path("/proc/self/fd").exists() or sys.platform == "win32", reason="counts files in /proc")
def test_a_crowd_with_every_fault_leaves_nothing_behind() -> None:
    with MockServer() as server:
        context(server, 0)
        before = open_files()
        with ThreadPoolExecutor(50) as pool:
            list(pool.map(lambda number: context(server, number), range(CLIENTS)))
        state = server.state
        until(lambda: not state.connections and not state.tasks)
        assert open_files() <= before


@pytest.mark.parametrize("sent", ["half a request", "a stream"])
def test_who_leaves_is_let_go_of_before_the_garbage_collector_comes(sent: str) -> None:
    with MockServer(Settings(port=0, latency="ttft=0, rate=50 tok/s", log_level="warning")) as server:
        request = post("/cerebras/v1/completions", {"model": "m", "prompt": "hi", "stream": True, "max_tokens": 200})
        known = alive()
        gc.disable()
        try:
            for _ in range(10):
                with connected(server) as client:
                    client.sendall(request if sent == "a stream" else request[:-1])
                    received = b""
                    # Until the stream is steady.
                    while sent == "a stream" and received.count(b"data: ") < 5:
                        received += client.recv(65536)
            until(lambda: alive() <= known)
        finally:
            gc.enable()


def alive() -> int:
    """How many connections, answers and playbacks there are, whether anybody needs them or not."""
    # Not by `isinstance`, which asks weak proxies, whose objects may be gone.
    return sum(type(it) in (HttpProtocol, Answer, Playback) for it in gc.get_objects())

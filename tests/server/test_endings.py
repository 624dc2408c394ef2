"""The end of a server's process by a signal, whatever it computes: within a second, and hard if need be."""

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.printing import printed_until
from tests.support.sockets import LOOPS
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are watched on Unix")

# What keeps the process busy: where, and with what. The first holds the interpreter for ever, the second lends it.
HOLDING = "re.fullmatch('(a|a)*b', 'a' * 60)"
LENDING = "all(n == 0 for n in iter(int, 1))"
BUSY = """
import re, threading, sys
from mockserver.server import server
from mockserver.cli import main
async def startup(self, sockets=None, start=server.UvicornServer.startup):
    await start(self, sockets)
    import asyncio
    loop = asyncio.get_running_loop()
    def work():
        # In one write, beside which others do not come.
        print("busy\\n", end="", flush=True)
        BUSY
    where(loop, work)
def where(loop, work):
    PLACE
server.UvicornServer.startup = startup
sys.exit(main(sys.argv[1:]))
"""
PLACES = {
    "the loop": "loop.call_later(0.3, work)",
    "a thread": "loop.call_later(0.3, threading.Thread(target=work).start)",
    "the loop's threads": "loop.call_later(0.3, loop.run_in_executor, None, work)",
}
# With leave for a busy machine, which gets some tries, too.
SECONDS, TRIES = 1.5, 3


@pytest.mark.parametrize(
    ("busy", "place", "number", "options"),
    [
        (HOLDING, "the loop", signal.SIGTERM, ()),
        (HOLDING, "a thread", signal.SIGINT, ()),
        (HOLDING, "a thread", signal.SIGTERM, ("--workers", "2")),
        (LENDING, "the loop", signal.SIGINT, ()),
        (LENDING, "the loop's threads", signal.SIGTERM, ()),
        (LENDING, "the loop", signal.SIGTERM, ("--workers", "2")),
    ],
)
def test_a_signal_ends_a_busy_server(busy: str, place: str, number: int, options: tuple[str, ...]) -> None:
    code = BUSY.replace("BUSY", busy).replace("PLACE", PLACES[place])
    command = [sys.executable, "-c", code, "serve", "--port", "0", *options]
    assert any(seconds_to_end(command, number, 2 if options else 1) < SECONDS for _ in range(TRIES))


def seconds_to_end(command: list[str], number: int, processes: int) -> float:
    """How long a server and its processes, all of them busy, live after a signal."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            said = printed_until(process, "busy")
            while said.count("busy\n") < processes:
                said += printed_until(process, "busy")
            assert re.search(r"http://\S+", "".join(said))
            before = children_of(process.pid)
            began = time.monotonic()
            process.send_signal(number)
            process.wait(10)
            seconds = time.monotonic() - began
            until(lambda: not any(map(is_running, before)))
            return seconds
        finally:
            # Whoever is still busy would be for ever.
            with suppress(FileNotFoundError, ProcessLookupError):
                for child in children_of(process.pid):
                    os.kill(int(child), signal.SIGKILL)
            process.kill()


def children_of(pid: int) -> list[str]:
    """The processes that a process has started."""
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def is_running(pid: str) -> bool:
    """Whether a process is still there, and not only its exit code."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


# A server in a thread, which something keeps busy when its owner is done: `run`, or a suite of tests.
OWNER = """
import asyncio, threading, time
from mockserver.testing.server import MockServer
began = threading.Event()
def work():
    began.set()
    BUSY
with MockServer(loop=LOOP) as server:
    server.namespaces()
    loop = server._thread._loop
    PLACE
    began.wait(5)
"""
OWNED = {
    "the loop": "loop.call_soon_threadsafe(work)",
    "the loop's threads": "loop.call_soon_threadsafe(loop.run_in_executor, None, work)",
}


@pytest.mark.parametrize("place, loop", [*zip(OWNED, LOOPS, strict=True)])
def test_a_busy_server_in_a_thread_keeps_no_process(place: str, loop: str) -> None:
    code = OWNER.replace("BUSY", LENDING).replace("PLACE", OWNED[place]).replace("LOOP", repr(loop))
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True) as process:
        try:
            # It takes two or three seconds; a busy machine may need more.
            assert process.wait(20) == 0
            assert process.stderr is not None
            assert process.stderr.read() == ""
        finally:
            process.kill()

"""Hostile inputs against a running server: others are answered meanwhile, memory comes back, and signals end it.

Each module `rows_<subject>.py` in this folder has a table `ROWS` of attacks, for a server of its own.
"""

import http.client
import importlib
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.hostile.attack import Attack, request

# What somebody else may have to wait for an answer while the server is attacked, on a busy machine.
LONGEST_GAP = 0.25
# A gap counts if it comes each time: other processes of a busy machine make gaps, too.
TRIES = 4
# How much larger the process may be after all attacks of a subject: the allocator and the bounded caches keep some.
GROWTH = 128 * 2**20
# The time from a signal to the end of the process, with leave for a busy machine.
SECONDS_TO_END = 2.0

SUBJECTS = sorted(path.stem for path in Path(__file__).parent.glob("rows_*.py"))


class Victim(NamedTuple):
    """A server in a process of its own."""

    process: subprocess.Popen[str]
    port: int

    @property
    def memory(self) -> int:
        """The bytes of memory that the process holds."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) * 1024


@contextmanager
def serving() -> Iterator[Victim]:
    """A server that runs within the `with` statement."""
    command = [sys.executable, "-m", "mockserver", "serve", "--port", "0", "--latency", "off", "--log-format", "json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    log = process.stdout
    for line in log:
        if "http://127.0.0.1:" in line:
            port = int(re.split(r"\D", line.split("http://127.0.0.1:")[1])[0])
            break
    else:
        raise AssertionError("the server did not say where it listens")
    # A full pipe would stop the server.
    drain = threading.Thread(target=log.read)
    drain.start()
    try:
        yield Victim(process, port)
    finally:
        process.kill()
        process.wait()
        drain.join()
        log.close()


# The seconds between two questions of a probe.
PAUSE = 0.02


class Probe:
    """Asks for the health of a server every 20 ms, and notes the longest time that an answer took, without what the
    machine itself has kept the probe waiting: by so much more than asked its longest pause has taken."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._over = threading.Event()
        self._longest = self._late = 0.0

    @property
    def longest(self) -> float:
        return self._longest - self._late

    def __enter__(self) -> "Probe":
        self._thread = threading.Thread(target=self._ask)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _ask(self) -> None:
        paused = time.monotonic()
        while not self._over.wait(PAUSE):
            began = time.monotonic()
            self._late = max(self._late, began - paused - PAUSE)
            try:
                status, _ = request(self._port, "GET", "/_mockserver/health")
            except OSError:
                status = 0
            paused = time.monotonic()
            self._longest = max(self._longest, paused - began if status == 200 else float("inf"))


def gap_during(attack: Attack, port: int) -> float:
    """The longest time that somebody else waited for an answer during an attack, the best of some tries."""
    gaps: list[float] = []
    while len(gaps) < TRIES and min(gaps, default=LONGEST_GAP * 2) > LONGEST_GAP:
        with Probe(port) as probe:
            attack.act(port)
        gaps.append(probe.longest)
    return min(gaps)


@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of a process from /proc")
@pytest.mark.parametrize("subject", SUBJECTS)
def test_others_are_answered_during_attacks_then_memory_is_back_and_a_signal_ends_the_server(subject: str) -> None:
    attacks: list[Attack] = importlib.import_module(f"tests.hostile.{subject}").ROWS
    with serving() as running:
        status, _ = request(running.port, "POST", "/cerebras/v1/completions", {"model": "llama3.1-8b", "prompt": "Hi"})
        assert status == 200
        before = running.memory
        wrong: dict[str, object] = {}
        for attack in attacks:
            try:
                gap = gap_during(attack, running.port)
            except (AssertionError, OSError, http.client.HTTPException) as error:
                wrong[attack.name] = error
            else:
                if gap > LONGEST_GAP:
                    wrong[attack.name] = f"others waited {gap:.2f} s"
        assert wrong == {}
        request(running.port, "POST", "/_mockserver/reset")
        assert running.memory - before < GROWTH
        running.process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        assert running.process.wait(30) == 0
        assert time.monotonic() - began < SECONDS_TO_END

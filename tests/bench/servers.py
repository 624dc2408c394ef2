"""Servers under measurement: each a process of its own on loopback, pinned to a core and stopped at the end."""

import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.bench.load import Address, connect
from tests.bench.machine import Pin, pin_server
from tests.bench.wire import BadAnswerError, Reader

ROOT = Path(__file__).parents[2]

# The seconds that a server may take to answer its first request, and to stop.
_START = 30.0
_STOP = 5.0
_LOOK = 0.001


@dataclass(frozen=True, slots=True)
class Server:
    """A running server. `first_answer` is the time from the start of its process to its first 200, in seconds."""

    address: Address
    process: int
    first_answer: float

    def memory(self) -> float:
        """The resident memory of the process and its descendants, in MB."""
        table = list(_processes())
        family = {self.process}
        while grown := {own for own, parent, _ in table if parent in family} - family:
            family |= grown
        return sum(size for own, _, size in table if own in family) / 2**20


def _processes() -> Iterator[tuple[int, int, int]]:
    """All processes: id, parent's id, and resident memory in bytes."""
    if not sys.platform.startswith("linux"):
        listed = subprocess.run(["ps", "-e", "-o", "pid=,ppid=,rss="], capture_output=True, text=True, check=True)
        for line in listed.stdout.splitlines():
            own, parent, kilobytes = map(int, line.split())
            yield own, parent, kilobytes * 1024
        return
    # Small systems have no `ps`.
    for file in Path("/proc").glob("[0-9]*/stat"):
        # A process may end in between.
        with suppress(OSError):
            # What follows the command, which stands in parentheses, begins with the third field.
            fields = file.read_text(errors="replace").rpartition(")")[2].split()
            yield int(file.parent.name), int(fields[1]), int(fields[21]) * resource.getpagesize()


@contextmanager
def running(
    command: Callable[[int], Sequence[str]],
    probe: bytes,
    *,
    pin: Pin = pin_server,
    folder: Path = ROOT,
    environment: dict[str, str] | None = None,
) -> Iterator[Server]:
    """A server, started by the command for a port; it is up once it answers the probe with a 200, else TimeoutError."""
    port = free_port()
    with tempfile.TemporaryFile() as output:
        began = time.perf_counter()
        process = subprocess.Popen(
            command(port),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=folder,
            env=os.environ | (environment or {}),
            preexec_fn=pin,
            start_new_session=True,
        )
        try:
            yield Server(("127.0.0.1", port), process.pid, _wait(process, port, probe) - began)
        except TimeoutError as error:
            output.seek(0)
            raise TimeoutError(f"{error}\n{output.read()[-2000:].decode(errors='replace')}") from None
        finally:
            _stop(process)


def product(probe: bytes, *options: str, pin: Pin = pin_server) -> AbstractContextManager[Server]:
    """mockserver with latency off, unless the options set a latency. As it does by default, it logs every exchange."""
    fixed = ("-m", "mockserver", "serve")
    latency = () if "--latency" in options else ("--latency", "off")
    return running(lambda port: (sys.executable, *fixed, *latency, "--port", str(port), *options), probe, pin=pin)


def on_loop(probe: bytes, loop: str) -> AbstractContextManager[Server]:
    """mockserver with latency off, on a given event loop."""
    return running(lambda port: (sys.executable, "-m", "tests.bench.on_loop", str(port), loop), probe)


@contextmanager
def bare(probe: bytes, answers: tuple[bytes, bytes], loop: str = "uvloop") -> Iterator[Server]:
    """The bare server of `tests.bench.bare`, with the bytes of a plain answer and of a stream."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("plain", "stream")]
        for file, body in zip(files, answers, strict=True):
            file.write_bytes(body)
        command = (sys.executable, "-m", "tests.bench.bare")
        with running(lambda port: (*command, str(port), loop, *map(str, files)), probe) as it:
            yield it


def ask(address: Address, sent: bytes) -> bytes:
    """The raw body of one answer, including the sizes of any chunks. BadAnswerError if it is not a whole 200."""
    reader = Reader(keeps=True)
    with connect(address, keeps_blocking=True) as connection:
        connection.sendall(sent)
        while True:
            data = connection.recv(1 << 20)
            if not data:
                raise BadAnswerError("The connection was closed within an answer.")
            if reader.feed(data):
                return reader.body


def events_of(body: bytes) -> bytes:
    """The content of a chunked body."""
    content, rest = b"", body
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        content, rest = content + rest[: int(size, 16)], rest[int(size, 16) + 2 :]
    return content


def free_port() -> int:
    """A port that is free at the moment."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def _wait(process: subprocess.Popen[bytes], port: int, probe: bytes) -> float:
    """The instant of the first 200. TimeoutError if the server ends or takes too long."""
    deadline = time.perf_counter() + _START
    while time.perf_counter() < deadline:
        try:
            ask(("127.0.0.1", port), probe)
            return time.perf_counter()
        except (OSError, BadAnswerError):
            if process.poll() is not None:
                break
            time.sleep(_LOOK)
    raise TimeoutError(f"{' '.join(map(str, process.args))} did not answer with a 200")  # type: ignore[arg-type]


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Stop a server, and any processes that it has left behind in its session."""
    process.terminate()
    try:
        process.wait(_STOP)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)

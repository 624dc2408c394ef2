"""Load: connections that send requests continuously for some time, in one small loop over non-blocking sockets.

The loop does as little as possible for each answer, so that the server is measured and not the client; `share` is the
share of a core that the client used. Groups of connections can send different requests at the same time.
"""

import gc
import select
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.bench.rounds import percentile
from tests.bench.wire import Reader

Address = tuple[str, int]

_CHUNK = 256 * 1024
# How many seconds to wait for a silent server.
PATIENCE = 30.0


@dataclass(frozen=True, slots=True)
class Group:
    """A number of connections that take their requests from one source."""

    connections: int
    requests: Iterator[bytes]


@dataclass(frozen=True, slots=True)
class Load:
    """The figures of a group: rates in 1/s, latencies in seconds; `share` is the client's share of a core."""

    requests: float
    events: float
    p50: float
    p99: float
    longest: float
    share: float


class Poll:
    """Waits for events of sockets: with epoll if the system has it, else with poll."""

    def __init__(self) -> None:
        self._epoll = hasattr(select, "epoll")
        self._poll = select.epoll() if self._epoll else select.poll()
        self.reads, self.writes = (select.EPOLLIN, select.EPOLLOUT) if self._epoll else (select.POLLIN, select.POLLOUT)

    def watch(self, number: int, events: int) -> None:
        """Watch a socket for these events, from now on."""
        self._poll.register(number, events)

    def change(self, number: int, events: int) -> None:
        """Watch a socket for other events than before."""
        self._poll.modify(number, events)

    def wait(self, seconds: float) -> list[tuple[int, int]]:
        """The sockets (as file descriptors) that are ready, and their events; waits at most so many seconds."""
        return self._poll.poll(max(0.0, seconds) * (1 if self._epoll else 1000))

    def close(self) -> None:
        """Stop watching."""
        if isinstance(self._poll, select.epoll):
            self._poll.close()


class Connection:
    """One connection of a group: sends a request, waits for the whole answer, sends the next one."""

    __slots__ = ("_began", "_poll", "_requests", "_rest", "latencies", "reader", "socket")

    def __init__(self, address: Address, requests: Iterator[bytes], poll: Poll) -> None:
        self.socket = connect(address)
        self.reader = Reader()
        self.latencies: list[float] = []
        self._requests = requests
        self._poll = poll
        self._rest = memoryview(b"")
        poll.watch(self.socket.fileno(), poll.reads)

    def ask(self) -> None:
        """Send the next request."""
        sent = next(self._requests)
        self._began = time.perf_counter()
        if (done := self.socket.send(sent)) < len(sent):
            self._rest = memoryview(sent)[done:]
            self._poll.change(self.socket.fileno(), self._poll.reads | self._poll.writes)

    def write(self) -> None:
        """Send the rest of a request that did not fit into the socket's buffer."""
        if self._rest:
            self._rest = self._rest[self.socket.send(self._rest) :]
        if not self._rest:
            self._poll.change(self.socket.fileno(), self._poll.reads)

    def read(self) -> None:
        """Read the available data; after a whole answer send the next request. ConnectionError if the server closed."""
        data = self.socket.recv(_CHUNK)
        if not data:
            raise ConnectionError("The server has closed a connection under load.")
        if self.reader.feed(data):
            self.latencies.append(time.perf_counter() - self._began)
            self.ask()


def connect(address: Address, keeps_blocking: bool = False) -> socket.socket:
    """A connected socket that sends without delay, and is non-blocking unless `keeps_blocking`."""
    connection = socket.create_connection(address, PATIENCE)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if not keeps_blocking:
        connection.setblocking(False)
    return connection


def load(address: Address, requests: Iterator[bytes], connections: int, seconds: float) -> Load:
    """Load a server with one group of connections, for some seconds after a short warm-up."""
    return load_groups(address, (Group(connections, requests),), seconds)[0]


def load_groups(address: Address, groups: Sequence[Group], seconds: float) -> list[Load]:
    """Load a server with several groups at once; the figures of each."""
    poll = Poll()
    started = [[Connection(address, group.requests, poll) for _ in range(group.connections)] for group in groups]
    sockets = {connection.socket.fileno(): connection for group in started for connection in group}
    gc.disable()
    try:
        for connection in sockets.values():
            connection.ask()
        _run(poll, sockets, seconds / 4)
        before = [_counts(group) for group in started]
        began, cpu = time.perf_counter(), time.process_time()
        _run(poll, sockets, seconds)
        elapsed, cpu = time.perf_counter() - began, time.process_time() - cpu
        return [_load(group, then, elapsed, cpu / elapsed) for group, then in zip(started, before, strict=True)]
    finally:
        gc.enable()
        poll.close()
        for connection in sockets.values():
            connection.socket.close()


def ask_so_often(address: Address, group: Group, times: int) -> None:
    """Send so many requests in total, plus at most one for each connection. TimeoutError if the server is silent."""
    poll = Poll()
    connections = [Connection(address, group.requests, poll) for _ in range(group.connections)]
    sockets = {connection.socket.fileno(): connection for connection in connections}
    try:
        for connection in connections:
            connection.ask()
        while (missing := times - sum(_counts(connections)[0])) > 0:
            before = missing
            _run(poll, sockets, min(0.2, missing / 20_000 + 0.005))
            if before == times - sum(_counts(connections)[0]) and not poll.wait(PATIENCE):
                raise TimeoutError(f"The server has said nothing for {PATIENCE:g} s.")
    finally:
        poll.close()
        for connection in connections:
            connection.socket.close()


def _run(poll: Poll, sockets: dict[int, Connection], seconds: float) -> None:
    """Serve the sockets for some seconds. A longer answer is counted in the run in which it ends, if there is one."""
    end = time.perf_counter() + seconds
    writes = poll.writes
    while (left := end - time.perf_counter()) > 0:
        for number, events in poll.wait(left):
            connection = sockets[number]
            if events & writes:
                connection.write()
            if events & ~writes:
                connection.read()


def _counts(group: Sequence[Connection]) -> tuple[list[int], float]:
    return [len(connection.latencies) for connection in group], sum(connection.reader.events for connection in group)


def _load(group: Sequence[Connection], before: tuple[list[int], float], elapsed: float, share: float) -> Load:
    (skipped, events), (_, all_events) = before, _counts(group)
    latencies = [taken for it, skip in zip(group, skipped, strict=True) for taken in it.latencies[skip:]]
    return Load(
        requests=len(latencies) / elapsed,
        events=(all_events - events) / elapsed,
        p50=percentile(latencies, 50),
        p99=percentile(latencies, 99),
        longest=max(latencies, default=float("nan")),
        share=share,
    )

"""A load client: so many connections that each send the same request again and again, for a time."""

import asyncio
import time
from typing import NamedTuple
from urllib.parse import urlsplit


class Load(NamedTuple):
    """What a round of load measured. `client_share` is the share of a core that the client itself took."""

    requests_per_second: float
    events_per_second: float
    client_share: float


class _Connection(asyncio.Protocol):
    """Sends a request, waits for the whole answer, and sends it again."""

    def __init__(self, request: bytes) -> None:
        self.answers = 0
        self.events = 0
        self._request = request
        self._transport: asyncio.Transport | None = None
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the first request."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        """Count the answer when it is whole, and send the next request."""
        self._received += data
        if not _whole(self._received):
            return
        self.answers += 1
        self.events += self._received.count(b"data: ")
        self._received = b""
        assert self._transport is not None
        self._transport.write(self._request)


def _whole(received: bytes) -> bool:
    head, gap, body = received.partition(b"\r\n\r\n")
    if not gap:
        return False
    if b"transfer-encoding: chunked" in head:
        return body.endswith(b"0\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    return len(body) >= length


def request(path: str, body: bytes) -> bytes:
    """A POST request as bytes."""
    lines = (
        f"POST {path} HTTP/1.1",
        "host: localhost",
        "authorization: Bearer bench",
        "content-type: application/json",
    )
    return "\r\n".join((*lines, f"content-length: {len(body)}", "", "")).encode() + body


async def load(url: str, sent: bytes, connections: int, seconds: float) -> Load:
    """Load a server for some seconds."""
    target = urlsplit(url)
    loop = asyncio.get_running_loop()
    made = [
        await loop.create_connection(lambda: _Connection(sent), target.hostname, target.port)
        for _ in range(connections)
    ]
    protocols = [protocol for _, protocol in made]
    await asyncio.sleep(seconds / 4)
    before = sum(p.answers for p in protocols), sum(p.events for p in protocols)
    began, cpu = time.perf_counter(), time.process_time()
    await asyncio.sleep(seconds)
    elapsed, cpu = time.perf_counter() - began, time.process_time() - cpu
    answers, events = sum(p.answers for p in protocols) - before[0], sum(p.events for p in protocols) - before[1]
    for transport, _ in made:
        transport.abort()
    return Load(answers / elapsed, events / elapsed, cpu / elapsed)

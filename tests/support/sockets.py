"""Raw connections to a server: requests as bytes, answers to the last byte, and how a connection ends."""

import json
import socket
import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import pytest

from mockserver import MockServer
from mockserver.server.server import AppThread, Loop
from mockserver.state.settings import Settings
from tests.support.certificates import write_certificate
from tests.support.http import TRUSTING

LOOPS: tuple[Loop, ...] = ("asyncio",) if sys.platform == "win32" else ("asyncio", "uvloop")
# Every way to listen: the event loop, and whether under TLS.
LISTENERS = [(loop, secure) for loop in LOOPS for secure in (False, True)]

BODY = {"model": "m", "prompt": "Tell me about tides", "max_tokens": 9}


def quiet_settings(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, **more: Any) -> Settings:
    """Settings of a quiet server, on a free port, with a certificate where the parameter of a fixture asks for one."""
    quiet = {"port": 0, "latency": "off", "log_level": "warning", **more}
    if not request.param[1]:
        return Settings(**quiet)
    certificate, key = write_certificate(tmp_path_factory.mktemp("tls"))
    return Settings(**quiet, tls_cert=str(certificate), tls_key=str(key))


@contextmanager
def kept_port() -> Iterator[int]:
    """A port that is given to nobody who asks for any meanwhile: it is bound, but not listened at."""
    with socket.socket() as kept:
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        kept.bind(("127.0.0.1", 0))
        yield kept.getsockname()[1]


@contextmanager
def connected(server: MockServer) -> Iterator[socket.socket]:
    """A connection to a server, under TLS if it speaks that."""
    target = urlsplit(server.url)
    with socket.create_connection((target.hostname or "", target.port or 0), timeout=30) as client:
        if target.scheme == "https":
            with TRUSTING.wrap_socket(client) as wrapped:
                yield wrapped
        else:
            yield client


def post(path: str, body: object, *headers: str) -> bytes:
    """The bytes of a POST request."""
    payload = json.dumps(body).encode()
    lines = (f"POST {path} HTTP/1.1", "host: localhost", "authorization: Bearer k", *headers)
    return "\r\n".join((*lines, f"content-length: {len(payload)}", "", "")).encode() + payload


def read_all(client: socket.socket) -> bytes:
    """A whole chunked answer, head included."""
    data = b""
    while not data.endswith(b"0\r\n\r\n"):
        received = client.recv(65_536)
        assert received, "the connection ended inside the answer"
        data += received
    return data


def chunks_of(answer: bytes) -> list[bytes]:
    """The chunks of a chunked body, one for each write of the server."""
    rest = answer.partition(b"\r\n\r\n")[2]
    pieces: list[bytes] = []
    while True:
        size, _, rest = rest.partition(b"\r\n")
        if size == b"0":
            return pieces
        pieces.append(rest[: int(size, 16)])
        rest = rest[int(size, 16) + 2 :]


def request_with_fault(fault: str, *, stream: bool, **fields: Any) -> bytes:
    """The bytes of a request for a completion that has a fault."""
    return post("/cerebras/v1/completions", BODY | {"stream": stream} | fields, f"x-mockserver-fault: {fault}")


class Line:
    """A connection that shows how TCP ended even under TLS, which is decrypted here rather than by the socket."""

    def __init__(self, server: MockServer | AppThread | str, seconds: float = 5.0) -> None:
        target = urlsplit(server if isinstance(server, str) else server.url)
        self._seconds = seconds
        self._socket = socket.create_connection((target.hostname or "", target.port or 0), timeout=seconds)
        self._tls: ssl.SSLObject | None = None
        if target.scheme == "https":
            self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
            self._tls = TRUSTING.wrap_bio(self._in, self._out)
            try:
                self._shake_hands(self._tls)
            except OSError:
                self._socket.close()
                raise

    def __enter__(self) -> "Line":
        return self

    def __exit__(self, *raised: object) -> None:
        self._socket.close()

    def send(self, data: bytes) -> None:
        """Send bytes, encrypted under TLS."""
        if self._tls is not None:
            self._tls.write(data)
            data = self._out.read()
        self._socket.sendall(data)

    def send_last(self, data: bytes) -> None:
        """Send bytes, and that nothing follows them: under TLS in one piece with them."""
        if self._tls is not None:
            self._tls.write(data)
            # The alert is written before the other side's is waited for.
            with suppress(ssl.SSLWantReadError):
                self._tls.unwrap()
            self._socket.sendall(self._out.read())
        else:
            self.send(data)
            self._socket.shutdown(socket.SHUT_WR)

    def read(self, until: bytes | None = None, silence: float | None = None) -> tuple[bytes, str]:
        """All that comes before the connection ends, or `until` has come, and how it ended: "reset", "closed", or
        "silence" after a time, which is `silence` once something has come: a busy server may take long to begin."""
        received = b""
        while True:
            self._socket.settimeout(silence if received and silence is not None else self._seconds)
            try:
                data = self._socket.recv(65_536)
            except ConnectionResetError:
                return received, "reset"
            except TimeoutError:
                return received, "silence"
            if not data:
                return received, "closed"
            received += data if self._tls is None else self._decrypted(data, self._tls)
            if until is not None and received.endswith(until):
                return received, "open"

    def _shake_hands(self, tls: ssl.SSLObject) -> None:
        while True:
            try:
                tls.do_handshake()
            except ssl.SSLWantReadError:
                self._socket.sendall(self._out.read())
                self._in.write(self._socket.recv(65_536))
            else:
                self._socket.sendall(self._out.read())
                return

    def _decrypted(self, data: bytes, tls: ssl.SSLObject) -> bytes:
        self._in.write(data)
        plain = b""
        while True:
            try:
                piece = tls.read(65_536)
            except (ssl.SSLWantReadError, ssl.SSLZeroReturnError):
                return plain
            if not piece:
                return plain
            plain += piece

"""Connections that want more than their share, and heads and bodies that are not HTTP or could be read in two ways."""

import socket
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial

from tests.hostile.attack import Attack

PATHS = (b"/cerebras/v1/models", b"/_mockserver/version")
ADMIN_ONLY = b'"name": "mockserver"'


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=20)


def answer_to(port: int, *pieces: bytes) -> bytes:
    """What comes before the connection ends, or the first that does."""
    with connect(port) as client:
        # A client that is refused may find so while it is sending.
        with suppress(ConnectionError):
            for piece in pieces:
                client.sendall(piece)
        try:
            return client.recv(65_536)
        except ConnectionResetError:
            return b""


def told(name: str, statuses: Iterable[int], *requests: Callable[[], bytes] | bytes) -> Attack:
    """Each request gets one of some statuses; 0 is the end of the connection, without an answer."""
    lines = tuple(b"HTTP/1.1 %d " % status for status in statuses if status)

    def act(port: int) -> None:
        for each in requests:
            sent = each if isinstance(each, bytes) else each()
            answer = answer_to(port, sent)
            assert answer.startswith(lines) or (not answer and 0 in statuses), (sent[:200], answer[:300])

    return Attack(name, act)


def get(*lines: bytes, path: bytes = PATHS[0], method: bytes = b"GET", version: bytes = b"HTTP/1.1") -> bytes:
    return b"\r\n".join((method + b" " + path + b" " + version, *lines, b"authorization: Bearer k", b"", b""))


def post(*lines: bytes, body: bytes = b"") -> bytes:
    return get(b"host: localhost", *lines, path=b"/cerebras/v1/completions", method=b"POST") + body


def pipeline(path: bytes, size: int, reads: bool, port: int) -> None:
    """So many bytes of requests in a row; what is not taken within a second stays with the client."""
    row = get(b"host: localhost", path=path) * 1000
    until = time.monotonic() + 0.5
    with connect(port) as client:
        client.setblocking(False)
        sent = 0
        while sent < size and time.monotonic() < until:
            with suppress(BlockingIOError):
                sent += client.send(row)
            if reads:
                with suppress(BlockingIOError):
                    client.recv(1_000_000)


def many_connections(start: bytes, port: int) -> None:
    clients = [connect(port) for _ in range(200)]
    for client in clients:
        client.sendall(start)
    for client in clients:
        client.close()


def disguised(port: int) -> None:
    """No spelling but the literal one leads to the admin API."""
    spellings = (
        *("/%5fmockserver/", "/_mockserver%2f", "/%5Fmockserver%2F", "//_mockserver/", "/./_mockserver/"),
        *("/x/../_mockserver/", "/x/%2e%2e/_mockserver/", "/_mockserver;a=b/", "/;/_mockserver/", "/%255fmockserver/"),
        *("/_mockserve%72/", "/_mock%73erver/", "/%2f_mockserver/", "/ns/a/_mockserver/", "/ns/a/%5fmockserver/"),
        *("/_MOCKSERVER/", "/_mockserver%00/", "/%c0%af_mockserver/", "/_mockserver/../_mockserver/"),
        *("http://a/%5fmockserver/", "http://b/_mockserver/", "http://a/x/../_mockserver/"),
    )
    for spelling in spellings:
        answer = answer_to(port, get(b"host: localhost", path=spelling.encode() + b"version"))
        assert answer.split()[1][:1] == b"4", (spelling, answer[:300])
        assert ADMIN_ONLY not in answer


CHUNKED = b"transfer-encoding: chunked"
HOST = b"host: localhost"
ROWS: list[Attack] = [
    *(
        Attack(
            f"20 MB of requests in a row for {path.decode()}, {'read' if reads else 'not read'}",
            partial(pipeline, path, 20_000_000, reads),
        )
        for path in (*PATHS, b"/nowhere")
        for reads in (True, False)
    ),
    told(
        "a head without end",
        (431, 414, 0),
        lambda: get(HOST)[:-2] + b"x-long: " + b"a" * 2_000_000,
        lambda: get(HOST)[:-2] + b"x-more: a\r\n" * 200_000,
        lambda: get(HOST)[:-2] + b"a:\r\n" * 200_000,
        lambda: b"GET /" + b"a" * 2_000_000,
        lambda: b"GET /?" + b"a=b&" * 500_000,
    ),
    told("thousands of fields", (431,), get(HOST, *[b"a: b"] * 300), get(HOST, *[b"x: "] * 5000)),
    told(
        "a trailer, chunk extensions or a chunk's size without end",
        (400, 0),
        lambda: post(CHUNKED, body=b"2\r\n{}\r\n0\r\n" + b"x-trailer: a\r\n" * 200_000),
        lambda: post(CHUNKED, body=b"2\r\n{}\r\n0\r\n" + b"x-trailer: " + b"a" * 2_000_000),
        lambda: post(CHUNKED, body=b"2;" + b"a" * 2_000_000),
        lambda: post(CHUNKED, body=b"2" + b";a=b" * 500_000),
        lambda: post(CHUNKED, body=b"0" * 2_000_000),
        lambda: post(CHUNKED, body=(b"1;" + b"e" * 1000 + b"\r\n{\r\n") * 2_000),
    ),
    told("a body of one-byte chunks", (400,), lambda: post(CHUNKED, body=b"1\r\n{\r\n" * 50_000 + b"0\r\n\r\n")),
    told(
        "no host, two hosts, no valid host",
        (400,),
        get(),
        get(HOST, HOST),
        get(HOST, b"Host: b"),
        get(b"host: a, b"),
        get(b"host: a/b"),
        get(b"host: a b"),
        get(b"host: a:b"),
        get(b"host: user@a"),
        get(b"host: [::1"),
        get(b"host: a\xff"),
        get(HOST, HOST, version=b"HTTP/1.0"),
    ),
    told(
        "a body whose end could be read in two ways",
        (400, 501),
        *(
            post(*lines, body=b"5\r\nhello\r\n0\r\n\r\n")
            for lines in (
                (CHUNKED, b"content-length: 5"),
                (b"content-length: 5", CHUNKED),
                (CHUNKED, CHUNKED),
                (CHUNKED, b"transfer-encoding: identity"),
                (b"content-length: 5", b"content-length: 6"),
                *(
                    (b"transfer-encoding: " + coding,)
                    for coding in (
                        *(
                            b"identity",
                            b"identity, chunked",
                            b"gzip, chunked",
                            b"chunked, identity",
                            b"chunked, chunked",
                        ),
                        *(b"xchunked", b"chunked;a=b", b"\x0bchunked", b'"chunked"', b", chunked", b"chunked,"),
                    )
                ),
                *(
                    (b"content-length: " + length,)
                    for length in (b"+5", b"-5", b"5,5", b"5 5", b"0x5", b"5.0", b"", b"9" * 40, b"5a", b"\xb2")
                ),
                (b"content-length : 5",),
                (b"content-length: 5\r\n folded",),
            )
        ),
        get(HOST, CHUNKED, version=b"HTTP/1.0", method=b"POST") + b"0\r\n\r\n",
    ),
    told(
        "what is no head of HTTP/1.1",
        (400, 505),
        *(get(HOST, line) for line in (b"a", b": b", b"a b: c", b"a\x00: b", b"a: \x00", b"a: \x01", b"a: b\x7f")),
        *(get(HOST, line) for line in (b"a: b\rc: d", b"a: b\nc: d", b" a: b", b"\xe9: b", b"a : b")),
        get(HOST).replace(b"\r\n", b"\n"),
        get(HOST).replace(b"\r\n", b"\r"),
        *(get(HOST, method=method) for method in (b"", b"get", b"G@T", b"FROB", b"GET\x00")),
        *(get(HOST, version=version) for version in (b"HTTP/0.9", b"HTTP/1.2", b"HTTP/2.0", b"HTTP/3", b"http/1.1")),
        *(get(HOST, path=path) for path in (b"a:443", b"nowhere", b"/\x01", b"/\xff", b"/a b", b"\\a", b"http://")),
        *(get(HOST, path=path) for path in (b"http://b/", b"http://a@b/", b"http://a:b/", b"ftp://a:/")),
    ),
    told(
        "requests of a rare form",
        (200, 401, 404, 405, 421),
        *(get(HOST, path=path, method=method) for path, method in ((b"*", b"OPTIONS"), (b"*", b"GET"))),
        *(get(HOST, path=b"http://localhost" + path) for path in PATHS),
        *(get(path=path, version=b"HTTP/1.0") for path in PATHS),
        *(get(HOST, path=path, method=b"HEAD") for path in PATHS),
        *(get(HOST, b"connection: upgrade", b"upgrade: websocket", path=path) for path in PATHS),
        get(b"host: [::1]:80"),
        get(b"host:"),
        b"\r\n\r\n" + get(HOST),
    ),
    Attack("other spellings of the admin API's path", disguised),
    *(
        Attack(
            f"two hundred connections that stop after {start[-12:]!r}",
            partial(many_connections, start),
        )
        for start in (
            b"GET",
            get(HOST)[:-2],
            post(b"content-length: 9", body=b"{"),
            post(CHUNKED, body=b"5\r\n{"),
            b"\r\n",
        )
    ),
]

"""The server on a real socket: framing, headers, clients that leave, bodies too large, mistakes in our own headers."""

import asyncio
import gc
import json
import logging
import queue
import re
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from mockserver import MockServer
from mockserver.server.server import Loop
from mockserver.state.settings import Settings
from tests.support.asking import ask
from tests.support.certificates import write_certificate
from tests.support.http import exchange
from tests.support.sockets import LOOPS, chunks_of, connected, post, read_all

REQUEST = {"model": "llama3.1-8b", "prompt": "Tell me about sea otters", "max_tokens": 12}


def test_a_stream_is_chunked_with_line_feeds_and_says_nothing_of_our_server(server: MockServer) -> None:
    with connected(server) as client:
        client.sendall(post("/cerebras/v1/completions", REQUEST | {"stream": True}))
        answer = read_all(client)
    head, _, _ = answer.partition(b"\r\n\r\n")
    body = b"".join(chunks_of(answer))
    assert b"transfer-encoding: chunked" in head
    assert b"uvicorn" not in head
    assert b"\r" not in body
    assert body.endswith(b"data: [DONE]\n\n")
    assert all(event.startswith(b"data: ") for event in body.removesuffix(b"\n\n").split(b"\n\n"))


@pytest.mark.parametrize(
    "data, reason",
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", " This is a TLS handshake, but the server speaks plain HTTP"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", " This is HTTP/2 (or gRPC), but the server speaks HTTP/1.1 only."),
        (
            b"CONNECT api.openai.com:443 HTTP/1.1\r\nhost: api.openai.com:443\r\n\r\n",
            " This asks for a tunnel, but the",
        ),
        (b"hello\r\n\r\n", ""),
    ],
)
def test_who_speaks_another_protocol_is_told_so_on_the_wire_and_in_the_log(
    server: MockServer, caplog: pytest.LogCaptureFixture, data: bytes, reason: str
) -> None:
    with connected(server) as client:
        client.sendall(data)
        head, _, body = client.makefile("rb").read().partition(b"\r\n\r\n")
    complaint = f"Invalid HTTP request received.{reason}"
    assert head.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert body.decode().startswith(complaint)
    assert [record.getMessage() for record in caplog.records] == [body.decode()]


@pytest.mark.parametrize("loop", LOOPS)
def test_who_speaks_plain_http_to_a_server_of_https_is_named_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, loop: Loop
) -> None:
    certificate, key = map(str, write_certificate(tmp_path))
    with MockServer(Settings(port=0, latency="off", tls_cert=certificate, tls_key=key), loop) as server:
        port = urlsplit(server.url).port
        for _ in range(2):
            with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
                client.sendall(b"GET /cerebras/v1/models HTTP/1.1\r\nhost: localhost\r\n\r\n")
                assert client.recv(1) == b""
    said = [record.getMessage() for record in caplog.records]
    assert said == ["Plain HTTP received, but the server speaks HTTPS: use https:// in the client's base URL."] * 2


def written(server: MockServer, tokens: int) -> list[bytes]:
    """The writes of a stream of so many tokens."""
    with connected(server) as client:
        body = REQUEST | {"stream": True, "max_tokens": tokens, "min_tokens": tokens}
        client.sendall(post("/cerebras/v1/completions", body))
        return chunks_of(read_all(client))


def test_due_events_are_joined_and_every_write_ends_on_an_events_border(server: MockServer) -> None:
    writes = written(server, 400)
    assert 1 < len(writes) < 5
    assert all(write.endswith(b"\n\n") and len(write) <= 61_440 for write in writes)
    assert len(written(server, 100)) == 1


def test_under_tls_every_write_fits_into_a_record(tmp_path: Path) -> None:
    certificate, key = map(str, write_certificate(tmp_path))
    with MockServer(Settings(port=0, latency="off", tls_cert=certificate, tls_key=key)) as server:
        writes = written(server, 100)
    assert 1 < len(writes) < 5
    assert all(write.endswith(b"\n\n") and len(write) <= 16_384 for write in writes)


def test_single_writes_carry_one_event_each() -> None:
    with MockServer(Settings(port=0, latency="off", writes="single")) as server, connected(server) as client:
        client.sendall(post("/cerebras/v1/completions", REQUEST | {"stream": True}))
        writes = chunks_of(read_all(client))
    assert len(writes) == 12 + 3
    assert all(write.count(b"\n\n") == 1 for write in writes)


def test_a_connection_is_kept_for_the_next_request(server: MockServer) -> None:
    with connected(server) as client:
        for _ in range(3):
            client.sendall(post("/cerebras/v1/completions", REQUEST | {"stream": True}))
            assert read_all(client).startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.fixture(scope="module", params=LOOPS)
def own_server(request: pytest.FixtureRequest) -> Iterator[MockServer]:
    """A quiet server on each loop, whose journal has no other requests."""
    with MockServer(Settings(port=0, latency="off", log_level="warning"), request.param) as running:
        yield running


def test_a_long_stream_goes_on_for_a_slow_reader_whatever_waits_behind_it(own_server: MockServer) -> None:
    long = {"stream": True, "max_tokens": 30_000, "min_tokens": 30_000, "model": "qwen-3-32b"}
    with connected(own_server) as client:
        client.sendall(post("/cerebras/v1/completions", REQUEST | long))
        assert client.recv(1024).startswith(b"HTTP/1.1 200")
        # By now the server waits for the client to read.
        client.sendall(post("/cerebras/v1/completions", REQUEST | {"stream": True}))
        first = read_all(client)
        second = b"" if b"HTTP/1.1 200" in first else read_all(client)
    assert (first + second).count(b"data: [DONE]") == 2


def test_who_leaves_in_the_middle_of_a_stream_is_not_answered_what_waits_behind_it(
    own_server: MockServer, caplog: pytest.LogCaptureFixture
) -> None:
    own_server.reset()
    with connected(own_server) as client:
        # It is noticed when the next events are written: what waits behind the stream is not read yet.
        body = REQUEST | {"stream": True, "max_tokens": 600, "min_tokens": 600}
        client.sendall(post("/cerebras/v1/completions", body, "x-mockserver-latency: itl=50ms") * 2)
        assert client.recv(4096).startswith(b"HTTP/1.1 200")
    own_server.wait_idle()
    assert [view.closed_by for view in own_server.exchanges] == ["client"]
    assert caplog.records == []


@pytest.mark.parametrize("loop", LOOPS)
def test_nothing_is_written_in_vain_to_a_client_that_has_left(loop: Loop, caplog: pytest.LogCaptureFixture) -> None:
    body = REQUEST | {"stream": True, "max_tokens": 20_000, "min_tokens": 20_000, "model": "qwen-3-32b"}
    settings = Settings(port=0, latency="off", log_level="warning", writes="single", journal=4)
    with MockServer(settings, loop) as server:
        for _ in range(8):
            with connected(server) as client:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                client.sendall(post("/cerebras/v1/completions", body))
                assert client.recv(4096).startswith(b"HTTP/1.1 200")
        server.wait_idle()
        assert [view.closed_by for view in server.exchanges] == ["client"] * 4
    # asyncio warns of every further write once there have been five.
    assert caplog.records == []


class _Lines(logging.Handler):
    """The access lines of a server, as they come."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: queue.Queue[str] = queue.Queue()

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.put(record.getMessage())


def test_a_client_that_leaves_is_noticed_and_the_work_stops(server: MockServer) -> None:
    access, handler = logging.getLogger("mockserver"), _Lines()
    access.addHandler(handler)
    access.setLevel(logging.INFO)
    try:
        with connected(server) as client:
            body = REQUEST | {"stream": True}
            client.sendall(post("/cerebras/v1/completions", body, "x-mockserver-latency: ttft=10ms, itl=20s"))
            assert client.recv(4096).startswith(b"HTTP/1.1 200")
        # The whole stream would take minutes; the line comes when the work stops.
        assert "client left after" in handler.lines.get(timeout=10)
    finally:
        access.removeHandler(handler)
        access.setLevel(logging.NOTSET)


def test_a_body_beyond_the_bound_gets_the_vendors_413() -> None:
    with MockServer(Settings(port=0, latency="off", max_body=1000)) as server:
        answer = exchange(server.url, "POST", "/cerebras/v1/completions", {"model": "m", "prompt": "x" * 2000})
    assert (answer.status, json.loads(answer.body)["error"]["code"]) == (413, "request_too_large")


@pytest.mark.parametrize("padding", [0, 200_000])
def test_a_body_of_more_values_than_anybody_means_is_too_large(server: MockServer, padding: int) -> None:
    text = "one, two, three [and] more {}" * 30_000
    for values, status in (("[]," * 249_000, 200), ("[]," * 251_000, 413)):
        body = b'{"model":"m","prompt":"a\\"","max_tokens":1,"x":[%b1],"%b":"%b"}' % (
            values.encode(),
            b" " * padding,
            text.encode(),
        )
        assert exchange(server.url, "POST", "/cerebras/v1/completions", body).status == status


def test_a_body_to_the_admin_api_has_the_same_bounds() -> None:
    with MockServer(Settings(port=0, latency="off", max_body=2_000_000, log_level="warning")) as server:
        answers = [
            exchange(server.url, "POST", "/_mockserver/stubs", body)
            for body in (b'{"name":"%b"}' % (b"x" * 2_000_000), b'{"name":[%b1]}' % (b"[]," * 300_000))
        ]
    assert [answer.status for answer in answers] == [413, 413]
    assert b"A stub has more than 2000000 bytes (--max-body)" in answers[0].body
    assert b"A stub has more than 500000 values" in answers[1].body


def test_who_asks_before_sending_too_much_is_told_at_once() -> None:
    with MockServer(Settings(port=0, latency="off", max_body=1000)) as server, connected(server) as client:
        lines = ("POST /cerebras/v1/completions HTTP/1.1", "host: localhost", "content-length: 99999999999")
        client.sendall("\r\n".join((*lines, "expect: 100-continue", "", "")).encode())
        answer = b"".join(iter(lambda: client.recv(65_536), b""))
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"connection: close\r\n" in answer


def test_a_connection_that_ends_is_not_said_to_be_kept(server: MockServer) -> None:
    with connected(server) as client:
        body = {"model": "llama3", "prompt": "a", "max_tokens": 2, "stream": True}
        client.sendall(post("/ovms/v3/completions", body, "connection: close"))
        head = read_all(client).partition(b"\r\n\r\n")[0]
    assert [line for line in head.split(b"\r\n") if line.startswith(b"connection")] == [b"connection: close"]


def test_a_body_of_a_megabyte_is_answered(server: MockServer) -> None:
    body = {"model": "qwen-3-235b-a22b-instruct-2507", "prompt": "word " * 100_000, "max_tokens": 2}
    answer = exchange(server.url, "POST", "/cerebras/v1/completions", body)
    assert json.loads(answer.body)["usage"] == {
        "prompt_tokens": 100_001,
        "completion_tokens": 2,
        "total_tokens": 100_003,
        "prompt_tokens_details": {"cached_tokens": 0},
    }


@pytest.mark.parametrize("words", [5_000, 100_000, 250_000])
@pytest.mark.parametrize("path", ["completions", "chat/completions"])
def test_a_body_that_is_read_by_turns_or_in_a_thread_is_answered_like_any_other(
    frozen_server: MockServer, path: str, words: int
) -> None:
    text = "[né " * words
    asked = {"prompt": text} if path == "completions" else {"messages": [{"role": "user", "content": text}]}
    body = json.dumps({"model": "llama3", "max_tokens": 8, **asked}).encode()
    answer = exchange(frozen_server.url, "POST", f"/ovms/v3/{path}", body)
    assert answer.body == ask("ovms", body, path=f"/v3/{path}").body


@pytest.mark.parametrize(
    "header, complaint",
    [
        ({"x-mockserver-seed": "seven"}, "X-Mockserver-Seed: 'seven' is not a whole number"),
        (
            {"x-mockserver-edition": "newest"},
            "X-Mockserver-Edition: unknown edition 'newest'. Known: documented, obser",
        ),
        ({"x-mockserver-latency": "quick"}, "X-Mockserver-Latency: 'quick': column 1: unknown preset 'quick'. Known: "),
        ({"x-mockserver-dialect": "cerebras"}, "X-Mockserver-Dialect: it is told in answers; choose a dialect by the "),
    ],
)
def test_a_wish_that_cannot_be_obeyed_is_told_what_can(
    server: MockServer, header: dict[str, str], complaint: str
) -> None:
    answer = exchange(server.url, "POST", "/cerebras/v1/completions", REQUEST, header)
    error = json.loads(answer.body)["error"]
    assert (answer.status, error["type"]) == (400, "mockserver_invalid_header")
    assert error["message"].startswith(complaint)


def test_a_header_of_ours_that_means_nothing_is_told_what_would(server: MockServer) -> None:
    answer = exchange(server.url, "POST", "/cerebras/v1/completions", REQUEST, {"x-mockserver-latancy": "slow"})
    assert answer.status == 400
    assert "Did you mean 'x-mockserver-latency'?" in json.loads(answer.body)["error"]["message"]
    told_back = {"x-mockserver-request-id": "7f", "x-mockserver-dialect": "cerebras; by=id"}
    assert exchange(server.url, "POST", "/cerebras/v1/completions", REQUEST, told_back).status == 200


def test_a_path_of_nobody_is_told_the_nearest_ones(server: MockServer) -> None:
    answer = exchange(server.url, "POST", "/v9/chat/complete", REQUEST)
    error = json.loads(answer.body)["error"]
    assert (answer.status, error["type"]) == (404, "mockserver_no_route")
    assert "/v1/chat/completions" in error["nearest"]
    assert "Did you mean" not in error["message"]


WRONG_PATHS = [
    *("/chat/completions", "/v1/v1/chat/completions", "/api/v1/chat/completions"),
    *("/v1/chat/completion", "/v1/chat/completions/"),
]


@pytest.mark.parametrize("path", WRONG_PATHS)
def test_a_path_by_a_wrong_base_url_or_a_slip_is_told_the_right_one(path: str, server: MockServer) -> None:
    error = json.loads(exchange(server.url, "POST", path, REQUEST).body)["error"]
    assert error["message"].startswith(f"Nothing is served at POST {path}. Did you mean /v1/chat/completions? Put ")
    assert error["nearest"][0] == "/v1/chat/completions"


def test_a_vendors_refusal_of_a_path_hints_at_the_nearest_ones(server: MockServer) -> None:
    answer = exchange(server.url, "POST", "/cerebras/v1/v1/completions", REQUEST)
    assert (answer.status, answer.body) == (404, b"")
    assert "/cerebras/v1/completions" in dict(answer.headers)["x-mockserver-hint"]


def test_a_refused_method_is_told_those_that_the_path_takes(server: MockServer) -> None:
    answer = exchange(server.url, "GET", "/cerebras/v1/chat/completions")
    assert (answer.status, dict(answer.headers)["x-mockserver-hint"]) == (
        405,
        "/cerebras/v1/chat/completions takes POST",
    )


@pytest.mark.parametrize(
    ("path", "headers", "hint"),
    [
        (
            "/v1/chat/completions",
            {},
            "/v1/chat/completions is openai's; others: /cerebras/v1/chat/completions, /friendli/v1/chat/completions, "
            "/ovms/v1/chat/completions, /yandex/v1/chat/completions",
        ),
        ("/yandex/v1/chat/completions", {}, None),
        ("/v1/chat/completions", {"host": "api.cerebras.ai"}, None),
        (
            "/openai/v1/chat/completions",
            {"content-type": "text/plain"},
            "a body of this type or encoding is not read: send Content-Type: application/json",
        ),
    ],
)
def test_a_refusal_hints_at_the_other_dialects_of_a_bare_path_or_at_the_type_of_its_body(
    server: MockServer, path: str, headers: dict[str, str], hint: str | None
) -> None:
    body = {"model": "gpt-4o", "messages": "hello"}
    answer = exchange(server.url, "POST", path, body, headers)
    assert answer.status in (400, 422)
    assert dict(answer.headers).get("x-mockserver-hint") == hint


def test_a_namespace_before_the_path_is_served_like_the_path(server: MockServer) -> None:
    answer = exchange(server.url, "POST", "/ns/suite-1/cerebras/v1/completions", REQUEST)
    assert answer.body == exchange(server.url, "POST", "/cerebras/v1/completions", REQUEST).body or answer.status == 200


def test_our_own_headers_are_left_out_of_a_strict_servers_answers(server: MockServer) -> None:
    ours = {name for name, _ in exchange(server.url, "POST", "/cerebras/v1/completions", REQUEST).headers}
    with MockServer(Settings(port=0, latency="off", strict=True)) as strict:
        theirs = {name for name, _ in exchange(strict.url, "POST", "/cerebras/v1/completions", REQUEST).headers}
    assert ours - theirs == {"x-mockserver-request-id", "x-mockserver-seed"}


def test_two_servers_on_one_port_are_told_apart(server: MockServer) -> None:
    from mockserver.state.settings import ConfigError

    port = urlsplit(server.url).port or 0
    with pytest.raises(ConfigError, match=f"Port {port} on 127.0.0.1 is taken. Choose another with --port"):
        MockServer(Settings(port=port))


def test_a_client_that_waits_to_be_asked_for_its_body_is_asked(server: MockServer) -> None:
    head, gap, body = post("/cerebras/v1/completions", REQUEST, "expect: 100-continue").partition(b"\r\n\r\n")
    with connected(server) as client:
        client.sendall(head + gap)
        assert client.recv(65_536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(body)
        assert client.recv(65_536).startswith(b"HTTP/1.1 200 OK\r\n")


def test_a_plain_answer_is_one_write_and_requests_in_a_row_are_answered_in_order(server: MockServer) -> None:
    requests = [post("/cerebras/v1/completions", REQUEST | {"prompt": f"number {n}"}) for n in range(3)]
    with connected(server) as client:
        client.sendall(b"".join(requests))
        data = b""
        while data.count(b"HTTP/1.1 200 OK") < 3 or not data.endswith(b"}"):
            data += client.recv(65_536)
    alone = []
    for request in requests:
        with connected(server) as client:
            client.sendall(request)
            alone.append(client.recv(65_536).partition(b"\r\n\r\n")[2])
    assert [answer.split(b'"created"')[0] for answer in alone] == [
        part.partition(b"\r\n\r\n")[2].split(b'"created"')[0] for part in data.split(b"HTTP/1.1 200 OK")[1:]
    ]


OFFERS = (
    ("connection: Upgrade, HTTP2-Settings", "upgrade: h2c", "http2-settings: AAEAAEAAAAIAAAAB"),
    ("connection: keep-alive, upgrade", "upgrade: TLS/1.2"),
    ("connection: upgrade", "upgrade: websocket", "sec-websocket-version: 13"),
)


def answers_in(client: socket.socket, count: int) -> list[tuple[bytes, dict[str, object]]]:
    """So many plain answers of JSON: the first line of each, and its body."""
    file, answers = client.makefile("rb"), []
    for _ in range(count):
        head = list(iter(lambda: file.readline().strip(), b""))
        length = next(int(line.split(b":")[1]) for line in head if line.lower().startswith(b"content-length"))
        answers.append((head[0], json.loads(file.read(length))))
    file.close()
    return answers


@pytest.mark.parametrize("offer", OFFERS, ids=lambda offer: offer[1].split()[1])
def test_an_offer_to_speak_another_protocol_is_declined_and_the_request_answered(
    own_server: MockServer, offer: tuple[str, ...]
) -> None:
    own_server.reset()
    offering, plain = (post("/cerebras/v1/completions", REQUEST, *more) for more in (offer, ()))
    chunked = post("/cerebras/v1/completions", REQUEST, *offer).partition(b"\r\n\r\n")
    lines = [line for line in chunked[0].split(b"\r\n") if not line.startswith(b"content-length")]
    pieces = b"%x\r\n%b\r\n0\r\n\r\n" % (len(chunked[2]), chunked[2])
    chunks = b"\r\n".join((*lines, b"transfer-encoding: chunked", b"", pieces))
    with connected(own_server) as client:
        client.sendall(offering + plain + chunks + offering)
        first = answers_in(client, 4)
        # One byte at a time, within the head and within the body.
        for byte in offering + plain:
            client.sendall(bytes([byte]))
        second = answers_in(client, 2)
    assert {line for line, _ in first + second} == {b"HTTP/1.1 200 OK"}
    assert len({json.dumps(body["choices"]) for _, body in first + second}) == 1
    assert [exchange.prompt for exchange in own_server.exchanges] == [REQUEST["prompt"]] * 6
    assert own_server.exchanges[0].headers["upgrade"] == offer[1].removeprefix("upgrade: ")


def test_an_offer_to_speak_another_protocol_is_declined_by_the_admin_api_too(own_server: MockServer) -> None:
    stub = {"name": "offered", "reply": "Well"}
    with connected(own_server) as client:
        client.sendall(post("/_mockserver/stubs", stub, "content-type: application/json", *OFFERS[0]) * 2)
        assert {line.split()[1] for line, _ in answers_in(client, 2)} <= {b"200", b"201"}
        client.sendall(post("/cerebras/v1/completions", REQUEST, *OFFERS[0]))
        [(_, answer)] = answers_in(client, 1)
    own_server.reset()
    assert "Well" in json.dumps(answer)


def test_who_waits_to_be_asked_for_a_body_is_asked_though_it_offers_another_protocol(own_server: MockServer) -> None:
    head, gap, body = post("/cerebras/v1/completions", REQUEST, "expect: 100-continue", *OFFERS[0]).partition(
        b"\r\n\r\n"
    )
    with connected(own_server) as client:
        client.sendall(head + gap)
        assert client.recv(65_536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(body)
        assert client.recv(65_536).startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize("junk", [b"CONNECT a:443 HTTP/1.1\r\nhost: a\r\n\r\n", b"\x16\x03\x01\r\n\r\n"])
def test_who_wants_a_tunnel_or_speaks_no_http_is_refused(own_server: MockServer, junk: bytes) -> None:
    with connected(own_server) as client:
        client.sendall(junk)
        assert client.recv(65_536).split()[1] in (b"400", b"404")


@pytest.mark.parametrize(
    "head",
    [
        b"GET /%d HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"GET /_mockserver/journal/n%d HTTP/1.1\r\nhost: localhost\r\n\r\n",
    ],
)
def test_a_row_of_thousands_of_requests_is_answered_in_order_and_holds_up_nobody(
    own_server: MockServer, head: bytes
) -> None:
    count, turns = 3_000, [0.0]
    exchange(own_server.url, "GET", "/_mockserver/journal/7")
    over = threading.Event()

    async def watch() -> None:
        while not over.is_set():
            began = time.thread_time()
            await asyncio.sleep(0)
            turns.append(time.thread_time() - began)

    watcher = threading.Thread(target=own_server._thread.wait, args=(watch(), 60))
    watcher.start()
    received = b""
    # What the tests before this one have left would be looked through in one turn of the loop.
    gc.disable()
    try:
        with connected(own_server) as client:
            client.sendall(b"".join(head % number for number in range(1000, 1000 + count)))
            while received.count(b"HTTP/1.1 404") < count or not received.endswith(b"}"):
                received += client.recv(1_000_000)
    finally:
        gc.enable()
        over.set()
        watcher.join(60)
    answers = re.findall(rb"(?:GET /|exchange 'n)(\d{4})\b", received)
    assert answers == [b"%d" % number for number in range(1000, 1000 + count)]
    # Parsed in one go they took nearly half of all the time that there was to spend.
    assert max(turns) < sum(turns) / 4


@pytest.mark.parametrize("path", ["/cerebras/v1/models", "/_mockserver/version"])
@pytest.mark.parametrize("endless", [b"x-long: " + b"a" * 2_000_000, b"x-more: a\r\n" * 200_000], ids=["long", "many"])
def test_a_head_without_end_is_refused_before_its_end(own_server: MockServer, path: str, endless: bytes) -> None:
    start = f"GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer k\r\n".encode()
    with connected(own_server) as client:
        client.sendall(start + b"x-long: " + b"a" * 100_000 + b"\r\n\r\n")
        assert client.recv(12) == b"HTTP/1.1 200"
    with connected(own_server) as client:
        # The server stops reading long before all of it has come.
        with suppress(ConnectionError):
            client.sendall(start + endless)
        try:
            answer = client.recv(65_536)
        except ConnectionResetError:
            return
        assert answer.startswith(b"HTTP/1.1 431 ")
        assert answer.endswith(b"endless")


def test_a_stream_to_a_client_of_http_1_0_is_not_chunked_and_ends_with_the_connection(server: MockServer) -> None:
    sent = post("/cerebras/v1/completions", REQUEST | {"stream": True}).replace(b"HTTP/1.1", b"HTTP/1.0")
    with connected(server) as client:
        client.sendall(sent)
        data = b""
        while received := client.recv(65_536):
            data += received
    head, _, body = data.partition(b"\r\n\r\n")
    assert b"transfer-encoding" not in head
    assert body.endswith(b"data: [DONE]\n\n")


def test_a_long_row_of_requests_behind_a_slow_one_is_answered_in_order(server: MockServer) -> None:
    slow = post("/cerebras/v1/completions", REQUEST, "x-mockserver-latency: ttft=50ms")
    quick = post("/cerebras/v1/completions", REQUEST)
    with connected(server) as client:
        client.sendall(slow + quick * 300)
        data = b""
        while data.count(b"HTTP/1.1 200 OK") < 301:
            data += client.recv(65_536)
    assert data.count(b"HTTP/1.1") == 301

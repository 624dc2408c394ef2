"""Faults below HTTP, on a raw socket: what comes through, and how the connection ends."""

import asyncio
import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from mockserver.control.settings import Settings
from mockserver.serving.app import create_app
from mockserver.serving.server import MockServer
from tests.serving.test_wire import connected, post
from tests.support.http import exchange

BODY = {"model": "m", "prompt": "Tell me about tides", "max_tokens": 9}


def struck(server: MockServer, fault: str, *, stream: bool, seconds: float = 5.0) -> tuple[bytes, str]:
    """All that comes before the connection ends, and how it ends: "reset", "closed", or "silence" after a time."""
    received = b""
    with connected(server) as client:
        client.settimeout(seconds)
        client.sendall(post("/cerebras/v1/completions", BODY | {"stream": stream}, f"x-mockserver-fault: {fault}"))
        while True:
            try:
                data = client.recv(65_536)
            except ConnectionResetError:
                return received, "reset"
            except TimeoutError:
                return received, "silence"
            if not data:
                return received, "closed"
            received += data


@pytest.mark.parametrize("kind, end", [("reset", "reset"), ("close", "closed")])
@pytest.mark.parametrize("stream", [False, True])
def test_a_connection_ends_before_any_head(server: MockServer, kind: str, end: str, stream: bool) -> None:
    assert struck(server, kind, stream=stream) == (b"", end)


@pytest.mark.parametrize("kind, end", [("reset", "reset"), ("close", "closed")])
@pytest.mark.parametrize("events", [0, 1, 3, 7])
def test_a_stream_ends_after_exactly_so_many_events(server: MockServer, kind: str, end: str, events: int) -> None:
    received, ended = struck(server, f'{{ kind = "{kind}", after_event = {events} }}', stream=True)
    assert ended == end
    assert received.startswith(b"HTTP/1.1 200 OK\r\n")
    assert received.count(b"data: ") == events
    assert b"0\r\n\r\n" not in received


def test_a_plain_answer_ends_after_so_many_bytes_of_the_length_it_promised(server: MockServer) -> None:
    received, ended = struck(server, '{ kind = "reset", after_bytes = 20 }', stream=False)
    head, _, body = received.partition(b"\r\n\r\n")
    assert (ended, len(body)) == ("reset", 20)
    length = next(int(line.split(b": ")[1]) for line in head.split(b"\r\n") if line.startswith(b"content-length"))
    assert length > 200


@pytest.mark.parametrize("fault, begins", [("hang", b""), ('{ kind = "hang", after_event = 2 }', b"HTTP/1.1 200")])
def test_a_hanging_answer_stays_open_and_says_nothing_more(server: MockServer, fault: str, begins: bytes) -> None:
    received, ended = struck(server, fault, stream=True, seconds=0.3)
    assert ended == "silence"
    assert received.startswith(begins)
    assert received.count(b"data: ") == (2 if begins else 0)


@pytest.mark.parametrize(
    "kind, contains, end",
    [
        ("garbage", bytes(range(128, 140)), "closed"),
        ("bad_status", b"HTTP/1.1 two-hundred OK", "closed"),
        ("two_lengths", b"content-length: 2\r\ncontent-length: 4\r\n", "closed"),
        ("short_body", b'content-length: 99\r\n\r\n{"choices"', "closed"),
        ("half_head", b"HTTP/1.1 200 OK\r\ncontent-type: a", "silence"),
    ],
)
def test_what_is_no_http_comes_as_it_is(server: MockServer, kind: str, contains: bytes, end: str) -> None:
    received, ended = struck(server, kind, stream=False, seconds=0.5 if end == "silence" else 5)
    assert ended == end
    assert contains in received


def test_a_bad_chunk_follows_good_ones(server: MockServer) -> None:
    received, ended = struck(server, '{ kind = "bad_chunk", after_event = 2 }', stream=True)
    assert ended == "closed"
    assert received.count(b"data: ") == 2
    assert received.endswith(b"XYZ\r\n")


def test_other_requests_are_answered_while_one_hangs_and_after_one_was_reset(server: MockServer) -> None:
    with connected(server) as hanging:
        hanging.sendall(post("/cerebras/v1/completions", BODY, "x-mockserver-fault: hang"))
        struck(server, "reset", stream=True)
        received, ended = struck(server, '{ kind = "close", after_event = 4 }', stream=True)
        assert (received.count(b"data: "), ended) == (4, "closed")


@pytest.fixture
def hanging_server() -> Iterator[MockServer]:
    running = MockServer(Settings(port=0, latency="off"))
    running.__enter__()
    yield running
    running.stop()


def test_a_server_with_a_hundred_hanging_streams_stops_in_time(hanging_server: MockServer) -> None:
    clients = [socket.create_connection(("127.0.0.1", int(hanging_server.url.rpartition(":")[2]))) for _ in range(100)]
    for client in clients:
        client.sendall(post("/cerebras/v1/completions", BODY | {"stream": True}, "x-mockserver-fault: hang"))
    began = time.monotonic()
    hanging_server.stop()
    # A deadline, not a measurement: it would otherwise wait for ever.
    assert time.monotonic() - began < 5
    for client in clients:
        client.close()


def test_without_a_socket_a_transport_fault_is_refused_aloud() -> None:
    app = create_app(Settings(latency="off"))
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": json.dumps(BODY).encode(), "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"authorization", b"Bearer k"), (b"x-mockserver-fault", b"reset")]
    path = "/cerebras/v1/completions"
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": headers}
    asyncio.run(app(scope, receive, send))
    assert sent[0]["status"] == 501
    assert "reset: needs a socket" in json.loads(sent[1]["body"])["error"]["message"]


def test_a_plain_answer_that_stalls_within_states_its_whole_length(server: MockServer) -> None:
    fault = '{ kind = "stall", after_bytes = 10, seconds = 0.05 }'
    whole = exchange(server.url, "POST", "/cerebras/v1/completions", BODY)
    stalled = exchange(server.url, "POST", "/cerebras/v1/completions", BODY, {"x-mockserver-fault": fault})
    assert json.loads(stalled.body)["choices"] == json.loads(whole.body)["choices"]
    assert len(stalled.body) == len(whole.body)


def test_split_and_encoded_events_do_not_break_the_server(server: MockServer) -> None:
    body = BODY | {"prompt": "Расскажи о море", "stream": True}
    fault = '[{ kind = "split", pieces = 7 }, { kind = "encoding", name = "utf-16-le" }]'
    answer = exchange(server.url, "POST", "/cerebras/v1/completions", body, {"x-mockserver-fault": fault})
    assert answer.body.decode("utf-16-le").endswith("data: [DONE]\n\n")

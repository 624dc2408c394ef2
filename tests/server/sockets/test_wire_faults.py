"""Faults below HTTP, on a raw socket: what comes through, and how the connection ends.

Each is tried on both event loops, on plain sockets and under TLS, where what counts is the end of the TCP connection.
"""

import asyncio
import gc
import json
import ssl
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any

import pytest

from mockserver import MockServer
from mockserver.faults.parse_faults import read_faults
from mockserver.server.app import create_app
from mockserver.server.listener import Listener, bind
from mockserver.state.settings import ConfigError, Settings
from tests.support.certificates import write_certificate
from tests.support.http import exchange
from tests.support.sockets import BODY, LISTENERS, Line, quiet_settings, request_with_fault
from tests.support.waiting import until as wait_until


@pytest.fixture(
    scope="module", params=LISTENERS, ids=[f"{loop}-{'tls' if secure else 'plain'}" for loop, secure in LISTENERS]
)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MockServer]:
    """A quiet server on each loop, plain and under TLS."""
    with MockServer(quiet_settings(request, tmp_path_factory), request.param[0]) as running:
        yield running


def faulted(
    server: MockServer, fault: str, *, stream: bool, silence: float | None = None, **fields: Any
) -> tuple[bytes, str]:
    """All that comes before the connection ends, or is silent for so many seconds, and how it ends."""
    with Line(server) as line:
        line.send(request_with_fault(fault, stream=stream, **fields))
        return line.read(silence=silence)


@pytest.mark.parametrize("kind, end", [("reset", "reset"), ("close", "closed")])
@pytest.mark.parametrize("stream", [False, True])
def test_a_connection_ends_before_any_head(server: MockServer, kind: str, end: str, stream: bool) -> None:
    assert faulted(server, kind, stream=stream) == (b"", end)


@pytest.mark.parametrize("kind, end", [("reset", "reset"), ("close", "closed")])
@pytest.mark.parametrize("events", [0, 1, 3, 7])
def test_a_stream_ends_after_exactly_so_many_events(server: MockServer, kind: str, end: str, events: int) -> None:
    received, ended = faulted(server, f'{{ kind = "{kind}", after_event = {events} }}', stream=True)
    assert ended == end
    assert received.startswith(b"HTTP/1.1 200 OK\r\n")
    assert received.count(b"data: ") == events
    assert b"0\r\n\r\n" not in received


def test_a_plain_answer_ends_after_so_many_bytes_of_the_length_it_promised(server: MockServer) -> None:
    received, ended = faulted(server, '{ kind = "reset", after_bytes = 20 }', stream=False)
    head, _, body = received.partition(b"\r\n\r\n")
    assert (ended, len(body)) == ("reset", 20)
    length = next(int(line.split(b": ")[1]) for line in head.split(b"\r\n") if line.startswith(b"content-length"))
    assert length > 200


def test_a_hanging_answer_stays_open_and_says_nothing_more(server: MockServer) -> None:
    received, ended = faulted(server, '{ kind = "hang", after_event = 2 }', stream=True, silence=0.2)
    assert (received.startswith(b"HTTP/1.1 200"), received.count(b"data: "), ended) == (True, 2, "silence")


def test_an_answer_that_hangs_from_the_start_says_nothing(server: MockServer) -> None:
    with Line(server, 0.2) as line:
        line.send(request_with_fault("hang", stream=True))
        assert line.read() == (b"", "silence")


@pytest.mark.parametrize(
    "kind, contains, end",
    [
        ("garbage", bytes(range(128, 140)), "closed"),
        ("bad_status", b"HTTP/1.1 two-hundred OK", "closed"),
        ("two_lengths", b"content-length: 2\r\ncontent-length: 4\r\n", "closed"),
        ("short_body", b'content-length: 99\r\n\r\n{"choices"', "closed"),
        ("half_head", b"HTTP/1.1 200 OK\r\ncontent-type: a", "silence"),
        ('{ kind = "half_head", then = "reset" }', b"HTTP/1.1 200 OK\r\ncontent-type: a", "reset"),
        ('{ kind = "half_head", then = "close" }', b"HTTP/1.1 200 OK\r\ncontent-type: a", "closed"),
    ],
)
def test_what_is_no_http_comes_as_it_is(server: MockServer, kind: str, contains: bytes, end: str) -> None:
    received, ended = faulted(server, kind, stream=False, silence=0.2 if end == "silence" else None)
    assert ended == end
    assert contains in received


def test_a_bad_chunk_follows_good_ones(server: MockServer) -> None:
    received, ended = faulted(server, '{ kind = "bad_chunk", after_event = 2 }', stream=True)
    assert ended == "closed"
    assert received.count(b"data: ") == 2
    assert received.endswith(b"XYZ\r\n")


def test_other_requests_are_answered_while_one_hangs_and_after_one_was_reset(server: MockServer) -> None:
    with Line(server) as hanging:
        hanging.send(request_with_fault("hang", stream=False))
        faulted(server, "reset", stream=True)
        received, ended = faulted(server, '{ kind = "close", after_event = 4 }', stream=True)
        assert (received.count(b"data: "), ended) == (4, "closed")


def test_a_chunk_is_cut_within(server: MockServer) -> None:
    with Line(server) as line:
        line.send(request_with_fault("bom", stream=True))
        whole, _ = line.read(until=b"0\r\n\r\n")
    received, ended = faulted(server, '{ kind = "half_chunk", after_event = 2 }', stream=True)
    assert ended == "closed"
    head, _, rest = received.rpartition(b"\r\n")
    size = int(head.rpartition(b"\r\n")[2], 16)
    third = whole.split(b"data: ")[3]
    assert rest == (b"data: " + third)[: size // 2]
    assert received.count(b"data: ") == 3


def test_a_dead_server_is_silent_and_resets_whoever_sends_on(server: MockServer) -> None:
    with Line(server) as line:
        line.send(request_with_fault('{ kind = "half_open", after_event = 2 }', stream=True))
        received, ended = line.read(silence=0.2)
        assert (received.count(b"data: "), ended) == (2, "silence")
        line.send(request_with_fault("crlf", stream=True))
        assert line.read() == (b"", "reset")


def test_a_connection_can_die_behind_a_whole_answer(server: MockServer) -> None:
    with Line(server) as line:
        line.send(request_with_fault('{ kind = "half_open", after_event = 1 }', stream=False))
        received, ended = line.read(silence=0.2)
        assert json.loads(received.partition(b"\r\n\r\n")[2])["choices"]
        line.send(request_with_fault("html", stream=False))
        assert (ended, line.read()) == ("silence", (b"", "reset"))


def timed(server: MockServer, fault: str, latency: str, *, stream: bool) -> tuple[bytes, str, float]:
    """All that comes before the answer or the connection ends, how it ends, and after how many seconds."""
    with Line(server) as line:
        sent = request_with_fault(fault, stream=stream).replace(
            b"\r\n", f"\r\nx-mockserver-latency: {latency}\r\n".encode(), 1
        )
        began = time.monotonic()
        line.send(sent)
        received, ended = line.read(until=b"0\r\n\r\n")
        return received, ended, time.monotonic() - began


@pytest.mark.parametrize("kind", ["hang", "half_open"])
def test_a_client_that_leaves_a_dead_connection_is_missed_whatever_it_has_sent_ahead(
    server: MockServer, kind: str
) -> None:
    server.reset()
    with Line(server) as line:
        sent = request_with_fault(kind, stream=True)
        line.send(sent + sent)
        assert line.read(silence=0.1) == (b"", "silence")
        [exchange] = server.exchanges
        assert exchange.closed_by is None
    wait_until(lambda: server.exchanges[0].closed_by == "client")
    wait_until(lambda: not server.state.connections)


def all_at_once(check: Callable[..., None], *cases: tuple[Any, ...]) -> None:
    """Check all cases at the same time, since each of them waits."""
    with ThreadPoolExecutor(len(cases)) as pool:
        for checked in [pool.submit(check, *case) for case in cases]:
            checked.result()


def test_a_connection_ends_at_the_instant_that_is_said(server: MockServer) -> None:
    def check(end: tuple[str, str], latency: tuple[str, int], stream: bool) -> None:
        (kind, wanted), (profile, events) = end, latency
        received, ended, seconds = timed(server, f'{{ kind = "{kind}", at = 0.15 }}', profile, stream=stream)
        assert (received.count(b"data: "), ended) == (events * stream, wanted), kind
        assert 0.15 <= seconds < 10
        # Whatever would not have been sent by then is not: neither is the head.
        assert received.startswith(b"HTTP/1.1 200") is bool(events and stream)

    ends = (("reset", "reset"), ("close", "closed"))
    all_at_once(check, *product(ends, (("ttft=20s", 0), ("ttft=1ms, itl=20s", 2)), (False, True)))


def test_a_stream_ends_at_the_instant_that_is_said(server: MockServer) -> None:
    def check(kind: str, last: bytes, end: str) -> None:
        received, ended, seconds = timed(server, f'{{ kind = "{kind}", at = 0.15 }}', "ttft=1ms, itl=20s", stream=True)
        assert (received.startswith(b"HTTP/1.1 200"), ended) == (True, end), kind
        assert received.endswith(last) or kind == "half_chunk"
        assert 0.15 <= seconds < 10

    all_at_once(
        check,
        ("cut", b"0\r\n\r\n", "open"),
        ("error_event", b"0\r\n\r\n", "open"),
        ("half_event", b"0\r\n\r\n", "open"),
        ("bad_chunk", b"XYZ\r\n", "closed"),
        ("half_chunk", b'"', "closed"),
    )


@pytest.mark.parametrize("kind", ["reset", "close", "half_open", "hang"])
def test_a_connection_is_left_alone_when_its_answer_is_over_before_the_instant(server: MockServer, kind: str) -> None:
    with Line(server) as line:
        for _ in range(2):
            line.send(request_with_fault(f'{{ kind = "{kind}", at = 600 }}', stream=True))
            received, ended = line.read(until=b"0\r\n\r\n")
            assert (b"data: [DONE]" in received, ended) == (True, "open")
            server.clock.advance(601)


def test_a_clock_that_is_put_forward_brings_the_instant_of_a_fault(server: MockServer) -> None:
    with Line(server) as line:
        sent = request_with_fault('{ kind = "close", at = 600 }', stream=True)
        line.send(sent.replace(b"\r\n", b"\r\nx-mockserver-latency: ttft=1ms, itl=900s\r\n", 1))
        received, ended = line.read(until=b"\n\n\r\n")
        server.clock.advance(601)
        assert (received.count(b"data: "), ended, line.read()) == (2, "open", (b"", "closed"))


@pytest.mark.parametrize("kind, end", [("reset", "reset"), ("close", "closed")])
def test_nothing_that_comes_before_the_end_is_lost(server: MockServer, kind: str, end: str) -> None:
    fields = {"max_tokens": 2000, "min_tokens": 2000}
    received, ended = faulted(server, f'{{ kind = "{kind}", after_event = 1500 }}', stream=True, **fields)
    assert (received.count(b"data: "), ended) == (1500, end)


@pytest.mark.parametrize("fault", ['{ kind = "drip", bytes_per_second = 20000 }', "bandwidth", "split", "burst"])
def test_a_slow_line_brings_the_same_answer(server: MockServer, fault: str) -> None:
    fault = fault.replace("bandwidth", '{ kind = "bandwidth", bytes_per_second = 20000, piece = 40 }')
    body = BODY | {"stream": "drip" not in fault}
    whole = exchange(server.url, "POST", "/cerebras/v1/completions", body)
    slow = exchange(server.url, "POST", "/cerebras/v1/completions", body, {"x-mockserver-fault": fault})
    assert len(slow.body) == len(whole.body)
    assert slow.body.count(b"tides") == whole.body.count(b"tides")


def test_a_client_that_closes_before_the_fault_leaves_no_complaint_in_the_log(
    server: MockServer, caplog: pytest.LogCaptureFixture
) -> None:
    kinds = ("reset", "close", "hang", "half_open", "bad_chunk")
    for kind, fields in product(kinds, ({}, {"max_tokens": 2000, "min_tokens": 2000})):
        with Line(server) as line:
            line.send(request_with_fault(f'{{ kind = "{kind}", after_bytes = 100 }}', stream=True, **fields))
            line.read(until=b"\r\n")
    wait_until(lambda: not server.state.connections and not server.state.tasks)
    # A task whose exception nobody has asked for complains when it goes.
    gc.collect()
    assert [record.getMessage() for record in caplog.records] == []


@pytest.fixture(params=LISTENERS, ids=[f"{loop}-{'tls' if secure else 'plain'}" for loop, secure in LISTENERS])
def hanging_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MockServer]:
    running = MockServer(quiet_settings(request, tmp_path_factory), request.param[0])
    running.__enter__()
    yield running
    running.stop()


def test_a_server_with_a_hundred_hanging_streams_stops_in_time(hanging_server: MockServer) -> None:
    lines = [Line(hanging_server) for _ in range(100)]
    for line in lines:
        line.send(request_with_fault("hang", stream=True))
    began = time.monotonic()
    hanging_server.stop()
    # A deadline, not a measurement: it would otherwise wait for ever.
    assert time.monotonic() - began < 5
    for line in lines:
        line.__exit__()


def outcome(server: MockServer, patience: float = 0.1) -> str:
    """What becomes of a request: an answer, "refused", or another way in which the connection ends."""
    try:
        with Line(server, patience) as line:
            line.send(request_with_fault("html", stream=False))
            received, ended = line.read(until=b"</html>\n")
            return "answered" if received.startswith(b"HTTP/1.1 200") else ended
    except ConnectionRefusedError:
        return "refused"
    except ConnectionResetError:
        return "reset"
    except (TimeoutError, ssl.SSLError):
        return "silence"


def until(server: MockServer, wanted: str, patience: float = 0.1) -> set[str]:
    """Ask until a request has the outcome that is wanted; the answer is what the others had."""
    seen: set[str] = set()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        said = outcome(server, patience)
        if said == wanted:
            return seen
        seen.add(said)
        time.sleep(0.01)
    raise AssertionError(f"no request was {wanted}: {seen}")


@pytest.fixture(params=LISTENERS, ids=[f"{loop}-{'tls' if secure else 'plain'}" for loop, secure in LISTENERS])
def failing(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MockServer]:
    """A server whose listener takes nobody from the start."""
    faults = read_faults('{ kind = "accept_nothing", for = 600 }')
    with MockServer(quiet_settings(request, tmp_path_factory, fault=faults), request.param[0]) as running:
        yield running


def listener_of(server: MockServer) -> Listener:
    """The listener of a server, which it has once it has started."""
    config = server._thread._server.config
    wait_until(lambda: config.listener is not None)
    assert config.listener is not None
    return config.listener


def test_a_listener_takes_nobody_then_refuses_then_serves_again(failing: MockServer) -> None:
    listener = listener_of(failing)
    assert until(failing, "silence") == set()
    failing._thread.call(lambda: listener.fail("refuse", 0.0, 600.0))
    before = until(failing, "refused")
    assert before <= {"silence", "reset", "closed"}
    failing._thread.wait(listener.recover(), 10)
    # A busy machine may take a while to answer.
    after = until(failing, "answered", 20.0)
    assert after <= {"refused"}
    assert outcome(failing, 20.0) == "answered"


def test_who_waits_at_a_listener_that_takes_nobody_is_served_when_it_is_over() -> None:
    faults = read_faults('{ kind = "accept_nothing", for = 0.4 }')
    with MockServer(Settings(port=0, latency="off", log_level="warning", fault=faults)) as server, Line(server) as line:
        line.send(request_with_fault("html", stream=False))
        assert line.read(until=b"</html>\n")[0].startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("kind, outward", [("refuse", "refused"), ("accept_nothing", "silence")])
def test_a_server_stops_while_its_listener_fails(kind: str, outward: str) -> None:
    faults = read_faults(f'{{ kind = "{kind}", for = 600 }}')
    with MockServer(Settings(port=0, latency="off", log_level="warning", fault=faults)) as server:
        until(server, outward)
    assert outcome(server) == "refused"


def test_a_certificate_that_cannot_be_used_is_told_before_anything_starts(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    certificate, key = write_certificate(tmp_path_factory.mktemp("tls"))
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({"tls_key": str(key)}, "tls_key: a key needs its certificate"),
        ({"tls_cert": "nowhere.pem"}, "tls_cert: file nowhere.pem does not exist"),
        (
            {"tls_cert": str(certificate)},
            "alone must contain .* its key as PEM; a key in a file of its own is named by --tls-key: ",
        ),
        ({"tls_cert": str(key), "tls_key": str(certificate)}, "must contain a certificate and its key"),
    )
    for wrong, said in cases:
        with pytest.raises(ConfigError, match=said):
            bind(Settings(port=0, **wrong))


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
    fault = '[{ kind = "split", pieces = 7 }, { kind = "encoding", charset = "utf-16-le" }]'
    answer = exchange(server.url, "POST", "/cerebras/v1/completions", body, {"x-mockserver-fault": fault})
    assert answer.body.decode("utf-16-le").endswith("data: [DONE]\n\n")

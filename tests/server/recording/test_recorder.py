"""The recorder on real sockets, in front of servers in place of the vendors: what it passes on and what it records."""

import asyncio
import gzip
import json
import os
import socket
import sys
import zlib
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from errno import ENOSPC
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx
import pytest

from mockserver import MockServer, raw
from mockserver.cli import main
from mockserver.core.failures import SimulatorError
from mockserver.core.http import Headers
from mockserver.server.recording.exchanges import RecordedExchange
from mockserver.server.recording.recorder import Recorder
from mockserver.server.recording.recording_file import RecordingFile
from mockserver.server.recording.upstreams import Targets, read_upstreams
from mockserver.state.settings import ConfigError, RouteSettings, Settings
from tests.support.certificates import write_certificate
from tests.support.http import Transcript, exchange
from tests.support.questions import EMBEDDERS, QUESTIONS
from tests.support.recording import DIALECTS, led_to, lines_of, recorder
from tests.support.sockets import Line, post

ASKED: list[tuple[str, dict[str, Any]]] = [
    *((path, body | more) for path, body in QUESTIONS.values() for more in ({}, {"stream": True})),
    ("/yandex/v1/responses", {"model": "gpt://f/yandexgpt/latest", "input": "Write a line on tides", "stream": True}),
    ("/ovms/v3/embeddings", {"model": EMBEDDERS["ovms"], "input": ["The tides", "The moon"]}),
    ("/cerebras/v1/completions", {"model": "llama3.1-8b", "prompt": "x", "max_tokens": "many"}),
]


def test_every_answer_comes_through_and_is_replayed_byte_for_byte(
    vendor: MockServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tape = tmp_path / "tape.jsonl"
    direct = [exchange(vendor.url, "POST", *asked) for asked in ASKED]
    with recorder(tape, led_to(vendor)) as url:
        relayed = [exchange(url, "POST", *asked) for asked in ASKED]
    for before, after in zip(direct, relayed, strict=True):
        assert (after.status, after.body) == (before.status, before.body)
        assert steady(after) == steady(before)
    stubs = tmp_path / "stubs"
    assert main(["stubs", str(tape), "--pace", "--out", str(stubs)]) == 0
    assert capsys.readouterr().err == ""
    with MockServer(seed=8, stubs=str(stubs), unmatched="refuse") as replaying:
        again = [exchange(replaying.url, "POST", *asked) for asked in ASKED]
    assert [(each.status, each.body) for each in again] == [(each.status, each.body) for each in direct]
    assert main(["drift", str(tape)]) == 0, capsys.readouterr().out


def steady(answer: Transcript) -> list[tuple[str, str]]:
    """The headers of an answer that neither its connection nor the state of limits decides."""
    return sorted(each for each in answer.headers if each[0] != "connection" and "ratelimit" not in each[0])


# --- what passes --------------------------------------------------------------------------------------------------

BODY = {"model": "llama3.1-8b", "prompt": "Tell me about sea otters", "max_tokens": 12}
STREAM = {**BODY, "stream": True}
COMPLETIONS = "/cerebras/v1/completions"


def test_the_vendor_gets_what_the_client_sends_but_what_is_of_its_connection_and_ours(
    vendor: MockServer, tmp_path: Path
) -> None:
    sent = {
        "x-custom": "a, b",
        "cookie": "a=1",
        "connection": "x-hop, keep-alive",
        "x-hop": "1",
        "te": "trailers",
        "accept-encoding": "gzip, br",
        "x-mockserver-seed": "7",
    }
    with recorder(tmp_path / "tape.jsonl", led_to(vendor)) as url:
        exchange(url, "POST", f"/ns/team{COMPLETIONS}?a=%20b&c", BODY, sent)
    assert (vendor.last.method, vendor.last.path, vendor.last.query) == ("POST", COMPLETIONS, "a=%20b&c")
    assert vendor.last.body == BODY
    assert dict(vendor.last.headers) == {
        "host": vendor.url.removeprefix("http://"),
        "authorization": "Bearer ****",
        "content-type": "application/json",
        "x-custom": "a, b",
        "cookie": "****",
        "accept-encoding": "identity",
        "content-length": str(len(json.dumps(BODY))),
    }
    [line] = lines_of(tmp_path / "tape.jsonl")
    assert (line["namespace"], line["path"]) == ("team", COMPLETIONS)


@pytest.mark.parametrize("method", ["GET", "PUT", "OPTIONS", "DELETE"])
def test_a_path_that_only_the_vendor_knows_is_forwarded_as_it_is_written(
    method: str, vendor: MockServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tape = tmp_path / "tape.jsonl"
    with recorder(tape, led_to(vendor)) as url:
        answer = exchange(url, method, "/cerebras/v9/fil%2Fes/%C3%A9?x=1")
    assert (vendor.last.method, vendor.last.path) == (method, "/cerebras/v9/fil/es/é")
    assert answer.status == vendor.last.status == 404
    assert lines_of(tape)[0]["upstream"] == f"{vendor.url}/cerebras/v9/fil%2Fes/%C3%A9?x=1"
    if method == "OPTIONS":
        assert main(["stubs", str(tape)]) == 1
        assert f"no dialect serves {method} /cerebras/v9/fil/es/é" in capsys.readouterr().err
        return
    assert main(["stubs", str(tape), "--out", str(tmp_path / "stubs")]) == 0
    with MockServer(stubs=str(tmp_path / "stubs")) as replaying:
        again = exchange(replaying.url, method, "/cerebras/v9/fil%2Fes/%C3%A9?x=1")
        assert (again.status, again.body) == (answer.status, answer.body)
        assert [replaying.last.rule, exchange(replaying.url, method, "/cerebras/v9/x").status] == ["tape-1", 404]


def test_a_query_that_is_half_encoded_reaches_the_vendor_and_a_url_that_is_too_long_does_not(
    vendor: MockServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with recorder(tmp_path / "tape.jsonl", led_to(vendor) | {"ovms": f"{vendor.url}/{'x' * 100}"}) as url:
        with Line(url) as client:
            client.send(b"GET /cerebras/v1/models?q='%C3%A9'|[x] HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert client.read(until=b"}")[0].startswith(b"HTTP/1.1 401 ")
        answer = exchange(url, "GET", f"/ovms/v3/models/{'x' * 65_500}")
    [asked] = vendor.exchanges
    assert unquote(asked.query) == "q='é'|[x]"
    assert (answer.status, json.loads(answer.body)["error"]["message"]) == (400, "URL component 'path' too long.")
    assert len(caplog.text) < 400


def test_secrets_reach_the_vendor_and_the_client_but_not_the_file(vendor: MockServer, tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    keys = {
        "authorization": "Bearer secret-of-mine-1234",
        "x-api-key": "secret-other-5678",
        "cookie": "secret=90123456",
    }
    vendor.on().reply(raw("{}", headers={"set-cookie": "secret-theirs=4711", "x-request-id": "r-1"}))
    with recorder(tape, led_to(vendor)) as url:
        answer = exchange(url, "POST", f"{COMPLETIONS}?api_key=secret-in-query", BODY, keys)
        exchange(url, "POST", f"{COMPLETIONS}?api_key=secret-in-query", BODY, keys)
    assert dict(answer.headers)["set-cookie"] == "secret-theirs=4711"
    vendor.verify.calls(2, key="secret-of-mine-1234")
    text = tape.read_text()
    assert "secret" not in text
    line = lines_of(tape)[0]
    assert line["request"]["headers"]["authorization"] == "Bearer ****1234"
    assert line["request"]["query"] == "api_key=****uery"
    assert line["answer"]["headers"]["set-cookie"] == "****4711"
    assert line["upstream"] == f"{vendor.url}{COMPLETIONS}?api_key=****uery"


@pytest.mark.skipif(sys.platform == "win32", reason="has other permissions")
@pytest.mark.parametrize("exists", [True, False])
def test_only_its_owner_may_read_the_file(vendor: MockServer, tmp_path: Path, exists: bool) -> None:
    tape = tmp_path / "tape.jsonl"
    before = os.umask(0)
    try:
        if exists:
            tape.touch(0o666)
        with recorder(tape, led_to(vendor)) as url:
            exchange(url, "POST", COMPLETIONS, BODY)
    finally:
        os.umask(before)
    assert tape.stat().st_mode & 0o777 == 0o600


def test_a_torn_last_line_is_cut_off_and_one_before_it_is_left_out_by_readers(
    vendor: MockServer, tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    tape = tmp_path / "tape.jsonl"
    with recorder(tape, led_to(vendor)) as url:
        exchange(url, "POST", COMPLETIONS, BODY)
    whole = tape.read_bytes()
    tape.write_bytes(whole + whole[:200])
    with recorder(tape, led_to(vendor)) as url:
        exchange(url, "POST", COMPLETIONS, {**BODY, "prompt": "else"})
    assert f"{tape}, line 2: is no whole exchange, and was cut off" in caplog.text
    first, second = tape.read_bytes().splitlines(keepends=True)
    assert (first, json.loads(second)["number"]) == (whole, 2)
    tape.write_bytes(whole + whole[:100] + b"\n" + second)
    assert main(["stubs", str(tape)]) == 0
    told = capsys.readouterr()
    assert told.out.count("[[stub]]") == 2
    assert f"{tape}, line 2: is no whole exchange" in told.err
    assert main(["verdict", str(tape)]) == 0
    assert f"not judged: client: {tape}, line 2: is not an exchange" in capsys.readouterr().out
    with pytest.raises(ConfigError, match="line 2: is no exchange of a journal; choose another name"):
        RecordingFile(tape)


def test_bodies_of_any_bytes_and_of_a_megabyte_come_through_and_are_kept(vendor: MockServer, tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    odd = b"{\xff\x00\n\n" + bytes(range(256))
    long = b"[" + b"12345678," * 130_000 + b"1]"
    vendor.on(body={"$.prompt": "odd"}).reply(raw(odd, content_type="audio/wav"))
    vendor.on(model="long").reply(raw(long, content_type="application/json"))
    asked = [{**BODY, "prompt": "odd"}, {**BODY, "model": "long", "prompt": "x" * 300_000}]
    with recorder(tape, led_to(vendor)) as url:
        answers = [exchange(url, "POST", COMPLETIONS, body) for body in asked]
        packed = exchange(
            url, "POST", COMPLETIONS, gzip.compress(json.dumps(BODY).encode()), {"content-encoding": "gzip"}
        )
    assert [answer.body for answer in answers] == [odd, long]
    assert packed.status == 200
    assert main(["stubs", str(tape), "--out", str(tmp_path / "stubs")]) == 0
    with MockServer(stubs=str(tmp_path / "stubs"), unmatched="refuse") as replaying:
        again = [exchange(replaying.url, "POST", COMPLETIONS, body) for body in (*asked, BODY)]
    assert [answer.body for answer in again] == [odd, long, packed.body]
    assert dict(again[0].headers)["content-type"] == "audio/wav"


def test_an_answer_that_is_packed_all_the_same_is_unpacked_for_client_and_file(
    vendor: MockServer, tmp_path: Path
) -> None:
    tape, events = tmp_path / "tape.jsonl", b"data: 1\n\ndata: 2\n\n"
    packed = {"content-encoding": "gzip", "vary": "accept-encoding"}
    vendor.on(stream=True).reply(raw(gzip.compress(events), content_type="text/event-stream", headers=packed))
    vendor.on(stream=False).reply(raw(b"\x1b\x00", headers={"content-encoding": "br"}))
    with recorder(tape, led_to(vendor)) as url:
        answers = [exchange(url, "POST", COMPLETIONS, body) for body in (STREAM, BODY)]
    assert [answer.body for answer in answers] == [events, b"\x1b\x00"]
    assert [dict(answer.headers).get("content-encoding") for answer in answers] == [None, "br"]
    assert main(["stubs", str(tape), "--out", str(tmp_path / "stubs")]) == 0
    [stub] = (tmp_path / "stubs" / "_tape").iterdir()
    assert stub.read_bytes() == events


def test_an_answer_without_a_body_has_none(vendor: MockServer, tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    vendor.on(stream=True).status(204)
    with recorder(tape, led_to(vendor)) as url:
        answers = [exchange(url, "POST", COMPLETIONS, STREAM), exchange(url, "HEAD", "/cerebras/v1/models")]
        assert exchange(url, "GET", "/_mockserver/health").status == 200
    direct = exchange(vendor.url, "HEAD", "/cerebras/v1/models")
    assert [(answer.status, answer.body) for answer in answers] == [(204, b""), (200, b"")]
    assert dict(answers[1].headers)["content-length"] == dict(direct.headers)["content-length"] != "0"
    assert [line["status"] for line in lines_of(tape)] == [204, 200]


def test_streams_of_a_thousand_events_side_by_side_keep_every_event_apart(vendor: MockServer, tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    bodies = [{**STREAM, "prompt": f"Tell me story {n}", "max_tokens": 1000, "min_tokens": 1000} for n in range(8)]
    direct = [exchange(vendor.url, "POST", COMPLETIONS, body).body for body in bodies]
    with recorder(tape, led_to(vendor)) as url, ThreadPoolExecutor(8) as threads:
        relayed = list(threads.map(lambda body: exchange(url, "POST", COMPLETIONS, body).body, bodies))
    assert relayed == direct
    lines = {line["request"]["body"]["prompt"]: line for line in lines_of(tape)}
    assert [line["number"] for line in lines_of(tape)] == [*range(1, 9)]
    for body, answer in zip(bodies, direct, strict=True):
        events = lines[body["prompt"]]["answer"]["events"]
        assert "".join(event["data"] for event in events).encode() == answer
        assert len(events) == answer.count(b"\n\n") > 1000


# --- what goes wrong ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault, seen, why",
    [
        ("reset", "reset", "its answer broke off (reset)"),
        ("close", "closed", "its answer broke off (close)"),
        ("hang", "closed", "its answer broke off (hang)"),
    ],
)
def test_an_answer_that_breaks_off_breaks_off_here_too_and_is_recorded_as_such(
    fault: str,
    seen: str,
    why: str,
    vendor: MockServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    tape = tmp_path / "tape.jsonl"
    vendor.next().fault(fault, after_event=3)
    with recorder(tape, led_to(vendor), silence=0.5) as url, Line(url, seconds=20) as client:
        client.send(post(COMPLETIONS, STREAM))
        answer, end = client.read()
    whole = exchange(vendor.url, "POST", COMPLETIONS, STREAM).body
    part = b"".join(_pieces(answer))
    assert end == seen
    assert part.count(b"\n\n") == 3
    assert whole.startswith(part)
    [line] = lines_of(tape)
    assert line["answer"]["finished"] is False
    assert caplog.text == ""
    assert "".join(event["data"] for event in line["answer"]["events"]).encode() == part
    for command in ("stubs", "drift"):
        assert main([command, str(tape)]) == 1
        assert why in capsys.readouterr().err


def _pieces(answer: bytes) -> Iterator[bytes]:
    """The pieces of a chunked body that may be cut short."""
    rest = answer.partition(b"\r\n\r\n")[2]
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        yield rest[: int(size, 16)]
        rest = rest[int(size, 16) + 2 :]


def test_a_client_that_leaves_takes_the_request_to_the_vendor_with_it(
    vendor: MockServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tape = tmp_path / "tape.jsonl"
    vendor.on().latency("ttft=10ms, itl=20ms").times(2)
    with recorder(tape, led_to(vendor)) as url:
        with Line(url) as client:
            client.send(post(COMPLETIONS, {**STREAM, "max_tokens": 2000, "min_tokens": 2000}))
            client.read(until=b"\n\n\r\n")
        with Line(url) as client:
            client.send(post(COMPLETIONS, {**BODY, "max_tokens": 2000, "min_tokens": 2000}))
            vendor.wait_for_requests(2)
        vendor.wait_idle()
    assert [each.closed_by for each in vendor.exchanges] == ["client", "client"]
    # The second client did not wait for any answer.
    [line] = lines_of(tape)
    assert line["outcome"]["closed_by"] == "client"
    assert 0 < line["outcome"]["events_sent"] < 2000
    assert main(["stubs", str(tape)]) == 1
    assert "its answer was not complete: the client left" in capsys.readouterr().err


def test_a_recorder_that_stops_breaks_off_its_answers_and_records_them_as_such(
    vendor: MockServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tape = tmp_path / "tape.jsonl"
    vendor.on().latency("ttft=10ms, itl=20ms").once()
    with recorder(tape, led_to(vendor)) as url:
        client = Line(url)
        client.send(post(COMPLETIONS, {**STREAM, "max_tokens": 2000, "min_tokens": 2000}))
        client.read(until=b"\n\n\r\n")
    with client:
        assert client.read()[1] in ("closed", "reset")
    assert [line["answer"]["ending"] for line in lines_of(tape)] == ["close"]
    assert caplog.text == ""


def test_under_tls_an_answer_that_breaks_off_comes_to_its_last_event(
    vendor: MockServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    certificate, key = map(str, write_certificate(tmp_path))
    vendor.next().fault("reset", after_event=3)
    with (
        recorder(tmp_path / "tape.jsonl", led_to(vendor), tls_cert=certificate, tls_key=key) as url,
        Line(url) as client,
    ):
        client.send(post(COMPLETIONS, STREAM))
        answer, end = client.read()
    assert (b"".join(_pieces(answer)).count(b"\n\n"), end, caplog.text) == (3, "reset", "")


@pytest.fixture
def untrusted(tmp_path: Path) -> Iterator[MockServer]:
    """A server under TLS whose certificate nobody trusts."""
    certificate, key = map(str, write_certificate(tmp_path))
    with MockServer(Settings(port=0, latency="off", tls_cert=certificate, tls_key=key)) as running:
        yield running


def test_a_vendor_that_does_not_answer_makes_a_502_that_says_why_and_is_not_recorded(
    vendor: MockServer, untrusted: MockServer, tmp_path: Path
) -> None:
    tape = tmp_path / "tape.jsonl"
    with socket.create_server(("127.0.0.1", 0)) as silent, socket.socket() as closed:
        # Bound, so that nobody else is given the port, but not listened at.
        closed.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{closed.getsockname()[1]}"
        quiet = f"http://127.0.0.1:{silent.getsockname()[1]}/base"
        upstreams = {
            "cerebras": nobody,
            "friendli": untrusted.url,
            "upstash": quiet,
            "yandex": "http://vendor.invalid:8080",
            "ovms": vendor.url.replace("http:", "https:"),
        }
        with recorder(tape, upstreams, silence=0.5) as url:
            answers = {name: exchange(url, "POST", QUESTIONS[name][0], QUESTIONS[name][1]) for name in QUESTIONS}
    told = {name: json.loads(answer.body)["error"] for name, answer in answers.items()}
    assert {answer.status for answer in answers.values()} == {502}
    assert told["cerebras"] == {
        "message": f"{nobody} did not answer: Connection refused. Nothing was recorded.",
        "type": "mockserver_bad_gateway",
    }
    assert told["friendli"]["message"].startswith(f"{untrusted.url} did not answer: TLS: self")
    assert told["upstash"]["message"] == f"{quiet} did not answer: silent for 0.5 s. Nothing was recorded."
    assert told["yandex"]["message"].startswith("http://vendor.invalid:8080 did not answer: its name is not found: ")
    plain = f"{vendor.url.replace('http:', 'https:')} did not answer: the server there speaks no TLS; use http://"
    assert told["ovms"]["message"].startswith(plain)
    assert lines_of(tape) == []


def test_a_vendor_without_a_host_of_its_own_needs_an_upstream(tmp_path: Path) -> None:
    with recorder(tmp_path / "tape.jsonl", {}) as url:
        answer = exchange(url, "POST", QUESTIONS["ovms"][0], QUESTIONS["ovms"][1])
    assert json.loads(answer.body)["error"] == {
        "message": "OpenVINO Model Server has no host of its own: say where yours is, as in "
        "--upstream ovms=http://HOST:PORT",
        "type": "mockserver_no_upstream",
    }


def test_a_vendor_is_trusted_by_the_authority_that_the_environment_names(
    untrusted: MockServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate.pem"))
    with recorder(tmp_path / "tape.jsonl", led_to(untrusted)) as url:
        assert exchange(url, "POST", COMPLETIONS, BODY).status == 200
    assert lines_of(tmp_path / "tape.jsonl")[0]["upstream"] == f"{untrusted.url}{COMPLETIONS}"


def test_a_body_beyond_the_limit_is_refused_and_goes_nowhere(vendor: MockServer, tmp_path: Path) -> None:
    with recorder(tmp_path / "tape.jsonl", led_to(vendor), max_body=100) as url:
        answer = exchange(url, "POST", COMPLETIONS, {**BODY, "prompt": "x" * 200})
    assert (answer.status, json.loads(answer.body)["error"]["type"]) == (413, "mockserver_body_too_large")
    assert vendor.exchanges == []


def test_a_path_of_nobody_is_answered_with_the_nearest_ones(vendor: MockServer, tmp_path: Path) -> None:
    with recorder(tmp_path / "tape.jsonl", led_to(vendor)) as url:
        answer = exchange(url, "POST", "/v1/completion", BODY)
        admin = exchange(url, "GET", "/_mockserver/journal")
    error = json.loads(answer.body)["error"]
    assert (answer.status, error["type"], error["nearest"][0]) == (404, "mockserver_no_route", "/v1/completions")
    assert (admin.status, "The recorder has no admin API" in admin.body.decode()) == (404, True)
    assert vendor.exchanges == []


@pytest.mark.parametrize("cors, opened", [("loopback", True), ("vendor", False)])
def test_a_page_may_read_what_is_recorded_as_it_may_read_the_simulator(
    cors: str, opened: bool, vendor: MockServer, tmp_path: Path
) -> None:
    page = {"origin": "http://localhost:3000"}
    asking = {**page, "access-control-request-method": "POST", "access-control-request-headers": "authorization"}
    with recorder(tmp_path / "tape.jsonl", led_to(vendor), cors=cors) as url:
        answers = [
            exchange(url, "OPTIONS", COMPLETIONS, None, asking),
            exchange(url, "POST", COMPLETIONS, BODY, page),
            exchange(url, "POST", "/nowhere", BODY, page),
        ]
    found = [dict(answer.headers).get("access-control-allow-origin") for answer in answers]
    assert found == [page["origin"] if opened else None] * 3
    assert len(vendor.exchanges) == (1 if opened else 2)
    assert "access-control" not in (tmp_path / "tape.jsonl").read_text().replace("access-control-request", "")


# --- times --------------------------------------------------------------------------------------------------------


class Vendor(httpx.AsyncBaseTransport):
    """A vendor in this process: each piece of its answer comes so many seconds after the one before it."""

    def __init__(self, pieces: list[tuple[float, bytes]], **headers: str) -> None:
        self.now = 100.0
        self._pieces, self._headers = pieces, headers

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The head of the answer, an eighth of a second after the request."""
        self.now += 0.125
        return httpx.Response(200, headers={"content-type": "text/event-stream", **self._headers}, content=self._body())

    async def _body(self) -> AsyncIterator[bytes]:
        for seconds, piece in self._pieces:
            self.now += seconds
            yield piece


def taped(vendor: Vendor, path: Path, body: object = STREAM) -> bytes:
    """What a client gets of a vendor through a recorder, in one process."""

    async def ask() -> bytes:
        settings = Settings()
        tape = RecordingFile(path)
        async with httpx.AsyncClient(transport=vendor) as client:
            app = Recorder(settings, DIALECTS, read_upstreams((), DIALECTS), tape, client, lambda: vendor.now)
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app)) as asking:
                answer = await asking.post(f"http://api.cerebras.ai{COMPLETIONS.removeprefix('/cerebras')}", json=body)
        tape.close()
        return answer.content

    return asyncio.run(ask())


PIECES = [(0.125, b"data: 1\n\nda"), (0.25, b"ta: 2\n"), (0.5, b"\ndata: 3\n\ndata: [DONE]\n\n"), (1.0, b"")]


def test_each_event_is_as_late_as_its_last_piece_and_is_replayed_so(tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    whole = b"".join(piece for _, piece in PIECES)
    assert taped(Vendor(PIECES), tape) == whole
    [line] = lines_of(tape)
    assert [event["sent"] for event in line["answer"]["events"]] == [0.25, 1.0, 1.0, 1.0]
    assert line["timing"] == {"ttft": 0.25, "gaps": [0.75, 0.0, 0.0]}
    assert (line["outcome"]["seconds"], line["upstream"]) == (2.0, "https://api.cerebras.ai/v1/completions")
    assert main(["stubs", str(tape), "--pace", "--out", str(tmp_path / "stubs")]) == 0
    with MockServer(stubs=str(tmp_path / "stubs"), speed=50) as replaying:
        assert exchange(replaying.url, "POST", COMPLETIONS, STREAM).body == whole
        assert [event["due"] for event in replaying.last.events] == pytest.approx([0.005, 0.02, 0.02, 0.02])


ANNOUNCED = {
    "chat": [
        b'{"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}',
        b'{"choices": [{"index": 0, "delta": {"content": "It"}}]}',
        b'{"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]}',
    ],
    "reasoning": [
        b'{"choices": [{"index": 0, "delta": {"role": "assistant", "content": null}}]}',
        b'{"choices": [{"index": 0, "delta": {"reasoning": "Hm"}}]}',
        b"[DONE]",
    ],
    "call": [
        b'{"choices": [{"index": 0, "delta": {"role": "assistant", "content": null}}]}',
        b'{"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"name": "f"}}]}}]}',
        b"[DONE]",
    ],
    "response": [
        b'{"type": "response.created", "response": {"output": []}}',
        b'{"type": "response.output_text.delta", "delta": "It"}',
        b'{"type": "response.completed", "response": {"output": []}}',
    ],
}


@pytest.mark.parametrize("events", ANNOUNCED.values(), ids=ANNOUNCED)
def test_the_first_token_is_the_first_event_that_says_something(tmp_path: Path, events: list[bytes]) -> None:
    pieces = [(delay, b"data: " + event + b"\n\n") for delay, event in zip((0.125, 0.5, 0.25), events, strict=True)]
    taped(Vendor(pieces), tmp_path / "tape.jsonl")
    [line] = lines_of(tmp_path / "tape.jsonl")
    announced, first, last = (event["sent"] for event in line["answer"]["events"])
    assert announced < first
    assert line["timing"] == {"ttft": first, "gaps": [last - first]}


def test_a_plain_answer_is_as_late_as_its_end(tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    pieces = [(0.125, b'{"a"'), (0.5, b": 1}")]
    assert taped(Vendor(pieces, **{"content-type": "application/json"}), tape, BODY) == b'{"a": 1}'
    [line] = lines_of(tape)
    assert ([event["sent"] for event in line["answer"]["events"]], line["timing"]) == (
        [0.75],
        {"ttft": 0.25, "gaps": []},
    )
    assert main(["stubs", str(tape), "--pace", "--out", str(tmp_path / "stubs")]) == 0
    assert 'latency = "ttft=750ms"' in (tmp_path / "stubs" / "tape.toml").read_text()


def test_packed_pieces_are_read_as_they_come(tmp_path: Path) -> None:
    packer = zlib.compressobj(wbits=-15)
    sent = [(seconds, packer.compress(piece) + packer.flush(zlib.Z_SYNC_FLUSH)) for seconds, piece in PIECES]
    tape = tmp_path / "tape.jsonl"
    assert taped(Vendor([*sent, (0.0, packer.flush())], **{"content-encoding": "deflate"}), tape) == b"".join(
        piece for _, piece in PIECES
    )
    assert [event["sent"] for event in lines_of(tape)[0]["answer"]["events"]] == [0.25, 1.0, 1.0, 1.0]


def test_a_piece_is_passed_on_before_the_next_one_is_asked_for(tmp_path: Path) -> None:
    told: list[str] = []

    class Told(Vendor):
        async def _body(self) -> AsyncIterator[bytes]:
            for number in range(3):
                told.append(f"asked for {number}")
                yield b"data: %d\n\n" % number

    async def send(message: Any) -> None:
        told.append(f"sent {message.get('body', b'the head')!r}")
        # A client that reads slowly; whoever else could go on does so here.
        for _ in range(20):
            await asyncio.sleep(0)

    async def ask() -> None:
        body: list[Any] = [{"type": "http.request", "body": json.dumps(STREAM).encode()}]
        scope = {"type": "http", "method": "POST", "path": COMPLETIONS, "raw_path": COMPLETIONS.encode()}

        async def receive() -> Any:
            return body.pop() if body else await asyncio.Future()

        tape = RecordingFile(tmp_path / "tape.jsonl")
        async with httpx.AsyncClient(transport=Told([])) as client:
            app = Recorder(Settings(), DIALECTS, read_upstreams((), DIALECTS), tape, client)
            await app({**scope, "query_string": b"", "headers": []}, receive, send)
        tape.close()

    asyncio.run(ask())
    assert told == [
        "sent b'the head'",
        "asked for 0",
        "sent b'data: 0\\n\\n'",
        "asked for 1",
        "sent b'data: 1\\n\\n'",
        "asked for 2",
        "sent b'data: 2\\n\\n'",
        "sent b''",
    ]


@pytest.mark.parametrize("rounds", range(8))
def test_a_recorder_that_stops_just_after_an_answer_was_sent_has_recorded_it_and_does_not_complain(
    rounds: int, tmp_path: Path
) -> None:
    async def ask() -> None:
        body: list[Any] = [{"type": "http.request", "body": json.dumps(STREAM).encode()}]
        scope = {"type": "http", "method": "POST", "path": COMPLETIONS, "raw_path": COMPLETIONS.encode()}
        sent = asyncio.Event()

        async def receive() -> Any:
            return body.pop() if body else await asyncio.Future()

        async def send(message: Any) -> None:
            if message["type"] == "http.response.body" and not message.get("more_body"):
                sent.set()

        tape = RecordingFile(tmp_path / "tape.jsonl")
        async with httpx.AsyncClient(transport=Vendor(PIECES)) as client:
            app = Recorder(Settings(), DIALECTS, read_upstreams((), DIALECTS), tape, client)
            serving = asyncio.ensure_future(app({**scope, "query_string": b"", "headers": []}, receive, send))
            await sent.wait()
            for _ in range(rounds):
                await asyncio.sleep(0)
            serving.cancel()
            await serving
        tape.close()

    asyncio.run(ask())
    [line] = lines_of(tmp_path / "tape.jsonl")
    assert line["outcome"]["closed_by"] == "server"


def test_a_latency_may_be_drawn_from_a_recording(tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    taped(Vendor(PIECES), tape)
    latency = (
        f"ttft=empirical(file={tape}, column=timing.ttft), itl=empirical(file={tape}, column=timing.gaps), speed=100"
    )
    with MockServer(latency=latency) as server:
        exchange(server.url, "POST", COMPLETIONS, STREAM)
        due = [event["due"] for event in server.last.events]
    assert due[0] == pytest.approx(0.0025)
    assert {round((later - earlier) * 100, 6) for earlier, later in pairwise(due)} == {0.0, 0.75}


# --- where it goes ------------------------------------------------------------------------------------------------


def found(path: str, host: str = "", upstreams: tuple[str, ...] = (), **options: Any) -> str:
    """Where a POST to a path goes: a URL, or the kind of refusal."""
    settings = Settings(**options)
    targets = Targets(DIALECTS, settings, read_upstreams(upstreams, DIALECTS))
    headers = Headers([(b"host", host.encode())] if host else [])
    target = targets.find("POST", unquote(path), path.encode(), b"", headers)
    return target.kind if isinstance(target, SimulatorError) else target.url


OVMS = ("ovms=http://localhost:9000/", "yandex=https://relay.example:8443/ya/")
OWN = RouteSettings("/mine", "friendli", "completions")


@pytest.mark.parametrize(
    "path, host, options, where",
    [
        ("/cerebras/v1/completions", "", {}, "https://api.cerebras.ai/v1/completions"),
        ("/ns/a/cerebras/v1/completions", "", {}, "https://api.cerebras.ai/v1/completions"),
        ("/cerebras/v1/models/a%2Fb", "", {}, "https://api.cerebras.ai/v1/models/a%2Fb"),
        ("/yandex/v1/new", "", {}, "https://ai.api.cloud.yandex.net/v1/new"),
        (
            "/v1/chat/completions",
            "llm.api.cloud.yandex.net",
            {},
            "https://llm.api.cloud.yandex.net/v1/chat/completions",
        ),
        ("/v1/new", "API.cerebras.ai:443", {}, "https://api.cerebras.ai/v1/new"),
        ("/v1/new", "api.cerebras.ai", {"upstreams": ("cerebras=http://h:1",)}, "http://h:1/v1/new"),
        ("/yandex/v1/new", "", {"upstreams": OVMS}, "https://relay.example:8443/ya/v1/new"),
        ("/ovms/v3/completions", "", {"upstreams": OVMS}, "http://localhost:9000/v3/completions"),
        ("/v3/completions", "", {"upstreams": OVMS}, "http://localhost:9000/v3/completions"),
        ("/ovms/v3/completions", "", {}, "no_upstream"),
        ("/llm/v1/chat/completions", "", {}, "https://qstash.upstash.io/llm/v1/chat/completions"),
        ("/v1/chat/completions", "", {}, "ambiguous_path"),
        ("/v1/chat/completions", "", {"dialect": "friendli"}, "https://api.friendli.ai/v1/chat/completions"),
        ("/v1/new", "", {"dialect": "friendli"}, "https://api.friendli.ai/v1/new"),
        ("/v1/new", "", {}, "no_route"),
        (
            "/v1/chat/completions",
            "",
            {"bare": "cerebras"},
            "https://api.cerebras.ai/v1/chat/completions",
        ),
        ("/mine", "", {"routes": (OWN,)}, "https://api.friendli.ai/v1/completions"),
        ("/_mockserver/journal", "", {}, "no_route"),
        ("/_mockserver/journal", "", {"dialect": "cerebras"}, "no_route"),
    ],
)
def test_a_request_goes_to_the_vendor_that_it_names(path: str, host: str, options: dict[str, Any], where: str) -> None:
    assert found(path, host, **options) == where


def test_an_exchange_at_a_bare_path_belongs_to_the_dialect_that_it_was_recorded_of(
    vendor: MockServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tape = tmp_path / "tape.jsonl"
    body = {"model": "meta-llama-3.1-8b-instruct", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 5}
    with recorder(tape, led_to(vendor), dialect="friendli") as url:
        answer = exchange(url, "POST", "/v1/chat/completions", body)
    assert answer.status == 200
    assert main(["stubs", str(tape)]) == 0
    assert 'dialect = "friendli"' in capsys.readouterr().out
    assert main(["drift", str(tape)]) == 0, capsys.readouterr().out


@pytest.mark.parametrize(
    "texts, complaint",
    [
        (["ovms"], "'ovms' is not a dialect with its URL, as in --upstream ovms=http://localhost:9000"),
        (["http://localhost?a=1"], "'http://localhost?a=1' is not a dialect with its URL"),
        (["ovsm=http://localhost"], "unknown dialect 'ovsm'. Did you mean 'ovms'?"),
        (["ovms=localhost:9000"], "ovms: 'localhost:9000' does not begin with http:// or https:// and a host"),
        (["ovms=http://"], "ovms: 'http://' does not begin with"),
        (["ovms=http://h:x"], "ovms: 'http://h:x' is no URL"),
        (["ovms=http://me:key@h"], "ovms: a URL here has a host and a path"),
        (["ovms=http://h", "ovms=http://i"], "ovms is given twice"),
    ],
)
def test_a_mistake_in_an_upstream_says_what_would_be_one(texts: list[str], complaint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_upstreams(texts, DIALECTS)
    assert str(caught.value).startswith(f"upstream: {complaint}")


def test_an_upstream_on_this_machine_is_reached_without_the_environments_proxy(
    vendor: MockServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with MockServer(allow_host="vendor.example") as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        with recorder(tmp_path / "tape.jsonl", {**led_to(vendor), "yandex": "http://vendor.example/yandex"}) as url:
            near = exchange(url, "POST", COMPLETIONS, BODY)
            far = exchange(url, "POST", *QUESTIONS["yandex"])
        assert [each.path for each in proxy.exchanges] == ["/yandex/v1/chat/completions"]
        assert proxy.last.headers["host"] == "vendor.example"
    assert (near.status, far.status, len(vendor.exchanges)) == (200, 200, 1)


# --- files --------------------------------------------------------------------------------------------------------


def test_a_journal_is_appended_to_and_its_numbers_go_on(vendor: MockServer, tmp_path: Path) -> None:
    tape = tmp_path / "deep" / "tape.jsonl"
    for prompt in ("one", "two"):
        with recorder(tape, led_to(vendor)) as url:
            exchange(url, "POST", COMPLETIONS, {**BODY, "prompt": prompt})
        # As an editor may leave it.
        tape.write_bytes(tape.read_bytes().rstrip(b"\n"))
        with recorder(tape, led_to(vendor)) as url:
            exchange(url, "POST", f"/ns/a{COMPLETIONS}", {**BODY, "prompt": prompt})
    told = [(line["namespace"], line["number"], line["request"]["body"]["prompt"]) for line in lines_of(tape)]
    assert told == [("", 1, "one"), ("a", 1, "one"), ("", 2, "two"), ("a", 2, "two")]
    assert main(["stubs", str(tape), "--out", str(tmp_path / "stubs")]) == 0


def test_the_verdict_on_a_recording_is_that_on_a_journal(
    vendor: MockServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tape = tmp_path / "tape.jsonl"
    vendor.next().error("rate_limit", retry_after=5)
    with recorder(tape, led_to(vendor)) as url:
        for namespace in ("/ns/other", "", ""):
            exchange(url, "POST", f"{namespace}{COMPLETIONS}", {**BODY, "prompt": f"Hello{namespace}"})
    assert main(["verdict", str(tape)]) == 0
    vendor.next().error("rate_limit", retry_after=5)
    with recorder(tape, led_to(vendor)) as url:
        for _ in range(2):
            exchange(url, "POST", COMPLETIONS, BODY)
    assert main(["verdict", str(tape)]) == 1
    printed = capsys.readouterr().out
    assert "retry_after_ignored: asked to wait 5 s" in printed
    assert "not in it" not in printed


@pytest.mark.parametrize(
    "name, content, complaint",
    [
        ("tape.json", None, "the name of a recording ends in .jsonl"),
        ("tape.jsonl", b'{"number": 1}\n{"numb', "line 1: is no exchange of a journal; choose another name"),
        ("tape.jsonl", b"[1]\n", "line 1: is no exchange of a journal; choose another name"),
    ],
)
def test_a_file_that_is_no_recording_is_left_alone_unless_forced(
    name: str, content: bytes | None, complaint: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=complaint):
        RecordingFile(path)
    assert (path.read_bytes() if path.exists() else None) == content
    if content is not None:
        RecordingFile(path, force=True).close()
        assert not path.exists()


def test_a_client_has_its_answer_even_if_the_file_takes_nothing(
    vendor: MockServer, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(tape: RecordingFile, take: RecordedExchange) -> None:
        raise OSError(ENOSPC, "No space left on device")

    monkeypatch.setattr(RecordingFile, "write", full)
    tape = tmp_path / "tape.jsonl"
    with recorder(tape, led_to(vendor)) as url:
        answer = exchange(url, "POST", COMPLETIONS, BODY)
    assert answer.status == 200
    assert f"{tape}: No space left on device: this exchange is not recorded" in caplog.text


def test_a_recording_of_nothing_leaves_no_file(tmp_path: Path) -> None:
    RecordingFile(tmp_path / "tape.jsonl").close()
    assert list(tmp_path.iterdir()) == []

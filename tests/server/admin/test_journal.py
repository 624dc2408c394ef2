"""The journal, the clock and the reset of a namespace, over a socket."""

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from http.client import HTTPConnection
from threading import get_ident
from typing import Any
from urllib.parse import urlsplit

import pytest

from mockserver import MockServer
from mockserver.core.http import Record, Timeline
from mockserver.state.journal import transcripts
from tests.support.http import exchange
from tests.support.sockets import chunks_of, connected, read_all

PROMPT = {"model": "m", "prompt": "hello", "max_tokens": 4}
KEY = {"authorization": "Bearer k"}


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    with MockServer() as running:
        yield running


def asked(server: MockServer, namespace: str, path: str = "/cerebras/v1/completions", **headers: str) -> int:
    return exchange(server.url, "POST", f"/ns/{namespace}{path}", PROMPT, {**KEY, **headers}).status


def told(server: MockServer, path: str, method: str = "GET", body: object = None) -> Any:
    return json.loads(exchange(server.url, method, f"/_mockserver{path}", body).body)


def test_each_namespace_has_a_journal_of_its_own(server: MockServer) -> None:
    asked(server, "one")
    asked(server, "one")
    asked(server, "two")
    assert [told(server, f"/ns/{name}/journal")["opened"] for name in ("one", "two", "three")] == [2, 1, 0]
    [line] = told(server, "/ns/two/journal")["exchanges"]
    assert (line["path"], line["outcome"]["closed_by"]) == ("/cerebras/v1/completions", "server")
    whole = told(server, "/ns/two/journal/1")
    assert whole["answer"]["body"]["choices"][0]["text"]
    assert told(server, "/ns/one/journal?after=1")["exchanges"][0]["number"] == 2
    assert told(server, "/ns/one/journal?limit=1&full=1")["exchanges"][0]["request"]["body"] == PROMPT


def test_an_exchange_is_in_the_journal_before_the_client_has_its_answer(server: MockServer) -> None:
    for number in range(1, 51):
        asked(server, "prompt")
        lines = told(server, f"/ns/prompt/journal?after={number - 1}")["exchanges"]
        assert [(line["number"], line["outcome"]["closed_by"]) for line in lines] == [(number, "server")]


def test_requests_that_nothing_serves_and_wishes_that_cannot_be_are_recorded(server: MockServer) -> None:
    asked(server, "lost", "/nowhere")
    asked(server, "lost", **{"x-mockserver-latency": "soon"})
    kinds = [line["decision"]["kind"] for line in told(server, "/ns/lost/journal")["exchanges"]]
    assert kinds == ["no_route", "invalid_header"]


def test_the_journal_comes_as_lines_and_as_an_archive(server: MockServer) -> None:
    asked(server, "files")
    lines = exchange(server.url, "GET", "/_mockserver/ns/files/journal.jsonl").body.splitlines()
    assert [json.loads(line)["status"] for line in lines] == [200]
    assert told(server, "/ns/files/journal.har")["log"]["version"] == "1.2"


def test_the_whole_of_a_long_answer_is_told_beside_the_loop(
    server: MockServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    tellers: list[int] = []

    def told_events(timeline: Timeline, record: Record) -> list[dict[str, Any]]:
        tellers.append(get_ident())
        return events(timeline, record)

    events = transcripts._events
    monkeypatch.setattr(transcripts, "_events", told_events)
    for tokens in (4, 2000):
        body = {**PROMPT, "max_tokens": tokens, "min_tokens": tokens, "stream": True}
        assert exchange(server.url, "POST", "/ns/long/cerebras/v1/completions", body, KEY).status == 200
    for path in ("journal.jsonl", "journal?full=1"):
        exchange(server.url, "GET", f"/_mockserver/ns/long/{path}")
    exchange(server.url, "POST", "/_mockserver/ns/long/verify", {"checks": [{"calls": 2}]})
    short, long, again, beside = tellers
    assert short == again
    assert short not in (long, beside)


def test_a_file_of_the_journal_has_all_exchanges_that_it_keeps() -> None:
    with MockServer(journal=1010) as long:
        connection = HTTPConnection(urlsplit(long.url).netloc)
        for _ in range(1012):
            connection.request("GET", "/nowhere")
            connection.getresponse().read()
        connection.close()
        lines = exchange(long.url, "GET", "/_mockserver/journal.jsonl").body.splitlines()
        assert [json.loads(line)["number"] for line in lines] == [*range(3, 1013)]
        assert len(told(long, "/journal.har")["log"]["entries"]) == 1010
        assert len(told(long, "/journal.har?limit=5")["log"]["entries"]) == 5
        assert len(told(long, "/journal")["exchanges"]) == 1000


@pytest.mark.parametrize("levels", [90, 110, 300, 1000])
def test_a_body_that_nests_absurdly_deep_spoils_no_journal(server: MockServer, levels: int) -> None:
    body = b'{"model":"m","prompt":"Hi","user":%b1%b}' % (b"[" * levels, b"]" * levels)
    assert exchange(server.url, "POST", "/_mockserver/ns/deep/reset").status == 200
    told(server, "/ns/deep/stubs", "POST", {"match": {"body": {"$.user": [1]}}, "reply": "x"})
    assert exchange(server.url, "POST", "/ns/deep/cerebras/v1/completions", body).status in (200, 400)
    for path in ("journal", "journal?full=1", "journal.har", "journal/unmatched", "journal/1", "report"):
        told(server, f"/ns/deep/{path}")
    [line] = exchange(server.url, "GET", "/_mockserver/ns/deep/journal.jsonl").body.splitlines()
    said = json.loads(line)["request"]["body"]
    assert said == (json.loads(body) if levels < 100 else body.decode())


def rows(whole: Any) -> Any:
    """The exchanges of a journal, however they were told."""
    return whole if isinstance(whole, list) else whole.get("exchanges") or whole["log"]["entries"]


def test_a_journal_is_told_piece_by_piece() -> None:
    """Nobody holds the whole of it in memory, and whoever reads it has the first of it at once."""
    with MockServer(journal=500) as long:
        for _ in range(200):
            asked(long, "pieces", "/nowhere")
        for path in ("journal", "journal?full=1", "journal.jsonl", "journal.har"):
            with connected(long) as client:
                client.sendall(f"GET /_mockserver/ns/pieces/{path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
                pieces = chunks_of(read_all(client))
            assert len(pieces) >= 4, path
            lines = path == "journal.jsonl"
            text = b"".join(pieces)
            whole = [json.loads(line) for line in text.splitlines()] if lines else json.loads(text)
            assert len(rows(whole)) == 200


def test_a_reset_forgets_exchanges_faults_and_counts_of_its_namespace_alone(server: MockServer) -> None:
    told(server, "/ns/gone/faults", "POST", {"kind": "html"})
    asked(server, "gone")
    asked(server, "kept")
    told(server, "/ns/gone/reset", "POST")
    assert told(server, "/ns/gone/journal") == {
        "opened": 0,
        "forgotten": {"exchanges": 0, "questions": 0},
        "exchanges": [],
    }
    assert told(server, "/ns/gone/faults") == {"faults": []}
    assert told(server, "/ns/kept/journal")["opened"] == 1


def test_the_clock_of_a_namespace_can_be_put_forward(server: MockServer) -> None:
    told(server, "/ns/future/faults", "POST", {"kind": "error", "error": "overloaded", "for": 60})
    assert asked(server, "future") != 200
    assert told(server, "/ns/future/clock", "POST", {"advance": 61}) == {"ahead": 61.0}
    assert asked(server, "future") == 200
    lines = told(server, "/ns/future/journal")["exchanges"]
    assert lines[1]["at"] - lines[0]["at"] >= 61


def test_a_stream_that_waits_goes_on_when_the_clock_is_put_forward(server: MockServer) -> None:
    parts = urlsplit(server.url)
    body = json.dumps({**PROMPT, "stream": True}).encode()
    head = (
        "POST /ns/patient/cerebras/v1/completions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer k\r\n"
        "content-type: application/json\r\nx-mockserver-latency: ttft=1000s, itl=1000s\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=10) as connection:
        connection.sendall(head.encode() + body)
        while not told(server, "/ns/patient/journal")["exchanges"]:
            pass
        told(server, "/ns/patient/clock", "POST", {"advance": 10_000})
        answer = b""
        while not answer.endswith(b"0\r\n\r\n"):
            answer += connection.recv(65_536)
    assert b"data: [DONE]" in answer


@pytest.mark.parametrize("body", [{"advance": -1}, {"advance": "60"}, {"advance": True}, {}, [], b"{"])
def test_a_clock_only_goes_forward(server: MockServer, body: object) -> None:
    answer = exchange(server.url, "POST", "/_mockserver/clock", body)
    assert answer.status == 400
    assert "advance" in json.loads(answer.body)["error"]["message"]


def test_events_tell_all_who_listen_of_exchanges_as_they_begin_and_end(server: MockServer) -> None:
    parts = urlsplit(server.url)
    with ExitStack() as stack:
        listeners = []
        for _ in range(2):
            connection = socket.create_connection((parts.hostname or "", parts.port or 0), timeout=10)
            listeners.append(stack.enter_context(connection))
            connection.sendall(b"GET /_mockserver/ns/live/events HTTP/1.1\r\nhost: localhost\r\n\r\n")
            while b": listening" not in connection.recv(65_536):
                pass
        asked(server, "live")
        for connection in listeners:
            told_so_far = b""
            while told_so_far.count(b"event: exchange") < 2 or not told_so_far.endswith(b"\n\n\r\n"):
                told_so_far += connection.recv(65_536)
            data = [json.loads(line[6:]) for line in told_so_far.splitlines() if line.startswith(b"data: ")]
            assert [line["outcome"]["closed_by"] for line in data] == [None, "server"]


def test_who_listens_is_let_go_without_a_word_when_the_server_stops(
    server: MockServer, caplog: pytest.LogCaptureFixture
) -> None:
    with MockServer(latency="off") as stopping:
        connections = []
        for one in (stopping, server):
            parts = urlsplit(one.url)
            connection = socket.create_connection((parts.hostname or "", parts.port or 0), timeout=10)
            connection.sendall(b"GET /_mockserver/events HTTP/1.1\r\nhost: localhost\r\n\r\n")
            while b": listening" not in connection.recv(65_536):
                pass
            connections.append(connection)
    with connections[0] as left, connections[1] as staying:
        assert left.recv(65_536) == b"0\r\n\r\n"
        assert left.recv(65_536) == b""
        asked(server, "")
        assert b"event: exchange" in staying.recv(65_536)
    assert caplog.records == []


def test_a_stub_that_wants_another_key_does_not_tell_the_one_that_came(server: MockServer) -> None:
    space = server.in_namespace("keys")
    space.on(key="mine", headers={"x-auth-token": "mine", "x-tenant": "a"}).reply("Hello")
    asked(server, "keys", **{"authorization": "Bearer sk-0123456789", "x-auth-token": "0123", "x-tenant": "b"})
    [near] = space.last.nearest
    assert {each["field"]: each["found"] for each in near["differences"]} == {
        "key": "something else, masked",
        "headers.x-auth-token": "something else, masked",
        "headers.x-tenant": "'b'",
    }
    space.verify.calls(1, key="sk-0123456789", headers={"x-auth-token": "0123"})


@pytest.mark.parametrize("path", ["/journal/99", "/journal?after=x", "/ns/a/journal?limit=-1"])
def test_what_the_journal_cannot_answer_is_said_clearly(server: MockServer, path: str) -> None:
    answer = exchange(server.url, "GET", f"/_mockserver{path}")
    assert answer.status in (400, 404)
    assert json.loads(answer.body)["error"]["message"]


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("/journal?ful=1", "full"),
        ("/journal.jsonl?limt=5", "limit"),
        ("/journal.har?aftr=5", "after"),
        ("/latency?off=slow", "of"),
        ("/wait?request=1", "requests"),
    ],
)
def test_a_word_that_a_query_cannot_have_is_refused(server: MockServer, path: str, word: str) -> None:
    answer = exchange(server.url, "GET", f"/_mockserver{path}")
    assert answer.status == 400
    assert f"Did you mean '{word}'?" in json.loads(answer.body)["error"]["message"]


def test_what_is_either_asked_for_or_not_is_said_by_1_or_0(server: MockServer) -> None:
    exchange(server.url, "POST", "/ns/full/cerebras/v1/completions", b"{")

    def told(full: str) -> bytes:
        return exchange(server.url, "GET", f"/_mockserver/ns/full/journal?full={full}").body

    assert b'"request"' in told("1")
    assert b'"request"' not in told("0")
    assert b"'yes' must be 1 or 0" in told("yes")
    settings = [b'{"seed": 7}', b'{"latency": "slow"}']
    for merge, kept in (("1", {"seed": 7, "latency": "slow"}), ("0", {"latency": "slow"})):
        for body in settings:
            exchange(server.url, "PUT", f"/_mockserver/ns/full/settings?merge={merge}", body)
        assert json.loads(exchange(server.url, "GET", "/_mockserver/ns/full/settings").body) == kept


@pytest.mark.parametrize("name", ["a/b", "two words", "x" * 201])
def test_a_namespace_that_no_path_could_name_is_refused(server: MockServer, name: str) -> None:
    headers = {**KEY, "x-mockserver-namespace": name}
    answer = exchange(server.url, "POST", "/cerebras/v1/completions", PROMPT, headers)
    assert (answer.status, json.loads(answer.body)["error"]["type"]) == (400, "mockserver_bad_namespace")

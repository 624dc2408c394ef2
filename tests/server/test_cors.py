"""Pages of other origins: preflights and readable answers, alike over a socket and in process."""

import asyncio
import json
import re
import time
from collections.abc import Mapping
from typing import Any

import pytest

from mockserver import MockServer
from mockserver.core.installed import load_dialects
from mockserver.server.app import create_app
from mockserver.state.settings import Settings
from tests.support.http import Transcript, exchange
from tests.support.questions import QUESTIONS

ORIGIN = "http://localhost:5173"
ASKED = {
    "origin": ORIGIN,
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization, content-type, x-mockserver-seed",
    "access-control-request-private-network": "true",
}
OPENED = {
    ("access-control-allow-origin", ORIGIN),
    ("access-control-allow-credentials", "true"),
    ("vary", "Origin"),
}


def in_process(settings: Settings, method: str, path: str, body: object, headers: Mapping[str, str]) -> Transcript:
    """One request to the application over ASGI."""
    given = {"authorization": "Bearer test", "content-type": "application/json", **headers}
    raw = [(name.encode(), value.encode()) for name, value in given.items()]
    scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": raw}
    sent: list[dict[str, Any]] = []

    async def run() -> None:
        left = asyncio.Event()
        messages = iter([{"type": "http.request", "body": b"" if body is None else json.dumps(body).encode()}])

        async def receive() -> dict[str, Any]:
            message = next(messages, None)
            if message is None:
                await left.wait()
            return message or {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        await create_app(settings)(scope, receive, send)

    asyncio.run(run())
    got = tuple((name.decode(), value.decode()) for name, value in sent[0]["headers"])
    return Transcript(sent[0]["status"], got, b"".join(message["body"] for message in sent[1:]))


@pytest.mark.parametrize("path", ["/yandex/v1/chat/completions", "/ovms/no/such/path", "/v1/completions", "/nowhere"])
def test_a_preflight_is_allowed_everything_and_is_no_exchange(path: str) -> None:
    with MockServer(Settings(port=0, latency="off", log_level="error", quota=(), auth=("key",))) as server:
        answer = exchange(server.url, "OPTIONS", path, None, {**ASKED, "authorization": ""})
        journal = json.loads(exchange(server.url, "GET", "/_mockserver/journal").body)
    assert (answer.status, answer.body, journal["opened"]) == (204, b"", 0)
    assert set(answer.headers) >= OPENED | {
        ("access-control-allow-headers", ASKED["access-control-request-headers"]),
        ("access-control-allow-private-network", "true"),
        ("access-control-max-age", "600"),
    }
    methods = dict(answer.headers)["access-control-allow-methods"].split(", ")
    assert {"GET", "POST", "DELETE"} <= set(methods)


@pytest.mark.parametrize("way", ["socket", "process"])
@pytest.mark.parametrize("dialect", QUESTIONS)
@pytest.mark.parametrize("wish", [
    {},
    {"stream": True},
    {"model": 7},
], ids=["plain", "stream", "refusal"])  # fmt: skip
@pytest.mark.parametrize("edition", ["documented", "observed"])
def test_every_answer_can_be_read_with_all_its_headers(
    server: MockServer, way: str, dialect: str, wish: dict[str, Any], edition: str
) -> None:
    path, body = QUESTIONS[dialect]
    headers = {"origin": ORIGIN, "x-mockserver-edition": edition}
    asked = {**body, **wish}
    if way == "socket":
        answer = exchange(server.url, "POST", path, asked, headers)
    else:
        answer = in_process(Settings(latency="off"), "POST", path, asked, headers)
    assert set(answer.headers) >= OPENED
    names = [name for name, _ in answer.headers]
    exposed = dict(answer.headers)["access-control-expose-headers"].split(", ")
    framing = {"content-length", "transfer-encoding", "connection", "vary"}
    assert {name for name in names if not name.startswith("access-control-")} - framing <= set(exposed)
    assert names.count("access-control-allow-origin") == 1


FOREIGN = {"origin": "https://evil.example", "sec-fetch-site": "cross-site"}
ACTS = [
    ("POST", "/cerebras/v1/completions", QUESTIONS["cerebras"][1]),
    ("POST", "/upstash/v2/publish/http://127.0.0.1:9/x", {"a": 1}),
    ("GET", "/upstash/v2/logs", None),
    ("GET", "/cerebras/v1/models", None),
    ("GET", "/nowhere", None),
    ("GET", "/", None),
    ("POST", "/_mockserver/stubs", {"reply": "a"}),
    ("POST", "/ns/new/_mockserver/stubs", {"reply": "a"}),
    ("DELETE", "/_mockserver/journal", None),
    ("GET", "/_mockserver/journal", None),
    ("GET", "/_mockserver/health", None),
    ("GET", "/_mockserver/ui/", None),
    ("GET", "/cerebras/openapi.json", None),
]


@pytest.mark.parametrize("settings", [
    {}, {"cors": ("https://app.example",)}, {"cors": "vendor"}, {"admin_token": "t"},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("way", [
    FOREIGN,
    {"origin": "null"},
    {**FOREIGN, "content-type": "text/plain"},
    {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"},
    {"host": "evil.example"},
    {"host": "evil.example", "origin": "http://evil.example", "sec-fetch-site": "same-origin"},
], ids=str)  # fmt: skip
def test_a_foreign_page_reads_nothing_and_acts_on_nothing(settings: dict[str, Any], way: dict[str, str]) -> None:
    key = {"authorization": "Bearer t"}
    with MockServer(Settings(port=0, latency="off", log_level="error"), **settings) as server:
        for method, path, body in ACTS:
            answer = exchange(server.url, method, path, body, {**key, **way})
            shown = json.loads(answer.body)["error"]
            assert (answer.status, shown["type"]) == (
                (421, "mockserver_wrong_host") if "host" in way else (403, "mockserver_foreign_origin")
            )
            assert [name for name, _ in answer.headers if name.startswith("access-control-")] == []
            assert ("vary", "Origin") in answer.headers
            asked = exchange(server.url, "OPTIONS", path, None, {**ASKED, "origin": "https://evil.example", **way})
            assert asked.status in (403, 421)
            assert [name for name, _ in asked.headers if name.startswith("access-control-")] == []
        journal = json.loads(exchange(server.url, "GET", "/_mockserver/journal", None, key).body)
        stubs = json.loads(exchange(server.url, "GET", "/_mockserver/stubs", None, key).body)
        assert (journal["opened"], stubs["stubs"], server.namespaces()) == (0, [], [""])


@pytest.mark.parametrize("origin, cors", [
    ("https://app.example", ("https://app.example",)), ("null", ("null",)), ("app://-", ("app://-",)),
    ("https://evil.example", "any"), ("http://a.localhost:1", "loopback"), ("http://[::1]:9", ("https://app.example",)),
])  # fmt: skip
def test_a_listed_page_reads_everything(origin: str, cors: Any) -> None:
    path, body = QUESTIONS["yandex"]
    with MockServer(Settings(port=0, latency="off", log_level="error"), cors=cors) as server:
        page = {"origin": origin, "sec-fetch-site": "cross-site"}
        answer = exchange(server.url, "POST", path, {**body, "stream": True}, page)
        asked = exchange(server.url, "OPTIONS", path, None, {**ASKED, **page})
    assert (answer.status, asked.status) == (200, 204)
    assert all(("access-control-allow-origin", origin) in each.headers for each in (answer, asked))
    assert ("access-control-allow-private-network", "true") in asked.headers


def test_names_are_checked_where_they_can_be_known() -> None:
    """On loopback, or if they are listed; an application that another server serves does not know where it is bound."""
    path, body = QUESTIONS["cerebras"]
    strange = {"host": "mock.example.test"}
    assert in_process(Settings(latency="off"), "POST", path, body, strange).status == 200
    assert in_process(Settings(latency="off", allow_host=("a.test",)), "POST", path, body, strange).status == 421
    for settings, status in (
        (Settings(port=0, host="0.0.0.0"), 200),
        (Settings(port=0, host="0.0.0.0", allow_host=("mockserver",)), 421),
        (Settings(port=0, allow_host=("*.example.test",)), 200),
        (Settings(port=0, host="localhost"), 421),
        (Settings(port=0, host="127.0.0.5"), 421),
    ):
        with MockServer(settings, latency="off", log_level="error") as server:
            assert exchange(server.url, "POST", path, body, strange).status == status
            assert exchange(server.url, "POST", path, body).status == 200
            assert exchange(server.url, "POST", path[9:], body, {"host": "api.cerebras.ai:443"}).status == 200
            assert exchange(server.url, "GET", "/_mockserver/health", None, strange).status == status


def test_who_is_turned_away_is_told_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with MockServer(Settings(port=0, latency="off")) as server:
        exchange(server.url, "GET", "/v1/models", None, {"host": "mock.test"})
        exchange(server.url, "GET", "/v1/models", None, {"origin": "https://app.example" + "x" * 10_000})
    host, origin = (record.getMessage() for record in caplog.records)
    assert "--allow-host" in host
    assert host.isprintable()
    assert "--cors" in origin
    assert len(origin) < 500


def test_of_many_that_are_turned_away_the_log_tells_a_few(caplog: pytest.LogCaptureFixture) -> None:
    with MockServer(Settings(port=0, latency="off")) as server:
        began = time.monotonic()
        for _ in range(60):
            exchange(server.url, "GET", "/v1/models", None, {"host": "mock.test"})
        seconds = int(time.monotonic() - began) + 2
        assert len(caplog.records) <= 10 * seconds
        if len(caplog.records) < 60:
            time.sleep(1.01)
            exchange(server.url, "GET", "/v1/models", None, {"host": "mock.test"})
            told = [
                int(found[1]) for each in caplog.records if (found := re.search(r"(\d+) others", each.getMessage()))
            ]
            assert sum(told) + len(caplog.records) == 61


def test_a_request_of_no_origin_gets_the_vendors_headers_alone(server: MockServer) -> None:
    for dialect in ("cerebras", "friendli", "upstash"):
        path, body = QUESTIONS[dialect]
        answer = exchange(server.url, "POST", path, body)
        assert [name for name, _ in answer.headers if name.startswith("access-control-") or name == "vary"] == []


def test_options_that_is_no_preflight_is_the_vendors_business(server: MockServer) -> None:
    answer = exchange(server.url, "OPTIONS", "/cerebras/v1/completions")
    assert answer.status != 204


def test_our_own_refusals_can_be_read_too(server: MockServer) -> None:
    lost = exchange(server.url, "POST", "/nowhere", {}, {"origin": ORIGIN})
    wish = {"origin": ORIGIN, "x-mockserver-fault": "rst"}
    bad = exchange(server.url, "POST", "/cerebras/v1/completions", QUESTIONS["cerebras"][1], wish)
    assert [lost.status, bad.status] == [404, 400]
    assert all(set(answer.headers) >= OPENED for answer in (lost, bad))


def test_with_the_vendors_cors_only_the_vendors_own_headers_go_out() -> None:
    with MockServer(Settings(port=0, latency="off", log_level="error", cors="vendor")) as server:
        path, body = QUESTIONS["ovms"]
        told = {}
        for edition in ("documented", "observed"):
            headers = {"origin": ORIGIN, "x-mockserver-edition": edition}
            answer = exchange(server.url, "POST", path, body, headers)
            told[edition] = [pair for pair in answer.headers if pair[0] == "access-control-allow-origin"]
        preflights = {
            name: exchange(server.url, "OPTIONS", f"/{name}{dialect.operations[0].paths[0]}", None, ASKED)
            for name, dialect in load_dialects().items()
        }
    assert told == {"documented": [], "observed": [("access-control-allow-origin", "*")]}
    assert [
        name for name, answer in preflights.items() if ("access-control-allow-origin", ORIGIN) in answer.headers
    ] == []

"""Pages of other origins: preflights and readable answers, alike over a socket and in process."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from mockserver import MockServer
from mockserver.control.settings import Settings
from mockserver.core.installed import load_dialects
from mockserver.serving.app import create_app
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

"""The application is a Starlette app: its routes, parts of other apps, middleware, and other people's servers."""

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Host, Mount, Route
from starlette.testclient import TestClient

from mockserver import create_app
from mockserver.core.dialects import Dialect, Operation
from mockserver.core.installed import load_dialects
from mockserver.server.app import App
from mockserver.server.server import AppThread
from tests.support.waiting import until

DIALECTS = load_dialects()
HEADERS = {"authorization": "Bearer k"}
# A request to a model in each dialect.
CHATS = {
    "cerebras": ("/v1/chat/completions", "llama3.1-8b"),
    "friendli": ("/serverless/v1/chat/completions", "meta-llama-3.1-8b-instruct"),
    "ovms": ("/v3/chat/completions", "m"),
    "upstash": ("/llm/v1/chat/completions", "meta-llama/Meta-Llama-3-8B-Instruct"),
    "yandex": ("/v1/chat/completions", "gpt://folder/yandexgpt/latest"),
}


def chat(dialect: str, *, stream: bool) -> tuple[str, dict[str, object]]:
    path, model = CHATS[dialect]
    body = {"model": model, "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 8, "stream": stream}
    return f"/{dialect}{path}", body


def paths_of(routes: list[BaseRoute], before: str = "") -> Iterator[tuple[str, str]]:
    """Every method and path that routes serve, hosts left out."""
    for route in routes:
        if isinstance(route, Mount):
            yield from paths_of(route.routes, before + route.path)
        elif isinstance(route, Route):
            yield from ((method, before + route.path.replace(":any}", "}")) for method in route.methods or ("*",))


def operations() -> Iterator[tuple[Dialect, Operation, str]]:
    return (
        (dialect, each, path) for dialect in DIALECTS.values() for each in dialect.operations for path in each.paths
    )


def test_its_routes_hold_every_operation_under_each_name() -> None:
    app = create_app()
    assert isinstance(app, Starlette)
    served = set(paths_of(app.routes))
    hosts = {route.host: set(paths_of(route.routes)) for route in app.routes if isinstance(route, Host)}
    for dialect, operation, path in operations():
        assert (operation.method, f"/{dialect.name}{path}") in served
        assert (operation.method, f"/ns/{{namespace}}/{dialect.name}{path}") in served
        assert operation.method in {method for method, each in served if each == path}
        assert all((operation.method, path) in hosts[host] for host in dialect.hosts)
    assert {("GET", "/_mockserver/journal"), ("GET", "/_mockserver/ui"), ("*", "/cerebras/openapi.json")} <= served


def test_a_start_pays_for_neither_patterns_nor_schemas_nor_the_admin_api() -> None:
    program = (
        "import sys, mockserver; mockserver.create_app(); import mockserver.server.server; "
        "import mockserver.testing.server; "
        "print(*{'regex', 'mockserver.server.admin', 'jsonschema_rs'} & sys.modules.keys())"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stdout == "\n"


def is_answered(client: Any, before: str = "") -> None:
    """Every dialect answers, plain and streamed, and so does the admin API."""
    for dialect in CHATS:
        path, body = chat(dialect, stream=False)
        assert client.post(before + path, json=body, headers=HEADERS).json()["object"] == "chat.completion"
        path, body = chat(dialect, stream=True)
        streamed = client.post(before + path, json=body, headers=HEADERS)
        assert streamed.headers["content-type"].startswith("text/event-stream")
        assert streamed.text.endswith("data: [DONE]\n\n")
    assert client.get(f"{before}/_mockserver/health").json() == {"status": "ok"}


def test_under_the_test_client_everything_answers() -> None:
    with TestClient(create_app()) as client:
        is_answered(client)


def test_mounted_in_another_app_everything_answers_and_namespaces_work_without_a_lifespan_of_its_own() -> None:
    inner = create_app()
    client = TestClient(Starlette(routes=[Mount("/mock", inner)]))
    is_answered(client, "/mock")
    path, body = chat("cerebras", stream=False)
    assert client.post(f"/mock/ns/mine{path}", json=body, headers=HEADERS).status_code == 200
    lines = client.get("/mock/_mockserver/ns/mine/journal").json()["exchanges"]
    assert [(line["namespace"], line["path"]) for line in lines] == [("mine", path)]
    missed = client.get("/mock/cerebras/v1/nothing", headers=HEADERS)
    assert (missed.status_code, b"mockserver" in missed.content) == (404, False)


def test_answers_through_a_transport_of_httpx_are_those_of_a_server() -> None:
    path, body = chat("cerebras", stream=True)

    async def ask() -> bytes:
        transport = httpx.ASGITransport(create_app(created=1_700_000_000.0))
        async with httpx.AsyncClient(transport=transport, base_url="http://mock") as client:
            return (await client.post(path, json=body, headers=HEADERS)).content

    with TestClient(create_app(created=1_700_000_000.0)) as client:
        assert asyncio.run(ask()) == client.post(path, json=body, headers=HEADERS).content


class Marking(BaseHTTPMiddleware):
    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        response = await call_next(request)
        response.headers["x-seen"] = request.url.path
        return response


def test_middleware_of_the_users_sees_requests_and_changes_answers() -> None:
    app = create_app()
    app.add_middleware(Marking)
    path, body = chat("yandex", stream=True)
    with TestClient(app) as client:
        answer = client.post(path, json=body, headers=HEADERS)
    assert (answer.headers["x-seen"], answer.text.endswith("data: [DONE]\n\n")) == (path, True)


@pytest.mark.parametrize(
    "add", [lambda app: app.add_middleware(Marking), lambda app: app.user_middleware.insert(0, Middleware(Marking))]
)
def test_middleware_is_not_passed_by_on_a_socket_of_ours_however_it_was_added(add: Callable[[App], None]) -> None:
    app = create_app(port=0)
    add(app)
    path, body = chat("yandex", stream=True)
    with AppThread(app) as server:
        answer = httpx.post(f"{server.url}{path}", json=body, headers=HEADERS)
    assert (answer.headers["x-seen"], answer.text.endswith("data: [DONE]\n\n")) == (path, True)


@contextmanager
def served_by(*command: str) -> Iterator[str]:
    """The URL of the application, served by somebody else's server."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    filled = [part.format(port=port) for part in command]
    process = subprocess.Popen([sys.executable, "-m", *filled], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:

        def listens() -> bool:
            with socket.socket() as client:
                return client.connect_ex(("127.0.0.1", port)) == 0

        until(listens)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)


@pytest.mark.parametrize(
    "command",
    [
        ("uvicorn", "--factory", "mockserver:create_app", "--port", "{port}"),
        ("hypercorn", "mockserver.server.app:create_app()", "--bind", "127.0.0.1:{port}"),
        ("granian", "--interface", "asgi", "--factory", "mockserver:create_app", "--port", "{port}"),
    ],
    ids=lambda command: str(command[0]),
)
def test_other_servers_serve_it(command: tuple[str, ...]) -> None:
    with served_by(*command) as url, httpx.Client(base_url=url) as client:
        is_answered(client)
        path, body = chat("cerebras", stream=True)
        fault = {"x-mockserver-fault": "{ kind = 'reset', after_event = 1 }"}
        refused = client.post(path, json=body, headers={**HEADERS, **fault})
        assert (refused.status_code, json.loads(refused.content)["error"]["type"]) == (501, "mockserver_no_socket")

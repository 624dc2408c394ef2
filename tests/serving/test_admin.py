"""The admin API: what a server says of itself, and to whom."""

import json

import pytest

from mockserver import __version__
from mockserver.control.settings import Settings
from mockserver.serving.server import MockServer
from tests.support.http import exchange


def test_health_ready_and_version_are_open_to_everybody(server: MockServer) -> None:
    answers = [json.loads(exchange(server.url, "GET", f"/_mockserver/{name}").body) for name in ("health", "version")]
    assert answers == [{"status": "ok"}, {"name": "mockserver", "version": __version__}]
    ready = json.loads(exchange(server.url, "GET", "/_mockserver/ready").body)
    assert ready == {"status": "ready", "dialects": ["cerebras", "friendli", "ovms", "upstash", "yandex"]}


def test_the_routes_are_listed_with_dialect_and_operation(server: MockServer) -> None:
    rows = json.loads(exchange(server.url, "GET", "/_mockserver/routes").body)["routes"]
    wanted = {"method": "POST", "path": "/ovms/v3/completions", "dialect": "ovms", "operation": "completions"}
    assert wanted in rows


def test_settings_are_shown_without_secrets() -> None:
    settings = Settings(port=0, latency="off", auth=("secret-1", "secret-2"), admin_token="hush")
    with MockServer(settings) as server:
        refused = exchange(server.url, "GET", "/_mockserver/settings")
        shown = exchange(server.url, "GET", "/_mockserver/settings", headers={"authorization": "Bearer hush"})
    assert (refused.status, shown.status) == (401, 200)
    assert b"secret" not in shown.body
    assert b"hush" not in shown.body


def test_an_unknown_admin_path_is_told_the_known_ones(server: MockServer) -> None:
    answer = exchange(server.url, "GET", "/_mockserver/rutes")
    assert answer.status == 404
    assert "routes" in json.loads(answer.body)["error"]["message"]


@pytest.mark.parametrize("dialect", ["cerebras", "friendli", "ovms", "upstash", "yandex"])
def test_every_dialect_serves_its_openapi_document(server: MockServer, dialect: str) -> None:
    document = json.loads(exchange(server.url, "GET", f"/{dialect}/openapi.json").body)
    assert document["openapi"] == "3.1.0"
    assert document["paths"]

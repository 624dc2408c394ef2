"""The admin API's catalogue, pictures of latencies, and settings that change at run time."""

import json

import pytest

from mockserver import MockServer
from mockserver.core.installed import load_dialects
from mockserver.faults.catalogue import FAULTS
from mockserver.latency.profiles import presets
from mockserver.state.settings import Settings
from tests.support.http import exchange
from tests.support.questions import QUESTIONS


def test_the_catalogue_names_all_that_can_be_asked_for(server: MockServer) -> None:
    known = json.loads(exchange(server.url, "GET", "/_mockserver/catalogue").body)
    assert [each["name"] for each in known["dialects"]] == sorted(load_dialects())
    assert [each["kind"] for each in known["faults"]] == list(FAULTS)
    assert [each["name"] for each in known["presets"]] == list(presets())
    [error] = [each for each in known["faults"] if each["kind"] == "error"]
    choices = {setting["name"]: setting["choices"] for setting in error["settings"]}
    assert "rate_limit" in choices["error"]
    assert choices["retry_after_as"] == ["seconds", "ms", "date"]


@pytest.mark.parametrize(
    "of, first, gap", [("off", 0, 0), ("ttft=200ms, rate=50 tok/s", 0.2, 0.02), ("slow", 1.5, 0.1)]
)
def test_a_latency_is_drawn_by_quantiles(server: MockServer, of: str, first: float, gap: float) -> None:
    path = f"/_mockserver/latency?dialect=ovms&of={of.replace(' ', '%20')}"
    picture = json.loads(exchange(server.url, "GET", path).body)
    assert picture["ttft"] == pytest.approx([first] * 100)
    assert picture["gaps"] == pytest.approx([gap] * 100)


@pytest.mark.parametrize(
    "query, said", [("of=quick", "unknown preset"), ("of=off&dialect=none", "unknown dialect 'none'")]
)
def test_a_latency_that_cannot_be_read_is_told_why(server: MockServer, query: str, said: str) -> None:
    answer = exchange(server.url, "GET", f"/_mockserver/latency?{query}")
    assert answer.status == 400
    assert said in json.loads(answer.body)["error"]["message"]


def test_settings_change_for_the_requests_that_come_from_then_on() -> None:
    path, body = QUESTIONS["cerebras"]
    with MockServer(Settings(port=0, latency="off", log_level="error")) as server:
        before = exchange(server.url, "POST", path, body)
        changed = exchange(server.url, "PATCH", "/_mockserver/settings", {"seed": 7, "latency": "ttft=30ms"})
        after = exchange(server.url, "POST", path, body)
        told = json.loads(exchange(server.url, "GET", "/_mockserver/journal/2").body)
    assert json.loads(changed.body) == {"changed": ["seed", "latency"]}
    assert before.body != after.body
    assert (told["seed"], told["timing"]["ttft_due"]) == (7, 0.03)


@pytest.mark.parametrize("values, said", [
    ({"seed": "x"}, "seed: 'x' is not a whole number"),
    ({"port": 1}, "Known: seed, edition"),
    ({"latency": "slo"}, "Did you mean 'slow'?"),
    ([], "must be a JSON object"),
])  # fmt: skip
def test_settings_that_cannot_be_meant_change_nothing(server: MockServer, values: object, said: str) -> None:
    before = exchange(server.url, "GET", "/_mockserver/settings").body
    answer = exchange(server.url, "PATCH", "/_mockserver/settings", values)
    assert answer.status == 400
    assert said in json.loads(answer.body)["error"]["message"]
    assert exchange(server.url, "GET", "/_mockserver/settings").body == before


def test_the_settings_of_a_namespace_alone_are_shown(server: MockServer) -> None:
    for space in ("", "/ns/a"):
        path = f"/_mockserver{space}/settings"
        assert exchange(server.url, "PUT", path, {"speed": 3}).status == 200
        told = json.loads(exchange(server.url, "GET", path).body)
        assert (told["own"] if not space else told) == {"speed": 3}
        assert json.loads(exchange(server.url, "PUT", path, {}).body) == {}


def test_quotas_tell_what_is_left() -> None:
    settings = Settings(port=0, latency="off", log_level="error", quota="requests=10/min, dialect=cerebras")  # type: ignore[arg-type]
    path, body = QUESTIONS["cerebras"]
    with MockServer(settings) as server:
        exchange(server.url, "POST", path, body)
        [limit] = json.loads(exchange(server.url, "GET", "/_mockserver/quotas").body)["limits"]
    assert (limit["dialect"], limit["limit"], limit["amount"], limit["remaining"]) == (
        "cerebras", "requests per minute", 10, 9,
    )  # fmt: skip

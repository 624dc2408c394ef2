"""The admin API: what it says about the server, and who has access."""

import asyncio
import json
import socket
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.testclient import TestClient

from mockserver import MockServer, __version__, create_app
from mockserver.core.dialects import EDITIONS
from mockserver.core.installed import load_dialects
from mockserver.dialects.documents import DEGREES
from mockserver.faults.parse_faults import read_faults
from mockserver.server.handler import SOUGHT
from mockserver.server.listener import Listener
from mockserver.state.settings import RouteSettings, Settings
from tests.support.http import exchange
from tests.support.waiting import until


def test_health_ready_and_version_are_open_to_everybody(server: MockServer) -> None:
    answers = [json.loads(exchange(server.url, "GET", f"/_mockserver/{name}").body) for name in ("health", "version")]
    assert answers == [{"status": "ok"}, {"name": "mockserver", "version": __version__}]
    ready = json.loads(exchange(server.url, "GET", "/_mockserver/ready").body)
    assert ready == {"status": "ready", "dialects": [*load_dialects()]}


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


@pytest.mark.parametrize(
    "settings, key, said",
    [
        ({"admin_token": "hush"}, "", "requires the header `Authorization: Bearer` with the server's admin token."),
        ({"admin_token": "hush"}, "Bearer hash", "The admin token is not the server's"),
        ({"admin_token": "hush"}, "hush", "requires the header `Authorization: Bearer`"),
        ({"admin_token": "hush"}, "Basic hush", "requires the header `Authorization: Bearer`"),
        ({"admin_token": "hush"}, "Bearerhush", "requires the header `Authorization: Bearer`"),
        ({"admin_token": "hush"}, "Bearer", "requires the header `Authorization: Bearer`"),
        ({"admin_token": "hush"}, "Bearer hus\xe9", "The admin token is not the server's"),
        (
            {"host": "0.0.0.0"},
            "Bearer hush",
            "is closed, as the server listens beyond loopback and has no admin token.",
        ),
    ],
)
def test_a_closed_admin_api_says_what_opens_it(settings: dict[str, str], key: str, said: str) -> None:
    transport = httpx.ASGITransport(create_app(Settings(**settings)))  # type: ignore[arg-type]

    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(transport=transport, base_url="http://mock") as client:
            return await client.get("/_mockserver/stubs", headers={b"authorization": key.encode("latin-1")})

    refused = asyncio.run(ask())
    assert refused.status_code == 401
    assert said in refused.json()["error"]["message"]


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "Bearer  "])
def test_the_name_of_the_scheme_has_no_case(scheme: str) -> None:
    with MockServer(Settings(port=0, admin_token="hush")) as server:
        shown = exchange(server.url, "GET", "/_mockserver/settings", headers={"authorization": f"{scheme} hush"})
    assert shown.status == 200


def test_settings_are_shown_with_rules_in_words_and_without_their_keys() -> None:
    fault = read_faults('{ kind = "cut", after_event = 3, match = { prompt = "x" } }')
    route = RouteSettings("/mine", "ovms", "completions", faults=fault)
    limits = {"requests": "3/min", "dialect": "yandex", "key": "hush"}
    with MockServer(Settings(port=0, latency="off", routes=(route,)), fault=fault, quota=limits) as server:
        answer = exchange(server.url, "GET", "/_mockserver/settings")
    shown = json.loads(answer.body)
    words = ["cut, after_event=3 where prompt containing 'x'"]
    assert (shown["fault"], shown["routes"][0]["faults"], shown["routes"][0]["path"]) == (words, words, "/mine")
    assert shown["quota"] == ["requests=3 per minute, dialect=yandex, for one key"]
    assert b"hush" not in answer.body


def test_an_unknown_admin_path_is_told_the_known_ones(server: MockServer) -> None:
    answer = exchange(server.url, "GET", "/_mockserver/rutes")
    assert answer.status == 404
    assert "routes" in json.loads(answer.body)["error"]["message"]


@pytest.mark.parametrize("path", SOUGHT)
def test_what_is_sought_at_the_root_is_there_below_the_admin_prefix_and_a_404_says_so(
    server: MockServer, path: str
) -> None:
    sought, own = exchange(server.url, "GET", path), exchange(server.url, "GET", f"/_mockserver{path}")
    assert own.status == 200
    if sought.status == 404:
        assert json.loads(sought.body)["error"]["message"].endswith(f" The server's own is at /_mockserver{path}.")
    else:
        assert path in ("/health", "/metrics"), "which FriendliAI and OpenVINO Model Server serve, too"


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [("PUT", "/faults", "DELETE, GET, HEAD, POST"), ("POST", "/routes", "GET, HEAD"), ("GET", "/verify", "POST")],
)
def test_an_admin_path_names_the_methods_that_it_takes(
    server: MockServer, method: str, path: str, allowed: str
) -> None:
    answer = exchange(server.url, method, f"/_mockserver{path}")
    assert (answer.status, dict(answer.headers)["allow"]) == (405, allowed)
    assert f"accepts {allowed}, not {method}" in json.loads(answer.body)["error"]["message"]


def test_every_dialect_serves_its_openapi_document_and_its_claims(server: MockServer) -> None:
    for dialect in load_dialects():
        document = json.loads(exchange(server.url, "GET", f"/{dialect}/openapi.json").body)
        assert document["openapi"] == "3.1.0"
        assert document["paths"]
        claims = json.loads(exchange(server.url, "GET", f"/{dialect}/conformance.json").body)
        known = Counter(claim["known"] for claim in claims["claims"])
        assert claims["known"] == {
            **dict.fromkeys(DEGREES, 0),
            **known,
            "guess": known["guess"] + len(claims["deviations"]["guesses"]),
        }
        assert all(claim["date"] or claim["known"] == "guess" for claim in claims["claims"])


def test_a_namespace_serves_openapi_documents_of_its_own_edition(server: MockServer) -> None:
    def document(path: str, **headers: str) -> bytes:
        answer = exchange(server.url, "GET", path, None, headers)
        assert answer.status == 200, answer.body
        return answer.body

    usual, observed = (document(f"/cerebras/openapi.json?edition={edition}") for edition in EDITIONS)
    assert usual != observed
    assert document("/ns/newer/cerebras/openapi.json") == document("/cerebras/openapi.json") == usual
    assert exchange(server.url, "PUT", "/_mockserver/ns/newer/settings", {"edition": "observed"}).status == 200
    assert document("/ns/newer/cerebras/openapi.json") == observed
    assert document("/cerebras/openapi.json", **{"x-mockserver-namespace": "newer"}) == observed
    assert document("/ns/newer/cerebras/openapi.json?edition=documented") == usual
    assert document("/ns/other/cerebras/openapi.json") == usual
    nameless = exchange(server.url, "GET", f"/ns/{'x' * 201}/cerebras/openapi.json")
    assert (nameless.status, b"longer than 200 characters" in nameless.body) == (400, True)
    assert exchange(server.url, "GET", "/ns/newer/nobody/openapi.json").status == 404


def test_faults_are_armed_listed_and_taken_back_by_namespace(server: MockServer) -> None:
    here, body = "/_mockserver/ns/armed/faults", {"model": "m", "prompt": "hi"}
    rule = {"name": "busy", "kind": "error", "error": "rate_limit", "times": 2}
    assert exchange(server.url, "POST", here, rule).status == 201
    statuses = [exchange(server.url, "POST", "/ns/armed/cerebras/v1/completions", body).status for _ in range(3)]
    assert statuses == [429, 429, 200]
    assert exchange(server.url, "POST", "/ns/other/cerebras/v1/completions", body).status == 200
    [listed] = json.loads(exchange(server.url, "GET", here).body)["faults"]
    assert (listed["name"], listed["kind"], listed["matched"], listed["applied"]) == ("busy", "error", 3, 2)
    assert json.loads(exchange(server.url, "GET", "/_mockserver/faults").body) == {"faults": []}
    assert exchange(server.url, "DELETE", f"{here}/busy").status == 200
    assert "Armed: none" in json.loads(exchange(server.url, "DELETE", f"{here}/busy").body)["error"]["message"]


@pytest.mark.parametrize(
    ("prefix", "headers", "meant"),
    [
        ("", {}, ""),
        ("/ns/a", {}, "a"),
        ("", {"x-mockserver-namespace": "a"}, "a"),
        ("", {"authorization": "Bearer mock-ns-a"}, "a"),
        ("", {"x-api-key": "mock-ns-a"}, "a"),
        ("", {"x-mockserver-namespace": "a", "authorization": "Bearer mock-ns-b"}, "a"),
        ("", {"x-mockserver-namespace": "", "authorization": "Bearer sk-1"}, ""),
        ("/ns/a", {"x-mockserver-namespace": "a", "api-key": "mock-ns-a"}, "a"),
        ("/ns/a", {"x-mockserver-namespace": "b"}, "The path is of the namespace 'a', but"),
        ("/ns/a", {"authorization": "Bearer mock-ns-b"}, "names 'b'. Send only one of them"),
        ("", {"x-mockserver-namspace": "a"}, "Did you mean 'x-mockserver-namespace'?"),
        ("", {"x-mockserver-namespace": "a b"}, "cannot contain slashes or spaces"),
    ],
)
def test_a_request_acts_on_the_namespace_that_it_names_and_on_no_other(
    prefix: str, headers: dict[str, str], meant: str
) -> None:
    client, names = TestClient(create_app()), ("", "a", "b")
    answer = client.post(f"/_mockserver{prefix}/clock", json={"advance": 5}, headers=headers)
    ahead = [client.get(f"/_mockserver{name and f'/ns/{name}'}/clock").json()["ahead"] for name in names]
    if meant in names:
        assert (answer.status_code, ahead) == (200, [5.0 * (name == meant) for name in names])
    else:
        assert (answer.status_code, ahead) == (400, [0.0] * 3)
        assert meant in answer.json()["error"]["message"]
    for method, path in (("DELETE", "stubs"), ("DELETE", "faults"), ("DELETE", "journal"), ("POST", "reset")):
        other = client.request(method, f"/_mockserver{prefix}/{path}", headers=headers)
        assert other.status_code == answer.status_code


@pytest.mark.parametrize(
    ("method", "path", "status", "said"),
    [
        ("PATCH", "/settings", 400, "PATCH changes the settings of the whole server. Those of one namespace"),
        ("DELETE", "/stubs?namespace=a", 400, "unknown parameter 'namespace'. Known: none. A namespace is named in"),
        ("DELETE", "/stubs", 400, "takes no body: what it acts on is in the path"),
        ("POST", "/reset", 400, "takes no body: what it acts on is in the path"),
        ("DELETE", "/stubs/", 404, "unknown path of the admin API 'stubs/'. Did you mean 'stubs'?"),
        ("PUT", "/stubs/", 404, "unknown path of the admin API 'stubs/'. Did you mean 'stubs'?"),
        ("GET", "/ns/a/fault", 404, "unknown path of the admin API 'fault'. Did you mean 'faults'?"),
        ("GET", "/ns/a/routes", 404, "For the whole server there is /_mockserver/routes"),
    ],
)
def test_what_is_not_clearly_meant_changes_nothing(method: str, path: str, status: int, said: str) -> None:
    client, places = TestClient(create_app()), ("/_mockserver/stubs", "/_mockserver/ns/a/stubs")
    for place in places:
        client.put(place, json={"name": "kept", "reply": "x"})
    body, headers = {"name": "other"}, {"x-mockserver-namespace": "a"}
    answer = client.request(method, f"/_mockserver{path}", headers=headers, json=body)
    assert (answer.status_code, said in answer.json()["error"]["message"]) == (status, True)
    assert [[stub["name"] for stub in client.get(place).json()["stubs"]] for place in places] == [["kept"]] * 2
    elsewhere = client.request(method, f"/ns/a/_mockserver{path}")
    assert (elsewhere.status_code, "of a namespace at /_mockserver/ns/<name>/" in elsewhere.text) == (404, True)


def test_a_reset_forgets_what_a_namespace_has_armed_and_counted(server: MockServer) -> None:
    here, body = "/_mockserver/ns/again/faults", {"model": "m", "prompt": "hi"}
    exchange(server.url, "POST", here, {"kind": "html"})
    exchange(server.url, "DELETE", here)
    assert exchange(server.url, "POST", "/ns/again/cerebras/v1/completions", body).headers[0][1] == "application/json"


@pytest.mark.parametrize("fault", [{"kind": "htlm"}, [], "cut", b"{", {"kind": "cut", "after": 1}])
def test_a_fault_that_cannot_be_is_not_armed(server: MockServer, fault: object) -> None:
    answer = exchange(server.url, "POST", "/_mockserver/faults", fault)
    assert answer.status == 400
    assert json.loads(answer.body)["error"]["message"].find('{"kind": "cut", "after_event": 5}') > 0


def test_a_fault_that_could_not_hit_is_not_counted_as_hit(server: MockServer) -> None:
    here, path = "/_mockserver/ns/spared/faults", "/ns/spared/cerebras/v1/completions"

    def faulted(wish: dict[str, str] | None = None, **fields: object) -> tuple[int, int, int]:
        """The status of a stream's answer, and how many requests have matched and have had the fault so far."""
        body = {"model": "m", "prompt": "hi", "stream": True, **fields}
        status = exchange(server.url, "POST", path, body, wish).status
        [listed] = json.loads(exchange(server.url, "GET", here).body)["faults"]
        return status, listed["matched"], listed["applied"]

    assert exchange(server.url, "POST", here, {"kind": "cut", "after_event": 50, "times": 1}).status == 201
    assert faulted(max_tokens=5) == (200, 1, 0)
    # Nor where a wish turns out to be none that can be obeyed, or the answer is planned in a thread.
    assert faulted({"x-mockserver-reply": '{ tool_calls = [ { name = "a" } ] }'}) == (400, 2, 0)
    assert faulted({"x-mockserver-fault": "error"}, max_tokens=5_000) == (500, 3, 0)
    assert faulted(max_tokens=5_000, min_tokens=5_000) == (200, 4, 1)
    assert faulted(max_tokens=5_000) == (200, 5, 1)


def test_a_scenario_is_armed_act_by_act_and_taken_back_with_the_rest(server: MockServer) -> None:
    path = "/_mockserver/ns/play/faults"
    assert json.loads(exchange(server.url, "POST", path, {"scenario": "slow-recovery"}).body) == {
        "armed": "slow-recovery"
    }
    names = [fault["name"] for fault in json.loads(exchange(server.url, "GET", path).body)["faults"]]
    assert names == ["slow-recovery 1", "slow-recovery 2", "slow-recovery 3"]
    exchange(server.url, "DELETE", path)
    assert json.loads(exchange(server.url, "GET", path).body) == {"faults": []}


def test_faults_without_names_do_not_replace_one_another_but_themselves_and_what_has_their_name(
    server: MockServer,
) -> None:
    here = "/_mockserver/ns/unnamed/faults"
    busy, late = ({"kind": "error", "error": error, "match": {"model": error}} for error in ("rate_limit", "timeout"))
    storm = {"scenario": "retry-storm"}
    armed = [busy, late, busy, storm, {**storm, "for": 5}, storm, {**late, "name": "retry-storm"}]
    names = [json.loads(exchange(server.url, "POST", here, each).body)["armed"] for each in armed]
    assert names == ["error", "error-2", "error", "retry-storm", "retry-storm-2", "retry-storm", "retry-storm"]
    listed = {each["name"] for each in json.loads(exchange(server.url, "GET", here).body)["faults"]}
    assert listed == {"error", "error-2", "retry-storm-2 1", "retry-storm-2 2", "retry-storm"}
    refused = exchange(server.url, "POST", here, {"name": "error", "kind": "refuse"})
    assert (refused.status, exchange(server.url, "DELETE", f"{here}/error").status) == (400, 200)


def test_a_scenario_is_taken_back_by_its_name(server: MockServer) -> None:
    here = "/_mockserver/ns/staged/faults"
    name = json.loads(exchange(server.url, "POST", here, {"scenario": "retry-storm"}).body)["armed"]
    assert len(json.loads(exchange(server.url, "GET", here).body)["faults"]) == 2
    assert exchange(server.url, "DELETE", f"{here}/{name}").status == 200
    assert json.loads(exchange(server.url, "GET", here).body) == {"faults": []}


@pytest.mark.parametrize("path", ["faults", "settings"])
@pytest.mark.parametrize("dialect", ["cerebra", {"equals": "cerebra"}, {"one_of": ["ovms", "cerebra"]}])
def test_a_fault_for_what_does_not_exist_is_not_armed(server: MockServer, path: str, dialect: object) -> None:
    fault = {"kind": "cut", "match": {"dialect": dialect}}
    method, body = ("POST", fault) if path == "faults" else ("PUT", {"fault": [fault]})
    answer = exchange(server.url, method, f"/_mockserver/ns/nowhere/{path}", body)
    assert answer.status == 400
    assert "Did you mean 'cerebras'?" in json.loads(answer.body)["error"]["message"]


def test_a_reset_mends_the_listener_too() -> None:
    with MockServer() as server:
        # A connection that was made before is answered, even if the listener has already failed.
        kept = HTTPConnection(urlsplit(server.url).netloc, timeout=30)
        asked_over(kept, "POST", "/_mockserver/faults", {"kind": "accept_nothing", "from": 0.2, "for": 600})
        asked_over(kept, "POST", "/_mockserver/reset")
        time.sleep(0.4)
        kept.close()
        assert exchange(server.url, "GET", "/_mockserver/health").status == 200


def asked_over(connection: HTTPConnection, method: str, path: str, body: object = None) -> tuple[int, bytes]:
    """The answer over a connection that is kept: its status and its body."""
    connection.request(method, path, json.dumps(body), {"content-type": "application/json"})
    answer = connection.getresponse()
    return answer.status, answer.read()


def test_a_fault_of_the_listener_is_everybodys(server: MockServer) -> None:
    answer = exchange(server.url, "POST", "/_mockserver/ns/mine/faults", {"kind": "refuse", "for": 0.1})
    assert answer.status == 400
    assert "without a namespace" in json.loads(answer.body)["error"]["message"]


def test_a_listener_fails_when_it_is_told_to_and_serves_again(monkeypatch: pytest.MonkeyPatch) -> None:
    states: list[str] = []
    settle = Listener._settle

    async def settle_noted(listener: Listener) -> None:
        await settle(listener)
        states.append(listener.state)

    monkeypatch.setattr(Listener, "_settle", settle_noted)
    with MockServer() as failing:
        assert exchange(failing.url, "POST", "/_mockserver/faults", {"kind": "refuse", "for": 0.2}).status == 201
        until(lambda: states == ["open", "refuse", "open"])
        assert exchange(failing.url, "GET", "/_mockserver/health").status == 200
        assert exchange(failing.url, "POST", "/_mockserver/faults", {"kind": "refuse", "for": 600}).status == 201
        until(lambda: states[3:] == ["refuse"])
        with pytest.raises(ConnectionRefusedError):
            exchange(failing.url, "GET", "/_mockserver/health")


def test_a_page_of_another_origin_cannot_reach_the_admin_api(server: MockServer) -> None:
    path, body = "/_mockserver/faults", {"kind": "html"}
    foreign = exchange(server.url, "POST", path, body, {"origin": "http://localhost:5173"})
    assert (foreign.status, json.loads(exchange(server.url, "GET", path).body)) == (403, {"faults": []})
    assert "other origins only with the admin token" in json.loads(foreign.body)["error"]["message"]
    assert exchange(server.url, "GET", path, None, {"origin": server.url}).status == 200


def test_a_page_of_another_origin_that_knows_the_token_can_use_the_admin_api() -> None:
    path, origin = "/_mockserver/ns/page/stubs", {"origin": "http://localhost:5173"}
    wish = {"access-control-request-method": "PUT", "access-control-request-headers": "authorization,content-type"}
    key = {"authorization": "Bearer secret"}
    with MockServer(admin_token="secret") as server:
        asked = exchange(server.url, "OPTIONS", path, None, {**origin, **wish})
        told = dict(asked.headers)
        assert asked.status == 204
        assert told["access-control-allow-headers"] == wish["access-control-request-headers"]
        assert "PUT" in told["access-control-allow-methods"]
        foreign = {"origin": "https://evil.example"}
        for more in (foreign, {**foreign, **key}):
            refused = exchange(server.url, "PUT", path, b'{"reply": "a"}', more)
            assert (refused.status, "access-control-allow-origin" in dict(refused.headers)) == (403, False)
        for body, more, status in ((b'{"reply": "a"}', key, 200), (b"{", key, 400), (b"{}", {}, 401)):
            answer = exchange(server.url, "PUT", path, body, {**origin, **more})
            assert (answer.status, dict(answer.headers)["access-control-allow-origin"]) == (status, origin["origin"])
        assert "access-control-allow-origin" not in dict(exchange(server.url, "GET", path, None, key).headers)


def test_a_rule_has_a_name_of_its_own_beside_all_settings_of_its_kind(server: MockServer) -> None:
    path = "/_mockserver/ns/named/faults"
    table = {"name": "wide", "kind": "encoding", "charset": "utf-16-be"}
    assert json.loads(exchange(server.url, "POST", path, table).body) == {"armed": "wide"}
    [told] = json.loads(exchange(server.url, "GET", path).body)["faults"]
    assert (told["name"], told["settings"]) == ("wide", {"charset": "utf-16-be"})


@pytest.mark.parametrize("path", ["journal?limit={}", "journal?after={}", "journal/{}"])
def test_a_number_of_any_length_is_told_to_be_none(server: MockServer, path: str) -> None:
    answer = exchange(server.url, "GET", f"/_mockserver/{path.format('9' * 5000)}")
    assert answer.status in (400, 404)


def test_a_stub_that_nobody_could_list_is_refused(server: MockServer) -> None:
    deep: object = 1
    for _ in range(260):
        deep = [deep]
    answer = exchange(server.url, "POST", "/_mockserver/ns/deep/stubs", {"reply": {"json": deep}})
    assert answer.status == 400
    assert "is nested too deeply" in json.loads(answer.body)["error"]["message"]
    assert exchange(server.url, "GET", "/_mockserver/ns/deep/stubs").status == 200


def test_a_client_of_the_admin_api_may_leave_in_the_middle(
    server: MockServer, caplog: pytest.LogCaptureFixture
) -> None:
    place = urlsplit(server.url)
    with socket.create_connection((place.hostname, place.port)) as client:
        client.sendall(b"POST /_mockserver/ns/left/stubs HTTP/1.1\r\nhost: localhost\r\ncontent-length: 50\r\n\r\n{")
    assert exchange(server.url, "GET", "/_mockserver/ns/left/stubs").status == 200
    assert caplog.records == []


def test_who_waits_for_something_when_the_server_stops_is_told_that_it_will_not_come() -> None:
    with ThreadPoolExecutor() as threads:
        with MockServer() as server:
            wanted = "/_mockserver/wait?requests=100&seconds=60"
            waiting = threads.submit(exchange, server.url, "GET", wanted)
            until(lambda: bool(server.state.tasks))
        assert waiting.result(timeout=10).status == 503

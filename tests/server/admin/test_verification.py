"""The admin API for tests in any language: waiting, checks, the verdict, and settings of a namespace's own."""

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from mockserver import MockServer
from tests.support.http import Transcript, exchange

BODY = {"model": "m", "prompt": "hello", "max_tokens": 4}
_numbers = count(1)


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    with MockServer() as running:
        yield running


@pytest.fixture
def space(server: MockServer) -> str:
    return f"admin-{next(_numbers)}"


def admin(server: MockServer, space: str, method: str, path: str, body: object = None) -> tuple[int, Any]:
    answer = exchange(server.url, method, f"/_mockserver/ns/{space}{path}", body)
    return answer.status, json.loads(answer.body)


def ask(server: MockServer, space: str, **fields: Any) -> Transcript:
    return exchange(server.url, "POST", f"/ns/{space}/cerebras/v1/completions", BODY | fields)


def test_checks_are_run_over_the_admin_api(server: MockServer, space: str) -> None:
    ask(server, space)
    checks = [{"calls": 1, "match": {"dialect": "cerebras"}}, {"all_used": True}, {"contract": True}]
    passed = [{"check": name, "passed": True} for name in ("calls", "all_used", "contract")]
    assert admin(server, space, "POST", "/verify", {"checks": checks}) == (200, {"passed": True, "checks": passed})
    status, told = admin(server, space, "POST", "/verify", {"checks": [{"never": True}]})
    assert (status, told["passed"]) == (417, False)
    assert told["checks"][0]["problem"].startswith("Expected no request, found 1:\n  #1 cerebras completions m 'hello'")


def test_an_order_is_looked_for_among_the_requests_that_match(server: MockServer, space: str) -> None:
    for prompt in ("alpha", "an x"):
        ask(server, space, prompt=prompt)
    order = {"in_order": [{"prompt": {"contains": "x"}}], "match": {"prompt": {"contains": "alpha"}}}
    status, told = admin(server, space, "POST", "/verify", {"checks": [order]})
    assert (status, told["passed"]) == (417, False)
    status, _ = admin(server, space, "POST", "/verify", {"checks": [{"in_order": order["in_order"]}]})
    assert status == 200


def test_what_is_forgotten_is_told_wherever_it_is_missing() -> None:
    with MockServer(journal=1) as server:
        for _ in range(3):
            ask(server, "loss")
        forgotten = {"exchanges": 2, "questions": 2}
        journal = admin(server, "loss", "GET", "/journal")[1]
        assert (journal["opened"], journal["forgotten"], len(journal["exchanges"])) == (3, forgotten, 1)
        assert admin(server, "loss", "POST", "/journal/filter", {})[1]["forgotten"] == forgotten
        assert admin(server, "loss", "GET", "/wait?requests=3&seconds=0.01")[1]["happened"]
        checks = [{"calls": 3}, {"never": True, "match": {"model": "n"}}, {"resilience": True}]
        status, told = admin(server, "loss", "POST", "/verify", {"checks": checks})
        assert (status, [check["passed"] for check in told["checks"]]) == (417, [True, False, False])
        assert all("has forgotten 2 exchanges" in check["problem"] for check in told["checks"][1:])
        assert "has forgotten 2 exchanges" in admin(server, "loss", "GET", "/report")[1]["unjudged"][0]["why"]


@pytest.mark.parametrize(
    "method, path, body, words",
    [
        ("POST", "/verify", {"checks": [{"cals": 1}]}, "Did you mean 'calls'?"),
        (
            "POST",
            "/verify",
            {"checks": [{"calls": 1, "match": {"modl": "m"}}]},
            "checks[0]: match: unknown field 'modl'",
        ),
        ("POST", "/verify", {"checks": [{"resilience": {"handles": "x"}}]}, "handles: unknown value 'x'"),
        ("POST", "/journal/filter", {"match": {"modl": 1}}, "unknown field 'modl'"),
        ("GET", "/report?handles=maybe", None, "handles: unknown value 'maybe'"),
        ("GET", "/report?patience=long", None, "patience: 'long' is not a number"),
        ("GET", "/report?nonsense=1", None, "unknown parameter 'nonsense'"),
        ("GET", "/wait?seconds=-1", None, "seconds: '-1' is not a number from 0 to 600"),
        (
            "GET",
            "/wait?requests=1&timeout=2",
            None,
            "unknown parameter 'timeout'. Known: requests, deliveries, seconds",
        ),
        ("POST", "/verify", {"checks": [{"never": True}], "strict": True}, "unknown key 'strict'. Known: checks"),
        ("GET", "/wait?requests=1.5", None, "requests: '1.5' is not a whole number"),
        ("GET", "/report?least_attempts=inf", None, "least_attempts: inf is not a whole number"),
        ("GET", "/journal/first", None, "The journal has no exchange 'first': exchanges have numbers"),
        ("POST", "/clock", {}, "advance: is missing, as in"),
        ("POST", "/replay", {"recording": "{}", "mach": "exact"}, "unknown key 'mach'. Did you mean 'match'?"),
        ("POST", "/stubs", [{"reply": "x"}], '"reply": "It rains."}, and several {"stubs": [...]}'),
        ("POST", "/stubs", {"match": {"method": "post"}, "reply": "x"}, "match: no operation has method 'post'"),
        (
            "POST",
            "/stubs",
            {"match": {"path": "/v1/fils"}, "reply": "x"},
            "has to give a body: { body",
        ),
        ("POST", "/stubs", {"match": {"path": "/openai/v1/files"}, "reply": {"body": 1}}, "own path has no /openai in"),
        ("POST", "/stubs", {"match": {"path": "/v1/mesages"}, "reply": {"body": 1}}, "Did you mean '/v1/messages'?"),
        ("POST", "/stubs", {"match": {"path": "/v1/files/{id}"}, "error": "rate_limit"}, "regex = '^/v1/files/[^/]+$'"),
        ("POST", "/stubs", {"match": {"path": "/v1/files"}, "reply": {"body": 1}, "latency": "fast"}, 'kind = "stall"'),
        ("POST", "/stubs", {"match": {"operation": "models"}, "latency": "fast"}, "latency: no model answers what"),
        ("POST", "/stubs", {"match": {"operation": "models"}, "output_tokens": 4}, "output_tokens: no model answers"),
        ("POST", "/stubs", {"match": {"path": "/v1/embeddings"}, "faults": "cut"}, "'cut' cannot be applied to what"),
        ("POST", "/stubs", {"match": {"dialect": "oai", "path": "/v1/files"}, "reply": {"body": 1}}, "unknown dialect"),
        (
            "POST",
            "/stubs",
            {"match": {"dialect": "cerebras", "operation": "messages"}, "faults": "reset"},
            "match: no operation has dialect 'cerebras' and operation 'messages'",
        ),
        (
            "POST",
            "/faults",
            {"kind": "reset", "match": {"path": "/cerebras/v1/completions"}},
            "path '/cerebras/v1/completions'. A dialect's own path has no /cerebras in front; name the dialect",
        ),
        (
            "POST",
            "/stubs",
            {"match": {"stream": {"not": True}}, "reply": {"faults": "cut"}},
            "'cut' needs a stream, but the match excludes streams",
        ),
        ("POST", "/faults", {"kind": "cut", "match": {"path": "/v1/runs"}}, "but no operation has path '/v1/runs'"),
        ("POST", "/stubs", {"match": {"path": "/v1/runs"}, "faults": "cut", "reply": {"body": 1}}, "'cut' needs an"),
        ("POST", "/faults", {"kind": "cut", "match": {"stream": False}}, "'cut' needs a stream, but the match"),
        (
            "POST",
            "/faults",
            {"kind": "repeat", "match": {"operation": "moderations"}},
            "'repeat' cannot be applied to what the match is for (openai's moderations)",
        ),
        ("POST", "/faults", {"kind": "reset", "name": 5}, "name: 5 is not a string"),
        ("PUT", "/stubs/a", {"name": "b", "reply": "x"}, "name: 'b' is not the name in the path, 'a'"),
        (
            "PUT",
            "/stubs",
            {"stubs": [{"name": "a", "reply": "x"}, {"name": "a", "reply": "y"}]},
            "two stubs are named 'a'",
        ),
        ("PUT", "/settings", {"auth": []}, "setting auth: [] is not a string"),
        ("PUT", "/settings", {"port": 1}, "A namespace has no setting 'port'."),
        ("PUT", "/settings", {"latency": "fats"}, "latency"),
        ("PUT", "/settings", {"quota": "teir1"}, "setting quota: tier: unknown tier 'teir1'. Did you mean 'tier1'?"),
        ("PUT", "/settings", {"quota": "30/min"}, "A limit is written with its key, as in requests=30/min"),
        ("POST", "/journal/filter", {"modl": "m"}, "unknown key 'modl'"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    server: MockServer, space: str, method: str, path: str, body: object, words: str
) -> None:
    status, told = admin(server, space, method, path, body)
    assert status == (404 if path.startswith("/journal/first") else 400)
    assert words in told["error"]["message"]


def test_the_verdict_is_told_over_the_admin_api(server: MockServer, space: str) -> None:
    server.in_namespace(space).next(2).error("rate_limit", retry_after=5)
    ask(server, space)
    ask(server, space)
    status, told = admin(server, space, "GET", "/report?handles=retry&patience=9")
    assert status == 200
    assert told["clean"] is False
    assert [finding["fault"] for finding in told["findings"]] == ["retry_after_ignored", "gave_up"]
    assert told["calls"][0]["attempts"] == [1, 2]


def test_waiting_says_whether_it_happened(server: MockServer, space: str) -> None:
    assert admin(server, space, "GET", "/wait?requests=1&seconds=0.01") == (200, {"happened": False, "opened": 0})
    ask(server, space)
    assert admin(server, space, "GET", "/wait?requests=1") == (200, {"happened": True, "opened": 1})
    assert admin(server, space, "GET", "/wait") == (200, {"happened": True, "opened": 1})


def test_filtering_tells_who_matches_and_where_the_others_differ(server: MockServer, space: str) -> None:
    ask(server, space)
    ask(server, space, model="n")
    exchange(server.url, "POST", f"/ns/{space}/nowhere", BODY)
    status, told = admin(server, space, "POST", "/journal/filter", {"match": {"model": "n"}})
    assert (status, told["matching"]) == (200, [2])
    differences = {"1": ["model: expected 'n', found 'm'"], "2": [], "3": ["nothing is served at this path"]}
    assert told["differences"] == differences


def test_whoever_has_to_guess_whether_a_request_matches_says_so(server: MockServer, space: str) -> None:
    ask(server, space, prompt="a" * 5000 + "!")
    match = {"prompt": {"regex": "(a|aa)+$"}}
    for path, body in (
        ("/journal/filter", {"match": match}),
        ("/verify", {"checks": [{"never": True, "match": {"not": match}}]}),
    ):
        status, told = admin(server, space, "POST", path, body)
        assert status == 400
        assert "Cannot tell whether request #1 matches: " in told["error"]["message"]
        assert "/(a|aa)+$/" in told["error"]["message"]
    assert admin(server, space, "POST", "/journal/filter", {"match": {**match, "model": "x"}})[0] == 200


def test_a_namespace_has_settings_of_its_own_until_it_gets_others(server: MockServer, space: str) -> None:
    assert admin(server, space, "PUT", "/settings", {"seed": 7}) == (200, {"seed": 7})
    own = {name: value for name, value in ask(server, space).headers if name == "x-mockserver-seed"}
    assert own == {"x-mockserver-seed": "7"}
    assert admin(server, space, "GET", "/settings") == (200, {"seed": 7})
    assert admin(server, space, "PUT", "/settings", {}) == (200, {})
    assert ("x-mockserver-seed", "42") in ask(server, space).headers


def test_settings_of_its_own_are_shown_in_words_and_keys_not_at_all(server: MockServer, space: str) -> None:
    told = {"quota": "free, dialect=cerebras", "fault": '{ kind = "cut", after_event = 3 }', "auth": "hush,hash"}
    shown = {"quota": ["free, dialect=cerebras"], "fault": ["cut, after_event=3"], "auth": "2 keys"}
    assert admin(server, space, "PUT", "/settings", told) == (200, shown)

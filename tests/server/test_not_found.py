"""Paths that nothing serves: the root, opened in a browser; and endpoints of vendors that only stubs answer."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import urljoin

import pytest

from mockserver import MockServer, contains, raw, regex
from mockserver.state.settings import Settings
from tests.support.http import exchange

BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(
    ("place", "location"),
    [("", "_mockserver/ui/"), ("/ns/mine", "../../_mockserver/ui/?ns=mine")],
    ids=["root", "namespace"],
)
def test_a_browser_at_the_root_is_led_to_the_live_page_and_nobody_notes_it(
    server: MockServer, method: str, place: str, location: str
) -> None:
    before = json.loads(exchange(server.url, "GET", f"/_mockserver{place}/journal").body)
    answer = exchange(server.url, method, f"{place}/", headers=BROWSER)
    assert (answer.status, dict(answer.headers)["location"], answer.body) == (307, location, b"")
    assert urljoin(f"{place}/", location).partition("?")[0] == "/_mockserver/ui/"
    assert json.loads(exchange(server.url, "GET", f"/_mockserver{place}/journal").body) == before


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [("GET", "/", {"accept": "*/*"}), ("POST", "/", BROWSER), ("GET", "/index.html", BROWSER)],
)
def test_everybody_else_is_told_what_is_served(
    server: MockServer, method: str, path: str, headers: dict[str, str]
) -> None:
    answer = exchange(server.url, method, path, headers=headers)
    assert answer.status == 404
    assert json.loads(answer.body)["error"]["type"] == "mockserver_no_route"


def test_a_strict_server_and_one_whose_root_is_a_vendors_lead_nobody() -> None:
    with MockServer(Settings(port=0, strict=True)) as strict:
        assert exchange(strict.url, "GET", "/", headers=BROWSER).status == 404
    with MockServer(Settings(port=0, dialect="cerebras")) as vendor:
        answer = exchange(vendor.url, "GET", "/", headers=BROWSER)
        assert (answer.status, "location" in dict(answer.headers)) == (404, False)


IMAGE = {"created": 1, "data": [{"b64_json": "aGk="}]}


def test_a_stub_answers_at_an_endpoint_that_no_dialect_serves() -> None:
    with MockServer() as mock:
        images_path = "/v1/images/generations"
        images = mock.on(method="POST", path=images_path, body={"prompt": "a cat"}).reply(raw(IMAGE))
        mock.stub(
            match={"dialect": "anthropic", "method": "GET", "path": {"regex": "^/v1/files/(?P<id>.+)$"}},
            reply={"body": {"id": "{{groups.id}}"}, "template": True},
        )
        mock.on(method="PATCH", path=regex("^/v1/models/")).reply(lambda request: raw({"changed": request.method}))
        mock.on(prompt=contains("anything")).reply("not elsewhere")
        cat, dog = {"prompt": "a cat"}, {"prompt": "a dog"}
        version = {"anthropic-version": "2023-06-01"}

        def told(method: str, path: str, body: object = None, headers: Mapping[str, str] = MappingProxyType({})) -> Any:
            answer = exchange(mock.url, method, path, body, headers=headers)
            return answer.status, json.loads(answer.body)

        assert told("POST", "/openai/v1/images/generations", cat) == told("POST", "/v1/images/generations", cat)
        assert told("POST", "/v1/images/generations", cat) == (200, IMAGE)
        assert (mock.last.rule, mock.last.path) == (images.name, "/v1/images/generations")
        assert told("GET", "/v1/files/f-1", headers=version) == (200, {"id": "f-1"})
        assert told("PATCH", "/openai/v1/models/ft:mine") == (200, {"changed": "PATCH"})
        # A path with an id is known by that, and by the name of its variable.
        mock.verify.calls(1, method="PATCH", path="/v1/models/ft:mine")
        mock.verify.calls(1, method="PATCH", path="/v1/models/{id}")
        # A request that stubs of its path do not match is told where the nearest differs; any other is refused as if
        # there were no stubs, by the dialect or by us.
        for base in ("", "/openai"):
            status, told_dog = told("POST", f"{base}/v1/images/generations", dog)
            differs = f"Nearest: '{images.name}' (body.prompt: expected 'a cat', found 'a dog')."
            assert (status, told_dog["error"]["message"]) == (404, f"No stub matches this request. {differs}")
            assert mock.last.nearest[0]["name"] == images.name
        assert "dialect: expected 'anthropic', found 'openai'" in told("GET", "/v1/files/f-1")[1]["error"]["message"]
        assert told("POST", "/openai/v1/images/edits", dog)[1]["error"]["message"].startswith("Invalid URL")
        assert told("PUT", "/v1/models/ft:mine")[0] == 405
        assert told("GET", "/v1/elsewhere")[1]["error"]["type"] == "mockserver_no_route"
        slip = told("POST", "/v1/image/generations", cat)[1]["error"]
        assert (slip["nearest"][0], "Did you mean /v1/images/generations? Put" in slip["message"]) == (
            images_path,
            True,
        )


@pytest.mark.parametrize("base", ["", "/openai"], ids=["bare", "openai"])
@pytest.mark.parametrize(
    ("headers", "status", "answer"),
    [
        ({"X-Mockserver-Reply": '{"body": {"data": []}}'}, 200, '{"data": []}'),
        ({"X-Mockserver-Reply": '{"error": "rate_limit"}'}, 429, "rate_limit"),
        ({"X-Mockserver-Reply": "words"}, 400, "this request does not ask a model, so the reply must be a body"),
        (
            {"X-Mockserver-Reply": '{"body": 1, "latency": "fast"}'},
            400,
            "the reply has no latency and no output_tokens",
        ),
        ({"X-Mockserver-Reply": '{"txt": "a"}'}, 400, "X-Mockserver-Reply: reply: unknown key 'txt'"),
        ({"X-Mockserver-Fault": "overloaded"}, 503, "overloaded"),
        ({"X-Mockserver-Fault": "cut"}, 400, "X-Mockserver-Fault: 'cut' needs an answer of the model"),
    ],
)
def test_a_requests_own_headers_decide_its_answer_where_nothing_is_served(
    server: MockServer, base: str, headers: dict[str, str], status: int, answer: str
) -> None:
    told = exchange(server.url, "GET", f"{base}/v1/files", headers=headers)
    assert (told.status, answer in told.body.decode()) == (status, True), told.body


def test_a_function_that_fails_where_nothing_is_served_is_told() -> None:
    with MockServer() as mock:
        mock.on(method="POST", path="/v1/images/edits").reply(lambda request: 1 / 0)
        failed = exchange(mock.url, "POST", "/v1/images/edits", {})
        # It has not missed any other path.
        assert (failed.status, "x-mockserver-hint" in dict(failed.headers)) == (500, False)
        assert "ZeroDivisionError" in str(mock.last.handler_error)
        assert "x-mockserver-hint" in dict(exchange(mock.url, "POST", "/openai/v1/images/edit", {}).headers)


def test_faults_are_applied_to_what_stubs_answer_where_nothing_is_served() -> None:
    with MockServer() as mock:
        mock.on(path="/v1/files").reply(raw({"data": []}))
        for path in ("/v1/files", "/v1/batches"):
            fault = {"kind": "rate_limit", "match": {"path": path}, "times": 1, "name": path}
            assert exchange(mock.url, "POST", "/_mockserver/faults", fault).status == 201
        assert [exchange(mock.url, "GET", "/v1/files").status for _ in range(3)] == [429, 200, 200]
        # Also without a stub; what is for all requests is not for those that are for nobody.
        assert [exchange(mock.url, "GET", "/v1/batches").status for _ in range(2)] == [429, 404]
        assert exchange(mock.url, "POST", "/_mockserver/faults", {"kind": "status", "status": 418}).status == 201
        assert [exchange(mock.url, "GET", path).status for path in ("/v1/batches", "/v1/files")] == [404, 418]


def test_where_nothing_is_served_any_part_of_a_match_may_name_the_path() -> None:
    with MockServer() as mock:
        mock.stub(match={"any": [{"path": "/v1/files"}, {"path": "/v1/batches"}]}, reply={"body": {}})
        mock.stub(match={"all": [{"path": "/v1/uploads"}]}, reply={"body": {}})
        mock.stub(match={"any": [{"path": "/v1/images"}, {"body": {"n": 1}}]}, reply={"body": {}})
        mock.stub(script=[{"match": {"path": "/v1/threads"}, "reply": {"body": {}}}], exhausted="refuse")
        mock.stub(match={"path": "/v1/chat/completions"}, reply={"body": {}})
        paths = ("/v1/files", "/v1/batches", "/v1/uploads", "/v1/threads", "/v1/images", "/v1/chat/completions")
        assert [exchange(mock.url, "PUT", path, {"n": 1}).status for path in paths] == [200, 200, 200, 200, 404, 405]
        mock.stub(match={"path": "/v1/runs"}, replies=[{"body": {}}], exhausted="refuse")
        told = [exchange(mock.url, "GET", "/v1/runs").body.decode() for _ in range(2)]
        assert (told[0], "at most 1 use" in told[1]) == ("{}", True)


def test_a_stub_is_for_one_id_or_for_all() -> None:
    with MockServer() as mock:
        mock.on(method="GET", path="/v1/models/gpt-4o").reply(raw("one"))
        mock.on(method="GET", path="/v1/models/{id}").reply(raw("any"))
        told = [exchange(mock.url, "GET", f"/openai/v1/models/{name}").body for name in ("gpt-4o", "gpt-4o-mini")]
        assert told == [b"one", b"any"]

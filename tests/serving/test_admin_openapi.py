"""The admin API's own document: every route is in it, it is valid, and the server answers as it says."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from mockserver import MockServer
from mockserver.control.settings import Settings
from mockserver.serving.admin.api import admin_api
from mockserver.serving.admin.openapi import OPERATIONS, admin_document, places
from mockserver.serving.admin.schemas import SCHEMAS
from mockserver.serving.app import create_app
from tests.support.http import exchange

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
ROUTES = admin_api(create_app().simulator).routes
DOCUMENT = json.loads(json.dumps(admin_document(ROUTES)))
QUESTION = {"model": "m", "prompt": "hi", "max_tokens": 3}
STUB = {"match": {"prompt": {"contains": "weather"}}, "reply": "It rains."}
VERIFIED = [{"calls": {"at_least": 1}}, {"never": True, "match": {"model": "m"}}, {"cost": 1, "prices": {"*": [0, 0]}}]

# Asked in this order, within one namespace where the operation has one: the line of the table, its path, its body.
ASKED: tuple[tuple[str, str, Any], ...] = (
    ("GET /health", "/health", None),
    ("GET /ready", "/ready", None),
    ("GET /version", "/version", None),
    ("GET /openapi.json", "/openapi.json", None),
    ("GET /routes", "/routes", None),
    ("GET /settings", "/settings", None),
    ("PATCH /settings", "/settings", {"seed": 42}),
    ("PATCH /settings", "/settings", {"host": "elsewhere"}),
    ("GET /catalogue", "/catalogue", None),
    ("GET /latency", "/latency?of=slow&dialect=ovms", None),
    ("GET /latency", "/latency?of=slowly", None),
    ("GET /namespaces", "/namespaces", None),
    ("PUT /settings", "/ns/told/settings", {"quota": "requests=9/min", "latency": "off"}),
    ("PUT /settings", "/ns/told/settings", {"sead": 7}),
    ("GET /ns/{namespace}/settings", "/ns/told/settings", None),
    (
        "POST /stubs",
        "/ns/told/stubs",
        {"stubs": [STUB, {"name": "b/c", "replies": ["x", {"error": "timeout"}], "times": 2}]},
    ),
    ("POST /stubs", "/ns/told/stubs", STUB),
    ("POST /stubs", "/ns/told/stubs", {"reply": 7}),
    ("PUT /stubs/{stub}", "/ns/told/stubs/rain", {**STUB, "times": 2}),
    ("GET /stubs", "/ns/told/stubs", None),
    (
        "POST /faults",
        "/ns/told/faults",
        {"name": "late", "kind": "stall", "seconds": 0.001, "share": [0, 1], "for": 60},
    ),
    ("POST /faults", "/ns/told/faults", {"scenario": "outage", "from": 900}),
    ("POST /faults", "/ns/told/faults", {"kind": "stal"}),
    ("GET /faults", "/ns/told/faults", None),
    ("", "/ns/told/cerebras/v1/completions", QUESTION),
    ("", "/ns/told/cerebras/v1/completions", {**QUESTION, "stream": True}),
    ("", "/ns/told/cerebras/v1/completions", {"prompt": 7}),
    ("", "/ns/told/cerebras/v1/completions", {**QUESTION, "prompt": "the weather"}),
    ("", "/ns/told/nowhere", QUESTION),
    ("GET /wait", "/ns/told/wait?requests=3&seconds=2", None),
    ("GET /wait", "/ns/told/wait?seconds=soon", None),
    ("GET /quotas", "/ns/told/quotas", None),
    ("GET /journal", "/ns/told/journal", None),
    ("GET /journal", "/ns/told/journal?full=1&limit=3", None),
    ("GET /journal", "/ns/told/journal?limit=some", None),
    ("GET /journal.jsonl", "/ns/told/journal.jsonl", None),
    ("GET /journal.har", "/ns/told/journal.har", None),
    ("GET /journal/{number}", "/ns/told/journal/1", None),
    ("GET /journal/{number}", "/ns/told/journal/99", None),
    ("GET /journal/unmatched", "/ns/told/journal/unmatched", None),
    ("POST /journal/sift", "/ns/told/journal/sift", {"match": {"model": "m", "not": {"stream": True}}}),
    ("POST /verify", "/ns/told/verify", {"checks": VERIFIED[:1]}),
    ("POST /verify", "/ns/told/verify", {"checks": VERIFIED}),
    ("POST /verify", "/ns/told/verify", {"checks": [{"call": 1}]}),
    ("GET /report", "/ns/told/report?handles=retry&outcome=answer", None),
    ("GET /report", "/ns/told/report?handles=badly", None),
    ("GET /clock", "/ns/told/clock", None),
    ("POST /clock", "/ns/told/clock", {"advance": 1}),
    ("POST /clock", "/ns/told/clock", {"advance": -1}),
    ("GET /metrics", "/metrics", None),
    ("DELETE /faults/{rule}", "/ns/told/faults/late", None),
    ("DELETE /faults/{rule}", "/ns/told/faults/late", None),
    ("DELETE /faults", "/ns/told/faults", None),
    ("DELETE /stubs/{stub}", "/ns/told/stubs/rain", None),
    ("DELETE /stubs/{stub}", "/ns/told/stubs/rain", None),
    ("PUT /stubs", "/ns/told/stubs", {"stubs": []}),
    ("DELETE /stubs", "/ns/told/stubs", None),
    ("DELETE /journal", "/ns/told/journal", None),
    ("POST /reset", "/ns/told/reset", None),
    ("GET /ui", "/ui", None),
    ("GET /ui/{path}", "/ui/", None),
    ("GET /ui/{path}", "/ui/nothing.js", None),
    ("GET ../{dialect}/openapi.json", "/../cerebras/openapi.json", None),
    ("GET ../{dialect}/openapi.json", "/../cerebras/openapi.json?edition=first", None),
)
# What never ends is read in a test of its own.
_ENDLESS = {"GET /events"}


def operations() -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every operation of the document, with the line of the table that it is of."""
    for place in places(ROUTES):
        yield place.key, DOCUMENT["paths"][place.path][place.method.lower()]


def tightened(schema: Any) -> Any:
    """The schema, with no keys but those that it names."""
    if isinstance(schema, list):
        return [tightened(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {"additionalProperties": False} if isinstance(schema.get("properties"), dict) else {}
    return {**closed, **{key: tightened(value) for key, value in schema.items()}}


def misfits(schema: Any, value: Any) -> list[str]:
    """Where a value is not as a schema of the document says."""
    components = {"components": {"schemas": json.loads(json.dumps(SCHEMAS))}}
    whole = tightened({**components, "allOf": [json.loads(json.dumps(schema))]})
    return [f"{error.json_path}: {error.message}" for error in Draft202012Validator(whole).iter_errors(value)]


def test_every_route_of_the_admin_api_is_described_and_nothing_else_is() -> None:
    assert {place.key for place in places(ROUTES)} == set(OPERATIONS)


def test_the_document_is_valid_openapi() -> None:
    assert [str(error) for error in OpenAPIV31SpecValidator(DOCUMENT).iter_errors()] == []


def test_every_schema_is_referred_to() -> None:
    found = set(re.findall(r"#/components/schemas/(\w+)", json.dumps(DOCUMENT)))
    assert found == set(SCHEMAS)


@pytest.fixture(scope="module")
def answers() -> list[tuple[str, Any, int, str, bytes]]:
    """What a server of its own answers, one request after the other: line, body, status, content type, answer."""
    told = []
    with MockServer() as server:
        for key, path, body in ASKED:
            method = key.partition(" ")[0] or "POST"
            address = path.removeprefix("/..") if key.startswith("GET ..") or not key else f"/_mockserver{path}"
            answer = exchange(server.url, method, address, body)
            told.append((key, body, answer.status, dict(answer.headers).get("content-type", ""), answer.body))
    return told


def test_every_operation_is_asked() -> None:
    assert {key for key, _, _ in ASKED if key} == set(OPERATIONS) - _ENDLESS


@pytest.mark.parametrize("number", [n for n, asked in enumerate(ASKED) if asked[0]], ids=lambda n: f"{n}-{ASKED[n][0]}")
def test_the_server_answers_as_its_document_says(answers: list[tuple[str, Any, int, str, bytes]], number: int) -> None:
    key, body, status, content_type, answer = answers[number]
    [operation, *_] = [described for told, described in operations() if told == key]
    described = operation["responses"][str(status)]
    kind = content_type.partition(";")[0]
    assert list(described.get("content", {})) == ([kind] if kind else [])
    if kind == "application/json":
        assert misfits(described["content"][kind]["schema"], json.loads(answer)) == []
    if body is not None and status < 300:
        assert misfits(operation["requestBody"]["content"]["application/json"]["schema"], body) == []
    if body is not None and status == 400 and key != "POST /clock":
        assert misfits(operation["requestBody"]["content"]["application/json"]["schema"], body)


def test_every_line_of_the_journal_is_a_whole_exchange(answers: list[tuple[str, Any, int, str, bytes]]) -> None:
    [lines] = [answer for key, _, _, _, answer in answers if key == "GET /journal.jsonl"]
    exchanges = [json.loads(line) for line in lines.splitlines()]
    assert len(exchanges) == 5
    schema = {"$ref": "#/components/schemas/WholeExchange"}
    assert [misfits(schema, each) for each in exchanges] == [[]] * 5


def test_what_wants_no_token_says_so() -> None:
    guarded = {key: "security" in operation for key, operation in operations()}
    with MockServer(admin_token="hush") as server:
        for key, wants in guarded.items():
            method, _, path = key.partition(" ")
            filled = re.sub(r"{(\w+)}", lambda found: {"dialect": "ovms", "number": "1"}.get(found[1], "x"), path)
            address = filled.removeprefix("..") if path.startswith("..") else f"/_mockserver{filled}"
            assert (exchange(server.url, method, address).status == 401) == wants, key


# What waits for as long as it is told, or for ever, is not asked at random.
_PATIENT = ("events", "wait")


@pytest.mark.filterwarnings("ignore")
def test_whatever_fits_the_document_is_answered_as_it_says() -> None:
    """Requests made of the document itself, of which many mean nothing."""
    described = schemathesis.openapi.from_asgi("/_mockserver/openapi.json", create_app(Settings(latency="off")))
    asked = 0
    for found in described.get_all_operations():
        operation = found.ok()  # type: ignore[union-attr]
        if operation.path.endswith(_PATIENT):
            continue

        @settings(max_examples=5, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy())
        def check(case: Any) -> None:
            case.call_and_validate(checks=CHECKS)

        check()
        asked += 1
    assert asked > 50

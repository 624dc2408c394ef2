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
from mockserver.server.admin import ENDPOINTS, SCHEMAS, admin_document
from mockserver.server.app import create_app
from mockserver.state.settings import Settings
from tests.support.http import exchange

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
DOCUMENT = json.loads(json.dumps(admin_document()))
METHODS = {endpoint.name: endpoint.method for endpoint in ENDPOINTS}
QUESTION = {"model": "m", "prompt": "hi", "max_tokens": 3}
STUB = {"match": {"prompt": {"contains": "weather"}}, "reply": "It rains."}
RECORDED = {
    "request": {
        "method": "POST",
        "url": "https://api.cerebras.ai/v1/completions",
        "postData": {"text": '{"model": "m", "prompt": "recorded"}'},
    },
    "response": {"status": 200, "content": {"text": "{}"}},
}
RECORDING = json.dumps({"log": {"entries": [RECORDED, {**RECORDED, "response": {"status": 101}}]}})
VERIFIED = [{"calls": {"at_least": 1}}, {"never": True, "match": {"model": "m"}}, {"cost": 1, "prices": {"*": [0, 0]}}]

# Asked in this order, within one namespace where the endpoint has one: its name, a path, a body.
ASKED: tuple[tuple[str, str, Any], ...] = (
    ("health", "/_mockserver/health", None),
    ("ready", "/_mockserver/ready", None),
    ("version", "/_mockserver/version", None),
    ("openapi", "/_mockserver/openapi.json", None),
    ("routes", "/_mockserver/routes", None),
    ("settings", "/_mockserver/settings", None),
    ("changeSettings", "/_mockserver/settings", {"seed": 42}),
    ("changeSettings", "/_mockserver/settings", {"host": "elsewhere"}),
    ("catalogue", "/_mockserver/catalogue", None),
    ("latency", "/_mockserver/latency?of=slow&dialect=ovms", None),
    ("latency", "/_mockserver/latency?of=slowly", None),
    ("namespaces", "/_mockserver/namespaces", None),
    ("settle", "/_mockserver/ns/told/settings", {"quota": "requests=9/min", "latency": "off"}),
    ("settle", "/_mockserver/ns/told/settings", {"sead": 7}),
    ("settings", "/_mockserver/ns/told/settings", None),
    (
        "addStubs",
        "/_mockserver/ns/told/stubs",
        {"stubs": [STUB, {"name": "b/c", "replies": ["x", {"error": "timeout"}], "times": 2}]},
    ),
    ("addStubs", "/_mockserver/ns/told/stubs", STUB),
    ("addStubs", "/_mockserver/ns/told/stubs", {"reply": 7}),
    ("replay", "/_mockserver/ns/told/replay", {"recording": RECORDING, "name": "tape.har", "pace": True}),
    ("replay", "/_mockserver/ns/told/replay", {"recording": 7}),
    ("putStub", "/_mockserver/ns/told/stubs/rain", {**STUB, "times": 2}),
    ("stubs", "/_mockserver/ns/told/stubs", None),
    ("stubs", "/_mockserver/ns/told/stubs?format=toml", None),
    ("stubs", "/_mockserver/ns/told/stubs?format=json", None),
    ("stubs", "/_mockserver/ns/told/stubs?format=yaml", None),
    (
        "arm",
        "/_mockserver/ns/told/faults",
        {"name": "late", "kind": "stall", "seconds": 0.001, "share": [0, 1], "for": 60},
    ),
    ("arm", "/_mockserver/ns/told/faults", {"scenario": "outage", "from": 900}),
    ("arm", "/_mockserver/ns/told/faults", {"kind": "stal"}),
    ("faults", "/_mockserver/ns/told/faults", None),
    ("", "/ns/told/cerebras/v1/completions", QUESTION),
    ("", "/ns/told/cerebras/v1/completions", {**QUESTION, "stream": True}),
    ("", "/ns/told/cerebras/v1/completions", {"prompt": 7}),
    ("", "/ns/told/cerebras/v1/completions", {**QUESTION, "prompt": "the weather"}),
    ("", "/ns/told/nowhere", QUESTION),
    ("wait", "/_mockserver/ns/told/wait?requests=3&seconds=2", None),
    ("wait", "/_mockserver/ns/told/wait?seconds=soon", None),
    ("", "/ns/told/upstash/v2/publish/http://127.0.0.1:9/", {}),
    ("wait", "/_mockserver/ns/told/wait?deliveries=1&seconds=2", None),
    ("wait", "/_mockserver/ns/told/wait?deliveries=1&requests=1", None),
    ("deliveries", "/_mockserver/ns/told/deliveries", None),
    ("quotas", "/_mockserver/ns/told/quotas", None),
    ("journal", "/_mockserver/ns/told/journal", None),
    ("journal", "/_mockserver/ns/told/journal?full=1&limit=3", None),
    ("journal", "/_mockserver/ns/told/journal?limit=some", None),
    ("journalLines", "/_mockserver/ns/told/journal.jsonl", None),
    ("journalArchive", "/_mockserver/ns/told/journal.har", None),
    ("exchange", "/_mockserver/ns/told/journal/1", None),
    ("exchange", "/_mockserver/ns/told/journal/99", None),
    ("unmatched", "/_mockserver/ns/told/journal/unmatched", None),
    ("filterExchanges", "/_mockserver/ns/told/journal/filter", {"match": {"model": "m", "not": {"stream": True}}}),
    ("verify", "/_mockserver/ns/told/verify", {"checks": VERIFIED[:1]}),
    ("verify", "/_mockserver/ns/told/verify", {"checks": VERIFIED}),
    ("verify", "/_mockserver/ns/told/verify", {"checks": [{"call": 1}]}),
    ("report", "/_mockserver/ns/told/report?handles=retry&outcome=answer", None),
    ("report", "/_mockserver/ns/told/report?handles=badly", None),
    ("clock", "/_mockserver/ns/told/clock", None),
    ("advance", "/_mockserver/ns/told/clock", {"advance": 1}),
    ("advance", "/_mockserver/ns/told/clock", {"advance": -1}),
    ("metrics", "/_mockserver/metrics", None),
    ("disarm", "/_mockserver/ns/told/faults/late", None),
    ("disarm", "/_mockserver/ns/told/faults/late", None),
    ("disarmAll", "/_mockserver/ns/told/faults", None),
    ("removeStub", "/_mockserver/ns/told/stubs/rain", None),
    ("removeStub", "/_mockserver/ns/told/stubs/rain", None),
    ("putStubs", "/_mockserver/ns/told/stubs", {"stubs": []}),
    ("removeStubs", "/_mockserver/ns/told/stubs", None),
    ("forget", "/_mockserver/ns/told/journal", None),
    ("reset", "/_mockserver/ns/told/reset", None),
    ("page", "/_mockserver/ui", None),
    ("pageFile", "/_mockserver/ui/", None),
    ("pageFile", "/_mockserver/ui/nothing.js", None),
    ("dialect", "/cerebras/openapi.json", None),
    ("dialect", "/cerebras/openapi.json?edition=first", None),
    ("claims", "/cerebras/conformance.json", None),
)
# What never ends is read in a test of its own.
_ENDLESS = {"events"}


def operations() -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Every operation of the document: its method, its path, and what is said of it."""
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


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


def test_the_document_is_valid_openapi() -> None:
    assert [str(error) for error in OpenAPIV31SpecValidator(DOCUMENT).iter_errors()] == []


def test_every_schema_is_referred_to() -> None:
    found = set(re.findall(r"#/components/schemas/(\w+)", json.dumps(DOCUMENT)))
    assert found == set(SCHEMAS)


@pytest.fixture(scope="module")
def answers() -> list[tuple[str, Any, int, str, bytes]]:
    """What a server of its own answers, one request after the other: name, body, status, content type, answer."""
    told = []
    with MockServer() as server:
        for name, path, body in ASKED:
            answer = exchange(server.url, METHODS.get(name, "POST"), path, body)
            told.append((name, body, answer.status, dict(answer.headers).get("content-type", ""), answer.body))
    return told


def test_every_endpoint_is_asked() -> None:
    assert {name for name, _, _ in ASKED if name} == set(METHODS) - _ENDLESS


@pytest.mark.parametrize("number", [n for n, asked in enumerate(ASKED) if asked[0]], ids=lambda n: f"{n}-{ASKED[n][0]}")
def test_the_server_answers_as_its_document_says(answers: list[tuple[str, Any, int, str, bytes]], number: int) -> None:
    name, body, status, content_type, answer = answers[number]
    [operation] = [described for _, _, described in operations() if described["operationId"] == name]
    described = operation["responses"][str(status)]
    kind = content_type.partition(";")[0]
    kinds = list(described.get("content", {}))
    assert kind in kinds if kind else kinds == []
    if kind == "application/json":
        assert misfits(described["content"][kind]["schema"], json.loads(answer)) == []
    if body is not None and status < 300:
        assert misfits(operation["requestBody"]["content"]["application/json"]["schema"], body) == []
    if body is not None and status == 400 and name != "advance":
        assert misfits(operation["requestBody"]["content"]["application/json"]["schema"], body)


def test_an_operation_has_no_content_type_that_it_never_answers_with(
    answers: list[tuple[str, Any, int, str, bytes]],
) -> None:
    given = {(name, kind.partition(";")[0]) for name, _, status, kind, _ in answers if status < 300 and kind}
    stated = {
        (described["operationId"], kind)
        for _, _, described in operations()
        for status, response in described["responses"].items()
        for kind in response.get("content", {})
        if status < "300"
    }
    names = {name for name, _ in given}
    assert {pair for pair in stated if pair[0] in names} == {pair for pair in given if pair[0]}


def test_every_line_of_the_journal_is_a_whole_exchange(answers: list[tuple[str, Any, int, str, bytes]]) -> None:
    [lines] = [answer for name, _, _, _, answer in answers if name == "journalLines"]
    exchanges = [json.loads(line) for line in lines.splitlines()]
    assert len(exchanges) == 6
    schema = {"$ref": "#/components/schemas/WholeExchange"}
    assert [misfits(schema, each) for each in exchanges] == [[]] * 6


def test_what_wants_no_token_says_so() -> None:
    with MockServer(admin_token="hush") as server:
        for method, path, operation in operations():
            filled = re.sub(r"{(\w+)}", lambda found: {"dialect": "ovms", "number": "1"}.get(found[1], "x"), path)
            assert (exchange(server.url, method, filled).status == 401) == ("security" in operation), path


# What waits for as long as it is told, or for ever, is not asked at random.
_PATIENT = ("events", "wait")


@pytest.mark.filterwarnings("ignore")
def test_whatever_fits_the_document_is_answered_as_it_says() -> None:
    """Requests made of the document itself, of which many mean nothing."""
    described = schemathesis.openapi.from_asgi("/_mockserver/openapi.json", create_app(Settings(latency="off")))
    found = [each.ok() for each in described.get_all_operations()]  # type: ignore[union-attr]
    paths = {operation.path for operation in found}
    asked = 0
    for operation in found:
        # What there is for each namespace, too, is asked there.
        is_twin = operation.path.replace("/_mockserver", "/_mockserver/ns/{namespace}") in paths
        if is_twin or operation.path.endswith(_PATIENT):
            continue

        @settings(max_examples=3, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy())
        def check(case: Any) -> None:
            case.call_and_validate(checks=CHECKS)

        check()
        asked += 1
    assert asked > 30

"""The metrics that OpenVINO Model Server itself publishes: what is counted of its graphs, in the words of a parser."""

from collections.abc import Mapping
from http.client import HTTPConnection
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from prometheus_client.parser import text_string_to_metric_families

from mockserver import MockServer
from mockserver.dialects.ovms import endpoints
from mockserver.testing.handle import Handle
from tests.support.http import exchange

QUESTION = {"model": "llama3", "prompt": "Hello", "max_tokens": 4}
UNARY = {"api": "V3", "interface": "REST", "method": "Unary", "name": "llama3"}
STREAM = {**UNARY, "method": "Stream"}


@pytest.fixture
def space(server: MockServer) -> Handle:
    handle = server.in_namespace(uuid4().hex)
    handle.settle(edition="observed")
    return handle


def ask(space: Handle, path: str = "/v3/completions", body: object = None, **headers: str) -> int:
    url = f"{urlsplit(space.url).path}/ovms{path}"
    return exchange(space.url, "GET" if body is None else "POST", url, body, headers).status


def scrape(space: Handle) -> dict[str, list[tuple[Mapping[str, str], float]]]:
    """All samples but those that are zero, by their names, to which the parser adds `_total` for counters."""
    answer = exchange(space.url, "GET", f"{urlsplit(space.url).path}/ovms/metrics")
    assert (answer.status, dict(answer.headers)["content-type"]) == (200, "text/plain")
    found: dict[str, list[tuple[Mapping[str, str], float]]] = {}
    for family in text_string_to_metric_families(answer.body.decode()):
        for sample in family.samples:
            if sample.value:
                found.setdefault(sample.name.removesuffix("_total"), []).append((sample.labels, sample.value))
    return found


def test_a_graph_that_nobody_has_asked_has_all_of_its_series_at_zero(space: Handle) -> None:
    answer = exchange(space.url, "GET", f"{urlsplit(space.url).path}/ovms/metrics").body.decode()
    samples = [sample for family in text_string_to_metric_families(answer) for sample in family.samples]
    of_llama = [sample for sample in samples if sample.labels["name"] == "llama3"]
    assert scrape(space) == {}
    # Four families of 5 series, two of 4, a gauge, and 4 histograms of 34 buckets, a sum and a count each.
    assert len(of_llama) == 4 * 5 + 2 * 4 + 1 + 4 * (34 + 2)


def test_a_plain_answer_is_one_response_and_takes_its_time(space: Handle) -> None:
    assert ask(space, body=QUESTION) == 200
    found = scrape(space)
    assert found["ovms_requests_accepted"] == [(UNARY, 1)]
    assert found["ovms_responses"] == [(UNARY, 1)]
    assert found["ovms_graph_processing_time_us_count"] == [({"method": "Unary", "name": "llama3"}, 1)]
    ((_, microseconds),) = found["ovms_graph_processing_time_us_sum"]
    assert microseconds == pytest.approx(space.last.seconds * 1e6, abs=1)
    assert {"ovms_graph_error", "ovms_current_graphs"}.isdisjoint(found)


def test_each_chunk_of_a_stream_is_a_response_but_usage_and_terminator_are_none(space: Handle) -> None:
    assert ask(space, body={**QUESTION, "stream": True}) == 200
    chunks = len(space.last.events) - 1
    assert scrape(space)["ovms_responses"] == [(STREAM, chunks)]
    assert ask(space, body={**QUESTION, "stream": True, "stream_options": {"include_usage": True}}) == 200
    assert scrape(space)["ovms_responses"] == [(STREAM, 2 * chunks)]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v3/completions", {"model": "llama3"}),
        ("/v3/completions", {**QUESTION, "max_tokens": 100_000}),
        ("/v3/embeddings", {"model": "llama3", "input": "Hi"}),
    ],
)
def test_what_a_graph_refuses_it_has_accepted_and_failed(space: Handle, path: str, body: object) -> None:
    assert ask(space, path, body) == 400
    found = scrape(space)
    assert (found["ovms_requests_accepted"], found["ovms_graph_error"]) == ([(UNARY, 1)], [(UNARY, 1)])
    assert found.keys() == {"ovms_requests_accepted", "ovms_graph_error"}


@pytest.mark.parametrize(
    ("body", "fault", "status"),
    [
        (b"{", "", 412),
        ({"prompt": "Hello"}, "", 412),
        (QUESTION, "{ kind = 'error', error = 'rate_limit' }", 429),
        (QUESTION, "{ kind = 'error', error = 'server_error' }", 500),
    ],
)
def test_what_reaches_no_graph_is_not_counted(space: Handle, body: object, fault: str, status: int) -> None:
    assert ask(space, body=body, **{"X-Mockserver-Fault": fault}) == status
    assert scrape(space) == {}


def test_probes_are_counted_apart_from_requests(space: Handle) -> None:
    assert ask(space, "/v2/models/llama3/ready") == ask(space, "/v2/models/llama3/versions/1/ready") == 200
    labels = {"api": "KServe", "interface": "REST", "method": "ModelReady", "name": "llama3"}
    assert scrape(space) == {"ovms_requests_success": [(labels, 2)]}


@pytest.mark.parametrize("path", ["/v3/embeddings", "/v3/tokenize"])
def test_other_graphs_are_counted_under_the_names_that_requests_give_them(space: Handle, path: str) -> None:
    field = "input" if path == "/v3/embeddings" else "text"
    assert ask(space, path, {"model": 'bge-"small"', field: "Hi"}) == 200
    assert scrape(space)["ovms_responses"] == [({**UNARY, "name": 'bge-"small"'}, 1)]


def test_a_graph_is_in_process_until_its_answer_has_ended(space: Handle) -> None:
    space.settle(latency="ttft=60min, rate=1 tok/s")
    target = urlsplit(space.url)
    connection = HTTPConnection(target.hostname or "", target.port, timeout=30)
    body = b'{"model": "llama3", "prompt": "Hello", "max_tokens": 4, "stream": true}'
    connection.request("POST", f"{target.path}/ovms/v3/completions", body, {"content-type": "application/json"})
    space.wait_for_requests(1)
    assert scrape(space)["ovms_current_graphs"] == [({"name": "llama3"}, 1)]
    connection.close()
    space.wait_idle()
    found = scrape(space)
    assert found == {"ovms_requests_accepted": [(STREAM, 1)]}, "what a client leaves has no time"


def test_a_reset_forgets_the_counts_and_namespaces_have_counts_of_their_own(server: MockServer, space: Handle) -> None:
    ask(space, body=QUESTION)
    assert scrape(server.in_namespace(uuid4().hex)) == {}
    space.reset()
    assert scrape(space) == {}


def test_a_client_that_makes_up_names_fills_no_memory(space: Handle, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "_MOST_GRAPHS", 3)
    for name in ("n" * 501, *"abcde", "a"):
        ask(space, "/v2/models/" + name + "/ready")
    assert {labels["name"]: count for labels, count in scrape(space)["ovms_requests_success"]} == {
        "a": 2,
        "b": 1,
        "c": 1,
    }

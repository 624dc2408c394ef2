"""The metrics of real exchanges, read by the official parser, and the cost of counting."""

import json
import re
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection
from timeit import repeat
from urllib.parse import urlsplit

import orjson
import pytest
from prometheus_client.parser import text_string_to_metric_families

from mockserver import MockServer, __version__
from mockserver.core.http import Record
from mockserver.core.installed import load_dialects
from mockserver.server.admin.metrics import CONTENT_TYPE, as_text
from mockserver.server.metrics import Histogram, Metric, Metrics
from mockserver.state.journal.exchanges import Exchange
from tests.support.asking import ask
from tests.support.goldens import FIXTURES
from tests.support.http import Transcript, exchange
from tests.support.waiting import until

PATH = "/cerebras/v1/completions"
QUESTION = {"model": "llama3.1-8b", "prompt": "Hello", "max_tokens": 8}


@dataclass(frozen=True)
class Scrape:
    """The figures of a server at a moment."""

    answer: Transcript

    def __call__(self, name: str, **labels: str) -> float | None:
        """The one sample of that name which has these labels; None when there is none."""
        found = [
            sample.value
            for family in text_string_to_metric_families(self.answer.body.decode())
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        ]
        assert len(found) < 2, found
        return found[0] if found else None


@pytest.fixture
def server() -> Iterator[MockServer]:
    with MockServer() as running:
        yield running


def scrape(server: MockServer) -> Scrape:
    return Scrape(exchange(server.url, "GET", "/_mockserver/metrics"))


def test_requests_are_counted_by_dialect_operation_and_status(server: MockServer) -> None:
    for body in (QUESTION, QUESTION, {"prompt": 1}):
        exchange(server.url, "POST", PATH, body)
    exchange(server.url, "GET", "/nowhere")
    figures = scrape(server)
    assert dict(figures.answer.headers)["content-type"] == CONTENT_TYPE
    of = {"dialect": "cerebras", "operation": "completions"}
    assert figures("mockserver_requests_total", status="200", **of) == 2
    assert figures("mockserver_requests_total", status="400", **of) == 1
    assert figures("mockserver_requests_total", dialect="", status="404") == 1
    assert figures("mockserver_request_seconds_count", status="200", **of) == 2
    assert figures("mockserver_errors_total", dialect="cerebras", kind="invalid_request") == 1
    assert figures("mockserver_errors_total", dialect="", kind="no_route") == 1
    assert figures("mockserver_tokens_total", dialect="cerebras", kind="completion") == 16
    assert figures("mockserver_journal_exchanges") == 4


def test_faults_and_clients_that_left_are_counted(server: MockServer) -> None:
    exchange(server.url, "POST", PATH, QUESTION, {"x-mockserver-fault": "error"})
    with pytest.raises(OSError, match=r"reset|aborted"):
        exchange(server.url, "POST", PATH, QUESTION, {"x-mockserver-fault": "reset"})
    figures = scrape(server)
    assert figures("mockserver_faults_total", dialect="cerebras", kind="error") == 1
    assert figures("mockserver_faults_total", dialect="cerebras", kind="reset") == 1
    # Nobody got an answer that would have cost any.
    assert figures("mockserver_tokens_total", dialect="cerebras", kind="completion") is None


def test_the_times_of_streams_are_counted_as_planned_and_as_they_were(server: MockServer) -> None:
    """Eight tokens have seven gaps; a plain answer, whose tokens come at once, is not counted."""
    latency = {"x-mockserver-latency": "ttft=20ms, itl=12ms"}
    exchange(server.url, "POST", PATH, QUESTION | {"stream": True, "min_tokens": 8}, latency)
    exchange(server.url, "POST", PATH, QUESTION, latency)
    figures = scrape(server)
    for when in ("planned", "actual"):
        assert figures("mockserver_ttft_seconds_count", dialect="cerebras", time=when) == 1
    planned = figures("mockserver_inter_token_seconds_count", time="planned")
    assert planned == 7
    assert figures("mockserver_inter_token_seconds_sum", time="planned") == pytest.approx(7 * 0.012)
    assert figures("mockserver_inter_token_seconds_bucket", time="planned", le="0.01") == 0
    assert figures("mockserver_inter_token_seconds_bucket", time="planned", le="0.015") == 7
    assert figures("mockserver_ttft_seconds_sum", time="planned") == pytest.approx(0.02)
    assert (figures("mockserver_ttft_seconds_sum", time="actual") or 0) >= 0.02


def test_what_is_open_is_told_and_a_client_that_leaves(server: MockServer) -> None:
    """One stream plays, another waits for the engine's only slot; then the first client hangs up."""
    slow = {"x-mockserver-latency": "itl=100ms, slots=1", "authorization": "Bearer x"}
    body = orjson.dumps(QUESTION | {"stream": True, "max_tokens": 600, "min_tokens": 600})
    with (
        closing(HTTPConnection(urlsplit(server.url).netloc)) as first,
        closing(HTTPConnection(first.host, first.port)) as second,
    ):
        first.request("POST", PATH, body, slow)
        first.getresponse().readline()
        second.request("POST", PATH, body, slow)
        until(lambda: scrape(server)("mockserver_in_flight") == 2)
        figures = scrape(server)
        assert figures("mockserver_engine_requests", dialect="cerebras", state="busy") == 1
        assert figures("mockserver_engine_requests", dialect="cerebras", state="waiting") == 1
    until(lambda: scrape(server)("mockserver_in_flight") == 0)
    assert scrape(server)("mockserver_clients_left_total", dialect="cerebras") == 2


def test_the_process_says_who_it_is(server: MockServer) -> None:
    figures = scrape(server)
    assert figures("mockserver_build_info", version=__version__) == 1
    assert abs((figures("process_start_time_seconds") or 0) - time.time()) < 60
    assert (figures("process_resident_memory_bytes") or 0) > 10_000_000
    assert figures("mockserver_config_ok") == 1


def test_a_server_tells_when_it_started_and_not_when_it_was_first_asked() -> None:
    with MockServer() as server:
        running = time.time()
        assert (scrape(server)("process_start_time_seconds") or running) < running


def test_every_dialect_is_counted_and_no_label_is_the_clients_own_choice(server: MockServer) -> None:
    """Names from requests would make a series for each: models, namespaces, keys and paths are in none."""
    strange = "strange-name"
    dialects = load_dialects()
    for name, dialect in dialects.items():
        for operation in dialect.operations:
            exchange(server.url, operation.method, f"/ns/{strange}/{name}{operation.paths[0]}", QUESTION)
    exchange(server.url, "POST", PATH, QUESTION | {"model": strange})
    exchange(server.url, "GET", f"/cerebras/{strange}")
    body = scrape(server).answer.body.decode()
    assert strange not in body
    assert set(re.findall(r'requests_total{dialect="(\w+)"', body)) == set(dialects)


def test_values_are_written_so_that_a_parser_reads_the_same() -> None:
    labels = {"a": 'quote " back \\ line\nend', "b": "ü"}
    filled = Histogram((0.5, 1.0))
    for value in (0.5, 0.75, 7.0):
        filled.note(value)
    text = as_text(
        [
            Metric("one_total", "counter", "Back \\ line\nend.", tuple(labels), {tuple(labels.values()): 1e15}),
            Metric("two", "histogram", "Two.", (), {(): filled}),
        ],
        {"worker": "3"},
    )
    one, two = text_string_to_metric_families(text.decode())
    assert one.documentation == "Back \\ line\nend."
    assert [(sample.labels, sample.value) for sample in one.samples] == [({"worker": "3", **labels}, 1e15)]
    assert [(sample.name, sample.labels.get("le"), sample.value) for sample in two.samples] == [
        ("two_bucket", "0.5", 1),
        ("two_bucket", "1", 2),
        ("two_bucket", "+Inf", 3),
        ("two_sum", None, 8.25),
        ("two_count", None, 3),
    ]


@pytest.mark.parametrize("values", [[], [0.5], [0.1, 0.5, 0.50001, 1.0, 2.0, 2.0]])
def test_many_values_count_as_one_by_one(values: list[float]) -> None:
    one_by_one, at_once = Histogram((0.5, 1.0)), Histogram((0.5, 1.0))
    for value in values:
        one_by_one.note(value)
    at_once.note_all(values)
    assert (at_once.counts, at_once.total) == (one_by_one.counts, one_by_one.total)


def test_the_longest_stream_is_counted_up_to_a_bound() -> None:
    answer = ask("cerebras", QUESTION | {"stream": True})
    record = Record(closed_by="server")
    for number in range(20_000):
        record.wrote(1, 1, number * 0.001)
    metrics = Metrics()
    metrics.ended(Exchange(1, "", PATH, answer.plan.context.call, answer.plan, record=record))
    assert sum(metrics.gaps["cerebras", "actual"].counts) == 8_192


def test_counting_a_plain_answer_costs_little() -> None:
    """Some microseconds at the most on any machine, and about one on most."""
    answer = ask("cerebras", QUESTION)
    record = Record(closed_by="server")
    record.wrote(1, 8, 0.001)
    noted, metrics = Exchange(1, "", PATH, answer.plan.context.call, answer.plan, record=record), Metrics()
    rounds = min(repeat(lambda: metrics.ended(noted), number=1000, repeat=20)) / 1000
    assert rounds < 10e-6, f"{rounds * 1e6:.2f} us"


def test_the_dashboard_asks_for_nothing_that_is_not_there(server: MockServer) -> None:
    """Each metric in its queries is one that a server tells, with the labels that it has."""
    dashboard = json.loads((FIXTURES / "grafana" / "mockserver.json").read_text())
    exchange(server.url, "POST", PATH, QUESTION | {"stream": True}, {"x-mockserver-fault": "no_finish"})
    exchange(server.url, "POST", PATH, {})
    families = list(text_string_to_metric_families(scrape(server).answer.body.decode()))
    told = {name for family in families for name in (family.name, f"{family.name}_total", f"{family.name}_bucket")}
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    queries += [each["query"] for each in dashboard["templating"]["list"] if each["type"] == "query"]
    asked = {name for query in queries for name in re.findall(r"\b(?:mockserver|process)_\w+", query)}
    assert asked <= told
    labels = {label for family in families for sample in family.samples for label in sample.labels}
    grouped = {
        label for query in queries for labels in re.findall(r"by \((.*?)\)", query) for label in labels.split(", ")
    }
    assert grouped <= labels | {"state", "worker"}
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in dashboard["panels"]]
    assert len({*places}) == len(places)

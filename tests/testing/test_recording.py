"""The handle of a test that is recorded: what it tells of the vendor's answers, and what it refuses."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from mockserver import ConfigError, Handle, MockServer, View
from mockserver.faults.rules import Fault
from mockserver.state.settings import RouteSettings, Settings
from mockserver.testing.backend import BackendError
from mockserver.testing.cassettes import RecordingHandle, recording
from tests.support.http import exchange
from tests.support.recording import led_to, lines_of

COMPLETIONS = "/cerebras/v1/completions"
BODY = {"model": "llama3.1-8b", "prompt": "Tell me about tides", "max_tokens": 8}

Record = Callable[..., AbstractContextManager[RecordingHandle]]


@pytest.fixture
def vendor() -> Iterator[MockServer]:
    with MockServer() as running:
        yield running


@pytest.fixture
def cassette(tmp_path: Path) -> Path:
    return tmp_path / "cassettes" / "tides.jsonl"


@pytest.fixture
def record(vendor: MockServer, cassette: Path) -> Record:
    """A recorder into the cassette, for which the one server stands for every vendor."""

    def begin(dialect: str | None = None, *, adds: bool = False, is_good: bool = True, **settings: Any) -> Any:
        upstreams = [f"{name}={url}" for name, url in led_to(vendor).items()]
        own = Settings(log_level="error", **settings)
        return recording(cassette, own, upstreams, dialect, adds=adds, is_good=lambda: is_good)

    return begin


def _told(view: View) -> list[Any]:
    """What of an exchange depends on the vendor's answer alone, not on who gives it."""
    asked = [view.number, view.dialect, view.operation, view.model, view.prompt, view.body]
    sent = [view.answer.get("body"), [event["data"] for event in view.events], view.has_finished, view.closed_by]
    return [*asked, view.status, view.streamed, *sent]


def test_the_handle_tells_of_the_vendors_answers_as_of_prepared_ones(record: Record, cassette: Path) -> None:
    def told(handle: Handle) -> list[Any]:
        prefix = urlsplit(handle.url).path
        for body in (BODY, {**BODY, "stream": True}):
            assert exchange(handle.url, "POST", f"{prefix}{COMPLETIONS}", body).status == 200
        assert exchange(handle.url, "GET", f"{prefix}/cerebras/v1/models").status == 200
        assert [view.number for view in handle.wait_for_requests(2)] == [1, 2]
        handle.wait_idle()
        handle.verify.calls(2, last_user="Tell me about tides").calls(1, stream=True).schema().cancelled(0)
        handle.verify.in_order({"stream": False}, {"stream": True}).concurrency(at_most=1).all_used().all_matched()
        assert handle.verdict().is_clean
        assert len(handle.exchanges) == 3
        assert handle.last.number == 2
        return [_told(view) for view in handle.requests]

    with record() as handle:
        assert handle.is_recording
        recorded = told(handle)
        assert (handle.unmatched, handle.stubs, handle.deliveries, handle.problems(strict=True)) == ([], [], [], [])
        handle.reset()
        assert handle.requests == []
    with MockServer() as server:
        replaying = server.in_namespace("replaying", folder=cassette.parent)
        assert not replaying.is_recording
        replaying.replay(cassette.name)
        assert told(replaying) == recorded


def test_a_recording_is_kept_when_all_went_well_and_otherwise_the_former_one_is(
    record: Record, cassette: Path, vendor: MockServer
) -> None:
    def recorded(prompt: str, **how: Any) -> list[str]:
        with record(**how) as handle:
            exchange(handle.url, "POST", COMPLETIONS, {**BODY, "prompt": prompt})
        assert [path.name for path in cassette.parent.iterdir()] == ([cassette.name] if cassette.exists() else [])
        return [line["request"]["body"]["prompt"] for line in lines_of(cassette)]

    assert recorded("one", is_good=False) == []
    assert recorded("two") == ["two"]
    assert recorded("three", is_good=False) == ["two"]
    assert recorded("four", adds=True, is_good=False) == ["two", "four"]
    assert recorded("two", adds=True) == ["two", "four"]
    assert recorded("five") == ["five"]
    with record() as handle:
        assert exchange(handle.url, "GET", "/nowhere").status == 404
    assert [line["request"]["body"]["prompt"] for line in lines_of(cassette)] == ["five"]
    assert [view.prompt for view in vendor.requests] == ["one", "two", "three", "four", "five"]


def test_an_answer_from_the_file_is_told_like_the_vendors(record: Record, vendor: MockServer) -> None:
    for _ in range(2):
        with record(adds=True) as handle:
            for stream in (False, True):
                exchange(handle.url, "POST", COMPLETIONS, {**BODY, "stream": stream})
            views = handle.requests
            assert [(view.prompt, view.status, view.streamed, view.closed_by) for view in views] == [
                ("Tell me about tides", 200, False, "server"),
                ("Tell me about tides", 200, True, "server"),
            ]
            assert all(view.has_finished for view in views)
            handle.wait_idle()
    assert len(vendor.requests) == 2


def test_clients_find_the_recorder_and_keep_their_own_keys(record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CEREBRAS_API_KEY", "my-own-key")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with record("cerebras") as handle, handle.environ():
        url = handle.url
        assert (handle.base_url(), handle.openai_base_url()) == (f"{url}/cerebras", f"{url}/cerebras/v1")
        assert os.environ["CEREBRAS_BASE_URL"] == f"{url}/cerebras"
        assert os.environ["OPENAI_BASE_URL"] == os.environ["OPENAI_API_BASE"] == f"{url}/cerebras/v1"
        assert (os.environ["CEREBRAS_API_KEY"], handle.api_key) == ("my-own-key", "my-own-key")
        assert "OPENAI_API_KEY" not in os.environ
    monkeypatch.delenv("CEREBRAS_API_KEY")
    own_key = "Recording needs your own API key in the environment: CEREBRAS_API_KEY"
    with record("cerebras") as handle, pytest.raises(BackendError, match=own_key):
        _ = handle.api_key
    with record() as handle:
        with pytest.raises(BackendError, match="Recording needs to know whose key is wanted"):
            _ = handle.api_key
        assert handle.openai_base_url("yandex") == f"{handle.url}/yandex/v1"
        path = urlsplit(handle.openai_base_url()).path
        exchange(handle.url, "POST", f"{path}/embeddings", {"model": "m", "input": "x"})
        [problem] = handle.problems()
    assert "404 no_route (Nothing is recorded at POST /undeclared/v1/embeddings." in problem
    assert problem.endswith("Say whose API the openai client is for: @pytest.mark.mockserver(dialect=...)")
    with record(dialect=None) as handle:
        assert handle.openai_base_url("yandex") == f"{handle.url}/yandex/v1"


@pytest.mark.parametrize(
    "words, what",
    [
        (lambda handle: handle.on().reply("x"), "A stub"),
        (lambda handle: handle.next().error("rate_limit"), "A stub"),
        (lambda handle: handle.script(["x"]), "A stub"),
        (lambda handle: handle.stub(reply="x"), "A stub"),
        (lambda handle: handle.settle(fault="reset"), "The setting fault"),
        (lambda handle: handle.settle(quota="requests=1/min"), "The setting quota"),
        (lambda handle: handle.clock.advance(1), "Advancing the clock"),
        (lambda handle: handle.wait_for_deliveries(1), "Waiting for deliveries"),
    ],
)
def test_what_only_a_simulator_can_do_is_refused(record: Record, words: Callable[[Handle], Any], what: str) -> None:
    with (
        record() as handle,
        pytest.raises(BackendError, match=f"{what} is impossible while the test is recorded, since"),
    ):
        words(handle)


def test_settings_of_simulated_answers_are_only_checked(record: Record) -> None:
    with record() as handle:
        handle.settle(seed=7, latency="ttft=1s", edition="observed", fault=[], unmatched="refuse")
        with pytest.raises(ConfigError, match=r"has no setting 'sed'\. Did you mean 'seed'"):
            handle.settle(sed=7)
        assert handle.clock.ahead == 0
        assert handle.clock.now > 0


def test_what_is_not_recorded_or_will_not_be_replayed_is_a_problem(record: Record, vendor: MockServer) -> None:
    vendor.next().fault("reset", after_event=1)
    with record() as handle:
        with pytest.raises(ConnectionResetError):
            exchange(handle.url, "POST", COMPLETIONS, {**BODY, "stream": True})
        [problem] = handle.problems()
        assert "Recorded, but it cannot be replayed from" in problem
        assert "line 1: its answer broke off" in problem
        vendor.stop()
        assert exchange(handle.url, "POST", COMPLETIONS, BODY).status == 502
        denied, _ = handle.problems()
        assert denied.splitlines()[0] == "Not recorded:"
        assert "-> 502 bad_gateway" in denied
        assert handle.last.status == 502
        handle.wait_idle()


def test_what_was_lost_in_an_earlier_recording_is_no_problem_of_a_later_one(
    record: Record, vendor: MockServer, cassette: Path
) -> None:
    vendor.next().fault("reset", after_event=1)
    for fine in (False, True):
        with record(adds=True) as handle:
            with nullcontext() if fine else pytest.raises(ConnectionResetError):
                exchange(handle.url, "POST", COMPLETIONS, {**BODY, "stream": True})
            assert (handle.problems() == []) is fine
    assert len(lines_of(cassette)) == 2


def test_routes_and_the_dialect_of_the_simulator_lead_the_recorder_too(record: Record, cassette: Path) -> None:
    routes = (RouteSettings("/inference", "friendli", "completions"),)
    with record(routes=routes, bare="cerebras", fault=(Fault("reset"),)) as handle:
        assert exchange(handle.url, "POST", "/inference", BODY).status == 200
        assert exchange(handle.url, "POST", "/v1/completions", BODY).status == 200
        assert handle.problems() == []
    assert [line["dialect"] for line in lines_of(cassette)] == ["friendli", "cerebras"]


def test_a_recorder_that_cannot_work_is_refused_at_once(cassette: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def begin(*upstreams: str, dialect: str | None = None) -> None:
        how: Any = {"adds": False, "is_good": lambda: True}
        with recording(cassette, Settings(), upstreams, dialect, **how):
            pass

    for upstreams, dialect, complaint in (
        (("nonsense",), None, "'nonsense' is not a dialect with its URL, as in --mockserver-upstream ovms=http://"),
        (("ovms=localhost",), None, "does not begin with http:// or https:// and a host, as in --mockserver-upstream"),
        ((), "ovms", "say where yours is, as in --mockserver-upstream ovms=http://HOST:PORT"),
    ):
        with pytest.raises(ConfigError, match=complaint):
            begin(*upstreams, dialect=dialect)
    with pytest.raises(ValueError, match=r"unknown dialect 'cerebra'\. Did you mean 'cerebras'"):
        begin(dialect="cerebra")
    monkeypatch.setattr("mockserver.server.recording.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'llm-mockserver\[record\]'"):
        begin()
    assert not cassette.exists()


def test_an_exchange_that_is_under_way_is_told_as_open(record: Record, vendor: MockServer) -> None:
    from concurrent.futures import ThreadPoolExecutor

    vendor.on().fault("hang")
    with record() as handle, ThreadPoolExecutor(1) as pool:
        asked = pool.submit(exchange, handle.url, "POST", COMPLETIONS, BODY)
        [view] = handle.wait_for_requests(1)
        assert (view.status, view.is_closed, view.prompt) == (0, False, "Tell me about tides")
        with pytest.raises(TimeoutError, match="Some answers had not ended"):
            handle.wait_idle(0.05)
        vendor.stop()
        assert asked.exception() is not None or json.loads(asked.result().body)["error"]

"""A recorder that forwards only what is new: everything else is answered as it was recorded."""

import json
from pathlib import Path
from typing import Any

import pytest

from mockserver import MockServer
from mockserver.server.recording.recording_file import Replays
from mockserver.state.settings import ConfigError, Settings
from tests.support.http import Transcript, exchange
from tests.support.questions import QUESTIONS
from tests.support.recording import DIALECTS, led_to, lines_of, recorder

COMPLETIONS = "/cerebras/v1/completions"
BODY = {"model": "llama3.1-8b", "prompt": "Tell me about sea otters", "max_tokens": 12}


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    return tmp_path / "tape.jsonl"


def ask(url: str, body: object = BODY, path: str = COMPLETIONS, **headers: str) -> Transcript:
    return exchange(url, "POST", path, body, headers)


def steady(answer: Transcript) -> tuple[int, str, bytes]:
    return answer.status, dict(answer.headers)["content-type"], answer.body


def test_what_is_recorded_is_answered_as_it_was_and_reaches_no_vendor(vendor: MockServer, tape: Path) -> None:
    asked = [(path, body | more) for path, body in QUESTIONS.values() for more in ({}, {"stream": True})]
    with recorder(tape, led_to(vendor)) as url:
        first = [ask(url, body, path) for path, body in asked]
    before = tape.read_bytes()
    vendor.reset()
    with recorder(tape, led_to(vendor), only_new=True) as url:
        again = [ask(url, body, path) for path, body in asked]
    assert [*map(steady, again)] == [*map(steady, first)]
    assert (vendor.requests, tape.read_bytes()) == ([], before)


def test_what_is_new_is_forwarded_and_known_from_then_on(vendor: MockServer, tape: Path) -> None:
    new = BODY | {"prompt": "And about seals?"}
    with recorder(tape, led_to(vendor), only_new=True) as url:
        ask(url)
    with recorder(tape, led_to(vendor), only_new=True) as url:
        ask(url)
        first = ask(url, new)
    assert [each.prompt for each in vendor.requests] == [BODY["prompt"], new["prompt"]]
    with recorder(tape, {"cerebras": "http://127.0.0.1:9"}, only_new=True) as url:
        assert ask(url, new).body == first.body
    assert len(lines_of(tape)) == 2


def test_equal_requests_of_one_session_are_all_recorded_and_answered_in_turn_later(
    vendor: MockServer, tape: Path
) -> None:
    vendor.on().replies("one", "two", "three")
    with recorder(tape, led_to(vendor), only_new=True) as url:
        for _ in range(3):
            ask(url)
    with recorder(tape, {"cerebras": "http://127.0.0.1:9"}, only_new=True) as url:
        texts = [json.loads(ask(url).body)["choices"][0]["text"] for _ in range(4)]
    assert texts == ["one", "two", "three", "three"]


@pytest.mark.parametrize(
    "change",
    [
        {"path": "/v1/completions", "host": "api.cerebras.ai"},
        {"path": f"/ns/another{COMPLETIONS}"},
        {"path": f"{COMPLETIONS}?api_key=another"},
        {"authorization": "Bearer another", "x-trace": "another"},
        {"body": {"user": "another", **dict(reversed(BODY.items()))}},
        {"body": {**BODY, "seed": 7, "max_tokens": 13}, "volatile": ["$.seed", "$.max_tokens"]},
        {"body": {**BODY, "prompt": "Tell me about 7 otters"}, "volatile": [r"$.prompt =~ sea|\d"]},
        {"path": f"{COMPLETIONS}?api_key=one&format=another", "volatile": ["query.format"]},
    ],
    ids=lambda change: ", ".join(change),
)
def test_who_asks_and_where_the_vendor_is_found_makes_no_new_request(
    change: dict[str, Any], vendor: MockServer, tape: Path
) -> None:
    with recorder(tape, led_to(vendor)) as url:
        first = ask(url, path=f"{COMPLETIONS}?api_key=one")
    if "?" not in str(change.get("path", "?")):
        change = {**change, "path": f"{change['path']}?api_key=one"}
    volatile = change.pop("volatile", ())
    with recorder(tape, {"cerebras": "http://127.0.0.1:9"}, only_new=True, volatile=volatile) as url:
        assert ask(url, **change).body == first.body


@pytest.mark.parametrize(
    "change",
    [
        {"path": f"{COMPLETIONS}?format=another"},
        {"path": "/friendli/v1/completions"},
        {"body": BODY | {"max_tokens": 13}},
        {"body": BODY | {"stream": True}},
        {"body": json.dumps([BODY]).encode()},
    ],
    ids=["query", "vendor", "limit", "stream", "not an object"],
)
def test_anything_else_that_differs_makes_one(change: dict[str, Any], vendor: MockServer, tape: Path) -> None:
    with recorder(tape, led_to(vendor)) as url:
        ask(url)
    vendor.reset()
    with recorder(tape, led_to(vendor), only_new=True) as url:
        ask(url, **change)
    assert len(vendor.exchanges) == 1


def test_a_search_that_was_given_up_takes_no_time_from_other_requests(vendor: MockServer, tape: Path) -> None:
    with recorder(tape, led_to(vendor)) as url:
        first = ask(url, {**BODY, "prompt": "8 otters"})
    volatile = [r"$.prompt =~ (?:a|aa)+$|\d"]
    with recorder(tape, {"cerebras": "http://127.0.0.1:9"}, only_new=True, volatile=volatile) as url:
        for _ in range(4):
            assert ask(url, {**BODY, "prompt": "a" * 60 + "b"}).status == 502
        assert ask(url, {**BODY, "prompt": "7 otters"}).body == first.body


@pytest.mark.parametrize("error", ["rate_limit", "unauthorized", "server_error"])
def test_a_failure_for_reasons_outside_the_request_is_asked_anew(error: str, vendor: MockServer, tape: Path) -> None:
    vendor.next().error(error)
    with recorder(tape, led_to(vendor)) as url:
        ask(url)
    with recorder(tape, led_to(vendor), only_new=True) as url:
        assert ask(url).status == 200


def test_a_refusal_of_the_request_itself_is_not(vendor: MockServer, tape: Path) -> None:
    wrong = BODY | {"max_tokens": "many"}
    with recorder(tape, led_to(vendor)) as url:
        first = ask(url, wrong)
    with recorder(tape, {"cerebras": "http://127.0.0.1:9"}, only_new=True) as url:
        assert steady(ask(url, wrong)) == steady(first)


def test_a_page_may_read_what_comes_from_the_recording(vendor: MockServer, tape: Path) -> None:
    with recorder(tape, led_to(vendor)) as url:
        ask(url)
    with recorder(tape, led_to(vendor), only_new=True) as url:
        headers = dict(ask(url, origin="http://localhost:3000").headers)
    assert headers["access-control-allow-origin"] == "http://localhost:3000"


def test_cookies_that_the_file_has_masked_are_not_set_again(vendor: MockServer, tape: Path) -> None:
    vendor.on().headers({"set-cookie": "session=0123456789"})
    with recorder(tape, led_to(vendor)) as url:
        assert "set-cookie" in dict(ask(url).headers)
    with recorder(tape, led_to(vendor), only_new=True) as url:
        assert "set-cookie" not in dict(ask(url).headers)


def test_a_file_that_is_no_recording_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tape.jsonl").write_text("{}\n{")
    with pytest.raises(ConfigError, match=r"record: .*tape\.jsonl: line 2: is not valid JSON"):
        Replays(tmp_path / "tape.jsonl", Settings(), DIALECTS)

"""The command `mockserver drift`: recorded answers beside those given here, compared in what a vendor says the same way
each time."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from mockserver import MockServer
from mockserver.cli import main
from mockserver.cli.drift import Compared, Difference, compare
from mockserver.core.dialects import EDITIONS, Edition
from mockserver.core.installed import load_dialects
from mockserver.recordings import Recorded
from mockserver.routes import Routes
from mockserver.state.settings import Settings
from tests.support.goldens import FIXTURES, golden
from tests.support.http import exchange

SETTINGS = {edition: Settings(edition=edition, auth="off") for edition in EDITIONS}
ROUTES = {edition: Routes(load_dialects(), settings) for edition, settings in SETTINGS.items()}
# Preflights and unknown paths are no operation's; what a fault of Alice AI's leaves in the content counts as said.
LEFT_OUT = {
    *("openai/wrong-path", "ovms/preflight-observed", "ovms/wrong-endpoint"),
    "yandex/tools-stream-alice-forced-observed",
}
CASES = sorted(
    {
        f"{path.parent.parent.name}/{path.parent.name}"
        for path in FIXTURES.glob("*/*/request.json")
        if "x-mockserver-fault" not in path.read_text().lower()
    }
    - LEFT_OUT
)


def drift(recorded: Recorded, *ignored: str) -> list[Difference]:
    edition: Edition = "observed" if recorded.headers.get("x-mockserver-edition") == "observed" else "documented"
    compared = compare(recorded, ROUTES[edition], SETTINGS[edition], ignored)
    assert isinstance(compared, Compared), compared
    return [*compared.differences]


def edited(recorded: Recorded, edit: Callable[[Any], object]) -> Recorded:
    """The recording with its answer, a JSON body, as an edit leaves it."""
    body = json.loads(recorded.answer)
    edit(body)
    return recorded._replace(answer=json.dumps(body).encode())


def test_what_is_answered_here_has_no_drift() -> None:
    drifts = {case: drift(golden(case)) for case in CASES}
    assert {case: differences for case, differences in drifts.items() if differences} == {}


PLAIN = golden("cerebras/chat-tools")
STREAM = golden("cerebras/stream")


@pytest.mark.parametrize(
    ("edit", "difference"),
    [
        (lambda it: it.pop("usage"), Difference("usage", "", "object")),
        (lambda it: it.update(extra=[{"a": 1}]), Difference("extra", "array", "")),
        (lambda it: it.update(created="now"), Difference("created", "string", "integer")),
        (lambda it: it.update(object="chat"), Difference("object", '"chat"', '"chat.completion"')),
        (lambda it: it.update(id="x-1"), Difference("id", "x-<number>", "chatcmpl-<36 characters>")),
        (lambda it: it["choices"][0].update(logprobs=None), Difference("choices[].logprobs", "null", "")),
        (
            lambda it: it.update(created=it.pop("created")),
            Difference("order", "model", "created"),
        ),
    ],
    ids=lambda it: it.where if isinstance(it, Difference) else "",
)
def test_each_way_in_which_a_body_has_another_shape_is_told(
    edit: Callable[[Any], object], difference: Difference
) -> None:
    assert drift(edited(PLAIN, edit)) == [difference]


def test_what_a_model_says_and_what_measures_it_are_no_drift() -> None:
    def speak(body: Any) -> None:
        calls = body["choices"][0]["message"]["tool_calls"]
        calls[0]["function"]["arguments"] = '{"city": "Ulm"}'
        calls.append({**calls[0], "id": calls[0]["id"][::-1]})
        body["usage"] = {key: value + 1 if isinstance(value, int) else value for key, value in body["usage"].items()}
        body["created"] += 1000

    assert drift(edited(PLAIN, speak)) == []


def test_a_recorder_that_sorts_keys_says_nothing_of_their_order() -> None:
    answer = json.dumps(json.loads(PLAIN.answer), sort_keys=True).encode()
    assert drift(PLAIN._replace(answer=answer)) == []


def test_a_measure_may_happen_to_be_a_whole_number_but_not_the_other_way() -> None:
    def whole(body: Any) -> None:
        body["time_info"]["queue_time"] = 0

    def fraction(body: Any) -> None:
        body["usage"]["total_tokens"] = 0.5

    assert [each.where for each in drift(edited(PLAIN, fraction))] == []
    assert drift(edited(PLAIN, whole)) == [Difference("time_info.queue_time", "integer", "number")]


@pytest.mark.parametrize(
    ("pattern", "replacement", "differences"),
    [
        (rb"data: \[DONE\]\n\n", b"", [Difference("[DONE]", "", "[DONE]")]),
        (
            rb"data: ",
            b"data:",
            [
                Difference(f"{event}: its fields", "'data:'", "'data: '")
                for event in ("first event", "events between", "event with a finish_reason", "[DONE]")
            ],
        ),
        (
            rb'"finish_reason":"length"',
            b'"finish_reason":"max_tokens"',
            [Difference("event with a finish_reason: choices[].finish_reason", '"max_tokens"', '"stop"')],
        ),
        (
            rb'"index":0',
            b'"index":null',
            [
                Difference(f"{event}: choices[].index", "null", "integer")
                for event in ("first event", "events between", "event with a finish_reason")
            ],
        ),
    ],
    ids=["no terminator", "no blank", "a word", "a type"],
)
def test_each_way_in_which_a_stream_differs_is_told(
    pattern: bytes, replacement: bytes, differences: list[Difference]
) -> None:
    assert drift(STREAM._replace(answer=re.sub(pattern, replacement, STREAM.answer))) == differences


def test_an_event_more_is_told_but_for_one_that_only_keeps_the_connection_open() -> None:
    for sent, differences in (
        (b'data: {"error": {}}', [Difference("event without choices", "object", "")]),
        (b": still there", []),
        (b'event: ping\ndata: {"type": "ping"}', []),
    ):
        more = STREAM.answer.replace(b"data: [DONE]", sent + b"\n\ndata: [DONE]")
        assert drift(STREAM._replace(answer=more)) == differences


def test_events_in_another_order_are_told() -> None:
    typed = golden("friendli/responses-stream")
    first, second, *others = typed.answer.split(b"\n\n")
    [difference] = drift(typed._replace(answer=b"\n\n".join([second, first, *others])))
    assert difference == Difference("order", "response.in_progress", "response.created")


def test_an_answer_of_a_single_token_may_have_fewer_events() -> None:
    first, *others = STREAM.answer.split(b"\n\n")
    ends = [event for event in others if b'"finish_reason":null' not in event]
    assert len(ends) < len(others)
    assert drift(STREAM._replace(answer=b"\n\n".join([first, *ends]))) == []


def test_an_event_that_joins_what_others_say_is_no_drift() -> None:
    thinking = golden("cerebras/chat-reasoning-stream-observed")
    events = thinking.answer.split(b"\n\n")
    parted = [event for event in events if not (b'"content"' in event and b'"reasoning":' in event)]
    assert len(parted) == len(events) - 1
    assert drift(thinking._replace(answer=b"\n\n".join(parted))) == []


def test_how_many_tokens_come_in_how_many_events_is_no_drift() -> None:
    events = STREAM.answer.split(b"\n\n")
    fewer = b"\n\n".join([*events[:3], *events[6:]])
    assert drift(STREAM._replace(answer=fewer)) == []


def test_places_that_may_differ_are_left_out_in_whatever_event_they_are() -> None:
    changed = STREAM._replace(answer=STREAM.answer.replace(b'"index":0', b'"index":null'))
    assert drift(changed, "choices[].*") == []
    assert len(drift(changed, "choices.*", "index")) == 3


REFUSED = golden("cerebras/chat-refused")


def test_a_refusal_is_held_to_its_words_but_for_what_differs_each_time() -> None:
    said = json.loads(REFUSED.answer)["error"]["message"]
    number = said.replace("1.5", "7")
    assert drift(edited(REFUSED, lambda it: it["error"].update(message=number))) == []
    expected = Difference("error.message", '"No."', '"{}"'.format(re.sub(r"\d(\.\d)?", "#", said)))
    assert drift(edited(REFUSED, lambda it: it["error"].update(message="No."))) == [expected]


def test_a_refusal_where_this_server_refuses_otherwise_or_not_at_all_is_told_by_its_words() -> None:
    status = f"400: {REFUSED.answer.decode()}"
    assert drift(REFUSED._replace(status=422)) == [Difference("status", status.replace("400", "422"), status)]
    answer = f"200: {PLAIN.answer.decode()}"
    assert drift(REFUSED._replace(status=200, answer=PLAIN.answer)) == [Difference("status", answer, status)]


def test_a_refusal_of_a_status_that_the_dialect_does_not_know_is_told() -> None:
    busy = PLAIN._replace(status=521, answer=b"Web server is down")
    assert [(each.where, each.recorded) for each in drift(busy)] == [("status", "521: Web server is down")]


@pytest.mark.parametrize("status", [401, 429, 500])
def test_a_refusal_that_no_request_explains_is_compared_with_those_of_its_status(status: int) -> None:
    rows = load_dialects()["cerebras"].errors["documented"]
    row = next(row for row in rows.values() if row.status == status)
    body = {"error": {"message": row.message, "type": "other", "param": None, "code": None}}
    refused = PLAIN._replace(status=status, answered={}, answer=json.dumps(body).encode())
    assert {each.where for each in drift(refused)} <= {
        "error.type",
        "error.code",
        "error.param",
        "order",
    }
    assert "error.type" in {each.where for each in drift(refused)}


def test_headers_by_which_clients_decide_are_compared_where_a_recording_kept_any() -> None:
    limited = golden("upstash/plain")
    assert drift(limited._replace(answered={"content-type": "application/json"})) == []
    more = limited._replace(answered={**limited.answered, "retry-after": "3", "cf-ray": "1-FRA", "server": "nginx"})
    assert drift(more) == [Difference("header retry-after", "3", "")]
    html = limited._replace(answered={**limited.answered, "content-type": "text/html"})
    assert drift(html) == [Difference("header content-type", "text/html", limited.answered["content-type"])]


def test_what_is_no_json_is_compared_as_text() -> None:
    broken = golden("cerebras/plain")._replace(answer=b"<html>" + b"a" * 200)
    assert [each.where for each in drift(broken)] == ["the body"]


@pytest.mark.parametrize(
    "odd",
    [
        {"choices": None},
        {"choices": [None, 3, {"index": [], "message": {"tool_calls": {}}}]},
        {"choices": [{"message": {"tool_calls": [None, {"index": {}, "function": {"name": 3, "arguments": []}}]}}]},
        {"choices": [{"finish_reason": [1], "stop_reason": {}, "delta": 1, "text": 5}], "usage": [1]},
        {"choices": [{"message": {"content": 1, "function_call": {"name": None}}}], "usage": {"prompt_tokens": -1}},
        [[[]]],
        None,
    ],
)
def test_an_answer_of_an_odd_form_is_told_as_different_and_breaks_nothing(odd: object) -> None:
    assert drift(PLAIN._replace(answer=json.dumps(odd).encode()))


# --- the command ---

CHAT = {"model": "gpt-oss-120b", "messages": [{"role": "user", "content": "Why are there tides?"}]}


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal of two streams, a plain answer and a refusal, of which streams have a field less than usual."""
    file = tmp_path_factory.mktemp("drift") / "journal.jsonl"
    with MockServer() as server:
        for body in ({**CHAT, "stream": True}, {**CHAT, "stream": True, "seed": 7}, CHAT, {**CHAT, "temperature": 9}):
            exchange(server.url, "POST", "/cerebras/v1/chat/completions", body)
        with urlopen(f"{server.url}/_mockserver/journal.jsonl") as answer:
            file.write_bytes(answer.read())
    return file


@pytest.fixture(scope="module")
def changed(recording: Path) -> Path:
    file = recording.with_name("changed.jsonl")
    lines = recording.read_text().splitlines()
    told = [json.loads(line) for line in lines]
    for each in told[:2]:
        for event in each["answer"]["events"]:
            event["data"] = (
                event["data"]
                .replace('"object":"chat.completion.chunk",', "")
                .replace(',"object":"chat.completion.chunk"', "")
            )
    file.write_text("".join(f"{json.dumps(each)}\n" for each in told))
    return file


def test_a_recording_that_is_answered_alike_has_no_drift(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["drift", str(recording)]) == 0
    assert capsys.readouterr().out == "4 answers compared: 4 alike, 0 different\n"


def test_each_difference_is_told_once_with_where_it_was_recorded(
    changed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["drift", str(changed)]) == 1
    out = capsys.readouterr().out
    assert out == (
        "4 answers compared: 2 alike, 2 different\n\n"
        f"cerebras chat_completions, 200, streamed  ({changed}, line 1; {changed}, line 2)\n"
        '  first event: object: recorded nothing, answered "chat.completion.chunk"\n'
        '  events between: object: recorded nothing, answered "chat.completion.chunk"\n'
        '  event with a finish_reason: object: recorded nothing, answered "chat.completion.chunk"\n'
    )


def test_drift_that_is_known_is_left_out(changed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["drift", str(changed), "--ignore", "object"]) == 0
    assert "4 alike" in capsys.readouterr().out


def test_the_edition_of_the_server_counts(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["drift", str(recording), "--edition", "observed"]) == 1
    assert "cerebras chat_completions, 400" in capsys.readouterr().out


def test_what_is_not_compared_is_told_and_where_nothing_is_it_is_a_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "page.har"
    request = {"method": "GET", "url": "https://example.com/style.css", "headers": []}
    response = {"status": 200, "headers": [], "content": {"text": "a {}"}}
    file.write_text(json.dumps({"log": {"entries": [{"request": request, "response": response}]}}))
    assert main(["drift", str(file)]) == 1
    said = capsys.readouterr()
    assert said.out == "0 answers compared: 0 alike, 0 different; 1 exchange not compared\n"
    assert said.err == (
        f"mockserver: {file}, entry 1: no dialect serves GET /style.css; left out\n"
        "mockserver: nothing could be compared\n"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty; expected a journal"),
        ("[]", "is not a recording; expected a journal"),
        ("{", "line 1: is not valid JSON"),
    ],
)
def test_what_is_no_recording_is_told(text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "odd.har"
    file.write_text(text)
    assert main(["drift", str(file)]) == 2
    assert f"drift: {file}: {said}" in capsys.readouterr().err

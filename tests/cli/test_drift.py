"""The command `mockserver drift`: recorded answers beside those given here, with its exit code."""

import json
from pathlib import Path
from urllib.request import urlopen

import pytest

from mockserver import MockServer
from mockserver.cli import main
from tests.support.http import exchange

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
        '  event before the last: object: recorded nothing, answered "chat.completion.chunk"\n'
    )


def test_drift_that_is_known_is_left_out(changed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["drift", str(changed), "--ignore", "object"]) == 0
    assert "4 alike" in capsys.readouterr().out


def test_programs_read_it_as_json(changed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["drift", str(changed), str(changed), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["alike"], len(told["exchanges"]), told["lost"]) == (False, 8, [])
    assert told["exchanges"][0]["differences"][0] == {
        "where": "first event: object",
        "recorded": "",
        "answered": '"chat.completion.chunk"',
    }


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

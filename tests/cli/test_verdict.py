"""The command `mockserver verdict`: on journals, reports and servers, with its exit code."""

import json
from collections.abc import Iterator
from io import BytesIO, TextIOWrapper
from pathlib import Path
from urllib.request import urlopen

import pytest

from mockserver import MockServer
from mockserver.cli import main
from tests.support.certificates import write_certificate
from tests.support.http import exchange

BODY = {"model": "m", "prompt": "hello", "max_tokens": 4}


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    with MockServer() as running:
        hasty = running.in_namespace("hasty")
        hasty.next().error("rate_limit", retry_after=5)
        for name in ("hasty", "hasty", "fine"):
            exchange(running.url, "POST", f"/ns/{name}/cerebras/v1/completions", BODY)
        yield running


def test_a_running_server_is_judged(server: MockServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verdict", f"{server.url}/ns/hasty"]) == 1
    assert capsys.readouterr().out.startswith("retry_after_ignored: asked to wait 5 s, the client came back after 0.")
    assert main(["verdict", server.url, "--namespace", "fine", "--handles", "retry"]) == 0
    assert capsys.readouterr().out == "No client mistakes in 1 call.\n"


def test_a_journal_in_a_file_is_judged(server: MockServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "journal.jsonl"
    with urlopen(f"{server.url}/_mockserver/ns/hasty/journal.jsonl") as answer:
        file.write_bytes(answer.read())
    assert main(["verdict", str(file), "--json"]) == 1
    assert [each["fault"] for each in json.loads(capsys.readouterr().out)["findings"]] == ["retry_after_ignored"]


def test_standard_input_is_judged(
    server: MockServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with urlopen(f"{server.url}/_mockserver/ns/hasty/journal.jsonl") as answer:
        monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(answer.read())))
    assert main(["verdict", "-"]) == 1
    assert capsys.readouterr().out.startswith("retry_after_ignored")


def test_exchanges_that_a_journals_file_lacks_are_told(
    server: MockServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "journal.jsonl"
    with urlopen(f"{server.url}/_mockserver/ns/hasty/journal.jsonl?limit=1") as answer:
        file.write_bytes(answer.read())
    assert main(["verdict", str(file)]) == 0
    assert f"{file} lacks 1 exchange of the journal, which cannot be judged" in capsys.readouterr().out


def test_a_certificate_that_is_not_trusted_is_told_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    certificate, key = map(str, write_certificate(tmp_path))
    with MockServer(tls_cert=certificate, tls_key=key) as secure:
        assert main(["verdict", secure.url]) == 2
        assert "CERTIFICATE_VERIFY_FAILED" in (told := capsys.readouterr().err)
        assert "To trust the server's certificate, set SSL_CERT_FILE" in told
        monkeypatch.setenv("SSL_CERT_FILE", certificate)
        assert main(["verdict", secure.url]) == 0


def test_a_report_is_read_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "report.json"
    finding = {"fault": "retry_storm", "message": "12 attempts", "exchanges": [1]}
    file.write_text(json.dumps({"clean": False, "tests": [{"test": "a::b", "verdict": {"findings": [finding]}}]}))
    assert main(["verdict", str(file)]) == 1
    assert capsys.readouterr().out == "a::b: retry_storm: 12 attempts\n"
    file.write_text('{"clean": true, "tests": []}')
    assert main(["verdict", str(file)]) == 0


@pytest.mark.parametrize(
    "content, words",
    [
        ("", "is empty"),
        ("nonsense\n", "line 1: is not an exchange"),
        (
            '{"number": 1}\n',
            "line 1: is not an exchange (namespace: 'namespace' is a required property); expected a journal",
        ),
        (None, "No such file"),
    ],
)
def test_what_is_no_journal_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None, words: str
) -> None:
    file = tmp_path / "journal.jsonl"
    if content is not None:
        file.write_text(content)
    assert main(["verdict", str(file)]) == 2
    assert words in capsys.readouterr().err


def test_what_cannot_be_meant_is_refused(server: MockServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verdict", server.url, "--handles", "retri"]) == 2
    assert "Did you mean 'retry'?" in capsys.readouterr().err
    assert main(["verdict", "http://127.0.0.1:9"]) == 2
    assert "refused" in capsys.readouterr().err
    for path, space, words in (("", "a b", "cannot contain"), ("/ns/a", "b", "the URL is of the namespace 'a', but")):
        assert main(["verdict", f"{server.url}{path}", "--namespace", space]) == 2
        assert words in capsys.readouterr().err

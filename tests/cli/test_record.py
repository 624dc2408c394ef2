"""The command `mockserver record`: its messages at the start, for each exchange and at the end, and its exit."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mockserver import MockServer
from mockserver.cli import main
from tests.support.http import exchange
from tests.support.printing import printed_until
from tests.support.recording import lines_of

BODY = {"model": "llama3.1-8b", "prompt": "Tell me about tides", "max_tokens": 8, "stream": True}


@contextmanager
def recording(*options: str) -> Iterator[tuple["subprocess.Popen[str]", str, list[str]]]:
    """The command in a process of its own: the process, its URL, and its greeting."""
    command = [sys.executable, "-m", "mockserver", "record", "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            lines = [line.rstrip("\n") for line in printed_until(process, "Stop with")]
            [url] = re.findall(r"on (http://\S+) into", lines[0])
            yield process, url, lines
        finally:
            process.kill()


def test_it_says_where_requests_go_what_came_of_each_and_at_its_end_what_to_do_next(
    server: MockServer, tmp_path: Path
) -> None:
    tape = tmp_path / "tape.jsonl"
    options = ("--out", str(tape), "--upstream", f"cerebras={server.url}/cerebras")
    with recording(*options) as (process, url, greeting):
        assert exchange(url, "POST", "/cerebras/v1/completions", BODY).status == 200
        assert exchange(url, "POST", "/ovms/v3/completions", BODY).status == 502
        assert len(lines_of(tape)) == 1
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert greeting[1:8] == [
        f"  {url}/anthropic -> https://api.anthropic.com",
        f"  {url}/cerebras -> {server.url}/cerebras",
        f"  {url}/friendli -> https://api.friendli.ai",
        f"  {url}/openai -> https://api.openai.com",
        f"  {url}/ovms -> nowhere: OpenVINO Model Server has no host of its own: say where yours is, as in "
        "--upstream ovms=http://HOST:PORT",
        f"  {url}/upstash -> https://qstash.upstash.io",
        f"  {url}/yandex -> https://ai.api.cloud.yandex.net",
    ]
    assert "keys and cookies are masked" in greeting[8]
    assert out.splitlines() == [
        f"1 exchange recorded in {tape}",
        f"Stubs: mockserver stubs {tape} --pace --out stubs",
        f"Drift: mockserver drift {tape} --edition observed",
    ]
    asked, refused = err.splitlines()
    assert re.fullmatch(
        r"[\d:]+ cerebras POST /cerebras/v1/completions -> 200, first byte after \d+ ms, in \d+ ms, \d+ events", asked
    )
    assert "POST /ovms/v3/completions -> 502: OpenVINO Model Server has no host of its own" in refused


@pytest.mark.skipif(sys.platform == "win32", reason="limits the size of files")
@pytest.mark.parametrize("beside", [True, False])
def test_what_a_full_disk_does_not_take_is_lost_and_said_and_the_rest_can_be_read(
    server: MockServer, tmp_path: Path, beside: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    tape = tmp_path / "tape.jsonl"
    asking = (
        "import json, os, urllib.request\n"
        "for prompt in ('first', 'long ' * 5_000, 'last'):\n"
        "    body = json.dumps({'model': 'llama3.1-8b', 'prompt': prompt, 'max_tokens': 4}).encode()\n"
        "    headers = {'content-type': 'application/json', 'authorization': 'Bearer k'}\n"
        "    url = os.environ['MOCKSERVER_URL'] + '/cerebras/v1/completions'\n"
        "    urllib.request.urlopen(urllib.request.Request(url, body, headers)).read()\n"
    )
    limited = "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (16_384, 16_384)); "
    limited += "sys.dont_write_bytecode = True; runpy.run_module('mockserver', run_name='__main__')"
    options = ["record", "--port", "0", "--out", str(tape), "--upstream", f"cerebras={server.url}/cerebras"]
    if beside:
        command = [sys.executable, "-c", limited, *options, "--", sys.executable, "-c", asking]
        run = subprocess.run(command, capture_output=True, text=True, timeout=60)
        code, told, log = run.returncode, run.stderr, run.stderr
    else:
        with subprocess.Popen(
            [sys.executable, "-c", limited, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            [url] = re.findall(r"on (http://\S+) into", "".join(printed_until(process, "Stop with")))
            subprocess.run([sys.executable, "-c", asking], env={**os.environ, "MOCKSERVER_URL": url}, check=True)
            process.send_signal(signal.SIGINT)
            told, log = process.communicate(timeout=30)
            code = process.returncode
    assert code == 1
    assert f"2 exchanges recorded in {tape}" in told
    assert "1 exchange could not be recorded" in told
    assert (
        f"{tape}: File too large: this exchange is not recorded: cerebras POST /cerebras/v1/completions -> 200" in log
    )
    assert main(["stubs", str(tape)]) == 0
    stubs = capsys.readouterr()
    assert (stubs.out.count("[[stub]]"), stubs.err) == (2, "")
    assert tape.stat().st_mode & 0o777 == 0o600


def test_without_an_exchange_nothing_is_left(tmp_path: Path) -> None:
    with recording("--out", str(tmp_path / "tape.jsonl")) as (process, url, _):
        assert exchange(url, "GET", "/nowhere").status == 404
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, list(tmp_path.iterdir())) == (0, "Nothing was recorded.\n", [])
    assert "GET /nowhere -> 404: Nothing is recorded at GET /nowhere." in err


def test_for_machines_everything_is_an_object_on_a_line_and_no_key_is_told(server: MockServer, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mockserver", "record", "--port", "0", "--log-format", "json"]
    options = ["--log-level", "debug", "--out", str(tmp_path / "tape.jsonl")]
    upstream = ["--upstream", f"cerebras={server.url}/cerebras"]
    with subprocess.Popen(
        [*command, *options, *upstream], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        greeting = json.loads(process.stdout.readline())
        exchange(greeting["url"], "GET", "/nowhere")
        exchange(greeting["url"], "GET", "/cerebras/v1/models?api_key=my-very-own-key")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert f"records on {greeting['url']} into" in greeting["message"]
    assert json.loads(out)["message"].startswith("1 exchange recorded in ")
    told = [json.loads(line)["message"] for line in err.splitlines()]
    assert any(line.startswith("GET /nowhere -> 404: ") for line in told)
    assert any("GET /cerebras/v1/models -> 200" in line for line in told)
    assert "my-very-own-key" not in out + err


@pytest.mark.parametrize(
    "options, complaint",
    [
        (["--out", "a.txt"], "record: a.txt: the name of a recording ends in .jsonl"),
        (["--out", "/dev/null/a.jsonl"], "record: /dev/null: File exists"),
        (["--out", "a.jsonl", "--upstream", "ovsm=http://h"], "upstream: unknown dialect 'ovsm'. Did you mean 'ovms'?"),
        (["--out", "a.jsonl", "--dialect", "ovms"], "upstream: OpenVINO Model Server has no host of its own"),
        (
            ["--out", "a.jsonl", "--port", "18000", "--upstream", "ovms=http://localhost:18000/a"],
            "upstream: ovms: http://localhost:18000/a is the recorder itself; --port chooses another port",
        ),
        (["--out", "a.jsonl", "--host", "192.0.2.1"], "Cannot listen on 192.0.2.1:0"),
        (["--out", "a.jsonl", "--edition", "none"], "option edition: unknown value 'none'"),
        (["--out", "a.jsonl", "--pace"], "unknown option '--pace'"),
        (
            ["--out", "a.jsonl", "--fault", "reset"],
            "record: --fault has no effect on what a vendor answers; leave it out",
        ),
        (["--out", "a.jsonl", "--only-new", "--force"], "record: give either --only-new or --force"),
        (
            ["--out", "a.jsonl", "npm", "test"],
            "record: give a command after two dashes: mockserver record --out a.jsonl -- npm test",
        ),
    ],
)
def test_a_mistake_is_one_line(
    options: list[str],
    complaint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["record", "--port", "0", *options]) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith(f"mockserver: {complaint}")
    assert (printed.out, printed.err.count("\n"), list(tmp_path.iterdir())) == ("", 1, [])


def test_without_the_library_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    assert main(["record", "--out", str(tmp_path / "a.jsonl")]) == 2
    assert "pip install 'llm-mockserver[record]'" in capsys.readouterr().err


# --- beside a command ---------------------------------------------------------------------------------------------

_ASKING = """
import json, os, sys, urllib.request
url = os.environ["CEREBRAS_BASE_URL"] + "/v1/completions"
headers = {"authorization": "Bearer " + os.environ["CEREBRAS_API_KEY"], "content-type": "application/json"}
body = {"model": "llama3.1-8b", "prompt": sys.argv[1], "max_tokens": 8}
with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as answer:
    print(json.load(answer)["choices"][0]["text"])
sys.exit(3)
"""


def beside(capfd: pytest.CaptureFixture[str], *options: str) -> tuple[int, str, list[str]]:
    """The command with a program, in this process, as its recorder is in a thread anyway: its exit code, and what both
    have written."""
    code = main(["record", *options])
    out, err = capfd.readouterr()
    return code, out, err.splitlines()


def test_a_command_is_recorded_with_its_own_keys_and_its_exit_code_is_passed_on(
    server: MockServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    tape = tmp_path / "tape.jsonl"
    options = ("--out", str(tape), "--only-new", "--upstream")
    program = ("--", sys.executable, "-c", _ASKING, "Tell me about tides")
    monkeypatch.setenv("CEREBRAS_API_KEY", "my-own-key")
    code, answer, said = beside(capfd, *options, f"cerebras={server.url}/cerebras", *program)
    assert (code, said[0]) == (3, f"mockserver: 1 exchange recorded in {tape}")
    [line] = lines_of(tape)
    assert line["request"]["headers"]["authorization"] == "Bearer ****-key"
    monkeypatch.setenv("CEREBRAS_API_KEY", "none")
    # Nothing listens at this port.
    again = beside(capfd, *options, "cerebras=http://127.0.0.1:9", *program)
    assert again == (3, answer, [f"mockserver: Nothing new was recorded in {tape}; 1 answer from it."])


def test_the_openai_client_is_directed_only_if_it_is_known_where_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    program = ("--", sys.executable, "-c", "import os; print(os.environ.get('OPENAI_BASE_URL'))")
    tape = ("--out", str(tmp_path / "tape.jsonl"))
    assert beside(capfd, *tape, *program)[1] == "None\n"
    assert re.fullmatch(
        r"http://127\.0\.0\.1:\d+/yandex/v1\n", beside(capfd, *tape, "--dialect", "yandex", *program)[1]
    )


def test_a_command_that_does_not_exist_is_127_and_leaves_no_file(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, _, said = beside(capfd, "--out", str(tmp_path / "tape.jsonl"), "--", "no-such-command")
    assert (code, list(tmp_path.iterdir())) == (127, [])
    assert said[0] == "mockserver: no-such-command: No such file or directory"

"""The command `mockserver run`: a server for as long as a command runs."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mockserver.cli import main
from tests.support.sockets import kept_port

# A client that finds the server by its environment alone, as a test suite would; the arguments are paths to ask.
ASKING = """
import os, sys
from urllib.error import HTTPError
from urllib.request import Request, urlopen

headers = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "content-type": "application/json"}
for variable in sys.argv[1:]:
    path = "" if variable.startswith("OPENAI") else "/v1"
    body = b'{"model": "m", "prompt": "hello", "max_tokens": 4}'
    try:
        with urlopen(Request(os.environ[variable] + path + "/completions", body, headers)) as answer:
            print(answer.status, flush=True)
    except HTTPError as error:
        print(error.code, flush=True)
"""
# Says when it can be told, and ends well or badly.
TOLD = """
import signal, sys
def end(number, frame):
    print("told", number)
    sys.exit(7)
signal.signal(int(sys.argv[1]), end)
print("ready", flush=True)
signal.pause()
"""


COMMAND = (sys.executable, "-m", "mockserver", "run")


class Ran(NamedTuple):
    """What became of a command: its exit code, and what it has written, with all its children."""

    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command, with variables of the environment, in this process: its server is in a thread anyway."""

    def run(*arguments: str, **variables: str) -> Ran:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        return Ran(main(["run", *arguments]), *capfd.readouterr())

    return run


def python(code: str, *arguments: str) -> list[str]:
    return ["--", sys.executable, "-c", code, *arguments]


def test_a_command_is_led_to_the_server_and_says_all_that_is_said(run: Run) -> None:
    ran = run(*python(ASKING, "OPENAI_BASE_URL", "CEREBRAS_BASE_URL"), HTTP_PROXY="http://127.0.0.1:1")
    assert (ran.code, ran.out, ran.err) == (0, "200\n200\n", "")


def test_what_stands_behind_the_dashes_is_the_commands_own(run: Run) -> None:
    code = "import sys; print(sys.argv[1:]); sys.exit(3)"
    ran = run("--seed", "7", *python(code, "--port", "none", "--", "--report"))
    assert (ran.code, ran.out, ran.err) == (3, "['--port', 'none', '--', '--report']\n", "")


def test_settings_are_those_of_serve(run: Run, tmp_path: Path) -> None:
    config = tmp_path / "mock.toml"
    config.write_text('dialect = "friendli"\nauth = ["k-1", "k-2"]\nadmin_token = "t"\n[[stub]]\nreply = "It rains."\n')
    code = """
import os
from urllib.request import Request, urlopen
url, key = os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"]
print(url.removeprefix(os.environ["MOCKSERVER_URL"]), key, os.environ["FRIENDLI_TOKEN"])
print(os.environ["MOCKSERVER_ADMIN_TOKEN"])
headers = {"authorization": "Bearer " + key, "content-type": "application/json"}
body = b'{"model": "m", "prompt": "hello"}'
print(b"It rains." in urlopen(Request(url + "/completions", body, headers)).read())
"""
    ran = run("--config", str(config), *python(code))
    assert (ran.code, ran.out.splitlines(), ran.err) == (0, ["/friendli/v1 k-1 k-1", "t", "True"], "")


def test_a_port_that_is_told_is_taken_and_the_log_goes_to_the_standard_error() -> None:
    code = ASKING.replace("for variable", "print(os.environ['MOCKSERVER_URL'])\nfor variable")
    with kept_port() as port:
        command = [*COMMAND, "--log-level", "info", *python(code, "CEREBRAS_BASE_URL")]
        variables = {**os.environ, "MOCKSERVER_PORT": str(port)}
        ran = subprocess.run(command, capture_output=True, text=True, timeout=60, env=variables)
    assert ran.stdout == f"http://127.0.0.1:{port}\n200\n"
    first, line = ran.stderr.splitlines()
    assert first.endswith(f" serving on http://127.0.0.1:{port}")
    assert " cerebras completions 200, " in line


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_are_passed_on(number: signal.Signals) -> None:
    command = [*COMMAND, *python(TOLD, str(int(number)))]

    def heed() -> None:
        """Let the signal be heeded, even if whoever runs the tests ignores it, as in the background or under nohup."""
        signal.signal(number, signal.SIG_DFL)

    options: dict[str, Any] = {"start_new_session": True, "preexec_fn": heed}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.stdout.read() == f"told {int(number)}\n"
        assert process.wait(30) == 7


def test_a_command_that_a_signal_ends_gives_the_code_that_shells_give(run: Run) -> None:
    assert run(*python("import os; os.kill(os.getpid(), 15)")).code == 128 + 15


def test_a_command_that_cannot_be_run_gives_the_code_that_shells_give(run: Run, tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("no program")
    for command, code, words in (
        ("no-such-command", 127, "No such file or directory"),
        (str(tmp_path / "plain"), 126, "Permission denied"),
    ):
        ran = run("--", command)
        assert (ran.code, ran.out, ran.err) == (code, "", f"mockserver: {command}: {words}\n")


def test_the_report_says_how_clients_behaved_and_faults_make_one_of_zero(run: Run) -> None:
    fault = "{ kind = 'error', error = 'rate_limit', retry_after = 5, times = 1 }"
    twice = python(ASKING, *["CEREBRAS_BASE_URL"] * 2)
    ran = run("--fault", fault, "--report", *twice)
    assert (ran.code, ran.out) == (1, "429\n200\n")
    assert ran.err.startswith("mockserver: retry_after_ignored: asked to wait 5 s, the client came back after 0.")
    ran = run("--fault", fault, *twice)
    assert (ran.code, ran.err) == (0, "")
    ran = run("--report", *twice)
    assert (ran.code, ran.err) == (0, "mockserver: No client mistakes in 2 calls.\n")
    ran = run("--fault", fault, "--handles", "retry", *python(ASKING + "sys.exit(5)", "CEREBRAS_BASE_URL"))
    assert ran.code == 5
    assert ran.err.startswith("mockserver: gave_up: ")


@pytest.mark.parametrize(
    "option, fault",
    [(["--least-attempts", "1"], False), (["--least-attempts", "3"], True), (["--most-attempts", "1"], True)],
    ids=["least 1", "least 3", "most 1"],
)
def test_the_report_heeds_how_many_attempts_are_right(run: Run, option: list[str], fault: bool) -> None:
    twice = python(ASKING, *["CEREBRAS_BASE_URL"] * 2)
    failing = "{ kind = 'error', error = 'server_error' }"
    ran = run("--fault", failing, "--handles", "retry", *option, *twice)
    assert ran.out == "500\n500\n"
    assert (ran.code, "gave_up" in ran.err or "retry_storm" in ran.err) == (int(fault), fault)


def test_any_declaration_asks_for_a_report(run: Run) -> None:
    asking = python(ASKING, "CEREBRAS_BASE_URL")
    for option in ("--patience", "--least-attempts", "--most-attempts"):
        assert run(option, "5", *asking).err == "mockserver: No client mistakes in 1 call.\n"
    assert run(*asking).err == ""


def test_the_report_is_on_every_namespace_and_on_none_and_so_is_the_journal(run: Run, tmp_path: Path) -> None:
    code = "import os; os.environ['OPENAI_BASE_URL'] = os.environ['MOCKSERVER_URL'] + '/ns/a/ovms/v3'\n" + ASKING
    journal = tmp_path / "journal.jsonl"
    ran = run("--report", "--out", str(journal), "--admin-token", "s", *python(code, "OPENAI_BASE_URL"))
    assert (ran.code, ran.err) == (0, "mockserver: [a] No client mistakes in 1 call.\n")
    [line] = journal.read_text().splitlines()
    assert (json.loads(line)["namespace"], json.loads(line)["status"]) == ("a", 200)
    ran = run("--out", str(tmp_path / "nowhere" / "j.jsonl"), *python("pass"))
    assert (ran.code, ran.err) == (1, f"mockserver: run: {tmp_path}/nowhere/j.jsonl: No such file or directory\n")
    ran = run("--report", *python("pass"))
    assert (ran.code, ran.err.startswith("mockserver: no model was asked. ")) == (0, True)


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        (["npm", "test"], "run: give the command after two dashes: mockserver run --seed 7 -- npm test"),
        (["npm", "--if-x", "-s"], "run: give the command after two dashes: mockserver run --seed 7 -- npm --if-x -s"),
        (["--"], "run: give the command after two dashes: mockserver run --seed 7 -- npm test"),
        (["--latncy", "off", "--", "x"], "unknown option '--latncy'. Did you mean '--latency'?"),
        (["--workers", "2", "--", "x"], "workers: run needs a server with a single process"),
        (["--handles", "nothing", "--", "x"], "run: handles: unknown value 'nothing'"),
        (["--out", "j.har", "--", "x"], "run: j.har: a journal is a *.jsonl"),
    ],
)
def test_a_mistake_is_one_line(arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith(f"mockserver: {complaint}")
    assert (printed.out, printed.err.count("\n")) == ("", 1)

"""The command line: output, exit codes and messages."""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from itertools import takewhile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from mockserver import MockServer
from mockserver.cli import main
from mockserver.cli.command import COMMANDS, GROUPS, Command, load_command
from mockserver.latency.profiles import presets
from mockserver.server.server import Loop
from mockserver.server.urls import reason_of
from mockserver.state.settings import Settings
from mockserver.state.settings.options import BY_NAME, OPTIONS
from tests.support.certificates import write_certificate
from tests.support.http import exchange
from tests.support.printing import printed_until
from tests.support.sockets import LOOPS, kept_port
from tests.support.waiting import until

LOADED: dict[str, Command] = {name: load_command(name) for name in COMMANDS}


def test_a_folder_of_stubs_that_a_config_names_lies_beside_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here" / "stubs").mkdir(parents=True)
    (tmp_path / "here" / "stubs" / "a.toml").write_text('[[stub]]\nreply = "one"\n')
    (tmp_path / "here" / "mock.toml").write_text('stubs = "stubs"\n')
    monkeypatch.chdir(tmp_path)
    assert main(["check", "here/mock.toml"]) == 0
    assert capsys.readouterr().out == "here/mock.toml: valid, with 1 stub\n"


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("name, text", [("a.toml", '[[stub]]\nreply = "one"\n'), ("a.json", '[{"reply": "one"}]\n')])
def test_files_may_begin_with_a_byte_order_mark_and_have_the_line_ends_of_windows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, line_end: str
) -> None:
    (tmp_path / "stubs").mkdir()
    (tmp_path / "stubs" / name).write_text(text, encoding="utf-8-sig", newline=line_end)
    (tmp_path / "mock.toml").write_text('seed = 7\nstubs = "stubs"\n', encoding="utf-8-sig", newline=line_end)
    assert main(["check", str(tmp_path / "mock.toml")]) == 0
    assert "with 1 stub\n" in capsys.readouterr().out


def test_what_is_piped_is_utf_8_in_every_locale() -> None:
    environment = {**os.environ, "LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    environment.pop("PYTHONIOENCODING", None)
    shown = subprocess.run([sys.executable, "-m", "mockserver", "presets"], capture_output=True, env=environment)
    assert (shown.returncode, shown.stderr) == (0, b"")
    assert "█" in shown.stdout.decode()


def test_plan_shows_the_answer_and_its_timing_without_serving(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    request = tmp_path / "request.json"
    request.write_text(json.dumps({"model": "m", "prompt": "hello", "max_tokens": 2, "stream": True}))
    assert main(["plan", "--dialect", "cerebras", "--latency", "fast", str(request)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "HTTP 200"
    events = [re.match(r" +([\d.]+) s +(\d+) tokens  data: ", line) for line in lines if " tokens " in line]
    assert [(e[1], e[2]) for e in events if e] == [
        ("0.0500", "0"), ("0.0500", "1"), ("0.0550", "1"), ("0.0550", "0"), ("0.0550", "0"),
    ]  # fmt: skip


def test_routes_lists_every_dialect_at_its_prefix(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["routes"]) == 0
    printed = capsys.readouterr().out
    assert "openai    chat_completions (or, by the request, cerebras, friendli, ovms, yandex)\n" in printed
    assert main(["routes", "--bare", "cerebras"]) == 0
    assert "cerebras  chat_completions\n" in capsys.readouterr().out
    assert all(f"/{name}/" in printed for name in ("anthropic", "cerebras", "friendli", "ovms", "upstash", "yandex"))


def test_presets_names_and_draws_every_preset(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["presets"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "off: no delays"
    for name, preset in presets().items():
        place = lines.index(f"{name}: {preset.summary}")
        own = list(takewhile(bool, lines[place + 1 :]))
        assert " ".join(line.strip() for line in own[:-2]) == preset.latency
        assert [line.split()[0] for line in own[-2:]] == ["first", "gap"]
    assert max(map(len, lines)) <= 80


def test_presets_draws_a_latency_of_ones_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["presets", "--latency", "ttft=50ms, itl=5ms"]) == 0
    first, gap = capsys.readouterr().out.splitlines()
    assert (first.split()[-3:], gap.split()[-3:]) == (["always", "50", "ms"], ["always", "5", "ms"])
    assert main(["presets", "--latency", "ttft=soon"]) == 2
    assert "--latency 'ttft=soon': column 6: 'soon' is not a duration" in capsys.readouterr().err


def test_check_praises_a_good_file_and_names_the_line_of_a_mistake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "mock.toml"
    config.write_text('[[route]]\npath = "/x"\ndialect = "ovms"\noperation = "completions"\n')
    assert main(["check", str(config)]) == 0
    assert capsys.readouterr().out == f"{config}: valid, with 1 route of its own\n"
    config.write_text('seed = 1\nlatncy = "off"\n')
    assert main(["check", str(config)]) == 2
    assert f"{config}, line 2: latncy: unknown key 'latncy'. Did you mean 'latency'?" in capsys.readouterr().err
    config.write_text('[models]\ncerebra = ["m"]\n')
    assert main(["check", str(config)]) == 2
    assert f"{config}, line 2: models: unknown dialect 'cerebra'. Did you mean 'cerebras'?" in capsys.readouterr().err
    config.write_text('[[route]]\npath = "/ns/x"\ndialect = "ovms"\noperation = "completions"\n')
    assert main(["check", str(config)]) == 2
    assert "route /ns/x: /ns/<name> at the beginning names a namespace" in capsys.readouterr().err


def test_health_tells_a_running_server_from_none(server: MockServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["health", server.url]) == 0
    assert capsys.readouterr().out == f"{server.url}: ok\n"
    assert main(["health", "http://127.0.0.1:1"]) == 1
    assert "refused" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "reason"),
    [(OSError(2, "No such file"), "No such file"), (ValueError("no"), "no"), (EOFError(), "EOFError")],
)
def test_an_error_of_a_connection_always_says_something(error: Exception, reason: str) -> None:
    assert reason_of(error) == reason


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("secure", [False, True], ids=["http", "https"])
def test_a_url_with_the_wrong_scheme_is_told_with_the_right_one(
    secure: bool, loop: Loop, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    certificate, key = map(str, write_certificate(tmp_path))
    tls: dict[str, Any] = {"tls_cert": certificate, "tls_key": key} if secure else {}
    settings = Settings(port=0, log_level="error", **tls)
    with MockServer(settings, loop) as running:
        right, wrong = ("https", "http") if secure else ("http", "https")
        url = running.url.replace(right, wrong, 1)
        advice = f"{url}: the server there speaks {right.upper()}, not {wrong.upper()}: use {running.url}\n"
        assert main(["health", url]) == 1
        assert capsys.readouterr().err == advice
        assert main(["verdict", url]) == 2
        assert capsys.readouterr().err == f"mockserver: verdict: {advice}"


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        (["serve", "--port", "99999"], "option port: '99999' is not a whole number from 0 to 65535"),
        (
            ["serve", "--dialect", "cerebra", "--port", "0"],
            "dialect: unknown dialect 'cerebra'. Did you mean 'cerebras'?",
        ),
        (["serve", "--latncy", "off"], "unknown option '--latncy'. Did you mean '--latency'? Known: --config, --host,"),
        (["serve", "--latncy=off"], "unknown option '--latncy'. Did you mean '--latency'?"),
        (["verdict", "x.jsonl", "--handle-it", "retry"], "unknown option '--handle-it'. Did you mean '--handles'?"),
        (["check", "a.toml", "b.toml"], "'b.toml' is an unexpected argument; see mockserver check --help"),
        (["serve", "mock.toml"], "'mock.toml' is an unexpected argument; did you mean --config mock.toml?"),
        (["dev", "9000"], "'9000' is an unexpected argument; did you mean --port 9000?"),
        (["check", "a.toml", "9000"], "'9000' is an unexpected argument; see mockserver check --help"),
        (["serve", "--stubs", "Makefile"], "stubs: Makefile is no *.toml or *.json file"),
        (["serve", "--stubs", "pyproject.toml"], "pyproject.toml, line 1: build-system: a stub file can"),
        (["serve", "--stubs", "a\0b"], "stubs: a\0b does not exist"),
        (["serve", "--host", "127.0.0.1:9000"], "option host: '127.0.0.1:9000' is not an address alone"),
        (["serve", "--host", "http://0.0.0.0"], "option host: 'http://0.0.0.0' is not an address alone"),
        (["serve", "--host", "[::1]:9000"], "option host: '[::1]:9000' is not an address alone"),
        (["serve", "--auth", " ,"], "option auth: ' ,' names no key; write any, off, or the accepted keys"),
        (["serve", "--auth", "none"], "option auth: 'none' names no key; write any, off, or the accepted keys"),
        (["--verison"], "unknown option '--verison'. Did you mean '--version'? Known: --help, --version. All others "),
        (["--port", "9000"], "unknown option '--port'. Known: --help, --version. All others follow a command, as in "),
        (["serv"], "unknown command 'serv'. Did you mean 'serve'? Known: serve, dev, run, "),
        (["health", "--prot", "8000"], "unknown option '--prot'. Did you mean '--port'? Known: --ready, --config, "),
        (["serve", "--config", "no-such.toml"], "no-such.toml: No such file or directory"),
        (
            ["plan", "request.json"],
            "plan: --dialect is missing; it names the dialect of the request. Known: anthropic, cerebras, friendli",
        ),
        (
            ["plan", "--dialect", "ovms", "--operation", "chat", "x.json"],
            "plan: ovms has no operation 'chat'. Known: comp",
        ),
    ],
)
def test_a_mistake_is_one_line_that_names_the_way_out(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("mockserver: " + complaint)
    assert printed.count("\n") == 1


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /dev/full")
@pytest.mark.parametrize("buffering", [1, 1 << 20])
def test_what_cannot_be_written_is_told_and_nobody_reading_is_no_mistake(
    buffering: int, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with open("/dev/full", "w", buffering) as full, open(writer, "w", buffering) as unread:
        codes = []
        for output in (full, unread):
            monkeypatch.setattr(sys, "stdout", output)
            codes.append(main(["routes"]))
    assert codes == [1, 141]
    assert capfd.readouterr().err == "mockserver: No space left on device\n"


def helped(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What a command's help says."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 0
    return capsys.readouterr().out


def test_who_says_nothing_is_told_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert capsys.readouterr().err == helped(["--help"], capsys)


@pytest.mark.parametrize("command", [name for name, each in LOADED.items() if each.takes_settings and not each.matter])
def test_help_tells_every_setting_in_one_of_its_groups(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    told = helped([command, "--help"], capsys)
    assert [told.count(f"\n  {option.flag} ") for option in OPTIONS] == [1] * len(OPTIONS)
    assert [title for title in GROUPS if f"\n{title}:\n" not in told] == []
    assert [word for option in OPTIONS for word in option.choices if not re.search(rf"\b{word}\b", told)] == []
    latency = "off" if command == "run" else "realistic"
    assert f"'ttft=180ms, rate=50 tok/s' (default: {latency})" in " ".join(told.split())


@pytest.mark.parametrize("name", [name for name, each in LOADED.items() if each.matter])
def test_help_tells_of_the_settings_those_that_matter_and_all_are_taken(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    told = helped([name, "--help"], capsys)
    flags, command = re.findall(r"^  (--[a-z-]+)", told, re.MULTILINE), LOADED[name]
    own = command._replace(takes_settings=False).flags
    assert set(flags) == {*own, "--config", *(BY_NAME[each].flag for each in command.matter)}
    assert "All other settings of mockserver serve are accepted too." in " ".join(told.split())
    if name == "health":
        assert main(["health", "--seed", "7", "http://127.0.0.1:1"]) == 1


def test_serve_prints_its_address_and_ends_cleanly_when_told_to() -> None:
    command = [sys.executable, "-m", "mockserver", "serve", "--port", "0", "--log-level", "warning"]
    environment = os.environ | {"MOCKSERVER_LATENCY": "off"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        greeting = process.stdout.readline()
        address = re.search(r"on (http://127\.0\.0\.1:\d+) \(latency off, edition documented, seed 42\)", greeting)
        assert address, greeting
        assert main(["health", address[1]]) == 0
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=10)
    assert (process.returncode in (0, -signal.SIGTERM), errors) == (True, "")


@pytest.fixture
def port() -> Iterator[int]:
    with kept_port() as kept:
        yield kept


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /dev/full, and one process alone serves")
@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("output", ["| head -1", ">&-", ">/dev/full", "2>&-", "2>/dev/full"])
def test_serve_serves_on_where_nobody_reads_what_it_says(output: str, workers: str, tmp_path: Path, port: int) -> None:
    told = [sys.executable, "-u", "-m", "mockserver", "serve", "--port", str(port), "--workers", workers]
    pid = tmp_path / "pid"
    script = f"(echo $BASHPID >{pid}; exec {shlex.join(told)}) {output}"
    with subprocess.Popen(["bash", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as shell:
        try:
            for _ in range(20):
                assert _is_well(port)
        finally:
            os.kill(int(pid.read_text()), signal.SIGTERM)
        told_on_errors = shell.communicate(timeout=20)[1]
    assert "Traceback" not in told_on_errors
    assert shell.returncode == 0
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


@pytest.mark.skipif(sys.platform != "linux", reason="the limits of another process are to be read on Linux alone")
@pytest.mark.parametrize("workers", ["1", "2"])
def test_serve_takes_more_connections_than_a_shell_lets_it_at_first(workers: str) -> None:
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

    def lower() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))

    command = [sys.executable, "-m", "mockserver", "serve", "--port", "0", "--workers", workers]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=lower) as it:
        try:
            assert it.stdout is not None
            url = it.stdout.readline().split()[3]
            with ExitStack() as crowd:
                for _ in range(300):
                    address = (urlsplit(url).hostname, urlsplit(url).port)
                    crowd.enter_context(socket.create_connection(address, timeout=5))
                answers = {exchange(url, "GET", "/cerebras/v1/models").status for _ in range(10)}
        finally:
            it.send_signal(signal.SIGTERM)
            _, errors = it.communicate(timeout=10)
    assert answers == {200}
    assert "Too many" not in errors


def _is_well(port: int) -> bool:
    """Whether a server answers, once it has come up."""
    deadline = time.monotonic() + 20
    while True:
        try:
            return exchange(f"http://127.0.0.1:{port}", "GET", "/_mockserver/health").status == 200
        except ConnectionError:
            if time.monotonic() > deadline:
                raise


def test_ready_is_more_than_health(server: MockServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["health", "--ready", server.url]) == 0
    assert capsys.readouterr().out == f"{server.url}: ready\n"
    for what, complaint in (
        ("ftp://x", "'ftp://x' is not a URL such as http://127.0.0.1:8000"),
        (server.url + "/x", ""),
    ):
        assert main(["health", what]) == 1
        assert complaint in capsys.readouterr().err


def test_a_changed_config_with_a_mistake_is_not_ready(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "mock.toml"
    config.write_text(
        'latency = "off"\noutput_tokens = 20\n[[fault]]\nkind = "cut"\nafter_event = 3\nshare = 0.5\n'
        '[[fault]]\nkind = "error_event"\n[[quota]]\ntier = "free"\n'
    )
    with _serving("--config", str(config), "--log-level", "error") as (_, said):
        url = said[0].split()[3]
        assert "(latency off, output tokens 20, edition documented, seed 42)" in said[0]
        assert said[-4:] == [
            f"Config: {config} (reloaded when it changes)\n",
            "Fault: cut, after_event=3, share=0.5\n",
            "Fault: error_event, error=server_error\n",
            "Quota: free\n",
        ]
        config.write_text("seed = [")
        until(lambda: main(["health", "--ready", url]) != 0)
        assert f"{url}: {config}: " in capsys.readouterr().err
        assert main(["health", url]) == 0


def test_stub_files_that_change_are_noticed_without_a_config(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('[[stub]]\nname = "first"\nreply = "one"\n')
    with _serving("--stubs", str(tmp_path)) as (process, said):
        url = said[0].split()[3]
        (tmp_path / "b.toml").write_text('[[stub]]\nname = "second"\nreply = "two"\n')
        until(lambda: b"second" in exchange(url, "GET", "/_mockserver/stubs").body)
        assert process.stdout is not None
        assert process.stdout.readline() == f"Stubs: 1, including those in {tmp_path} (reloaded when they change)\n"


def test_strange_variables_are_named_and_those_of_a_platform_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOCKSERVER_LATENCI", "off")
    monkeypatch.setenv("MOCKSERVER_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("MOCKSERVER_PORT", "tcp://10.0.0.1:8000")
    monkeypatch.setenv("MOCKSERVER_PORT_8000_TCP_PORT", "8000")
    with _serving("--port", "0") as (process, _):
        process.send_signal(signal.SIGTERM)
        _, complaints = process.communicate(timeout=10)
    [line] = complaints.splitlines()
    assert "unknown variable 'MOCKSERVER_LATENCI'. Did you mean 'MOCKSERVER_LATENCY'?" in line


@pytest.mark.parametrize("options", [(), ("--host", "0.0.0.0"), ("--host", "0.0.0.0", "--admin-token", "open")])
def test_the_live_page_is_announced_where_it_is_open(options: tuple[str, ...]) -> None:
    with _serving(*options) as (_, said):
        [page] = [line for line in said if line.startswith("Live page")]
    assert ("closed" in page, "/_mockserver/ui/" in page) == ((True, False) if len(options) == 2 else (False, True))


def test_in_json_every_line_is_an_object() -> None:
    with _serving("--log-format", "json", "--fault", "error") as (process, said):
        greeting = json.loads(said[0])
        exchange(greeting["url"], "GET", "/ovms/v2/health/live")
        process.send_signal(signal.SIGTERM)
        rest, errors = process.communicate(timeout=10)
    assert (greeting["faults"], greeting["workers"], rest) == ([greeting["faults"][0]], 1, "")
    [line] = map(json.loads, errors.splitlines())
    assert line["dialect"] == "ovms"
    assert datetime.fromisoformat(greeting["time"]) < datetime.fromisoformat(line["time"])


# A server whose standard output ends it while the greeting is being written.
ENDED_BY_ITS_READER = """
import io, signal, sys
from mockserver.cli import main

class Reader(io.RawIOBase):
    def writable(self):
        return True

    def write(self, data):
        signal.raise_signal(signal.SIGTERM)
        return len(data)

sys.stdout = io.TextIOWrapper(io.BufferedWriter(Reader()))
main(["serve", "--port", "0"])
"""


def test_a_server_may_be_ended_while_it_greets() -> None:
    ended = subprocess.run([sys.executable, "-c", ENDED_BY_ITS_READER], capture_output=True, text=True, timeout=30)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("form", ["text", "json"])
def test_exchanges_are_logged_in_the_order_in_which_they_happened(form: str) -> None:
    paths = ["/nowhere/0", "/ovms/v2/health/live", "/nowhere/1", "/nowhere/2"]
    with _serving("--log-format", form) as (process, said):
        url = json.loads(said[0])["url"] if form == "json" else said[0].split()[3]
        asked = urlsplit(url)
        with socket.create_connection((asked.hostname, asked.port), timeout=10) as client:
            # All at once: they are answered in one turn of the loop.
            requests = "".join(f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n" for path in paths)
            client.sendall(requests.encode())
            received = b""
            while received.count(b"HTTP/1.1 ") < len(paths):
                received += client.recv(65536)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=10)
    lines = errors.splitlines()
    messages = [json.loads(line)["message"] for line in lines] if form == "json" else [line[9:] for line in lines]
    assert [message.partition(", in ")[0] for message in messages] == [
        "GET /nowhere/0 404 no_route",
        "ovms health 200",
        "GET /nowhere/1 404 no_route",
        "GET /nowhere/2 404 no_route",
    ]


@contextmanager
def _serving(*options: str) -> Iterator[tuple["subprocess.Popen[str]", list[str]]]:
    """A server in a process of its own, and what it said at its start."""
    command = [sys.executable, "-m", "mockserver", "serve", "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            said = printed_until(process, ("{", "Quota: ") if "--config" in options else ("{", "Live page"))
            yield process, said
        finally:
            process.kill()

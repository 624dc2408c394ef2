"""Several processes behind one port, from the outside: clients, signals and processes."""

import json
import multiprocessing.context
import os
import re
import runpy
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from statistics import quantiles
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from mockserver import ConfigError, MockServer, RemoteServer, create_app
from mockserver.cli import main
from mockserver.core.installed import load_dialects
from mockserver.server import workers
from mockserver.server.admin import ENDPOINTS
from mockserver.server.server import Loop
from mockserver.testing.backend import BackendError
from tests.support.http import exchange
from tests.support.printing import printed_until
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes share a port on Linux alone")

PATH = "/cerebras/v1/completions"
QUESTION = {"model": "llama3.1-8b", "prompt": "Hello", "max_tokens": 8}


class Served(NamedTuple):
    """A server that was started by the command, and what it said at its start."""

    process: "subprocess.Popen[str]"
    url: str
    said: str
    # How long it took until it served, in seconds: a measure of how busy the machine is.
    started_in: float

    def workers(self) -> set[int]:
        """The processes that serve."""
        told = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return set(map(int, told.split()))


@contextmanager
def served(*options: str) -> Iterator[Served]:
    command = [sys.executable, "-m", "mockserver", "serve", "--port", "0", "--latency", "off", "--log-level", "warning"]
    began = time.monotonic()
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            said = printed_until(process, "2 processes" if "--workers" in options else "Live page")
            [url] = re.findall(r"on (http://\S+)", said[0])
            yield Served(process, url, "".join(said), time.monotonic() - began)
        finally:
            process.kill()


def numbers(server: Served) -> set[str]:
    """The numbers of the workers that answer some dozen connections."""
    scrapes = [exchange(server.url, "GET", "/_mockserver/metrics").body.decode() for _ in range(40)]
    return {number for text in scrapes for number in re.findall(r'mockserver_build_info{worker="(\d+)"', text)}


def test_workers_serve_the_same_bytes_and_say_what_they_share() -> None:
    with served("--workers", "2", "--created", "1700000000") as server:
        assert "What depends on earlier requests is refused with 409" in server.said
        assert numbers(server) == {"1", "2"}
        [answer] = {exchange(server.url, "POST", PATH, QUESTION) for _ in range(40)}
    with served("--created", "1700000000") as alone:
        assert exchange(alone.url, "POST", PATH, QUESTION).body == answer.body


def test_ids_that_are_unique_are_so_among_workers_and_servers() -> None:
    with served("--workers", "2", "--ids", "unique") as server, MockServer(ids="unique") as other:
        urls = [server.url] * 40 + [other.url] * 2
        answers = [exchange(url, "POST", PATH, QUESTION).body for url in urls]
        with MockServer(ids="unique") as third:
            answers.append(exchange(third.url, "POST", PATH, QUESTION).body)
        assert len({json.loads(answer)["id"] for answer in answers}) == 43


REFUSED = "needs a server with a single process, since each of several has its own journal, stubs and counts"
# Endpoints that every process answers alike.
ALIKE = {
    *("health", "ready", "version", "openapi", "routes", "dialect", "claims", "metrics", "catalogue", "latency"),
    *("page", "pageFile"),
}
RESPONSES = "/yandex/v1/responses"
SAID = {"model": "gpt://folder/yandexgpt/latest", "input": "Hi"}


def test_workers_refuse_whatever_depends_on_earlier_requests() -> None:
    with served("--workers", "2") as server:
        for endpoint in ENDPOINTS:
            if endpoint.name not in ALIKE:
                for path in endpoint.paths:
                    answer = exchange(server.url, endpoint.method, re.sub(r"\{\w+\}", "1", path), {})
                    assert (answer.status, REFUSED in answer.body.decode()) == (409, True), (endpoint.method, path)
        for dialect in load_dialects().values():
            for operation in (each for each in dialect.operations if each.remembers):
                path = f"/{dialect.name}{re.sub(r'[{][a-zA-Z]+[}]', '1', operation.paths[0])}"
                answer = exchange(server.url, operation.method, path)
                assert (answer.status, REFUSED in answer.body.decode()) == (409, True), (operation.method, path)
        stored: list[tuple[str, object, int]] = [
            *(("previous_response_id", "resp_1", 409), ("previous_response_id", None, 200)),
            *(("background", True, 409), ("background", False, 200)),
        ]
        for field, value, status in stored:
            assert exchange(server.url, "POST", RESPONSES, {**SAID, field: value}).status == status, field
        slots = {"x-mockserver-latency": "itl=0, slots=1"}
        assert exchange(server.url, "POST", PATH, QUESTION, slots).status == 409
        handle = RemoteServer(server.url).in_namespace("test")
        with pytest.raises(BackendError, match=REFUSED):
            handle.next().reply("x")
        with pytest.raises(BackendError, match=REFUSED):
            handle.verify.calls(0)


@pytest.mark.parametrize(
    "options, file, named",
    [
        (["--quota", "requests=10/min"], "", "quota"),
        (["--prompt-cache"], "", "prompt_cache"),
        (["--latency", "itl=1ms, slots=2"], "", "latency 'itl=1ms, slots=2'"),
        (["--fault", "{kind = 'error', error = 'rate_limit', times = 2}"], "", "a fault (error)"),
        ([], "[[stub]]\nreplies = ['a', 'b']", "stub 'config-1'"),
        ([], "[[stub]]\nreply = 'a'\ntimes = 3", "stub 'config-1'"),
        ([], "[[stub]]\nmatch = { not = { number = 2 } }\nreply = 'a'", "stub 'config-1'"),
        ([], "[[fault]]\nkind = 'reset'\nshare = 0.5", "a fault (reset)"),
    ],
)
def test_settings_that_depend_on_earlier_requests_are_refused_at_the_start_of_workers(
    options: list[str], file: str, named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "mock.toml"
    config.write_text(file)
    assert main(["serve", "--port", "0", "--workers", "2", "--config", str(config), *options]) == 2
    said = capsys.readouterr().err
    assert named in said
    assert REFUSED in said


def test_windows_serves_without_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(signal, "SIGCHLD")
    monkeypatch.delattr(multiprocessing.context, "ForkProcess")
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(ConfigError, match="only on Linux; leave it at 1"):
        runpy.run_path(workers.__file__)["listeners_for"](create_app(), 2)


def test_a_worker_that_dies_is_replaced() -> None:
    with served("--workers", "2") as server:
        until(lambda: len(server.workers()) == 2)
        victim, other = sorted(server.workers())
        os.kill(victim, signal.SIGKILL)
        until(lambda: len(server.workers() - {victim}) == 2)
        assert other in server.workers()
        assert numbers(server) == {"1", "2"}
        server.process.send_signal(signal.SIGTERM)
        _, complaints = server.process.communicate(timeout=10)
        assert re.search(r"worker 1 has ended \(SIGKILL\); a new one takes its place\n$", complaints)


# The system starts one worker, and no other.
SCARCE = """
import os
from mockserver.cli import main

fork, made = os.fork, []

def scarce():
    if made:
        raise BlockingIOError(11, "Resource temporarily unavailable")
    made.append(fork())
    return made[0]

os.fork = scarce
raise SystemExit(main(["serve", "--port", "0", "--workers", "2"]))
"""


def test_no_worker_is_left_where_another_cannot_be_started() -> None:
    # Its output ends with the last process that has it.
    ended = subprocess.run([sys.executable, "-c", SCARCE], capture_output=True, text=True, timeout=20)
    assert (ended.returncode, ended.stderr) == (1, "mockserver: Resource temporarily unavailable\n")


@pytest.mark.parametrize("options", [(), ("--workers", "2")])
def test_a_server_ends_within_a_second_with_streams_open(options: tuple[str, ...]) -> None:
    """A busy machine gets three tries, and as long as a start takes on it."""
    took: list[tuple[float, float]] = []
    while len(took) < 3 and not any(seconds < most for seconds, most in took):
        with served(*options) as server:
            streams = [_stream(server.url) for _ in range(8)]
            began = time.monotonic()
            server.process.send_signal(signal.SIGTERM)
            server.process.communicate(timeout=30)
            took.append((time.monotonic() - began, max(1.0, server.started_in)))
            assert server.process.returncode == 0
            for stream in streams:
                stream.close()
    assert any(seconds < most for seconds, most in took), took


def _stream(url: str) -> HTTPConnection:
    """A stream that takes a minute, of which the first line has come."""
    connection = HTTPConnection(urlsplit(url).netloc)
    body = json.dumps(QUESTION | {"stream": True, "max_tokens": 600, "min_tokens": 600})
    connection.request("POST", PATH, body, {"authorization": "Bearer x", "x-mockserver-latency": "itl=100ms"})
    assert connection.getresponse().readline().startswith(b"data: ")
    return connection


def test_workers_end_when_the_process_that_keeps_them_is_killed() -> None:
    with served("--workers", "2") as server:
        until(lambda: len(server.workers()) == 2)
        left = server.workers()
        server.process.kill()
        server.process.wait()
        until(lambda: not any(map(_serves, left)))


def _serves(pid: int) -> bool:
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


def test_an_address_that_is_taken_is_not_shared_by_accident(capsys: pytest.CaptureFixture[str]) -> None:
    with served("--workers", "2") as server:
        port = str(urlsplit(server.url).port)
        assert main(["serve", "--workers", "2", "--port", port]) == 2
        assert capsys.readouterr().err.startswith(f"mockserver: Port {port} on 127.0.0.1 is taken.")


def test_a_listener_that_refuses_does_so_in_every_worker() -> None:
    with served("--workers", "2", "--fault", "{ kind = 'refuse', for = 60 }") as server:
        place = urlsplit(server.url)

        def refuses() -> bool:
            with socket.socket() as asking:
                return asking.connect_ex((place.hostname, place.port)) != 0

        # One of them may begin to listen before the other has been told.
        until(lambda: all(refuses() for _ in range(40)))


@pytest.mark.parametrize("options", [(), ("--workers", "2")])
def test_a_connection_that_is_kept_answers_at_once(options: tuple[str, ...]) -> None:
    """Where small writes wait for acknowledgements (Nagle's algorithm), each answer but the first takes 40 ms."""
    with served(*options) as server:
        assert _usual_wait(server.url) < 0.02


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_it_does_so_on_every_loop(loop: Loop) -> None:
    with MockServer(loop=loop) as server:
        assert _usual_wait(server.url) < 0.02


def _usual_wait(url: str) -> float:
    """How long an answer takes mostly on one connection, in seconds, where nothing else keeps the machine busy."""
    connection = HTTPConnection(urlsplit(url).netloc)
    took: list[float] = []
    for _ in range(30):
        began = time.monotonic()
        connection.request("POST", PATH, json.dumps(QUESTION), {"authorization": "Bearer x"})
        assert connection.getresponse().read()
        took.append(time.monotonic() - began)
    connection.close()
    return quantiles(took)[0]

"""The container image: its Dockerfile, and the result of its steps, performed without a container engine."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from mockserver import __version__
from mockserver.cli import main
from mockserver.core.installed import load_dialects
from mockserver.state.settings.options import OPTIONS
from tests.support import bare_root
from tests.support.building import Image, build
from tests.support.dockerfile import context, read_stages

REPOSITORY = Path(__file__).parent.parent
STAGES = read_stages((REPOSITORY / "Dockerfile").read_text())
COMPOSE = yaml.safe_load((REPOSITORY / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]
USER = "10001"

BARE = pytest.mark.skipif(bare_root.why_not() is not None, reason=str(bare_root.why_not()))

# A client inside: it begins a stream that takes a minute, says so, and waits for the end.
CLIENT = """
import json, sys, urllib.request
body = json.dumps({"model": "llama3.1-8b", "prompt": "hi", "max_tokens": 600, "min_tokens": 600, "stream": True})
headers = {"Authorization": "Bearer x", "Content-Type": "application/json", "X-Mockserver-Latency": "itl=100ms"}
url = "http://127.0.0.1:8000/cerebras/v1/completions"
with urllib.request.urlopen(urllib.request.Request(url, body.encode(), headers)) as answer:
    print(answer.readline(), flush=True)
    answer.read()
"""


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """The image, built step by step."""
    return build(REPOSITORY, tmp_path_factory.mktemp("image"))


class Running(NamedTuple):
    """A container that runs: the process inside, and how long it took to be healthy, in seconds.

    `patience` is what a second is on a machine as busy as this one: ten times as long as the check of a healthy server.
    """

    process: "subprocess.Popen[str]"
    pid: int
    healthy_after: float = 0.0
    patience: float = 1.0

    def inside(self, *command: str) -> "subprocess.Popen[str]":
        """Start a command beside the server."""
        path = {"PATH": f"{os.environ['PATH']}:/opt/mockserver/bin"}
        whole = bare_root.inside(self.pid, command, USER)
        return subprocess.Popen(whole, env=path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@contextmanager
def running(image: Image, *options: str) -> Iterator[Running]:
    """The image's entry point as the image's user on a root that cannot be written, as soon as it is healthy."""
    command = json.loads(image.stage.one("ENTRYPOINT").value)
    user = image.stage.one("USER").value.partition(":")[0]
    began = time.monotonic()
    process = bare_root.start(image.root, [*command, *options], image.variables, user=user, readonly="yes")
    try:
        yield _healthy(image, process, began)
    finally:
        process.kill()
        process.communicate()


def _healthy(image: Image, process: "subprocess.Popen[str]", began: float) -> Running:
    check = json.loads(image.stage.one("HEALTHCHECK").value.removeprefix("CMD"))
    while time.monotonic() < began + 30 and process.poll() is None:
        with suppress(LookupError):
            started = Running(process, bare_root.process_of(process))
            checked = time.monotonic()
            with started.inside(*check) as asked:
                asked.communicate()
            if asked.returncode == 0:
                now = time.monotonic()
                return started._replace(healthy_after=now - began, patience=max(1.0, 10 * (now - checked)))
    pytest.fail(f"not healthy within 30 s: {process.communicate()}")


def test_the_image_says_who_it_is_and_runs_without_rights() -> None:
    final = STAGES[-1]
    assert [stage.base for stage in STAGES] == ["${BASE}", "${BASE}"]
    assert final.one("USER").value == f"{USER}:{USER}"
    assert json.loads(final.one("ENTRYPOINT").value) == ["mockserver", "serve", "--host", "0.0.0.0"]
    assert json.loads(final.one("HEALTHCHECK").value.removeprefix("CMD")) == ["mockserver", "health"]
    assert final.one("HEALTHCHECK").flags["start-interval"] == "200ms"
    assert f"VERSION={__version__}" in [step.value for step in final.steps if step.name == "ARG"]
    assert 'org.opencontainers.image.licenses="MIT"' in final.one("LABEL").value


def test_the_image_holds_no_secret_and_sees_nothing_but_the_package() -> None:
    text = (REPOSITORY / "Dockerfile").read_text().lower()
    assert [word for word in ("token", "password", "secret", "api_key") if word in text] == []
    sent = {path.parts[0] for path in context(REPOSITORY, (REPOSITORY / ".dockerignore").read_text())}
    assert sent == {"mockserver", "llm_mockserver_pytest.py", "pyproject.toml", "README.md", "LICENSE"}


@BARE
def test_the_image_has_no_tool_that_installs_and_nothing_that_its_user_could_change(image: Image) -> None:
    found = {path.name for path in image.root.rglob("*")}
    assert found & {"pip", "pip3", "setuptools", "wheel", "ensurepip", "hatchling", "gcc", "make"} == set()
    owned = [path for path in image.root.rglob("*") if not path.is_symlink() and path.stat().st_uid == int(USER)]
    assert owned == [image.root / "certs"]


@BARE
def test_the_image_is_healthy_within_a_second_and_ends_within_one_with_a_stream_open(image: Image) -> None:
    """On a root that cannot be written, as user 10001. A busy machine gets three tries, and more than a second."""
    tries: list[tuple[float, float, float]] = []
    while len(tries) < 3 and not any(start < most and end < most for start, end, most in tries):
        with running(image) as server, server.inside("python", "-c", CLIENT) as client:
            assert client.stdout is not None
            assert client.stdout.readline().startswith("b'data: ")
            told = time.monotonic()
            os.kill(server.pid, signal.SIGTERM)
            said, complaints = server.process.communicate(timeout=30)
            tries.append((server.healthy_after, time.monotonic() - told, server.patience))
            client.communicate()
        assert server.process.returncode == 0, complaints
        assert said.startswith(f"mockserver {__version__} on http://127.0.0.1:8000")
    assert any(start < most and end < most for start, end, most in tries), tries


@BARE
def test_the_image_cannot_write_and_takes_options_and_variables(image: Image) -> None:
    variables = {**image.variables, "MOCKSERVER_LOG_FORMAT": "json", "MOCKSERVER_PORT": "tcp://10.0.0.1:8000"}
    with running(image._replace(variables=variables), "--latency", "off") as server:
        script = "import os; print(os.getuid(), os.getpid() != 1, os.access('/', os.W_OK)); open('/tmp/x', 'w')"
        with server.inside("python", "-c", script) as tried:
            said, complaint = tried.communicate()
        assert said == f"{USER} True False\n"
        assert "Read-only file system" in complaint
        os.kill(server.pid, signal.SIGTERM)
        greeting, *lines = [json.loads(line) for line in server.process.communicate(timeout=30)[0].splitlines()]
    assert (greeting["url"], lines) == ("http://127.0.0.1:8000", [])


@BARE
def test_the_image_can_record(image: Image) -> None:
    command = ["mockserver", "record", "--host", "0.0.0.0", "--out", "/certs/traffic.jsonl"]
    began = time.monotonic()
    process = bare_root.start(image.root, command, image.variables, user=USER)
    try:
        os.kill(_healthy(image, process, began).pid, signal.SIGTERM)
        said, complaints = process.communicate(timeout=30)
    finally:
        process.kill()
        process.communicate()
    assert (process.returncode, complaints) == (0, "")
    assert said.startswith(f"mockserver {__version__} records on http://127.0.0.1:8000 into /certs/traffic.jsonl\n")
    assert said.endswith("Nothing was recorded.\n")


def test_compose_waits_for_health_and_reloads_a_folder() -> None:
    server, app = SERVICES["mockserver"], SERVICES["app"]
    assert (server["read_only"], server["init"]) == (True, True)
    assert app["depends_on"] == {"mockserver": {"condition": "service_healthy"}}
    folder = next(volume for volume in server["volumes"] if volume.endswith(":/config:ro")).partition(":")[0]
    assert main(["check", str(REPOSITORY / folder / "mock.toml")]) == 0
    assert server["environment"]["MOCKSERVER_CONFIG"] == "/config/mock.toml"


def test_compose_sets_known_variables_and_has_every_vendors_name() -> None:
    known = {"MOCKSERVER_CONFIG", *(option.variable for option in OPTIONS)}
    said = {name for service in SERVICES.values() for name in service.get("environment", {})}
    assert {name for name in said if name.startswith("MOCKSERVER_")} <= known
    aliases = SERVICES["vendors"]["networks"]["default"]["aliases"]
    assert aliases == [host for dialect in load_dialects().values() for host in dialect.hosts]

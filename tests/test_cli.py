"""The command line, as a person meets it."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mockserver.cli import main
from mockserver.serving.server import MockServer


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
    assert all(f"/{name}/" in printed for name in ("cerebras", "friendli", "ovms", "upstash", "yandex"))


def test_presets_names_every_preset(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["presets"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("off ")
    assert "cerebras" in printed


def test_check_praises_a_good_file_and_names_the_line_of_a_mistake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "mock.toml"
    config.write_text('[[route]]\npath = "/x"\ndialect = "ovms"\noperation = "completions"\n')
    assert main(["check", str(config)]) == 0
    assert capsys.readouterr().out == f"{config}: fine, with 1 routes of its own\n"
    config.write_text('seed = 1\nlatncy = "off"\n')
    assert main(["check", str(config)]) == 2
    assert f"{config}, line 2: latncy: unknown name 'latncy'. Did you mean 'latency'?" in capsys.readouterr().err


def test_health_tells_a_running_server_from_none(server: MockServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["health", server.url]) == 0
    assert capsys.readouterr().out == f"{server.url}: ok\n"
    assert main(["health", "http://127.0.0.1:1"]) == 1
    assert "refused" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        (["serve", "--port", "99999"], "option port: 99999 is not a whole number from 0 to 65535"),
        (["serve", "--dialect", "cerebra", "--port", "0"], "dialect: unknown name 'cerebra'. Did you mean 'cerebras'?"),
        (["serve", "--config", "no-such.toml"], "no-such.toml: No such file or directory"),
        (["plan", "request.json"], "plan: say whose request it is: --dialect NAME"),
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

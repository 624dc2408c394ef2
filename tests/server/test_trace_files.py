"""Trace files: what their names are relative to, which settings may name them, and when they are read."""

import asyncio
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mockserver import MockServer
from mockserver.cli import main
from mockserver.server import files
from mockserver.server.app import create_app
from mockserver.state.settings import ConfigError, Settings
from tests.support.http import exchange
from tests.support.questions import QUESTIONS

NAMED = "ttft=empirical(file=ttft.txt), itl=0"
PATH, BODY = QUESTIONS["cerebras"]


@pytest.fixture(autouse=True)
def _working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("MOCKSERVER_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    Path("ttft.txt").write_text("10ms\n")
    Path("request.json").write_text(json.dumps({"model": "m", "prompt": "hello", "max_tokens": 2}))
    Path("conf").mkdir()
    Path("conf/mock.toml").write_text(f"latency = '{NAMED}'")


def planned(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, str]:
    """When `plan` lets the answer go, and what it says of the latency."""
    assert main(["plan", "--dialect", "cerebras", *arguments, "request.json"]) == 0, capsys.readouterr().err
    lines = capsys.readouterr().out.splitlines()
    return lines[-2].split()[0], lines[-1]


def test_names_in_a_config_file_count_from_its_folder_and_in_options_from_here(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("conf/ttft.txt").write_text("# as measured\n20ms\n")
    assert planned(capsys, "--config", "conf/mock.toml") == ("0.0200", f"latency: {NAMED}; speed: 1")
    assert planned(capsys, "--latency", NAMED, "--speed", "0.5") == ("0.0200", f"latency: {NAMED}; speed: 0.5")
    monkeypatch.setenv("MOCKSERVER_LATENCY", NAMED)
    assert planned(capsys)[0] == "0.0100"


def test_a_name_that_means_two_files_is_not_guessed(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["plan", "--dialect", "cerebras", "--config", "conf/mock.toml", "--latency", NAMED, "request.json"]
    Path("conf/ttft.txt").write_text("0.01\n")
    assert main(arguments) == 0
    Path("conf/ttft.txt").write_text("0.02\n")
    assert main(arguments) == 2
    assert (
        "latency: ttft.txt names different files in the config's folder and in the working directory"
        in capsys.readouterr().err
    )


def test_routes_name_files_too(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mock.toml").write_text(
        "[[route]]\npath = '/mine'\ndialect = 'ovms'\noperation = 'completions'\n"
        "latency = { ttft = 'empirical(file=ttft.csv, column=a, unit=ms)' }\n"
    )
    Path("ttft.csv").write_text("a,b\n7,1\n8,\nx,2\n")
    assert main(["check", "mock.toml"]) == 2
    said = capsys.readouterr().err
    assert (
        "mock.toml, line 5: route[0].latency: 'ttft=empirical(file=ttft.csv, column=a, unit=ms)': column 21: " in said
    )
    assert "ttft.csv, line 4: 'x' is not a duration" in said
    Path("ttft.csv").write_text("a,b\n7,1\n8,\n")
    assert main(["check", "mock.toml"]) == 0


def test_lengths_of_answers_come_from_files_too(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mock.toml").write_text("output_tokens = 'empirical(file=lengths.csv, column=out)'\n")
    Path("lengths.csv").write_text("in,out\n7,0\n8,3\n")
    assert main(["check", "mock.toml"]) == 2
    assert "lengths.csv: an answer must have from 1 to 131072 tokens. Write '128'" in capsys.readouterr().err
    Path("lengths.csv").write_text("in,out\n7,3\n8,3\n")
    Path("request.json").write_text(json.dumps({"model": "m", "prompt": "Tell me of tea"}))
    assert main(["plan", "--dialect", "cerebras", "--config", "mock.toml", "request.json"]) == 0
    assert '"completion_tokens":3,' in capsys.readouterr().out


@pytest.mark.parametrize(
    "name, complaint",
    [
        ("none.txt", "file none.txt does not exist"),
        ("conf", "file conf does not exist"),
        ("/dev/zero", "file /dev/zero does not exist"),
        ("large.txt", "large.txt: has more than 1 MiB"),
    ],
)
def test_a_file_that_cannot_be_had_is_named(
    name: str, complaint: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(files, "_LONGEST_TRACE", 1024**2)
    Path("large.txt").write_bytes(b"#" * (1024**2 + 1))
    assert main(["presets", "--latency", f"ttft=empirical(file={name})"]) == 2
    assert f"column 21: {complaint}" in capsys.readouterr().err
    assert main(["presets", "--latency", NAMED]) == 0


def answer(server: MockServer, **headers: str) -> tuple[int, Mapping[str, Any]]:
    given = {"authorization": "Bearer k"} | {name.replace("_", "-"): text for name, text in headers.items()}
    found = exchange(server.url, "POST", PATH, BODY, given)
    return found.status, json.loads(found.body) if found.status != 200 else {}


def test_nothing_that_comes_later_makes_the_server_read_a_file() -> None:
    Path("other.txt").write_text("0.01\n")
    other = "ttft=empirical(file=other.txt)"
    with MockServer(latency=NAMED) as server:
        status, said = answer(server, x_mockserver_latency=other)
        assert (status, "the trace other.txt has not been loaded" in str(said)) == (400, True)
        for method, path, body in (
            ("PATCH", "settings", {"latency": other}),
            ("PUT", "ns/mine/settings", {"latency": other}),
            ("POST", "stubs", {"latency": other}),
            ("GET", "latency?of=ttft=empirical(file=other.txt)", None),
        ):
            refused = exchange(server.url, method, f"/_mockserver/{path}", body)
            assert (refused.status, b"the trace other.txt has not been loaded" in refused.body) == (400, True), path
        with pytest.raises(ConfigError, match=r"the trace other\.txt has not been loaded"):
            server.in_namespace("mine").settle(latency=other)
        assert server.settings.latency == NAMED


def test_what_has_been_read_may_be_named_by_whoever_comes() -> None:
    with MockServer(latency=NAMED) as server:
        assert answer(server)[0] == 200
        assert answer(server, x_mockserver_latency=f"{NAMED}, speed=2")[0] == 200
        picture = json.loads(exchange(server.url, "GET", "/_mockserver/latency").body)
        assert exchange(server.url, "PATCH", "/_mockserver/settings", {"latency": f"{NAMED}, speed=5"}).status == 200
        server.in_namespace("mine").settle(latency=NAMED)
        assert answer(server, x_mockserver_namespace="mine")[0] == 200
        assert answer(server)[0] == 200
        shown = json.loads(exchange(server.url, "GET", "/_mockserver/settings").body)
        due = [each.data["timing"]["ttft_due"] for each in server.requests]
    assert due == pytest.approx([0.01, 0.005, 0.002])
    assert (picture["ttft"], shown["traces"]) == ([0.01] * 100, ["ttft.txt"])


def test_settings_made_in_python_read_files_from_here() -> None:
    assert create_app(Settings(latency=NAMED)).settings.traces.known.keys()
    with pytest.raises(ConfigError, match=r"Settings: latency: .*file none\.txt does not exist"):
        create_app(Settings(latency="ttft=empirical(file=none.txt)"))


def test_a_config_that_is_taken_up_anew_reads_its_traces_again() -> None:
    from mockserver.cli.command import load_command, settings_of
    from mockserver.server.app_state import SettingsReader, Watcher
    from mockserver.server.files import Sources

    Path("conf/ttft.txt").write_text("20ms\n")
    options = load_command("serve").parser("serve").parse_args(["--config", "conf/mock.toml"])
    sources = Sources()
    app = create_app(settings_of(options, sources))
    watcher = Watcher(SettingsReader(lambda anew: settings_of(options, anew), sources), app.app_state)

    def recorded() -> list[tuple[float, ...]]:
        return list(app.settings.traces.known.values())

    async def story() -> None:
        assert recorded() == [(0.02,)]
        Path("conf/ttft.txt").write_text("30ms\n")
        await watcher.look()
        assert recorded() == [(0.03,)]
        Path("conf/ttft.txt").write_text("soon\n")
        await watcher.look()
        assert recorded() == [(0.03,)]
        assert "ttft.txt, line 1: 'soon' is not a duration" in str(app.app_state.config_fault)

    asyncio.run(story())

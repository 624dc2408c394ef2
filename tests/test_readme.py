"""The README is held to the code: its examples run, and every option, dialect and endpoint has its line."""

import io
import re
import shlex
from contextlib import redirect_stdout
from itertools import pairwise
from pathlib import Path

import pytest

from mockserver.cli import main
from mockserver.control.options import OPTIONS, check_names, from_toml, settle
from mockserver.control.routing import operations_of
from mockserver.dialects import load_dialects
from mockserver.faults.catalogue import FAULTS
from mockserver.serving.server import MockServer
from tests.support.http import exchange

README = (Path(__file__).parent.parent / "README.md").read_text()
ADDRESS = "http://127.0.0.1:8000"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


CURLS = [
    command for block in blocks("sh") for command in re.findall(r"^curl .*?[^\\]$", block, re.DOTALL | re.MULTILINE)
]


@pytest.mark.parametrize("command", CURLS, ids=lambda command: re.findall(r"8000(\S+)", command)[0])
def test_every_curl_example_is_answered(command: str, server: MockServer) -> None:
    words = shlex.split(command.replace("\\\n", " "))
    [url] = [word for word in words if word.startswith(ADDRESS)]
    headers = dict(value.split(": ", 1) for flag, value in pairwise(words) if flag == "-H")
    [body] = [value for flag, value in pairwise(words) if flag == "-d"]
    path = url.removeprefix(ADDRESS)
    answer = exchange(server.url, "POST", path, body.encode(), {k.lower(): v for k, v in headers.items()})
    assert answer.status == 200, answer.body


@pytest.mark.parametrize("code", blocks("python"), ids=lambda code: code.split()[1])
@pytest.mark.filterwarnings("ignore")
def test_every_python_example_runs_and_prints_something(code: str, server: MockServer) -> None:
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(code.replace(ADDRESS, server.url), "README.md", "exec"), {})
    assert len(printed.getvalue().strip()) > 4


def test_the_example_of_a_config_file_is_valid() -> None:
    [config] = blocks("toml")
    settings = settle(from_toml(config, "README.md"))
    check_names(settings, operations_of(load_dialects()))
    assert settings.routes


def test_every_option_has_its_line() -> None:
    assert [option.flag for option in OPTIONS if f"`{option.flag}`" not in README] == []


def test_every_fault_has_its_line_with_its_keys() -> None:
    for name, kind in FAULTS.items():
        [line] = [line for line in README.splitlines() if line.startswith(f"| `{name}` | {kind.summary} |")]
        assert all(f"`{key}`" in line for key in kind.settings)


def test_every_dialect_and_endpoint_of_a_generation_has_its_place() -> None:
    for dialect in load_dialects().values():
        assert f"\n| `{dialect.name}` | " in README
        for operation in dialect.operations:
            if operation.schemas.request:
                assert f"`POST {operation.paths[0]}`" in README
        assert f"(mockserver/dialects/{dialect.name}/about.md)" in README


def test_every_command_has_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    commands = re.findall(r"^    (\w+) ", capsys.readouterr().out, re.MULTILINE)
    assert commands
    assert [command for command in commands if f"mockserver {command}" not in README] == []

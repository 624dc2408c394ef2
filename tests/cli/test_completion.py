"""The script of `mockserver completion`, as bash uses it."""

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from mockserver.cli import main
from mockserver.cli.command import COMMANDS, load_command
from mockserver.core.installed import load_dialects
from mockserver.faults.catalogue import FAULTS
from mockserver.latency.profiles import presets
from mockserver.state.settings.options import OPTIONS

# Completes the words that it is given, the last of which is being written.
ASK = """
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _mockserver; printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The script, in a file."""
    path = tmp_path_factory.mktemp("shell") / "mockserver.sh"
    with path.open("w", encoding="utf-8") as file, pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", file)
        assert main(["completion"]) == 0
    return path


def completed(script: Path, *words: str) -> list[str]:
    """What bash offers for the last of these words."""
    bash = shutil.which("bash")
    assert bash is not None, "this test wants bash"
    command = [bash, "--norc", "-u", "-c", f"source {shlex.quote(str(script))}\n{ASK}", "bash", "mockserver", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def test_every_command_and_every_option_is_offered(script: Path) -> None:
    assert completed(script, "") == [*COMMANDS, "--help", "--version"]
    for name, command in ((name, load_command(name)) for name in COMMANDS):
        own = [flag for names, _ in command.arguments for flag in names if flag.startswith("--")]
        settings = ["--config", *(option.flag for option in OPTIONS)] if command.takes_settings else []
        assert completed(script, name, "--") == [*own, *settings, "--help"]


@pytest.mark.parametrize(
    "words, offered",
    [
        (("se",), ["serve"]),
        (("serve", "--late"), ["--latency"]),
        (("serve", "--latency", ""), ["off", "realistic", *presets()]),
        (("serve", "--latency", "=", "sl"), ["slow"]),
        (("dev", "--dialect", ""), list(load_dialects())),
        (("run", "--fault", ""), list(FAULTS)),
        (("serve", "--edition", "o"), ["observed"]),
        (("serve", "--strict", ""), ["true", "false"]),
        (("plan", "--operation", "chat"), ["chat_completions"]),
        (("verdict", "x.jsonl", "--handles", "r"), ["retry", "raise"]),
        (("schema", ""), ["config", "stubs"]),
        (("schema", "config", ""), []),
        (("check", ""), []),  # the shell's files
        (("serve", "--config", ""), []),
        (("run", "--seed", "7", "--", "--"), []),  # the command's own
    ],
)
def test_words_are_offered_where_they_are_known(script: Path, words: tuple[str, ...], offered: list[str]) -> None:
    assert completed(script, *words) == offered


def test_where_it_offers_nothing_the_shell_completes_files(script: Path) -> None:
    assert script.read_text(encoding="utf-8").endswith("\ncomplete -o default -F _mockserver mockserver\n")

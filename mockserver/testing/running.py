"""What `mockserver run` does: a server for as long as a command runs, to which the clients in it are led."""

import logging
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

from mockserver.control.settings import ConfigError, Settings
from mockserver.control.verify.declarations import Declaration
from mockserver.testing.environment import sparing_loopback
from mockserver.testing.handle import Handle
from mockserver.testing.server import MockServer

# What is otherwise than with `serve`, unless told: nobody waits, as in tests, and the command has the terminal.
USUAL: Mapping[str, Any] = {"port": 0, "latency": "off", "log_level": "warning"}

# What shells say of a command that is not there, and of one that cannot be executed; beyond 128 are signals.
_NOT_FOUND, _NOT_EXECUTABLE, _SIGNALLED = 127, 126, 128
_PASSED_ON = tuple(
    signal.Signals[name]
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
    if name in signal.Signals.__members__
)
# Those that the keys of a terminal send, to all who are in its foreground.
_KEYS = ("SIGINT", "SIGQUIT")

Say = Callable[[str], None]

log = logging.getLogger("mockserver")


def run_beside(settings: Settings, command: Sequence[str], declared: Declaration | None, say: Say) -> int:
    """Run a command beside a server; the answer is its exit code, as a shell tells it.

    With a declaration `say` is given the verdict on its clients, and faults of conduct make 1 of 0. Raises ConfigError
    for settings that a server in a thread cannot have.
    """
    if settings.workers != 1:
        raise ConfigError("workers: run serves with one process, so that there is one journal and one state")
    with MockServer(settings) as server:
        log.info("serving on %s", server.url)
        code = _exit_code(command, {**os.environ, **_variables(server)}, say)
        if declared is None:
            return code
        clean, words = _verdict(server, declared)
        for line in words.splitlines():
            say(line)
        return code if clean else code or 1


def _variables(server: MockServer) -> dict[str, str]:
    """The variables by which clients, and whoever asks the admin API, find the server."""
    settings = server.settings
    place = server.in_namespace("", settings.dialect)
    variables = place.environment()
    if not isinstance(settings.auth, str):
        # Where only some keys are accepted, clients are given the first of them.
        variables = {name: settings.auth[0] if value == place.api_key else value for name, value in variables.items()}
    token = {"MOCKSERVER_ADMIN_TOKEN": settings.admin_token} if settings.admin_token else {}
    return {**sparing_loopback(), **variables, "MOCKSERVER_URL": server.url, **token}


def _exit_code(command: Sequence[str], environment: Mapping[str, str], say: Say) -> int:
    """Run the command to its end, and tell it what signals we get."""
    with _passed_on() as take:
        try:
            process = subprocess.Popen(command, env=environment)
        except OSError as error:
            say(f"{command[0]}: {error.strerror or error}")
            return _NOT_FOUND if isinstance(error, FileNotFoundError) else _NOT_EXECUTABLE
        take(process)
        code = process.wait()
    return code if code >= 0 else _SIGNALLED - code


@contextmanager
def _passed_on() -> Iterator[Callable[["subprocess.Popen[bytes]"], None]]:
    """Have signals passed on to the process that is taken, once there is one; the earlier ones then."""
    processes: list[subprocess.Popen[bytes]] = []
    early: list[int] = []

    def hear(number: int, frame: FrameType | None) -> None:
        if not processes:
            early.append(number)
        elif not (signal.Signals(number).name in _KEYS and _was_a_key()):
            processes[0].send_signal(number)

    def take(process: "subprocess.Popen[bytes]") -> None:
        processes.append(process)
        for number in early:
            process.send_signal(number)

    # What we were told to ignore (by nohup, say) the command ignores as well.
    wanted = [each for each in _PASSED_ON if signal.getsignal(each) is not signal.SIG_IGN]
    before = {each: signal.signal(each, hear) for each in wanted}
    try:
        yield take
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _was_a_key() -> bool:
    """Whether we are in the foreground of a terminal: then its keys have told the command as well, and told twice many
    break off what they do to end well."""
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


def _verdict(server: MockServer, declared: Declaration) -> tuple[bool, str]:
    """Whether the clients of every namespace behaved well, and what there is to say of them."""
    verdicts = []
    handles = [place for place in map(server.in_namespace, server.namespaces()) if place.requests]
    for place in handles:
        verdict = place.verify.verdict(declared.handles, declared.outcome, patience=declared.patience)
        name = f"[{place.namespace}] " if place.namespace else ""
        verdicts.append((verdict.is_clean, f"{name}{verdict.as_text()}"))
    if not verdicts:
        return True, _silence(server)
    return all(clean for clean, _ in verdicts), "\n".join(words for _, words in verdicts)


def _silence(server: Handle) -> str:
    return (
        f"no model was asked here. Do the clients read their URL from the environment (OPENAI_BASE_URL, ...)? "
        f"The server's was {server.url}"
    )

"""Commands that serve: serve, dev, run."""

import argparse
import gc
import os
import signal
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from mockserver.cli.command import Command, announce, argument, complain, flush_outputs
from mockserver.cli.judging import DECLARED, declared_by, declared_in
from mockserver.cli.settled import config_path, settings_of
from mockserver.server.files.sources import Sources
from mockserver.state.configuration.options import strange_variables
from mockserver.state.origins import ANY, ANY_MEANS
from mockserver.state.settings import ConfigError, Settings

if TYPE_CHECKING:
    import socket

    from mockserver.server.app import App


def _dev(options: argparse.Namespace) -> int:
    from mockserver.cli.frontend import examples_for, open_page

    def beside(url: str) -> None:
        announce(f"\n{examples_for(Path.cwd(), url)}")
        if not options.no_open:
            open_page(url)

    return _serve(options, beside)


def _serve(options: argparse.Namespace, beside: Callable[[str], None] = lambda url: None) -> int:
    """Serve until interrupted; `beside` is called with the URL as soon as it is known."""
    before = signal.signal(signal.SIGTERM, _end)
    try:
        return _serve_until_interrupted(options, beside)
    finally:
        signal.signal(signal.SIGTERM, before)


def _serve_until_interrupted(options: argparse.Namespace, beside: Callable[[str], None]) -> int:
    # The parser of the arguments is a web of cycles, which have survived one collection at most.
    gc.collect(1)
    # Objects made now are permanent: looking for garbage among them would take a tenth of the start, and delay answers.
    gc.disable()
    from mockserver.cli.greeting import Greeting
    from mockserver.server.app import create_app
    from mockserver.server.listener import bind
    from mockserver.server.reload import SettingsReader
    from mockserver.server.server import serve
    from mockserver.server.urls import url_of

    sources = Sources()
    settings = settings_of(options, sources)
    begin_to_log(settings)
    app = create_app(settings, SettingsReader(lambda anew: settings_of(options, anew), sources))
    listeners = [bind(settings)] if settings.workers == 1 else _sockets_of_workers(app)
    url = url_of(listeners[0], secure=settings.is_secure)
    greeting = Greeting(
        url, settings, list(app.app_state.dialects), config_path(options), len(app.app_state.setup.stubs)
    )
    announce(greeting.json() if settings.log_format == "json" else greeting.text())
    beside(url)
    gc.freeze()
    # Answers leave no cycles behind: frequent collections would mostly search the journal, in vain. Only those of the
    # youngest objects are frequent: a thousand fit into the processor's cache, and more take far longer each.
    gc.set_threshold(1_000, 1_000, 100)
    gc.enable()
    if len(listeners) > 1:
        from mockserver.server.workers import serve_by_workers

        return serve_by_workers(app, listeners)
    serve(app, listeners[0])
    return 0


def _sockets_of_workers(app: "App") -> "list[socket.socket]":
    from mockserver.server.workers import listeners_for  # one process needs none of it

    return listeners_for(app, app.settings.workers)


def _run(options: argparse.Namespace) -> int:
    if not options.behind:
        import shlex

        example = shlex.join(options.words) or "npm test"
        raise ConfigError(f"run: give the command after two dashes: mockserver run --seed 7 -- {example}")
    from mockserver.cli.running import USUAL, run_beside

    declared = declared_by("run", options) if options.report or declared_in(options) else None
    settings = settings_of(options, usual=USUAL)
    begin_to_log(settings)
    return run_beside(settings, options.behind, declared, complain)


def begin_to_log(settings: Settings) -> None:
    """Set up logging, and warn first of unknown environment variables, and of pages that may do everything."""
    from mockserver.server.logs import log, set_up_logs

    set_up_logs(settings.log_level, settings.log_format)
    for complaint in strange_variables(os.environ):
        log.warning("%s", complaint)
    if settings.cors == ANY:
        log.warning("%s", ANY_MEANS)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    """The signal handler before serving and after it: exit at once, successfully.

    Without a handler nothing would happen if this is the first process, as in a container: the system does not deliver
    signals to that one unless it handles them.
    """
    flush_outputs()
    os._exit(0)


SERVING = (
    Command("serve", _serve, "serve the dialects until interrupted", takes_settings=True),
    Command(
        "dev",
        _dev,
        "serve beside a frontend: open the live page and print examples for the project",
        (argument("--no-open", action="store_true", help="do not open a browser"),),
        takes_settings=True,
    ),
    Command(
        "run",
        _run,
        "serve while a command runs, with its clients pointed to the server; exit with its exit code",
        (
            argument("words", nargs="*", metavar="-- COMMAND", help="the command to run, with its arguments"),
            argument(
                "--report",
                action="store_true",
                help="report on standard error how its clients behaved; faults of conduct turn exit code 0 into 1",
            ),
            *DECLARED,
        ),
        takes_settings=True,
        about="Serves on a free port while a command runs, by default without latency. Clients in the command find the "
        "server through environment variables (OPENAI_BASE_URL, CEREBRAS_BASE_URL, MOCKSERVER_URL, ...). Signals are "
        "passed on. The exit code is the command's, or 127 or 126 if the command cannot be run.",
    ),
)

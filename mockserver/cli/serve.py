"""`mockserver serve`: the dialects until interrupted, and the message at the start, which says where they are."""

import argparse
import gc
import os
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import NoReturn

import orjson

from mockserver.cli.command import Command, begin_to_log, config_path, flush_outputs, print_message, settings_of
from mockserver.core.version import __version__
from mockserver.faults.parse_faults import fault_in_words
from mockserver.latency.profiles import OFF
from mockserver.server.app import App, create_app
from mockserver.server.app_state import SettingsReader
from mockserver.server.files import Sources
from mockserver.server.listener import bind
from mockserver.server.server import serve
from mockserver.server.urls import ADMIN, url_of
from mockserver.server.workers import listeners_for, serve_by_workers
from mockserver.state.quotas import quota_in_words
from mockserver.state.settings import Settings
from mockserver.state.settings.origins import is_loopback

_WORKERS = (
    "{} processes serve this port, with the same settings, config file and stub files. What depends on earlier "
    "requests is refused with 409, since none of them knows those of the others: stubs, faults, quotas, settings and "
    "the clock at run time, the journal, checks, stored responses, QStash's messages. Each has its own metrics and "
    "engines."
)


@dataclass(frozen=True, slots=True)
class Greeting:
    """The facts about a server at its start."""

    url: str
    settings: Settings
    dialects: Sequence[str]
    config: Path | None = None
    stubs: int = 0

    def text(self) -> str:
        """The greeting as text."""
        return "\n".join((self._first_line(), *self._places(), *self._peculiarities()))

    def json(self) -> str:
        """The greeting as a line of a JSON log."""
        settings = self.settings
        line = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "level": "info",
            "logger": "mockserver",
            "message": self._first_line(),
            "kept": self._kept(),
            "url": self.url,
            "dialects": list(self.dialects),
            "config": str(self.config) if self.config else None,
            "faults": list(_faults(settings)),
            "quotas": [quota_in_words(quota) for quota in settings.quota],
            "workers": settings.workers,
        }
        return orjson.dumps(line).decode()

    def _first_line(self) -> str:
        settings = self.settings
        speed = f" at speed {settings.speed:g}" if settings.speed != 1 else ""
        length = f", output tokens {settings.output_tokens}" if settings.output_tokens != OFF else ""
        how = f"(latency {settings.latency}{speed}{length}, edition {settings.edition}, seed {settings.seed})"
        speaks = f" serves {settings.dialect}" if settings.dialect else ""
        return f"mockserver {__version__} on {self.url}{speaks} {how}"

    def _places(self) -> Iterator[str]:
        if not self.settings.dialect:
            yield from (f"  {self.url}/{name}" for name in self.dialects)
        yield f"Kept: {self._kept()}"
        yield f"Routes: {self.url}{ADMIN}/routes"
        if is_loopback(self.settings.host) or self.settings.admin_token:
            yield f"Live page: {self.url}{ADMIN}/ui/"
        else:
            yield "Live page and admin API: closed, as the server listens beyond loopback; open them with --admin-token"

    def _kept(self) -> str:
        """What becomes of what is added while the server runs."""
        return (
            "nothing from before. Stubs, faults and settings that are added at run time last until the server ends; "
            f"GET {self.url}{ADMIN}/stubs?format=toml gives the added stubs as a file for --stubs"
        )

    def _peculiarities(self) -> Iterator[str]:
        settings = self.settings
        if self.config is not None:
            yield f"Config: {self.config} (reloaded when it changes)"
        yield from (f"Fault: {fault}" for fault in _faults(settings))
        yield from (f"Quota: {quota_in_words(quota)}" for quota in settings.quota)
        if settings.stubs:
            yield f"Stubs: {self.stubs}, including those in {settings.stubs} (reloaded when they change)"
        if settings.workers > 1:
            yield _WORKERS.format(settings.workers)


def _faults(settings: Settings) -> Iterator[str]:
    """The faults that are armed from the start, those of routes with their paths."""
    yield from map(fault_in_words, settings.fault)
    for route in settings.routes:
        yield from (f"{fault_in_words(fault)} at {route.path}" for fault in route.faults)


def serve_dialects(options: argparse.Namespace, beside: Callable[[str], None] = lambda url: None) -> int:
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
    sources = Sources()
    settings = settings_of(options, sources)
    begin_to_log(settings)
    app = create_app(settings, SettingsReader(lambda anew: settings_of(options, anew), sources))
    listeners = [bind(settings)] if settings.workers == 1 else _sockets_of_workers(app)
    url = url_of(listeners[0], secure=settings.is_secure)
    greeting = Greeting(
        url, settings, list(app.app_state.dialects), config_path(options), len(app.app_state.setup.stubs)
    )
    print_message(greeting.json() if settings.log_format == "json" else greeting.text())
    beside(url)
    gc.freeze()
    # Answers leave no cycles behind: a collection would search the journal, in vain, and hold up all answers for as
    # long as making a hundred takes. A full journal has some forty thousand objects, and loses as many as it gets.
    gc.set_threshold(50_000, 1_000, 100)
    gc.enable()
    if len(listeners) > 1:
        return serve_by_workers(app, listeners)
    serve(app, listeners[0])
    return 0


def _sockets_of_workers(app: "App") -> "list[socket.socket]":

    return listeners_for(app, app.settings.workers)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    """The signal handler before serving and after it: exit at once, successfully.

    Without a handler nothing would happen if this is the first process, as in a container: the system does not deliver
    signals to that one unless it handles them.
    """
    flush_outputs()
    os._exit(0)


COMMAND = Command(serve_dialects, takes_settings=True)

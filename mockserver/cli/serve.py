"""`mockserver serve`: the dialects until interrupted, and the message at the start, which says where they are."""

import argparse
import gc
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import NoReturn

from mockserver.cli.command import Command, announce, begin_to_log, config_path, flush_outputs, settings_of
from mockserver.core import __version__
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

_CLOSED = "Live page and admin API: closed, as the server listens beyond loopback; open them with --admin-token"
_WORKERS = (
    "{} processes serve this port, with the same settings, config file and stub files. What depends on earlier "
    "requests is refused with 409, since none of them knows those of the others: stubs, faults, quotas, settings and "
    "the clock at run time, the journal, checks, stored responses, QStash's messages. Each has its own metrics and "
    "engines."
)


def _greet(app: App, url: str, config: Path | None) -> None:
    """Say where the server is, what it was started with, and what becomes of what is added to it."""
    settings, dialects = app.settings, list(app.app_state.dialects)
    speed = f" at speed {settings.speed:g}" if settings.speed != 1 else ""
    length = f", output tokens {settings.output_tokens}" if settings.output_tokens != OFF else ""
    how = f"(latency {settings.latency}{speed}{length}, edition {settings.edition}, seed {settings.seed})"
    speaks = f" serves {settings.dialect}" if settings.dialect else ""
    first = f"mockserver {__version__} on {url}{speaks} {how}"
    is_open = bool(is_loopback(settings.host) or settings.admin_token)
    kept = None
    if is_open and settings.workers == 1:
        kept = (
            "nothing. Stubs, faults and settings that are added at run time last until the server ends; "
            f"GET {url}{ADMIN}/stubs?format=toml gives these stubs as a file for --stubs"
        )
    faults, quotas = [*_faults(settings)], [quota_in_words(quota) for quota in settings.quota]
    facts = {
        "kept": kept,
        "url": url,
        "dialects": dialects,
        "config": str(config) if config else None,
        "faults": faults,
        "quotas": quotas,
        "workers": settings.workers,
    }
    lines = [
        *(f"  {url}/{name}" for name in ([] if settings.dialect else dialects)),
        *([f"Kept: {kept}"] if kept else []),
        f"Routes: {url}{ADMIN}/routes",
        f"Live page: {url}{ADMIN}/ui/" if is_open else _CLOSED,
        *([f"Config: {config} (reloaded when it changes)"] if config is not None else []),
        *(f"Fault: {fault}" for fault in faults),
        *(f"Quota: {quota}" for quota in quotas),
    ]
    if settings.stubs:
        count = len(app.app_state.setup.stubs)
        lines.append(f"Stubs: {count}, including those in {settings.stubs} (reloaded when they change)")
    if settings.workers > 1:
        lines.append(_WORKERS.format(settings.workers))
    announce(settings, first, facts, lines)


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
    app = create_app(settings, SettingsReader(lambda files: settings_of(options, files), sources))
    listeners = [bind(settings)] if settings.workers == 1 else listeners_for(app, settings.workers)
    url = url_of(listeners[0], secure=settings.is_secure)
    _greet(app, url, config_path(options))
    beside(url)
    gc.freeze()
    # Answers leave no cycles behind: a collection finds nothing, and holds up all answers while it looks. So each
    # object is looked at once, soon after it was made, and no more than some milliseconds' worth at a time.
    gc.set_threshold(10_000, 5_000, 100)
    gc.enable()
    if len(listeners) > 1:
        return serve_by_workers(app, listeners)
    serve(app, listeners[0])
    return 0


def _end(number: int, frame: FrameType | None) -> NoReturn:
    """The signal handler before serving and after it: exit at once, successfully.

    Without a handler nothing would happen if this is the first process, as in a container: the system does not deliver
    signals to that one unless it handles them.
    """
    flush_outputs()
    os._exit(0)


COMMAND = Command(serve_dialects, takes_settings=True)

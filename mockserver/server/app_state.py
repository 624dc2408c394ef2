"""The state that all requests to an application share: the settings in force, their routes, and the namespaces.

While the server runs, changed files of settings and stubs are read again. If one is invalid, the previous version of
everything stays in force until a later version is valid.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from mockserver.core.dialects import Dialect
from mockserver.routes import Routes, Serve
from mockserver.server.clock import Clocks, Monotonic
from mockserver.server.cors import AccessGuard
from mockserver.server.files import Sources, configured_stubs
from mockserver.server.logs import log
from mockserver.server.metrics import Metrics
from mockserver.server.multi_process import check_processes
from mockserver.state.namespaces import Namespace, Namespaces
from mockserver.state.settings import ConfigError, Settings
from mockserver.state.settings.checks import check_all
from mockserver.state.settings.options import FIXED
from mockserver.state.stubs.stub import Stub

_POLL_SECONDS = 0.5
# Checking thousands of files takes a while: at most one part in so many of the time is spent on it.
_IDLE_FACTOR = 50


class Setup(NamedTuple):
    """Settings with their routes and stubs, and when they came into force. A request uses one setup throughout."""

    settings: Settings
    routes: Routes
    since: float
    stubs: tuple[Stub, ...] = ()


class AppState:
    """The state of a server.

    `operations` are the paths of every operation of its dialects; `config_fault` says why the latest change of the
    config or the stub files is not in force; `stub_sources` are the files that the first stubs were read from; `worker`
    is the number of the process if several serve one port, and `started` the Unix time of its start.
    """

    def __init__(self, settings: Settings, dialects: Mapping[str, Dialect], serve: Serve) -> None:
        self.dialects = dialects
        self.guard = AccessGuard(dialects)
        self.namespaces = Namespaces(settings.journal)
        self.clocks = Clocks()
        self.metrics = Metrics()
        self.stub_sources = Sources()
        self._serve = serve
        # Called when other settings come into force.
        self.on_change: Callable[[Setup], object] = lambda setup: None
        self.setup = self._set_up(settings, configured_stubs(settings, dialects, self.stub_sources))
        self.config_fault: str | None = None
        self.worker: int | None = None
        self.started = time.time()
        self._setups: WeakKeyDictionary[Namespace, tuple[Setup, Mapping[str, Any], Setup]] = WeakKeyDictionary()

    def become_worker(self, number: int) -> None:
        """Become one of several processes that serve a port."""
        self.worker, self.started = number, time.time()

    def replace_settings(self, settings: Settings, stubs: tuple[Stub, ...] | None = None) -> None:
        """Put other settings in force for later requests. Raises ConfigError without changing anything.

        `stubs` are the stubs of these settings; None if they have not changed. The counts of the settings' rules start
        at zero; faults and stubs that were added at run time stay, and so does the journal.
        """
        changed = [name for name in (*FIXED, "pinned") if getattr(settings, name) != getattr(self.setup.settings, name)]
        if changed:
            raise ConfigError(f"{' and '.join(changed)}: cannot be changed while the server runs; restart it")
        # A namespace's own latency may name a recording that was read before.
        settings = replace(settings, traces=settings.traces.over(self.setup.settings.traces))
        self.setup = self._set_up(settings, self.setup.stubs if stubs is None else stubs)
        for namespace in self.namespaces.all():
            namespace.faults.recount()
            namespace.stubs.recount()
        self.on_change(self.setup)

    def replace_stubs(self, stubs: tuple[Stub, ...]) -> None:
        """Put other stubs of the settings in force for later requests; their counts start at zero. Raises ConfigError
        if several processes could not keep these counts."""
        check_processes(self.setup.settings, stubs)
        self.setup = self.setup._replace(stubs=stubs)
        for namespace in self.namespaces.all():
            namespace.stubs.recount()

    def setup_of(self, namespace: Namespace) -> Setup:
        """The setup for the requests of a namespace: its own settings over those in force."""
        own, base = namespace.own, self.setup
        if not own:
            return base
        known = self._setups.get(namespace)
        if known is None or known[0] is not base or known[1] is not own:
            pinned = base.settings.pinned | own.keys()
            setup = base._replace(settings=replace(base.settings, **own, pinned=pinned))
            known = self._setups[namespace] = (base, own, setup)
        return known[2]

    def _set_up(self, settings: Settings, stubs: tuple[Stub, ...]) -> Setup:
        check_all(settings, self.dialects)
        check_processes(settings, stubs)
        return Setup(settings, Routes(self.dialects, settings, self._serve), Monotonic.now(), stubs)


class SettingsReader(NamedTuple):
    """How to read all settings, and the files that they were read from at first.

    `read` notes the files in the sources that it is given, and raises ConfigError.
    """

    read: Callable[[Sources], Settings]
    sources: Sources


class Watcher:
    """Keeps the settings and stubs in force up to date with their files."""

    def __init__(self, reader: SettingsReader, app_state: AppState) -> None:
        self._read = reader.read
        self._app_state = app_state
        self._settings_from, self._stubs_from = reader.sources, app_state.stub_sources
        # Whether the settings must be read again; stays true after a failure, until it succeeds.
        self._stale = False

    @property
    def has_files(self) -> bool:
        """Whether there are any files that could change."""
        return bool(self._settings_from or self._stubs_from)

    async def watch(self) -> None:
        """Check the files twice a second, forever."""
        pause = _POLL_SECONDS
        while True:
            await asyncio.sleep(pause)
            pause = max(_POLL_SECONDS, _IDLE_FACTOR * await self.look())

    async def look(self) -> float:
        """Reload what has changed. Return how long checking took, in seconds."""
        settings, stubs, seconds = await asyncio.to_thread(self._check)
        self._stale = self._stale or bool(settings)
        if changed := [*settings, *stubs]:
            more = f" (and {len(changed) - 1} more)" if len(changed) > 1 else ""
            await self._reload(f"{changed[0]}{more}")
        return seconds

    def _check(self) -> tuple[list[str], list[str], float]:
        """The files of settings and of stubs that have changed, and how long it took to find out, in seconds: without
        the wait for a thread, which is long where others keep the machine busy."""
        began = time.monotonic()
        return self._settings_from.changed(), self._stubs_from.changed(), time.monotonic() - began

    async def _reload(self, changed: str) -> None:
        """Put the current files in force, or record why that is impossible."""
        what = "the changed settings are invalid" if self._stale else "the changed stubs are invalid"
        try:
            await self._read_again()
        except ConfigError as error:
            self._app_state.config_fault = str(error)
            log.error("%s, and the old ones stay in force: %s", what, error)
            return
        except Exception as error:
            # Whatever the error is, the next version of the file may be valid.
            self._app_state.config_fault = f"{changed}: {type(error).__name__}: {error}"
            log.exception("%s, and the old ones stay in force", what)
            return
        self._stale = False
        self._app_state.config_fault = None
        log.warning("%s has changed and is in force", changed)

    async def _read_again(self) -> None:
        settings = self._app_state.setup.settings
        # Without valid settings no stubs can come into force.
        self._stubs_from = Sources()
        if self._stale:
            self._settings_from = Sources()
            settings = await asyncio.to_thread(self._read, self._settings_from)
        stubs = await asyncio.to_thread(configured_stubs, settings, self._app_state.dialects, self._stubs_from)
        if self._stale:
            self._app_state.replace_settings(settings, stubs)
        else:
            # Settings that were changed through the admin API stay, and so do the counts of rules.
            self._app_state.replace_stubs(stubs)

"""Reloading changed files while the server runs: the config, the stub files, and all files that these name.

If a file is invalid, the previous version of everything stays in force until a later version is valid.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import NamedTuple

from mockserver.server.app_state import AppState
from mockserver.server.files import Sources, standing_stubs
from mockserver.state.settings import ConfigError, Settings

log = logging.getLogger("mockserver")

_POLL_SECONDS = 0.5
# Checking thousands of files takes a while: at most one part in so many of the time is spent on it.
_LEISURE = 50


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
            pause = max(_POLL_SECONDS, _LEISURE * await self.look())

    async def look(self) -> float:
        """Reload what has changed. Return how long checking took, in seconds."""
        settings, stubs, seconds = await asyncio.to_thread(self._changes)
        self._stale = self._stale or bool(settings)
        if changed := [*settings, *stubs]:
            more = f" (and {len(changed) - 1} more)" if len(changed) > 1 else ""
            await self._take_up(f"{changed[0]}{more}")
        return seconds

    def _changes(self) -> tuple[list[str], list[str], float]:
        """The changed files of the settings, those of the stubs, and the time that checking took."""
        began = time.monotonic()
        return self._settings_from.changed(), self._stubs_from.changed(), time.monotonic() - began

    async def _take_up(self, changed: str) -> None:
        """Put the current files in force, or record why that is impossible."""
        what = "the changed settings are invalid" if self._stale else "the changed stubs are invalid"
        try:
            await (self._take_up_all() if self._stale else self._take_up_stubs())
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

    async def _take_up_all(self) -> None:
        self._settings_from, self._stubs_from = Sources(), await asyncio.to_thread(self._stubs_from.anew)
        settings = await asyncio.to_thread(self._read, self._settings_from)
        self._stubs_from = Sources()
        stubs = await asyncio.to_thread(standing_stubs, settings, self._app_state.dialects, self._stubs_from)
        self._app_state.adopt(settings, stubs)

    async def _take_up_stubs(self) -> None:
        """Reload only the stubs: settings changed through the admin API stay, and so do the counts of rules."""
        settings, self._stubs_from = self._app_state.setup.settings, Sources()
        stubs = await asyncio.to_thread(standing_stubs, settings, self._app_state.dialects, self._stubs_from)
        self._app_state.restock(stubs)

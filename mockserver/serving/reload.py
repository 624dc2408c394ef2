"""A config file that changes while the server runs is taken up whole; a bad one leaves the old one in force."""

import asyncio
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from mockserver.control.settings import ConfigError, Settings
from mockserver.serving.simulator import Simulator

log = logging.getLogger("mockserver")

_POLL_SECONDS = 0.5

Stamp = tuple[int, int, int] | None


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """Where the settings come from: a file, and how all settings are read anew. `read` raises ConfigError.

    It is made before the settings are read for the first time: what changes after that is seen.
    """

    path: Path
    read: Callable[[], Settings]
    seen: Stamp = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "seen", self.stamp())

    def stamp(self) -> Stamp:
        """What tells one version of the file from the next; None while there is no file."""
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino


async def watch(config: ConfigFile, simulator: Simulator) -> None:
    """Look at the file twice a second, for ever."""
    seen = config.seen
    while True:
        await asyncio.sleep(_POLL_SECONDS)
        stamp = config.stamp()
        if stamp != seen:
            seen = stamp
            await take_up(config, simulator)


async def take_up(config: ConfigFile, simulator: Simulator) -> None:
    """Put the file as it is now in force, or note why that cannot be."""
    try:
        simulator.adopt(await asyncio.to_thread(config.read))
    except ConfigError as error:
        simulator.config_fault = str(error)
        log.error("the changed config is not taken up: %s", error)
        return
    except Exception as error:
        # Whatever it is, the next version of the file may be a good one.
        simulator.config_fault = f"{config.path}: {type(error).__name__}: {error}"
        log.exception("the changed config is not taken up")
        return
    simulator.config_fault = None
    log.warning("%s has changed and is in force", config.path)

"""The server's message at its start: where it is, and which settings differ from the defaults."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import orjson

from mockserver.core.version import __version__
from mockserver.faults.notation import fault_in_words
from mockserver.latency.presets import OFF
from mockserver.server.urls import ADMIN
from mockserver.state.origins import is_loopback
from mockserver.state.quotas.rules import quota_in_words
from mockserver.state.settings import Settings

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

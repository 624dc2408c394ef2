"""A server for tests that need no pytest: the handle on its default namespace, and on any other."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from uvicorn.server import ServerState

from mockserver.control.options import OPTIONS, from_texts
from mockserver.control.settings import ConfigError, Settings
from mockserver.core.naming import unknown
from mockserver.latency.traces import Traces
from mockserver.serving.server import Loop, ServerThread
from mockserver.serving.trace_files import TraceFiles
from mockserver.testing.handle import Handle
from mockserver.testing.links import LocalLink, RemoteLink


class MockServer(Handle):
    """A server in a thread of its own, to be used as a context manager; it is the handle on its default namespace.

    Without settings latency is off and the port a free one. Options are settings by name: `MockServer(seed=7)`.
    """

    def __init__(self, settings: Settings | None = None, loop: Loop = "auto", **options: Any) -> None:
        base = settings or Settings(port=0, latency="off", log_level="warning")
        self._thread = ServerThread(replace(base, **_read(options, base.traces)), loop)
        super().__init__(LocalLink(self._thread, ""))

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._thread.settings

    @property
    def state(self) -> ServerState:
        """The connections and tasks that are open."""
        return self._thread.state

    def start(self) -> None:
        """Start serving; the socket listens already."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the server; answers that are still playing are broken off."""
        self._thread.stop()

    def in_namespace(self, name: str, dialect: str | None = None) -> Handle:
        """The handle on a namespace of the server: whoever has another one is never disturbed."""
        return Handle(LocalLink(self._thread, name), dialect)


def _read(options: Mapping[str, Any], recorded: Traces) -> dict[str, Any]:
    """Settings by name, read and checked. Raises ConfigError."""
    known = [option.name for option in OPTIONS]
    for name in options:
        if name not in known:
            raise ConfigError(f"MockServer: {unknown('setting', name, known)}")
    traces = TraceFiles(Path(), recorded)
    return from_texts(options, "MockServer", traces) | {"traces": traces.traces()}


class RemoteServer(Handle):
    """A server that runs elsewhere: the handle on its default namespace. `token` is that of its admin API."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self._token = token
        super().__init__(RemoteLink(url, "", token))

    def in_namespace(self, name: str, dialect: str | None = None) -> Handle:
        """The handle on a namespace of the server."""
        return Handle(RemoteLink(self._link.server, name, self._token), dialect)

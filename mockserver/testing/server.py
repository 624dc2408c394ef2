"""A server for tests without pytest: the handle on its default namespace, and on any other."""

from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from uvicorn.server import ServerState

from mockserver.server.app import create_app
from mockserver.server.files import TraceFiles, settings_by
from mockserver.server.server import AppThread, Loop
from mockserver.state.settings import ConfigError, Settings
from mockserver.state.settings.options import from_names, settings_or, settle
from mockserver.testing.backend import InProcess, OverHttp
from mockserver.testing.handle import Handle

_DEFAULTS = {"port": 0, "latency": "off", "log_level": "warning"}
# Settings in a config file that are meant for servers that people start, not for those of tests: where they listen, who
# has access, how the process runs; and latency, for which tests would have to wait.
_NOT_FOR_TESTS = (
    *("host", "port", "tls_cert", "tls_key", "auth", "admin_token", "workers", "log_level", "log_format"),
    "latency",
)


class MockServer(Handle):
    """A server in a thread of its own, to be used as a context manager; it is the handle on its default namespace.

    Without settings latency is off and the port is a free one. Options are settings by name: `MockServer(seed=7)`. They
    take precedence over the file `config`, of which only settings about answers are used: not its latencies, nor where
    it listens, who has access, and how the process runs. Raises ConfigError.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        loop: Loop = "auto",
        *,
        config: str | Path | None = None,
        **options: Any,
    ) -> None:
        if config is None:
            example = 'MockServer(seed=7) or MockServer(config="mock.toml")'
            base = settings_or(settle(_DEFAULTS), settings, example)
            traces = TraceFiles(Path(), base.traces)
            settled = replace(base, **from_names(options, "MockServer", traces), traces=traces.traces())
        elif settings is None:
            settled = settings_by(
                Path(config),
                lambda traces: from_names(options, "MockServer", traces),
                usual=_DEFAULTS,
                without=_NOT_FOR_TESTS,
                # Routes of the file must not make tests wait either.
                pinned=("latency",),
            )
        else:
            raise ConfigError("MockServer: give either settings=Settings(...) or config=..., not both")
        app = create_app(settled)
        self._app_state, self._thread = app.app_state, AppThread(app, loop)
        super().__init__(InProcess(self._thread, self._app_state, ""))

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
        """Start serving; the socket is already listening."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the server; answers in progress are broken off."""
        self._thread.stop()

    def namespaces(self) -> list[str]:
        """The names of the namespaces in use; the default one's is empty."""
        spaces = self._app_state.namespaces
        return sorted(self._thread.call(lambda: [space.name for space in spaces.all()]))

    def in_namespace(self, name: str, dialect: str | None = None, folder: str | Path = "") -> Handle:
        """The handle on a namespace of the server, which is isolated from the others.

        Paths of recordings begin at the `folder`, without one at the working directory.
        """
        return Handle(InProcess(self._thread, self._app_state, name), dialect, Path(folder))


class RemoteServer(Handle):
    """A server that runs elsewhere: the handle on its default namespace. `token` is the token of its admin API."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self._token = token
        super().__init__(OverHttp(url, "", token))

    def in_namespace(self, name: str, dialect: str | None = None, folder: str | Path = "") -> Handle:
        """The handle on a namespace of the server; paths of recordings begin at the `folder`."""
        return Handle(OverHttp(self._backend.server, name, self._token), dialect, Path(folder))

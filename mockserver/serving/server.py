"""Servers: one that owns the process, and one in a thread, around the same application."""

import asyncio
import errno
import socket
import threading
from types import TracebackType
from typing import Self

import uvicorn
from uvicorn.server import ServerState

from mockserver.control.settings import ConfigError, Settings
from mockserver.serving.app import App, create_app
from mockserver.serving.wire import WireProtocol

# How long a stopping server lets its answers play on, in seconds.
_GRACE = 0.5


def bind(settings: Settings) -> socket.socket:
    """A listening socket for the settings' address; ConfigError when it cannot be had.

    It is bound here rather than by the server, so that the port is known before anything starts. The protocol is named
    because asyncio only switches Nagle's algorithm off on sockets that say they are TCP.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise ConfigError(
                f"Port {settings.port} on {settings.host} is taken. Choose another with --port (0 picks a free one)."
            ) from None
        raise ConfigError(f"Cannot listen on {settings.host}:{settings.port}: {error.strerror or error}") from None
    listener.listen(2048)
    return listener


def url_of(listener: socket.socket) -> str:
    """The base URL of a bound socket, without a slash at the end."""
    return url_at(*listener.getsockname()[:2])


def url_at(host: str, port: int) -> str:
    """The base URL by which this machine reaches a server that listens on an address."""
    reached = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{reached}]:{port}" if ":" in reached else f"http://{reached}:{port}"


class _Server(uvicorn.Server):
    """uvicorn's server, which does not wait for answers that hang: after a grace their connections are broken off."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let answers play on for the grace, then end them."""
        asyncio.get_running_loop().call_later(_GRACE, self._break_off)
        await super().shutdown(sockets)

    def _break_off(self) -> None:
        for connection in list(self.server_state.connections):
            transport: asyncio.Transport | None = getattr(connection, "transport", None)
            if transport is not None:
                transport.abort()


def uvicorn_server(app: App) -> uvicorn.Server:
    """A uvicorn server that adds nothing of its own to what the dialects send."""
    return _Server(
        uvicorn.Config(
            app,
            http=WireProtocol,
            server_header=False,
            date_header=False,
            access_log=False,
            log_config=None,
            ws="none",
            timeout_keep_alive=75,
            timeout_graceful_shutdown=1,
        )
    )


def serve(app: App, listener: socket.socket) -> None:
    """Serve until interrupted or terminated."""
    uvicorn_server(app).run(sockets=[listener])


class MockServer:
    """A server in a thread of its own; without settings with latency off on a free port, else where they say.

    Use it as a context manager; `url` is its base URL without a slash at the end.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self._app = create_app(settings or Settings(port=0, latency="off", log_level="warning"))
        self.settings = self._app.settings
        self._listener = bind(self.settings)
        self._server = uvicorn_server(self._app)
        self._thread = threading.Thread(target=self._run, name="mockserver", daemon=True)
        self.url = url_of(self._listener)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def state(self) -> ServerState:
        """The connections and tasks that are open."""
        return self._server.server_state

    def stop(self) -> None:
        """Stop the server; answers that are still playing have half a second to end."""
        self._server.should_exit = True
        self._thread.join(_GRACE)
        self._server.force_exit = True
        self._thread.join(10)

    def _run(self) -> None:
        # The socket listens already: a client that comes first waits in its queue, so nobody has to wait for readiness.
        with asyncio.Runner(loop_factory=self._server.config.get_loop_factory()) as runner:
            runner.run(self._server.serve(sockets=[self._listener]))

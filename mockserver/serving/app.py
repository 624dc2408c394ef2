"""The application: two entrances to one reception.

On our own server, requests to the dialects arrive as values (`takes`, `take`: see `connection`); if the application is
called in process, they arrive over ASGI. The admin API always uses ASGI.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from mockserver.control.configuration.options import checked, from_names
from mockserver.control.journal.exchanges import Denial
from mockserver.control.namespaces import namespace_of
from mockserver.control.settings import Settings
from mockserver.core.calls import Headers
from mockserver.core.dialects import Dialect
from mockserver.core.installed import load_dialects
from mockserver.serving.addresses import ADMIN, HEALTH
from mockserver.serving.asgi import (
    WELL,
    AsgiSink,
    ClientLeftError,
    Receive,
    Send,
    live,
    play,
    read_body,
    refuse_websocket,
    say,
)
from mockserver.serving.cors import VARY, Gate, page_headers
from mockserver.serving.files.traces import TraceFiles
from mockserver.serving.reception import Incoming, Reception, Staged
from mockserver.serving.reload import Reader, Watcher
from mockserver.serving.simulator import Simulator
from mockserver.serving.sockets.direct_answers import Answer

_ADMIN = "mockserver.serving.admin.api"
_DISGUISED = Denial(404, "no_route", f"The admin API is only at {ADMIN}/, without any percent-encoding in that.").body


class App:
    """The simulator as an application."""

    def __init__(self, settings: Settings, dialects: Mapping[str, Dialect], reader: Reader | None = None) -> None:
        self.simulator = Simulator(settings, dialects)
        self._reception = Reception(self.simulator)
        self._watcher = Watcher(reader, self.simulator) if reader else None
        self._admin_paths = frozenset(f"/{name}/openapi.json" for name in dialects)
        self._late: set[asyncio.Task[None]] = set()

    def become_worker(self, number: int) -> None:
        """Become one of several processes that serve a port."""
        self.simulator.become_worker(number)
        self._reception.begin_ids()

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.simulator.setup.settings

    @property
    def gate(self) -> Gate:
        """What turns requests away."""
        return self.simulator.gate

    @property
    def max_body(self) -> int:
        """The largest request body, in bytes."""
        return self.settings.max_body

    def takes(self, path: str, headers: Headers) -> bool:
        """Whether a request is for the dialects rather than for the admin API."""
        if path.startswith("/ns/"):
            _, path = namespace_of(path, headers)
        return not path.startswith(ADMIN) and path not in self._admin_paths

    def take(self, incoming: Incoming, sink: Answer) -> None:
        """Answer a request from our own server."""
        received = self._reception.receive(incoming)
        if isinstance(received, Staged):
            sink.play(received.performance(sink))
            return

        async def late() -> None:
            staged = await received
            sink.play(staged.performance(sink))

        task = asyncio.ensure_future(late())
        self._late.add(task)
        task.add_done_callback(self._late.discard)

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Serve one ASGI scope."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] != "http":
            await refuse_websocket(send)
        elif self.takes(scope["path"], headers := Headers(scope["headers"])):
            await self._serve(scope, headers, receive, send)
        elif (denial := self.gate.refusal(scope["method"], headers, self.settings)) is not None:
            await say(send, denial.status, denial.body, (VARY,))
        elif _is_disguised(scope):
            await say(send, 404, _DISGUISED)
        elif scope["path"] == HEALTH and scope["method"] in ("GET", "HEAD"):
            # Frequent, so it bypasses the admin API.
            await say(send, 200, WELL, page_headers(headers, self.settings))
        else:
            # Imported in a thread on the first use, so that answers in progress are not held up.
            if "_admin" not in vars(self):
                await asyncio.to_thread(import_module, _ADMIN)
            await self._admin(scope, receive, send)

    @cached_property
    def _admin(self) -> Callable[[Any, Receive, Send], Awaitable[None]]:
        """The admin API, made on the first use: it alone accounts for a quarter of all imports."""
        from mockserver.serving.admin.api import admin_api

        return admin_api(self.simulator)

    async def _serve(self, scope: Any, headers: Headers, receive: Receive, send: Send) -> None:
        try:
            body = await read_body(receive, self.max_body)
        except ClientLeftError:
            return
        query = scope["query_string"].decode("latin-1")
        incoming = Incoming(scope["method"], scope["path"], query, headers, body or b"", too_large=body is None)
        received = self._reception.receive(incoming)
        staged = received if isinstance(received, Staged) else await received
        sink = AsgiSink()
        await play(staged.performance(sink), sink, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        """ASGI's lifespan: while it lasts, the source files of settings and stubs are watched."""
        files = self._watcher
        watcher = asyncio.ensure_future(files.watch()) if files is not None and files.has_files else None

        async def end() -> None:
            if watcher is not None:
                watcher.cancel()

        await live(receive, send, end)


def _is_disguised(scope: Any) -> bool:
    """Whether a path to the admin API is not written like one: a proxy that bars the API might not recognise it."""
    written: bytes = scope.get("raw_path") or scope["path"].encode()
    return scope["path"].startswith(ADMIN) and not f"{written.decode('latin-1')}/".startswith(f"{ADMIN}/")


def create_app(settings: Settings | None = None, reader: Reader | None = None, **options: Any) -> App:
    """The application with every installed dialect. Raises ConfigError if the settings name what does not exist.

    Options are settings by name, over the `settings`: `create_app(seed=7)`. Without settings, latency is off. With a
    `reader` of the settings, all source files of settings and stubs are watched while the application runs.
    """
    given = settings or Settings(latency="off")
    traces = TraceFiles(Path(), given.traces)
    settled = checked(replace(given, **from_names(options, "create_app", traces)), traces)
    return App(replace(settled, traces=traces.traces()), load_dialects(), reader)

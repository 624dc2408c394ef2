"""The application: a Starlette app whose routes are all that is served."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from mockserver.core.dialects import Dialect
from mockserver.core.failures import SimulatorError
from mockserver.core.installed import load_dialects
from mockserver.routes import Endpoint, RememberingRouter, mount
from mockserver.server.app_state import AppState, SettingsReader, Setup, Watcher
from mockserver.server.asgi import ROOT, send_json
from mockserver.server.cors import AccessMiddleware
from mockserver.server.files import TraceFiles
from mockserver.server.handler import Handler
from mockserver.server.urls import ADMIN
from mockserver.state.settings import Settings
from mockserver.state.settings.checks import DIALECT_DOCUMENTS
from mockserver.state.settings.options import checked, from_names, settings_or

_DISGUISED = SimulatorError(
    404, "no_route", f"The admin API is only at {ADMIN}/, without any percent-encoding in that."
).body


class App(Starlette):
    """The simulator as an application.

    Its routes are, in this order: the vendors' host names, the routes of a config file, the bare paths, `/<dialect>`,
    `/ns/{namespace}` with all of these once more, and the admin API. Other settings may bring other routes.
    """

    def __init__(
        self, settings: Settings, dialects: Mapping[str, Dialect], reader: SettingsReader | None = None
    ) -> None:
        self._handler = Handler()
        self.app_state = self._handler.app_state = AppState(settings, dialects, self._handler)
        self._watcher = Watcher(reader, self.app_state) if reader else None
        self._admin = _Admin(self.app_state)
        # Whether requests may be answered within the turn of the loop in which they have arrived, on the transport of
        # their connection: middleware of the user's wants to see them, and may want to know their task.
        self.answers_at_once = False
        self.guard = self.app_state.guard
        super().__init__(middleware=[Middleware(AccessMiddleware, guard=self.guard)], lifespan=_lifespan)
        self.router = self._router = RememberingRouter([], Endpoint(None, self._handler), _lifespan)
        self._install(self.app_state.setup)
        self.app_state.on_change = self._install

    def build_middleware_stack(self) -> ASGIApp:
        """The middleware around the routes, to which nobody can add any more."""
        self.answers_at_once = len(self.user_middleware) == 1
        return super().build_middleware_stack()

    def become_worker(self, number: int) -> None:
        """Become one of several processes that serve a port."""
        self.app_state.become_worker(number)
        self._handler.begin_ids()

    def _install(self, setup: Setup) -> None:
        """Have these settings in force, and serve their routes, from now on."""
        self.settings, routes = setup.settings, setup.routes
        documents = [
            Route(f"/{name}/{document}", self._admin)
            for name in self.app_state.dialects
            for document in DIALECT_DOCUMENTS
        ]
        served: list[BaseRoute] = [*documents, *routes.all]
        namespaced = mount("/ns/{namespace}", RememberingRouter(served, routes.default), "namespace")
        literal = _Literal(self._admin)
        admin = [mount(ADMIN, literal, "admin"), Route(ADMIN, literal)]
        self._router.replace([*admin, namespaced, *served], routes.default)


@asynccontextmanager
async def _lifespan(app: App) -> AsyncIterator[None]:
    """While it lasts, the source files of settings and stubs are watched."""
    files = app._watcher
    watcher = asyncio.ensure_future(files.watch()) if files is not None and files.has_files else None
    try:
        yield
    finally:
        if watcher is not None:
            watcher.cancel()


class _Admin:
    """The admin API and the dialects' documents. The first request to them loads them, in a thread: that would take a
    tenth of each start and 5 MB, and many servers are never asked."""

    def __init__(self, app_state: AppState) -> None:
        self._app_state = app_state
        self._api: Starlette | None = None
        # A page's first requests come together.
        self._lock = Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI scope."""
        api = await asyncio.to_thread(self.load) if self._api is None else self._api
        await api(scope, receive, send)

    def load(self) -> Starlette:
        """The application, loaded once."""
        with self._lock:
            if self._api is None:
                from mockserver.server.admin import admin_api

                self._api = admin_api(self._app_state)
            return self._api


class _Literal:
    """The admin API for requests whose path is written like its own: a proxy that bars the API from the outside might
    not recognise it in `/%5fmockserver/` or `/_mockserver%2f`."""

    def __init__(self, admin: _Admin) -> None:
        self._admin = admin

    @property
    def routes(self) -> list[BaseRoute]:
        """Its routes, for who lists those of the application."""
        return self._admin.load().routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI scope."""
        written: bytes = scope.get("raw_path") or scope["path"].encode()
        prefix = f"{scope[ROOT]}{ADMIN}".encode()
        is_literal = scope["type"] != "http" or written == prefix or written.startswith(prefix + b"/")
        await (self._admin(scope, receive, send) if is_literal else send_json(send, 404, _DISGUISED))


def create_app(settings: Settings | None = None, reader: SettingsReader | None = None, **options: Any) -> App:
    """The application with every installed dialect. Raises ConfigError if the settings name what does not exist.

    Options are settings by name, over the `settings`: `create_app(seed=7)`. Without settings, latency is off. With a
    `reader` of the settings, all source files of settings and stubs are watched while the application runs.
    """
    given = settings_or(Settings(latency="off"), settings, "create_app(seed=7)")
    traces = TraceFiles(Path(), given.traces)
    settled = checked(replace(given, **from_names(options, "create_app", traces)), traces)
    return App(replace(settled, traces=traces.traces()), load_dialects(), reader)

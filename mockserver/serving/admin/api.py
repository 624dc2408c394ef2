"""The admin API under `/_mockserver/`, and each dialect's OpenAPI document. Its `health` is the application's own."""

import asyncio
import hmac
from dataclasses import asdict, replace
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route

from mockserver.control.namespaces import BAD_NAME, is_name, namespace_of
from mockserver.core.calls import Headers
from mockserver.core.dialects import EDITIONS, Edition
from mockserver.core.version import __version__
from mockserver.dialects.openapi import openapi_document
from mockserver.latency.traces import NO_TRACES
from mockserver.serving.addresses import ADMIN, LOOPBACK
from mockserver.serving.admin.answers import BadRequestError, Endpoint, Guard, admin_error, admin_json
from mockserver.serving.admin.catalogue import catalogue_routes
from mockserver.serving.admin.faults import fault_routes
from mockserver.serving.admin.journal import journal_routes
from mockserver.serving.admin.metrics import metrics_routes
from mockserver.serving.admin.namespaces import namespace_routes
from mockserver.serving.admin.openapi import OPERATIONS, openapi_routes
from mockserver.serving.admin.stubs import stub_routes
from mockserver.serving.admin.verify import verify_routes
from mockserver.serving.door import Door
from mockserver.serving.simulator import Simulator
from mockserver.serving.ui import ui_routes
from mockserver.serving.wire import DOOR

_CLOSED = (
    "The admin API wants `Authorization: Bearer` with the admin token (--admin-token, or MOCKSERVER_ADMIN_TOKEN). "
    "A server beyond loopback that has no token keeps it closed."
)
_FOREIGN = "The admin API does not serve pages of another origin, unless they have the admin token (--admin-token)."


def admin_api(simulator: Simulator) -> Starlette:
    """The application behind `/_mockserver/...` and `/<dialect>/openapi.json`."""
    dialects = simulator.dialects

    async def ready(request: Request) -> Response:
        fault = simulator.config_fault
        if fault is not None:
            return admin_json({"status": "old config", "error": fault, "dialects": list(dialects)}, 503)
        door: Door | None = request.scope.get("extensions", {}).get(DOOR)
        if door is not None and door.state != "open":
            said = f"the listener fails: {door.state}"
            return admin_json({"status": "listener", "error": said, "dialects": list(dialects)}, 503)
        return admin_json({"status": "ready", "dialects": list(dialects)})

    async def version(request: Request) -> Response:
        return admin_json({"name": "mockserver", "version": __version__})

    async def routes(request: Request) -> Response:
        rows = (
            {"method": method, "path": path, "dialect": dialect.name, "operation": operation.name}
            for method, path, dialect, operation in simulator.setup.router.table()
        )
        return admin_json({"routes": list(rows)})

    async def shown_settings(request: Request) -> Response:
        settings = simulator.setup.settings
        shown = asdict(replace(settings, traces=NO_TRACES))
        hidden: dict[str, Any] = {"admin_token": "set" if settings.admin_token else None}
        hidden["stub"] = [stub.name for stub in settings.stub]
        hidden["traces"] = sorted({recording.file for recording in settings.traces.known})
        keys = settings.auth if isinstance(settings.auth, str) else f"{len(settings.auth)} keys"
        return admin_json({**shown, **hidden, "auth": keys, "pinned": sorted(settings.pinned)})

    @cache
    def document(name: str, edition: Edition) -> bytes:
        return orjson.dumps(openapi_document(dialects[name], edition))

    async def openapi(request: Request) -> Response:
        name, _ = namespace_of(request.scope["path"], Headers(request.headers.raw))
        if not is_name(name):
            raise BadRequestError(BAD_NAME)
        usual = simulator.setup_of(simulator.namespaces.get(name)).settings.edition
        wanted = request.query_params.get("edition", usual)
        edition = next((edition for edition in EDITIONS if edition == wanted), None)
        if edition is None:
            return admin_error(400, f"There is no edition {wanted!r}. Known: {', '.join(EDITIONS)}")
        return Response(document(request.path_params["dialect"], edition), media_type="application/json")

    guarded = _guard(simulator)
    return Starlette(
        routes=[
            Route(f"{ADMIN}/ready", ready),
            Route(f"{ADMIN}/version", version),
            Route(f"{ADMIN}/routes", guarded(routes)),
            Route(f"{ADMIN}/settings", guarded(shown_settings)),
            *catalogue_routes(simulator, guarded),
            *fault_routes(simulator, guarded),
            *stub_routes(simulator, guarded),
            *verify_routes(simulator, guarded),
            *journal_routes(simulator, guarded),
            *namespace_routes(simulator, guarded),
            *metrics_routes(simulator, guarded),
            *ui_routes(),
            *openapi_routes(),
            Route("/{dialect}/openapi.json", openapi),
            Route("/ns/{namespace}/{dialect}/openapi.json", openapi, include_in_schema=False),
        ],
        exception_handlers={404: _not_found, 405: _wrong_method, BadRequestError: _bad_request},
    )


def _guard(simulator: Simulator) -> Guard:
    """Ask for the admin token; without one, let only servers on loopback answer, and no page of another origin ask."""

    def guard(endpoint: Endpoint) -> Endpoint:
        async def guarded(request: Request) -> Response:
            settings = simulator.setup.settings
            token = settings.admin_token
            if token:
                given = request.headers.get("authorization", "").removeprefix("Bearer ")
                allowed = hmac.compare_digest(given.encode(), token.encode())
            elif _is_foreign(request):
                return admin_error(403, _FOREIGN)
            else:
                allowed = settings.host in LOOPBACK
            try:
                return await endpoint(request) if allowed else admin_error(401, _CLOSED)
            except asyncio.CancelledError:
                # The server stops while somebody waits: that is no fault of anybody's.
                return admin_error(503, "The server stops")

        return guarded

    return guard


def _is_foreign(request: Request) -> bool:
    """Whether a browser sends the request for a page that came from elsewhere."""
    origin = request.headers.get("origin")
    return origin is not None and urlsplit(origin).netloc != request.headers.get("host")


async def _bad_request(request: Request, error: Exception) -> Response:
    return admin_error(400, str(error))


async def _wrong_method(request: Request, error: Exception) -> Response:
    path = request.url.path
    matching = (route for route in request.app.routes if route.matches(request.scope)[0] is not Match.NONE)
    allowed = ", ".join(sorted({method for route in matching for method in route.methods}))
    refusal = admin_error(405, f"{path} takes {allowed}, and no {request.method}.")
    refusal.headers["allow"] = allowed
    return refusal


async def _not_found(request: Request, error: Exception) -> Response:
    paths = (operation.partition(" /")[2] for operation in OPERATIONS)
    known = ", ".join(dict.fromkeys(path for path in paths if path and "{" not in path))
    asked = f"{request.method} {request.url.path}"
    return admin_error(404, f"The admin API has no {asked}. It has, under /_mockserver/: {known}.")

"""The admin API under `/_mockserver/`, and each dialect's OpenAPI document: all endpoints, and access control."""

import asyncio
import hmac
from collections.abc import Iterator, Mapping
from functools import partial

import orjson
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route

from mockserver.core.calls import Headers
from mockserver.core.naming import unknown
from mockserver.server.addresses import ADMIN
from mockserver.server.admin.answers import admin_error
from mockserver.server.admin.catalogue import CATALOGUE
from mockserver.server.admin.deliveries import DELIVERIES
from mockserver.server.admin.dialects import DIALECTS
from mockserver.server.admin.endpoints import Endpoint, Handler
from mockserver.server.admin.faults import FAULTS
from mockserver.server.admin.journal import JOURNAL
from mockserver.server.admin.metrics import METRICS
from mockserver.server.admin.namespaces import NAMESPACES
from mockserver.server.admin.openapi import DOCUMENT, admin_document
from mockserver.server.admin.page import PAGE
from mockserver.server.admin.quotas import QUOTAS
from mockserver.server.admin.requests import AdminRequest, BadRequestError
from mockserver.server.admin.server import SERVER
from mockserver.server.admin.settings import SETTINGS
from mockserver.server.admin.stubs import STUBS
from mockserver.server.admin.verification import VERIFICATION
from mockserver.server.cors import open_to_pages
from mockserver.server.simulator import Simulator
from mockserver.state.origins import is_loopback, is_own
from mockserver.state.processes import needs_one_process
from mockserver.state.settings import Settings

_CLOSED = (
    "The admin API is closed, as the server listens beyond loopback and has no admin token. Start it with one: "
    "--admin-token, or MOCKSERVER_ADMIN_TOKEN."
)
_LOCKED = (
    "The admin API requires the header `Authorization: Bearer` with the server's admin token. mockserver's own "
    "commands and handles take it from MOCKSERVER_ADMIN_TOKEN."
)
_WRONG = "The admin token is not the server's (its --admin-token, or MOCKSERVER_ADMIN_TOKEN)."
_FOREIGN = "The admin API serves pages of other origins only with the admin token (--admin-token)."


async def _document(request: AdminRequest) -> Response:
    return Response(orjson.dumps(admin_document(SUBJECTS)), media_type="application/json")


_OPENAPI = Endpoint(
    "openapi", "GET", (f"{ADMIN}/openapi.json",), _document, "This document", {200: DOCUMENT}, opens=True
)
# Every endpoint, by subject. The first that matches a request answers it.
SUBJECTS: Mapping[str, tuple[Endpoint, ...]] = {
    "server": (*SERVER, _OPENAPI, *DIALECTS, *METRICS),
    "settings": (*SETTINGS, *CATALOGUE, *QUOTAS),
    "namespaces": NAMESPACES,
    "faults": FAULTS,
    "stubs": STUBS,
    "journal": JOURNAL,
    "deliveries": DELIVERIES,
    "verification": VERIFICATION,
    "page": PAGE,
}
ENDPOINTS = tuple(endpoint for endpoints in SUBJECTS.values() for endpoint in endpoints)
# The endpoints that several processes answer alike; the metrics name the process that counts them.
_STATELESS = frozenset(endpoint.name for endpoint in (*SUBJECTS["server"], *CATALOGUE, *PAGE))


def admin_api(simulator: Simulator) -> Starlette:
    """The ASGI application behind `/_mockserver/...` and `/<dialect>/openapi.json`."""
    return Starlette(
        routes=list(_routes(simulator)),
        middleware=[Middleware(open_to_pages, lambda: simulator.setup.settings)],
        exception_handlers={404: _not_found, 405: _wrong_method, BadRequestError: _bad_request},
    )


def _routes(simulator: Simulator) -> Iterator[Route]:
    for endpoint in ENDPOINTS:
        answer = partial(_answer, simulator, endpoint, endpoint.handle)
        for path in (*endpoint.paths, *endpoint.also):
            # Within the mount, but for the few that are beside it.
            yield Route(path.removeprefix(ADMIN) or path, answer, methods=[endpoint.method])


async def _answer(simulator: Simulator, endpoint: Endpoint, handle: Handler, request: Request) -> Response:
    """Process a request: check whether it is allowed, and call its handler."""
    why_not = None if endpoint.opens else _refusal(simulator.setup.settings, request)
    if why_not is not None:
        return why_not
    if simulator.worker is not None and endpoint.name not in _STATELESS:
        return admin_error(409, f"{needs_one_process(f'{request.method} {request.url.path}')}.")
    _check_query(endpoint, request)
    try:
        return await handle(AdminRequest(simulator, request))
    except asyncio.CancelledError:
        # The server is stopping while a request waits, which is no error of either side.
        return admin_error(503, "The server is stopping")


def _refusal(settings: Settings, request: Request) -> Response | None:
    """The refusal of a request without the admin token if one is set; otherwise of one from a page of another origin,
    or on a server beyond loopback."""
    if settings.admin_token:
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        given = given.strip() if scheme.lower() == "bearer" else ""
        known = hmac.compare_digest(given.encode("latin-1"), settings.admin_token.encode())
        return None if known else admin_error(401, _WRONG if given else _LOCKED)
    headers = Headers(request.headers.raw)
    if headers.get("origin") is not None and not is_own(headers):
        return admin_error(403, _FOREIGN)
    return None if is_loopback(settings.host) else admin_error(401, _CLOSED)


def _check_query(endpoint: Endpoint, request: Request) -> None:
    """Raise BadRequestError if an endpoint with query parameters gets an unknown one."""
    known = [query.name for query in endpoint.query]
    for name in request.query_params if known else ():
        if name not in known:
            raise BadRequestError(unknown("parameter", name, known))


async def _bad_request(request: Request, error: Exception) -> Response:
    return admin_error(400, str(error))


async def _wrong_method(request: Request, error: Exception) -> Response:
    path = request.url.path
    matching = (route for route in request.app.routes if route.matches(request.scope)[0] is not Match.NONE)
    allowed = ", ".join(sorted({method for route in matching for method in route.methods}))
    refusal = admin_error(405, f"{path} accepts {allowed}, not {request.method}.")
    refusal.headers["allow"] = allowed
    return refusal


async def _not_found(request: Request, error: Exception) -> Response:
    paths = (endpoint.paths[0].removeprefix(f"{ADMIN}/") for endpoint in ENDPOINTS)
    known = ", ".join(dict.fromkeys(path for path in paths if "{" not in path))
    target = f"{request.method} {request.url.path}"
    return admin_error(404, f"The admin API has no {target}. Under /_mockserver/ it has: {known}.")

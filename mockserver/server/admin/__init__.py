"""The admin API under `/_mockserver/`, and each dialect's OpenAPI document: all endpoints, access control, and its own
OpenAPI document."""

import asyncio
import hmac
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route

from mockserver.core import __version__
from mockserver.core.http import Headers
from mockserver.core.installed import load_dialects
from mockserver.core.matching.values import CriteriaError
from mockserver.core.messages import unknown_name
from mockserver.server.admin import faults, journal, metrics, namespaces, server, settings, stubs, verification
from mockserver.server.admin.endpoints import (
    AdminEndpoint,
    AdminError,
    AdminRequest,
    admin_error,
    admin_json,
    endpoint,
    per_server,
)
from mockserver.server.admin.schemas import DOCUMENT, TAKEN, TEXT, WHOLE, Schema, one_of, reference, table
from mockserver.server.app_state import AppState
from mockserver.server.cors import is_own, open_to_pages
from mockserver.server.multi_process import needs_one_process
from mockserver.server.urls import ADMIN
from mockserver.state.context import HeaderError
from mockserver.state.settings import ConfigError, Settings
from mockserver.state.settings.origins import is_loopback
from mockserver.state.verify.client_review import CheckError

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
# What an endpoint raises for a request that is invalid; each message says what would have been valid.
_REFUSALS = (AdminError, ConfigError, CriteriaError, CheckError, HeaderError)
_VARIABLE = re.compile(r"{(\w+)(?::\w+)?}")


@endpoint("GET", per_server("/openapi.json"), {200: DOCUMENT}, opens=True)
async def openapi(request: AdminRequest) -> Response:
    """This document."""
    return Response(orjson.dumps(admin_document()), media_type="application/json")


# Every endpoint, by subject. The first that matches a request answers it.
SUBJECTS: Mapping[str, tuple[AdminEndpoint, ...]] = {
    "server": (*server.ENDPOINTS, openapi, *metrics.ENDPOINTS),
    "settings": settings.ENDPOINTS,
    "namespaces": namespaces.ENDPOINTS,
    "faults": faults.ENDPOINTS,
    "stubs": stubs.ENDPOINTS,
    "journal": journal.ENDPOINTS,
    "deliveries": (namespaces.deliveries,),
    "verification": verification.ENDPOINTS,
    "page": server.PAGE,
}
ENDPOINTS = tuple(each for endpoints in SUBJECTS.values() for each in endpoints)
# The endpoints that several processes answer alike; the metrics name the process that counts them.
_STATELESS = frozenset(each.name for each in (*SUBJECTS["server"], *settings.CATALOGUE, *server.PAGE))
# The JSON that the endpoints take and give, by name. What is written by hand is checked by a test against the answers.
SCHEMAS: Mapping[str, Schema] = {
    "Error": table({"error": table({"message": TEXT, "type": one_of(("mockserver_admin",))})}),
    **TAKEN,
    **journal.SCHEMAS,
    **stubs.SCHEMAS,
    **faults.SCHEMAS,
    **verification.SCHEMAS,
    **settings.SCHEMAS,
    **namespaces.SCHEMAS,
}


# How a request without a namespace in its path can name one, apart from an API key.
_NAMESPACE = {
    "name": "X-Mockserver-Namespace",
    "in": "header",
    "schema": TEXT,
    "description": "a namespace, which an API key `mock-ns-<name>` names, too; the default one without either",
}


def admin_api(app_state: AppState) -> Starlette:
    """The ASGI application behind `/_mockserver/...` and `/<dialect>/openapi.json` and its like."""
    # Within the mount, but for the few that are beside it.
    routes = [
        Route(path.removeprefix(ADMIN) or path, partial(_answer, app_state, each), methods=[each.method])
        for each in ENDPOINTS
        for path in (*each.paths, *each.also)
    ]
    api = Starlette(
        routes=routes,
        middleware=[Middleware(open_to_pages, lambda: app_state.setup.settings)],
        exception_handlers={404: _not_found, 405: _wrong_method, **dict.fromkeys(_REFUSALS, _refused)},
    )
    # `DELETE /stubs/` may be meant for a stub whose name is missing, not for all.
    api.router.redirect_slashes = False
    return api


async def _answer(app_state: AppState, endpoint: AdminEndpoint, request: Request) -> Response:
    why_not = None if endpoint.opens else _refusal(app_state.setup.settings, request)
    if why_not is not None:
        return why_not
    if app_state.worker is not None and endpoint.name not in _STATELESS:
        return admin_error(409, f"{needs_one_process(f'{request.method} {request.url.path}')}.")
    known = endpoint.query
    # What is open to everybody is also asked by pages, probes and the like, which may add anything.
    for name in request.query_params if known or not endpoint.opens else ():
        if name not in known:
            return admin_error(400, f"{unknown_name('parameter', name, known)}{_of_namespace(endpoint, name)}")
    asked = AdminRequest(app_state, request)
    if endpoint.takes is None and endpoint.method != "GET":
        await asked.check_bodiless()
    try:
        answer = await endpoint.handle(asked)
    except asyncio.CancelledError:
        # The server is stopping while a request waits, which is no error of either side.
        return admin_error(503, "The server is stopping")
    return answer if isinstance(answer, Response) else admin_json(answer, next(iter(endpoint.gives)))


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


async def _refused(request: Request, error: Exception) -> Response:
    return admin_error(error.status if isinstance(error, AdminError) else 400, str(error))


async def _wrong_method(request: Request, error: Exception) -> Response:
    path = request.url.path
    matching = (route for route in request.app.routes if route.matches(request.scope)[0] is not Match.NONE)
    allowed = ", ".join(sorted({method for route in matching for method in route.methods}))
    refusal = admin_error(405, f"{path} accepts {allowed}, not {request.method}.")
    refusal.headers["allow"] = allowed
    return refusal


def _of_namespace(endpoint: AdminEndpoint, parameter: str) -> str:
    """What helps who names a namespace by a parameter."""
    is_meant = endpoint.is_per_namespace and parameter in ("namespace", "ns")
    return f". A namespace is named in the path: {endpoint.paths[1]}" if is_meant else ""


async def _not_found(request: Request, error: Exception) -> Response:
    path = request.url.path
    parts = path.partition(ADMIN)[2].removeprefix("/").split("/")
    of_one = parts[0] == "ns"
    sought = "/".join(parts[2:] if of_one else parts)
    names = {each.paths[0].removeprefix(f"{ADMIN}/"): each.is_per_namespace for each in ENDPOINTS}
    known = [name for name, in_each in names.items() if "{" not in name and (in_each or not of_one)]
    whole = f". For the whole server there is {ADMIN}/{sought}" if of_one and sought.rstrip("/") in names else ""
    said = unknown_name("path of the admin API", sought, known)
    return admin_error(404, f"{request.method} {path}: {said}{whole}")


def admin_document() -> dict[str, Any]:
    """The OpenAPI 3.1 document. HEAD is implied by GET."""
    paths: dict[str, dict[str, Any]] = {}
    for subject, endpoints in SUBJECTS.items():
        for each in endpoints:
            for number, path in enumerate(each.paths):
                written = _operation(each, subject, _VARIABLE.findall(path))
                if number:
                    written["operationId"] += "InNamespace"
                paths.setdefault(_VARIABLE.sub(r"{\1}", path), {})[each.method.lower()] = written
    return {
        "openapi": "3.1.0",
        "info": {"title": "mockserver: admin API", "version": __version__},
        "servers": [{"url": "/"}],
        "paths": dict(sorted(paths.items())),
        "components": {"schemas": SCHEMAS, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def _operation(endpoint: AdminEndpoint, subject: str, variables: list[str]) -> dict[str, Any]:
    known: Mapping[str, Schema] = {"number": WHOLE, "dialect": one_of(load_dialects())}
    written: dict[str, Any] = {
        "operationId": endpoint.name,
        "tags": [subject],
        "summary": endpoint.summary,
        "parameters": [
            *([_NAMESPACE] if endpoint.is_per_namespace and "namespace" not in variables else ()),
            *({"name": name, "in": "path", "required": True, "schema": known.get(name, TEXT)} for name in variables),
            *(
                {"name": name, "in": "query", "schema": schema, "description": schema["description"]}
                for name, schema in endpoint.query.items()
            ),
        ],
        "responses": _responses(endpoint),
    }
    if endpoint.takes is not None:
        written["requestBody"] = {"required": True, "content": _json(endpoint.takes)}
    return written if endpoint.opens else written | {"security": [{"token": []}, {}]}


def _responses(endpoint: AdminEndpoint) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for status, schema in endpoint.gives.items():
        content = _json(schema) if not isinstance(schema, str) else {schema: {"schema": TEXT}} if schema else {}
        content |= {kind: {"schema": TEXT} for kind in endpoint.writes}
        found[str(status)] = {"description": "The answer.", **({"content": content} if content else {})}
    refusals = set(endpoint.refuses if endpoint.opens else (*endpoint.refuses, 401))
    if endpoint.is_per_namespace:
        # Not everything is a valid name of a namespace.
        refusals.add(400)
    if endpoint.method != "GET":
        refusals |= {400, 413}
    error = {"description": "What is wrong, and what would have been valid.", "content": _json(reference("Error"))}
    return found | {str(status): error for status in sorted(refusals)}


def _json(schema: Schema) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}

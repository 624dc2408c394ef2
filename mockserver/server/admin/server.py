"""The admin API of the server itself: its health, version and routes, the OpenAPI documents of its dialects; and the
live page, whose files in `mockserver/ui/` are served unchanged. They contain no secrets, so they need no token."""

from pathlib import Path

import orjson
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response
from starlette.staticfiles import StaticFiles

from mockserver.core import __version__
from mockserver.core.dialects import EDITIONS
from mockserver.core.messages import short_repr
from mockserver.dialects.documents import conformance_document, openapi_document
from mockserver.server.admin.endpoints import AdminError, AdminRequest, admin_json, endpoint, per_server
from mockserver.server.admin.schemas import CONFORMANCE, DOCUMENT, TEXT, described, one_of, rows, table
from mockserver.server.asgi import WELL
from mockserver.server.urls import ADMIN, HEALTH, live_page_from

_STATE = table(
    {"status": TEXT, "dialects": rows(TEXT)}, {"error": described(TEXT, "why it is not ready, if it is not")}
)
# Installers may have linked each file to where they keep it.
_PAGE = StaticFiles(directory=Path(__file__).parents[2] / "ui", follow_symlink=True)
# The page's files, whatever this machine takes them for: on Windows programs may have registered scripts as plain text.
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
# The page connects to its own server only.
_PAGE_HEADERS = {
    "cache-control": "no-cache",
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}


@endpoint("GET", (HEALTH,), {200: table({"status": TEXT})}, opens=True)
async def health(request: AdminRequest) -> Response:
    """Whether the process answers."""
    return Response(WELL, media_type="application/json")


@endpoint("GET", per_server("/ready"), {200: _STATE, 503: _STATE}, opens=True)
async def ready(request: AdminRequest) -> object:
    """Whether the latest config and stub files are in force and the server accepts connections."""
    dialects = list(request.app_state.dialects)
    fault = request.app_state.config_fault
    if fault is not None:
        return admin_json({"status": "old config", "error": fault, "dialects": dialects}, 503)
    if request.listener is not None and request.listener.state != "open":
        fault = f"the listener does not accept connections: {request.listener.state}"
        return admin_json({"status": "listener", "error": fault, "dialects": dialects}, 503)
    return {"status": "ready", "dialects": dialects}


@endpoint("GET", per_server("/version"), {200: table({"name": TEXT, "version": TEXT})}, opens=True)
async def version(request: AdminRequest) -> object:
    """The version that runs."""
    return {"name": "mockserver", "version": __version__}


@endpoint(
    "GET",
    per_server("/routes"),
    {200: table({"routes": rows(table({"method": TEXT, "path": TEXT, "dialect": TEXT, "operation": TEXT}))})},
)
async def routes(request: AdminRequest) -> object:
    """All routes."""
    listed = [
        {"method": method, "path": path, "dialect": dialect.name, "operation": operation.name}
        for method, path, dialect, operation, _ in request.app_state.setup.routes.table()
    ]
    return {"routes": listed}


@endpoint(
    "GET",
    ("/{dialect}/openapi.json",),
    {200: DOCUMENT},
    query={"edition": described(one_of(EDITIONS), "the server's edition by default")},
    refuses=(400,),
    opens=True,
)
async def dialect(request: AdminRequest) -> Response:
    """The OpenAPI 3.1 document of a dialect."""
    app_state = request.app_state
    # The path is next to the dialect's own routes, and may have a namespace like them.
    usual = app_state.setup_of(request.namespace).settings.edition
    wanted = request.query.get("edition", usual)
    edition = next((edition for edition in EDITIONS if edition == wanted), None)
    if edition is None:
        raise AdminError(f"unknown edition {short_repr(wanted)}. Known: {', '.join(EDITIONS)}")
    document = openapi_document(app_state.dialects[request.variable("dialect")], edition)
    return Response(orjson.dumps(document), media_type="application/json")


@endpoint("GET", ("/{dialect}/conformance.json",), {200: CONFORMANCE}, refuses=(404,), opens=True)
async def claims(request: AdminRequest) -> Response:
    """What a dialect claims of its vendor's wire: each field, error and stream with its source, its date, how well it
    is known and the test that holds it; then what is approximated, absent and guessed."""
    name = request.variable("dialect")
    document = conformance_document(request.app_state.dialects[name])
    if document is None:
        raise AdminError(f"the dialect {name} names no sources: it has no contract/sources.toml", 404)
    return Response(orjson.dumps(document), media_type="application/json")


@endpoint("GET", per_server("/ui"), {307: ""}, opens=True, also=(ADMIN, f"{ADMIN}/"))
async def page(request: AdminRequest) -> Response:
    """A redirect to the live page."""
    # Its files have relative names, so its address ends in a slash.
    return RedirectResponse(live_page_from(request.http.url.path), 307)


@endpoint("GET", (f"{ADMIN}/ui/{{path:path}}",), {200: "text/html"}, refuses=(404,), opens=True)
async def page_file(request: AdminRequest) -> Response:
    """The live page (without a path) and its files."""
    path = request.variable("path") or "index.html"
    content_type = _TYPES.get(Path(path).suffix)
    try:
        file = await _PAGE.get_response(path, request.http.scope)
    except HTTPException:
        content_type = None
    if content_type is None:
        raise AdminError(f"The live page has no file {path!r}; it is at {ADMIN}/ui/", 404)
    file.headers.update(_PAGE_HEADERS | {"content-type": content_type})
    return file


ENDPOINTS = (health, ready, version, routes, dialect, claims)
PAGE = (page, page_file)

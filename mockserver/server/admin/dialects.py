"""The admin API of the dialects: all routes, and each dialect's OpenAPI document."""

import orjson
from starlette.responses import Response

from mockserver.core.calls import Headers
from mockserver.core.dialects import EDITIONS
from mockserver.core.naming import shortened
from mockserver.dialects.openapi import openapi_document
from mockserver.server.addresses import ADMIN
from mockserver.server.admin.answers import admin_error, admin_json
from mockserver.server.admin.endpoints import Endpoint, Query
from mockserver.server.admin.json_schema import TEXT, one_of, rows, table
from mockserver.server.admin.openapi import DOCUMENT
from mockserver.server.admin.requests import AdminRequest, BadRequestError
from mockserver.state.namespaces import BAD_NAME, is_name, namespace_of


async def _routes(request: AdminRequest) -> Response:
    listed = [
        {"method": method, "path": path, "dialect": dialect.name, "operation": operation.name}
        for method, path, dialect, operation in request.simulator.setup.routes.table()
    ]
    return admin_json({"routes": listed})


async def _document(request: AdminRequest) -> Response:
    simulator = request.simulator
    # The path is next to the dialect's own routes, and may have a namespace like them.
    # The path is next to the dialect's own routes, and may have a namespace like them.
    name = request.namespace_name or namespace_of("/", Headers(request.http.headers.raw))[0]
    if not is_name(name):
        raise BadRequestError(BAD_NAME)
    usual = simulator.setup_of(simulator.namespaces.get(name)).settings.edition
    wanted = request.query.get("edition", usual)
    edition = next((edition for edition in EDITIONS if edition == wanted), None)
    if edition is None:
        return admin_error(400, f"unknown edition {shortened(wanted)}. Known: {', '.join(EDITIONS)}")
    document = openapi_document(simulator.dialects[request.variable("dialect")], edition)
    return Response(orjson.dumps(document), media_type="application/json")


DIALECTS = (
    Endpoint(
        "routes",
        "GET",
        (f"{ADMIN}/routes",),
        _routes,
        "All routes",
        {200: table({"routes": rows(table({"method": TEXT, "path": TEXT, "dialect": TEXT, "operation": TEXT}))})},
    ),
    Endpoint(
        "dialect",
        "GET",
        ("/{dialect}/openapi.json",),
        _document,
        "The OpenAPI 3.1 document of a dialect",
        {200: DOCUMENT},
        query=(Query("edition", one_of(EDITIONS), "the server's edition by default"),),
        refuses=(400,),
        opens=True,
    ),
)

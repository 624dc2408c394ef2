"""The admin API of the server itself: whether it is healthy, and its version."""

from starlette.responses import Response

from mockserver.core.version import __version__
from mockserver.server.addresses import ADMIN, HEALTH
from mockserver.server.admin.answers import admin_json
from mockserver.server.admin.endpoints import Endpoint
from mockserver.server.admin.json_schema import TEXT, described, rows, table
from mockserver.server.admin.requests import AdminRequest
from mockserver.server.asgi import WELL

_STATE = table(
    {"status": TEXT, "dialects": rows(TEXT)}, {"error": described(TEXT, "why it is not ready, if it is not")}
)


async def _health(request: AdminRequest) -> Response:
    return Response(WELL, media_type="application/json")


async def _ready(request: AdminRequest) -> Response:
    dialects = list(request.simulator.dialects)
    fault = request.simulator.config_fault
    if fault is not None:
        return admin_json({"status": "old config", "error": fault, "dialects": dialects}, 503)
    if request.door is not None and request.door.state != "open":
        fault = f"the listener does not accept connections: {request.door.state}"
        return admin_json({"status": "listener", "error": fault, "dialects": dialects}, 503)
    return admin_json({"status": "ready", "dialects": dialects})


async def _version(request: AdminRequest) -> Response:
    return admin_json({"name": "mockserver", "version": __version__})


SERVER = (
    Endpoint(
        "health", "GET", (HEALTH,), _health, "Whether the process answers", {200: table({"status": TEXT})}, opens=True
    ),
    Endpoint(
        "ready",
        "GET",
        (f"{ADMIN}/ready",),
        _ready,
        "Whether the latest config and stub files are in force and the server accepts connections",
        {200: _STATE, 503: _STATE},
        opens=True,
    ),
    Endpoint(
        "version",
        "GET",
        (f"{ADMIN}/version",),
        _version,
        "The version that runs",
        {200: table({"name": TEXT, "version": TEXT})},
        opens=True,
    ),
)

"""The admin API of the namespaces: listing them, their clocks, and resetting them."""

from math import inf
from typing import Any

from starlette.responses import Response

from mockserver.core.caches import forget_large
from mockserver.core.naming import unknown
from mockserver.server.addresses import ADMIN
from mockserver.server.admin.answers import admin_json
from mockserver.server.admin.endpoints import Endpoint, per_namespace
from mockserver.server.admin.faults import mend_listener
from mockserver.server.admin.json_schema import NUMBER, TEXT, WHOLE, described, rows, table
from mockserver.server.admin.requests import AdminRequest, BadRequestError
from mockserver.state.namespaces import Namespace

_CLOCK = table(
    {
        "ahead": described(NUMBER, "by how many seconds it was advanced"),
        "now": described(NUMBER, "the present, in seconds"),
    }
)


async def _listed(request: AdminRequest) -> Response:
    return admin_json({"namespaces": [_shown(each) for each in request.simulator.namespaces.all()]})


async def _clock(request: AdminRequest) -> Response:
    return admin_json({"ahead": request.namespace.shift, "now": request.now})


async def _advance(request: AdminRequest) -> Response:
    body = await request.json("The body", '{"advance": 60}')
    for name in body.keys() - {"advance"}:
        raise BadRequestError(unknown("key", name, ("advance",)))
    try:
        return admin_json({"ahead": request.simulator.advance(request.namespace, body.get("advance", inf))})
    except ValueError as error:
        raise BadRequestError(f'{error}; as in {{"advance": 60}}') from None


async def _reset(request: AdminRequest) -> Response:
    held = request.namespace.journal.held
    request.namespace.reset()
    forget_large(held)
    await mend_listener(request)
    return admin_json({"reset": request.namespace_name})


NAMESPACES = (
    Endpoint(
        "namespaces",
        "GET",
        (f"{ADMIN}/namespaces",),
        _listed,
        "The namespaces in use",
        {200: table({"namespaces": rows(table({"name": TEXT, "ahead": NUMBER, "exchanges": WHOLE, "faults": WHOLE}))})},
    ),
    Endpoint("clock", "GET", per_namespace("/clock"), _clock, "The clock of the namespace", {200: _CLOCK}),
    Endpoint(
        "advance",
        "POST",
        per_namespace("/clock"),
        _advance,
        "Advance the clock",
        {200: table({"ahead": NUMBER})},
        takes=table({"advance": described({"type": "number", "minimum": 0}, "seconds")}),
        refuses=(400,),
    ),
    Endpoint(
        "reset",
        "POST",
        per_namespace("/reset"),
        _reset,
        "Remove stubs and armed faults, and clear counters and the journal; settings and clock stay",
        {200: table({"reset": described(TEXT, "the namespace")})},
    ),
)


def _shown(namespace: Namespace) -> dict[str, Any]:
    return {
        "name": namespace.name,
        "ahead": namespace.shift,
        "exchanges": namespace.journal.opened,
        "faults": len(namespace.faults.armed()),
    }

"""The admin API's namespaces: which there are, their clocks, and a clean slate.

GET    /_mockserver/namespaces    the namespaces in use
GET    /_mockserver/clock         how far the namespace's clock is ahead
POST   /_mockserver/clock         {"advance": 60} puts it forward
POST   /_mockserver/reset         forget all that the namespace has armed, counted and recorded
"""

from functools import partial
from math import inf
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from mockserver.control.namespaces import Namespace
from mockserver.core.naming import unknown
from mockserver.serving.addresses import ADMIN
from mockserver.serving.admin.answers import (
    BadRequestError,
    Guard,
    admin_json,
    asked_namespace,
    json_body,
    namespace_name,
    per_namespace,
)
from mockserver.serving.admin.faults import mend_door
from mockserver.serving.simulator import Simulator


def namespace_routes(simulator: Simulator, guarded: Guard) -> list[Route]:
    """The routes around the namespaces."""

    namespace = partial(asked_namespace, simulator)

    async def listed(request: Request) -> Response:
        return admin_json({"namespaces": [_shown(each) for each in simulator.namespaces.all()]})

    async def clock(request: Request) -> Response:
        space = namespace(request)
        return admin_json({"ahead": space.shift, "now": simulator.clock(space).now()})

    async def advance(request: Request) -> Response:
        told = await json_body(request, "The body", '{"advance": 60}')
        for name in told.keys() - {"advance"}:
            raise BadRequestError(unknown("key", name, ("advance",)))
        try:
            return admin_json({"ahead": simulator.advance(namespace(request), told.get("advance", inf))})
        except ValueError as error:
            raise BadRequestError(f'{error}; as in {{"advance": 60}}') from None

    async def reset(request: Request) -> Response:
        namespace(request).reset()
        await mend_door(request)
        return admin_json({"reset": namespace_name(request)})

    return [
        Route(f"{ADMIN}/namespaces", guarded(listed)),
        *per_namespace("GET", "/clock", guarded(clock)),
        *per_namespace("POST", "/clock", guarded(advance)),
        *per_namespace("POST", "/reset", guarded(reset)),
    ]


def _shown(namespace: Namespace) -> dict[str, Any]:
    return {
        "name": namespace.name,
        "ahead": namespace.shift,
        "exchanges": namespace.journal.opened,
        "faults": len(namespace.faults.armed()),
    }

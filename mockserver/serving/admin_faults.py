"""The admin API's faults: list, arm, take back and reset, for the default namespace or a named one.

GET, POST, DELETE  /_mockserver/faults                 /_mockserver/ns/<name>/faults
DELETE             /_mockserver/faults/<rule>          /_mockserver/ns/<name>/faults/<rule>
"""

import time
from collections.abc import Callable, Mapping
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from mockserver.control.faults import Count, FaultDesk
from mockserver.faults.notation import FaultError, read_fault
from mockserver.faults.rules import Fault
from mockserver.serving.answers import Endpoint, admin_error, admin_json

_EXAMPLE = 'A fault is a JSON object such as {"kind": "cut", "after_event": 5}'


def fault_routes(desk: FaultDesk, guarded: Callable[[Endpoint], Endpoint]) -> list[Route]:
    """The routes around a desk."""

    async def listed(request: Request) -> Response:
        return admin_json({"faults": [_shown(*row) for row in desk.armed(_namespace(request))]})

    async def arm(request: Request) -> Response:
        try:
            name, fault = _named(orjson.loads(await request.body()))
        except (orjson.JSONDecodeError, FaultError) as error:
            return admin_error(400, f"{_EXAMPLE}: {error}")
        desk.arm(_namespace(request), name, fault, time.monotonic())
        return admin_json({"armed": name}, 201)

    async def reset(request: Request) -> Response:
        desk.reset(_namespace(request))
        return admin_json({"faults": []})

    async def disarm(request: Request) -> Response:
        name = request.path_params["rule"]
        if desk.disarm(_namespace(request), name):
            return admin_json({"disarmed": name})
        known = ", ".join(name for name, _, _ in desk.armed(_namespace(request))) or "none"
        return admin_error(404, f"No fault {name!r} is armed here. Armed: {known}")

    return [
        route
        for prefix in ("/_mockserver", "/_mockserver/ns/{namespace}")
        for route in (
            Route(f"{prefix}/faults", guarded(listed), methods=["GET"]),
            Route(f"{prefix}/faults", guarded(arm), methods=["POST"]),
            Route(f"{prefix}/faults", guarded(reset), methods=["DELETE"]),
            Route(f"{prefix}/faults/{{rule:path}}", guarded(disarm), methods=["DELETE"]),
        )
    ]


def _namespace(request: Request) -> str:
    return str(request.path_params.get("namespace", ""))


def _named(table: Any) -> tuple[str, Fault]:
    """The fault of a JSON object, and its name: the one that it gives, else its kind."""
    if not isinstance(table, dict):
        raise FaultError("it is no object")
    rest = {key: value for key, value in table.items() if key != "name"}
    fault = read_fault(rest)
    return str(table.get("name", fault.kind)), fault


def _shown(name: str, fault: Fault, count: Count) -> Mapping[str, object]:
    return {
        "name": name,
        "kind": fault.kind,
        "settings": fault.settings,
        "place": fault.place,
        "chance": fault.chance,
        "match": fault.match,
        "matched": count.matched,
        "struck": count.struck,
    }

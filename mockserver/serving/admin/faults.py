"""The admin API's faults: list, arm, take back and reset, for the default namespace or a named one.

GET, POST, DELETE  /_mockserver/faults                 /_mockserver/ns/<name>/faults
DELETE             /_mockserver/faults/<rule>          /_mockserver/ns/<name>/faults/<rule>
"""

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from mockserver.control.faults import FaultDesk
from mockserver.control.options import check_matches
from mockserver.control.routing import operations_of
from mockserver.control.settings import ConfigError
from mockserver.control.strikes import Count
from mockserver.core.criteria import in_words
from mockserver.faults.catalogue import FAULTS
from mockserver.faults.notation import FaultError, read_table
from mockserver.faults.rules import Fault
from mockserver.serving.admin.answers import (
    BadRequestError,
    Guard,
    admin_error,
    admin_json,
    asked_namespace,
    json_body,
    namespace_name,
    per_namespace,
)
from mockserver.serving.door import Door
from mockserver.serving.simulator import Simulator
from mockserver.serving.wire import DOOR

_EXAMPLE = '{"kind": "cut", "after_event": 5}'


def fault_routes(simulator: Simulator, guarded: Guard) -> list[Route]:
    """The routes around the desks of the namespaces."""
    operations = operations_of(simulator.dialects)

    def desk(request: Request) -> FaultDesk:
        return asked_namespace(simulator, request).faults

    async def listed(request: Request) -> Response:
        return admin_json({"faults": [_shown(*row) for row in desk(request).armed()]})

    async def arm(request: Request) -> Response:
        name, faults = _named(await json_body(request, "A fault", _EXAMPLE))
        try:
            check_matches(faults, operations)
        except ConfigError as error:
            raise BadRequestError(str(error)) from None
        now = simulator.clock(asked_namespace(simulator, request)).now()
        for number, fault in enumerate(faults):
            if FAULTS[fault.kind].listens:
                _door(request).fail_as(fault)
            else:
                own = name if len(faults) == 1 else f"{name} {number + 1}"
                desk(request).arm(own, fault, now, scenario=name)
        return admin_json({"armed": name}, 201)

    async def reset(request: Request) -> Response:
        desk(request).reset()
        await mend_door(request)
        return admin_json({"faults": []})

    async def disarm(request: Request) -> Response:
        name = request.path_params["rule"]
        if desk(request).disarm(name):
            return admin_json({"disarmed": name})
        known = ", ".join(name for name, _, _ in desk(request).armed()) or "none"
        return admin_error(404, f"No fault {name!r} is armed here. Armed: {known}")

    return [
        *per_namespace("GET", "/faults", guarded(listed)),
        *per_namespace("POST", "/faults", guarded(arm)),
        *per_namespace("DELETE", "/faults", guarded(reset)),
        *per_namespace("DELETE", "/faults/{rule:path}", guarded(disarm)),
    ]


async def mend_door(request: Request) -> None:
    """End the failures of the listener, where a request speaks for everybody and there is a listener."""
    door = _door_of(request)
    if door is not None and not namespace_name(request):
        await door.mend()


def _door_of(request: Request) -> Door | None:
    door = request.scope.get("extensions", {}).get(DOOR)
    return door if isinstance(door, Door) else None


def _door(request: Request) -> Door:
    """The listener behind a request. BadRequestError where there is none, or where it is not the namespace's own."""
    if namespace_name(request):
        raise BadRequestError("A fault of the listener strikes everybody: arm it without a namespace")
    door = _door_of(request)
    if door is None:
        raise BadRequestError("A fault of the listener needs a socket, and here is none")
    return door


def _named(table: Mapping[str, Any]) -> tuple[str, tuple[Fault, ...]]:
    """The faults of a JSON object (a scenario has several), and their name: the one that it gives, else its kind."""
    try:
        faults = read_table({key: value for key, value in table.items() if key != "name"})
    except FaultError as error:
        raise BadRequestError(f"A fault is a JSON object such as {_EXAMPLE}: {error}") from None
    return str(table.get("name") or table.get("scenario") or table["kind"]), faults


def _shown(name: str, fault: Fault, count: Count) -> Mapping[str, object]:
    return {
        "name": name,
        "kind": fault.kind,
        "settings": fault.settings,
        "place": fault.place,
        "chance": fault.chance,
        "match": in_words(fault.match),
        "matched": count.matched,
        "struck": count.struck,
        "undecided": count.undecided,
    }

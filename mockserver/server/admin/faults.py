"""The admin API of the faults: list, arm, disarm."""

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from mockserver.core.criteria import in_words
from mockserver.core.naming import shortened
from mockserver.faults.catalogue import FAULTS as KINDS
from mockserver.faults.notation import FaultError, read_table
from mockserver.faults.rules import Fault
from mockserver.server.admin.answers import admin_error, admin_json
from mockserver.server.admin.endpoints import Endpoint, per_namespace
from mockserver.server.admin.json_schema import TEXT, reference, rows, table
from mockserver.server.admin.requests import AdminRequest, BadRequestError
from mockserver.server.sockets.door import Door
from mockserver.state.configuration.names import check_matches
from mockserver.state.settings import ConfigError
from mockserver.state.strikes import Count

_EXAMPLE = '{"kind": "cut", "after_event": 5}'


async def mend_listener(request: AdminRequest) -> None:
    """End the listener's failures if the request is for the whole server and there is a listener."""
    if request.door is not None and not request.namespace_name:
        await request.door.mend()


async def _listed(request: AdminRequest) -> Response:
    return admin_json({"faults": [_shown(*row) for row in request.namespace.faults.armed()]})


async def _arm(request: AdminRequest) -> Response:
    name, faults = _named(await request.json("A fault", _EXAMPLE))
    try:
        check_matches(faults, request.simulator.operations)
    except ConfigError as error:
        raise BadRequestError(str(error)) from None
    rules, now = request.namespace.faults, request.now
    for number, fault in enumerate(faults):
        if KINDS[fault.kind].listens:
            _listener(request).fail_as(fault)
        else:
            own = name if len(faults) == 1 else f"{name} {number + 1}"
            rules.arm(own, fault, now, scenario=name)
    return admin_json({"armed": name}, 201)


async def _disarm_all(request: AdminRequest) -> Response:
    request.namespace.faults.reset()
    await mend_listener(request)
    return admin_json({"faults": []})


async def _disarm(request: AdminRequest) -> Response:
    rules, name = request.namespace.faults, request.variable("rule")
    if rules.disarm(name):
        return admin_json({"disarmed": name})
    known = ", ".join(name for name, _, _ in rules.armed()) or "none"
    return admin_error(404, f"No fault {shortened(name)} is armed here. Armed: {known}")


FAULTS = (
    Endpoint(
        "faults",
        "GET",
        per_namespace("/faults"),
        _listed,
        "The armed faults, and how often they have struck",
        {200: table({"faults": rows(reference("ArmedFault"))})},
    ),
    Endpoint(
        "arm",
        "POST",
        per_namespace("/faults"),
        _arm,
        "Arm a fault or a scenario",
        {201: table({"armed": TEXT})},
        takes=reference("Fault"),
        refuses=(400,),
    ),
    Endpoint(
        "disarmAll",
        "DELETE",
        per_namespace("/faults"),
        _disarm_all,
        "Remove all armed faults, and make the listener work again",
        {200: table({"faults": rows({})})},
    ),
    Endpoint(
        "disarm",
        "DELETE",
        per_namespace("/faults/{rule:path}"),
        _disarm,
        "Remove one fault or scenario",
        {200: table({"disarmed": TEXT})},
        refuses=(404,),
    ),
)


def _listener(request: AdminRequest) -> Door:
    """The listener of a request. Raises BadRequestError if there is none, or if the request is for one namespace."""
    if request.namespace_name:
        raise BadRequestError("A fault of the listener affects all namespaces; arm it without a namespace")
    if request.door is None:
        raise BadRequestError("A fault of the listener needs a socket, which a server in process does not have")
    return request.door


def _named(table: Mapping[str, Any]) -> tuple[str, tuple[Fault, ...]]:
    """The name and the faults of a JSON object (a scenario has several); by default the kind is the name."""
    try:
        faults = read_table({key: value for key, value in table.items() if key != "name"})
    except FaultError as error:
        raise BadRequestError(f"{error}. An example: {_EXAMPLE}") from None
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

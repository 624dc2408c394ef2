"""The admin API of the settings: those in force, those that can change at run time, and those of a namespace."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, fields, replace
from typing import Any

from starlette.responses import Response

from mockserver.core.naming import unknown
from mockserver.faults.notation import fault_in_words
from mockserver.server.addresses import ADMIN
from mockserver.server.admin.answers import admin_json
from mockserver.server.admin.endpoints import Endpoint, Query, per_namespace
from mockserver.server.admin.json_schema import TEXT, reference, rows, table
from mockserver.server.admin.requests import AdminRequest, BadRequestError
from mockserver.state.configuration.namespace_settings import read_namespace_settings
from mockserver.state.configuration.options import LIVE, from_texts
from mockserver.state.quotas.rules import quota_in_words
from mockserver.state.settings import ConfigError

_NOT_LIVE = (
    "The others are fixed when the server starts; fault, auth and unmatched can be set for one namespace by "
    f"PUT {ADMIN}/ns/<name>/settings"
)
# Settings that are shown as text.
_WORDS: Mapping[str, Callable[[Any], str]] = {"fault": fault_in_words, "quota": quota_in_words}


async def _in_force(request: AdminRequest) -> Response:
    settings = request.simulator.setup.settings
    shown: dict[str, Any] = {item.name: _shown(item.name, getattr(settings, item.name)) for item in fields(settings)}
    shown["admin_token"] = "set" if settings.admin_token else None
    shown["routes"] = [
        asdict(replace(route, faults=())) | {"faults": _shown("fault", route.faults)} for route in settings.routes
    ]
    shown["stub"] = [stub.name for stub in settings.stub]
    shown["traces"] = sorted({recording.file for recording in settings.traces.known})
    return admin_json({**shown, "pinned": sorted(settings.pinned)})


async def _change(request: AdminRequest) -> Response:
    changes = await request.json("The body", '{"seed": 7, "latency": "slow"}')
    for name in changes:
        if name not in LIVE:
            raise BadRequestError(f"settings: {unknown('setting', name, LIVE)}. {_NOT_LIVE}")
    settings = request.simulator.setup.settings
    try:
        request.simulator.adopt(replace(settings, **from_texts(changes, "settings:", settings.traces)))
    except ConfigError as error:
        raise BadRequestError(str(error)) from None
    return admin_json({"changed": list(changes)})


async def _own(request: AdminRequest) -> Response:
    return admin_json({name: _shown(name, value) for name, value in request.namespace.own.items()})


async def _settle(request: AdminRequest) -> Response:
    wanted = await request.json("The settings", '{"seed": 7, "latency": "off"}')
    simulator, space = request.simulator, request.namespace
    kept = space.own if request.is_set("merge") else {}
    try:
        space.own = {**kept, **read_namespace_settings(wanted, simulator.dialects, simulator.setup.settings.traces)}
    except ConfigError as error:
        raise BadRequestError(str(error)) from None
    return await _own(request)


SETTINGS = (
    Endpoint(
        "settings",
        "GET",
        (f"{ADMIN}/settings",),
        _in_force,
        "The settings in force, without secrets",
        {200: reference("Settings")},
    ),
    Endpoint(
        "ownSettings",
        "GET",
        (f"{ADMIN}/ns/{{namespace}}/settings",),
        _own,
        "The namespace's own settings",
        {200: reference("OwnSettings")},
    ),
    Endpoint(
        "changeSettings",
        "PATCH",
        (f"{ADMIN}/settings",),
        _change,
        "Change settings for all further requests",
        {200: table({"changed": rows(TEXT)})},
        takes=reference("Changes"),
        refuses=(400,),
    ),
    Endpoint(
        "settle",
        "PUT",
        per_namespace("/settings"),
        _settle,
        "Set the namespace's own settings, replacing those that it has",
        {200: reference("OwnSettings")},
        query=(Query("merge", TEXT, "`1`: keep those that are not named"),),
        takes=reference("OwnSettings"),
        refuses=(400,),
    ),
)


def _shown(name: str, value: Any) -> Any:
    """A setting as JSON."""
    if name == "auth" and isinstance(value, tuple):
        return f"{len(value)} keys"
    return [_WORDS[name](each) for each in value] if name in _WORDS else value

"""The admin API of the settings: those in force, those of a namespace, and what is left of the quotas."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, fields, replace
from typing import Any

from mockserver.core.messages import unknown_name
from mockserver.faults.parse_faults import fault_in_words
from mockserver.server.admin.endpoint import (
    AdminError,
    AdminRequest,
    QueryParameter,
    endpoint,
    per_namespace,
    per_server,
)
from mockserver.server.admin.schemas import ANY, NUMBER, TEXT, WHOLE, Schema, described, reference, rows, table
from mockserver.server.urls import ADMIN
from mockserver.state.quotas import quota_in_words
from mockserver.state.settings import ConfigError, Settings
from mockserver.state.settings.checks import read_namespace_settings
from mockserver.state.settings.options import LIVE, OPTIONS, OWN, from_texts


def _settings(names: Iterable[str]) -> Schema:
    """Settings by name, as strings or other values that their options accept."""
    helps = {option.name: option.help for option in OPTIONS}
    properties = {name: {"description": helps.get(name, "")} for name in names}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _shown_settings() -> Schema:
    """All settings in force, without secrets."""
    helps = {option.name: option.help for option in OPTIONS}
    helps["traces"] = "the recordings that latencies may use"
    shown = {item.name: ({"description": helps[item.name]} if item.name in helps else ANY) for item in fields(Settings)}
    return table(shown)


_LIMIT = table(
    {
        "dialect": TEXT,
        "key": TEXT,
        "model": TEXT,
        "limit": described(TEXT, "such as `tokens per minute`"),
        "amount": WHOLE,
        "remaining": WHOLE,
        "reset": described(NUMBER, "seconds until it is full again"),
    }
)
SCHEMAS: Mapping[str, Schema] = {
    "Settings": _shown_settings(),
    "Changes": _settings(LIVE),
    "OwnSettings": _settings(OWN),
    "Quotas": table({"limits": rows(_LIMIT), "running": rows(table({"dialect": TEXT, "key": TEXT, "running": WHOLE}))}),
}


_NOT_LIVE = (
    "The others are fixed when the server starts; fault, auth and unmatched can be set for one namespace by "
    f"PUT {ADMIN}/ns/<name>/settings"
)
# Settings that are shown as text.
_WORDS: Mapping[str, Callable[[Any], str]] = {"fault": fault_in_words, "quota": quota_in_words}


@endpoint("GET", per_server("/settings"), {200: reference("Settings")})
async def settings(request: AdminRequest) -> object:
    """The settings in force, without secrets."""
    settings = request.app_state.setup.settings
    shown: dict[str, Any] = {item.name: _shown(item.name, getattr(settings, item.name)) for item in fields(settings)}
    shown["admin_token"] = "set" if settings.admin_token else None
    shown["routes"] = [
        asdict(replace(route, faults=())) | {"faults": _shown("fault", route.faults)} for route in settings.routes
    ]
    shown["stub"] = [stub.name for stub in settings.stub]
    shown["traces"] = sorted({recording.file for recording in settings.traces.known})
    return {**shown, "pinned": sorted(settings.pinned)}


@endpoint(
    "PATCH", per_server("/settings"), {200: table({"changed": rows(TEXT)})}, takes=reference("Changes"), refuses=(400,)
)
async def change_settings(request: AdminRequest) -> object:
    """Change settings for all further requests."""
    changes = await request.json("The body", '{"seed": 7, "latency": "slow"}')
    for name in changes:
        if name not in LIVE:
            raise AdminError(f"settings: {unknown_name('setting', name, LIVE)}. {_NOT_LIVE}")
    settings = request.app_state.setup.settings
    try:
        request.app_state.adopt(replace(settings, **from_texts(changes, "settings:", settings.traces)))
    except ConfigError as error:
        raise AdminError(str(error)) from None
    return {"changed": list(changes)}


@endpoint("GET", (f"{ADMIN}/ns/{{namespace}}/settings",), {200: reference("OwnSettings")})
async def own_settings(request: AdminRequest) -> object:
    """The namespace's own settings."""
    return {name: _shown(name, value) for name, value in request.namespace.own.items()}


@endpoint(
    "PUT",
    per_namespace("/settings"),
    {200: reference("OwnSettings")},
    query=(QueryParameter("merge", TEXT, "`1`: keep those that are not named"),),
    takes=reference("OwnSettings"),
    refuses=(400,),
)
async def settle(request: AdminRequest) -> object:
    """Set the namespace's own settings, replacing those that it has."""
    wanted = await request.json("The settings", '{"seed": 7, "latency": "off"}')
    app_state, space = request.app_state, request.namespace
    kept = space.own if request.is_set("merge") else {}
    try:
        space.own = {**kept, **read_namespace_settings(wanted, app_state.dialects, app_state.setup.settings.traces)}
    except ConfigError as error:
        raise AdminError(str(error)) from None
    return await own_settings.handle(request)


def _shown(name: str, value: Any) -> Any:
    """A setting as JSON."""
    if name == "auth" and isinstance(value, tuple):
        return f"{len(value)} keys"
    return [_WORDS[name](each) for each in value] if name in _WORDS else value


@endpoint("GET", per_namespace("/quotas"), {200: reference("Quotas")})
async def quotas(request: AdminRequest) -> object:
    """How much of the quotas is used, and what is running."""
    return request.namespace.quotas.describe(request.now)


ENDPOINTS = (settings, own_settings, change_settings, settle, quotas)

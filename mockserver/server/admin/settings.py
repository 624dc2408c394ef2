"""The admin API of the settings: those in force, those of a namespace, what is left of the quotas; and the catalogue
of what settings and requests can name, with pictures of latencies."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, fields, replace
from itertools import pairwise
from typing import Any

from mockserver.core.dialects import EDITIONS, Dialect
from mockserver.core.failures import FailureKind
from mockserver.core.messages import unknown_name
from mockserver.core.seeding import derive
from mockserver.faults.catalogue import FAULTS, FaultKind
from mockserver.faults.parse_faults import SCENARIOS, fault_in_words
from mockserver.faults.rules import PLACE_KEYS
from mockserver.latency.parse_latency import NotationError, read_profile
from mockserver.latency.profiles import OFF, presets
from mockserver.latency.timing import draw_timing
from mockserver.server.admin.endpoints import AdminError, AdminRequest, endpoint, per_namespace, per_server
from mockserver.server.admin.schemas import (
    ANY,
    FLAG,
    NUMBER,
    TEXT,
    WHOLE,
    Schema,
    by_name,
    closed,
    described,
    either,
    maybe,
    one_of,
    reference,
    rows,
    table,
)
from mockserver.server.urls import ADMIN
from mockserver.state.namespaces import Namespace
from mockserver.state.quotas import quota_in_words
from mockserver.state.settings import Settings
from mockserver.state.settings.checks import read_namespace_settings
from mockserver.state.settings.options import LIVE, OPTIONS, OWN, from_names

_HELPS = {option.name: option.help for option in OPTIONS} | {"traces": "the recordings that latencies may use"}


def _settings(names: Iterable[str]) -> Mapping[str, Schema]:
    """Settings by name, as strings or other values that their options accept."""
    return {name: {"description": _HELPS[name]} if name in _HELPS else ANY for name in names}


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
_OPERATION = table(
    {
        "name": TEXT,
        "method": TEXT,
        "paths": rows(TEXT),
        "summary": TEXT,
        "generates": FLAG,
        "streams": FLAG,
        "edition": maybe(one_of(EDITIONS)),
    }
)
_CLIENTS = table(
    {
        "native": described(TEXT, "what the base URL of the vendor's own client has after the dialect's URL"),
        "openai": described(TEXT, "the same for the openai client"),
        "urls": described(rows(TEXT), "environment variables of the vendor's base URL"),
        "keys": described(rows(TEXT), "environment variables of the API key"),
        "more": by_name(TEXT, "further variables that only need to be set"),
        "roots": described(rows(TEXT), "variables of base URLs to which clients add the dialect's name themselves"),
        "bases": by_name(TEXT, "variables of frameworks' base URLs, with what these have after the dialect's URL"),
    }
)
_DIALECT = table(
    {
        "name": TEXT,
        "title": TEXT,
        "realistic": described(TEXT, "its latency preset"),
        "keyed": described(FLAG, "whether it needs an API key"),
        "needs": by_name(TEXT, "other headers that it needs, each with a value"),
        "models": rows(TEXT),
        "operations": rows(_OPERATION),
        "clients": _CLIENTS,
    }
)
_NAMED = table({"name": TEXT, "summary": TEXT})
_PRESET = table({"name": TEXT, "summary": TEXT, "latency": described(TEXT, "the same as settings")})
_KIND_SETTING = table({"name": TEXT, "type": TEXT, "default": ANY, "summary": TEXT, "choices": rows(TEXT)})
_KIND = table(
    {
        "kind": TEXT,
        "summary": TEXT,
        "settings": rows(_KIND_SETTING),
        "places": rows(one_of(PLACE_KEYS)),
        "streams": described(FLAG, "whether it is only for streams"),
        "listens": described(FLAG, "whether it is the listener that fails"),
        "model": described(FLAG, "whether it changes what a model says"),
    }
)
SCHEMAS: Mapping[str, Schema] = {
    "Settings": table(
        {
            **_settings(item.name for item in fields(Settings)),
            "own": described(reference("OwnSettings"), "of the default namespace alone; they take precedence"),
        }
    ),
    "Changes": closed(_settings(LIVE)),
    "OwnSettings": closed(_settings(OWN)),
    "Quotas": table({"limits": rows(_LIMIT), "running": rows(table({"dialect": TEXT, "key": TEXT, "running": WHOLE}))}),
    "Catalogue": table(
        {
            "dialects": rows(_DIALECT),
            "editions": rows(one_of(EDITIONS)),
            "faults": rows(_KIND),
            "scenarios": rows(_NAMED),
            "failures": rows(one_of(FailureKind)),
            "presets": rows(_PRESET),
        }
    ),
}


_FOR_ONE = f"Those of one namespace are set by PUT {ADMIN}/ns/<name>/settings?merge=1"
_NOT_LIVE = f"The others are fixed when the server starts. {_FOR_ONE}; they are {', '.join(OWN)}"
# Settings that are shown as text.
_WORDS: Mapping[str, Callable[[Any], str]] = {"fault": fault_in_words, "quota": quota_in_words}


@endpoint("GET", per_namespace("/settings"), {200: either(reference("Settings"), reference("OwnSettings"))})
async def settings(request: AdminRequest) -> object:
    """The server's settings, without secrets; with a namespace's name that namespace's own."""
    if request.namespace_name:
        return _own(request.namespace)
    settings = request.app_state.setup.settings
    shown: dict[str, Any] = {item.name: _shown(item.name, getattr(settings, item.name)) for item in fields(settings)}
    shown["admin_token"] = "set" if settings.admin_token else None
    shown["routes"] = [
        asdict(replace(route, faults=())) | {"faults": _shown("fault", route.faults)} for route in settings.routes
    ]
    shown["stub"] = [stub.name for stub in settings.stub]
    shown["traces"] = sorted({recording.file for recording in settings.traces.known})
    return {**shown, "pinned": sorted(settings.pinned), "own": _own(request.namespace)}


@endpoint("PATCH", per_server("/settings"), {200: table({"changed": rows(TEXT)})}, takes=reference("Changes"))
async def change_settings(request: AdminRequest) -> object:
    """Change the server's settings for all further requests."""
    if request.namespace_name:
        raise AdminError(f"PATCH changes the settings of the whole server. {_FOR_ONE}")
    changes = await request.json("The body", '{"seed": 7, "latency": "slow"}')
    for name in changes:
        if name not in LIVE:
            raise AdminError(f"settings: {unknown_name('setting', name, LIVE)}. {_NOT_LIVE}")
    settings = request.app_state.setup.settings
    request.app_state.replace_settings(replace(settings, **from_names(changes, "settings:", settings.traces)))
    return {"changed": list(changes)}


@endpoint(
    "PUT",
    per_namespace("/settings"),
    {200: reference("OwnSettings")},
    query={"merge": described(TEXT, "`1`: keep those that are not named")},
    takes=reference("OwnSettings"),
)
async def settle(request: AdminRequest) -> object:
    """Set the namespace's own settings, replacing those that it has."""
    wanted = await request.json("The settings", '{"seed": 7, "latency": "off"}')
    app_state, space = request.app_state, request.namespace
    kept = space.own if request.is_set("merge") else {}
    space.own = {**kept, **read_namespace_settings(wanted, app_state.dialects, app_state.setup.settings.traces)}
    return _own(space)


def _own(space: Namespace) -> dict[str, Any]:
    return {name: _shown(name, value) for name, value in space.own.items()}


def _shown(name: str, value: Any) -> Any:
    if name == "auth" and isinstance(value, tuple):
        return f"{len(value)} keys"
    return [_WORDS[name](each) for each in value] if name in _WORDS else value


@endpoint("GET", per_namespace("/quotas"), {200: reference("Quotas")})
async def quotas(request: AdminRequest) -> object:
    """How much of the quotas is used, and what is running."""
    return request.namespace.quotas.describe(request.now)


# A picture is made of so many generations, each of so many tokens, with a prompt of so many tokens.
_SAMPLES, _TOKENS, _PROMPT = 200, 48, 24
_QUANTILES = 100


@endpoint("GET", per_server("/catalogue"), {200: reference("Catalogue")})
async def catalogue(request: AdminRequest) -> object:
    """Dialects with operations and models, kinds of faults, scenarios, failures, presets."""
    return {
        "dialects": [_dialect(each) for each in request.app_state.dialects.values()],
        "editions": EDITIONS,
        "faults": [_kind(name, kind) for name, kind in FAULTS.items()],
        "scenarios": [{"name": name, "summary": each.summary} for name, each in SCENARIOS.items()],
        "failures": list(FailureKind),
        "presets": [{"name": name, **each._asdict()} for name, each in presets().items()],
    }


@endpoint(
    "GET",
    per_server("/latency"),
    {200: table({"of": TEXT, "ttft": rows(NUMBER), "gaps": rows(NUMBER)})},
    query={
        "of": described(TEXT, "a latency; the one in force by default"),
        "dialect": described(TEXT, "the dialect that `realistic` refers to; the first by default"),
    },
    refuses=(400,),
)
async def latency(request: AdminRequest) -> object:
    """Times to the first token and gaps between tokens of a latency at speed 1, as a hundred quantiles in seconds."""
    settings, dialects = request.app_state.setup.settings, request.app_state.dialects
    name = request.query.get("dialect", next(iter(dialects)))
    if name not in dialects:
        raise AdminError(f"dialect: {unknown_name('dialect', name, dialects)}")
    text = request.query.get("of", settings.latency)
    try:
        profile = None if text == OFF else read_profile(text, dialects[name].realistic, settings.traces)
    except NotationError as error:
        raise AdminError(f"of: {error}") from None
    paces = [draw_timing(profile, _TOKENS, _PROMPT, derive(0, "picture", number)) for number in range(_SAMPLES)]
    schedules = [each.schedule or (0.0,) * _TOKENS for each in paces]
    gaps = [later - earlier for each in schedules for earlier, later in pairwise(each)]
    return {"of": text, "ttft": _quantiles([each[0] for each in schedules]), "gaps": _quantiles(gaps)}


def _dialect(dialect: Dialect) -> dict[str, Any]:
    return {
        "name": dialect.name,
        "title": dialect.title,
        "realistic": dialect.realistic,
        "keyed": dialect.credentials is not None,
        "needs": dict(dialect.needs),
        "models": [model.id for model in dialect.models],
        "operations": [
            {
                "name": operation.name,
                "method": operation.method,
                "paths": [f"/{dialect.name}{path}" for path in operation.paths],
                "summary": operation.summary,
                "generates": operation.handler is None and operation.generates,
                "streams": operation.schemas.chunk is not None,
                "edition": operation.edition,
            }
            for operation in dialect.operations
        ],
        "clients": dialect.clients._asdict()
        | {"more": dict(dialect.clients.more), "bases": dict(dialect.clients.bases)},
    }


_TYPES = {str: "text", int: "whole number", float: "number"}


def _kind(name: str, kind: FaultKind) -> dict[str, Any]:
    return {
        "kind": name,
        "summary": kind.summary,
        "settings": [
            {"name": key, "type": _TYPES[it.type], "default": it.default, "summary": it.summary, "choices": it.choices}
            for key, it in kind.settings.items()
        ],
        "places": kind.places,
        "streams": kind.streams,
        "listens": kind.listens,
        "model": kind.says is not None,
    }


def _quantiles(values: list[float]) -> list[float]:
    ordered = sorted(values)
    return [ordered[(2 * number + 1) * len(ordered) // (2 * _QUANTILES)] for number in range(_QUANTILES)]


# What can be named is the same in every process.
CATALOGUE = (catalogue, latency)
ENDPOINTS = (settings, change_settings, settle, quotas, *CATALOGUE)

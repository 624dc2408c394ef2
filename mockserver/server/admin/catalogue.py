"""The admin API of what requests and settings can name: the catalogue, and pictures of latencies."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from mockserver.core.dialects import EDITIONS, Dialect
from mockserver.core.failures import FailureKind
from mockserver.core.messages import unknown_name
from mockserver.core.seeding import derive
from mockserver.faults.catalogue import FAULTS, FaultKind
from mockserver.faults.parse_faults import SCENARIOS
from mockserver.faults.rules import PLACE_KEYS
from mockserver.latency.parse_latency import NotationError, read_profile
from mockserver.latency.profiles import OFF, presets
from mockserver.latency.timing import draw_timing
from mockserver.server.admin.endpoint import (
    AdminError,
    AdminRequest,
    QueryParameter,
    endpoint,
    per_server,
)
from mockserver.server.admin.schemas import (
    ANY,
    FLAG,
    NUMBER,
    TEXT,
    Schema,
    by_name,
    described,
    maybe,
    one_of,
    reference,
    rows,
    table,
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
        "streams": described(FLAG, "whether it strikes only streams"),
        "listens": described(FLAG, "whether it is the listener that fails"),
        "model": described(FLAG, "whether it changes what a model says"),
    }
)
SCHEMAS: Mapping[str, Schema] = {
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
    query=(
        QueryParameter("of", TEXT, "a latency; the one in force by default"),
        QueryParameter("dialect", TEXT, "the dialect that `realistic` refers to; the first by default"),
    ),
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


def _kind(name: str, kind: FaultKind) -> dict[str, Any]:
    return {
        "kind": name,
        "summary": kind.summary,
        "settings": [
            {
                "name": key,
                "type": setting.type,
                "default": setting.default,
                "summary": setting.summary,
                "choices": setting.choices,
            }
            for key, setting in kind.settings.items()
        ],
        "places": kind.places,
        "streams": kind.streams,
        "listens": kind.listens,
        "model": kind.says is not None,
    }


def _quantiles(values: list[float]) -> list[float]:
    """A hundred evenly spaced quantiles."""
    ordered = sorted(values)
    return [ordered[(2 * number + 1) * len(ordered) // (2 * _QUANTILES)] for number in range(_QUANTILES)]


ENDPOINTS = (catalogue, latency)

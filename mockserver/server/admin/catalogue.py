"""The admin API of what requests and settings can name: the catalogue, and pictures of latencies."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from starlette.responses import Response

from mockserver.core.dialects import EDITIONS, Dialect
from mockserver.core.failures import FailureKind
from mockserver.core.naming import unknown
from mockserver.core.seeding import derive
from mockserver.faults.catalogue import FAULTS, Kind
from mockserver.faults.scenarios import SCENARIOS
from mockserver.faults.values import Setting
from mockserver.latency.notation import NotationError, read_profile
from mockserver.latency.pace import pace
from mockserver.latency.presets import OFF, presets
from mockserver.latency.profiles import Profile
from mockserver.latency.traces import Traces
from mockserver.server.addresses import ADMIN
from mockserver.server.admin.answers import admin_json
from mockserver.server.admin.endpoints import Endpoint, Query
from mockserver.server.admin.json_schema import NUMBER, TEXT, reference, rows, table
from mockserver.server.admin.requests import AdminRequest, BadRequestError

# A picture is made of so many generations, each of so many tokens, with a prompt of so many tokens.
_SAMPLES, _TOKENS, _PROMPT = 200, 48, 24
_QUANTILES = 100


async def _catalogue(request: AdminRequest) -> Response:
    return admin_json(
        {
            "dialects": [_dialect(each) for each in request.simulator.dialects.values()],
            "editions": EDITIONS,
            "faults": [_kind(name, kind) for name, kind in FAULTS.items()],
            "scenarios": [{"name": name, "summary": each.summary} for name, each in SCENARIOS.items()],
            "failures": list(FailureKind),
            "presets": [{"name": name, **each._asdict()} for name, each in presets().items()],
        }
    )


async def _latency(request: AdminRequest) -> Response:
    settings, dialects = request.simulator.setup.settings, request.simulator.dialects
    name = request.query.get("dialect", next(iter(dialects)))
    if name not in dialects:
        raise BadRequestError(f"dialect: {unknown('dialect', name, dialects)}")
    try:
        return admin_json(_picture(request.query.get("of", settings.latency), dialects[name], settings.traces))
    except NotationError as error:
        raise BadRequestError(f"of: {error}") from None


CATALOGUE = (
    Endpoint(
        "catalogue",
        "GET",
        (f"{ADMIN}/catalogue",),
        _catalogue,
        "Dialects with operations and models, kinds of faults, scenarios, failures, presets",
        {200: reference("Catalogue")},
    ),
    Endpoint(
        "latency",
        "GET",
        (f"{ADMIN}/latency",),
        _latency,
        "Times to the first token and gaps between tokens of a latency at speed 1, as a hundred quantiles in seconds",
        {200: table({"of": TEXT, "ttft": rows(NUMBER), "gaps": rows(NUMBER)})},
        query=(
            Query("of", TEXT, "a latency; the one in force by default"),
            Query("dialect", TEXT, "the dialect that `realistic` refers to; the first by default"),
        ),
        refuses=(400,),
    ),
)


def _dialect(dialect: Dialect) -> dict[str, Any]:
    return {
        "name": dialect.name,
        "title": dialect.title,
        "realistic": dialect.realistic,
        "keyed": dialect.credentials is not None,
        "models": [model.id for model in dialect.models],
        "operations": [
            {
                "name": operation.name,
                "method": operation.method,
                "paths": [f"/{dialect.name}{path}" for path in operation.paths],
                "summary": operation.summary,
                "generates": operation.answer is None and operation.speaks,
                "streams": operation.schemas.chunk is not None,
                "edition": operation.edition,
            }
            for operation in dialect.operations
        ],
        "clients": dialect.clients._asdict()
        | {"more": dict(dialect.clients.more), "bases": dict(dialect.clients.bases)},
    }


def _kind(name: str, kind: Kind) -> dict[str, Any]:
    return {
        "kind": name,
        "summary": kind.summary,
        "settings": [_setting(key, setting) for key, setting in kind.settings.items()],
        "places": kind.places,
        "streams": kind.streams,
        "listens": kind.listens,
        "model": kind.says is not None,
    }


def _setting(name: str, setting: Setting) -> dict[str, Any]:
    own = {"name": name, "type": setting.type, "default": setting.default, "summary": setting.summary}
    return {**own, "choices": setting.choices}


def _picture(text: str, dialect: Dialect, traces: Traces) -> Mapping[str, Any]:
    """First-token times and gaps in seconds as evenly spaced quantiles of samples, without the setting `speed`."""
    profile = _profile(text, dialect, traces)
    paces = [pace(profile, _TOKENS, _PROMPT, derive(0, "picture", number)) for number in range(_SAMPLES)]
    schedules = [each.schedule or (0.0,) * _TOKENS for each in paces]
    gaps = [later - earlier for each in schedules for earlier, later in pairwise(each)]
    return {"of": text, "ttft": _quantiles([each[0] for each in schedules]), "gaps": _quantiles(gaps)}


def _profile(text: str, dialect: Dialect, traces: Traces) -> Profile | None:
    if text == OFF:
        return None
    return read_profile(text, dialect.realistic, traces)


def _quantiles(values: list[float]) -> list[float]:
    ordered = sorted(values)
    return [ordered[(2 * number + 1) * len(ordered) // (2 * _QUANTILES)] for number in range(_QUANTILES)]

"""The admin API's catalogue of all that can be asked for, pictures of latencies, and settings that change at run time.

GET    /_mockserver/catalogue    dialects with operations and models, kinds of faults, scenarios, failures, presets
GET    /_mockserver/latency      ?of=LATENCY&dialect=NAME: the first-token times and gaps that it leads to
PATCH  /_mockserver/settings     {"seed": 7, "latency": "slow"}: settings for the requests that come from now on
GET    /_mockserver/quotas       what is taken of the namespace's quotas, and what runs
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from mockserver.control.options import LIVE, from_texts
from mockserver.control.settings import ConfigError
from mockserver.core.dialects import EDITIONS, Dialect
from mockserver.core.failures import FailureKind
from mockserver.core.naming import unknown
from mockserver.core.seeding import derive
from mockserver.faults.catalogue import FAULTS, Kind, Setting
from mockserver.faults.scenarios import SCENARIOS
from mockserver.latency.notation import NotationError, read_profile
from mockserver.latency.pace import pace
from mockserver.latency.presets import OFF, presets
from mockserver.latency.profiles import Profile
from mockserver.latency.traces import Traces
from mockserver.serving.addresses import ADMIN
from mockserver.serving.admin.answers import (
    BadRequestError,
    Guard,
    admin_json,
    asked_namespace,
    json_body,
    per_namespace,
)
from mockserver.serving.simulator import Simulator

# A picture is made of so many generations, each of so many tokens after a prompt of so many.
_SAMPLES, _TOKENS, _PROMPT = 200, 48, 24
_QUANTILES = 100


def catalogue_routes(simulator: Simulator, guarded: Guard) -> list[Route]:
    """The routes around what can be asked for."""

    async def catalogue(request: Request) -> Response:
        return admin_json(
            {
                "dialects": [_dialect(each) for each in simulator.dialects.values()],
                "editions": EDITIONS,
                "faults": [_kind(name, kind) for name, kind in FAULTS.items()],
                "scenarios": [{"name": name, "summary": each.summary} for name, each in SCENARIOS.items()],
                "failures": list(FailureKind),
                "presets": [{"name": name, "summary": each.summary} for name, each in presets().items()],
            }
        )

    async def latency(request: Request) -> Response:
        settings, asked = simulator.setup.settings, request.query_params
        name = asked.get("dialect", next(iter(simulator.dialects)))
        dialect = simulator.dialects.get(name)
        if dialect is None:
            raise BadRequestError(f"dialect: {unknown('name', name, simulator.dialects)}")
        try:
            return admin_json(_picture(asked.get("of", settings.latency), dialect, settings.traces))
        except NotationError as error:
            raise BadRequestError(f"of: {error}") from None

    async def change(request: Request) -> Response:
        values = await json_body(request, "The body", '{"seed": 7, "latency": "slow"}')
        for name in values:
            if name not in LIVE:
                raise BadRequestError(f"settings: {unknown('name', name, LIVE)}. Others change with the server")
        try:
            settings = simulator.setup.settings
            simulator.adopt(replace(settings, **from_texts(values, "settings:", settings.traces)))
        except ConfigError as error:
            raise BadRequestError(str(error)) from None
        return admin_json({"changed": list(values)})

    async def quotas(request: Request) -> Response:
        namespace = asked_namespace(simulator, request)
        return admin_json(namespace.quotas.describe(simulator.clock(namespace).now()))

    return [
        Route(f"{ADMIN}/catalogue", guarded(catalogue), methods=["GET"]),
        Route(f"{ADMIN}/latency", guarded(latency), methods=["GET"]),
        Route(f"{ADMIN}/settings", guarded(change), methods=["PATCH"]),
        *per_namespace("GET", "/quotas", guarded(quotas)),
    ]


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
                "generates": operation.answer is None,
                "streams": operation.schemas.chunk is not None,
                "edition": operation.edition,
            }
            for operation in dialect.operations
        ],
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
    words = {str: "text", int: "whole number"}
    type_name = words.get(setting.type, "number") if isinstance(setting.type, type) else "number"
    own = {"name": name, "type": type_name, "default": setting.default, "summary": setting.summary}
    return {**own, "choices": setting.choices}


def _picture(text: str, dialect: Dialect, traces: Traces) -> Mapping[str, Any]:
    """First-token times and gaps in seconds, each as evenly spaced quantiles of what generations would have had; the
    setting `speed` is left out."""
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

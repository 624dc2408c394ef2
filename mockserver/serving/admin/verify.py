"""The admin API for tests in any language, of the default namespace or (under `ns/<name>/`) of a named one.

GET    /_mockserver/wait              wait for ?requests=N, or without it for every answer to end; ?seconds=5
POST   /_mockserver/journal/sift      {"match": {...}}: where each exchange differs from it
POST   /_mockserver/verify            {"checks": [{"calls": 3, "match": {...}}, {"spaced_at_least": 0.2}, ...]}
GET    /_mockserver/report            the verdict on the clients; ?handles=retry&outcome=error&patience=2
GET    /_mockserver/ns/<name>/settings    the namespace's own settings
PUT    /_mockserver/settings          {"seed": 7, "latency": "off"}: settings of the namespace's own
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from mockserver.control.journal.exchanges import Exchange
from mockserver.control.journal.sifting import sift
from mockserver.control.journal.transcripts import told_whole
from mockserver.control.journal.views import View
from mockserver.control.own_settings import read_own
from mockserver.control.routing import operations_of
from mockserver.control.settings import ConfigError
from mockserver.control.verify.checks import Evidence, run_checks
from mockserver.control.verify.verdict import DeclarationError, declaration_of, judge
from mockserver.control.verify.wanted import CheckError
from mockserver.core.criteria_notation import CriteriaError
from mockserver.core.naming import unknown
from mockserver.serving.addresses import ADMIN
from mockserver.serving.admin.answers import (
    BadRequestError,
    Guard,
    admin_json,
    asked_namespace,
    json_body,
    per_namespace,
)
from mockserver.serving.greeting import fault_in_words, quota_in_words
from mockserver.serving.simulator import Simulator
from mockserver.serving.turns import in_turns
from mockserver.serving.waiting import has_requests, is_idle, wait_until

_LONGEST_WAIT = 600.0
# Settings that are shown in words.
_WORDS: Mapping[str, Callable[[Any], str]] = {"fault": fault_in_words, "quota": quota_in_words}
_EXAMPLE = '{"checks": [{"calls": 3, "match": {"dialect": "cerebras"}}, {"spaced_at_least": 0.2}]}'


def verify_routes(simulator: Simulator, guarded: Guard) -> list[Route]:
    """The routes around waiting, checks, the verdict, and settings of one's own."""

    namespace = partial(asked_namespace, simulator)
    operations = operations_of(simulator.dialects)

    async def views(exchanges: Sequence[Exchange]) -> list[View]:
        return await in_turns(lambda each: View(told_whole(each)), exchanges)

    async def wait(request: Request) -> Response:
        for name in request.query_params.keys() - {"requests", "seconds"}:
            raise BadRequestError(unknown("word", name, ("requests", "seconds")))
        seconds = _number(request.query_params.get("seconds", "5"), "seconds", _LONGEST_WAIT)
        wanted = request.query_params.get("requests")
        holds = is_idle if wanted is None else has_requests(int(_number(wanted, "requests", 1e9)))
        journal = namespace(request).journal
        return admin_json({"happened": await wait_until(journal, holds, seconds), "opened": journal.opened})

    async def sifted(request: Request) -> Response:
        told = await json_body(request, "The body", '{"match": {"model": "m"}}')
        for name in told.keys() - {"match"}:
            raise BadRequestError(unknown("key", name, ("match",)))
        journal = namespace(request).journal
        forgotten = journal.forgotten
        try:
            found = sift(journal.exchanges(), told.get("match", {}), operations, forgotten.questions)
        except CriteriaError as error:
            raise BadRequestError(str(error)) from None
        matching = [number for number, differences in found.items() if not differences]
        differences = {str(number): told for number, told in found.items()}
        return admin_json({"matching": matching, "differences": differences, "forgotten": forgotten._asdict()})

    async def verify(request: Request) -> Response:
        told = await json_body(request, "The body", _EXAMPLE)
        space, clock = namespace(request), simulator.clock(namespace(request))
        exchanges, forgotten, stubs = space.journal.exchanges(), space.journal.forgotten, space.stubs.uses()
        find = partial(sift, exchanges, operations=operations, before=forgotten.questions)
        evidence = Evidence(await views(exchanges), find, stubs, clock.now(), space.shift, forgotten)
        try:
            results = run_checks(told.get("checks"), evidence)
        except (CheckError, CriteriaError, DeclarationError) as error:
            raise BadRequestError(f"{error}. An example: {_EXAMPLE}") from None
        passed = all(result["passed"] for result in results)
        return admin_json({"passed": passed, "checks": results}, 200 if passed else 417)

    async def report(request: Request) -> Response:
        try:
            declared = declaration_of(request.query_params)
        except DeclarationError as error:
            raise BadRequestError(str(error)) from None
        space, clock = namespace(request), simulator.clock(namespace(request))
        exchanges, forgotten = space.journal.exchanges(), space.journal.forgotten.questions
        seen = await views(exchanges)
        told = partial(judge, seen, declared, now=clock.now(), ahead=space.shift, forgotten=forgotten)
        verdict = await asyncio.to_thread(told)
        return admin_json(verdict.as_json())

    async def own_settings(request: Request) -> Response:
        return admin_json({name: _shown(name, value) for name, value in namespace(request).own.items()})

    async def settle(request: Request) -> Response:
        told = await json_body(request, "The settings", '{"seed": 7, "latency": "off"}')
        space = namespace(request)
        kept = space.own if request.query_params.get("merge") else {}
        try:
            space.own = {**kept, **read_own(told, simulator.dialects, simulator.setup.settings.traces)}
        except ConfigError as error:
            raise BadRequestError(str(error)) from None
        return await own_settings(request)

    return [
        *per_namespace("GET", "/wait", guarded(wait)),
        *per_namespace("POST", "/journal/sift", guarded(sifted)),
        *per_namespace("POST", "/verify", guarded(verify)),
        *per_namespace("GET", "/report", guarded(report)),
        Route(f"{ADMIN}/ns/{{namespace}}/settings", guarded(own_settings), methods=["GET"]),
        *per_namespace("PUT", "/settings", guarded(settle)),
    ]


def _number(text: str, name: str, most: float) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= most:
        raise BadRequestError(f"{name}: {text!r} is not a number from 0 to {most:g}")
    return number


def _shown(name: str, value: Any) -> Any:
    """A setting as JSON tells it; of keys nothing but their number."""
    if name in _WORDS:
        return [_WORDS[name](each) for each in value]
    return f"{len(value)} keys" if isinstance(value, tuple) else value

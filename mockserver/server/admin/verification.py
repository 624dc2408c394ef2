"""The admin API of verification, for tests in any language: waiting, checks, and the verdict on clients."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import get_args

from starlette.responses import Response

from mockserver.core.criteria import CriteriaError
from mockserver.core.naming import shortened
from mockserver.server.admin.answers import admin_json
from mockserver.server.admin.endpoints import Endpoint, Query, per_namespace
from mockserver.server.admin.json_schema import FLAG, NUMBER, TEXT, WHOLE, described, one_of, reference, rows, table
from mockserver.server.admin.requests import AdminRequest, BadRequestError
from mockserver.server.scheduling import in_slices
from mockserver.server.waiting import has_requests, is_idle, wait_for_deliveries, wait_until
from mockserver.state.journal.exchanges import Exchange
from mockserver.state.journal.sifting import sift
from mockserver.state.journal.transcripts import Transcript
from mockserver.state.journal.views import View
from mockserver.state.verify.arguments import CheckError
from mockserver.state.verify.checks import Evidence, run_checks
from mockserver.state.verify.declarations import DeclarationError, Handling, Outcome, declaration_of
from mockserver.state.verify.verdict import judge

_LONGEST_WAIT = 600.0
_EXAMPLE = '{"checks": [{"calls": 3, "match": {"dialect": "cerebras"}}, {"spaced_at_least": 0.2}]}'

_CHECKED = table(
    {"passed": FLAG, "checks": rows(table({"check": TEXT, "passed": FLAG}, {"problem": TEXT}))},
    description="Each check, and if it failed, what was expected, what was found and what was nearest.",
)
_DECLARED = (
    Query(
        "handles",
        one_of(get_args(Handling)),
        "how the client should handle failures: retry, raise or fallback",
    ),
    Query(
        "outcome",
        one_of(get_args(Outcome)),
        "what the application got in the end: answer, error or cancelled",
    ),
    Query("patience", NUMBER, "the longest silence that a client should endure, in seconds; 60 by default"),
    Query("least_attempts", NUMBER, "a call with fewer attempts was given up too early; 3 by default"),
    Query("most_attempts", NUMBER, "a call with more attempts is a storm; 10 by default"),
)


async def _wait(request: AdminRequest) -> Response:
    seconds = _number(request.query.get("seconds", "5"), "seconds", _LONGEST_WAIT)
    wanted, delivered = request.query.get("requests"), request.query.get("deliveries")
    if wanted is not None and delivered is not None:
        raise BadRequestError("requests and deliveries: wait for one, and then for the other")
    if delivered is not None:
        deliveries, number = request.namespace.deliveries, int(_number(delivered, "deliveries", 1e9))
        happened = await wait_for_deliveries(deliveries, number, seconds)
        return admin_json({"happened": happened, "opened": request.namespace.journal.opened})
    holds = is_idle if wanted is None else has_requests(int(_number(wanted, "requests", 1e9)))
    journal = request.namespace.journal
    return admin_json({"happened": await wait_until(journal, holds, seconds), "opened": journal.opened})


async def _verify(request: AdminRequest) -> Response:
    body = await request.json("The body", _EXAMPLE)
    space = request.namespace
    exchanges, forgotten, stubs = space.journal.exchanges(), space.journal.forgotten, space.stubs.uses()
    find = partial(sift, exchanges, operations=request.simulator.operations, before=forgotten.questions)
    evidence = Evidence(await _views(exchanges), find, stubs, request.now, space.shift, forgotten)
    try:
        results = await asyncio.to_thread(partial(run_checks, body.get("checks"), evidence))
    except (CheckError, CriteriaError, DeclarationError) as error:
        raise BadRequestError(f"{error}. An example: {_EXAMPLE}") from None
    passed = all(result["passed"] for result in results)
    return admin_json({"passed": passed, "checks": results}, 200 if passed else 417)


async def _report(request: AdminRequest) -> Response:
    try:
        declared = declaration_of(request.query)
    except DeclarationError as error:
        raise BadRequestError(str(error)) from None
    space = request.namespace
    exchanges, forgotten = space.journal.exchanges(), space.journal.forgotten.questions
    seen = await _views(exchanges)
    judged = partial(judge, seen, declared, now=request.now, ahead=space.shift, forgotten=forgotten)
    return admin_json(await asyncio.to_thread(lambda: judged().as_json()))


VERIFICATION = (
    Endpoint(
        "wait",
        "GET",
        per_namespace("/wait"),
        _wait,
        "Wait for this many requests or deliveries; without a number, until all answers have ended",
        {200: table({"happened": described(FLAG, "false if the time was over first"), "opened": WHOLE})},
        query=(
            Query("requests", NUMBER, "how many requests to a model"),
            Query("deliveries", NUMBER, "how many deliveries that have ended"),
            Query("seconds", NUMBER, "the longest wait in seconds; 5 by default, at most 600"),
        ),
        refuses=(400,),
    ),
    Endpoint(
        "verify",
        "POST",
        per_namespace("/verify"),
        _verify,
        "Check what clients have done; status 417 if a check fails",
        {200: _CHECKED, 417: _CHECKED},
        takes=table({"checks": rows(reference("Check"))}),
        refuses=(400,),
    ),
    Endpoint(
        "report",
        "GET",
        per_namespace("/report"),
        _report,
        "The verdict: how clients behaved when the server failed",
        {200: reference("Verdict")},
        query=_DECLARED,
        refuses=(400,),
    ),
)


async def _views(exchanges: Sequence[Exchange]) -> list[View]:
    return await in_slices(lambda each: View(Transcript(each)), exchanges)


def _number(text: str, name: str, most: float) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= most:
        raise BadRequestError(f"{name}: {shortened(text)} is not a number from 0 to {most:g}")
    return number

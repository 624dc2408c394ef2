"""The admin API of verification, for tests in any language: waiting, checks, and the verdict on clients."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, get_args

from mockserver.core.matching.values import CriteriaError
from mockserver.core.messages import short_repr
from mockserver.server.admin.endpoints import AdminError, AdminRequest, admin_json, endpoint, per_namespace
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
    match_with,
    one_of,
    reference,
    rows,
    table,
)
from mockserver.server.following import wait_for_deliveries, wait_for_requests
from mockserver.server.scheduling import in_slices
from mockserver.state.journal.exchanges import Exchange
from mockserver.state.journal.transcripts import Transcript
from mockserver.state.journal.views import Past, View
from mockserver.state.verify import CHECKS, Evidence, run_checks
from mockserver.state.verify.client_review import (
    REVIEWS,
    CheckError,
    Handling,
    Outcome,
    client_facts_of,
    review_client,
)
from mockserver.state.verify.selection import Selector, filter_exchanges

_OF_ANSWERS: Mapping[str, Schema] = {
    "status": described(reference("NumberMatcher"), "the answer's status"),
    "rule": described(reference("TextMatcher"), "the stub that decided the answer"),
    "fault": described(reference("TextMatcher"), "a kind of fault that was applied to it"),
    "closed_by": described(reference("TextMatcher"), "server or client"),
    "finish_reason": described(reference("TextMatcher"), "why a choice ended"),
}
_BOUNDS = either(WHOLE, FLAG, closed({"at_least": WHOLE, "at_most": WHOLE}))
_DECLARED: Mapping[str, Schema] = {
    "handles": described(one_of(get_args(Handling)), "how the client should handle failures: retry, raise or fallback"),
    "outcome": described(one_of(get_args(Outcome)), "what the application got in the end: answer, error or cancelled"),
    "patience": described(NUMBER, "the longest silence that a client should endure, in seconds; 60 by default"),
    "least_attempts": described(WHOLE, "a call with fewer attempts was given up too early; 3 by default"),
    "most_attempts": described(WHOLE, "a call with more attempts is a storm; 10 by default"),
}
_WANTED: Mapping[str, Schema] = {
    "calls": described(_BOUNDS, "this many requests match"),
    "never": described(FLAG, "none does"),
    "spaced_at_least": described(NUMBER, "this many seconds lie between each answer and the next request"),
    "in_order": described(rows(reference("CheckMatch")), "requests that match came one after the other"),
    "concurrency": described(WHOLE, "no more than this many requests were open at once"),
    "tokens": described(NUMBER, "prompts and answers have no more than this many tokens"),
    "cached_tokens": described(WHOLE, "at least this many tokens of the prompts came from the prompt cache"),
    "cost": described(NUMBER, "prompts and answers cost no more than this, at the prices"),
    "tool_called": described(TEXT, "an answer called this tool, with the arguments"),
    "tool_answered": described(TEXT, "a request brought this tool's result"),
    "schema": described(either(by_name(ANY), FLAG), "all bodies conform to this JSON Schema"),
    "contract": described(FLAG, "all bodies conform to the vendor's contract"),
    "cancelled": described(_BOUNDS, "the client left this many answers before their end"),
    "all_used": described(FLAG, "every stub was used"),
    "all_matched": described(FLAG, "every request was matched by a stub, and no answer is stale"),
    "resilience": described(either(FLAG, reference("Declared")), "the client behaved well: the verdict"),
}
_CHECK: Schema = described(
    closed(
        {
            **{name: _WANTED[name] for name in CHECKS},
            "match": described(reference("CheckMatch"), "the requests that are checked; by default all to a model"),
            "prices": by_name(
                rows(NUMBER),
                "by model (* for all others): the prices of a million prompt and completion tokens, and optionally of "
                "cached prompt tokens",
            ),
            "arguments": by_name(ANY, "of a tool's call"),
            "result": described(ANY, "of a tool"),
        }
    ),
    "One check with its arguments, and the requests that are checked.",
)
_CALL = table(
    {
        "attempts": rows(described(WHOLE, "the number of an exchange")),
        "statuses": rows(WHOLE),
        "faults": rows(rows(TEXT)),
        "waits": rows(described(NUMBER, "seconds")),
        "succeeded": FLAG,
    }
)
_VERDICT = table(
    {
        "clean": FLAG,
        "findings": rows(table({"fault": TEXT, "message": TEXT, "exchanges": rows(WHOLE)})),
        "calls": rows(_CALL),
        "unjudged": rows(table({"fault": TEXT, "why": TEXT})),
    },
    description=f"The verdict covers: {', '.join(REVIEWS)}.",
)
SCHEMAS: Mapping[str, Schema] = {
    "CheckMatch": match_with(_OF_ANSWERS),
    "Check": _CHECK,
    "Declared": described(closed(_DECLARED), "What correct handling is, and what the application made of the answer."),
    "Verdict": _VERDICT,
}


_LONGEST_WAIT = 600.0
_EXAMPLE = '{"checks": [{"calls": 3, "match": {"dialect": "cerebras"}}, {"spaced_at_least": 0.2}]}'

_CHECKED = table(
    {"passed": FLAG, "checks": rows(table({"check": TEXT, "passed": FLAG}, {"problem": TEXT}))},
    description="Each check, and if it failed, what was expected, what was found and what was nearest.",
)


@endpoint(
    "GET",
    per_namespace("/wait"),
    {200: table({"happened": described(FLAG, "false if the time was over first"), "opened": WHOLE})},
    query={
        "requests": described(WHOLE, "how many requests to a model"),
        "deliveries": described(WHOLE, "how many deliveries that have ended"),
        "seconds": described(NUMBER, "the longest wait in seconds; 5 by default, at most 600"),
    },
)
async def wait(request: AdminRequest) -> object:
    """Wait for this many requests or deliveries; without a number, until all answers have ended."""
    seconds = _seconds(request.query.get("seconds", "5"))
    wanted, delivered, space = request.whole("requests"), request.whole("deliveries"), request.namespace
    if wanted is not None and delivered is not None:
        raise AdminError("requests and deliveries: wait for one, and then for the other")
    if delivered is not None:
        happened = await wait_for_deliveries(space.deliveries, delivered, seconds)
    else:
        happened = await wait_for_requests(space.journal, wanted, seconds)
    return {"happened": happened, "opened": space.journal.opened}


@endpoint(
    "POST", per_namespace("/verify"), {200: _CHECKED, 417: _CHECKED}, takes=table({"checks": rows(reference("Check"))})
)
async def verify(request: AdminRequest) -> object:
    """Check what clients have done; status 417 if a check fails."""
    body = await request.json("The body", _EXAMPLE, ("checks",))
    space = request.namespace
    exchanges, forgotten, stubs = space.journal.exchanges(), space.journal.forgotten, space.stubs.uses()
    find = partial(filter_exchanges, exchanges, dialects=request.app_state.dialects, before=forgotten.questions)
    past = Past(await _views(exchanges), forgotten)
    evidence = Evidence(Selector(lambda: past, find), stubs, request.now, space.shift)
    try:
        results = await asyncio.to_thread(partial(run_checks, body.get("checks"), evidence))
    except (CheckError, CriteriaError) as error:
        raise AdminError(f"{error}. An example: {_EXAMPLE}") from None
    passed = all(result["passed"] for result in results)
    return admin_json({"passed": passed, "checks": results}, 200 if passed else 417)


@endpoint("GET", per_namespace("/report"), {200: reference("Verdict")}, query=_DECLARED)
async def report(request: AdminRequest) -> object:
    """The verdict: how clients behaved when the server failed."""
    declared: dict[str, Any] = {**request.query}
    for name in declared.keys() - {"handles", "outcome"}:
        # What is no number is refused with the rest.
        with suppress(ValueError):
            declared[name] = float(declared[name])
    facts, space = client_facts_of(declared), request.namespace
    exchanges, forgotten = space.journal.exchanges(), space.journal.forgotten.questions
    seen = await _views(exchanges)
    judged = partial(review_client, seen, facts, now=request.now, ahead=space.shift, forgotten=forgotten)
    return await asyncio.to_thread(lambda: judged().as_json())


async def _views(exchanges: Sequence[Exchange]) -> list[View]:
    return await in_slices(lambda each: View(Transcript(each)), exchanges)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= _LONGEST_WAIT:
        raise AdminError(f"seconds: {short_repr(text)} is not a number from 0 to {_LONGEST_WAIT:g}")
    return seconds


ENDPOINTS = (wait, verify, report)

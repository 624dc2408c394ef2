"""Azure's way in: the name of a deployment in the path instead of the body's model, a header of its own for the key,
errors and headers of its own (vendor facts, section I). Its newer paths, `/openai/v1/...`, are the dialect's own."""

from collections.abc import Mapping
from typing import Any

import orjson

from mockserver.core.dialects import RequestScope
from mockserver.core.failures import FailureKind
from mockserver.core.http import Call, RawHeaders
from mockserver.core.quotas import LimitState, per_minute, tightest_by_measure
from mockserver.core.seeding import uuid4_text
from mockserver.dialects.openai.models import SNAPSHOTS
from mockserver.dialects.openai.replies import date_header

# What the path of an operation has instead of `/v1`, after `/openai`.
DEPLOYMENTS = "/deployments/{name}"
# What the filters state of a prompt, and of an answer if they have found something; the category and the severity of
# that are a guess.
_SAFE = {name: {"filtered": False, "severity": "safe"} for name in ("hate", "sexual", "violence", "self_harm")}
NOT_FOUND = {"detected": False, "filtered": False}
OF_PROMPT = {**_SAFE, "jailbreak": NOT_FOUND}
_FOUND = {"violence": {"filtered": True, "severity": "medium"}}


def of_answer(*, blocked: bool) -> Mapping[str, Any]:
    """What the filters state of an answer."""
    protected = dict.fromkeys(("protected_material_code", "protected_material_text"), NOT_FOUND)
    return {**protected, **_SAFE, **(_FOUND if blocked else {})}


def content_filters(prompt: int, answer: int, *, blocked: bool) -> list[Mapping[str, Any]]:
    """What a response tells of its filters, given the lengths of its prompt and its answer."""
    looked_at = (
        ("prompt", False, prompt, OF_PROMPT),
        ("completion", blocked, answer, of_answer(blocked=blocked)),
    )
    return [
        {
            "blocked": blocked,
            "source_type": source,
            "content_filter_raw": [],
            "content_filter_results": results,
            "content_filter_offsets": {"start_offset": 0, "end_offset": length, "check_offset": 0},
        }
        for source, blocked, length, results in looked_at
    ]


def azure_error(own: Mapping[str, Any], kind: FailureKind, given: str) -> bytes:
    """The body of a refusal in Azure's `own` words, or in those that are given."""
    if kind is FailureKind.UNKNOWN_MODEL:
        return orjson.dumps({"error": own}, option=orjson.OPT_INDENT_2)
    return orjson.dumps({"error": {**own, "message": given} if given and kind is not FailureKind.UNKNOWN_PATH else own})


def header_value(text: str) -> bytes:
    """A text in a header, which cannot have every character that a name of a request's may have."""
    return text.encode("ascii", "replace").translate(None, bytes(range(32)))


def azure_headers(call: Call, scope: RequestScope) -> RawHeaders:
    """The headers of every answer to such a call, in the order in which they were recorded in August 2026."""
    apim = (b"apim-request-id", uuid4_text(scope.identity, "apim").encode())
    if scope.refused in (FailureKind.MISSING_CREDENTIALS, FailureKind.UNAUTHORIZED):
        return date_header(int(scope.now)), apim
    name = scope.variables.get("name", "")
    told: RawHeaders = ()
    if scope.refused is None:
        told = (
            (b"skip-error-remapping", b"true"),
            (b"x-ms-is-spilled-over", b"false"),
            *(_of_deployment(name) if name else ()),
            *_limits(call, scope),
            (b"x-request-id", uuid4_text(scope.identity, "request").encode()),
        )
    return (
        *told,
        apim,
        (b"strict-transport-security", b"max-age=31536000; includeSubDomains; preload"),
        (b"x-content-type-options", b"nosniff"),
        (b"x-ms-region", b"East US 2"),
        date_header(int(scope.now)),
    )


def _of_deployment(name: str) -> RawHeaders:
    return (
        (b"x-accel-buffering", b"no"),
        (b"x-ms-deployment-name", header_value(name)),
        (b"x-ms-rai-invoked", b"true"),
        (b"x-ms-served-model", header_value(SNAPSHOTS.get(name, name))),
        (b"x-ratelimit-key", header_value(name)),
    )


# Those of a recorded deployment after one short request.
_RECORDED = tuple(map(LimitState, per_minute(250, 250_000).limits, (1, 9)))


def _limits(call: Call, scope: RequestScope) -> RawHeaders:
    """The tightest limits on requests and on tokens, of chats and responses recorded ones; times are whole seconds."""
    asked = call.method == "POST" and call.path.endswith(("/chat/completions", "/responses"))
    states = scope.limit_states or (_RECORDED if asked else ())
    found = tightest_by_measure(states)
    headers = [(b"x-ratelimit-abusepenalty-active", b"False")] if found else []
    for measure, each in found:
        headers += [
            (b"x-ratelimit-remaining-" + measure, b"%d" % each.remaining),
            (b"x-ratelimit-reset-" + measure, b"%d" % each.reset),
            (b"x-ratelimit-limit-" + measure, b"%d" % each.limit.amount),
            (b"x-ratelimit-renewalperiod-" + measure, b"60"),
        ]
    return tuple(headers)

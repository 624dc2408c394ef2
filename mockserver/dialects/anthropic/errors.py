"""Anthropic's errors (facts A10), required headers and credentials (A1), and the headers of every answer (A11).

The body of an error is `{"type": "error", "error": {"type", "message"}, "request_id"}`, and the header `request-id` has
the same id; `contract/refusals.json` has the words. `contract/limits.json` has tiers, as requests and tokens in a
minute (`start` and `scale` as stated for Fable 5; those with a number were in force until the middle of 2026), and the
headers that never change.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from math import ceil, floor, isfinite
from typing import Any

import orjson

from mockserver.core.dialects import ErrorTable, ErrorTemplate, RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.http import Call, RawHeaders
from mockserver.core.quotas import LimitUnit, QuotaPolicy, Refused, per_minute, tightest
from mockserver.core.seeding import alphanumerics, hex_digits
from mockserver.dialects.contracts import components
from mockserver.dialects.openai.read import bearer
from mockserver.dialects.openai.replies import date_header

VERSIONS = ("2023-06-01", "2026-10-21")
WORDS = components(__package__, "refusals")()
# Claude Code asks for one whose date has no dashes.
_BETA = re.compile(r"[a-z][a-z0-9-]*-20\d\d-?\d\d-?\d\d")


def refused(name: str, /, **facts: object) -> Refusal:
    """The refusal of that name, with 400; what it says of the request is cut if it is long."""
    said = {key: value[:1_000] if isinstance(value, str) else value for key, value in facts.items()}
    return Refusal(FailureKind.INVALID_REQUEST, WORDS["conflicts"][name].format(**said))


def request_id(identity: int) -> str:
    """The id of a request."""
    return f"req_011{alphanumerics(identity, 21, 'request')}"


def _is_unknown(key: str | None) -> bool:
    """Whether a key that is refused looks like one of the service's: then it is refused before the request has an id
    (recorded in August 2026)."""
    return key is not None and key.startswith("sk-") and not key.startswith("sk-ant-oat")


def _template(kind: FailureKind, status: int, type_: str, message: str) -> ErrorTemplate:
    headers = WORDS["headers"].get(str(status), {})

    def body(refusal: Refusal, words: str) -> dict[str, Any]:
        # Only in wordings of ours does a name in braces stand for anything.
        if words == message or kind is FailureKind.RATE_LIMIT:
            words = words.replace("{model}", refusal.model or "claude-sonnet-4-6")
        unknown = kind is FailureKind.UNAUTHORIZED and _is_unknown(refusal.key)
        if unknown:
            words = "API key is invalid."
        elif kind is FailureKind.UNAUTHORIZED and (refusal.key or "").startswith("sk-ant-oat"):
            words = "Invalid bearer token"
        details = {"details": {"error_code": refusal.code}} if refusal.code is not None else {}
        error = {"type": type_, "message": words, **details}
        return {"type": "error", "error": error, "request_id": None if unknown else request_id(refusal.identity)}

    return ErrorTemplate(status, message, body, headers=tuple((k.encode(), v.encode()) for k, v in headers.items()))


ERRORS: ErrorTable = {
    FailureKind(kind): _template(FailureKind(kind), *told) for kind, told in WORDS["failures"].items()
}


def stream_error(status: int, body: Any) -> bytes:
    """The event that ends a failing stream; within it `details` come before the type (recorded)."""
    return b"event: error\ndata: %b\n\n" % orjson.dumps({**body, "error": {"details": None, **body.get("error", {})}})


def api_key(call: Call) -> str | None:
    """The key of a call: `x-api-key` takes precedence over `Authorization: Bearer`."""
    return call.headers.get("x-api-key") or bearer(call)


def betas_of(call: Call) -> str:
    """The names of the betas of a call, separated by commas; it may have several such headers."""
    return ",".join([value.decode("latin-1") for name, value in call.headers.raw if name == b"anthropic-beta"])


def headers_fault(call: Call) -> Refusal | None:
    """Why the headers that every call has are refused; None if they are not."""
    version = call.headers.get("anthropic-version")
    if version is None:
        return refused("no_version")
    if version not in VERSIONS:
        return refused("unknown_version", version=version)
    unknown = [f"`{name}`" for name in map(str.strip, betas_of(call).split(",")) if name and not _BETA.fullmatch(name)]
    return refused("unknown_beta", names=", ".join(unknown)) if unknown else None


# --- limits and headers -------------------------------------------------------------------------------------------

LIMITS = components(__package__, "limits")()
_EDGE: RawHeaders = tuple((name.encode(), value.encode()) for name, value in LIMITS["headers"].items())
# Of the tokens of a minute so many are for the input, the rest for the output (recorded: 2,000,000 and 400,000).
_INPUT = 5 / 6
_SHARES: Mapping[LimitUnit, Mapping[str, float]] = {
    "requests": {"requests": 1},
    "tokens": {"tokens": 1, "input-tokens": _INPUT, "output-tokens": 1 - _INPUT},
}
# The limits of an account of which answers were recorded, and what is left of them after one short request.
_RECORDED: Mapping[LimitUnit, tuple[int, int]] = {"requests": (4_000, 3_999), "tokens": (2_400_000, 2_399_500)}


def _refuse(exceeding: Refused, now: float) -> Refusal:
    """The refusal of a request beyond a limit; the error table puts the model's name into it."""
    worst, wait, words = exceeding.worst, 1, refused("crowded")
    if worst is not None:
        limit, tokens = worst.limit, worst.limit.measure == "tokens"
        amount = f"{round(limit.amount * _INPUT):,} input tokens" if tokens else f"{limit.amount:,} requests"
        words = refused("requests_limited", limit=f"{amount} per {limit.period}")
        wait = max(ceil(worst.wait), 1) if isfinite(worst.wait) else 1
    return words._replace(kind=FailureKind.RATE_LIMIT, headers=((b"retry-after", b"%d" % wait),))


QUOTAS = QuotaPolicy({name: per_minute(*row) for name, row in LIMITS["tiers"].items()}, refuse=_refuse)


def every_answer(call: Call, scope: RequestScope) -> RawHeaders:
    """The headers of each answer, errors included: of a refusal without rate limits, unless these are its reason."""
    limited = scope.refused in (None, FailureKind.RATE_LIMIT) and not call.path.startswith("/v1/models")
    known = scope.refused not in (FailureKind.MISSING_CREDENTIALS, FailureKind.UNAUTHORIZED)
    unknown = scope.refused is FailureKind.UNAUTHORIZED and _is_unknown(api_key(call))
    trace, span = hex_digits(scope.identity, 32, "trace"), hex_digits(scope.identity, 16, "span")
    return (
        date_header(int(scope.now)),
        *(_limits(scope) if limited else ()),
        *(() if unknown else ((b"request-id", request_id(scope.identity).encode()),)),
        *(((b"anthropic-organization-id", WORDS["organization"].encode()),) if known else ()),
        # Since May 2026, when it took the place of `x-envoy-upstream-service-time` (recorded).
        (b"traceresponse", f"00-{trace}-{span}-01".encode()),
        *_EDGE,
        (b"cf-ray", f"{hex_digits(scope.identity, 16, 'cf-ray')}-FRA".encode()),
    )


def _limits(scope: RequestScope) -> RawHeaders:
    """The limits of requests and of tokens, and of the latter the shares of input and output."""
    headers: list[tuple[bytes, bytes]] = []
    for measure, shares in _SHARES.items():
        (amount, left), full = _RECORDED[measure], floor(scope.now) + 1
        if scope.limit_states:
            state = tightest(scope.limit_states, measure)
            if state is None:
                continue
            amount, left, full = state.limit.amount, state.remaining, state.full_at(scope.now)
        reset = datetime.fromtimestamp(full, UTC).strftime("%Y-%m-%dT%H:%M:%SZ").encode()
        for name, share in shares.items():
            shown = left if measure == "requests" else round(left * share / 1_000) * 1_000
            headers += [
                (f"anthropic-ratelimit-{name}-limit".encode(), b"%d" % round(amount * share)),
                (f"anthropic-ratelimit-{name}-remaining".encode(), b"%d" % shown),
                (f"anthropic-ratelimit-{name}-reset".encode(), reset),
            ]
    return tuple(headers)

"""OpenAI's errors, rate limits, and the headers of every answer.

The body of an error is `{"error": {"message", "type", "param", "code"}}`, pretty-printed, all four members always.
`contract/refusals.json` has the words, and what differs for other vendors where these speak of OpenAI; `{model}` and
`{key}` in them stand for the model that was asked for and the masked key that was sent.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from types import MappingProxyType
from typing import Any, NamedTuple

import orjson

from mockserver.core.dialects import ErrorTable, ErrorTemplate, RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.http import Call, RawHeaders
from mockserver.core.installed import mismatches
from mockserver.core.messages import unknown_name
from mockserver.core.quotas import (
    PERIODS,
    Allowance,
    Limit,
    LimitState,
    QuotaPolicy,
    Refused,
    per_minute,
    tightest_by_measure,
)
from mockserver.core.seeding import alphanumerics, derive, hex_digits
from mockserver.dialects.contracts import components
from mockserver.dialects.openai.azure import azure_error, azure_headers, header_value
from mockserver.dialects.openai.models import SNAPSHOTS
from mockserver.dialects.openai.read import is_azure
from mockserver.dialects.openai.replies import date_header, event

WORDS = components(__package__, "refusals")()
# Those of every caller who names none.
_ORGANIZATION: str = WORDS["organization"]
_PROJECT: str = WORDS["project"]

# Makes an error's body of a refusal that has its status, type, code, param and message.
ErrorBody = Callable[[Refusal], object]


class ErrorRow(NamedTuple):
    """A row of a vendor's errors, of which a table is made."""

    status: int
    message: str
    type: str = "invalid_request_error"
    code: str | None = None
    param: str | None = None


_ROWS = {FailureKind(kind): ErrorRow(**row) for kind, row in WORDS["failures"].items()}
_BAD = _ROWS[FailureKind.INVALID_REQUEST].status
NO_MODEL = _ROWS[FailureKind.UNSUPPORTED_MEDIA_TYPE].message


def _worded(row: ErrorRow, refusal: Refusal, words: str, model: str) -> str:
    # Only in wordings of ours do names in braces stand for anything.
    if words == row.message or refusal.kind is FailureKind.RATE_LIMIT:
        return words.replace("{key}", _masked(refusal.key or "")).replace("{model}", refusal.model or model)
    return words


def _refusal(row: ErrorRow) -> ErrorTemplate:
    def body(refusal: Refusal, words: str) -> object:
        words, code = _worded(row, refusal, words, "gpt-4o"), refusal.code or row.code
        kind = "tokens" if row.type == "requests" and "tokens per" in words else row.type
        if code == "max_tokens_per_request":
            kind = code
        param, call = refusal.param or row.param, refusal.call
        if call is not None:
            own = WORDS["azure"].get(refusal.kind) if is_azure(call) else None
            if own is not None:
                return azure_error(own, refusal.kind, refusal.message and words)
            if refusal.kind is FailureKind.UNKNOWN_MODEL and call.method != "POST":
                words, param = f"The model '{refusal.model}' does not exist", "model"
        told = {"error": {"message": words, "type": kind, "param": param, "code": code}}
        if call is not None and _is_ahead(call, refusal.kind):
            return f"{json.dumps(told, indent=4, ensure_ascii=False)}\n".encode()
        return orjson.dumps(told, option=orjson.OPT_INDENT_2)

    return ErrorTemplate(row.status, row.message, body)


# Recorded: at these paths, wrong keys and unknown models are refused by a part of the service that stands ahead of the
# rest, whose bodies and headers are others.
_PATHS_AHEAD = ("/v1/chat/completions", "/v1/completions", "/v1/embeddings")
_KINDS_AHEAD = (FailureKind.MISSING_CREDENTIALS, FailureKind.UNAUTHORIZED, FailureKind.UNKNOWN_MODEL)


def _is_ahead(call: Call, kind: FailureKind | None) -> bool:
    """Whether a call is refused before it comes to the part of the service that answers it."""
    return kind in _KINDS_AHEAD and call.path in _PATHS_AHEAD


def _masked(key: str) -> str:
    """A key with its first eight and its last four characters; a short one, as nobody is given, as it is."""
    return f"{key[:8]}{'*' * min(len(key) - 12, 200)}{key[-4:]}" if len(key) > 12 else key


ERRORS: ErrorTable = {kind: _refusal(row) for kind, row in _ROWS.items()}


def usual_body(refusal: Refusal) -> object:
    """OpenAI's error body, of a refusal that has all its members."""
    error = {"message": refusal.message, "type": refusal.type, "param": refusal.param, "code": refusal.code}
    return {"error": error}


def error_table(
    rows: Mapping[str, Mapping[str, Any]] = MappingProxyType({}), body: ErrorBody = usual_body
) -> ErrorTable:
    """The table of a vendor with errors of its own, of what differs from OpenAI's.

    `rows` has members of `ErrorRow` and `ErrorTemplate` by the name of a failure's kind; `default` those of all kinds
    whose row has none of its own, but for a status, which is then that of the bad requests to which OpenAI answers 400.
    `body` makes a body of a refusal which has a message, a type, a code, a param and a status. Raises ValueError if
    there is no such kind or member, and TypeError if one is of another type.
    """
    for kind in rows:
        if kind not in (known := ["default", *_ROWS]):
            raise ValueError(f"errors: {unknown_name('kind of failure', kind, known)}")
    default = rows.get("default", {})
    kept = {name: each for name, each in default.items() if name != "status"}
    return {
        kind: _template(kind, row, {**(default if row.status == _BAD else kept), **rows.get(kind, {})}, body)
        for kind, row in _ROWS.items()
    }


def _template(kind: FailureKind, usual: ErrorRow, own: Mapping[str, Any], make: ErrorBody) -> ErrorTemplate:
    """The row of a kind for another vendor, who states the members in `own`."""
    given = {**WORDS["other vendors"].get(kind, {}), **own}
    row = usual._replace(**{name: given.pop(name) for name in ErrorRow._fields if name in given})

    def body(refusal: Refusal, words: str) -> object:
        return make(
            refusal._replace(
                message=_worded(row, refusal, words, "the model"),
                type=row.type,
                code=row.code if "code" in own else refusal.code or row.code,
                param=refusal.param or row.param,
                status=refusal.status or row.status,
            )
        )

    for name in given:
        if name not in (known := [*ErrorRow._fields, *ErrorTemplate._fields]):
            raise ValueError(f"errors: {kind}: {unknown_name('member', name, known)}")
    template = ErrorTemplate(row.status, row.message, body)._replace(**given)
    defects = [*mismatches(row, ErrorRow), *mismatches(template, ErrorTemplate)]
    if defects:
        raise TypeError(f"errors: {kind}: {defects[0]}")
    return template


def unrouted(call: Call, scope: RequestScope, allowed: tuple[str, ...]) -> Refusal:
    """The refusal of a call that no operation serves, with its method and its path."""
    if allowed:
        hint = "(HINT: Perhaps you meant to use a different HTTP method?)"
        return Refusal(FailureKind.WRONG_METHOD, f"Not allowed to {call.method} on {call.path}. {hint}")
    return Refusal(FailureKind.UNKNOWN_PATH, f"Invalid URL ({call.method} {call.path})")


def stream_error(status: int, body: object) -> bytes:
    """The event that ends a failing stream of chats and completions: the body of the refusal on one line."""
    return event(orjson.loads(body) if isinstance(body, bytes) else body)


# --- rate limits -------------------------------------------------------------------------------------------------

_MINUTE, _DAY = PERIODS["minute"], PERIODS["day"]
# The page has figures of tier 1 (of gpt-5); free accounts were told of three requests a minute; the others are those of
# accounts that recorded answers are from.
_TIERS = {
    "free": Allowance((Limit("requests", _MINUTE, 3), Limit("requests", _DAY, 200), Limit("tokens", _MINUTE, 40_000))),
    "tier1": per_minute(500, 500_000),
    "tier2": per_minute(3_000, 1_000_000),
    "tier3": per_minute(5_000, 2_000_000),
    "tier4": per_minute(10_000, 10_000_000),
    "tier5": per_minute(30_000, 150_000_000),
}
_SHORT = {"second": "sec", "minute": "min", "hour": "hour", "day": "day"}
_VISIT = "Visit https://platform.openai.com/account/rate-limits to learn more."


def _refuse(refused: Refused, now: float) -> Refusal:
    """The refusal of a request beyond a limit, or of one that no limit would ever let in; the error table puts the
    model's name into it."""
    worst = refused.worst
    if worst is None:
        return Refusal(FailureKind.OVERLOADED)
    limit, cost = worst.limit, max(worst.cost, 1)
    initials = f"{limit.measure[0]}p{limit.period[0]}".upper()
    unit = f"{limit.measure} per {_SHORT[limit.period]} ({initials})"
    where = f"{{model}} in organization {_ORGANIZATION} on {unit}"
    if not isfinite(worst.wait):
        end = f"The input or output tokens must be reduced in order to run successfully. {_VISIT}"
        words = f"Request too large for {where}: Limit {limit.amount}, Requested {cost}. {end}"
    else:
        state = f"Limit {limit.amount}, Used {round(worst.spent)}, Requested {cost}"
        words = f"Rate limit reached for {where}: {state}. Please try again in {go_duration(worst.wait)}. {_VISIT}"
    return Refusal(FailureKind.RATE_LIMIT, words)


# Charged with the prompt and the longest answer asked for.
QUOTAS = QuotaPolicy(_TIERS, refuse=_refuse, up_front=True)


def go_duration(seconds: float) -> str:
    """A time as Go prints durations, to the millisecond: `6ms`, `8.64s`, `2m7.93s`, `0s`."""
    total = max(round(seconds * 1000), 0)
    if total < 1000:
        return f"{total}ms" if total else "0s"
    minutes, rest = divmod(total, 60_000)
    hours, minutes = divmod(minutes, 60)
    text = f"{rest / 1000:.3f}".rstrip("0").rstrip(".") + "s"
    return f"{hours}h{minutes}m{text}" if hours else f"{minutes}m{text}" if minutes else text


# --- headers -----------------------------------------------------------------------------------------------------

_EDGE: RawHeaders = (
    (b"cf-cache-status", b"DYNAMIC"),
    (b"server", b"cloudflare"),
    (b"strict-transport-security", b"max-age=31536000; includeSubDomains; preload"),
    (b"x-content-type-options", b"nosniff"),
)
_VERSION = (b"openai-version", b"2020-10-01")
_EXPOSED = (b"access-control-expose-headers", b"X-Request-ID, CF-Ray, CF-Ray")
# Responses lack this.
_PROXY: RawHeaders = ((b"x-openai-proxy-wasm", b"v0.1"),)
_RESPONSES = ("/v1/responses", "/v1/conversations")
_LIMITED = ("/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/responses")
# Refusals that no organization is known for, and those that come before a request is processed.
_ANONYMOUS = (FailureKind.MISSING_CREDENTIALS, FailureKind.UNAUTHORIZED)
_UNPROCESSED = (FailureKind.UNKNOWN_PATH, FailureKind.WRONG_METHOD)
_AHEAD: RawHeaders = ((b"content-type", b"application/json; charset=utf-8"), (b"vary", b"Origin"))
_CHALLENGE = (b"www-authenticate", b'Bearer realm="OpenAI API"')
# Refusals that state limits, but for responses.
_STATE_LIMITS = (None, FailureKind.RATE_LIMIT, FailureKind.INVALID_REQUEST, FailureKind.CONTEXT_LENGTH)


def every_answer(call: Call, scope: RequestScope) -> RawHeaders:
    """The headers of each answer, errors included, in the order in which they were recorded in August 2026."""
    if is_azure(call):
        return azure_headers(call, scope)
    ray = (b"cf-ray", f"{hex_digits(scope.identity, 16, 'cf-ray')}-FRA".encode())
    return (
        date_header(int(scope.now)),
        ray,
        *_EDGE,
        *(_AHEAD if _is_ahead(call, scope.refused) else _service(call, scope)),
        *(() if call.path.startswith(_RESPONSES) else _PROXY),
        *_limits(call, scope),
        (b"x-request-id", request_id(scope).encode()),
        _cookie(scope),
        (b"alt-svc", b'h3=":443"; ma=86400'),
    )


def _service(call: Call, scope: RequestScope) -> RawHeaders:
    """What the part of the service states that answers a call: whose it is, and how long that took."""
    milliseconds = (b"openai-processing-ms", b"%d" % (80 + derive(scope.identity, "processing") % 900))
    processing = () if scope.refused in _UNPROCESSED else (milliseconds,)
    if scope.refused in _ANONYMOUS:
        return (_CHALLENGE, _EXPOSED, *processing, _VERSION)
    organization = call.headers.get("openai-organization") or _ORGANIZATION
    project = call.headers.get("openai-project") or _PROJECT
    return (
        _EXPOSED,
        (b"openai-organization", organization.encode("latin-1")),
        *processing,
        (b"openai-project", project.encode("latin-1")),
        _VERSION,
    )


def request_id(scope: RequestScope) -> str:
    """The id of a request."""
    return f"req_{hex_digits(scope.identity, 32, 'request')}"


def model_headers(model: str) -> RawHeaders:
    """What answers of completions state beside: the snapshot that answered."""
    return (
        (b"access-control-allow-origin", b"*"),
        (b"cache-control", b"no-cache, must-revalidate"),
        (b"openai-model", header_value(SNAPSHOTS.get(model, model))),
        (b"via", b"envoy-router-7d4c8b6f5-x2k9q"),
    )


def _cookie(scope: RequestScope) -> tuple[bytes, bytes]:
    letters, (_, expires) = alphanumerics(scope.identity, 129, "cookie"), date_header(int(scope.now + 1800))
    token = f"{letters[:43]}-{scope.now:.7f}-1.0.1.1-{letters[43:]}"
    where = b"HttpOnly; SameSite=None; Secure; Path=/; Domain=api.openai.com; Expires=" + expires
    return b"set-cookie", b"__cf_bm=" + token.encode() + b"; " + where


def limit_headers(
    limits: Sequence[tuple[bytes, LimitState]], reset: Callable[[LimitState], bytes] | None = None
) -> RawHeaders:
    """The headers of limits, by their names there: the amounts, then what is left, then the resets if they are stated
    like these."""
    resets = () if reset is None else ((b"x-ratelimit-reset-" + name, reset(state)) for name, state in limits)
    return (
        *((b"x-ratelimit-limit-" + name, b"%d" % state.limit.amount) for name, state in limits),
        *((b"x-ratelimit-remaining-" + name, b"%d" % state.remaining) for name, state in limits),
        *resets,
    )


def limits_left(limit_states: tuple[LimitState, ...]) -> RawHeaders:
    """The headers of the tightest limits on requests and on tokens; empty if there are none."""
    return limit_headers(tightest_by_measure(limit_states), lambda state: go_duration(state.reset).encode())


_ACCOUNT = per_minute(10_000, 250_000).limits
# Those of a recorded account after one short request, and when it is refused for them.
_RECORDED = limits_left(tuple(map(LimitState, _ACCOUNT, (1, 9))))
_RECORDED_REFUSAL = limits_left(tuple(map(LimitState, _ACCOUNT, (10_000, 9))))


def _limits(call: Call, scope: RequestScope) -> RawHeaders:
    """The limits that an answer states; without a quota they are recorded ones."""
    # Recorded and, of those that are refused for their limits, reported.
    if scope.refused not in _STATE_LIMITS or (scope.refused is not None and call.path.startswith(_RESPONSES)):
        return ()
    if scope.limit_states:
        return limits_left(scope.limit_states)
    if call.path not in _LIMITED or call.method != "POST":
        return ()
    return _RECORDED_REFUSAL if scope.refused is FailureKind.RATE_LIMIT else _RECORDED

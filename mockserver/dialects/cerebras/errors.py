"""Cerebras' errors, rate limits, and the headers of every answer (vendor notes A1, A4 and A5).

Errors are nested under `error` as the page has them, flat as the service sends them.

Bodies marked in the note as guesses keep the service's own pattern: type, param and code in its words. A refusal has
each violation on a line of its own, in the words of the service's validator: recorded since May 2026 are
`effort: property 'effort' is unsupported`, and of messages, whose role is part of the path,
`messages.2.assistant.reasoning_content: ...`. Until then paths began with `body.`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from math import isfinite
from typing import Any

from mockserver.core.dialects import Edition, ErrorTable, ErrorTemplate, RequestScope
from mockserver.core.failures import FailureKind, Refusal, Violation
from mockserver.core.http import Call, RawHeaders
from mockserver.core.quotas import PERIODS, Allowance, Limit, LimitState, LimitUnit, QuotaPolicy, Refused, per_minute
from mockserver.core.seeding import hex_digits
from mockserver.dialects.contracts import pydantic_words
from mockserver.dialects.openai.errors import ErrorRow, limit_headers
from mockserver.dialects.openai.read import Body
from mockserver.dialects.openai.replies import date_header, event

_invalid = partial(ErrorRow, 400, code="wrong_api_format", param="validation_error")
_ROWS: dict[FailureKind, ErrorRow] = {
    FailureKind.MALFORMED_JSON: _invalid(": Invalid JSON: expected value at line 1 column 1"),
    FailureKind.NOT_AN_OBJECT: _invalid(": Input should be an object"),
    FailureKind.INVALID_REQUEST: _invalid(": the request is not valid"),
    FailureKind.UNSUPPORTED_MEDIA_TYPE: ErrorRow(
        415, "Unsupported content encoding.", code="unsupported_media_type", param="content_type"
    ),
    FailureKind.BODY_TOO_LARGE: ErrorRow(413, "The request body is too large.", code="request_too_large", param="body"),
    FailureKind.MISSING_CREDENTIALS: ErrorRow(401, "Wrong API Key", code="wrong_api_key", param="api_key"),
    FailureKind.UNAUTHORIZED: ErrorRow(401, "Wrong API Key", code="wrong_api_key", param="api_key"),
    FailureKind.FORBIDDEN: ErrorRow(
        403, "You do not have access to this resource.", "permission_denied_error", "permission_denied", param="api_key"
    ),
    FailureKind.PAYMENT_REQUIRED: ErrorRow(
        402,
        "Payment required to access this resource. Visit your billing tab.",
        "payment_required_error",
        "payment_required",
        param="quota",
    ),
    FailureKind.UNKNOWN_MODEL: ErrorRow(
        404,
        "Model does not exist or you do not have access to it.",
        "not_found_error",
        "model_not_found",
        param="model",
    ),
    FailureKind.WRONG_METHOD: ErrorRow(405, "Method Not Allowed", code="method_not_allowed", param="method"),
    # One token too many for its smallest model: clients search the message for the figures.
    FailureKind.CONTEXT_LENGTH: ErrorRow(
        400,
        "Please reduce the length of the messages or completion. Current length is 32769 while limit is 32768",
        code="context_length_exceeded",
        param="messages",
    ),
    FailureKind.CONTENT_FILTER: ErrorRow(
        400, "The request was refused by a content filter.", code="content_filter", param="prompt"
    ),
    FailureKind.RATE_LIMIT: ErrorRow(
        429,
        "Requests per minute limit exceeded - too many requests sent.",
        "too_many_requests_error",
        "request_quota_exceeded",
        param="quota",
    ),
    FailureKind.OVERLOADED: ErrorRow(
        429,
        "We're experiencing high traffic right now! Please try again soon.",
        "too_many_requests_error",
        "queue_exceeded",
        param="queue",
    ),
    FailureKind.TIMEOUT: ErrorRow(408, "The request timed out.", "request_timeout_error", "request_timeout"),
    FailureKind.SERVER_ERROR: ErrorRow(500, "Encountered a server error, please try again.", "server_error"),
}


# Codes with a type of their own, as several users' logs of 2026 have them.
_TYPES = {"token_quota_exceeded": "too_many_tokens_error"}


def _object(row: ErrorRow, message: str, refusal: Refusal) -> dict[str, str]:
    param, code = refusal.param or row.param or "", refusal.code or row.code or ""
    # Of which limit a refusal is, its message says, be it that of a quota or of a fault.
    if code == "request_quota_exceeded" and message.startswith("Tokens per "):
        code = "token_quota_exceeded"
    return {"message": message, "type": _TYPES.get(code, row.type), "param": param, "code": code}


def _nested(row: ErrorRow) -> ErrorTemplate:
    return ErrorTemplate(row.status, row.message, lambda refusal, words: {"error": _object(row, words, refusal)})


def _flat(row: ErrorRow, **more: str) -> ErrorTemplate:
    return ErrorTemplate(row.status, row.message, lambda refusal, words: {**_object(row, words, refusal), **more})


# What the engine refuses has an id too, which is empty (recorded), but not what the service's validator and quotas do.
_BY_ENGINE = (FailureKind.CONTEXT_LENGTH, FailureKind.SERVER_ERROR)

# The service's router answers unknown paths with an empty body.
_NO_ROUTE = ErrorTemplate(404, "", lambda refusal, words: b"", content_type=b"text/plain")

ERRORS: dict[Edition, ErrorTable] = {
    "documented": {kind: _nested(row) for kind, row in _ROWS.items()} | {FailureKind.UNKNOWN_PATH: _NO_ROUTE},
    "observed": {kind: _flat(row) for kind, row in _ROWS.items()}
    | {kind: _flat(_ROWS[kind], id="") for kind in _BY_ENGINE}
    | {
        FailureKind.UNKNOWN_PATH: _NO_ROUTE,
        FailureKind.MISSING_CREDENTIALS: ErrorTemplate(
            403, "Not authenticated", lambda refusal, words: {"detail": words}
        ),
        FailureKind.WRONG_METHOD: ErrorTemplate(405, "Method Not Allowed", lambda refusal, words: {"detail": words}),
        # Measured by a user in August 2026: the SDKs do not try again.
        FailureKind.OVERLOADED: _flat(_ROWS[FailureKind.OVERLOADED])._replace(headers=((b"x-should-retry", b"false"),)),
    },
}


def stream_error(status: int, body: object) -> bytes:
    """The event that ends a failing stream (captured): the status, and the error nested in either edition."""
    whole = body if isinstance(body, dict) else {}
    error = {"message": "", "type": "", "param": "", "code": "", "id": ""} | whole.get("error", whole)
    return event({"status_code": status, "error": error})


# --- what is wrong with a request --------------------------------------------------------------------------------

_ROLES = ("system", "developer", "user", "assistant", "tool")


def refused(message: str, param: str) -> Refusal:
    """A refusal of valid fields that are incompatible, with the parameter to blame."""
    return Refusal(FailureKind.INVALID_REQUEST, message, param)


def exclusive(name: str, other: str) -> Refusal:
    """The refusal of two fields that exclude each other, as recorded of `tools` and `response_format`."""
    return refused(f'"{name}" is incompatible with "{other}"', "validation_error")


def explain(violations: Sequence[Violation], body: Body) -> Refusal:
    """All violations of a body in one message, a line each, as the service words them."""
    mistyped = {violation.path for violation in violations if violation.rule == "type"}
    # A value of the wrong type violates an enumeration too, but is reported once.
    # Nor does it look into a list that is too long.
    too_long = {violation.path for violation in violations if violation.rule == "maxItems"}
    looked_into = (each for each in violations if each.path[:-1] not in too_long)
    single = (each for each in looked_into if each.rule == "type" or each.path not in mistyped)
    # A value that is no message at all violates the schema of every role, but is reported once.
    lines = dict.fromkeys(line for violation in single for line in _lines(violation, body))
    return Refusal(FailureKind.INVALID_REQUEST, "\n".join(lines))


def _lines(violation: Violation, body: Body) -> Iterator[str]:
    """What the service says of a violation; of a value that may be of two kinds, what is wrong with it as either."""
    path, either, kind = _tagged(violation.path, body), 0, ""
    match path:
        case ("messages", int() as place, "role"):
            yield f"messages.{place}: {_role_words(violation)}"
            return
        case ("prompt",):
            yield "prompt: Input should be a valid string, or a list of strings, tokens or token lists"
            return
        case ("stop", *_):
            either, kind = 1, "list[str]"
        case ("messages", int(), str(), "content", *rest) if violation.rule != "required" or rest:
            # Recorded, but for the name of the other kind.
            either, kind = 4, "list"
    if kind:
        yield f"{'.'.join(map(str, path[:either]))}.str: Input should be a valid string"
        if len(path) == either and violation.rule == "type":
            violation = violation._replace(expected="array")
        path = (*path[:either], kind, *path[either:])
    name = ".".join(map(str, path))
    words = f"property '{name}' is unsupported" if violation.rule == "additionalProperties" else _words(violation)
    yield f"{name}: {words}"


def _tagged(path: Sequence[str | int], body: Body) -> Sequence[str | int]:
    """The path, with the role of the message or the kind of the choice into which it leads (recorded)."""
    match path:
        case ("messages", int() as place, _, *_) if place < len(body["messages"]):
            message: Any = body["messages"][place]
            role = message.get("role") if isinstance(message, dict) else None
            return (*path[:2], role, *path[2:]) if role in _ROLES else path
        case ("tool_choice", _, *_):
            return ("tool_choice", "ChoiceObject", *path[1:])
    return path


def _role_words(violation: Violation) -> str:
    if violation.rule == "required":
        return "Unable to extract tag using discriminator 'role'"
    known = ", ".join(map(repr, _ROLES))
    return f"Input tag '{violation.found}' found using 'role' does not match any of the expected tags: {known}"


def _words(violation: Violation) -> str:
    """Pydantic's words; of several types it names the first."""
    match violation.rule, violation.expected:
        case "type", [first, *_]:
            violation = violation._replace(expected=first)
        case "const", _:
            violation = violation._replace(rule="enum")
    words = pydantic_words(violation)
    return words[1] if words else violation.message


# --- rate limits ----------------------------------------------------------------------------------------------------

_SECOND, _MINUTE, _HOUR, _DAY = PERIODS.values()

_FREE = Allowance(
    (
        Limit("requests", _MINUTE, 30),
        Limit("requests", _HOUR, 900),
        Limit("requests", _DAY, 14_400),
        Limit("tokens", _MINUTE, 60_000),
        Limit("tokens", _HOUR, 1_000_000),
        Limit("tokens", _DAY, 1_000_000),
    )
)
_DEVELOPER = per_minute(1_000, 1_000_000)
# The headers of answers in the free tier, in the middle of 2026. By a user's measurement of that time an answer is
# charged with at most 16,384 tokens, and with as many if its length is not limited.
_FREE_2026 = Allowance(
    (
        Limit("requests", _MINUTE, 5),
        Limit("requests", _HOUR, 150),
        Limit("requests", _DAY, 2_400),
        Limit("tokens", _MINUTE, 30_000),
        Limit("tokens", _DAY, 1_000_000),
    ),
    answer=16_384,
)

# The two limits whose resets are documented; today's answers state only limit and remaining of the others.
_WITH_RESET = {("requests", "day"), ("tokens", "minute")}

_PAST: dict[LimitUnit, str] = {"requests": "too many requests sent.", "tokens": "too many tokens processed."}


def _refuse(refused: Refused, now: float) -> Refusal:
    """The refusal of a request beyond a quota; too many generations at once are refused as a full queue.

    The client is told to wait until the limit is full again, in whole seconds (recorded: 58 for requests per minute,
    86400 for a day); a request that never fits is not told to wait.
    """
    worst = refused.worst
    if worst is None:
        return Refusal(FailureKind.OVERLOADED)
    measure = worst.limit.measure
    message = f"{measure.capitalize()} per {worst.limit.period} limit exceeded - {_PAST[measure]}"
    headers = ((b"retry-after", b"%d" % worst.full_at()),) if isfinite(worst.wait) else ()
    return Refusal(FailureKind.RATE_LIMIT, message, headers=headers)


# "charged up front: estimated prompt tokens + max_tokens (or the model maximum when unset)".
QUOTAS = QuotaPolicy({"free": _FREE, "developer": _DEVELOPER, "free-2026": _FREE_2026}, refuse=_refuse, up_front=True)

# --- headers -----------------------------------------------------------------------------------------------------

# Recorded in 2025 and in 2026.
_TRANSPORT: Mapping[Edition, bytes] = {
    "documented": b"max-age=3600; includeSubDomains",
    "observed": b"max-age=15552000; includeSubDomains; preload",
}
_EDGE: Mapping[Edition, RawHeaders] = {
    edition: (
        (b"server", b"cloudflare"),
        (b"cf-cache-status", b"DYNAMIC"),
        (b"alt-svc", b'h3=":443"; ma=86400'),
        (b"referrer-policy", b"strict-origin-when-cross-origin"),
        (b"strict-transport-security", transport),
        (b"x-content-type-options", b"nosniff"),
    )
    for edition, transport in _TRANSPORT.items()
}


# Today's refusals without any limits: of formats, as users posted in January and May 2026, and because of a full queue,
# as one measured in August.
_WITHOUT_LIMITS = {
    FailureKind.INVALID_REQUEST,
    FailureKind.MALFORMED_JSON,
    FailureKind.NOT_AN_OBJECT,
    FailureKind.OVERLOADED,
}


def every_answer(call: Call, scope: RequestScope) -> RawHeaders:
    """The headers of each answer; resets are in seconds, as decimal fractions."""
    silent = scope.edition == "observed" and scope.refused in _WITHOUT_LIMITS
    return (
        date_header(int(scope.now)),
        *(() if silent else _limits_left(scope) if scope.limit_states else _unlimited(scope)),
        (b"cf-ray", f"{hex_digits(scope.identity, 16, 'cf-ray')}-FRA".encode()),
        *_EDGE[scope.edition],
    )


def _limits_left(scope: RequestScope) -> RawHeaders:
    """The caller's limits, what is left of them, and in how many seconds (a fraction) they are full again."""
    resets = [
        (f"x-ratelimit-reset-{limit.measure}-{limit.period}".encode(), b"%r" % reset)
        for limit, reset in [(each.limit, each.reset) for each in scope.limit_states]
        if scope.edition == "documented" or (limit.measure, limit.period) in _WITH_RESET
    ]
    return (*_stated(scope.limit_states), *resets)


def _unlimited(scope: RequestScope) -> RawHeaders:
    return (
        *_assumed(scope.edition, spent=scope.refused is FailureKind.RATE_LIMIT),
        (b"x-ratelimit-reset-requests-day", b"%r" % (86_400 - scope.now % 86_400)),
        (b"x-ratelimit-reset-tokens-minute", b"%r" % (60 - scope.now % 60)),
    )


@cache
def _assumed(edition: Edition, *, spent: bool) -> RawHeaders:
    """The limits of the free tier, of which one request has been taken, or all of a minute's."""

    def taken(limit: Limit) -> int:
        if limit.measure != "requests":
            return 0
        return limit.amount if spent and limit.period == "minute" else 1

    limits = _FREE_2026.limits
    if edition == "documented":
        limits = tuple(limit for limit in _FREE.limits if (limit.measure, limit.period) in _WITH_RESET)
    return _stated(LimitState(limit, taken(limit)) for limit in limits)


def _stated(limit_states: Iterable[LimitState]) -> RawHeaders:
    return limit_headers([(f"{each.limit.measure}-{each.limit.period}".encode(), each) for each in limit_states])

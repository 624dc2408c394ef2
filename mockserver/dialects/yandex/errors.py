"""Yandex' errors: only a message and a type under `error` (vendor note A5).

Statuses are the vendor's map from gRPC codes; 404, 405, 413 and 415 are not on it and have their usual meaning.
Messages that nobody has recorded are our own."""

from collections.abc import Callable, Sequence

from mockserver.core.dialects import Edition, ErrorTable, ErrorTemplate, RequestScope
from mockserver.core.failures import FailureKind, Refusal, Violation
from mockserver.core.http import Call
from mockserver.core.quotas import Allowance, QuotaPolicy, Refused
from mockserver.core.seeding import derive
from mockserver.dialects.openai.errors import ErrorRow
from mockserver.dialects.yandex.models import ModelUri, request_id

_ROWS: dict[FailureKind, ErrorRow] = {
    # Recorded of an `input` in a form that the service does not know.
    FailureKind.MALFORMED_JSON: ErrorRow(400, "Failed to parse request JSON"),
    FailureKind.NOT_AN_OBJECT: ErrorRow(400, "Failed to parse request JSON"),
    FailureKind.INVALID_REQUEST: ErrorRow(400, "The request is not valid"),
    FailureKind.UNSUPPORTED_MEDIA_TYPE: ErrorRow(415, "The content type is not supported"),
    FailureKind.BODY_TOO_LARGE: ErrorRow(413, "The request body is too large"),
    FailureKind.MISSING_CREDENTIALS: ErrorRow(
        401, "IAM token or API key has to be passed in request", "authentication_error"
    ),
    FailureKind.UNAUTHORIZED: ErrorRow(401, "Unknown api key '{key}'", "authentication_error"),
    FailureKind.FORBIDDEN: ErrorRow(403, "Permission denied", "permission_error"),
    # "402, 404, 413, 422 are not documented": a missing payment becomes a denied permission.
    FailureKind.PAYMENT_REQUIRED: ErrorRow(403, "The billing account is not active", "permission_error"),
    FailureKind.UNKNOWN_MODEL: ErrorRow(400, "Failed to get model"),
    FailureKind.UNKNOWN_PATH: ErrorRow(404, "Not Found"),
    FailureKind.WRONG_METHOD: ErrorRow(405, "Method Not Allowed"),
    # One token too many for yandexgpt: clients search the message for these words.
    FailureKind.CONTEXT_LENGTH: ErrorRow(400, "number of input tokens must be no more than 32768, got 32769"),
    FailureKind.CONTENT_FILTER: ErrorRow(400, "The request was refused by a content filter"),
    FailureKind.RATE_LIMIT: ErrorRow(
        429,
        "ai.textGenerationCompletionSessionsCount.count gauge quota limit exceed: allowed 10 requests",
        "rate_limit_error",
    ),
    FailureKind.OVERLOADED: ErrorRow(503, "The service is unavailable, try again later", "server_error"),
    FailureKind.TIMEOUT: ErrorRow(504, "The deadline of the request was exceeded", "server_error"),
    FailureKind.SERVER_ERROR: ErrorRow(500, "Internal server error", "server_error"),
}


def _template(row: ErrorRow) -> ErrorTemplate:
    def body(refusal: Refusal, words: str) -> object:
        # The only refusal that repeats a part of the request: the key, "masked".
        if refusal.kind is FailureKind.UNAUTHORIZED:
            words = words.replace("{key}", _masked(refusal.key or ""))
        return {"error": {"message": words, "type": row.type}}

    return ErrorTemplate(row.status, row.message, body)


def _masked(key: str) -> str:
    return f"{key[:4]}****{key[-4:]}" if len(key) > 12 else "****"


_TABLE: ErrorTable = {kind: _template(row) for kind, row in _ROWS.items()}
ERRORS: dict[Edition, ErrorTable] = {"documented": _TABLE, "observed": _TABLE}

_TYPES = {
    "integer": "an integer",
    "number": "a number",
    "boolean": "a boolean",
    "string": "a string",
    "array": "an array",
    "object": "an object",
    "null": "null",
}
_WORDINGS: dict[str, Callable[[Violation], str]] = {
    "required": lambda v: "is required",
    "type": lambda v: f"must be {_types(v.expected)}",
    "enum": lambda v: f"must be one of {_values(v.expected)}",
    "const": lambda v: f"must be {v.expected!r}",
    "minimum": lambda v: f"must be at least {v.expected}",
    "maximum": lambda v: f"must be at most {v.expected}",
    "minItems": lambda v: "must not be empty",
    "minLength": lambda v: "must not be empty",
    "maxLength": lambda v: f"must be at most {v.expected} characters",
    # "Must be a-z, A-Z, 0-9, or contain underscores and dashes"
    "not": lambda v: "may hold letters, digits, underscores and dashes only",
    "anyOf": lambda v: "must name a function or a custom tool",
}


def explain(violations: Sequence[Violation], fields: Sequence[str]) -> Refusal:
    """The refusal of a body for its first violation only, in the order of `fields`."""
    if not violations:
        return Refusal(FailureKind.INVALID_REQUEST)
    first = min(violations, key=lambda violation: fields.index(str(violation.path[0])))
    wording = _WORDINGS.get(first.rule)
    return fault(first.field, wording(first) if wording else "is not valid")


def fault(field: str, wording: str) -> Refusal:
    """The refusal of one field, in words of our own."""
    return Refusal(FailureKind.INVALID_REQUEST, f"'{field}' {wording}", field)


def _types(expected: object) -> str:
    names = expected if isinstance(expected, list) else [expected]
    return " or ".join(_TYPES[str(name)] for name in names)


def _values(expected: object) -> str:
    return ", ".join(repr(value) for value in expected if value is not None) if isinstance(expected, list) else ""


# --- sessions --------------------------------------------------------------------------------------------------------


def in_session(kind: FailureKind, said: str, uri: ModelUri, call: Call, scope: RequestScope) -> Refusal:
    """A refusal whose message is that of the fault (`said`), preceded by the session of the request."""
    words = (f"{derive(scope.identity, 'session', part) & 0xFFFF_FFFF:x}" for part in range(4))
    request = request_id(scope)
    client = call.headers.get("x-client-request-id") or request
    session = f"internal_id={'-'.join(words)}&request_id={request}&client_request_id={client}&folder_id={uri.folder}"
    return Refusal(kind, f"Error in session {session}: {said}")


# --- quotas ----------------------------------------------------------------------------------------------------------


def _refuse(refused: Refused, now: float) -> Refusal:
    """The refusal for an exhausted quota: its name, its kind, and the amount that it allows."""
    worst = refused.worst
    if worst is None:
        name, kind, allowed = "SessionsCount.count", "gauge", f"{refused.concurrent} requests"
    else:
        limit = worst.limit
        name, kind = f"{limit.measure.capitalize()}Per{limit.period.capitalize()}.rate", "rate"
        allowed = f"{limit.amount} {limit.measure}"
    return Refusal(
        FailureKind.RATE_LIMIT, f"ai.textGenerationCompletion{name} {kind} quota limit exceed: allowed {allowed}"
    )


QUOTAS = QuotaPolicy({"default": Allowance(concurrent=10)}, refuse=_refuse)

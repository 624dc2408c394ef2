"""Yandex' errors: only a message and a type under `error` (vendor note A5).

Statuses are the vendor's map from gRPC codes; 404, 405, 413 and 415 are not on it and have their usual meaning.
Messages that nobody has recorded are our own."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from mockserver.core.calls import Call
from mockserver.core.dialects import Edition, ErrorTable, ErrorTemplate, RequestScope
from mockserver.core.failures import FailureKind, Refusal, Violation
from mockserver.core.seeding import derive
from mockserver.dialects.yandex.limits import request_id
from mockserver.dialects.yandex.models import ModelUri


class _Row(NamedTuple):
    status: int
    type: str
    message: str


_ROWS: dict[FailureKind, _Row] = {
    # Recorded of an `input` in a form that the service does not know.
    FailureKind.MALFORMED_JSON: _Row(400, "invalid_request_error", "Failed to parse request JSON"),
    FailureKind.NOT_AN_OBJECT: _Row(400, "invalid_request_error", "Failed to parse request JSON"),
    FailureKind.INVALID_REQUEST: _Row(400, "invalid_request_error", "The request is not valid"),
    FailureKind.UNSUPPORTED_MEDIA_TYPE: _Row(415, "invalid_request_error", "The content type is not supported"),
    FailureKind.BODY_TOO_LARGE: _Row(413, "invalid_request_error", "The request body is too large"),
    FailureKind.MISSING_CREDENTIALS: _Row(
        401, "authentication_error", "IAM token or API key has to be passed in request"
    ),
    FailureKind.UNAUTHORIZED: _Row(401, "authentication_error", "Unknown api key '{key}'"),
    FailureKind.FORBIDDEN: _Row(403, "permission_error", "Permission denied"),
    # "402, 404, 413, 422 are not documented": a missing payment becomes a denied permission.
    FailureKind.PAYMENT_REQUIRED: _Row(403, "permission_error", "The billing account is not active"),
    FailureKind.UNKNOWN_MODEL: _Row(400, "invalid_request_error", "Failed to get model"),
    FailureKind.UNKNOWN_PATH: _Row(404, "invalid_request_error", "Not Found"),
    FailureKind.WRONG_METHOD: _Row(405, "invalid_request_error", "Method Not Allowed"),
    # One token too many for yandexgpt: clients search the message for these words.
    FailureKind.CONTEXT_LENGTH: _Row(
        400, "invalid_request_error", "number of input tokens must be no more than 32768, got 32769"
    ),
    FailureKind.CONTENT_FILTER: _Row(400, "invalid_request_error", "The request was refused by a content filter"),
    FailureKind.RATE_LIMIT: _Row(
        429,
        "rate_limit_error",
        "ai.textGenerationCompletionSessionsCount.count gauge quota limit exceed: allowed 10 requests",
    ),
    FailureKind.OVERLOADED: _Row(503, "server_error", "The service is unavailable, try again later"),
    FailureKind.TIMEOUT: _Row(504, "server_error", "The deadline of the request was exceeded"),
    FailureKind.SERVER_ERROR: _Row(500, "server_error", "Internal server error"),
}


def _template(row: _Row) -> ErrorTemplate:
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

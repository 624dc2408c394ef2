"""Cerebras' errors: nested under `error` as the page has them, flat as the service sends them (vendor note A4).

Bodies marked in the note as guesses keep the service's own pattern: type, param and code in its words. A refusal has
each violation on a line of its own, in the words of the service's validator: recorded since May 2026 are
`effort: property 'effort' is unsupported`, and of messages, whose role is part of the path,
`messages.2.assistant.reasoning_content: ...`. Until then paths began with `body.`.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from mockserver.core.dialects import Edition, ErrorTable, ErrorTemplate
from mockserver.core.failures import FailureKind, Refusal, Violation
from mockserver.dialects.contracts import pydantic_words
from mockserver.dialects.openai.errors import ErrorRow
from mockserver.dialects.openai.read import Body
from mockserver.dialects.openai.replies import event

_ROWS: dict[FailureKind, ErrorRow] = {
    FailureKind.MALFORMED_JSON: ErrorRow(
        400, ": Invalid JSON: expected value at line 1 column 1", code="wrong_api_format", param="validation_error"
    ),
    FailureKind.NOT_AN_OBJECT: ErrorRow(
        400, ": Input should be an object", code="wrong_api_format", param="validation_error"
    ),
    FailureKind.INVALID_REQUEST: ErrorRow(
        400, ": the request is not valid", code="wrong_api_format", param="validation_error"
    ),
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
_MOST_STOPS = 4


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
    single = (each for each in violations if each.rule == "type" or each.path not in mistyped)
    # A value that is no message at all violates the schema of every role, but is reported once.
    lines = dict.fromkeys(line for violation in single for line in _lines(violation, body))
    return Refusal(FailureKind.INVALID_REQUEST, "\n".join(lines))


def _lines(violation: Violation, body: Body) -> Iterator[str]:
    """What the service says of a violation; of a value that may be of two kinds, what is wrong with it as either."""
    path = _tagged(violation.path, body)
    match path:
        case ("messages", int() as place, "role"):
            yield f"messages.{place}: {_role_words(violation)}"
            return
        case ("stop",):
            yield from _stop_lines(body["stop"])
            return
        case ("prompt",):
            yield "prompt: Input should be a valid string, or a list of strings, tokens or token lists"
            return
        case ("messages", int(), str(), "content", *rest) if violation.rule != "required" or rest:
            # Recorded, but for the name of the other kind.
            yield f"{'.'.join(map(str, path[:4]))}.str: Input should be a valid string"
            path = (*path[:4], "list", *rest)
            if not rest:
                yield f"{'.'.join(map(str, path))}: Input should be a valid list"
                return
    name = ".".join(map(str, path))
    words = f"property '{name}' is unsupported" if violation.rule == "additionalProperties" else _words(violation)
    yield f"{name}: {words}"


def _stop_lines(stop: Any) -> Iterator[str]:
    """Recorded of a list that is too long."""
    yield "stop.str: Input should be a valid string"
    if not isinstance(stop, list):
        yield "stop.list[str]: Input should be a valid list"
    elif len(stop) > _MOST_STOPS:
        yield f"stop.list[str]: List should have at most {_MOST_STOPS} items after validation, not {len(stop)}"
    else:
        for place, text in enumerate(stop):
            if not isinstance(text, str):
                yield f"stop.list[str].{place}: Input should be a valid string"


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

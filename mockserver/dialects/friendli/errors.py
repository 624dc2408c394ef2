"""FriendliAI's errors (vendor note B).

The errors of today are as recorded, the others guessed, since neither page nor service documents any.

Recorded today: the gateway in front of everything says `{"detail": "..."}` (no key, no such model, no credits), the
engine behind it `{"message": "..."}` with 422. If the engine fails, the gateway retries and then says so in plain text,
with 500. Guessed: by the page, and in completions to this day, what breaks the contract gets 422 and FastAPI's
`{"detail": [...]}`, which is the HTTPValidationError of the vendor's management API; everything else the
`{"message": ..., "error": {}}` that the vendor's provider for Vercel reads (vendor note B4). `contract/refusals.json`
has the words of the page's; that of a prompt which is too long is by one token too many for most of its models.
"""

from collections.abc import Iterable
from typing import Any

from mockserver.core.dialects import Edition, ErrorTable, ErrorTemplate, error_event
from mockserver.core.failures import FailureKind, Refusal, Violation
from mockserver.core.seeding import hex_digits
from mockserver.dialects.contracts import Words, components, custom_words, pydantic_words

# Pydantic's prefix of the messages of custom checks.
_VALUE_ERROR = "Value error, "
_WORDS = components(__package__, "refusals")()
# The status and the message of what is refused as a whole; the code and the message of a body that is.
_MESSAGES: dict[FailureKind, tuple[int, str]] = {FailureKind(kind): row for kind, row in _WORDS["messages"].items()}
_DETAILS: dict[FailureKind, tuple[str, str]] = {FailureKind(kind): row for kind, row in _WORDS["details"].items()}


def _message(refusal: Refusal, message: str) -> dict[str, Any]:
    return {"message": message, "error": {}}


def _gateway(refusal: Refusal, message: str) -> dict[str, Any]:
    return {"detail": message}


def not_found(name: str) -> str:
    """How today's gateway refuses a model that it does not know."""
    return f"Model '{name}' not found."


def _no_model(refusal: Refusal, message: str) -> dict[str, Any]:
    name = refusal.model
    return _gateway(refusal, not_found(name) if name and not refusal.message else message)


def _by_page(kind: FailureKind) -> ErrorTemplate:
    """A body that is refused for all its violations."""
    code, wording = _DETAILS[kind]

    def body(refusal: Refusal, message: str) -> dict[str, Any]:
        where = ["body", refusal.param] if refusal.param else ["body"]
        whole = {"loc": where, "msg": message, "type": refusal.code or code}
        return {"detail": _details(refusal.violations) or [whole]}

    return ErrorTemplate(422, wording, body)


def _by_engine(refusal: Refusal, message: str) -> dict[str, Any]:
    """Today's engine refuses all but completions for the first violation alone, in one message, which the Messages API
    states in Anthropic's form."""
    path = refusal.call.path if refusal.call is not None else ""
    if refusal.violations and path.endswith("/v1/completions"):
        return {"detail": _details(refusal.violations)}
    if refusal.violations:
        message = _first_fault(refusal.violations[0])
    if not path.endswith("/v1/messages"):
        return {"message": message}
    error = {"type": refusal.code or "invalid_request_error", "message": message}
    return {"type": "error", "error": error, "request_id": f"req_{hex_digits(refusal.identity, 24, 'request')}"}


# Recorded of a wrong key; a missing one is assumed to be refused the same way.
_UNAUTHORIZED = ErrorTemplate(401, "Unauthorized. Please provide a valid credential.", _gateway)
# Recorded in September 2026, headers and line end included.
_FAILED = ErrorTemplate(
    500,
    "Service Error: Max retries reached for status 500",
    lambda refusal, message: f"{message}\n".encode(),
    headers=((b"x-content-type-options", b"nosniff"),),
    content_type=b"text/plain; charset=utf-8",
    midstream_message=_MESSAGES[FailureKind.SERVER_ERROR][1],
)
_DOCUMENTED: ErrorTable = {
    **{kind: ErrorTemplate(status, wording, _message) for kind, (status, wording) in _MESSAGES.items()},
    **{kind: _by_page(kind) for kind in _DETAILS},
    # "Gives the HTTP 429 Too Many Requests response status code."
    FailureKind.TIMEOUT: ErrorTemplate(429, _MESSAGES[FailureKind.TIMEOUT][1], _message),
}
ERRORS: dict[Edition, ErrorTable] = {
    "documented": _DOCUMENTED,
    "observed": {
        **_DOCUMENTED,
        **{
            kind: ErrorTemplate(422, wording.removeprefix(_VALUE_ERROR), _by_engine)
            for kind, (_, wording) in _DETAILS.items()
        },
        # `timeout_microseconds` is gone: today it is a gateway that times out.
        FailureKind.TIMEOUT: ErrorTemplate(*_MESSAGES[FailureKind.TIMEOUT], _message),
        FailureKind.MISSING_CREDENTIALS: _UNAUTHORIZED,
        FailureKind.UNAUTHORIZED: _UNAUTHORIZED,
        FailureKind.UNKNOWN_MODEL: ErrorTemplate(404, "Model not found.", _no_model),
        FailureKind.SERVER_ERROR: _FAILED,
        # Recorded as far as the full stop.
        FailureKind.PAYMENT_REQUIRED: ErrorTemplate(403, "You've exhausted all your credits.", _gateway),
    },
}


def stream_error(status: int, body: object) -> bytes:
    """The event that ends a stream which fails half-way: an object even if the same refusal is plain text otherwise."""
    return error_event(status, {"message": body.decode().rstrip(), "error": {}} if isinstance(body, bytes) else body)


def invalid(violations: Iterable[Violation], kind: FailureKind = FailureKind.INVALID_REQUEST) -> Refusal:
    """The refusal of a body for all its violations of the contract."""
    return Refusal(kind, violations=tuple(violations))


# --- violations in the words of FastAPI -------------------------------------------------------------------------------


def _words(violation: Violation) -> Words | None:
    """The code and the message of a violation; None if FastAPI has none of its own."""
    match violation.rule:
        case "json":
            return _DETAILS[FailureKind.MALFORMED_JSON][0], violation.message
        case "object":
            return _DETAILS[FailureKind.NOT_AN_OBJECT]
    return pydantic_words(violation)


def _first_fault(violation: Violation) -> str:
    if violation.field == "reasoning_effort" and isinstance(violation.found, str):
        # Recorded: the engine knows the efforts as an enumeration.
        return f"invalid JSON payload: unknown enum value: '{violation.found}'"
    words = _words(violation)
    # A body that is not JSON has the position of its error, but no field.
    field = violation.field if violation.rule != "json" else ""
    return f"{field}: {words[1]}".removeprefix(": ") if words else violation.message


def _details(violations: Iterable[Violation]) -> list[dict[str, Any]]:
    """An entry for each violation, but only one if two parts of a schema object to the same value."""
    entries = {}
    for violation in violations:
        code, message = _words(violation) or custom_words(violation.message)
        entries[violation.path, message] = {"loc": ["body", *violation.path], "msg": message, "type": code}
    return list(entries.values())

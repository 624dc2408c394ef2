"""Anthropic's errors (facts A10), credentials and required headers (A1).

A body is `{"type": "error", "error": {"type", "message"}, "request_id"}`, and the header `request-id` has the same id.
"""

import re
from collections.abc import Mapping
from typing import Any

import orjson

from mockserver.core.calls import Call
from mockserver.core.dialects import ErrorTable, ErrorTemplate
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.seeding import alphanumerics
from mockserver.dialects.openai.fields import bearer

VERSIONS = ("2023-06-01", "2026-10-21")
ORGANIZATION = "7c1f9b52-3e64-4d0a-9b1e-52c8a06fd3e7"
INVALID = "invalid_request_error"

# How an OAuth token begins, which is refused in other words than a key.
_TOKEN = "sk-ant-oat"
# What a client may ask again, and what it may not.
_RETRY, _NO_RETRY = (b"x-should-retry", b"true"), (b"x-should-retry", b"false")
# Beyond 400: the status, the type and the usual wording of each kind of failure.
_ROWS: Mapping[FailureKind, tuple[int, str, str]] = {
    FailureKind.BODY_TOO_LARGE: (413, "request_too_large", "Request exceeds the maximum size"),
    FailureKind.MISSING_CREDENTIALS: (401, "authentication_error", "x-api-key header is required"),
    FailureKind.UNAUTHORIZED: (401, "authentication_error", "invalid x-api-key"),
    FailureKind.FORBIDDEN: (
        403,
        "permission_error",
        "Your API key does not have permission to use the specified resource.",
    ),
    FailureKind.PAYMENT_REQUIRED: (
        400,
        INVALID,
        "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or "
        "purchase credits.",
    ),
    FailureKind.UNKNOWN_MODEL: (404, "not_found_error", "model: {model}"),
    FailureKind.UNKNOWN_PATH: (404, "not_found_error", "Not found"),
    FailureKind.WRONG_METHOD: (405, INVALID, "Method Not Allowed"),
    FailureKind.RATE_LIMIT: (
        429,
        "rate_limit_error",
        f"This request would exceed your organization's rate limit of 50 requests per minute (org: {ORGANIZATION}, "
        "model: {model}). For details, refer to: https://docs.claude.com/en/api/rate-limits. You can see the response "
        "headers for current usage. Please try again later or contact sales at https://claude.com/contact-sales to "
        "discuss your options for a rate limit increase.",
    ),
    FailureKind.SERVER_ERROR: (500, "api_error", "Internal server error"),
    FailureKind.TIMEOUT: (504, "timeout_error", "Request timed out"),
    FailureKind.OVERLOADED: (529, "overloaded_error", "Overloaded"),
    FailureKind.MALFORMED_JSON: (400, INVALID, "The request body is not valid JSON"),
    FailureKind.NOT_AN_OBJECT: (400, INVALID, "Input should be an object"),
    FailureKind.INVALID_REQUEST: (400, INVALID, "Invalid request"),
    FailureKind.UNSUPPORTED_MEDIA_TYPE: (400, INVALID, "The request body is not valid JSON"),
    # One token too many for a window of 200,000: clients search the message for the figures.
    FailureKind.CONTEXT_LENGTH: (400, INVALID, "prompt is too long: 200001 tokens > 200000 maximum"),
    FailureKind.CONTENT_FILTER: (400, INVALID, "Output blocked by content filtering policy"),
}
_REPEATABLE = (FailureKind.RATE_LIMIT, FailureKind.OVERLOADED)


def request_id(identity: int) -> str:
    """The id of a request."""
    return f"req_011{alphanumerics(identity, 21, 'request')}"


def _template(kind: FailureKind, status: int, type_: str, message: str) -> ErrorTemplate:
    def body(refusal: Refusal, words: str) -> dict[str, Any]:
        # Only in wordings of ours does a name in braces stand for anything.
        if words == message or kind is FailureKind.RATE_LIMIT:
            words = words.replace("{model}", refusal.model or "claude-sonnet-4-6")
        if kind is FailureKind.UNAUTHORIZED and (refusal.key or "").startswith(_TOKEN):
            words = "Invalid bearer token"
        return {
            "type": "error",
            "error": {"type": type_, "message": words},
            "request_id": request_id(refusal.identity),
        }

    again = (_RETRY,) if kind in _REPEATABLE else (_NO_RETRY,) if status == 400 else ()
    waits = ((b"retry-after", b"20"),) if kind is FailureKind.RATE_LIMIT else ()
    return ErrorTemplate(status, message, body, headers=(*again, *waits))


ERRORS: ErrorTable = {kind: _template(kind, *row) for kind, row in _ROWS.items()}


def stream_error(status: int, body: Any) -> bytes:
    """The event that ends a failing stream; within it `details` come before the type (recorded)."""
    return b"event: error\ndata: %b\n\n" % orjson.dumps({**body, "error": {"details": None, **body["error"]}})


def invalid(message: str) -> Refusal:
    """A refusal with 400."""
    return Refusal(FailureKind.INVALID_REQUEST, message)


def api_key(call: Call) -> str | None:
    """The key of a call: `x-api-key` takes precedence over `Authorization: Bearer`."""
    return call.headers.get("x-api-key") or bearer(call)


_BETA = re.compile(r"[a-z][a-z0-9-]*-20\d\d-\d\d-\d\d")


def betas(call: Call) -> list[str]:
    """The betas that a call asks for, in any number of headers."""
    values = [value.decode("latin-1") for name, value in call.headers.raw if name == b"anthropic-beta"]
    return [name.strip() for value in values for name in value.split(",") if name.strip()]


def headers_fault(call: Call) -> Refusal | None:
    """Why the headers that every call has are refused; None if they are not."""
    version = call.headers.get("anthropic-version")
    if version is None:
        return invalid("anthropic-version: header is required")
    if version not in VERSIONS:
        return invalid(f'anthropic-version: "{version[:200]}" is not a valid version')
    unknown = [f"`{name[:200]}`" for name in betas(call) if not _BETA.fullmatch(name)]
    if unknown:
        return invalid(
            f"Unexpected value(s) {', '.join(unknown)} for the `anthropic-beta` header. Please consult our "
            "documentation at docs.claude.com or try again without the header."
        )
    return None

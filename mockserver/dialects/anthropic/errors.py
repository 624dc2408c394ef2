"""Anthropic's errors (facts A10), credentials and required headers (A1); the wordings are in `contract/refusals.json`.

A body is `{"type": "error", "error": {"type", "message"}, "request_id"}`, and the header `request-id` has the same id.
"""

import re
from typing import Any

import orjson

from mockserver.core.calls import Call
from mockserver.core.dialects import ErrorTable, ErrorTemplate
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.seeding import alphanumerics
from mockserver.dialects.contracts import components
from mockserver.dialects.openai.fields import bearer

VERSIONS = ("2023-06-01", "2026-10-21")
WORDS = components(__package__, "refusals")()
ORGANIZATION: str = WORDS["organization"]
# Claude Code asks for one whose date has no dashes.
_BETA = re.compile(r"[a-z][a-z0-9-]*-20\d\d-?\d\d-?\d\d")


def refused(name: str, /, **facts: object) -> Refusal:
    """The refusal of that name, with 400; what it says of the request is cut if it is long."""
    said = {key: value[:1_000] if isinstance(value, str) else value for key, value in facts.items()}
    return Refusal(FailureKind.INVALID_REQUEST, WORDS["conflicts"][name].format(**said))


def request_id(identity: int) -> str:
    """The id of a request."""
    return f"req_011{alphanumerics(identity, 21, 'request')}"


def _template(kind: FailureKind, status: int, type_: str, message: str) -> ErrorTemplate:
    headers = WORDS["headers"].get(str(status), {})

    def body(refusal: Refusal, words: str) -> dict[str, Any]:
        # Only in wordings of ours does a name in braces stand for anything.
        if words == message or kind is FailureKind.RATE_LIMIT:
            words = words.replace("{model}", refusal.model or "claude-sonnet-4-6")
        if kind is FailureKind.UNAUTHORIZED and (refusal.key or "").startswith("sk-ant-oat"):
            words = "Invalid bearer token"
        details = {"details": {"error_code": refusal.code}} if refusal.code is not None else {}
        error = {"type": type_, "message": words, **details}
        return {"type": "error", "error": error, "request_id": request_id(refusal.identity)}

    return ErrorTemplate(status, message, body, headers=tuple((k.encode(), v.encode()) for k, v in headers.items()))


ERRORS: ErrorTable = {FailureKind(kind): _template(FailureKind(kind), *row) for kind, row in WORDS["failures"].items()}


def stream_error(status: int, body: Any) -> bytes:
    """The event that ends a failing stream; within it `details` come before the type (recorded)."""
    return b"event: error\ndata: %b\n\n" % orjson.dumps({**body, "error": {"details": None, **body["error"]}})


def api_key(call: Call) -> str | None:
    """The key of a call: `x-api-key` takes precedence over `Authorization: Bearer`."""
    return call.headers.get("x-api-key") or bearer(call)


def betas(call: Call) -> list[str]:
    """The betas that a call asks for, in any number of headers."""
    values = [value.decode("latin-1") for name, value in call.headers.raw if name == b"anthropic-beta"]
    return [name.strip() for value in values for name in value.split(",") if name.strip()]


def headers_fault(call: Call) -> Refusal | None:
    """Why the headers that every call has are refused; None if they are not."""
    version = call.headers.get("anthropic-version")
    if version is None:
        return refused("no_version")
    if version not in VERSIONS:
        return refused("unknown_version", version=version)
    unknown = [f"`{name}`" for name in betas(call) if not _BETA.fullmatch(name)]
    return refused("unknown_beta", names=", ".join(unknown)) if unknown else None

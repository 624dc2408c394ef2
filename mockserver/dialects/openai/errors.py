"""OpenAI's errors: `{"error": {"message", "type", "param", "code"}}`, pretty-printed, all four members always.

`{model}` and `{key}` in a wording of the table stand for the model that was asked for and the masked key that was sent.
"""

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import orjson

from mockserver.core.calls import Call
from mockserver.core.dialects import ErrorTable, ErrorTemplate, RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.dialects.openai.azure import azure_error
from mockserver.dialects.openai.read import is_azure
from mockserver.dialects.openai.replies import event

INVALID = "invalid_request_error"
# The organization and the project of every caller who names none.
ORGANIZATION = "org-Vn4cQ7yXr2LwT9kZb6HsJd3M"
PROJECT = "proj_8RkWq3ZtYb5NvLx7Hc2MsGd9"


ErrorBody = Callable[[Refusal, str], object]


class ErrorRow(NamedTuple):
    """A row of a vendor's errors, of which a table is made."""

    status: int
    message: str
    type: str = INVALID
    code: str | None = None
    param: str | None = None


_NOT_JSON = (
    "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library "
    "correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON. If you have trouble "
    "figuring out how to fix this, please contact us through our help center at help.openai.com.)"
)
NO_MODEL = "you must provide a model parameter"

_ROWS: dict[FailureKind, ErrorRow] = {
    FailureKind.MALFORMED_JSON: ErrorRow(400, _NOT_JSON),
    FailureKind.NOT_AN_OBJECT: ErrorRow(400, _NOT_JSON),
    FailureKind.INVALID_REQUEST: ErrorRow(
        400, "The request is not valid. Please check the API reference: https://platform.openai.com/docs/api-reference."
    ),
    FailureKind.UNSUPPORTED_MEDIA_TYPE: ErrorRow(400, NO_MODEL),
    FailureKind.BODY_TOO_LARGE: ErrorRow(413, "The request body is too large."),
    FailureKind.MISSING_CREDENTIALS: ErrorRow(
        401,
        "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth "
        "(i.e. Authorization: Bearer YOUR_KEY), or as the password field (with blank username) if you're accessing the "
        "API from your browser and are prompted for a username and password. You can obtain an API key from "
        "https://platform.openai.com/account/api-keys.",
    ),
    FailureKind.UNAUTHORIZED: ErrorRow(
        401,
        "Incorrect API key provided: {key}. You can find your API key at https://platform.openai.com/account/api-keys.",
        code="invalid_api_key",
    ),
    FailureKind.FORBIDDEN: ErrorRow(
        403,
        "Country, region, or territory not supported",
        "request_forbidden",
        "unsupported_country_region_territory",
    ),
    FailureKind.PAYMENT_REQUIRED: ErrorRow(
        429,
        "You exceeded your current quota, please check your plan and billing details. For more information on this "
        "error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.",
        "insufficient_quota",
        "insufficient_quota",
    ),
    FailureKind.UNKNOWN_MODEL: ErrorRow(
        404, "The model `{model}` does not exist or you do not have access to it.", code="model_not_found"
    ),
    FailureKind.UNKNOWN_PATH: ErrorRow(404, "Invalid URL"),
    FailureKind.WRONG_METHOD: ErrorRow(
        405, "Not allowed to use this method. (HINT: Perhaps you meant to use a different HTTP method?)"
    ),
    # One token too many for gpt-4o: clients search the message for the figures.
    FailureKind.CONTEXT_LENGTH: ErrorRow(
        400,
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 128001 tokens. "
        "Please reduce the length of the messages.",
        code="context_length_exceeded",
        param="messages",
    ),
    FailureKind.CONTENT_FILTER: ErrorRow(
        400,
        "Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try again with a "
        "different prompt.",
        code="invalid_prompt",
    ),
    FailureKind.RATE_LIMIT: ErrorRow(
        429,
        f"Rate limit reached for {{model}} in organization {ORGANIZATION} on requests per min (RPM): Limit 500, Used "
        "500, Requested 1. Please try again in 120ms. Visit https://platform.openai.com/account/rate-limits to learn "
        "more.",
        "requests",
        "rate_limit_exceeded",
    ),
    FailureKind.OVERLOADED: ErrorRow(
        503,
        "Our servers are currently overloaded. Please try again later.",
        "service_unavailable_error",
        "server_is_overloaded",
    ),
    FailureKind.TIMEOUT: ErrorRow(504, "The request timed out.", "server_error"),
    FailureKind.SERVER_ERROR: ErrorRow(
        500, "The server had an error while processing your request. Sorry about that!", "server_error"
    ),
}


# What those rows say for another vendor which speak of OpenAI.
_FOR_OTHERS: Mapping[FailureKind, str] = {
    FailureKind.MALFORMED_JSON: "The body is not valid JSON.",
    FailureKind.NOT_AN_OBJECT: "The body is not a JSON object.",
    FailureKind.INVALID_REQUEST: "The request is not valid.",
    FailureKind.UNSUPPORTED_MEDIA_TYPE: "The content type is not supported.",
    FailureKind.MISSING_CREDENTIALS: "No API key was provided.",
    FailureKind.UNAUTHORIZED: "Incorrect API key provided: {key}.",
    FailureKind.PAYMENT_REQUIRED: "The account has no credit left.",
    FailureKind.RATE_LIMIT: "Rate limit reached for {model}.",
}


def _refusal(row: ErrorRow, make: ErrorBody | None = None, model: str = "gpt-4o") -> ErrorTemplate:
    def body(refusal: Refusal, words: str) -> object:
        # Only in wordings of ours do names in braces stand for anything.
        if words == row.message or refusal.kind is FailureKind.RATE_LIMIT:
            words = words.replace("{key}", _masked(refusal.key or "")).replace("{model}", refusal.model or model)
        code = refusal.code or row.code
        if make is not None:
            status = refusal.status or row.status
            return make(refusal._replace(param=refusal.param or row.param, code=code, status=status), words)
        kind = "tokens" if row.type == "requests" and "tokens per" in words else row.type
        if code == "max_tokens_per_request":
            kind = code
        param, call = refusal.param or row.param, refusal.call
        if call is not None:
            own = azure_error(refusal.kind, refusal.message and words) if is_azure(call) else None
            if own is not None:
                return own
            if refusal.kind is FailureKind.UNKNOWN_MODEL and call.method != "POST":
                words, param = f"The model '{refusal.model}' does not exist", "model"
        told = {"error": {"message": words, "type": kind, "param": param, "code": code}}
        if call is not None and is_ahead(call, refusal.kind):
            return f"{json.dumps(told, indent=4, ensure_ascii=False)}\n".encode()
        return orjson.dumps(told, option=orjson.OPT_INDENT_2)

    return ErrorTemplate(row.status, row.message, body)


# Recorded: at these paths, wrong keys and unknown models are refused by a part of the service that stands ahead of the
# rest, whose bodies and headers are others.
_PATHS_AHEAD = ("/v1/chat/completions", "/v1/completions", "/v1/embeddings")
_KINDS_AHEAD = (FailureKind.MISSING_CREDENTIALS, FailureKind.UNAUTHORIZED, FailureKind.UNKNOWN_MODEL)


def is_ahead(call: Call, kind: FailureKind) -> bool:
    """Whether a call is refused before it comes to the part of the service that answers it."""
    return kind in _KINDS_AHEAD and call.path in _PATHS_AHEAD


def _masked(key: str) -> str:
    """A key with its first eight and its last four characters; a short one, as nobody is given, as it is."""
    return f"{key[:8]}{'*' * min(len(key) - 12, 200)}{key[-4:]}" if len(key) > 12 else key


ERRORS: ErrorTable = {kind: _refusal(row) for kind, row in _ROWS.items()}


def error_table(
    body: ErrorBody | None = None,
    statuses: Mapping[FailureKind, int] = MappingProxyType({}),
    messages: Mapping[FailureKind, str] = MappingProxyType({}),
) -> ErrorTable:
    """The table of a vendor with error bodies of its own: `body` makes one of a refusal, which has the status, and its
    message. Statuses that are not given are OpenAI's, as are bodies and messages without `body`. ValueError if there is
    no such kind."""
    for kind in (*statuses, *messages):
        if kind not in (kinds := [*FailureKind]):
            raise ValueError(f"{kind!r} is no kind of failure: {', '.join(kinds)}")
    said = {**({} if body is None else _FOR_OTHERS), **messages}
    rows = {
        kind: row._replace(status=statuses.get(kind, row.status), message=said.get(kind, row.message))
        for kind, row in _ROWS.items()
    }
    return {kind: _refusal(row, body, "the model") for kind, row in rows.items()}


def unrouted(call: Call, scope: RequestScope, allowed: tuple[str, ...]) -> Refusal:
    """The refusal of a call that no operation serves, with its method and its path."""
    if allowed:
        hint = "(HINT: Perhaps you meant to use a different HTTP method?)"
        return Refusal(FailureKind.WRONG_METHOD, f"Not allowed to {call.method} on {call.path}. {hint}")
    return Refusal(FailureKind.UNKNOWN_PATH, f"Invalid URL ({call.method} {call.path})")


def stream_error(status: int, body: object) -> bytes:
    """The event that ends a failing stream of chats and completions: the body of the refusal on one line."""
    return event(orjson.loads(body) if isinstance(body, bytes) else body)

"""What Upstash's own server says: errors, three quotas, and the rate limit headers by which its SDKs distinguish the
kinds of 429 (vendor note B5).

The body of QStash's errors is `{"error": "..."}`. Behind it a vLLM of mid-2024 is assumed, whose bodies pass through
unchanged. The figures of the quotas are invented, since the vendor published none.
"""

from math import ceil
from typing import Any

from mockserver.core.dialects import Edition, ErrorTable, ErrorTemplate, RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.http import Call, RawHeaders
from mockserver.core.quotas import PERIODS, Allowance, Limit, LimitState, QuotaPolicy, Refused, tightest
from mockserver.dialects.openai.errors import go_duration, limit_headers
from mockserver.dialects.openai.read import bearer, json_object
from mockserver.dialects.openai.replies import date_header

CHAT_PATH = "/llm/v1/chat/completions"
_SECURITY: RawHeaders = ((b"strict-transport-security", b"max-age=31536000; includeSubDomains"),)
# Marks what QStash itself refuses of a valid request.
_QSTASH = "qstash"


class RefusedError(Exception):
    """What QStash itself refuses."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class QuotaExceededError(RefusedError):
    """What an account's plan has no room for."""

    def __init__(self, quota: str, limit: int) -> None:
        super().__init__(refused(f"quota {quota} exceeded, current limit: {limit}").refusal)


def refused(message: str, status: int = 400) -> RefusedError:
    """A refusal by QStash itself, in its own format."""
    return RefusedError(Refusal(FailureKind.INVALID_REQUEST, message, status=status, code=_QSTASH))


def object_in(body: bytes) -> dict[str, Any]:
    """The JSON object in a body. Raises RefusedError."""
    found = json_object(body)
    if isinstance(found, Refusal):
        raise RefusedError(found)
    return found


# What makes a read-only token of a publisher's own. The vendor's look is unknown.
READ_ONLY = "_readonly"


def sent_token(call: Call) -> str | None:
    """The QStash token of a call as it was sent; None if it has none."""
    return bearer(call) or call.query_value("qstash_token") or None


def token(call: Call) -> str | None:
    """The token of the publisher who sends a call, also if it is the read-only version; None if it has none."""
    sent = sent_token(call)
    return sent.removesuffix(READ_ONLY) if sent else None


# --- quotas ----------------------------------------------------------------------------------------------------------

_SECOND, _MINUTE, _, _DAY = PERIODS.values()
_MESSAGES, _BURST = Limit("requests", _DAY, 500), Limit("requests", _SECOND, 100)
_CHAT_REQUESTS, _CHAT_TOKENS = Limit("requests", _MINUTE, 60), Limit("tokens", _MINUTE, 60_000)
# The periods of the chat API's limits on requests; those of messages are the others.
_CHAT_PERIODS = ("minute", "hour")


def _refuse(exceeding: Refused, now: float) -> Refusal:
    """The 429 of the exhausted quota, with the headers that name it; too many concurrent requests count as a burst."""
    worst = exceeding.worst
    if worst is None:
        return Refusal(FailureKind.OVERLOADED, headers=_left(b"burst-ratelimit-", exceeding.concurrent or 0, 0))
    limit = worst.limit
    if limit.measure == "tokens" or limit.period in _CHAT_PERIODS:
        return Refusal(FailureKind.RATE_LIMIT, headers=chat_limits(exceeding.limit_states))
    daily = limit.period == "day"
    kind, name = (
        (FailureKind.PAYMENT_REQUIRED, b"ratelimit-") if daily else (FailureKind.OVERLOADED, b"burst-ratelimit-")
    )
    full = (name + b"reset", b"%d" % worst.full_at(now))
    return Refusal(kind, headers=(*_left(name, limit.amount, worst.remaining), full))


QUOTAS = QuotaPolicy({"assumed": Allowance((_CHAT_REQUESTS, _CHAT_TOKENS, _MESSAGES, _BURST))}, refuse=_refuse)


def _left(name: bytes, amount: int, remaining: int) -> RawHeaders:
    """The headers of a limit and of its remaining amount, with a common prefix (`name`)."""
    return ((name + b"limit", b"%d" % amount), (name + b"remaining", b"%d" % remaining))


def chat_limits(limit_states: tuple[LimitState, ...]) -> RawHeaders:
    """The headers of the chat API's limits and of their remaining amounts; without a quota those of the assumed tier
    after one request."""
    if not limit_states:
        return _ONE_TAKEN
    requests, tokens = _chat(limit_states)
    return limit_headers(((b"requests", requests), (b"tokens", tokens)))


def _chat(limit_states: tuple[LimitState, ...]) -> tuple[LimitState, LimitState]:
    """The tightest of the chat API's limits on requests and on tokens, since the headers have room for one each.

    The SDKs recognise the chat's 429 by the first, so both are always there; one that is not configured is never used.
    """
    requests = tightest(limit_states, "requests", _CHAT_PERIODS) or LimitState(_CHAT_REQUESTS)
    return requests, tightest(limit_states, "tokens") or LimitState(_CHAT_TOKENS)


_ONE_TAKEN = chat_limits((LimitState(_CHAT_REQUESTS, 1),))


def every_answer(call: Call, scope: RequestScope) -> RawHeaders:
    """The headers of every answer, including errors; those of the chat API state when its limits are full again."""
    observed, now = scope.edition == "observed", scope.now
    general = (date_header(int(now)), *(_SECURITY if observed else ()))
    if call.path != CHAT_PATH or token(call) is None:
        return general
    # Without a quota, the minute of the clock counts.
    resets = (
        [each.full_at(now) for each in _chat(scope.limit_states)] if scope.limit_states else [now // 60 * 60 + 60] * 2
    )
    requests, tokens = [go_duration(ceil(at - now)).encode() if observed else b"%d" % at for at in resets]
    return (*general, (b"x-ratelimit-reset-requests", requests), (b"x-ratelimit-reset-tokens", tokens))


# --- the table ---------------------------------------------------------------------------------------------------


def _qstash(
    status: int, message: str, headers: RawHeaders = (), resets: tuple[tuple[bytes, int], ...] = ()
) -> ErrorTemplate:
    return ErrorTemplate(status, message, lambda refusal, words: {"error": words}, headers, resets=resets)


def _vllm(status: int, type: str, message: str) -> ErrorTemplate:
    def body(refusal: Refusal, words: str) -> dict[str, object]:
        if refusal.code == _QSTASH:
            return {"error": words}
        return {"object": "error", "message": words, "type": type, "param": None, "code": refusal.status or status}

    return ErrorTemplate(status, message, body)


def _no_model(refusal: Refusal, words: str) -> object:
    named = refusal.model is not None and not refusal.message
    return _NO_MODEL.body(refusal, f"The model `{refusal.model}` does not exist." if named else words)


_NO_MODEL = _vllm(404, "NotFoundError", "The model does not exist.")
_TABLE: ErrorTable = {
    FailureKind.MALFORMED_JSON: _qstash(400, "invalid request body: not valid JSON"),
    FailureKind.NOT_AN_OBJECT: _qstash(400, "invalid request body: not a JSON object"),
    FailureKind.UNSUPPORTED_MEDIA_TYPE: _qstash(415, "unsupported media type"),
    FailureKind.BODY_TOO_LARGE: _qstash(413, "quota maxMessageSize exceeded"),
    # The literal of many logs; no log shows another one for a missing token.
    FailureKind.MISSING_CREDENTIALS: _qstash(401, "unable to authenticate: invalid token"),
    FailureKind.UNAUTHORIZED: _qstash(401, "unable to authenticate: invalid token"),
    FailureKind.FORBIDDEN: _qstash(403, "forbidden"),
    FailureKind.UNKNOWN_PATH: _qstash(404, "not found"),
    FailureKind.WRONG_METHOD: _qstash(405, "method not allowed"),
    # Three kinds of 429, which the SDKs distinguish only by their headers: the chat's, the day's, the second's.
    FailureKind.RATE_LIMIT: _qstash(
        429, "rate limit exceeded", chat_limits((LimitState(_CHAT_REQUESTS, _CHAT_REQUESTS.amount),))
    ),
    FailureKind.PAYMENT_REQUIRED: _qstash(
        429, "daily message limit exceeded", _left(b"ratelimit-", _MESSAGES.amount, 0), ((b"ratelimit-reset", 86_400),)
    ),
    FailureKind.OVERLOADED: _qstash(
        429, "burst rate limit exceeded", _left(b"burst-ratelimit-", _BURST.amount, 0), ((b"burst-ratelimit-reset", 1),)
    ),
    FailureKind.TIMEOUT: _qstash(504, "request timed out"),
    FailureKind.SERVER_ERROR: _qstash(500, "internal server error"),
    FailureKind.INVALID_REQUEST: _vllm(400, "BadRequestError", "The request is not valid."),
    # One token too many for the Llama: clients search the message for these words.
    FailureKind.CONTEXT_LENGTH: _vllm(
        400,
        "BadRequestError",
        "This model's maximum context length is 8192 tokens. However, you requested 8193 tokens (8192 in the messages, "
        "1 in the completion). Please reduce the length of the messages or completion.",
    ),
    FailureKind.CONTENT_FILTER: _vllm(400, "BadRequestError", "The request was refused by a content filter."),
    FailureKind.UNKNOWN_MODEL: _NO_MODEL._replace(body=_no_model),
}

ERRORS: dict[Edition, ErrorTable] = {"documented": _TABLE, "observed": _TABLE}

"""Upstash's errors: QStash's own if it answers itself, vLLM's if the model does (vendor note B5).

The body of QStash is `{"error": "..."}`. Behind it a vLLM of mid-2024 is assumed, whose bodies pass through unchanged.
It reports all faults of form together, as pydantic's list, but only one fault of value, in an order of its own.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mockserver.core.dialects import Edition, ErrorTable, ErrorTemplate
from mockserver.core.failures import FailureKind, Refusal, Violation
from mockserver.core.timeline import RawHeaders
from mockserver.dialects.openai.read import json_object
from mockserver.dialects.upstash.limits import BURST_LIMIT, BURST_RESET, CHAT_LIMIT, DAILY_LIMIT, DAILY_RESET
from mockserver.dialects.wordings import custom_words, pydantic_words

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


def _no_such(name: str) -> str:
    return f"The model `{name}` does not exist."


def _no_model(refusal: Refusal, words: str) -> object:
    name = refusal.model
    return _NO_MODEL.body(refusal, _no_such(name) if name and not refusal.message else words)


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
    FailureKind.RATE_LIMIT: _qstash(429, "rate limit exceeded", CHAT_LIMIT),
    FailureKind.PAYMENT_REQUIRED: _qstash(429, "daily message limit exceeded", DAILY_LIMIT, DAILY_RESET),
    FailureKind.OVERLOADED: _qstash(429, "burst rate limit exceeded", BURST_LIMIT, BURST_RESET),
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


# --- faults of form ----------------------------------------------------------------------------------------------


def misshapen(faults: Sequence[Violation]) -> Refusal | None:
    """The refusal of a body for all its faults of form, as pydantic's list; None if there are none."""
    details = [_detail(fault) for fault in faults if not _is_out_of_range(fault)]
    return Refusal(FailureKind.INVALID_REQUEST, repr(details)) if details else None


def misplaced_top_logprobs(body: Mapping[str, object]) -> Refusal | None:
    """The refusal of `top_logprobs` out of its range or without `logprobs`, which vLLM checks first; None if valid."""
    alternatives = body.get("top_logprobs")
    if not isinstance(alternatives, int | float) or isinstance(alternatives, bool):
        return None
    if body.get("logprobs") is not True:
        # "logprobs must be set to true if this parameter is used."
        return _bad_value("when using `top_logprobs`, `logprobs` must be set to true.")
    # "An integer between 0 and 20"
    if not 0 <= alternatives <= 20:
        return _bad_value("`top_logprobs` must be a value in the interval [0, 20].")
    return None


def _bad_value(message: str) -> Refusal:
    code, words = custom_words(message)
    detail = {"type": code, "loc": ("body",), "msg": words}
    return Refusal(FailureKind.INVALID_REQUEST, repr([detail]), "top_logprobs")


def _detail(fault: Violation) -> dict[str, object]:
    code, words = pydantic_words(fault) or custom_words(fault.message)
    return {"type": code, "loc": ("body", *fault.path), "msg": words}


# --- faults of value ---------------------------------------------------------------------------------------------

_RANGE_RULES = ("minimum", "maximum", "exclusiveMinimum", "minLength", "pattern")


def _number(fault: Violation) -> float:
    """The number of the request as a float, which is how the engine stores and prints it."""
    return float(fault.found) if isinstance(fault.found, int | float) else 0.0


def _whole(fault: Violation) -> int:
    return int(fault.found) if isinstance(fault.found, int | float) else 0


def _bias(fault: Violation) -> str:
    if fault.rule == "pattern":
        return "Found token_id in logit_bias that is not an integer or string representing an integer"
    # "an associated bias value from -100 to 100"
    return f"logit_bias must be in [-100, 100], got {_number(fault)}."


# The engine's checks in its order; it only reports the first that fails.
_RANGES: dict[str, Callable[[Violation], str]] = {
    "n": lambda fault: (
        f"n must be at {'least' if fault.rule == 'minimum' else 'most'} {fault.expected}, got {_whole(fault)}."
    ),
    # "Number between -2.0 and 2.0."
    "presence_penalty": lambda fault: f"presence_penalty must be in [-2, 2], got {_number(fault)}.",
    "frequency_penalty": lambda fault: f"frequency_penalty must be in [-2, 2], got {_number(fault)}.",
    # "between 0 and 2"
    "temperature": lambda fault: f"temperature must be in [0, 2], got {_number(fault)}.",
    "top_p": lambda fault: f"top_p must be in (0, 1], got {_number(fault)}.",
    "max_tokens": lambda fault: f"max_tokens must be at least 1, got {_whole(fault)}.",
    "stop": lambda fault: "stop cannot contain an empty string.",
    "logit_bias": _bias,
}


def out_of_range(faults: Sequence[Violation]) -> Refusal | None:
    """The refusal of the first value that is out of its range for the engine; None if there is none."""
    first: dict[str, Violation] = {}
    for fault in filter(_is_out_of_range, faults):
        first.setdefault(str(fault.path[0]), fault)
    name = next((name for name in _RANGES if name in first), None)
    return None if name is None else Refusal(FailureKind.INVALID_REQUEST, _RANGES[name](first[name]), name)


def _is_out_of_range(fault: Violation) -> bool:
    return fault.rule in _RANGE_RULES and bool(fault.path) and fault.path[0] in _RANGES


# --- faults that the engine finds later --------------------------------------------------------------------------


def unknown_model(name: str) -> Refusal:
    """The refusal of an unknown model."""
    return Refusal(FailureKind.UNKNOWN_MODEL, _no_such(name), "model")


def too_long(prompt: int, completion: int | None, context: int) -> Refusal | None:
    """The refusal of a request that exceeds the context window (all in tokens); None if it fits."""
    window = f"This model's maximum context length is {context} tokens. However, you requested"
    if completion is None:
        if prompt < context:
            return None
        message = f"{window} {prompt} tokens in the messages, Please reduce the length of the messages."
    elif prompt + completion <= context:
        return None
    else:
        message = (
            f"{window} {prompt + completion} tokens ({prompt} in the messages, {completion} in the completion). "
            "Please reduce the length of the messages or completion."
        )
    return Refusal(FailureKind.CONTEXT_LENGTH, message)

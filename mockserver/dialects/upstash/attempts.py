"""Attempts: the request that delivers a message, to an application or to the model, and its signature; callbacks, the
messages that report the outcome of another; and retries, whether a failed attempt is repeated, and when.

The signature is the JWT in `Upstash-Signature`, by which applications know that a request comes from QStash. The body
of a callback is that of a recorded one (August 2024), from which the docs differ in details: its keys are in this
order, `retried` is absent while it is 0, times are numbers. The wait before a retry is what the answer asks for, or
what the expression in `Upstash-Retry-Delay` says, such as `pow(2, retried) * 1000`, or grows from retry to retry.
"""

import ast
import hashlib
import hmac
import math
import operator
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import orjson

from mockserver.core.dialect_state import WebhookRequest, WebhookResult
from mockserver.core.http import RawHeaders
from mockserver.core.seeding import Draws, derive
from mockserver.dialects.upstash.errors import CHAT_PATH
from mockserver.dialects.upstash.values import (
    CALLER_IP,
    Callback,
    DeadLetter,
    Fields,
    QueuedMessage,
    decoded,
    in_milliseconds,
    raw,
    values_by_name,
)

# Headers that are not forwarded, because they would contradict those of the request itself.
_RESERVED = {
    *("host", "content-length", "transfer-encoding", "connection", "accept-encoding", "te", "trailer", "upgrade"),
    *("expect", "upstash-message-id", "upstash-retried", "upstash-signature", "upstash-caller-ip"),
}
# The digits of ids: no 0, O, I and l.
_DIGITS = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_HEADER = b'{"alg":"HS256","typ":"JWT"}'
# "Our JWTs have a lifetime of 5 minutes by default."
_LIFETIME = 300


def attempt(message: QueuedMessage, retried: int, key: str, real: float) -> WebhookRequest:
    """The request that delivers a message after so many retries, signed with the key at a real time.

    It is the real time because the clock of the application that checks the signature is never advanced.
    """
    forwarded = tuple(each for each in message.options.headers if each[0].lower() not in _RESERVED)
    about: Fields = (*forwarded, ("Upstash-Message-Id", message.id), ("Upstash-Retried", str(retried)))
    if not any(name == "User-Agent" for name, _ in forwarded):
        about = (*about, ("User-Agent", "Upstash-QStash"))
    if message.api is not None:
        # Names are in lower case, as in every request received.
        mine = ((name.lower(), value) for name, value in about if name != "Authorization")
        headers, url = (*mine, ("authorization", f"Bearer {message.token}")), CHAT_PATH
    else:
        signed = signature(message.url, message.body, key, real, message.id, retried)
        headers = tuple(sorted((*about, ("Upstash-Caller-Ip", CALLER_IP), ("Upstash-Signature", signed))))
        url = message.url
    options = message.options
    return WebhookRequest(message.id, options.method, url, raw(headers), message.body, retried, options.timeout)


# --- callbacks ---------------------------------------------------------------------------------------------------


def callback(
    message: QueuedMessage,
    to: Callback,
    outcome: WebhookResult,
    retried: int,
    now: float,
    dead: DeadLetter | None = None,
) -> QueuedMessage:
    """The message that reports an outcome, of the attempt after so many retries; of a `dead` message, its failure."""
    kind = "callback" if dead is None else "failure callback"
    return QueuedMessage(
        id=f"msg_{digits(63, message.id, kind, retried)}",
        url=to.url,
        # It has the body and the headers of its source in its own body.
        options=to.options._replace(
            label=message.options.label, redact_fields=("body",) if message.options.redact_fields else ()
        ),
        body=orjson.dumps(_report(message, outcome, retried, dead)),
        created=now,
        due=now + to.options.delay,
        source=message.id,
        token=message.token,
    )


def _report(message: QueuedMessage, outcome: WebhookResult, retried: int, dead: DeadLetter | None) -> dict[str, Any]:
    return {
        "status": outcome.status or 0,
        "header": values_by_name(decoded(outcome.headers)),
        "body": b64encode(outcome.body or outcome.error.encode()).decode(),
        **({"retried": retried} if retried else {}),
        **({} if dead is None else {"dlqId": dead.id}),
        "sourceMessageId": message.id,
        "url": message.url,
        "method": message.options.method,
        "sourceHeader": values_by_name(message.options.headers),
        "sourceBody": b64encode(message.body).decode(),
        "maxRetries": message.options.retries,
        "notBefore": in_milliseconds(message.due),
        "createdAt": in_milliseconds(message.created),
        "callerIP": CALLER_IP,
        **({} if message.api is None else {"api": message.api}),
    }


# --- signatures --------------------------------------------------------------------------------------------------


def digits(count: int, *parts: str | int) -> str:
    """`count` characters of an id, derived from the parts."""
    return Draws(derive(0, "qstash", *parts)).spell(_DIGITS, count)


def signing_key(number: int) -> str:
    """A signing key: the first is number 0, and each rotation brings the next. They are the same on every server."""
    return f"sig_{digits(28, 'signing key', number)}"


def signature(url: str, body: bytes, key: str, now: float, *identity: str | int) -> str:
    """The signature of a request to a URL, made at a Unix time; its `identity` distinguishes it from others."""
    begun = int(now)
    claims = {
        "iss": "Upstash",
        "sub": url,
        "exp": begun + _LIFETIME,
        "nbf": begun,
        "iat": begun,
        "jti": f"jwt_{digits(28, 'jwt', *identity)}",
        # "The body field is a base64 encoded sha256 hash of the request body. We use url encoding"
        "body": urlsafe_b64encode(hashlib.sha256(body).digest()).decode(),
    }
    signed = b".".join((_encoded(_HEADER), _encoded(orjson.dumps(claims))))
    return b".".join((signed, _encoded(hmac.new(key.encode(), signed, hashlib.sha256).digest()))).decode()


def _encoded(data: bytes) -> bytes:
    return urlsafe_b64encode(data).rstrip(b"=")


# --- retries -----------------------------------------------------------------------------------------------------

# With this status and a header, an application says that a retry would not help.
_NEVER_AGAIN, _MARK = 489, (b"upstash-nonretryable-error", b"true")
_TOO_MANY = 429
# The backoff has reached its limit after so many retries.
_LAST_STEP = 5
# "Each delay is capped at 1 day."
_DAY = 86_400.0
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": _DAY}
_PART = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)(ns|us|µs|ms|s|m|h|d)")
_WHOLE = re.compile(rf"(?:{_PART.pattern})+")
_NUMBER = re.compile(r"\d{1,12}(?:\.\d{1,9})?")
# The headers of an answer that say when to retry, in this order.
_RESETS = (b"retry-after", b"x-ratelimit-reset", b"x-ratelimit-reset-requests", b"x-ratelimit-reset-tokens")
# A number of seconds above this is a Unix time.
_LONG_AGO = 1e9


def is_delivered(outcome: WebhookResult) -> bool:
    """Whether an attempt has succeeded: "a success status code (2XX)"."""
    return outcome.status is not None and 200 <= outcome.status < 300


def may_repeat(message: QueuedMessage, outcome: WebhookResult, retried: int) -> bool:
    """Whether a failed attempt is repeated, after so many retries before."""
    if outcome.status == _NEVER_AGAIN and _MARK in ((name.lower(), value.lower()) for name, value in outcome.headers):
        return False
    return retried < message.options.retries


def wait_before(message: QueuedMessage, outcome: WebhookResult, retried: int, now: float) -> float:
    """The seconds from now to the next attempt of a message that has been retried so many times.

    The answer itself may say when. A model states its limits with every answer, so that it is asked only if they are
    exceeded: "schedules the retry [...] depending on the reset time of the rate limits".
    """
    if message.api is None or outcome.status == _TOO_MANY:
        wanted = wanted_wait(outcome.headers, now)
        if wanted is not None:
            return wanted
    if message.options.retry_delay is not None:
        # "The `retried` is 0 for the first retry."
        own = milliseconds(message.options.retry_delay, retried)
        if own is not None:
            return min(max(own / 1_000, 0.0), _DAY)
    # "min(86400, e ** (2.5*n)) // in seconds"
    return min(_DAY, math.exp(2.5 * min(retried + 1, _LAST_STEP)))


# --- durations ---------------------------------------------------------------------------------------------------


def duration(text: str) -> float:
    """A duration such as `50s` or `1d10h30m`, in seconds. Raises ValueError."""
    text = text.strip()
    if not _WHOLE.fullmatch(text):
        raise ValueError(f"{text!r} is no duration, such as 10s, 5m, 2h or 1d10h30m")
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))


def wanted_wait(headers: RawHeaders, now: float) -> float | None:
    """The wait before the next retry that an answer asks for, in seconds; None if it asks for none of up to a day."""
    found: dict[bytes, str] = {}
    for name, value in reversed(headers):
        found[name.lower()] = value.decode("latin-1").strip()
    for name in _RESETS:
        wait = _wait(found[name], now) if name in found else None
        # "If you specify a value beyond this limit, the backoff algorithm will be applied."
        if wait is not None and wait <= _DAY:
            return max(wait, 0.0)
    return None


def _wait(text: str, now: float) -> float | None:
    """The seconds that a header states as a number, a duration, a date or a Unix time; None if it is none of these."""
    if _NUMBER.fullmatch(text):
        seconds = float(text)
        return seconds - now if seconds > _LONG_AGO else seconds
    if _WHOLE.fullmatch(text):
        return duration(text)
    try:
        return parsedate_to_datetime(text).timestamp() - now
    except (ValueError, OverflowError, IndexError, TypeError):
        return None


# --- expressions -------------------------------------------------------------------------------------------------

# What an expression consists of, all of which Python reads alike.
_TEXT = re.compile(r"(?:\s*(?:\d{1,15}(?:\.\d{1,9})?(?![\w.])|[a-z]+|[-+*/%(),]))+\s*")
_LONGEST, _DEEPEST = 200, 40
_OPERATORS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: math.fmod,
}
# Each function, and how many arguments it takes.
_FUNCTIONS: Mapping[str, tuple[Callable[..., float], int]] = {
    "pow": (math.pow, 2),
    "exp": (math.exp, 1),
    "sqrt": (math.sqrt, 1),
    "abs": (abs, 1),
    "floor": (math.floor, 1),
    "ceil": (math.ceil, 1),
    "round": (round, 1),
    "min": (min, 2),
    "max": (max, 2),
}


class ExpressionError(ValueError):
    """A text that is no expression; the message says why."""


def milliseconds(text: str, retried: int) -> float | None:
    """The value of an expression after so many retries; None if it has none, as after a division by zero.

    Raises ExpressionError if it is not an expression.
    """
    if len(text) > _LONGEST or text.count("(") > _DEEPEST or text.count("-") > _DEEPEST:
        raise ExpressionError("the expression is too long")
    try:
        tree = ast.parse(text.strip(), mode="eval") if _TEXT.fullmatch(text) else None
    except SyntaxError:
        tree = None
    if tree is None:
        raise ExpressionError(f"{text!r} is no expression")
    value = _value(tree.body, float(retried))
    return value if math.isfinite(value) else None


def _value(node: ast.expr, retried: float) -> float:
    """The value of a part of an expression; NaN for an operation without a result, so that all of it is checked."""
    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name(id="retried"):
            return retried
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, retried)
        case ast.BinOp(left=left, op=operation, right=right) if type(operation) in _OPERATORS:
            return _result(_OPERATORS[type(operation)], _value(left, retried), _value(right, retried))
        case ast.Call(func=ast.Name(id=name), args=arguments) if name in _FUNCTIONS:
            function, arity = _FUNCTIONS[name]
            if len(arguments) != arity:
                raise ExpressionError(f"{name} takes {arity} argument{'s' if arity > 1 else ''}, not {len(arguments)}")
            return _result(function, *(_value(argument, retried) for argument in arguments))
    raise ExpressionError(f"unexpected {ast.unparse(node)!r}")


def _result(function: Callable[..., float], *arguments: float) -> float:
    if any(map(math.isnan, arguments)):
        return math.nan
    try:
        return float(function(*arguments))
    except (ArithmeticError, ValueError):
        return math.nan

"""Retries: whether a failed attempt is repeated, and when.

The wait before a retry is what the answer asks for, or what the expression in `Upstash-Retry-Delay` says, such as
`pow(2, retried) * 1000`, or grows from retry to retry.
"""

import math
import operator
import re
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime

from mockserver.core.dialect_state import WebhookResult
from mockserver.core.timeline import RawHeaders
from mockserver.dialects.upstash.qstash.values import QueuedMessage

# With this status and a header, an application says that a retry would not help.
_NEVER_AGAIN, _MARK = 489, (b"upstash-nonretryable-error", b"true")
_TOO_MANY = 429
# The backoff has reached its limit after so many retries.
_LAST_STEP = 5
# "Each delay is capped at 1 day."
DAY = 86_400.0
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": DAY}
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
            return min(max(own / 1_000, 0.0), DAY)
    return backoff(retried + 1)


def backoff(retry: int) -> float:
    """The wait before a retry, the first of which is 1: "min(86400, e ** (2.5*n)) // in seconds"."""
    return min(DAY, math.exp(2.5 * min(retry, _LAST_STEP)))


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
        if wait is not None and wait <= DAY:
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

# sum     = product { ("+" | "-") product }
# product = factor { ("*" | "/" | "%") factor }
# factor  = "-" factor | number | "retried" | function "(" sum { "," sum } ")" | "(" sum ")"

_TOKEN = re.compile(r"\s*(?:(\d{1,15}(?:\.\d{1,9})?)|([a-z]+)|([-+*/%(),]))")
_LONGEST, _DEEPEST = 200, 40
_SUMS: Mapping[str, Callable[[float, float], float]] = {"+": operator.add, "-": operator.sub}
_PRODUCTS: Mapping[str, Callable[[float, float], float]] = {
    "*": operator.mul, "/": operator.truediv, "%": math.fmod,
}  # fmt: skip
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


def check_expression(text: str) -> None:
    """Raise ExpressionError unless a text is an expression."""
    milliseconds(text, 0)


def milliseconds(text: str, retried: int) -> float | None:
    """The value of an expression after so many retries; None if it has none, as after a division by zero.

    Raises ExpressionError if it is not an expression.
    """
    if len(text) > _LONGEST or text.count("(") > _DEEPEST or text.count("-") > _DEEPEST:
        raise ExpressionError("the expression is too long")
    reader = _Reader(_tokens(text), float(retried))
    value = reader.sum()
    if reader.token:
        raise ExpressionError(f"unexpected {reader.token!r}")
    return value if math.isfinite(value) else None


def _tokens(text: str) -> list[str]:
    tokens, place, text = [], 0, text.rstrip()
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            raise ExpressionError(f"unexpected {text[place:].strip()[:1]!r}")
        tokens.append(found[0].strip())
        place = found.end()
    return tokens


class _Reader:
    """Reads an expression and computes its value. An operation without a result gives NaN, so that reading goes on."""

    def __init__(self, tokens: list[str], retried: float) -> None:
        self._tokens = tokens
        self._place = 0
        self._retried = retried

    @property
    def token(self) -> str:
        """The next token; empty at the end."""
        return self._tokens[self._place] if self._place < len(self._tokens) else ""

    def sum(self) -> float:
        """The value of a sum."""
        return self._chain(_SUMS, self._product)

    def _product(self) -> float:
        return self._chain(_PRODUCTS, self._factor)

    def _chain(self, operators: Mapping[str, Callable[[float, float], float]], part: Callable[[], float]) -> float:
        value = part()
        while self.token in operators:
            operate = operators[self._take()]
            value = _result(operate, value, part())
        return value

    def _factor(self) -> float:
        token = self._take()
        if token == "-":
            return -self._factor()
        if token == "(":
            value = self.sum()
            self._expect(")")
            return value
        if token[:1].isdigit():
            return float(token)
        if token == "retried":
            return self._retried
        if token in _FUNCTIONS:
            return self._call(token)
        raise ExpressionError(f"unexpected {token!r}" if token else "unexpected end")

    def _call(self, name: str) -> float:
        function, arity = _FUNCTIONS[name]
        self._expect("(")
        arguments = [self.sum()]
        while self.token == ",":
            self._take()
            arguments.append(self.sum())
        self._expect(")")
        if len(arguments) != arity:
            raise ExpressionError(f"{name} takes {arity} argument{'s' if arity > 1 else ''}, not {len(arguments)}")
        return _result(function, *arguments)

    def _take(self) -> str:
        token = self.token
        self._place += 1
        return token

    def _expect(self, wanted: str) -> None:
        token = self._take()
        if token != wanted:
            raise ExpressionError(f"expected {wanted!r}, found {repr(token) if token else 'the end'}")


def _result(function: Callable[..., float], *arguments: float) -> float:
    if any(map(math.isnan, arguments)):
        return math.nan
    try:
        return float(function(*arguments))
    except (ArithmeticError, ValueError):
        return math.nan

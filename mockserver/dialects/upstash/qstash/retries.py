"""Retries: whether a failed attempt is repeated, and when."""

import math

from mockserver.core.outbox import Outcome
from mockserver.dialects.upstash.qstash.durations import DAY, wanted_wait
from mockserver.dialects.upstash.qstash.expressions import milliseconds
from mockserver.dialects.upstash.qstash.values import Message

# With this status and a header, an application says that a retry would not help.
_NEVER_AGAIN, _MARK = 489, (b"upstash-nonretryable-error", b"true")
_TOO_MANY = 429
# The backoff has reached its limit after so many retries.
_LAST_STEP = 5


def is_delivered(outcome: Outcome) -> bool:
    """Whether an attempt has succeeded: "a success status code (2XX)"."""
    return outcome.status is not None and 200 <= outcome.status < 300


def may_repeat(message: Message, outcome: Outcome, retried: int) -> bool:
    """Whether a failed attempt is repeated, after so many retries before."""
    if outcome.status == _NEVER_AGAIN and _MARK in ((name.lower(), value.lower()) for name, value in outcome.headers):
        return False
    return retried < message.options.retries


def wait_before(message: Message, outcome: Outcome, retried: int, now: float) -> float:
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

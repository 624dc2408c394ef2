"""Callbacks: messages that report the outcome of another message.

The body of a callback is that of a recorded one (August 2024), from which the docs differ in details: its keys are in
this order, `retried` is absent while it is 0, times are numbers.
"""

from base64 import b64encode
from typing import Any

import orjson

from mockserver.core.outbox import Outcome
from mockserver.dialects.upstash.qstash.signing import digits
from mockserver.dialects.upstash.qstash.values import Callback, Dead, Message, decoded, values_by_name

# Messages come from this machine.
CALLER_IP = "127.0.0.1"


def callback(
    message: Message, to: Callback, outcome: Outcome, retried: int, now: float, dead: Dead | None = None
) -> Message:
    """The message that reports an outcome, of the attempt after so many retries; of a `dead` message, its failure."""
    kind = "callback" if dead is None else "failure callback"
    return Message(
        id=f"msg_{digits(63, message.id, kind, retried)}",
        url=to.url,
        options=to.options,
        body=orjson.dumps(_body(message, outcome, retried, dead)),
        created=now,
        due=now + to.options.delay,
        labels=message.labels,
        source=message.id,
    )


def _body(message: Message, outcome: Outcome, retried: int, dead: Dead | None) -> dict[str, Any]:
    return {
        "status": outcome.status or 0,
        "header": values_by_name(decoded(outcome.headers)),
        "body": b64encode(outcome.body or outcome.error.encode()).decode(),
        **({"retried": retried} if retried else {}),
        **({} if dead is None else {"dlqId": dead.id}),
        "sourceMessageId": message.id,
        **({} if message.group is None else {"topicName": message.group}),
        **({} if message.endpoint is None else {"endpointName": message.endpoint}),
        "url": message.url,
        "method": message.options.method,
        "sourceHeader": values_by_name(message.options.headers),
        "sourceBody": b64encode(message.body).decode(),
        "maxRetries": message.options.retries,
        "notBefore": int(message.due * 1000),
        "createdAt": int(message.created * 1000),
        **({} if message.schedule is None else {"scheduleId": message.schedule}),
        "callerIP": CALLER_IP,
        **({} if message.api is None else {"api": message.api}),
    }

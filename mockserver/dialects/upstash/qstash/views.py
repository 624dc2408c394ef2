"""Messages, dead letters, log entries, queues, URL groups and schedules as QStash's JSON shows them.

Times are in milliseconds.
"""

import math
from base64 import b64encode
from collections.abc import Callable
from typing import Any

from mockserver.core.outbox import Outcome
from mockserver.dialects.upstash.qstash.callbacks import CALLER_IP
from mockserver.dialects.upstash.qstash.groups import Group
from mockserver.dialects.upstash.qstash.schedules import Planned
from mockserver.dialects.upstash.qstash.values import (
    Callback,
    Dead,
    Event,
    Flow,
    FlowStanding,
    Message,
    Standing,
    decoded,
    values_by_name,
)


def message_view(message: Message) -> dict[str, Any]:
    """A message."""
    return {
        "messageId": message.id,
        "url": message.url,
        **_given(topicName=message.group, endpointName=message.endpoint),
        "method": message.options.method,
        "header": values_by_name(message.options.headers),
        **_content("body", message.body),
        "maxRetries": message.options.retries,
        "notBefore": _milliseconds(message.due),
        "createdAt": _milliseconds(message.created),
        **_callbacks(message, "Header"),
        **_given(
            queueName=message.queue,
            scheduleId=message.schedule,
            retryDelayExpression=message.options.retry_delay,
        ),
        **_flow(message.options.flow),
        "callerIP": CALLER_IP,
        **_labels(message),
        **_given(api=message.api),
    }


def dead_view(dead: Dead) -> dict[str, Any]:
    """A message in the dead letter queue, with the answer to its last attempt."""
    outcome = dead.outcome
    return {
        **message_view(dead.message),
        "dlqId": dead.id,
        "responseStatus": outcome.status or 0,
        "responseHeader": values_by_name(decoded(outcome.headers)),
        **_content("responseBody", outcome.body or outcome.error.encode()),
    }


def event_view(event: Event) -> dict[str, Any]:
    """A log entry."""
    message, outcome = event.message, event.outcome
    return {
        "time": _milliseconds(event.time),
        "messageId": message.id,
        "header": values_by_name(message.options.headers),
        "body": _base64(message.body),
        "state": event.state,
        **({} if outcome is None else _failure(outcome)),
        **({} if event.next_delivery is None else {"nextDeliveryTime": _milliseconds(event.next_delivery)}),
        "url": message.url,
        **_given(
            topicName=message.group,
            endpointName=message.endpoint,
            queueName=message.queue,
            scheduleId=message.schedule,
        ),
        "timeout": _milliseconds(message.options.timeout),
        "method": message.options.method,
        **_callbacks(message, "Headers"),
        "maxRetries": message.options.retries,
        # Again the first name is of the docs, the second of the SDK.
        **_given(retryDelayExpression=message.options.retry_delay, retryDelayExpr=message.options.retry_delay),
        **_flow(message.options.flow),
        **_labels(message),
    }


def group_view(group: Group) -> dict[str, Any]:
    """A URL group."""
    return {
        "createdAt": _milliseconds(group.created),
        "updatedAt": _milliseconds(group.updated),
        "name": group.name,
        "endpoints": [{**_given(name=each.name), "url": each.url} for each in group.endpoints],
    }


def schedule_view(planned: Planned, state: Callable[[str], str]) -> dict[str, Any]:
    """A schedule; `state` is that of a message by its id."""
    schedule = planned.schedule
    message, options = schedule.message, schedule.message.options
    times = {"lastScheduleTime": planned.last, "nextScheduleTime": None if planned.paused else planned.next}
    return {
        "createdAt": _milliseconds(schedule.created),
        "scheduleId": schedule.id,
        "cron": schedule.expression,
        "destination": f"api/{message.api}" if message.api else message.group or message.url,
        "method": options.method,
        "header": values_by_name(options.headers),
        **_content("body", message.body),
        "retries": options.retries,
        **({"delay": int(options.delay)} if options.delay else {}),
        **_callbacks(message, "Header"),
        **_given(queueName=message.queue, retryDelayExpression=options.retry_delay),
        **_flow(options.flow),
        "callerIP": CALLER_IP,
        "isPaused": planned.paused,
        **_labels(message),
        **{name: _milliseconds(time) for name, time in times.items() if time is not None},
        **({"lastScheduleStates": {id: state(id) for id in planned.made}} if planned.made else {}),
    }


def queue_view(queue: Standing) -> dict[str, Any]:
    """A queue."""
    return {
        "createdAt": _milliseconds(queue.created),
        "updatedAt": _milliseconds(queue.updated),
        "name": queue.name,
        "parallelism": queue.parallelism,
        "lag": queue.lag,
        "paused": queue.paused,
    }


def flow_view(standing: FlowStanding) -> dict[str, Any]:
    """A flow control key. Periods are in seconds, and so is the beginning of one."""
    flow = standing.flow
    return {
        "flowControlKey": flow.key,
        "waitListSize": standing.waiting,
        "parallelismMax": flow.parallelism or 0,
        "parallelismCount": standing.active,
        "rateMax": flow.rate or 0,
        "rateCount": standing.used,
        "ratePeriod": math.ceil(flow.period),
        "ratePeriodStart": int(standing.began),
        "isPaused": standing.paused,
        "isPinnedParallelism": "parallelism" in standing.pinned,
        "isPinnedRate": "rate" in standing.pinned,
    }


def _flow(flow: Flow | None) -> dict[str, Any]:
    """The limits that a message states. A rate has the name of today, and that of older clients."""
    if flow is None:
        return {}
    parallelism = {} if flow.parallelism is None else {"parallelism": flow.parallelism}
    rate = (
        {} if flow.rate is None else {"rate": flow.rate, "ratePerSecond": flow.rate, "period": math.ceil(flow.period)}
    )
    return {"flowControlKey": flow.key, **parallelism, **rate}


def _failure(outcome: Outcome) -> dict[str, Any]:
    """Why an attempt has failed."""
    if outcome.status is None:
        return {"error": outcome.error}
    return {
        "error": f"{outcome.status} status code",
        "responseStatus": outcome.status,
        # The docs have the plural, the vendor's Python SDK reads the singular.
        "responseHeader": values_by_name(decoded(outcome.headers)),
        "responseHeaders": values_by_name(decoded(outcome.headers)),
        "responseBody": _base64(outcome.body),
    }


def _content(name: str, body: bytes) -> dict[str, str]:
    """A body under its name, or under that of its base64 form if it is no text."""
    try:
        return {name: body.decode()}
    except UnicodeDecodeError:
        return {f"{name}Base64": _base64(body)}


def _callbacks(message: Message, headers: str) -> dict[str, Any]:
    """Both callbacks, and under their names with the suffix `headers` what goes with them."""
    given = {"callback": message.callback, "failureCallback": message.failure_callback}
    return {key: value for name, each in given.items() if each for key, value in _callback(name, each, headers)}


def _callback(name: str, callback: Callback, headers: str) -> tuple[tuple[str, Any], ...]:
    return (name, callback.url), (f"{name}{headers}", values_by_name(callback.options.headers))


def _labels(message: Message) -> dict[str, Any]:
    return {"label": message.labels[0], "labels": list(message.labels)} if message.labels else {}


def _given(**values: str | None) -> dict[str, str]:
    return {name: value for name, value in values.items() if value is not None}


def _milliseconds(seconds: float) -> int:
    return int(seconds * 1000)


def _base64(body: bytes) -> str:
    return b64encode(body).decode()

"""`/v2/queues`: queues, which deliver their messages in order; and `/v2/keys`: the keys that sign them."""

from mockserver.core.calls import Call
from mockserver.core.dialects import RequestScope
from mockserver.core.failures import Refusal
from mockserver.core.timeline import Reply
from mockserver.dialects.openai.fields import json_object
from mockserver.dialects.upstash.errors import refused
from mockserver.dialects.upstash.qstash.attempts import signing_key
from mockserver.dialects.upstash.qstash.values import RemoveQueue, RotateKeys, SetQueue, is_name
from mockserver.dialects.upstash.qstash.views import empty_reply, json_reply, mailbox_of, owner_of, queue_view

_MOST_PARALLEL = 1_000


def bad_queue_name(name: str) -> Refusal | None:
    """The refusal of a queue's name; None if it is valid."""
    if is_name(name):
        return None
    return refused("invalid queue name: it can only contain alphanumeric characters, hyphens, periods, and underscores")


def list_queues(call: Call, scope: RequestScope) -> Reply:
    """Every queue."""
    return json_reply([queue_view(each) for each in mailbox_of(scope).queues(owner_of(call))])


def get_queue(call: Call, scope: RequestScope) -> Reply | Refusal:
    """A queue."""
    name = scope.variables.get("queueName", "")
    queue = mailbox_of(scope).queue(owner_of(call), name)
    return refused(f"queue {name} not found", 404) if queue is None else json_reply(queue_view(queue))


def set_queue(call: Call, scope: RequestScope) -> Reply | Refusal:
    """Make a queue, or change it."""
    body = json_object(call.body)
    if isinstance(body, Refusal):
        return body
    name, parallelism, paused = body.get("queueName"), body.get("parallelism"), body.get("paused")
    fault = bad_queue_name(name if isinstance(name, str) else "")
    if fault is not None:
        return fault
    if parallelism is not None and not (type(parallelism) is int and 0 < parallelism <= _MOST_PARALLEL):
        return refused("invalid parallelism: it must be greater than 0")
    if paused is not None and not isinstance(paused, bool):
        return refused("invalid paused: it must be true or false")
    return empty_reply(SetQueue(owner_of(call), str(name), parallelism, paused))


def remove_queue(call: Call, scope: RequestScope) -> Reply:
    """Remove a queue with the messages that wait in it."""
    return empty_reply(RemoveQueue(owner_of(call), scope.variables.get("queueName", "")))


def pause_queue(call: Call, scope: RequestScope) -> Reply | Refusal:
    """Deliver no more messages of a queue."""
    return _set_paused(call, scope, paused=True)


def resume_queue(call: Call, scope: RequestScope) -> Reply | Refusal:
    """Deliver its messages again."""
    return _set_paused(call, scope, paused=False)


def _set_paused(call: Call, scope: RequestScope, *, paused: bool) -> Reply | Refusal:
    name = scope.variables.get("queueName", "")
    return bad_queue_name(name) or empty_reply(SetQueue(owner_of(call), name, paused=paused))


def get_keys(call: Call, scope: RequestScope) -> Reply:
    """The signing keys."""
    current, following = mailbox_of(scope).signing_keys
    return json_reply({"current": current, "next": following})


def rotate_keys(call: Call, scope: RequestScope) -> Reply:
    """Replace the current signing key with the next one, and the next one with a new one."""
    mailbox = mailbox_of(scope)
    _, current = mailbox.signing_keys
    following = signing_key(mailbox.rotations + 2)
    return json_reply({"current": current, "next": following}, orders=(RotateKeys(),))

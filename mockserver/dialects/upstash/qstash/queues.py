"""`/v2/queues`: queues, which deliver their messages in order; and `/v2/keys`: the keys that sign them."""

import re

from mockserver.core.calls import Call
from mockserver.core.dialects import RequestScope
from mockserver.core.timeline import Reply
from mockserver.dialects.upstash.errors import QuotaExceededError, object_in, refused
from mockserver.dialects.upstash.qstash.attempts import signing_key
from mockserver.dialects.upstash.qstash.values import RemoveQueue, RotateKeys, SetQueue
from mockserver.dialects.upstash.qstash.views import empty_reply, json_reply, owner_of, queue_view, store_of

_MOST_PARALLEL = 1_000
# What a free account may ask for.
_FREE_PARALLEL = 2
_NAME = re.compile(r"[A-Za-z0-9._-]{1,200}")


def checked_name(name: object) -> str:
    """A queue's name. Raises RefusedError: "names can only contain alphanumeric characters, hyphens, periods, and
    underscores"."""
    if isinstance(name, str) and _NAME.fullmatch(name):
        return name
    raise refused("invalid queue name: it can only contain alphanumeric characters, hyphens, periods, and underscores")


def list_queues(call: Call, scope: RequestScope) -> Reply:
    """Every queue."""
    return json_reply([queue_view(each) for each in store_of(scope).queues(owner_of(call))])


def get_queue(call: Call, scope: RequestScope) -> Reply:
    """A queue."""
    name = scope.variables["queueName"]
    queue = store_of(scope).queue(owner_of(call), name)
    if queue is None:
        raise refused(f"queue {name} not found", 404)
    return json_reply(queue_view(queue))


def set_queue(call: Call, scope: RequestScope) -> Reply:
    """Make a queue, or change it."""
    body = object_in(call.body)
    name, parallelism, paused = checked_name(body.get("queueName")), body.get("parallelism"), body.get("paused")
    if parallelism is not None and not (type(parallelism) is int and 0 < parallelism <= _MOST_PARALLEL):
        raise refused("invalid parallelism: it must be greater than 0")
    if parallelism is not None and parallelism > _FREE_PARALLEL and scope.edition == "observed":
        raise QuotaExceededError("maxParallelism", _FREE_PARALLEL)
    if paused is not None and not isinstance(paused, bool):
        raise refused("invalid paused: it must be true or false")
    return empty_reply(SetQueue(owner_of(call), name, parallelism, paused))


def remove_queue(call: Call, scope: RequestScope) -> Reply:
    """Remove a queue with the messages that wait in it."""
    return empty_reply(RemoveQueue(owner_of(call), scope.variables["queueName"]))


def pause_queue(call: Call, scope: RequestScope) -> Reply:
    """Deliver no more messages of a queue."""
    return empty_reply(SetQueue(owner_of(call), checked_name(scope.variables["queueName"]), paused=True))


def resume_queue(call: Call, scope: RequestScope) -> Reply:
    """Deliver its messages again."""
    return empty_reply(SetQueue(owner_of(call), checked_name(scope.variables["queueName"]), paused=False))


def get_keys(call: Call, scope: RequestScope) -> Reply:
    """The signing keys."""
    current, following = store_of(scope).signing_keys
    return json_reply({"current": current, "next": following})


def rotate_keys(call: Call, scope: RequestScope) -> Reply:
    """Replace the current signing key with the next one, and the next one with a new one."""
    store = store_of(scope)
    _, current = store.signing_keys
    following = signing_key(store.rotations + 2)
    return json_reply({"current": current, "next": following}, orders=(RotateKeys(),))

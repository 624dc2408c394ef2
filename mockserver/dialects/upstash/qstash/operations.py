"""QStash's operations, beside the chat: publishing, and what becomes of messages. Their code is loaded on first use."""

from importlib import import_module

from mockserver.core.calls import Call
from mockserver.core.dialects import Answer, Operation, Schemas, Site
from mockserver.core.failures import Rejection
from mockserver.core.outbox import Outbox
from mockserver.core.timeline import Reply


def empty_mailbox() -> Outbox:
    """A mailbox without messages."""
    from mockserver.dialects.upstash.qstash.mailbox import Mailbox

    return Mailbox()


def _loaded(module: str, name: str) -> Answer:
    """An answer whose module is loaded with the first request for it."""

    def answer(call: Call, site: Site) -> Reply | Rejection:
        found: Answer = getattr(import_module(f"mockserver.dialects.upstash.qstash.{module}"), name)
        return found(call, site)

    return answer


def _operation(
    name: str,
    method: str,
    paths: tuple[str, ...],
    module: str,
    summary: str,
    response: str | None = None,
    statuses: tuple[int, ...] = (200,),
) -> Operation:
    answer = _loaded(module, name)
    return Operation(name, method, paths, Schemas(response=response), answer=answer, summary=summary, statuses=statuses)


OPERATIONS = (
    _operation(
        "publish",
        "POST",
        ("/v2/publish/{destination}",),
        "publishing",
        "Publish a message",
        "PublishResponse",
        (200, 202),
    ),
    _operation(
        "enqueue",
        "POST",
        ("/v2/enqueue/{queueName}/{destination}",),
        "publishing",
        "Publish a message in a queue",
        "PublishResponse",
        (200, 202),
    ),
    _operation("batch", "POST", ("/v2/batch",), "publishing", "Publish several messages", "BatchResponse"),
    _operation("get_message", "GET", ("/v2/messages/{messageId}",), "listing", "One message", "Message"),
    _operation(
        "cancel_message",
        "DELETE",
        ("/v2/messages/{messageId}",),
        "listing",
        "Cancel a message",
        "CancelResponse",
        (202,),
    ),
    _operation("cancel_messages", "DELETE", ("/v2/messages",), "listing", "Cancel messages", "CancelResponse", (202,)),
    _operation("list_events", "GET", ("/v2/events", "/v2/logs"), "listing", "The log of all messages", "Events"),
    # Before the paths of one dead letter, which would match these too.
    _operation(
        "retry_dead",
        "POST",
        ("/v2/dlq/retry/{dlqId}",),
        "dead_letters",
        "Deliver a dead letter again",
        "PublishResponse",
        (201,),
    ),
    _operation(
        "retry_dead_letters",
        "POST",
        ("/v2/dlq/retry",),
        "dead_letters",
        "Deliver dead letters again",
        "RetryResponse",
        (201,),
    ),
    _operation("list_dead", "GET", ("/v2/dlq", "/v2/dlq/messages"), "dead_letters", "The dead letters", "DLQMessages"),
    _operation("delete_dead_letters", "DELETE", ("/v2/dlq",), "dead_letters", "Delete dead letters", "DeleteResponse"),
    _operation("get_dead", "GET", ("/v2/dlq/{dlqId}",), "dead_letters", "One dead letter", "DLQMessage"),
    _operation("delete_dead", "DELETE", ("/v2/dlq/{dlqId}",), "dead_letters", "Delete a dead letter"),
    _operation("list_queues", "GET", ("/v2/queues",), "queues", "The queues", "Queues"),
    _operation("set_queue", "POST", ("/v2/queues",), "queues", "Make or change a queue"),
    _operation("pause_queue", "POST", ("/v2/queues/{queueName}/pause",), "queues", "Pause a queue"),
    _operation("resume_queue", "POST", ("/v2/queues/{queueName}/resume",), "queues", "Resume a queue"),
    _operation("get_queue", "GET", ("/v2/queues/{queueName}",), "queues", "One queue", "Queue"),
    _operation("remove_queue", "DELETE", ("/v2/queues/{queueName}",), "queues", "Delete a queue"),
    _operation("get_keys", "GET", ("/v2/keys",), "listing", "The signing keys", "SigningKeys"),
    _operation("rotate_keys", "POST", ("/v2/keys/rotate",), "listing", "Replace the signing keys", "SigningKeys"),
)

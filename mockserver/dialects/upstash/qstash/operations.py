"""QStash's operations, beside the chat: publishing, and what becomes of messages. Their code is loaded on first use."""

from functools import partial
from importlib import import_module

from mockserver.core.calls import Call
from mockserver.core.dialect_state import WebhookQueue
from mockserver.core.dialects import Operation, OperationHandler, RequestScope, Schemas
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.timeline import Reply
from mockserver.dialects.upstash.errors import RefusedError
from mockserver.dialects.upstash.limits import READ_ONLY, sent_token


def empty_store() -> WebhookQueue:
    """A message store without messages."""
    from mockserver.dialects.upstash.qstash.message_store import MessageStore

    return MessageStore()


def _operation(
    module: str, name: str, method: str, paths: str, summary: str, response: str | None = None, *statuses: int
) -> Operation:
    """An operation whose answer is the function of its name in a module, which is loaded with the first request."""

    def answer(call: Call, scope: RequestScope) -> Reply | Refusal:
        # "it cannot be used to publish messages, create new resources [...] or modify existing resources"
        if method != "GET" and (sent_token(call) or "").endswith(READ_ONLY):
            return Refusal(FailureKind.FORBIDDEN, "a read-only token cannot be used for this operation")
        found: OperationHandler = getattr(import_module(f"mockserver.dialects.upstash.qstash.{module}"), name)
        try:
            return found(call, scope)
        except RefusedError as error:
            return error.refusal

    schemas, statuses = Schemas(response=response), statuses or (200,)
    return Operation(
        name, method, tuple(paths.split()), schemas, handler=answer, summary=summary, statuses=statuses, remembers=True
    )


_publishing, _messages, _queue = (partial(_operation, module) for module in ("publishing", "messages", "queues"))

OPERATIONS = (
    _publishing("publish", "POST", "/v2/publish/{destination}", "Publish a message", "Receipt", 200, 202),
    _publishing(
        "enqueue", "POST", "/v2/enqueue/{queueName}/{destination}", "Publish a message in a queue", "Receipt",
        200, 202,
    ),
    _publishing("batch", "POST", "/v2/batch", "Publish several messages", "BatchResponse"),
    _messages("get_message", "GET", "/v2/messages/{messageId}", "One message", "Message"),
    _messages("cancel_message", "DELETE", "/v2/messages/{messageId}", "Cancel a message", "CancelResponse", 202),
    _messages("cancel_messages", "DELETE", "/v2/messages", "Cancel messages", "CancelResponse", 202),
    _messages("list_events", "GET", "/v2/events /v2/logs", "The log of all messages", "Events"),
    # Before the paths of one dead letter, which would match these too.
    _messages("retry_dead", "POST", "/v2/dlq/retry/{dlqId}", "Deliver a dead letter again", "Receipt", 201),
    _messages("retry_dead_letters", "POST", "/v2/dlq/retry", "Deliver dead letters again", "RetryResponse", 201),
    _messages("list_dead", "GET", "/v2/dlq /v2/dlq/messages", "The dead letters", "DLQMessages"),
    _messages("delete_dead_letters", "DELETE", "/v2/dlq", "Delete dead letters", "DeleteResponse"),
    _messages("get_dead", "GET", "/v2/dlq/{dlqId}", "One dead letter", "DLQMessage"),
    _messages("delete_dead", "DELETE", "/v2/dlq/{dlqId}", "Delete a dead letter"),
    _queue("list_queues", "GET", "/v2/queues", "The queues", "Queues"),
    _queue("set_queue", "POST", "/v2/queues", "Make or change a queue"),
    _queue("pause_queue", "POST", "/v2/queues/{queueName}/pause", "Pause a queue"),
    _queue("resume_queue", "POST", "/v2/queues/{queueName}/resume", "Resume a queue"),
    _queue("get_queue", "GET", "/v2/queues/{queueName}", "One queue", "Queue"),
    _queue("remove_queue", "DELETE", "/v2/queues/{queueName}", "Delete a queue"),
    _queue("get_keys", "GET", "/v2/keys", "The signing keys", "SigningKeys"),
    _queue("rotate_keys", "POST", "/v2/keys/rotate", "Replace the signing keys", "SigningKeys"),
)  # fmt: skip

"""QStash's operations, beside the chat: publishing, and what becomes of messages. Their code is loaded on first use."""

from functools import partial
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


def _operation(
    module: str, name: str, method: str, paths: str, summary: str, response: str | None = None, *statuses: int
) -> Operation:
    """An operation whose answer is the function of its name in a module, which is loaded with the first request."""

    def answer(call: Call, site: Site) -> Reply | Rejection:
        found: Answer = getattr(import_module(f"mockserver.dialects.upstash.qstash.{module}"), name)
        return found(call, site)

    schemas, statuses = Schemas(response=response), statuses or (200,)
    return Operation(name, method, tuple(paths.split()), schemas, answer=answer, summary=summary, statuses=statuses)


_publishing, _listing, _dead, _queue, _flow, _group, _schedule = (
    partial(_operation, module)
    for module in ("publishing", "listing", "dead_letters", "queues", "flow_control", "url_groups", "scheduling")
)

OPERATIONS = (
    _publishing("publish", "POST", "/v2/publish/{destination}", "Publish a message", "PublishResponse", 200, 202),
    _publishing(
        "enqueue", "POST", "/v2/enqueue/{queueName}/{destination}", "Publish a message in a queue", "PublishResponse",
        200, 202,
    ),
    _publishing("batch", "POST", "/v2/batch", "Publish several messages", "BatchResponse"),
    _listing("get_message", "GET", "/v2/messages/{messageId}", "One message", "Message"),
    _listing("cancel_message", "DELETE", "/v2/messages/{messageId}", "Cancel a message", "CancelResponse", 202),
    _listing("cancel_messages", "DELETE", "/v2/messages", "Cancel messages", "CancelResponse", 202),
    _listing("list_events", "GET", "/v2/events /v2/logs", "The log of all messages", "Events"),
    # Before the paths of one dead letter, which would match these too.
    _dead("retry_dead", "POST", "/v2/dlq/retry/{dlqId}", "Deliver a dead letter again", "Receipt", 201),
    _dead("retry_dead_letters", "POST", "/v2/dlq/retry", "Deliver dead letters again", "RetryResponse", 201),
    _dead("list_dead", "GET", "/v2/dlq /v2/dlq/messages", "The dead letters", "DLQMessages"),
    _dead("delete_dead_letters", "DELETE", "/v2/dlq", "Delete dead letters", "DeleteResponse"),
    _dead("get_dead", "GET", "/v2/dlq/{dlqId}", "One dead letter", "DLQMessage"),
    _dead("delete_dead", "DELETE", "/v2/dlq/{dlqId}", "Delete a dead letter"),
    _queue("list_queues", "GET", "/v2/queues", "The queues", "Queues"),
    _queue("set_queue", "POST", "/v2/queues", "Make or change a queue"),
    _queue("pause_queue", "POST", "/v2/queues/{queueName}/pause", "Pause a queue"),
    _queue("resume_queue", "POST", "/v2/queues/{queueName}/resume", "Resume a queue"),
    _queue("get_queue", "GET", "/v2/queues/{queueName}", "One queue", "Queue"),
    _queue("remove_queue", "DELETE", "/v2/queues/{queueName}", "Delete a queue"),
    _flow("list_flows", "GET", "/v2/flowControl", "The flow control keys", "FlowControls"),
    _flow("pause_flow", "POST", "/v2/flowControl/{flowControlKey}/pause", "Pause a flow control key"),
    _flow("resume_flow", "POST", "/v2/flowControl/{flowControlKey}/resume", "Resume a flow control key"),
    _flow("pin_flow", "POST", "/v2/flowControl/{flowControlKey}/pin", "Pin limits of a flow control key"),
    _flow("unpin_flow", "POST", "/v2/flowControl/{flowControlKey}/unpin", "Unpin limits of a flow control key"),
    _flow("reset_flow", "POST", "/v2/flowControl/{flowControlKey}/resetRate", "End the period of a flow control key"),
    _flow("get_flow", "GET", "/v2/flowControl/{flowControlKey}", "One flow control key", "FlowControl"),
    _flow("global_parallelism", "GET", "/v2/globalParallelism", "The limit of all messages", "GlobalParallelism"),
    _group("list_groups", "GET", "/v2/topics", "The URL groups", "URLGroups"),
    _group("add_endpoints", "POST", "/v2/topics/{urlGroupName}/endpoints", "Add endpoints to a URL group"),
    _group("remove_endpoints", "DELETE", "/v2/topics/{urlGroupName}/endpoints", "Remove endpoints of a URL group"),
    _group("get_group", "GET", "/v2/topics/{urlGroupName}", "One URL group", "URLGroup"),
    _group("remove_group", "DELETE", "/v2/topics/{urlGroupName}", "Delete a URL group"),
    _schedule("list_schedules", "GET", "/v2/schedules", "The schedules", "Schedules"),
    _schedule("pause_schedule", "POST", "/v2/schedules/{scheduleId}/pause", "Pause a schedule"),
    _schedule("patch_pause_schedule", "PATCH", "/v2/schedules/{scheduleId}/pause", "Pause a schedule"),
    _schedule("resume_schedule", "POST", "/v2/schedules/{scheduleId}/resume", "Resume a schedule"),
    _schedule("patch_resume_schedule", "PATCH", "/v2/schedules/{scheduleId}/resume", "Resume a schedule"),
    _schedule("create_schedule", "POST", "/v2/schedules/{scheduleId}", "Make a schedule", "ScheduleResponse"),
    _schedule("get_schedule", "GET", "/v2/schedules/{scheduleId}", "One schedule", "Schedule"),
    _schedule("remove_schedule", "DELETE", "/v2/schedules/{scheduleId}", "Delete a schedule"),
    _listing("get_keys", "GET", "/v2/keys", "The signing keys", "SigningKeys"),
    _listing("rotate_keys", "POST", "/v2/keys/rotate", "Replace the signing keys", "SigningKeys"),
)  # fmt: skip

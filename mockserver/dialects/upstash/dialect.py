"""Upstash QStash LLM, which its vendor has retired: a chat (vendor note, part B), and QStash's own API, by which
messages are published, to the model or to applications, and looked after."""

from functools import partial

from mockserver.core.dialects import (
    BEARER,
    Clients,
    Dialect,
    Model,
    Operation,
    OperationHandler,
    Preset,
    RequestScope,
    Schemas,
    on_demand,
)
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.http import Call, Reply
from mockserver.dialects.contracts import editions
from mockserver.dialects.upstash.errors import (
    CHAT_PATH,
    ERRORS,
    QUOTAS,
    READ_ONLY,
    RefusedError,
    every_answer,
    sent_token,
    token,
)

# The signing keys of every server, until they are rotated: what `signing_key` of `attempts` derives.
CURRENT_SIGNING_KEY = "sig_J9BNJtiDhVqnyKjufMecfjrriym4"
NEXT_SIGNING_KEY = "sig_rraZUTNS1hG6x1Jt9FBy6DWPa8tj"


def _operation(
    module: str, name: str, method: str, paths: str, summary: str, response: str | None = None, *statuses: int
) -> Operation:
    """An operation of QStash whose answer is the function of its name in a module."""
    handler: OperationHandler = on_demand(f"{__package__}.{module}:{name}")

    def answer(call: Call, scope: RequestScope) -> Reply | Refusal:
        # "it cannot be used to publish messages, create new resources [...] or modify existing resources"
        if method != "GET" and (sent_token(call) or "").endswith(READ_ONLY):
            return Refusal(FailureKind.FORBIDDEN, "a read-only token cannot be used for this operation")
        try:
            return handler(call, scope)
        except RefusedError as error:
            return error.refusal

    schemas, statuses = Schemas(response=response), statuses or (200,)
    return Operation(
        name, method, tuple(paths.split()), schemas, handler=answer, summary=summary, statuses=statuses, remembers=True
    )


_publishing, _managing = partial(_operation, "publishing"), partial(_operation, "management")

OPERATIONS = (
    Operation(
        "chat_completions",
        "POST",
        (CHAT_PATH,),
        Schemas("ChatCompletionRequest", "ChatCompletion", "ChatCompletionChunk"),
        read=on_demand(f"{__package__}.chats:read_chat"),
        write=on_demand(f"{__package__}.chats:write_chat"),
        summary="Answer a conversation",
    ),
    _publishing("publish", "POST", "/v2/publish/{destination}", "Publish a message", "Receipt", 200, 202),
    _publishing(
        "enqueue", "POST", "/v2/enqueue/{queueName}/{destination}", "Publish a message in a queue", "Receipt",
        200, 202,
    ),
    _publishing("batch", "POST", "/v2/batch", "Publish several messages", "BatchResponse"),
    _managing("get_message", "GET", "/v2/messages/{messageId}", "One message", "Message"),
    _managing("cancel_message", "DELETE", "/v2/messages/{messageId}", "Cancel a message", "CancelResponse", 202),
    _managing("cancel_messages", "DELETE", "/v2/messages", "Cancel messages", "CancelResponse", 202),
    _managing("list_events", "GET", "/v2/events /v2/logs", "The log of all messages", "Events"),
    # Before the paths of one dead letter, which would match these too.
    _managing("retry_dead", "POST", "/v2/dlq/retry/{dlqId}", "Deliver a dead letter again", "Receipt", 201),
    _managing("retry_dead_letters", "POST", "/v2/dlq/retry", "Deliver dead letters again", "RetryResponse", 201),
    _managing("list_dead", "GET", "/v2/dlq /v2/dlq/messages", "The dead letters", "DLQMessages"),
    _managing("delete_dead_letters", "DELETE", "/v2/dlq", "Delete dead letters", "DeleteResponse"),
    _managing("get_dead", "GET", "/v2/dlq/{dlqId}", "One dead letter", "DLQMessage"),
    _managing("delete_dead", "DELETE", "/v2/dlq/{dlqId}", "Delete a dead letter"),
    _managing("list_queues", "GET", "/v2/queues", "The queues", "Queues"),
    _managing("set_queue", "POST", "/v2/queues", "Make or change a queue"),
    _managing("pause_queue", "POST", "/v2/queues/{queueName}/pause", "Pause a queue"),
    _managing("resume_queue", "POST", "/v2/queues/{queueName}/resume", "Resume a queue"),
    _managing("get_queue", "GET", "/v2/queues/{queueName}", "One queue", "Queue"),
    _managing("remove_queue", "DELETE", "/v2/queues/{queueName}", "Delete a queue"),
    _managing("get_keys", "GET", "/v2/keys", "The signing keys", "SigningKeys"),
    _managing("rotate_keys", "POST", "/v2/keys/rotate", "Replace the signing keys", "SigningKeys"),
)  # fmt: skip

UPSTASH = Dialect(
    name="upstash",
    title="Upstash QStash LLM API",
    hosts=("qstash.upstash.io", "qstash-us-east-1.upstash.io", "qstash-eu-central-1.upstash.io"),
    operations=OPERATIONS,
    webhooks=on_demand(f"{__package__}.message_store:MessageStore"),
    errors=ERRORS,
    contract=editions(__package__),
    models=(
        Model("meta-llama/Meta-Llama-3-8B-Instruct", "meta-llama", context=8_192),
        Model("mistralai/Mistral-7B-Instruct-v0.2", "mistralai", context=32_768),
    ),
    headers=every_answer,
    credentials=token,
    security={**BEARER, "token": {"type": "apiKey", "in": "query", "name": "qstash_token"}},
    presets={
        # How fast the models were is not known.
        "upstash": Preset(
            "prefill=lognormal(170ms, 0.35, max=2s), prefill_per_token=0.08ms, "
            "itl=lognormal(13.8ms, 0.25, max=200ms), network=lognormal(30ms, 0.3, max=200ms)",
            "an 8B model on vLLM: first token after about 0.2 s, 70 tokens/s",
        ),
    },
    realistic="upstash",
    clients=Clients(
        openai="/llm/v1",
        urls=("QSTASH_URL",),
        keys=("QSTASH_TOKEN",),
        more={"QSTASH_CURRENT_SIGNING_KEY": CURRENT_SIGNING_KEY, "QSTASH_NEXT_SIGNING_KEY": NEXT_SIGNING_KEY},
    ),
    quotas=QUOTAS,
    finish_reasons=("stop", "length"),
)

"""The fields that completions and chats have in common, and a refusal that both share."""

from mockserver.core.calls import Call
from mockserver.core.failures import FailureKind, Rejection
from mockserver.core.generation import GenerationRequest
from mockserver.dialects.openai.fields import whole


def patience(call: Call) -> float | None:
    """The header `queue_threshold`, "50-20000 ms", in seconds: a request that would wait longer is refused at once."""
    text = call.headers.get("queue_threshold") or ""
    return int(text) / 1000 if text.isdecimal() and len(text) <= 5 and 50 <= int(text) <= 20_000 else None


def least_tokens(value: float | None, context: int) -> int:
    """The minimum length of an answer, in tokens; by the page, -1 is the longest sequence."""
    least = whole(value) or 0
    return context if least < 0 else least


def fitting(request: GenerationRequest) -> GenerationRequest | Rejection:
    """The request, or its refusal if one of its prompts is longer than the model's context window."""
    length, limit = max(prompt.token_count for prompt in request.prompts), request.limits.context
    if length <= limit:
        return request
    return Rejection(
        FailureKind.CONTEXT_LENGTH,
        f"Please reduce the length of the messages or completion. Current length is {length} while limit is {limit}",
    )

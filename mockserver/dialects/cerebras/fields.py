"""The fields that completions and chats have in common, and a refusal that both share."""

from collections.abc import Mapping
from typing import Any

from mockserver.core.calls import Call
from mockserver.core.failures import FailureKind, Rejection
from mockserver.core.generation import GenerationRequest, Sampling
from mockserver.dialects.openai_style.fields import token_biases, whole

Body = Mapping[str, Any]


def patience(call: Call) -> float | None:
    """The header `queue_threshold`, "50-20000 ms", in seconds: a request that would wait longer is refused at once."""
    text = call.headers.get("queue_threshold") or ""
    return int(text) / 1000 if text.isdecimal() and 50 <= int(text) <= 20_000 else None


def least_tokens(value: float | None, context: int) -> int:
    """The minimum length of an answer, in tokens; by the page, -1 is the longest sequence."""
    least = whole(value) or 0
    return context if least < 0 else least


def sampling(body: Body) -> Sampling:
    """How the tokens are drawn."""
    seed = whole(body.get("seed"))
    return Sampling(
        seeds=() if seed is None else (seed,),
        temperature=_or(body.get("temperature"), 1.0),
        top_p=_or(body.get("top_p"), 1.0),
        frequency_penalty=_or(body.get("frequency_penalty"), 0.0),
        presence_penalty=_or(body.get("presence_penalty"), 0.0),
        logit_bias=token_biases(body.get("logit_bias")),
    )


def _or(value: float | None, default: float) -> float:
    return default if value is None else value


def fitting(request: GenerationRequest) -> GenerationRequest | Rejection:
    """The request, or its refusal if one of its prompts is longer than the model's context window."""
    length, limit = max(prompt.token_count for prompt in request.prompts), request.limits.context
    if length <= limit:
        return request
    return Rejection(
        FailureKind.CONTEXT_LENGTH,
        f"Please reduce the length of the messages or completion. Current length is {length} while limit is {limit}",
    )

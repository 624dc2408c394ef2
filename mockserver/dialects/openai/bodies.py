"""Replies that are one body, and the members that most of them have."""

from email.utils import formatdate
from functools import lru_cache

import orjson

from mockserver.core.generation import Generation, Usage
from mockserver.core.timeline import FrameBatch, RawHeaders, Reply

JSON = b"application/json"


def date_header(now: float) -> tuple[bytes, bytes]:
    """The `date` header of an instant in Unix seconds."""
    return _date_header(int(now))


@lru_cache(maxsize=8)
def _date_header(second: int) -> tuple[bytes, bytes]:
    return b"date", formatdate(second, usegmt=True).encode()


def body_reply(
    value: object, generation: Generation | None = None, *, headers: RawHeaders = (), content_type: bytes = JSON
) -> Reply:
    """A reply of one body (a JSON value, or bytes as they are), due when the generation is complete, or at once."""
    body = value if isinstance(value, bytes) else orjson.dumps(value)
    if generation is None:
        step = tokens = 0
    else:
        step, tokens = generation.last_step, generation.usage.completion_tokens
    return Reply(200, ((b"content-type", content_type), *headers), (FrameBatch((body,), (step,), (tokens,)),))


def usage_object(usage: Usage) -> dict[str, int]:
    """Token counts in the usual order: prompt, completion, total."""
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
    }

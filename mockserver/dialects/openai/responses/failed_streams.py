"""Streams of responses that fail: the events that end them, and what those that were sent before them say."""

from collections.abc import Callable, Sequence
from typing import Any

import orjson

from mockserver.core.dialects import Broken
from mockserver.dialects.openai.flavour import Members
from mockserver.dialects.openai.responses.flavour import Layout, ResponseEvent


def failed(
    broken: Broken,
    layout: Layout,
    first: int = 0,
    *,
    code: str | None = None,
    error: Callable[[Members], Members] | None = None,
) -> bytes:
    """The events with which a stream fails: those before them may be corrupt.

    The last one is the failed response with its error, code and message, and the items that are done; `error` makes
    the fields of an event of that name ahead of it.
    """
    sent = broken.events[: broken.sent]
    number = next_number(sent, first)
    problem = {"code": code or _error_code(broken.status), "message": broken.message}
    done = [each["item"] for each in map(data_of, sent) if each.get("type") == "response.output_item.done"]
    begun = data_of(broken.events[0]).get("response", {})
    response = {**begun, "status": "failed", "error": problem, "output": done}
    events = [ResponseEvent("response.failed", {"response": response})]
    if error is not None:
        events.insert(0, ResponseEvent("error", error(problem)))
    return b"".join([layout(each.type, number + place, each.told) for place, each in enumerate(events)])


def data_of(event: bytes) -> dict[str, Any]:
    """The data of an event as an object; empty if an earlier fault has corrupted it."""
    lines = [line for line in event.splitlines() if line.startswith(b"data:")]
    try:
        value = orjson.loads(b"\n".join(line[5:] for line in lines))
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def next_number(sent: Sequence[bytes], first: int = 0) -> int:
    """The sequence number after those of the events sent; `first` if there are none."""
    numbers = (data_of(event).get("sequence_number") for event in reversed(sent))
    last = next((number for number in numbers if isinstance(number, int)), first - 1)
    return last + 1


def _error_code(status: int) -> str:
    """The error code of the Responses API for an HTTP status."""
    if status == 429:
        return "rate_limit_exceeded"
    return "server_error" if status >= 500 else "invalid_prompt"

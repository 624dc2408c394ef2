"""What the last events of a failing stream need: the next number, the finished items, an error code."""

from collections.abc import Iterable, Sequence
from typing import Any

import orjson


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


def items_done(sent: Iterable[bytes]) -> list[dict[str, Any]]:
    """The items that are done, in order."""
    payloads = (data_of(event) for event in sent)
    return [each["item"] for each in payloads if each.get("type") == "response.output_item.done"]


def error_code(status: int) -> str:
    """The error code of the Responses API for an HTTP status."""
    if status == 429:
        return "rate_limit_exceeded"
    return "server_error" if status >= 500 else "invalid_prompt"

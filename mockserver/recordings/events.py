"""The events of an answer: those of a stream, or a whole body as the only one."""

import re
from typing import Any, NamedTuple

import orjson

from mockserver.core.json_values import nests_absurdly

_END = re.compile(rb"\r?\n\r?\n")


class Event(NamedTuple):
    """One event: the names of its fields as they were written (`data: `), and its data.

    `value` is the data as JSON, or as text if it is not JSON, such as `[DONE]`.
    """

    fields: tuple[str, ...]
    value: Any


def events_of(answer: bytes, *, streamed: bool) -> list[Event]:
    """The events of an answer, in order."""
    if not streamed:
        return [Event((), _value(answer))]
    return [_event(block) for block in _END.split(answer) if block.strip()]


def _event(block: bytes) -> Event:
    fields, data = [], []
    for line in block.splitlines():
        name, colon, rest = line.partition(b":")
        blank = b" " if rest.startswith(b" ") else b""
        fields.append((name + colon + blank).decode(errors="replace"))
        if name == b"data":
            data.append(rest.removeprefix(b" "))
    return Event(tuple(fields), _value(b"\n".join(data)))


def _value(data: bytes) -> Any:
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return data.decode(errors="replace")
    return data.decode() if nests_absurdly(data, value) else value

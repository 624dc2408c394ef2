"""Faults of the connection: it breaks, hangs or is slow, or carries something other than HTTP."""

from collections.abc import Callable
from typing import Literal

from mockserver.core.timeline import Ending, Timeline
from mockserver.faults.events import Event, Events, Words, ended, events_of, parted
from mockserver.faults.rules import Fault, Place

How = Literal["reset", "close", "hang", "half_open"]

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"


def broken_off(how: How, raw: bytes = b"") -> Callable[[Timeline, Fault, Words], Timeline]:
    """An answer that is intact up to the fault's place, and then ends in this way.

    If the place is an instant, the answer may end without a head; after a number of events, tokens or bytes it has one.
    """

    def apply(timeline: Timeline, fault: Fault, words: Words) -> Timeline:
        counted = fault.place != Place() and fault.place.at is None
        headers = timeline.headers
        if not timeline.streamed and timeline.ending is None:
            # The head promises the whole body.
            length = sum(len(data) for run in timeline.runs for data in run.data)
            headers = (*headers, (b"content-length", b"%d" % length))
        begun = ended(timeline._replace(headers=headers), fault.place)
        return begun._replace(ending=Ending(how, raw, head=counted or bool(raw)))

    return apply


def instead(raw: bytes) -> Callable[[Timeline, Fault, Words], Timeline]:
    """Fixed bytes instead of any answer, and then the end."""
    return lambda timeline, fault, words: timeline._replace(runs=(), ending=Ending("close", raw), until=0.0)


def half_head(timeline: Timeline, fault: Fault, words: Words) -> Timeline:
    """The first half of a head, and then the end that the fault sets."""
    return timeline._replace(runs=(), ending=Ending(fault.settings["then"], HEAD[:32]), until=0.0)


def half_chunk(timeline: Timeline, fault: Fault, words: Words) -> Timeline:
    """The events before the place, then a chunk that is shorter than its stated size, and the end."""
    before, after = parted(events_of(timeline), fault.place)
    for _ in before:
        pass
    data = next((event.data for event in after), b"data: ")
    half = Ending("close", b"%x\r\n%b" % (len(data), data[: len(data) // 2]), head=True)
    return ended(timeline, fault.place)._replace(ending=half)


def bandwidth(events: Events, fault: Fault) -> Events:
    """Small pieces, each sent when the line has carried the ones before it."""
    return _carried(events, fault.settings["bytes_per_second"], fault.settings["piece"])


def drip(events: Events, fault: Fault) -> Events:
    """Byte by byte, at a given rate."""
    return _carried(events, fault.settings["bytes_per_second"], 1)


def _carried(events: Events, rate: float, piece: int) -> Events:
    free = 0.0
    for event in events:
        for start in range(0, len(event.data), piece):
            data = event.data[start : start + piece]
            free = max(free, event.due) + len(data) / rate
            yield Event(data, free, event.tokens if start + piece >= len(event.data) else 0)

"""Faults of whole responses and of connections: other statuses, bodies and content types; breaks, silence, slowness,
garbage."""

from typing import Literal

from mockserver.core.http import ConnectionFault, TimedFrames, Timeline
from mockserver.faults.rules import Fault, Place
from mockserver.faults.streams import (
    Apply,
    StreamEvent,
    StreamEvents,
    Vendor,
    changed,
    ended,
    events_after,
    events_of,
    over_events,
    split_at,
)


def error(timeline: Timeline, fault: Fault, vendor: Vendor) -> Timeline:
    """The vendor's refusal instead of the answer."""
    return vendor.words(fault)


def status(timeline: Timeline, fault: Fault, vendor: Vendor) -> Timeline:
    """Any status and body."""
    settings = fault.settings
    return _answer(settings["status"], settings["content_type"], settings["body"].encode())


def html(timeline: Timeline, fault: Fault, vendor: Vendor) -> Timeline:
    """A sign-in page with status 200."""
    page = b"<!DOCTYPE html><html><head><title>Sign in</title></head><body><h1>Please sign in</h1></body></html>\n"
    return _answer(200, "text/html; charset=utf-8", page)


def empty(timeline: Timeline, fault: Fault, vendor: Vendor) -> Timeline:
    """The answer's head without a body."""
    return timeline._replace(runs=(TimedFrames((b"",), (0.0,), (0,)),), streamed=False, until=0.0)


def truncated(timeline: Timeline, fault: Fault, vendor: Vendor) -> Timeline:
    """Half of the body, under a length that fits it."""
    size = sum(len(data) for run in timeline.runs for data in run.data)
    return changed(timeline, lambda events: split_at(events, Place(after_bytes=size // 2))[0])


def content_type(timeline: Timeline, fault: Fault, vendor: Vendor) -> Timeline:
    """The answer under another content type."""
    others = tuple(header for header in timeline.headers if header[0] != b"content-type")
    return timeline._replace(headers=((b"content-type", fault.settings["value"].encode()), *others))


def _answer(status: int, content_type: str, body: bytes) -> Timeline:
    return Timeline(status, ((b"content-type", content_type.encode()),), (TimedFrames((body,), (0.0,), (0,)),))


How = Literal["reset", "close", "hang", "half_open"]

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"


def broken_off(how: How, raw: bytes = b"") -> Apply:
    """An answer that is intact up to the fault's place, and then ends in this way.

    If the place is an instant, the answer may end without a head; after a number of events, tokens or bytes it has one.
    """

    def apply(timeline: Timeline, fault: Fault, vendor: Vendor) -> Timeline:
        counted = fault.place != Place() and fault.place.at is None
        headers = timeline.headers
        if not timeline.streamed and timeline.ending is None:
            # The head promises the whole body.
            length = sum(len(data) for run in timeline.runs for data in run.data)
            headers = (*headers, (b"content-length", b"%d" % length))
        begun = ended(timeline._replace(headers=headers), fault.place)
        return begun._replace(ending=ConnectionFault(how, raw, head=counted or bool(raw)))

    return apply


def instead(raw: bytes) -> Apply:
    """Fixed bytes instead of any answer, and then the end."""
    return lambda timeline, fault, words: timeline._replace(runs=(), ending=ConnectionFault("close", raw), until=0.0)


def half_head(timeline: Timeline, fault: Fault, vendor: Vendor) -> Timeline:
    """The first half of a head, and then the end that the fault sets."""
    return timeline._replace(runs=(), ending=ConnectionFault(fault.settings["then"], HEAD[:32]), until=0.0)


def half_chunk(timeline: Timeline, fault: Fault, vendor: Vendor) -> Timeline:
    """The events before the place, then a chunk that is shorter than its stated size, and the end."""
    data = next((event.data for event in events_after(events_of(timeline), fault.place)), b"data: ")
    half = ConnectionFault("close", b"%x\r\n%b" % (len(data), data[: len(data) // 2]), head=True)
    return ended(timeline, fault.place)._replace(ending=half)


@over_events
def bandwidth(events: StreamEvents, fault: Fault) -> StreamEvents:
    """Small pieces, by default single bytes, each sent when the line has carried the ones before it."""
    rate, piece = fault.settings["bytes_per_second"], fault.settings.get("piece", 1)
    free = 0.0
    for event in events:
        for start in range(0, len(event.data), piece):
            data = event.data[start : start + piece]
            free = max(free, event.due) + len(data) / rate
            yield StreamEvent(data, free, event.tokens if start + piece >= len(event.data) else 0)

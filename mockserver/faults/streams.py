"""Faults of streams: events that are missing, broken, late, doubled, misplaced, or written otherwise."""

from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator
from itertools import chain, islice

from mockserver.core.timeline import Timeline
from mockserver.faults.events import Event, Events, Words, changed, parted
from mockserver.faults.rules import Fault


def over(change: Callable[[Events, Fault], Events]) -> Callable[[Timeline, Fault, Words], Timeline]:
    """A fault that changes the events of a timeline."""
    return lambda timeline, fault, words: changed(timeline, lambda events: change(events, fault))


def error_event(timeline: Timeline, fault: Fault, words: Words) -> Timeline:
    """The events before the place, and then the vendor's error."""
    failure = [data for run in words(fault).runs for data in run.data]

    def broken(events: Events) -> Events:
        due = 0.0
        for event in parted(events, fault.place)[0]:
            due = event.due
            yield event
        yield from (Event(data, due, 0) for data in failure)

    return changed(timeline, broken)


def cut(events: Events, fault: Fault) -> Events:
    """The events before the place, and a clean end."""
    return parted(events, fault.place)[0]


def half_event(events: Events, fault: Fault) -> Events:
    """The events before the place, and half of the next one."""
    before, after = parted(events, fault.place)
    yield from before
    for event in after:
        yield event._replace(data=event.data[: len(event.data) // 2], tokens=0)
        return


def malformed(events: Events, fault: Fault) -> Events:
    """The event at the place is cut within its JSON, and closed."""
    before, after = parted(events, fault.place)
    yield from before
    for event in after:
        yield event._replace(data=event.data.rstrip(b"\n")[: len(event.data) * 2 // 3] + b"\n\n", tokens=0)
        break
    yield from after


def drop(events: Events, fault: Fault) -> Events:
    """The event at the place is missing."""
    before, after = parted(events, fault.place)
    yield from before
    next(after, None)
    yield from after


def duplicate(events: Events, fault: Fault) -> Events:
    """The event at the place comes twice."""
    before, after = parted(events, fault.place)
    yield from before
    for event in after:
        yield event
        yield event._replace(tokens=0)
        break
    yield from after


def swap(events: Events, fault: Fault) -> Events:
    """The event at the place comes after the next one."""
    before, after = parted(events, fault.place)
    yield from before
    pair = list(islice(after, 2))
    dues = [event.due for event in pair]
    yield from (event._replace(due=due) for event, due in zip(reversed(pair), dues, strict=True))
    yield from after


def stall(events: Events, fault: Fault) -> Events:
    """Everything from the place on is late."""
    before, after = parted(events, fault.place)
    yield from before
    yield from (event._replace(due=event.due + fault.settings["seconds"]) for event in after)


def split(events: Events, fault: Fault) -> Events:
    """Every event in pieces, a moment apart so that no write holds two of them."""
    pieces, gap = fault.settings["pieces"], fault.settings["gap"]
    late = 0.0
    for event in events:
        size = -(-len(event.data) // pieces) or 1
        for start in range(0, len(event.data), size):
            last = start + size >= len(event.data)
            yield Event(event.data[start : start + size], event.due + late, event.tokens if last else 0)
            late += 0.0 if last else gap


def crlf(events: Events, fault: Fault) -> Events:
    """Lines that end in CR LF."""
    return (event._replace(data=event.data.replace(b"\n", b"\r\n")) for event in events)


def comment(events: Events, fault: Fault) -> Events:
    """A comment line before each event."""
    text = b": " + fault.settings["text"].encode() + b"\n\n"
    for event in events:
        yield Event(text, event.due, 0)
        yield event


def bom(events: Events, fault: Fault) -> Events:
    """A byte order mark before the first event."""
    first = next(events, None)
    started: Iterator[Event] = iter(()) if first is None else iter((first._replace(data=b"\xef\xbb\xbf" + first.data),))
    return chain(started, events)


def encoding(events: Events, fault: Fault) -> Events:
    """The same text in another encoding."""
    name, decoder = fault.settings["name"], getincrementaldecoder("utf-8")("replace")
    return (event._replace(data=decoder.decode(event.data).encode(name, "replace")) for event in events)


def late_done(events: Events, fault: Fault) -> Events:
    """The last event is late: the terminator, where the dialect has one."""
    held = next(events, None)
    for event in events:
        if held is not None:
            yield held
        held = event
    if held is not None:
        yield held._replace(due=held.due + fault.settings["seconds"])


def after_done(events: Events, fault: Fault) -> Events:
    """The last event of a token again, after everything else."""
    last = None
    for event in events:
        yield event
        last = event if event.tokens else last
    if last is not None:
        yield last._replace(tokens=0)

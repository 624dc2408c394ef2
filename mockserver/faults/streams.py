"""Faults of streams: events that are missing, broken, late, doubled, out of order, or encoded differently."""

import re
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator
from itertools import chain, islice, pairwise

from mockserver.core.timeline import Timeline
from mockserver.faults.events import Event, Events, Words, changed, ended, parted
from mockserver.faults.rules import Fault


def over(change: Callable[[Events, Fault], Events]) -> Callable[[Timeline, Fault, Words], Timeline]:
    """A fault that changes the events of a timeline."""
    return lambda timeline, fault, words: changed(timeline, lambda events: change(events, fault))


def error_event(timeline: Timeline, fault: Fault, words: Words) -> Timeline:
    """The events before the place, and then the vendor's error."""
    failure = [data for run in words(fault).runs for data in run.data]

    def broken(events: Events) -> Events:
        due = fault.place.at or 0.0
        for event in parted(events, fault.place)[0]:
            due = max(due, event.due)
            yield event
        yield from (Event(data, due, 0) for data in failure)

    return changed(timeline, broken)


def cut(timeline: Timeline, fault: Fault, words: Words) -> Timeline:
    """The events before the place, and a clean end."""
    return ended(timeline, fault.place)


def half_event(events: Events, fault: Fault) -> Events:
    """The events before the place, and half of the next one."""
    before, after = parted(events, fault.place)
    yield from before
    for event in after:
        due = event.due if fault.place.at is None else fault.place.at
        yield Event(event.data[: len(event.data) // 2], due, 0)
        return


def malformed(events: Events, fault: Fault) -> Events:
    """The event at the place is cut within its JSON, but properly terminated."""
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
    """The event at the place trades places with the next one."""
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
    """Every event in pieces, with gaps so that no write holds two of them; one cut is within a multi-byte character, if
    there is any."""
    pieces, gap = fault.settings["pieces"], fault.settings["gap"]
    late = 0.0
    for event in events:
        borders = _cuts(event.data, pieces)
        for start, stop in pairwise(borders):
            last = stop == len(event.data)
            yield Event(event.data[start:stop], event.due + late, event.tokens if last else 0)
            late += 0.0 if last else gap


def _cuts(data: bytes, pieces: int) -> list[int]:
    """Where an event is cut: evenly, except that the cut nearest to a multi-byte character is moved into that."""
    size = -(-len(data) // pieces) or 1
    borders = [*range(0, len(data), size), len(data)]
    within = re.search(b"[\x80-\xbf]", data)
    inner = range(1, len(borders) - 1)
    if within is not None and inner:
        nearest = min(inner, key=lambda number: abs(borders[number] - within.start()))
        borders[nearest] = within.start()
    return sorted(set(borders))


def burst(events: Events, fault: Fault) -> Events:
    """Events are held back and sent with the last of them, in one write."""
    while group := list(islice(events, fault.settings["events"])):
        yield Event(b"".join(event.data for event in group), group[-1].due, sum(event.tokens for event in group))


def keep_alive(events: Events, fault: Fault) -> Events:
    """At the place there are only comment lines for a while."""
    before, after = parted(events, fault.place)
    yield from before
    text, gap = _comment(fault), fault.settings["seconds"]
    late = gap * fault.settings["count"]
    for event in after:
        yield from (Event(text, event.due + gap * number, 0) for number in range(fault.settings["count"]))
        yield event._replace(due=event.due + late)
        break
    yield from (event._replace(due=event.due + late) for event in after)


def crlf(events: Events, fault: Fault) -> Events:
    """Lines that end in CR LF."""
    return (event._replace(data=event.data.replace(b"\n", b"\r\n")) for event in events)


def comment(events: Events, fault: Fault) -> Events:
    """A comment line before each event."""
    text = _comment(fault)
    for event in events:
        yield Event(text, event.due, 0)
        yield event


def _comment(fault: Fault) -> bytes:
    return b": %b\n\n" % fault.settings["text"].encode()


def bom(events: Events, fault: Fault) -> Events:
    """A byte order mark before the first event."""
    first = next(events, None)
    started: Iterator[Event] = iter(()) if first is None else iter((first._replace(data=b"\xef\xbb\xbf" + first.data),))
    return chain(started, events)


def encoding(events: Events, fault: Fault) -> Events:
    """The same text in another encoding."""
    name, decoder = fault.settings["charset"], getincrementaldecoder("utf-8")("replace")
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
    """The last event with a token is repeated after everything else; the first event if none has a token."""
    last = None
    for event in events:
        yield event
        last = event if event.tokens or last is None else last
    if last is not None:
        yield last._replace(tokens=0)

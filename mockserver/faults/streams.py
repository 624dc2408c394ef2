"""Faults of streams: events that are missing, broken, late, doubled, out of order, or encoded differently.

Timelines are taken apart into single events: faults are rare, so that their cost does not matter. Where a member of an
event is removed, its bytes are edited rather than encoded anew, so that everything else stays as the vendor writes it;
the member becomes null if other events of the stream have it as null.
"""

import json
import re
from codecs import BOM_UTF8, getincrementaldecoder
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, pairwise, zip_longest
from math import inf
from typing import NamedTuple

from mockserver.core.dialects import TYPED_END
from mockserver.core.http import RUN_LENGTH, LazyFrames, TimedFrames, Timeline
from mockserver.faults.rules import Fault, Place


class StreamEvent(NamedTuple):
    """One frame: its bytes, when it is due (seconds after arrival), and the tokens that it carries."""

    data: bytes
    due: float
    tokens: int


StreamEvents = Iterator[StreamEvent]


class Vendor(NamedTuple):
    """What faults know of the vendor whose answer they change: `words` is its wording of a failure, its answer or the
    event that ends a stream; `finish_keys` are the members of events with a finish reason."""

    words: Callable[[Fault], Timeline]
    finish_keys: tuple[str, ...]


# What a fault makes of the answer to which it is applied, and of its events, or of those after its place.
Apply = Callable[[Timeline, Fault, Vendor], Timeline]
_Change = Callable[[StreamEvents, Fault], StreamEvents]


def events_of(timeline: Timeline) -> StreamEvents:
    """The events of a timeline, one by one."""
    for run in timeline.runs:
        yield from map(StreamEvent, run.data, run.due, run.tokens)


def changed(timeline: Timeline, change: Callable[[StreamEvents], StreamEvents]) -> Timeline:
    """The timeline with its events changed, lazily."""

    def runs() -> Iterator[TimedFrames]:
        events = change(events_of(timeline))
        while batch := list(islice(events, RUN_LENGTH)):
            yield TimedFrames(*zip(*batch, strict=True))

    return timeline._replace(runs=LazyFrames(runs))


def ended(timeline: Timeline, place: Place) -> Timeline:
    """The timeline up to a place. If that is an instant, the end waits for it, since nothing else is due then."""
    return changed(timeline, lambda events: split_at(events, place)[0])._replace(until=place.at or 0.0)


def split_at(events: StreamEvents, place: Place) -> tuple[StreamEvents, StreamEvents]:
    """The events before a place, and those after it; the second part must be read only after the first has ended.

    A place within an event (`after_bytes`) cuts it in two, the first of which carries no token.
    """
    rest: list[StreamEvent] = []

    def before() -> StreamEvents:
        sent = tokens = size = 0
        for event in events:
            if _reached(place, event, sent, tokens):
                rest.append(event)
                return
            if place.after_bytes is not None and size + len(event.data) > place.after_bytes:
                cut = place.after_bytes - size
                if cut:
                    yield StreamEvent(event.data[:cut], event.due, 0)
                rest.append(event._replace(data=event.data[cut:]))
                return
            sent, tokens, size = sent + 1, tokens + event.tokens, size + len(event.data)
            yield event

    def after() -> StreamEvents:
        yield from rest
        yield from events

    return before(), after()


def goes_on(timeline: Timeline, place: Place) -> bool:
    """Whether a place is within a timeline: whether any event follows it."""
    return next(events_after(events_of(timeline), place), None) is not None


def goes_on_twice(timeline: Timeline, place: Place) -> bool:
    """Whether at least two events follow a place."""
    return len([*islice(events_after(events_of(timeline), place), 2)]) == 2


def reaches(timeline: Timeline, place: Place) -> bool:
    """Whether a timeline reaches a place, if only with its end."""
    return next(events_after(_with_an_end(timeline), place), None) is not None


def _with_an_end(timeline: Timeline) -> StreamEvents:
    """The events of a timeline and one more for its end, which never comes if the answer hangs."""
    due = timeline.until
    for event in events_of(timeline):
        due = max(due, event.due)
        yield event
    over = timeline.ending is None or timeline.ending.how in ("reset", "close")
    yield StreamEvent(b"\0", due if over else inf, 0)


def events_after(events: StreamEvents, place: Place) -> StreamEvents:
    """The events after a place."""
    before, after = split_at(events, place)
    for _ in before:
        pass
    return after


def _reached(place: Place, event: StreamEvent, sent: int, tokens: int) -> bool:
    """Whether the place is before this event."""
    if isinstance(place.after_event, int):
        return sent >= place.after_event
    if place.after_token is not None:
        return tokens >= place.after_token
    if place.at is not None:
        return event.due >= place.at
    return place.after_bytes is None


def over_events(change: _Change) -> Apply:
    """A fault that changes the events of a timeline."""
    return lambda timeline, fault, vendor: changed(timeline, lambda events: change(events, fault))


def _at_place(change: _Change) -> Apply:
    """A fault that changes the events from its place on; those before it stay as they are."""

    def apply(events: StreamEvents, fault: Fault) -> StreamEvents:
        before, after = split_at(events, fault.place)
        yield from before
        yield from change(after, fault)

    return over_events(apply)


def error_event(timeline: Timeline, fault: Fault, vendor: Vendor) -> Timeline:
    """The events before the place, and then the vendor's error."""
    failure = [data for run in vendor.words(fault).runs for data in run.data]

    def broken(events: StreamEvents) -> StreamEvents:
        due = fault.place.at or 0.0
        for event in split_at(events, fault.place)[0]:
            due = max(due, event.due)
            yield event
        yield from (StreamEvent(data, due, 0) for data in failure)

    return changed(timeline, broken)


def cut(timeline: Timeline, fault: Fault, vendor: Vendor) -> Timeline:
    """The events before the place, and a clean end."""
    return ended(timeline, fault.place)


@_at_place
def half_event(after: StreamEvents, fault: Fault) -> StreamEvents:
    """Half of the event at the place, and nothing after it."""
    for event in islice(after, 1):
        due = event.due if fault.place.at is None else fault.place.at
        yield StreamEvent(event.data[: len(event.data) // 2], due, 0)


@_at_place
def malformed(after: StreamEvents, fault: Fault) -> StreamEvents:
    """The event at the place is cut within its JSON, but properly terminated."""
    for event in islice(after, 1):
        yield event._replace(data=event.data.rstrip(b"\n")[: len(event.data) * 2 // 3] + b"\n\n", tokens=0)
    yield from after


@_at_place
def drop(after: StreamEvents, fault: Fault) -> StreamEvents:
    """The event at the place is missing."""
    return islice(after, 1, None)


@_at_place
def duplicate(after: StreamEvents, fault: Fault) -> StreamEvents:
    """The event at the place comes twice."""
    for event in islice(after, 1):
        yield from (event, event._replace(tokens=0))
    yield from after


@_at_place
def swap(after: StreamEvents, fault: Fault) -> StreamEvents:
    """The event at the place trades places with the next one."""
    pair = list(islice(after, 2))
    dues = [event.due for event in pair]
    yield from (event._replace(due=due) for event, due in zip(reversed(pair), dues, strict=True))
    yield from after


@_at_place
def stall(after: StreamEvents, fault: Fault) -> StreamEvents:
    """Everything from the place on is late."""
    return (event._replace(due=event.due + fault.settings["seconds"]) for event in after)


@_at_place
def keep_alive(after: StreamEvents, fault: Fault) -> StreamEvents:
    """At the place there are only comment lines for a while."""
    text, gap, count = _comment(fault), fault.settings["seconds"], fault.settings["count"]
    for place, event in enumerate(after):
        if not place:
            yield from (StreamEvent(text, event.due + gap * number, 0) for number in range(count))
        yield event._replace(due=event.due + gap * count)


@over_events
def split(events: StreamEvents, fault: Fault) -> StreamEvents:
    """Every event in pieces, with gaps so that no write holds two of them; one cut is within a multi-byte character, if
    there is any."""
    pieces, gap = fault.settings["pieces"], fault.settings["gap"]
    late = 0.0
    for event in events:
        borders = _cuts(event.data, pieces)
        for start, stop in pairwise(borders):
            last = stop == len(event.data)
            yield StreamEvent(event.data[start:stop], event.due + late, event.tokens if last else 0)
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


@over_events
def burst(events: StreamEvents, fault: Fault) -> StreamEvents:
    """Events are held back and sent with the last of them, in one write."""
    while group := list(islice(events, fault.settings["events"])):
        yield StreamEvent(b"".join(event.data for event in group), group[-1].due, sum(event.tokens for event in group))


@over_events
def crlf(events: StreamEvents, fault: Fault) -> StreamEvents:
    """Lines that end in CR LF."""
    return (event._replace(data=event.data.replace(b"\n", b"\r\n")) for event in events)


@over_events
def comment(events: StreamEvents, fault: Fault) -> StreamEvents:
    """A comment line before each event."""
    text = _comment(fault)
    for event in events:
        yield StreamEvent(text, event.due, 0)
        yield event


def _comment(fault: Fault) -> bytes:
    return b": %b\n\n" % fault.settings["text"].encode()


@over_events
def bom(events: StreamEvents, fault: Fault) -> StreamEvents:
    """A byte order mark before the first event."""
    for place, event in enumerate(events):
        yield event if place else event._replace(data=BOM_UTF8 + event.data)


@over_events
def encoding(events: StreamEvents, fault: Fault) -> StreamEvents:
    """The same text in another encoding."""
    name, decoder = fault.settings["charset"], getincrementaldecoder("utf-8")("replace")
    return (event._replace(data=decoder.decode(event.data).encode(name, "replace")) for event in events)


@over_events
def no_done(events: StreamEvents, fault: Fault) -> StreamEvents:
    """All events but the last: the terminator, where the dialect has one."""
    return (event for event, _ in pairwise(events))


@over_events
def late_done(events: StreamEvents, fault: Fault) -> StreamEvents:
    """The last event is late: the terminator, where the dialect has one."""
    held = next(events, None)
    for event in events:
        if held is not None:
            yield held
        held = event
    if held is not None:
        yield held._replace(due=held.due + fault.settings["seconds"])


@over_events
def after_done(events: StreamEvents, fault: Fault) -> StreamEvents:
    """The last event with a token is repeated after everything else; the first event if none has a token."""
    last = None
    for event in events:
        yield event
        last = event if event.tokens or last is None else last
    if last is not None:
        yield last._replace(tokens=0)


_DECODER = json.JSONDecoder()
_NO_CHOICES = re.compile(rb'(?<!\\)"choices"\s*:\s*\[\s*\]')


def no_finish(timeline: Timeline, fault: Fault, vendor: Vendor) -> Timeline:
    """No event says why the answer ended; a typed one that says nothing else is missing."""

    def change(events: StreamEvents) -> StreamEvents:
        kept = _without(events, vendor.finish_keys, str)
        return (event for event in kept if not TYPED_END.search(event.data))

    return changed(timeline, change)


@over_events
def no_usage(events: StreamEvents, fault: Fault) -> StreamEvents:
    """No event states the usage; an event that states nothing else is left out."""
    return _without(events, ("usage",), dict)


def differ(before: Timeline, after: Timeline) -> bool:
    """Whether two timelines have different events."""
    return any(one != other for one, other in zip_longest(events_of(before), events_of(after)))


def _without(events: StreamEvents, keys: Sequence[str], kind: type) -> StreamEvents:
    """The events without members that have one of these keys and a value of this kind."""
    # What is quoted within a text has backslashes.
    key = rf'(?<!\\)"(?:{"|".join(map(re.escape, keys))})"\s*:\s*'
    member, null = re.compile(key), re.compile(rf"{key}null".encode())
    blank = False
    for event in events:
        blank = blank or null.search(event.data) is not None
        data = _edited(event.data, member, kind, blank)
        if data != event.data and kind is dict and _NO_CHOICES.search(data):
            continue
        yield event._replace(data=data)


def _edited(data: bytes, member: re.Pattern[str], kind: type, blank: bool) -> bytes:
    """An event with such a member made null, or else cut out together with its comma."""
    # In Latin-1 every byte is a character, so that positions in the text are positions in the bytes.
    text, at = data.decode("latin-1"), 0
    while found := member.search(text, at):
        at = found.end()
        value, end = _value(text, at)
        if not isinstance(value, kind):
            continue
        if blank:
            text = f"{text[:at]}null{text[end:]}"
        else:
            before, after = text[: found.start()], text[end:]
            follower = re.match(r"\s*,\s*", after)
            text = before + after[follower.end() :] if follower else re.sub(r",\s*\Z", "", before) + after
            at = found.start()
    return text.encode("latin-1")


def _value(text: str, at: int) -> tuple[object, int]:
    """The JSON value at a position of a text, and where it ends; None if an earlier fault has broken it."""
    try:
        return _DECODER.raw_decode(text, at)
    except ValueError:
        return None, at

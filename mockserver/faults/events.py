"""Timelines as single events, for the faults that change them: faults are rare, so that their cost does not matter."""

from collections.abc import Callable, Iterator
from itertools import islice
from math import inf
from typing import NamedTuple

from mockserver.core.timeline import RUN_LENGTH, Lazy, Run, Timeline
from mockserver.faults.rules import Fault, Place


class Event(NamedTuple):
    """One frame: its bytes, when it is due (seconds after arrival), and the tokens that it carries."""

    data: bytes
    due: float
    tokens: int


Events = Iterator[Event]

# A vendor's wording of a failure: its answer, or the event that ends a stream.
Words = Callable[[Fault], Timeline]


def events_of(timeline: Timeline) -> Events:
    """The events of a timeline, one by one."""
    for run in timeline.runs:
        yield from map(Event, run.data, run.due, run.tokens)


def changed(timeline: Timeline, change: Callable[[Events], Events]) -> Timeline:
    """The timeline with its events changed, lazily."""

    def runs() -> Iterator[Run]:
        events = change(events_of(timeline))
        while batch := list(islice(events, RUN_LENGTH)):
            yield Run(*zip(*batch, strict=True))

    return timeline._replace(runs=Lazy(runs))


def ended(timeline: Timeline, place: Place) -> Timeline:
    """The timeline up to a place. If that is an instant, the end waits for it, since nothing else is due then."""
    return changed(timeline, lambda events: parted(events, place)[0])._replace(until=place.at or 0.0)


def parted(events: Events, place: Place) -> tuple[Events, Events]:
    """The events before a place, and those after it; the second part must be read only after the first has ended.

    A place within an event (`after_bytes`) cuts it in two, the first of which carries no token.
    """
    rest: list[Event] = []

    def before() -> Events:
        sent = tokens = size = 0
        for event in events:
            if _reached(place, event, sent, tokens):
                rest.append(event)
                return
            if place.after_bytes is not None and size + len(event.data) > place.after_bytes:
                cut = place.after_bytes - size
                if cut:
                    yield Event(event.data[:cut], event.due, 0)
                rest.append(event._replace(data=event.data[cut:]))
                return
            sent, tokens, size = sent + 1, tokens + event.tokens, size + len(event.data)
            yield event

    def after() -> Events:
        yield from rest
        yield from events

    return before(), after()


def goes_on(timeline: Timeline, place: Place) -> bool:
    """Whether a place is within a timeline: whether any event follows it."""
    return next(_after(events_of(timeline), place), None) is not None


def goes_on_twice(timeline: Timeline, place: Place) -> bool:
    """Whether at least two events follow a place."""
    return len([*islice(_after(events_of(timeline), place), 2)]) == 2


def reaches(timeline: Timeline, place: Place) -> bool:
    """Whether a timeline reaches a place, if only with its end."""
    return next(_after(_with_an_end(timeline), place), None) is not None


def _with_an_end(timeline: Timeline) -> Events:
    """The events of a timeline and one more for its end, which never comes if the answer hangs."""
    due = timeline.until
    for event in events_of(timeline):
        due = max(due, event.due)
        yield event
    over = timeline.ending is None or timeline.ending.how in ("reset", "close")
    yield Event(b"\0", due if over else inf, 0)


def _after(events: Events, place: Place) -> Events:
    before, after = parted(events, place)
    for _ in before:
        pass
    return after


def _reached(place: Place, event: Event, sent: int, tokens: int) -> bool:
    """Whether the place is before this event."""
    if place.after_event is not None:
        return sent >= place.after_event
    if place.after_token is not None:
        return tokens >= place.after_token
    if place.at is not None:
        return event.due >= place.at
    return place.after_bytes is None

"""Faults of the content of events: a member that a stream should have is missing.

The bytes are edited rather than encoded anew, so that everything else stays as the vendor writes it. The member becomes
null if other events of the stream have it as null; otherwise it is removed.
"""

import json
import re
from collections.abc import Callable
from itertools import zip_longest

from mockserver.core.dialects import TYPED_END
from mockserver.core.timeline import Timeline
from mockserver.faults.events import Events, Words, changed, events_of
from mockserver.faults.rules import Fault

_DECODER = json.JSONDecoder()
_NO_CHOICES = re.compile(rb'(?<!\\)"choices"\s*:\s*\[\s*\]')


def no_finish(timeline: Timeline, fault: Fault, words: Words) -> Timeline:
    """No event says why the answer ended; a typed one that says nothing else is missing."""
    return changed(timeline, _without_an_end)


def no_usage(timeline: Timeline, fault: Fault, words: Words) -> Timeline:
    """No event states the usage; an event that states nothing else is left out."""
    return changed(timeline, lambda events: _without(events, "usage", dict))


def has_finish(timeline: Timeline) -> bool:
    """Whether a stream says why it ended."""
    return _differs(timeline, _without_an_end)


def has_usage(timeline: Timeline) -> bool:
    """Whether a stream states the usage."""
    return _differs(timeline, lambda events: _without(events, "usage", dict))


def _differs(timeline: Timeline, change: Callable[[Events], Events]) -> bool:
    pairs = zip_longest(events_of(timeline), change(events_of(timeline)))
    return any(before != after for before, after in pairs)


def _without_an_end(events: Events) -> Events:
    return (event for event in _without(events, "finish_reason", str) if not TYPED_END.search(event.data))


def _without(events: Events, key: str, kind: type) -> Events:
    """The events without members that have this key and a value of this kind."""
    member = re.compile(rf'(?<!\\)"{key}"\s*:\s*')
    null = re.compile(rf'(?<!\\)"{key}"\s*:\s*null'.encode())
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

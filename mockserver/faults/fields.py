"""Faults of what events say: a member that a stream should have is missing from it.

The bytes are edited, not written anew, so that all else stays as the vendor writes it. Where other events of the stream
say that the member is null, it becomes null; otherwise it goes.
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
    """No event says how many tokens were used; one that says nothing else is missing."""
    return changed(timeline, lambda events: _without(events, "usage", dict))


def has_finish(timeline: Timeline) -> bool:
    """Whether a stream says why it ended."""
    return _differs(timeline, _without_an_end)


def has_usage(timeline: Timeline) -> bool:
    """Whether a stream says how many tokens were used."""
    return _differs(timeline, lambda events: _without(events, "usage", dict))


def _differs(timeline: Timeline, change: Callable[[Events], Events]) -> bool:
    pairs = zip_longest(events_of(timeline), change(events_of(timeline)))
    return any(before != after for before, after in pairs)


def _without_an_end(events: Events) -> Events:
    return (event for event in _without(events, "finish_reason", str) if not TYPED_END.search(event.data))


def _without(events: Events, key: str, kind: type) -> Events:
    """The events without any member of that key whose value is of that kind."""
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
    # Latin-1 gives every byte a character of its own, so that places in the text are places in the bytes.
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
    """The JSON value at a place of a text, and where it ends; nothing where an earlier fault has broken it."""
    try:
        return _DECODER.raw_decode(text, at)
    except ValueError:
        return None, at

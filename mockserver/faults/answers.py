"""Faults of whole answers: other statuses, bodies and content types than the vendor's."""

from mockserver.core.timeline import Run, Timeline
from mockserver.faults.events import Words, changed, parted
from mockserver.faults.rules import Fault, Place


def error(timeline: Timeline, fault: Fault, words: Words) -> Timeline:
    """The vendor's refusal instead of the answer."""
    return words(fault)


def status(timeline: Timeline, fault: Fault, words: Words) -> Timeline:
    """Any status and body."""
    settings = fault.settings
    return _answer(settings["status"], settings["content_type"], settings["body"].encode())


def html(timeline: Timeline, fault: Fault, words: Words) -> Timeline:
    """A sign-in page with status 200."""
    page = b"<!DOCTYPE html><html><head><title>Sign in</title></head><body><h1>Please sign in</h1></body></html>\n"
    return _answer(200, "text/html; charset=utf-8", page)


def empty(timeline: Timeline, fault: Fault, words: Words) -> Timeline:
    """The answer's head without a body."""
    return timeline._replace(runs=(Run((b"",), (0.0,), (0,)),), streamed=False, until=0.0)


def truncated(timeline: Timeline, fault: Fault, words: Words) -> Timeline:
    """Half of the body, under a length that fits it."""
    size = sum(len(data) for run in timeline.runs for data in run.data)
    return changed(timeline, lambda events: parted(events, Place(after_bytes=size // 2))[0])


def content_type(timeline: Timeline, fault: Fault, words: Words) -> Timeline:
    """The answer under another content type."""
    others = tuple(header for header in timeline.headers if header[0] != b"content-type")
    return timeline._replace(headers=((b"content-type", fault.settings["value"].encode()), *others))


def _answer(status: int, content_type: str, body: bytes) -> Timeline:
    return Timeline(status, ((b"content-type", content_type.encode()),), (Run((body,), (0.0,), (0,)),))

"""The catalogue: every kind of fault, what it can be told, and the function over the timeline that does it.

A kind that needs a stream strikes streams alone. `error` and `error_event` say what the vendor would say, so the
dialect's own words for a failure are given to them; all others know no vendor.
"""

from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any

from mockserver.core.timeline import Ending, Run, Timeline
from mockserver.faults.events import Event, Events, changed, parted
from mockserver.faults.rules import Fault, Place
from mockserver.faults.speech import Change, finish, repeat, silence

DONE = b"data: [DONE]\n\n"

# Where a fault within an answer can strike.
PLACES = ("after_event", "after_token", "after_bytes", "at")

# A vendor's words for a failure: how it answers, and how it breaks a stream.
Words = Callable[[Fault], Timeline]


@dataclass(frozen=True, slots=True)
class Setting:
    """Something that a kind can be told: its type, its value when untold, and what it means."""

    type: type | tuple[type, ...]
    default: Any
    summary: str


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of fault: what it makes of a timeline, or else (`says`) of a choice before it is written.

    Kinds that need `streams` strike these alone; `places` are the keys by which one can be told where to
    strike.
    """

    apply: Callable[[Timeline, Fault, Words], Timeline] | None
    summary: str
    settings: Mapping[str, Setting] = field(default_factory=dict)
    streams: bool = False
    places: tuple[str, ...] = ()
    says: Change | None = None


# --- answers -----------------------------------------------------------------------------------------------------


def _error(timeline: Timeline, fault: Fault, words: Words) -> Timeline:
    return words(fault)


def _status(timeline: Timeline, fault: Fault, words: Words) -> Timeline:
    settings = fault.settings
    return _answer(settings["status"], settings["content_type"], settings["body"].encode())


def _html(timeline: Timeline, fault: Fault, words: Words) -> Timeline:
    page = b"<!DOCTYPE html><html><head><title>Sign in</title></head><body><h1>Please sign in</h1></body></html>\n"
    return _answer(200, "text/html; charset=utf-8", page)


def _empty(timeline: Timeline, fault: Fault, words: Words) -> Timeline:
    return replace(timeline, runs=(Run((b"",), (0.0,), (0,)),), streamed=False)


def _truncated(timeline: Timeline, fault: Fault, words: Words) -> Timeline:
    size = sum(len(data) for run in timeline.runs for data in run.data)
    return changed(timeline, lambda events: parted(events, Place(after_bytes=size // 2))[0])


def _content_type(timeline: Timeline, fault: Fault, words: Words) -> Timeline:
    others = tuple(header for header in timeline.headers if header[0] != b"content-type")
    return replace(timeline, headers=((b"content-type", fault.settings["value"].encode()), *others))


def _answer(status: int, content_type: str, body: bytes) -> Timeline:
    return Timeline(status, ((b"content-type", content_type.encode()),), (Run((body,), (0.0,), (0,)),))


# --- streams -----------------------------------------------------------------------------------------------------


def _over(change: Callable[[Events, Fault], Events]) -> Callable[[Timeline, Fault, Words], Timeline]:
    """A fault that changes the events of a timeline."""
    return lambda timeline, fault, words: changed(timeline, lambda events: change(events, fault))


def _error_event(timeline: Timeline, fault: Fault, words: Words) -> Timeline:
    failure = [data for run in words(fault).runs for data in run.data]

    def broken(events: Events) -> Events:
        due = 0.0
        for event in parted(events, fault.place)[0]:
            due = event.due
            yield event
        yield from (Event(data, due, 0) for data in failure)

    return changed(timeline, broken)


def _cut(events: Events, fault: Fault) -> Events:
    return parted(events, fault.place)[0]


def _half_event(events: Events, fault: Fault) -> Events:
    before, after = parted(events, fault.place)
    yield from before
    for event in after:
        yield event._replace(data=event.data[: len(event.data) // 2], tokens=0)
        return


def _malformed(events: Events, fault: Fault) -> Events:
    before, after = parted(events, fault.place)
    yield from before
    for event in after:
        yield event._replace(data=event.data.rstrip(b"\n")[: len(event.data) * 2 // 3] + b"\n\n", tokens=0)
        break
    yield from after


def _drop(events: Events, fault: Fault) -> Events:
    before, after = parted(events, fault.place)
    yield from before
    next(after, None)
    yield from after


def _duplicate(events: Events, fault: Fault) -> Events:
    before, after = parted(events, fault.place)
    yield from before
    for event in after:
        yield event
        yield event._replace(tokens=0)
        break
    yield from after


def _swap(events: Events, fault: Fault) -> Events:
    before, after = parted(events, fault.place)
    yield from before
    pair = list(islice(after, 2))
    dues = [event.due for event in pair]
    yield from (event._replace(due=due) for event, due in zip(reversed(pair), dues, strict=True))
    yield from after


def _stall(events: Events, fault: Fault) -> Events:
    before, after = parted(events, fault.place)
    yield from before
    yield from (event._replace(due=event.due + fault.settings["seconds"]) for event in after)


def _split(events: Events, fault: Fault) -> Events:
    """Every event in pieces, a moment apart so that no write holds two of them."""
    pieces, gap = fault.settings["pieces"], fault.settings["gap"]
    late = 0.0
    for event in events:
        size = -(-len(event.data) // pieces) or 1
        for start in range(0, len(event.data), size):
            last = start + size >= len(event.data)
            yield Event(event.data[start : start + size], event.due + late, event.tokens if last else 0)
            late += 0.0 if last else gap


def _crlf(events: Events, fault: Fault) -> Events:
    return (event._replace(data=event.data.replace(b"\n", b"\r\n")) for event in events)


def _comment(events: Events, fault: Fault) -> Events:
    text = b": " + fault.settings["text"].encode() + b"\n\n"
    for event in events:
        yield Event(text, event.due, 0)
        yield event


def _bom(events: Events, fault: Fault) -> Events:
    first = next(events, None)
    started: Iterator[Event] = iter(()) if first is None else iter((first._replace(data=b"\xef\xbb\xbf" + first.data),))
    return chain(started, events)


def _encoding(events: Events, fault: Fault) -> Events:
    name, decoder = fault.settings["name"], getincrementaldecoder("utf-8")("replace")
    return (event._replace(data=decoder.decode(event.data).encode(name, "replace")) for event in events)


def _late_done(events: Events, fault: Fault) -> Events:
    """The last event is late: the terminator, where the dialect has one."""
    held = next(events, None)
    for event in events:
        if held is not None:
            yield held
        held = event
    if held is not None:
        yield held._replace(due=held.due + fault.settings["seconds"])


def _after_done(events: Events, fault: Fault) -> Events:
    last = None
    for event in events:
        yield event
        last = event if event.tokens else last
    if last is not None:
        yield last._replace(tokens=0)


# --- connections -------------------------------------------------------------------------------------------------


def _broken_off(ending: Ending) -> Callable[[Timeline, Fault, Words], Timeline]:
    """An answer that goes well as far as the fault's place, and then ends so."""

    def apply(timeline: Timeline, fault: Fault, words: Words) -> Timeline:
        placed = fault.place != Place()
        headers = timeline.headers
        if not timeline.streamed and timeline.ending is None:
            # The head promises the whole body.
            length = sum(len(data) for run in timeline.runs for data in run.data)
            headers = (*headers, (b"content-length", b"%d" % length))
        begun = changed(replace(timeline, headers=headers), lambda events: parted(events, fault.place)[0])
        return replace(begun, ending=replace(ending, head=placed or bool(ending.raw)))

    return apply


def _raw(ending: Ending) -> Callable[[Timeline, Fault, Words], Timeline]:
    """Bytes of our own instead of any answer."""
    return lambda timeline, fault, words: replace(timeline, runs=(), ending=ending)


def _bandwidth(events: Events, fault: Fault) -> Events:
    """No byte leaves before the ones ahead of it have been carried at the rate."""
    rate, piece, free = fault.settings["bytes_per_second"], fault.settings["piece"], 0.0
    for event in events:
        for start in range(0, len(event.data), piece):
            data = event.data[start : start + piece]
            free = max(free, event.due) + len(data) / rate
            yield Event(data, free, event.tokens if start + piece >= len(event.data) else 0)


_CLOSE = Ending("close")
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"

_SECONDS = {"seconds": Setting((int, float), 5.0, "how long, in seconds")}
_FAILURE = {
    "error": Setting(str, "server_error", "what has failed, by its neutral name"),
    "message": Setting(str, "", "other words than the vendor's"),
}

FAULTS: dict[str, Kind] = {
    "error": Kind(
        _error,
        "the vendor's own error instead of an answer",
        _FAILURE
        | {
            "error": Setting(str, "server_error", "rate_limit, overloaded, unauthorized, ... in any vendor's shape"),
            "retry_after": Setting((int, float), None, "seconds that the answer asks the client to wait"),
            "retry_after_as": Setting(str, "seconds", "how it is said: seconds, ms or date"),
        },
    ),
    "status": Kind(
        _status,
        "any status, with any body",
        {
            "status": Setting(int, 503, "the HTTP status"),
            "body": Setting(str, "", "the body"),
            "content_type": Setting(str, "text/plain", "its content type"),
        },
    ),
    "html": Kind(_html, "a sign-in page with status 200, as a captive portal gives"),
    "empty": Kind(_empty, "no body at all"),
    "truncated": Kind(_truncated, "half of the body, with a length that says it is whole"),
    "content_type": Kind(
        _content_type, "another content type", {"value": Setting(str, "text/plain", "the content type")}
    ),
    "error_event": Kind(
        _error_event, "the vendor's error in the middle of a stream", _FAILURE, streams=True, places=PLACES
    ),
    "cut": Kind(_over(_cut), "a stream that ends without its terminator", streams=True, places=PLACES),
    "half_event": Kind(_over(_half_event), "a stream that ends within an event", streams=True, places=PLACES),
    "malformed": Kind(_over(_malformed), "an event that is no JSON", streams=True, places=PLACES),
    "drop": Kind(_over(_drop), "an event is missing", streams=True, places=PLACES),
    "duplicate": Kind(_over(_duplicate), "an event comes twice", streams=True, places=PLACES),
    "swap": Kind(_over(_swap), "two events come in the wrong order", streams=True, places=PLACES),
    "stall": Kind(_over(_stall), "nothing comes for a while", _SECONDS, places=PLACES),
    "split": Kind(
        _over(_split),
        "events in pieces, even within a character",
        {
            "pieces": Setting(int, 3, "how many pieces an event is cut in"),
            "gap": Setting((int, float), 0.002, "seconds between them"),
        },
        streams=True,
    ),
    "crlf": Kind(_over(_crlf), "lines that end in CR LF", streams=True),
    "comment": Kind(
        _over(_comment),
        "comment lines between the events",
        {"text": Setting(str, "keep-alive", "the comment")},
        streams=True,
    ),
    "bom": Kind(_over(_bom), "a byte order mark before the first event", streams=True),
    "encoding": Kind(
        _over(_encoding), "bytes in another encoding", {"name": Setting(str, "utf-16-le", "Python's name of it")}
    ),
    "late_done": Kind(_over(_late_done), "the last event, the terminator, comes late", _SECONDS, streams=True),
    "after_done": Kind(_over(_after_done), "one more event at the very end", streams=True),
    "reset": Kind(_broken_off(Ending("reset")), "the connection is reset (RST)", places=PLACES),
    "close": Kind(_broken_off(_CLOSE), "the connection is closed too early (FIN)", places=PLACES),
    "hang": Kind(_broken_off(Ending("hang")), "nothing more comes, and the connection stays open", places=PLACES),
    "bad_chunk": Kind(
        _broken_off(replace(_CLOSE, raw=b"XYZ\r\n")), "a chunk whose size is no number", streams=True, places=PLACES
    ),
    "garbage": Kind(_raw(replace(_CLOSE, raw=bytes(range(128, 192)))), "bytes that are no HTTP"),
    "bad_status": Kind(_raw(replace(_CLOSE, raw=b"HTTP/1.1 two-hundred OK\r\n\r\n")), "a status line that is none"),
    "half_head": Kind(_raw(Ending("hang", _HEAD[:32])), "half a head, and then nothing"),
    "two_lengths": Kind(
        _raw(replace(_CLOSE, raw=_HEAD + b"content-length: 2\r\ncontent-length: 4\r\n\r\n{}{}")),
        "two content lengths that contradict each other",
    ),
    "short_body": Kind(
        _raw(replace(_CLOSE, raw=_HEAD + b'content-length: 99\r\n\r\n{"choices"')),
        "less of a body than its length says",
    ),
    "finish": Kind(
        None,
        "the model ends early, for a reason",
        {"reason": Setting(str, "length", "length, content_filter or stop")},
        places=("after_token",),
        says=finish,
    ),
    "silence": Kind(None, "the model says nothing at all", says=silence),
    "repeat": Kind(None, "the model is stuck with one token", places=("after_token",), says=repeat),
    "bandwidth": Kind(
        _over(_bandwidth),
        "a slow line, in small pieces",
        {
            "bytes_per_second": Setting((int, float), 1000, "how many bytes it carries in a second"),
            "piece": Setting(int, 16, "how many bytes leave at a time"),
        },
        streams=True,
    ),
}

"""The catalogue: every kind of fault with its settings and the function that applies it.

A kind that needs a stream is applied to streams only. `error` and `error_event` answer as the vendor would, and
`no_finish` has to know how it says why an answer has ended; all other kinds know no vendor.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, get_args

from mockserver.core.failures import FailureKind
from mockserver.core.generation import FinishReason
from mockserver.core.http import Timeline
from mockserver.faults import responses, streams
from mockserver.faults.model_output import Change, break_calls, decline, finish, repeat, silence, whitespace
from mockserver.faults.rules import PLACE_KEYS, FaultSetting, Place
from mockserver.faults.streams import goes_on, goes_on_twice, reaches

Harm = Literal["none", "truncates", "spoils"]

_ANYWHERE = tuple(PLACE_KEYS)


@dataclass(frozen=True, slots=True)
class FaultKind:
    """A kind of fault: a function over timelines (`apply`), or over what the model says (`says`), or neither.

    - `settings`: its own keys in a fault's table.
    - `places`: the keys that say where in the answer it is applied.
    - `within`: whether a place is within an answer, None if it always is. For most kinds something must follow the
      place; kinds that add an end of their own only need the answer to reach it.
    - `streams`: it is only for streams; `calls`: only answers that call a tool; `removes`: only those that have
      what it takes out of events.
    - `listens`: it concerns no answer but the listener, which then fails for everybody.
    - `ends`: nothing of the answer is sent after its place; without a place, nothing at all.
    - `head`: it changes status or headers, and so shows even if no events are left.
    - `harm`: the damage that a client can notice in an answer with a status of success: it is truncated, or spoilt.
    """

    apply: streams.Apply | None
    summary: str
    settings: Mapping[str, FaultSetting] = field(default_factory=dict)
    streams: bool = False
    places: tuple[str, ...] = ()
    says: Change | None = None
    removes: bool = False
    within: Callable[[Timeline, Place], bool] | None = None
    calls: bool = False
    listens: bool = False
    ends: bool = False
    head: bool = False
    harm: Harm = field(kw_only=True)


_SECONDS = {"seconds": FaultSetting(float, 5.0, "how long, in seconds")}
_FAILURES = tuple(FailureKind)
_FAILURE = {
    "error": FaultSetting(str, "server_error", "the failure, by its neutral name", _FAILURES),
    "message": FaultSetting(str, "", "a message instead of the vendor's"),
}

# Kinds that replace an answer, that concern any stream, that change one at a place which something follows, and that
# break an answer off at a place; kinds of what the model says, and of the listener.
_instead = partial(FaultKind, ends=True, harm="spoils")
_of_streams = partial(FaultKind, streams=True, harm="none")
_at_an_event = partial(FaultKind, streams=True, places=_ANYWHERE, within=goes_on)
_broken_off = partial(FaultKind, places=_ANYWHERE, within=reaches, ends=True, harm="truncates")
_of_the_model = partial(FaultKind, None, harm="none")
_of_the_listener = partial(FaultKind, None, listens=True, harm="none")

FAULTS: dict[str, FaultKind] = {
    "error": _instead(
        responses.error,
        "the vendor's own error instead of an answer",
        _FAILURE
        | {
            "error": FaultSetting(str, "server_error", "the failure, which is worded as the vendor does", _FAILURES),
            "param": FaultSetting(str, "", "the field to blame instead of the vendor's, where its error names one"),
            "code": FaultSetting(str, "", "a code instead of the vendor's, where its error has one"),
            "limit": FaultSetting(
                str,
                None,
                "what is used up, of a `rate_limit`: the vendor's message, type, code and wait for that",
                ("requests", "tokens", "queue"),
            ),
            "retry_after": FaultSetting(float, None, "how long the answer asks the client to wait, in seconds"),
            "retry_after_as": FaultSetting(str, "seconds", "how the wait is written", ("seconds", "ms", "date")),
        },
        harm="none",
    ),
    "status": _instead(
        responses.status,
        "any status, with any body",
        {
            "status": FaultSetting(int, 503, "the HTTP status"),
            "body": FaultSetting(str, "", "the body"),
            "content_type": FaultSetting(str, "text/plain", "the body's content type"),
        },
    ),
    "html": _instead(responses.html, "a sign-in page with status 200, as a captive portal gives"),
    "empty": _instead(responses.empty, "no body at all", harm="truncates"),
    "truncated": FaultKind(responses.truncated, "half of the body, with a length that fits it", harm="truncates"),
    "content_type": FaultKind(
        responses.content_type,
        "a wrong content type",
        {"value": FaultSetting(str, "text/plain", "the content type")},
        head=True,
        harm="none",
    ),
    "error_event": _broken_off(
        streams.error_event, "the vendor's error in the middle of a stream", _FAILURE, streams=True, harm="spoils"
    ),
    "cut": _at_an_event(streams.cut, "a stream that ends without its terminator", ends=True, harm="truncates"),
    "half_event": _at_an_event(streams.half_event, "a stream that ends within an event", ends=True, harm="truncates"),
    "malformed": _at_an_event(streams.malformed, "an event that is not JSON", harm="spoils"),
    "no_finish": _of_streams(streams.no_finish, "a stream without a finish reason", removes=True, harm="truncates"),
    "no_usage": _of_streams(streams.no_usage, "a stream without usage", removes=True),
    "drop": _at_an_event(streams.drop, "an event is missing", harm="none"),
    "duplicate": _at_an_event(streams.duplicate, "an event comes twice", harm="none"),
    "swap": _at_an_event(streams.swap, "two events come in the wrong order", harm="none", within=goes_on_twice),
    "stall": _at_an_event(streams.stall, "a pause in which nothing is sent", _SECONDS, streams=False, harm="none"),
    "keep_alive": _at_an_event(
        streams.keep_alive,
        "a pause in which only comment lines are sent",
        {
            "seconds": FaultSetting(float, 1.0, "seconds between comment lines"),
            "count": FaultSetting(int, 3, "how many comment lines", least=1),
            "text": FaultSetting(str, "keep-alive", "the comment"),
        },
        harm="none",
    ),
    "burst": _of_streams(
        streams.burst,
        "several events in one write",
        {"events": FaultSetting(int, 4, "how many events are held back and sent together", least=2)},
    ),
    "split": _of_streams(
        streams.split,
        "events in pieces, if possible cut within a character",
        {
            "pieces": FaultSetting(int, 3, "into how many pieces an event is cut", least=2),
            "gap": FaultSetting(float, 0.002, "seconds between pieces"),
        },
    ),
    "crlf": _of_streams(streams.crlf, "lines that end in CR LF"),
    "comment": _of_streams(
        streams.comment, "comment lines between the events", {"text": FaultSetting(str, "keep-alive", "the comment")}
    ),
    "bom": _of_streams(streams.bom, "a byte order mark before the first event"),
    "encoding": FaultKind(
        streams.encoding,
        "bytes in another encoding",
        {"charset": FaultSetting(str, "utf-16-le", "the encoding, by its name in Python")},
        harm="spoils",
    ),
    "no_done": _of_streams(streams.no_done, "a stream without its last event, which is the terminator", removes=True),
    "late_done": _of_streams(streams.late_done, "the last event, which is the terminator, is late", _SECONDS),
    "after_done": _of_streams(streams.after_done, "one more event after the terminator"),
    "reset": _broken_off(responses.broken_off("reset"), "the connection is reset (RST)"),
    "close": _broken_off(responses.broken_off("close"), "the connection is closed too early (FIN)"),
    "hang": _broken_off(responses.broken_off("hang"), "nothing more is sent, but the connection stays open"),
    "bad_chunk": _broken_off(
        responses.broken_off("close", b"XYZ\r\n"), "a chunk whose size is not a number", streams=True
    ),
    "half_chunk": _broken_off(responses.half_chunk, "the connection is closed within a chunk", streams=True),
    "half_open": _broken_off(
        responses.broken_off("half_open"), "the server vanishes: silence, and a reset for clients that send more"
    ),
    "garbage": _instead(responses.instead(bytes(range(128, 192))), "bytes that are not HTTP"),
    "bad_status": _instead(responses.instead(b"HTTP/1.1 two-hundred OK\r\n\r\n"), "an invalid status line"),
    "half_head": _instead(
        responses.half_head,
        "half of the response head, then nothing",
        {"then": FaultSetting(str, "hang", "what follows", ("hang", "reset", "close"))},
        harm="truncates",
    ),
    "two_lengths": _instead(
        responses.instead(responses.HEAD + b"content-length: 2\r\ncontent-length: 4\r\n\r\n{}{}"),
        "two content lengths that contradict each other",
    ),
    "short_body": _instead(
        responses.instead(responses.HEAD + b'content-length: 99\r\n\r\n{"choices"'),
        "a body that is shorter than its length states",
        harm="truncates",
    ),
    "finish": _of_the_model(
        "the model stops early, with a finish reason",
        {"reason": FaultSetting(str, "length", "the finish reason", get_args(FinishReason)[:3])},
        places=("after_token",),
        says=finish,
    ),
    "silence": _of_the_model("the model writes nothing", says=silence),
    "repeat": _of_the_model("the model repeats one token", places=("after_token",), says=repeat),
    "whitespace": _of_the_model(
        "the model writes line breaks up to its limit, as in JSON mode without a prompt that asks for JSON",
        {"tokens": FaultSetting(int, 4096, "how many tokens at most")},
        places=("after_token",),
        says=whitespace,
    ),
    "refusal": _of_the_model("the model declines to answer", says=decline),
    "broken_tool_call": _of_the_model(
        "the model calls a tool incorrectly",
        {
            "how": FaultSetting(
                str,
                "json",
                "json: arguments that break off; name: an unknown tool; schema: a list as arguments, not an object",
                ("json", "name", "schema"),
            )
        },
        says=break_calls,
        calls=True,
    ),
    "bandwidth": FaultKind(
        responses.bandwidth,
        "a slow connection that sends small pieces",
        {
            "bytes_per_second": FaultSetting(float, 1000, "bytes per second", least=1),
            "piece": FaultSetting(int, 16, "the size of a piece, in bytes", least=1),
        },
        harm="none",
    ),
    "drip": FaultKind(
        responses.bandwidth,
        "an answer byte by byte",
        {"bytes_per_second": FaultSetting(float, 100, "bytes per second", least=1)},
        harm="none",
    ),
    "refuse": _of_the_listener("connections are refused"),
    "accept_nothing": _of_the_listener("connections are accepted, but never answered"),
}

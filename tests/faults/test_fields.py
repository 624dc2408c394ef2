"""Members that are taken out of events: the bytes around them stay, and so does what other events say of them."""

from typing import Any

import pytest

from mockserver.core.timeline import TimedFrames, Timeline
from mockserver.faults.catalogue import FAULTS
from mockserver.faults.rules import Fault
from mockserver.faults.streams import Vendor, differ

TEXT = rb'data: {"text":"say \"finish_reason\":\"stop\", \"usage\":{} \u00e9 ' + "é".encode() + b'"}\n\n'
DONE = b"data: [DONE]\n\n"


def stream(*events: bytes) -> Timeline:
    return Timeline(200, (), (TimedFrames(events, (0.0,) * len(events), (1,) * len(events)),), streamed=True)


def faulted(kind: str, *events: bytes) -> tuple[list[bytes], bool]:
    """What is left of a stream, and whether the fault has anything to change in it."""
    apply, timeline = FAULTS[kind].apply, stream(*events)
    assert apply

    def words(fault: Fault) -> Timeline:
        raise AssertionError("nobody is asked for words")

    made = apply(timeline, Fault(kind), Vendor(words, ("finish_reason",)))
    return [data for run in made.runs for data in run.data], differ(timeline, made)


@pytest.mark.parametrize(
    "said, left",
    [
        (b'{"index":0,"finish_reason":"stop"}', b'{"index":0}'),
        (b'{"finish_reason":"stop","index":0}', b'{"index":0}'),
        (b'{"index": 0, "finish_reason": "length", "text": ""}', b'{"index": 0, "text": ""}'),
        (b'{"index": 0, "finish_reason": "length"}', b'{"index": 0}'),
        (b'{"finish_reason":"stop"}', b"{}"),
        (b'[{"finish_reason":"stop"},{"a":1,"finish_reason":"length"}]', b'[{},{"a":1}]'),
    ],
)
def test_a_finish_reason_goes_with_its_comma(said: bytes, left: bytes) -> None:
    events = [TEXT, b"data: " + said + b"\n\n", DONE]
    assert faulted("no_finish", *events) == ([TEXT, b"data: " + left + b"\n\n", DONE], True)


@pytest.mark.parametrize("separator", [b":", b": "])
def test_where_others_say_null_it_becomes_null(separator: bytes) -> None:
    null, stop = (b'data: {"a":1,"finish_reason"' + separator + word + b"}\n\n" for word in (b"null", b'"stop"'))
    assert faulted("no_finish", null, stop, DONE) == ([null, null, DONE], True)


def test_usage_goes_from_an_event_that_says_more() -> None:
    last = b'data: {"choices":[{"index":0}],"usage":{"prompt_tokens":1,"details":{"x":[1,"}"]}},"object":"c"}\n\n'
    assert faulted("no_usage", TEXT, last) == ([TEXT, b'data: {"choices":[{"index":0}],"object":"c"}\n\n'], True)


def test_an_event_that_says_nothing_but_usage_is_missing() -> None:
    null = b'data: {"choices":[{"index":0}],"usage":null}\n\n'
    last = b'data: {"choices": [], "usage": {"prompt_tokens": 1}}\n\n'
    assert faulted("no_usage", null, last, DONE) == ([null, DONE], True)


@pytest.mark.parametrize("kind", ["no_finish", "no_usage"])
@pytest.mark.parametrize(
    "broken", [TEXT, b'data: {"finish_reason":"st\n\n', b'data: {"usage":{"a"\n\n', b"\xff\xfe", b""]
)
def test_a_stream_without_it_is_left_alone(kind: str, broken: bytes) -> None:
    events: list[Any] = [TEXT, broken, DONE]
    assert faulted(kind, *events) == (events, False)

"""Each kind of fault applied to a timeline: what is left of the answer, and when it is sent."""

import json
from typing import Any

import pytest

from mockserver.core.generation import Choice, Generation, GenerationRequest, Prompt, Usage
from mockserver.core.http import ConnectionFault, TimedFrames, Timeline
from mockserver.faults.catalogue import FAULTS
from mockserver.faults.model_output import with_changed_choices
from mockserver.faults.parse_faults import read_fault
from mockserver.faults.responses import How
from mockserver.faults.rules import Fault
from mockserver.faults.streams import Vendor, differ, goes_on, reaches

EVENTS = (*(f'data: {{"n":{number},"s":"é"}}\n\n'.encode() for number in range(4)), b"data: [DONE]\n\n")
STREAM = Timeline(
    200,
    ((b"content-type", b"text/event-stream"),),
    (TimedFrames(EVENTS[:2], (0.0, 0.1), (1, 1)), TimedFrames(EVENTS[2:], (0.2, 0.3, 0.3), (1, 1, 0))),
    streamed=True,
)
PLAIN = Timeline(200, ((b"content-type", b"application/json"),), (TimedFrames((b'{"text":"hello"}',), (0.5,), (7,)),))
FAILURE = b'data: {"error":"failed"}\n\n'


def words(fault: Fault) -> Timeline:
    return Timeline(500, (), (TimedFrames((FAILURE,), (0.0,), (0,)),))


def faulted(timeline: Timeline, kind: str, **table: Any) -> Timeline:
    apply = FAULTS[kind].apply
    return (
        apply(timeline, read_fault({"kind": kind, **table}), Vendor(words, ("finish_reason",))) if apply else timeline
    )


def sent(timeline: Timeline) -> list[bytes]:
    return [data for run in timeline.runs for data in run.data]


def dues(timeline: Timeline) -> list[float]:
    return [due for run in timeline.runs for due in run.due]


A, B, C, D, DONE = EVENTS


@pytest.mark.parametrize(
    "kind, table, left",
    [
        ("cut", {"after_event": 2}, [A, B]),
        ("cut", {"after_event": 0}, []),
        ("cut", {"after_token": 3}, [A, B, C]),
        ("cut", {"after_bytes": len(A) + 5}, [A, B[:5]]),
        ("cut", {"after_bytes": len(A)}, [A]),
        ("cut", {"at": 0.15}, [A, B]),
        ("cut", {}, []),
        ("half_event", {"after_event": 1}, [A, B[: len(B) // 2]]),
        ("drop", {"after_event": 1}, [A, C, D, DONE]),
        ("duplicate", {"after_event": 1}, [A, B, B, C, D, DONE]),
        ("swap", {"after_event": 1}, [A, C, B, D, DONE]),
        ("error_event", {"after_event": 2}, [A, B, FAILURE]),
        ("crlf", {}, [event.replace(b"\n", b"\r\n") for event in EVENTS]),
        ("bom", {}, [b"\xef\xbb\xbf" + A, B, C, D, DONE]),
        ("comment", {"text": "hi"}, [x for event in EVENTS for x in (b": hi\n\n", event)]),
        ("encoding", {"charset": "latin-1"}, [event.decode().encode("latin-1") for event in EVENTS]),
        ("after_done", {}, [*EVENTS, D]),
        ("burst", {"events": 2}, [A + B, C + D, DONE]),
        ("keep_alive", {"after_event": 3, "count": 2, "text": "on"}, [A, B, C, b": on\n\n", b": on\n\n", D, DONE]),
        ("keep_alive", {"after_event": 9}, list(EVENTS)),
        ("no_done", {}, [A, B, C, D]),
        ("late_done", {"seconds": 9}, list(EVENTS)),
    ],
)
def test_a_stream_is_left_as_the_fault_says(kind: str, table: dict[str, Any], left: list[bytes]) -> None:
    assert sent(faulted(STREAM, kind, **table)) == left


@pytest.mark.parametrize(
    "kind, table, due",
    [
        ("error_event", {"at": 0.15}, [0.0, 0.1, 0.15]),
        ("half_event", {"at": 0.15}, [0.0, 0.1, 0.15]),
        ("error_event", {"after_event": 3}, [0.0, 0.1, 0.2, 0.2]),
        ("stall", {"after_event": 2, "seconds": 3}, [0.0, 0.1, 3.2, 3.3, 3.3]),
        ("late_done", {"seconds": 9}, [0.0, 0.1, 0.2, 0.3, 9.3]),
        ("swap", {"after_event": 1}, [0.0, 0.1, 0.2, 0.3, 0.3]),
        ("keep_alive", {"after_event": 3, "seconds": 2, "count": 2}, [0.0, 0.1, 0.2, 0.3, 2.3, 4.3, 4.3]),
    ],
)
def test_a_stream_is_due_when_the_fault_says(kind: str, table: dict[str, Any], due: list[float]) -> None:
    assert dues(faulted(STREAM, kind, **table)) == due


@pytest.mark.parametrize("kind", ["reset", "close", "hang", "half_open", "cut", "bad_chunk", "half_chunk"])
def test_what_ends_an_answer_at_an_instant_waits_for_it_though_nothing_else_is_due_then(kind: str) -> None:
    made = faulted(STREAM, kind, at=0.15)
    assert (sent(made), made.until) == ([A, B], 0.15)
    assert faulted(STREAM, kind, after_event=2).until == 0.0


@pytest.mark.parametrize("kind", ["reset", "close", "hang", "half_open"])
def test_what_breaks_an_answer_off_at_an_instant_sends_no_head_of_its_own(kind: str) -> None:
    for place, head in (({"at": 0.15}, False), ({"after_event": 0}, True), ({"after_bytes": 1}, True), ({}, False)):
        ending = faulted(STREAM, kind, **place).ending
        assert ending is not None
        assert ending.head is head


@pytest.mark.parametrize(
    "table, comes, goes",
    [
        ({}, True, True),
        ({"after_event": 4}, True, True),
        ({"after_event": 5}, True, False),
        ({"after_event": 6}, False, False),
        ({"after_token": 4}, True, True),
        ({"after_token": 5}, False, False),
        ({"after_bytes": len(b"".join(EVENTS)) - 1}, True, True),
        ({"after_bytes": len(b"".join(EVENTS))}, True, False),
        ({"after_bytes": len(b"".join(EVENTS)) + 1}, False, False),
        ({"at": 0.3}, True, True),
        ({"at": 0.31}, False, False),
    ],
)
def test_an_answer_comes_as_far_as_its_end_and_goes_on_before_it(
    table: dict[str, Any], comes: bool, goes: bool
) -> None:
    place = read_fault({"kind": "reset", **table}).place
    assert (reaches(STREAM, place), goes_on(STREAM, place)) == (comes, goes)


def test_an_answer_that_hangs_lasts_for_ever_and_one_that_is_broken_off_until_then() -> None:
    later = read_fault({"kind": "reset", "at": 3.0}).place
    assert reaches(faulted(STREAM, "hang", at=0.15), later)
    assert not reaches(faulted(STREAM, "close", at=2.9), later)
    assert reaches(faulted(STREAM, "close", at=3.1), later)


def test_a_malformed_event_is_closed_but_is_no_json() -> None:
    events = sent(faulted(STREAM, "malformed", after_event=2))
    assert events[:2] + events[3:] == [A, B, D, DONE]
    assert events[2].startswith(b"data: ")
    assert events[2].endswith(b"\n\n")
    with pytest.raises(json.JSONDecodeError):
        json.loads(events[2].removeprefix(b"data: "))


def test_split_events_come_whole_in_pieces_of_their_own_moment() -> None:
    parts = faulted(STREAM, "split", pieces=3, gap=0.01)
    assert b"".join(sent(parts)) == b"".join(EVENTS)
    assert len(sent(parts)) == 3 * len(EVENTS)
    assert len(set(dues(parts))) == 2 * len(EVENTS) + 4
    cut_in_a_character = [data for data in sent(faulted(STREAM, "split", pieces=30)) if data == b"\xc3"]
    assert len(cut_in_a_character) == 4


@pytest.mark.parametrize("pieces", [2, 3, 7])
def test_split_cuts_a_character_in_every_event_that_has_one_of_many_bytes(pieces: int) -> None:
    parts = sent(faulted(STREAM, "split", pieces=pieces))
    assert b"".join(parts) == b"".join(EVENTS)
    assert [part for part in parts if part.endswith(b"\xc3")] == [
        part for part in parts if b"\xc3" in part and b"\xc3\xa9" not in part
    ]
    assert sum(part.endswith(b"\xc3") for part in parts) == 4
    assert sum(part.startswith(b"\xa9") for part in parts) == 4


def test_a_burst_leaves_with_the_last_of_its_events_and_has_the_tokens_of_all() -> None:
    [run] = faulted(STREAM, "burst", events=3).runs
    assert (run.due, run.tokens) == ((0.2, 0.3), (3, 1))


def test_a_stall_holds_back_a_whole_body_too() -> None:
    assert dues(faulted(PLAIN, "stall", seconds=3)) == [3.5]


def test_a_drip_is_one_byte_at_a_time_and_a_bandwidth_so_many_on_any_answer() -> None:
    dripped = faulted(PLAIN, "drip", bytes_per_second=10)
    assert sent(dripped) == [bytes([byte]) for byte in b'{"text":"hello"}']
    assert dues(dripped) == pytest.approx([0.5 + (number + 1) / 10 for number in range(16)])
    carried = faulted(PLAIN, "bandwidth", bytes_per_second=8, piece=10)
    assert (sent(carried), dues(carried)) == ([b'{"text":"h', b'ello"}'], [0.5 + 10 / 8, 0.5 + 16 / 8])


def test_half_a_chunk_is_announced_whole() -> None:
    made = faulted(STREAM, "half_chunk", after_event=2)
    assert sent(made) == [A, B]
    assert made.ending == ConnectionFault("close", b"%x\r\n%b" % (len(C), C[: len(C) // 2]), head=True)
    assert faulted(STREAM, "half_chunk", after_event=99).ending == ConnectionFault("close", b"6\r\ndat", head=True)


@pytest.mark.parametrize("then", ["hang", "reset", "close"])
def test_half_a_head_is_followed_by_what_the_fault_says(then: How) -> None:
    assert faulted(PLAIN, "half_head", then=then).ending == ConnectionFault(then, b"HTTP/1.1 200 OK\r\ncontent-type: a")


def test_answers_become_what_the_fault_says() -> None:
    page = faulted(PLAIN, "html")
    assert (page.status, page.headers) == (200, ((b"content-type", b"text/html; charset=utf-8"),))
    assert sent(faulted(PLAIN, "empty")) == [b""]
    assert sent(faulted(PLAIN, "truncated")) == [b'{"text":']
    teapot = faulted(STREAM, "status", status=418, body="short and stout")
    assert (teapot.status, sent(teapot), teapot.streamed) == (418, [b"short and stout"], False)
    assert faulted(PLAIN, "content_type", value="text/xml").headers == ((b"content-type", b"text/xml"),)
    assert sent(faulted(PLAIN, "error")) == [FAILURE]


def choice(*texts: str) -> Generation:
    prompt = Prompt("p", "p", 1)
    said = Choice(0, 1, list(range(len(texts))), list(texts), "stop", prompt)
    return Generation(GenerationRequest("m", (prompt,)), (said,), Usage(1, len(texts)))


@pytest.mark.parametrize(
    "table, texts, reason",
    [
        ({"kind": "finish", "after_token": 2}, ["a", "b"], "length"),
        ({"kind": "finish", "reason": "content_filter"}, ["a", "b", "c"], "content_filter"),
        ({"kind": "silence"}, [], "stop"),
        ({"kind": "repeat", "after_token": 1}, ["a", "b", "b"], "stop"),
        ({"kind": "repeat"}, ["a", "a", "a"], "stop"),
        ({"kind": "whitespace", "tokens": 2}, ["\n", "\n"], "length"),
        ({"kind": "whitespace", "after_token": 2, "tokens": 1}, ["a", "b", "\n"], "length"),
    ],
)
def test_the_model_itself_says_otherwise(table: dict[str, Any], texts: list[str], reason: str) -> None:
    fault = read_fault(table)
    says = FAULTS[fault.kind].says
    assert says is not None
    made = with_changed_choices(choice("a", "b", "c"), fault, says)
    assert (list(made.choices[0].texts), made.choices[0].finish_reason) == (texts, reason)
    assert made.usage.completion_tokens == len(made.choices[0].ids) == len(texts)


@pytest.mark.parametrize("kind", FAULTS)
def test_no_fault_brings_more_tokens_than_there_were_or_goes_back_in_time(kind: str) -> None:
    made = faulted(STREAM, kind)
    assert sum(sum(run.tokens) for run in made.runs) <= 4
    assert dues(made) == sorted(dues(made))
    assert sent(made) == sent(made), "a timeline can be walked again"


# --- members taken out of events: the bytes around them stay, and so does what other events say of them ------------

TEXT = rb'data: {"text":"say \"finish_reason\":\"stop\", \"usage\":{} \u00e9 ' + "é".encode() + b'"}\n\n'


def edited(kind: str, *events: bytes) -> tuple[list[bytes], bool]:
    """What is left of a stream, and whether the fault has anything to change in it."""
    stream = STREAM._replace(runs=(TimedFrames(events, (0.0,) * len(events), (1,) * len(events)),))
    made = faulted(stream, kind)
    return sent(made), differ(stream, made)


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
    assert edited("no_finish", *events) == ([TEXT, b"data: " + left + b"\n\n", DONE], True)


@pytest.mark.parametrize("separator", [b":", b": "])
def test_where_others_say_null_it_becomes_null(separator: bytes) -> None:
    null, stop = (b'data: {"a":1,"finish_reason"' + separator + word + b"}\n\n" for word in (b"null", b'"stop"'))
    assert edited("no_finish", null, stop, DONE) == ([null, null, DONE], True)


def test_usage_goes_from_an_event_that_says_more() -> None:
    last = b'data: {"choices":[{"index":0}],"usage":{"prompt_tokens":1,"details":{"x":[1,"}"]}},"object":"c"}\n\n'
    assert edited("no_usage", TEXT, last) == ([TEXT, b'data: {"choices":[{"index":0}],"object":"c"}\n\n'], True)


def test_an_event_that_says_nothing_but_usage_is_missing() -> None:
    null = b'data: {"choices":[{"index":0}],"usage":null}\n\n'
    last = b'data: {"choices": [], "usage": {"prompt_tokens": 1}}\n\n'
    assert edited("no_usage", null, last, DONE) == ([null, DONE], True)


@pytest.mark.parametrize("kind", ["no_finish", "no_usage"])
@pytest.mark.parametrize(
    "broken", [TEXT, b'data: {"finish_reason":"st\n\n', b'data: {"usage":{"a"\n\n', b"\xff\xfe", b""]
)
def test_a_stream_without_it_is_left_alone(kind: str, broken: bytes) -> None:
    events = [TEXT, broken, DONE]
    assert edited(kind, *events) == (events, False)

"""Streams as clients' decoders see them: wherever the network cuts a stream, the same events come out."""

import pytest
from openai._streaming import SSEDecoder

from tests.support.shapes import SHAPES, Shape


def decoded(*pieces: bytes) -> list[tuple[str | None, str]]:
    return [(event.event, event.data) for event in SSEDecoder().iter_bytes(iter(pieces))]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.id)
def test_a_stream_cut_at_any_byte_gives_the_same_events(shape: Shape) -> None:
    body = shape.stream("Расскажи про 😀 и море", max_tokens=max(6, shape.least)).body
    whole = decoded(body)
    assert len(whole) > 2
    for cut in range(1, len(body)):
        assert decoded(body[:cut], body[cut:]) == whole


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.id)
def test_events_are_whole_and_closed_by_an_empty_line(shape: Shape) -> None:
    answer = shape.stream("What is a tide?", max_tokens=16)
    events = [event for run in answer.plan.timeline.runs for event in run.data]
    named = shape.messages or (shape.responds and shape.dialect != "ovms")
    assert all(event.startswith(b"event: " if named else b"data: ") and event.endswith(b"\n\n") for event in events)
    assert all(event.count(b"\n") == 2 + named and b"\r" not in event for event in events)

"""Faults that edit events, on the streams of every dialect: each writes them in its own way."""

from typing import Any

import pytest

from mockserver.core.http import Timeline
from mockserver.faults.catalogue import FAULTS
from mockserver.faults.rules import Fault
from mockserver.faults.streams import Vendor, differ
from mockserver.state.plan import Plan
from tests.support.conformity import stream_data
from tests.support.shapes import SHAPES, Shape

every_shape = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.id)

# The documented container of FriendliAI says no reason in a stream, and Yandex' older backend no usage.
WITHOUT = {"no_finish": ("friendli",), "no_usage": ("friendli-chat",)}


def events_of(timeline: Timeline) -> list[Any]:
    """The JSON of the events."""
    return stream_data(b"".join(data for run in timeline.runs for data in run.data))


def answer(shape: Shape) -> Plan:
    return shape.stream("Tell me about tides", max_tokens=16).plan


def faulted(plan: Plan, kind: str) -> Timeline:
    apply = FAULTS[kind].apply
    assert apply

    def words(fault: Fault) -> Timeline:
        raise AssertionError("nobody is asked for words")

    return apply(plan.timeline, Fault(kind), Vendor(words, plan.context.route.dialect.finish_keys))


def said(events: list[Any]) -> list[Any]:
    """All finish reasons that events have, with nulls."""
    choices = [choice for event in events if event != "[DONE]" for choice in event.get("choices", ())]
    return [choice["finish_reason"] for choice in choices if "finish_reason" in choice]


def usage_of(event: dict[str, Any]) -> object:
    """The usage of an event, which is taken out of it."""
    return event.get("response", event.get("message", event)).pop("usage", None)


@every_shape
@pytest.mark.parametrize("kind", WITHOUT)
def test_a_fault_knows_in_which_streams_there_is_something_to_take_out(shape: Shape, kind: str) -> None:
    plan = answer(shape)
    assert FAULTS[kind].removes
    assert differ(plan.timeline, faulted(plan, kind)) is (shape.id not in WITHOUT[kind])


@every_shape
def test_a_stream_without_its_finish_reason_says_all_else(shape: Shape) -> None:
    plan = answer(shape)
    whole, left = events_of(plan.timeline), events_of(faulted(plan, "no_finish"))
    if shape.responds:
        # A typed event says it by being there, so it is not.
        assert left == [event for event in whole if event == "[DONE]" or event["type"] != "response.incomplete"]
        return
    assert len(left) == len(whole)
    if shape.messages:
        # The events before the last one have a null.
        whole[-2]["delta"]["stop_reason"] = None
        assert left == whole
        return
    assert set(said(left)) <= {None}
    # As in the other events: null where these say null, and absent where these are silent.
    assert (None in said(left)) == (None in said(whole))
    for event in (event for event in (*whole, *left) if event != "[DONE]"):
        for choice in event.get("choices", ()):
            choice.pop("finish_reason", None)
    assert left == whole


@every_shape
def test_a_stream_without_its_usage_says_all_else(shape: Shape) -> None:
    plan = answer(shape)
    whole, left = events_of(plan.timeline), events_of(faulted(plan, "no_usage"))
    rest = [event for event in whole if event == "[DONE]" or event.get("choices", ...) != [] or not event.get("usage")]
    assert len(left) == len(rest)
    for event, other in zip(left, rest, strict=True):
        if event != "[DONE]":
            assert not usage_of(event)
            usage_of(other)
    assert left == rest


@every_shape
@pytest.mark.parametrize("kind", ["split", "burst", "drip", "bandwidth", "keep_alive", "comment"])
def test_what_changes_the_writes_alone_leaves_every_byte_of_the_events(shape: Shape, kind: str) -> None:
    fault = f'{{ kind = "{kind}", bytes_per_second = 1e6 }}' if kind in ("drip", "bandwidth") else kind
    whole, changed = (shape.stream("Расскажи о приливах", max_tokens=16, fault=text) for text in ("", fault))
    comment = b": keep-alive\n\n" if kind in ("keep_alive", "comment") else b"\0"
    assert changed.body.replace(comment, b"") == whole.body
    assert changed.plan.faults == (kind,)

"""Decisions: when the plan of an equal call is reused, and which answers take long."""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import count

import pytest

from mockserver.control.deciding.decision import decide, recall, respond
from mockserver.control.namespaces import Namespace
from mockserver.control.plan import Plan, hear
from mockserver.control.routing import Landing, Router
from mockserver.control.settings import Settings
from mockserver.control.stubs.notation import read_stub
from mockserver.core.calls import Call, Headers
from mockserver.core.installed import load_dialects
from mockserver.faults.notation import read_faults

QUIET = Settings(latency="off")
_numbers = count()


def landing_in(settings: Settings) -> Landing:
    landing = Router(load_dialects(), settings).find("POST", "/cerebras/v1/completions")
    assert landing is not None
    return landing


LANDING = landing_in(QUIET)


def fresh_call(headers: dict[str, str] | None = None, **fields: object) -> Call:
    """A call that nobody has made before."""
    body = {"model": "m", "prompt": f"Recall me, {next(_numbers)}", "max_tokens": 8, **fields}
    raw = {"authorization": "Bearer key", **(headers or {})}
    said = Headers((name.encode(), value.encode()) for name, value in raw.items())
    return Call("POST", "/v1/completions", said, json.dumps(body).encode(), "", 1_700_000_000.0)


def answered(call: Call, space: Namespace, settings: Settings = QUIET, landing: Landing = LANDING) -> Plan:
    return respond(decide(hear(call, landing, settings), space, 0.0))


def written(plan: Plan) -> list[tuple[bytes, float, int]]:
    return [row for run in plan.timeline.runs for row in zip(*run, strict=True)]


@pytest.mark.parametrize("stream", [False, True])
def test_an_equal_call_within_a_tick_gets_the_same_again_and_is_counted(stream: bool) -> None:
    space, call = Namespace(""), fresh_call(stream=stream)
    assert recall(call, LANDING, QUIET, space) is None
    made = answered(call, space)
    for later in (0.0, 0.02, 0.049):
        again = recall(call._replace(received_at=call.received_at + later), LANDING, QUIET, space)
        assert again is not None
        assert (again.timeline.headers, written(again)) == (made.timeline.headers, written(made))
    assert space.retries.count() == 5


def _arm(space: Namespace, call: Call) -> None:
    space.faults.arm("late", read_faults("{ kind = 'stall' }")[0], 0.0)


def _stub(space: Namespace, call: Call) -> None:
    space.stubs.add(read_stub({"match": {}, "reply": "stubbed"}))


def _fail(space: Namespace, call: Call) -> None:
    wish = Headers([(b"x-mockserver-fault", b"{ kind = 'error', error = 'overloaded' }")])
    space.retries.note(answered(call._replace(headers=wish), space))


@pytest.mark.parametrize("disturb", [_arm, _stub, _fail])
def test_nothing_is_recalled_where_the_namespace_could_make_a_difference(
    disturb: Callable[[Namespace, Call], None],
) -> None:
    space, call = Namespace(""), fresh_call()
    answered(call, space)
    disturb(space, call)
    assert recall(call, LANDING, QUIET, space) is None
    assert recall(call, LANDING, QUIET, Namespace("another")) is not None


def test_what_has_failed_for_others_is_no_hindrance() -> None:
    space, call = Namespace(""), fresh_call()
    answered(call, space)
    _fail(space, fresh_call())
    assert recall(call, LANDING, QUIET, space) is not None


@pytest.mark.parametrize("change", [
    {"received_at": 1_700_000_000.1}, {"body": b"{}"}, {"query": "a=b"}, {"headers": Headers([(b"a", b"b")])},
])  # fmt: skip
def test_a_call_that_differs_is_none_that_came_before(change: dict[str, object]) -> None:
    space, call = Namespace(""), fresh_call()
    answered(call, space)
    assert recall(call._replace(**change), LANDING, QUIET, space) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("settings", [
    replace(QUIET, fault=read_faults("{ kind = 'stall', every = 2 }")),
    replace(QUIET, ids="unique"),
    Settings(latency="slow, slots=1"),
])  # fmt: skip
def test_what_may_differ_the_next_time_is_not_remembered(settings: Settings) -> None:
    space, call, landing = Namespace(""), fresh_call(), landing_in(settings)
    answered(call, space, settings, landing)
    assert recall(call, landing, settings, space) is None


def test_other_settings_want_another_answer() -> None:
    space, call = Namespace(""), fresh_call()
    answered(call, space)
    assert recall(call, LANDING, replace(QUIET, seed=43), space) is None


@pytest.mark.parametrize("header", [
    {"x-mockserver-fault": "{ kind = 'stall' }"}, {"x-mockserver-reply": "{ text = 'Just this' }"},
])  # fmt: skip
def test_what_a_header_wishes_for_is_done_each_time(header: dict[str, str]) -> None:
    space, call = Namespace(""), fresh_call(header)
    answered(call, space)
    assert recall(call, LANDING, QUIET, space) is None


@pytest.mark.parametrize(
    "fields, long",
    [
        ({}, False),
        ({"max_tokens": 2_048}, True),
        ({"max_tokens": 100, "logprobs": 20}, True),
        ({"prompt": ["a"] * 300}, True),
        # A prompt that is echoed is said too, and with it what is told of its tokens.
        ({"prompt": [7] * 3_000}, False),
        ({"prompt": [7] * 3_000, "echo": True}, True),
        ({"prompt": [7] * 300, "echo": True}, False),
        ({"prompt": [7] * 300, "echo": True, "logprobs": 10}, True),
    ],
)
def test_a_long_answer_is_not_made_while_all_others_wait(fields: dict[str, object], long: bool) -> None:
    assert decide(hear(fresh_call(None, **fields), LANDING, QUIET), Namespace(""), 0.0).takes_long is long


@pytest.mark.parametrize(
    "fields, long",
    [
        ({"input": "Tides"}, False),
        ({"input": ["Tides"] * 10}, False),
        ({"input": ["Tides"] * 20}, True),
        ({"input": "Tides rise. " * 500}, True),
        ({"model": "bge-reranker", "query": "Tides", "documents": ["Tides rise. " * 80_000]}, True),
    ],
)
def test_texts_are_not_embedded_while_all_others_wait(fields: dict[str, object], long: bool) -> None:
    path = "/v3/embeddings" if "input" in fields else "/v3/rerank"
    landing = Router(load_dialects(), QUIET).find("POST", f"/ovms{path}")
    assert landing is not None
    call = fresh_call(None, **{"model": "bge-large", **fields})._replace(path=path)
    assert decide(hear(call, landing, QUIET), Namespace(""), 0.0).takes_long is long

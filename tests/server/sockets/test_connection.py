"""Answers leave in order, and none is lost, whatever else happens to the connection."""

import re
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from mockserver import MockServer
from mockserver.state.settings import Settings
from tests.support.asking import FROZEN
from tests.support.sockets import LISTENERS, LOOPS, Line, post, quiet_settings

COMPLETIONS = "/cerebras/v1/completions"
REQUEST = {"model": "llama3.1-8b", "prompt": "Tell me about sea otters", "max_tokens": 12}
CLOSING = post(COMPLETIONS, REQUEST, "connection: close")


@pytest.fixture(scope="module", params=LOOPS)
def server(request: pytest.FixtureRequest) -> Iterator[MockServer]:
    """A quiet server on each loop."""
    with MockServer(Settings(port=0, latency="off", log_level="warning", created=FROZEN), request.param) as running:
        yield running


def answers_to(server: MockServer, *requests: bytes) -> tuple[list[bytes], str]:
    """The answers to requests that are sent at once, heads included, and how the connection ended."""
    with Line(server) as line:
        line.send(b"".join(requests))
        received, end = line.read()
    return received.split(b"HTTP/1.1 ")[1:], end


def undated(answer: bytes) -> bytes:
    """An answer without what differs each time: its dates and times, and how it is cut into chunks."""
    return re.sub(rb"(?m)^(date|x-[^:]*|[0-9a-f]+)(: .*)?\r\n|\r\n", b"", answer)


def test_answers_of_all_kinds_keep_their_order(server: MockServer) -> None:
    """Plain ones, streams in one write and in many, one of the admin API, and refusals."""
    plain, stream = post(COMPLETIONS, REQUEST), post(COMPLETIONS, REQUEST | {"stream": True})
    long = post(COMPLETIONS, REQUEST | {"stream": True, "max_tokens": 2000, "min_tokens": 2000})
    page, refused = b"GET /_mockserver/docs/faults HTTP/1.1\r\nhost: localhost\r\n\r\n", post("/nowhere", {})
    row = [plain, stream, plain, long, plain, plain, page, plain, refused, stream, plain]
    alone = {each: answers_to(server, each, CLOSING)[0][0] for each in row}
    assert len({undated(answer) for answer in alone.values()}) == 5
    together, end = answers_to(server, *row, CLOSING)
    assert end == "closed"
    assert [*map(undated, together[:-1])] == [undated(alone[each]) for each in row]


@pytest.mark.parametrize("fault, end", [("reset", "reset"), ('{ kind = "close", after_event = 2 }', "closed")])
def test_what_is_answered_before_a_fault_arrives_before_it(server: MockServer, fault: str, end: str) -> None:
    faulted = post(COMPLETIONS, REQUEST | {"stream": True}, f"x-mockserver-fault: {fault}")
    answers, ended = answers_to(server, *[post(COMPLETIONS, REQUEST)] * 3, faulted)
    assert ended == end
    assert len({undated(answer) for answer in answers[:3]}) == 1
    assert answers[2].endswith(b"}")


def test_who_asks_for_the_end_of_the_connection_gets_its_answers_before(server: MockServer) -> None:
    answers, end = answers_to(server, *[post(COMPLETIONS, REQUEST)] * 2, CLOSING, post(COMPLETIONS, REQUEST))
    assert ([answer[:3] for answer in answers], end) == ([b"200"] * 3, "closed")


@pytest.fixture(params=LISTENERS, ids=str)
def many(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Line]]:
    """Many connections to a server, on each loop, plain and under TLS."""
    settings = quiet_settings(request, tmp_path_factory, created=FROZEN)
    with MockServer(settings, request.param[0]) as running, ExitStack() as opened:
        yield [opened.enter_context(Line(running)) for _ in range(40)]


def test_many_connections_get_an_answer_each(many: list[Line]) -> None:
    for _ in range(3):
        for line in many:
            line.send(post(COMPLETIONS, REQUEST))
        answers = [line.read(until=b"}") for line in many]
        assert {end for _, end in answers} == {"open"}
        assert len({undated(answer) for answer, _ in answers}) == 1


def test_who_sends_nothing_more_is_answered_all_the_same(many: list[Line]) -> None:
    for line in many:
        line.send_last(post(COMPLETIONS, REQUEST))
    answers = [line.read(until=b"}") for line in many]
    assert all(answer.startswith(b"HTTP/1.1 200 OK\r\n") for answer, _ in answers)
    assert len({undated(answer) for answer, _ in answers}) == 1

"""The verdict on clients that behave well or badly: it names each client mistake, and no other."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import pytest

from mockserver import Handle, MockServer, tool_call
from mockserver.state.verify import client_review
from tests.testing.conduct import (
    BODY,
    Client,
    Wire,
    asking_thrice,
    cancelling,
    checking,
    counting,
    falling_back,
    impatient,
    obedient,
    refreshing,
    retrying,
    shortening,
    streaming,
    streaming_again,
    tool_user,
    trusting,
)

JITTERED = (0.11, 0.17, 0.46, 0.71, 1.9)
EXACT = (0.1, 0.2, 0.4, 0.8, 1.6)


class Case(NamedTuple):
    """A client, the server that it meets, what the test declares, and the faults of its conduct.

    A client that comes back at once may take so many seconds on a machine that is busy with something else.
    """

    client: Client
    server: Callable[[Handle], object]
    faults: set[str]
    declared: dict[str, Any] = {}  # noqa: RUF012
    at_once: float = client_review._AT_ONCE


def fails(times: int, error: str = "overloaded", **settings: Any) -> Callable[[Handle], object]:
    return lambda server: server.next(times).error(error, **settings)


def breaks(kind: str, times: int = 1, **settings: Any) -> Callable[[Handle], object]:
    return lambda server: server.next(times).fault(kind, **settings)


def calls_tool(text: str | None = None, **arguments: str) -> Callable[[Handle], object]:
    return lambda server: server.next().reply(tool_call("get_weather", text, **arguments))


def serves(server: Handle) -> None:
    """Nothing goes wrong."""


def slowly(server: Handle) -> None:
    server.settle(latency="ttft=10ms, rate=80 tok/s")


def endlessly(server: Handle) -> None:
    server.settle(latency="ttft=10ms, itl=20s")


RETRY, RAISE, FALLBACK = ({"handles": word} for word in ("retry", "raise", "fallback"))
ANSWER, ERROR, CANCELLED = ({"outcome": word} for word in ("answer", "error", "cancelled"))

INNOCENT = {
    "nothing goes wrong": Case(asking_thrice, serves, set(), RETRY | ANSWER),
    "obeys seconds": Case(obedient(), fails(2, "rate_limit", retry_after=2), set(), RETRY | ANSWER),
    "obeys milliseconds": Case(obedient(), fails(2, "rate_limit", retry_after=0.5, retry_after_as="ms"), set(), RETRY),
    "waits longer than asked": Case(obedient(3), fails(2, "rate_limit", retry_after=1), set(), RETRY),
    "backs off with jitter": Case(retrying(JITTERED), fails(5), set(), RETRY),
    "backs off with jitter, quickly": Case(retrying((0.012, 0.031, 0.075)), fails(3), set(), RETRY),
    "tries once more at once, then backs off": Case(retrying((0.0, 0.4, 0.9)), fails(3), set(), RETRY),
    "waits twice as long each time": Case(retrying(EXACT), fails(5), set(), RETRY),
    "one quick retry": Case(retrying((0.0,)), fails(1), set(), RETRY),
    "retries a reset": Case(retrying((0.2,)), breaks("reset"), set(), RETRY | ANSWER),
    "comes with a new key": Case(refreshing, fails(1, "unauthorized"), set(), RETRY),
    "asks for less": Case(shortening, fails(1, "context_length"), set(), FALLBACK),
    "three calls, each refused": Case(counting, fails(3, "unauthorized"), set(), RAISE | ERROR),
    "raises at once": Case(retrying(()), fails(1), set(), RAISE | ERROR),
    "gives up what is hopeless": Case(retrying(()), fails(1, "invalid_request"), set(), RETRY | ERROR),
    "gives up when asked to wait for hours": Case(retrying(()), fails(1, "rate_limit", retry_after=7200), set(), RETRY),
    "gives up after three attempts": Case(retrying((0.3, 0.8)), fails(9), set(), RETRY | ERROR),
    "falls back": Case(falling_back, fails(1), set(), FALLBACK | ANSWER),
    "reports a cut stream": Case(streaming, breaks("cut", after_event=3), set(), RAISE | ERROR),
    "asks again for a cut stream": Case(
        streaming_again, breaks("cut", after_event=3), set(), RETRY | ANSWER | {"least_attempts": 2}
    ),
    "takes what was whole but for its end": Case(streaming, breaks("cut", after_event=14), set(), ANSWER),
    "takes a stream in small pieces": Case(streaming, breaks("split", pieces=3), set(), ANSWER),
    "has a timeout": Case(impatient, breaks("hang"), set(), RETRY | {"patience": 1.0}),
    "cancels": Case(cancelling, endlessly, set(), CANCELLED),
    "looks at arguments": Case(tool_user(checking), calls_tool('{"town": "Oslo"}'), set()),
    "notices broken arguments": Case(tool_user(checking), calls_tool('{"city": "Os'), set()),
    "runs a good call": Case(tool_user(trusting), calls_tool(city="Oslo"), set()),
}
GUILTY = {
    "ignores Retry-After": Case(obedient(0.1), fails(2, "rate_limit", retry_after=2), {"retry_after_ignored"}),
    "ignores milliseconds": Case(
        obedient(0.1), fails(1, "rate_limit", retry_after=0.8, retry_after_as="ms"), {"retry_after_ignored"}
    ),
    "cuts Retry-After short": Case(obedient(0.8), fails(2, "rate_limit", retry_after=2), {"retry_after_cut_short"}),
    "retries what is refused": Case(retrying((0.3, 0.8)), fails(3, "unauthorized"), {"non_retryable_retried"}),
    "retries a bad request": Case(retrying((0.3,)), fails(2, "invalid_request"), {"non_retryable_retried"}),
    "comes back at once": Case(retrying((0.0,) * 3), fails(3), {"no_backoff"}, at_once=1.0),
    "hammers": Case(retrying((0.0,) * 6), fails(6), {"no_backoff", "retry_storm"}, at_once=1.0),
    "never stops": Case(retrying((0.3, 0.7, 1.1, 2.3, 3.9, *(8.2, 7.1) * 3)), fails(11), {"retry_storm"}),
    "waits always the same": Case(retrying((0.5,) * 4), fails(4), {"no_backoff"}),
    "gives up at once": Case(retrying(()), fails(1), {"gave_up"}, RETRY),
    "does not retry a reset": Case(retrying(()), breaks("reset"), {"gave_up"}, RETRY | ERROR),
    "has no fallback": Case(retrying(()), fails(1), {"no_fallback"}, FALLBACK),
    "takes a cut stream for whole": Case(streaming, breaks("cut", after_event=3), {"truncation_accepted"}, ANSWER),
    "takes a broken stream for whole": Case(streaming, breaks("reset", after_event=3), {"truncation_accepted"}, ANSWER),
    "takes half a body": Case(retrying(()), breaks("truncated"), {"truncation_accepted"}, RAISE | ANSWER),
    "overlooks an error in a stream": Case(
        streaming, breaks("error_event", after_event=3), {"damage_accepted"}, ANSWER
    ),
    "takes a page for an answer": Case(retrying(()), breaks("html"), {"damage_accepted"}, ANSWER),
    "has no timeout": Case(retrying(()), breaks("stall", seconds=0.3), {"no_read_timeout"}, {"patience": 0.1}),
    "reads on": Case(streaming, slowly, {"stream_not_cancelled"}, CANCELLED),
    "runs what its schema forbids": Case(tool_user(trusting), calls_tool('{"town": "Oslo"}'), {"bad_tool_call_obeyed"}),
    "runs what is no JSON": Case(tool_user(trusting), calls_tool('{"city": "Os'), {"bad_tool_call_obeyed"}),
}


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    with MockServer() as running:
        yield running


@pytest.mark.parametrize("name", [*INNOCENT, *GUILTY])
def test_the_verdict_names_each_fault_and_no_other(
    server: MockServer, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = (INNOCENT | GUILTY)[name]
    monkeypatch.setattr(client_review, "_AT_ONCE", case.at_once)
    handle = server.in_namespace(name.replace(" ", "-"))
    case.server(handle)
    case.client(Wire(handle))
    handle.wait_idle()
    verdict = handle.verify.verdict(**case.declared)
    assert {finding.fault for finding in verdict.findings} == case.faults, verdict.as_text() + "\n" + handle.journal()


def test_ten_clients_at_once_with_one_question_are_no_storm(server: MockServer) -> None:
    handle = server.in_namespace("at-once")
    with ThreadPoolExecutor(10) as pool:
        statuses = list(pool.map(lambda _: Wire(handle).ask(BODY)[0], range(10)))
    assert statuses == [200] * 10
    assert handle.verify.resilience(handles="retry", outcome="answer").findings == ()


def test_what_cannot_be_judged_is_said(server: MockServer) -> None:
    handle = server.in_namespace("unjudged")
    handle.next().fault("cut", after_event=3)
    streaming(Wire(handle))
    verdict = handle.verify.resilience()
    assert [each.fault for each in verdict.unjudged] == ["truncation_accepted"]


def test_a_finding_is_an_assertion_error_with_the_journal(server: MockServer) -> None:
    handle = server.in_namespace("told")
    handle.next(2).error("rate_limit", retry_after=9)
    obedient(0.1)(Wire(handle))
    with pytest.raises(
        AssertionError, match=r"retry_after_ignored: asked to wait 9 s, the client came back after 0\.9"
    ):
        handle.verify.resilience(handles="retry")

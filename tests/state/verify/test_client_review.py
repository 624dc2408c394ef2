"""The verdict from a journal alone: which requests are attempts of one call, and how much evidence a finding needs."""

from typing import Any

import pytest

from mockserver.state.journal.views import View
from mockserver.state.verify.attempts import attempts_of
from mockserver.state.verify.client_review import CheckError, ClientFacts, review_client
from tests.support.journals import BODY, exchange


def failed(number: int, arrived: float, seconds: float = 0.01, **told: Any) -> View:
    return exchange(number, arrived, seconds, **{"status": 503, "usage": {}, **told})


def grouped(*views: View) -> list[tuple[int, ...]]:
    return [call.numbers for call in attempts_of(views)]


def found(*views: View, **declared: Any) -> list[str]:
    return [finding.fault for finding in review_client(views, ClientFacts(**declared)).findings]


def test_the_same_request_after_a_failure_is_the_next_attempt() -> None:
    other = {"body": {**BODY, "prompt": "other"}}
    views = (
        failed(1, 0),
        failed(2, 0.1, request=other),
        failed(3, 0.5),
        exchange(4, 1),
        exchange(5, 1.2, request=other),
    )
    assert grouped(*views) == [(1, 3, 4), (2, 5)]


def test_the_same_request_after_an_answer_is_another_call() -> None:
    assert grouped(exchange(1, 0), exchange(2, 1), failed(3, 2), exchange(4, 3)) == [(1,), (2,), (3, 4)]


def test_a_request_that_comes_while_another_is_answered_is_another_call() -> None:
    assert grouped(failed(1, 0, 5.0), exchange(2, 1), exchange(3, 6)) == [(1, 3), (2,)]


def test_namespaces_paths_and_keys_tell_calls_apart() -> None:
    key = {"headers": {"idempotency-key": "k"}, "body": BODY}
    views = (failed(1, 0), failed(2, 1, namespace="a"), failed(3, 2, path="/b"), failed(4, 3, request=key))
    assert grouped(*views) == [(1,), (2,), (3,), (4,)]


def test_clients_that_count_their_attempts_are_taken_at_their_word() -> None:
    counted = [{"headers": {"x-stainless-retry-count": str(count)}} for count in (0, 0, 1, 1, 0)]
    views = [failed(number, number, request=request) for number, request in enumerate(counted)]
    assert grouped(*views) == [(0, 2), (1, 3), (4,)]


def test_of_parallel_calls_the_one_that_has_waited_longest_is_taken_up() -> None:
    asked: dict[str, Any] = {"answer": {"headers": {"retry-after": "1"}}, "status": 429}
    views = (failed(1, 0, **asked), failed(2, 0.005, **asked), exchange(3, 1.02), exchange(4, 1.03))
    assert grouped(*views) == [(1, 3), (2, 4)]
    assert found(*views, handles="retry") == []


@pytest.mark.parametrize("word, faults", [("true", []), ("false", ["non_retryable_retried"])])
def test_the_vendors_own_word_on_retries_counts_first(word: str, faults: list[str]) -> None:
    status = 400 if word == "true" else 503
    told: dict[str, Any] = {"status": status, "answer": {"headers": {"x-should-retry": word}}}
    assert found(failed(1, 0, **told), exchange(2, 1)) == faults


def test_a_date_to_wait_for_is_understood() -> None:
    told: dict[str, Any] = {"status": 429, "answer": {"headers": {"retry-after": "Tue, 14 Nov 2023 22:13:30 GMT"}}}
    assert found(failed(1, 0, **told), exchange(2, 10.1)) == []
    assert found(failed(1, 0, **told), exchange(2, 8)) == ["retry_after_cut_short"]
    told["answer"]["headers"]["retry-after"] = "soon"
    assert found(failed(1, 0, **told), exchange(2, 0.1)) == []


def test_a_silence_is_measured_between_events_and_to_the_present() -> None:
    events = [{"due": 0, "sent": instant, "tokens": 1, "data": ""} for instant in (0.1, 0.2, 3.0)]
    told = {"streamed": True, "answer": {"events": events}}
    assert found(exchange(1, 0, 3.1, **told), patience=2.5) == ["no_read_timeout"]
    assert found(exchange(1, 0, 3.1, **told), patience=3) == []
    still_open = exchange(1, 0, outcome={"closed_by": None, "seconds": 0.0})
    assert [each.fault for each in review_client([still_open], ClientFacts(patience=5), now=6.0).findings] == [
        "no_read_timeout"
    ]
    assert review_client([still_open], ClientFacts(patience=5), now=66.0, ahead=60.0).is_clean


def asking(prompt: str, **more: Any) -> dict[str, Any]:
    return {"request": {"body": {**BODY, "prompt": prompt, **more}}}


def test_an_answer_to_another_request_does_not_excuse_a_refusal() -> None:
    views = [
        failed(number, number, status=429, **asking(f"question {number}"))
        if number in (5, 17)
        else exchange(number, number, **asking(f"question {number}"))
        for number in range(1, 26)
    ]
    verdict = review_client(views, ClientFacts(handles="retry"))
    assert [(each.fault, each.exchanges) for each in verdict.findings] == [("gave_up", (5,)), ("gave_up", (17,))]
    assert verdict.unjudged == ()


def test_the_same_request_again_excuses_a_refusal_also_if_the_client_calls_it_a_first_attempt() -> None:
    first: dict[str, Any] = {"request": {"headers": {"x-stainless-retry-count": "0"}}}
    views = (failed(1, 0, status=429, **first), failed(2, 1, status=429, **first), exchange(3, 2, **first))
    assert found(*views, handles="retry") == []
    assert review_client(views, ClientFacts(handles="retry")).unjudged == ()


@pytest.mark.parametrize(
    "later",
    [
        asking("hello", model="other"),
        asking("hello", temperature=0),
        {"path": "/v1/elsewhere"},
        {"request": {"headers": {"idempotency-key": "another"}}},
    ],
)
def test_what_may_or_may_not_be_the_same_request_again_is_left_unjudged(later: dict[str, Any]) -> None:
    verdict = review_client([failed(1, 0, status=429), exchange(2, 1, **later)], ClientFacts(handles="retry"))
    assert verdict.findings == ()
    assert [each.fault for each in verdict.unjudged] == ["gave_up"]
    assert "#2 asks the same" in verdict.unjudged[0].why


def test_an_answer_before_a_refusal_or_in_another_namespace_excuses_nothing() -> None:
    views = (exchange(1, 0), failed(2, 1, status=429), exchange(3, 2, namespace="other"))
    assert found(*views, handles="retry") == ["gave_up"]


def test_a_fallback_asks_the_same_and_what_asks_something_else_is_left_unjudged() -> None:
    refused = failed(1, 0, status=429)
    assert found(refused, exchange(2, 1, path="/elsewhere", **asking("hello", model="other")), handles="fallback") == []
    verdict = review_client([refused, exchange(2, 1, **asking("other"))], ClientFacts(handles="fallback"))
    assert (verdict.findings, [each.fault for each in verdict.unjudged]) == ((), ["no_fallback"])
    assert found(refused, handles="fallback") == ["no_fallback"]


def test_which_of_two_answers_was_accepted_is_left_unjudged() -> None:
    cut: dict[str, Any] = {"status": 200, "streamed": True, "answer": {"ending": "reset", "finished": False}}
    cut |= {"decision": {"faults": ["cut"]}}
    verdict = review_client([failed(1, 0, **cut), exchange(2, 1, **asking("other"))], ClientFacts(outcome="answer"))
    assert (verdict.findings, [each.fault for each in verdict.unjudged]) == ((), ["truncation_accepted"])
    assert found(failed(1, 0, **cut), outcome="answer") == ["truncation_accepted"]


@pytest.mark.parametrize(
    "told, words",
    [
        ({"handles": "retri"}, r"handles: unknown value 'retri'. Did you mean 'retry'\?"),
        ({"outcome": "ok"}, "outcome: unknown value 'ok'"),
        ({"patience": 0}, "patience: 0 is not a number greater than 0"),
        ({"most_attempts": True}, "most_attempts: True is not"),
    ],
)
def test_a_declaration_that_cannot_be_meant_is_refused(told: dict[str, Any], words: str) -> None:
    with pytest.raises(CheckError, match=words):
        ClientFacts(**told)


def test_a_verdict_is_told_as_json() -> None:
    verdict = review_client([failed(1, 0, decision={"faults": ["error"]}), exchange(2, 0.5)])
    call = {"attempts": [1, 2], "statuses": [503, 200], "faults": [["error"], []], "waits": [0.49], "succeeded": True}
    assert verdict.as_json() == {"clean": True, "findings": [], "calls": [call], "unjudged": []}

"""Busy engines: which requests wait or are refused, and what their answers state about it."""

from mockserver.state.journal.transcripts import summary_of
from mockserver.state.namespaces import Namespace
from tests.support.asking import Answer, ask


def asked(namespace: Namespace, now: float, latency: str, *, dialect: str = "cerebras", **headers: str) -> Answer:
    """The answer of ten tokens that is asked for at an instant."""
    body = {"model": "llama3.1-8b", "prompt": f"at {now}", "max_tokens": 10, "min_tokens": 10}
    return ask(dialect, body, headers={"x-mockserver-latency": latency, **headers}, namespace=namespace, now=now)


ONE_SLOT = "ttft=100ms, itl=100ms, slots=1"


def test_who_finds_the_slots_taken_waits_for_the_first_that_ends() -> None:
    namespace = Namespace("")
    plans = [asked(namespace, now, ONE_SLOT).plan for now in (0.0, 0.5, 0.6)]
    assert [round(plan.pace.queue, 6) for plan in plans if plan.pace] == [0.0, 0.5, 1.4]
    assert [round(plan.pace.schedule[-1], 6) for plan in plans if plan.pace] == [1.0, 1.5, 2.4]
    assert [plan.slot and plan.slot.grant.position for plan in plans] == [0, 1, 2]


def test_the_stated_times_agree_with_the_wire() -> None:
    namespace = Namespace("")
    asked(namespace, 0.0, ONE_SLOT)
    answer = asked(namespace, 0.5, ONE_SLOT)
    stated = answer.json()["time_info"]
    [run] = answer.plan.timeline.runs
    assert round(stated["queue_time"], 6) == 0.5
    assert stated["queue_time"] + stated["prompt_time"] + stated["completion_time"] <= run.due[-1] + 1e-6


def test_a_queue_with_a_bound_refuses_in_the_vendors_words() -> None:
    namespace = Namespace("")
    answers = [asked(namespace, 0.0, f"{ONE_SLOT}, waiting=1") for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 200, 429]
    assert answers[2].json()["error"]["code"] == "queue_exceeded"


def test_ovms_queues_without_limit() -> None:
    namespace = Namespace("")
    plans = [asked(namespace, 0.0, ONE_SLOT, dialect="ovms").plan for _ in range(50)]
    assert {plan.timeline.status for plan in plans} == {200}
    assert plans[-1].pace is not None
    assert round(plans[-1].pace.queue, 6) == 49.0


def test_who_has_no_patience_is_refused_at_once() -> None:
    namespace = Namespace("")
    asked(namespace, 0.0, ONE_SLOT)
    assert asked(namespace, 0.0, ONE_SLOT, queue_threshold="500").status == 429
    assert asked(namespace, 0.0, ONE_SLOT, queue_threshold="1500").status == 200


def test_a_seat_that_is_left_is_free_again() -> None:
    namespace = Namespace("")
    first = asked(namespace, 0.0, ONE_SLOT).plan
    assert first.slot is not None
    first.slot.release()
    second = asked(namespace, 0.1, ONE_SLOT).plan
    assert second.pace is not None
    assert second.pace.queue == 0.0


def test_namespaces_and_models_have_engines_of_their_own() -> None:
    for _ in range(2):
        plan = asked(Namespace(""), 0.0, ONE_SLOT).plan
        assert plan.pace is not None
        assert plan.pace.queue == 0.0


def test_the_journal_tells_what_the_load_decided() -> None:
    namespace = Namespace("")
    asked(namespace, 0.0, ONE_SLOT)
    asked(namespace, 0.5, ONE_SLOT)
    timing = summary_of(namespace.journal.exchanges()[-1])["timing"]
    assert (timing["position"], round(timing["waited"], 6)) == (1, 0.5)
    assert namespace.engines.occupied(0.5) == [("cerebras", "llama3.1-8b", 1, 1)]

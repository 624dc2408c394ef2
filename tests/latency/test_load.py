"""The load model on values: who waits and for how long, who is slowed, and who is refused."""

from itertools import pairwise

import pytest

from mockserver.core.timeline import TokenTiming
from mockserver.latency.load import FREE, Engine, Occupancy, SlotGrant, next_slot, occupancy_of, slow_down
from mockserver.latency.parse_latency import read_profile
from mockserver.latency.timing import draw_timing, instant

# Three requests that end after 10, 20 and 30 seconds.
RUNNING = (Occupancy(30.0, 0.0, 1.0), Occupancy(10.0, 0.0, 1.0), Occupancy(20.0, 0.0, 1.0))


@pytest.mark.parametrize(
    "settings, now, found",
    [
        ("slots=4", 5.0, FREE),
        ("slots=3", 5.0, SlotGrant(5.0, 1)),
        ("slots=2", 5.0, SlotGrant(15.0, 2)),
        ("slots=1", 5.0, SlotGrant(25.0, 3)),
        ("slots=3", 10.0, FREE),
        ("slots=1", 12.0, SlotGrant(18.0, 2)),
        ("slots=unlimited", 5.0, FREE),
        ("slots=3, waiting=1", 5.0, SlotGrant(5.0, 1)),
        ("slots=3, waiting=0", 5.0, None),
        ("slots=2, waiting=1", 5.0, None),
        ("slots=4, waiting=0", 5.0, FREE),
    ],
)
def test_a_newcomer_waits_until_enough_have_ended_or_is_refused(
    settings: str, now: float, found: SlotGrant | None
) -> None:
    assert next_slot(read_profile(settings), RUNNING, now) == found


def test_a_wait_moves_the_whole_answer_and_is_stated_as_time_in_the_queue() -> None:
    profile = read_profile("network=1s, queue=1s, prefill=2s, itl=1s, slots=1")
    alone = draw_timing(profile, 3, 0, 1)
    made = slow_down(alone, profile, (Occupancy(10.0, 0.0, 1.0),), now=4.0, wait=6.0)
    assert made == TokenTiming(queue=7.0, prefill=2.0, decode=2.0, schedule=(10.0, 11.0, 12.0))
    assert occupancy_of(made, 4.0) == Occupancy(end=16.0, start=12.0, first=14.0)


def test_gaps_are_stretched_while_others_are_busy_and_shrink_as_they_end() -> None:
    profile = read_profile("ttft=1s, itl=1s, slots=3, slowdown=3")
    # Both others are busy until 2 s after our first token (three times as slow), one until 6 s (twice as slow).
    others = (Occupancy(3.0, -9.0, -8.0), Occupancy(7.0, -9.0, -8.0))
    made = slow_down(draw_timing(profile, 6, 0, 1), profile, others, now=0.0, wait=0.0)
    assert made.schedule == pytest.approx((1.0, 3 + 2 / 3, 5 + 2 / 3, 7 + 1 / 3, 8 + 1 / 3, 9 + 1 / 3))
    assert made.decode == pytest.approx(made.schedule[-1] - made.schedule[0])


def test_one_with_no_other_around_is_as_fast_as_ever() -> None:
    profile = read_profile("ttft=1s, itl=normal(1s, 100ms), slots=3, slowdown=3, interference=1")
    alone = draw_timing(profile, 50, 0, 1)
    ended = (Occupancy(0.5, -9.0, -8.0),)
    assert slow_down(alone, profile, ended, now=0.0, wait=0.0).schedule == pytest.approx(alone.schedule)


@pytest.mark.parametrize("interference, last", [(0.0, 5.0), (0.5, 6.0), (1.0, 7.0)])
def test_a_share_of_anothers_prefill_is_added_to_the_gaps(interference: float, last: float) -> None:
    profile = read_profile(f"ttft=1s, itl=1s, slots=9, interference={interference}")
    # Prefills from 3 s on, until 5 s or until the whole share of it has been added.
    made = slow_down(draw_timing(profile, 5, 0, 1), profile, (Occupancy(99.0, 3.0, 5.0),), now=0.0, wait=0.0)
    assert made.schedule[-1] == pytest.approx(last)
    assert all(before <= after for before, after in pairwise(made.schedule))


def test_latency_off_knows_no_load() -> None:
    assert slow_down(instant(5), read_profile("slots=1"), RUNNING, now=5.0, wait=0.0) == instant(5)


def test_an_engine_with_one_slot_serves_one_request_after_another() -> None:
    profile, engine = read_profile("ttft=2s, itl=1s, slots=1"), Engine()
    ends, places = [], []
    for now in (0.0, 1.0, 2.0):
        found = engine.next_slot(profile, now)
        assert found is not None
        made, taken = engine.take(draw_timing(profile, 4, 0, 1), profile, now, found)
        places.append((found.position, made.queue))
        ends.append(taken.end)
    assert places == [(0, 0.0), (1, 4.0), (2, 8.0)]
    assert ends == [5.0, 10.0, 15.0]
    assert engine.busy(3.0) == (1, 2)
    assert engine.busy(14.9) == (1, 0)
    assert engine.busy(15.0) == (0, 0)


def test_never_more_than_the_slots_are_served_at_once() -> None:
    profile, engine = read_profile("ttft=uniform(1s, 3s), itl=normal(500ms, 200ms), slots=3, slowdown=2"), Engine()
    spans = []
    for number in range(60):
        now = number * 0.7
        found = engine.next_slot(profile, now)
        assert found is not None
        spans.append(engine.take(draw_timing(profile, 10, 0, number), profile, now, found)[1])
    for each in spans:
        moment = each.start + 1e-9
        assert sum(other.start <= moment < other.end for other in spans) <= 3
    assert [each.start for each in spans] != [number * 0.7 for number in range(60)]


def test_a_client_that_leaves_gives_its_slot_to_the_next() -> None:
    profile, engine = read_profile("ttft=2s, slots=1, waiting=0"), Engine()
    found = engine.next_slot(profile, 0.0)
    assert found == FREE
    taken = engine.take(draw_timing(profile, 1, 0, 1), profile, 0.0, found)[1]
    assert engine.next_slot(profile, 1.0) is None
    engine.release(taken)
    engine.release(taken)
    assert engine.next_slot(profile, 1.0) == FREE


def test_a_thousand_that_have_ended_are_forgotten() -> None:
    profile, engine = read_profile("ttft=10ms, slots=2"), Engine()
    for number in range(1000):
        found = engine.next_slot(profile, float(number))
        assert found == FREE
        engine.take(draw_timing(profile, 1, 0, 1), profile, float(number), found)
    assert engine.busy(999.0) == (1, 0)
    assert engine.next_slot(profile, 2000.0) == FREE
    assert engine.busy(0.0) == (0, 0)

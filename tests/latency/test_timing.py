"""The pace of a generation: what the engine takes, the same for the same key; and who waits, is slowed or refused."""

import re
from itertools import pairwise
from statistics import mean, median

import pytest

from mockserver.core.http import TokenTiming, instant
from mockserver.core.seeding import Draws
from mockserver.latency.parse_latency import preset_profile, read_profile
from mockserver.latency.profiles import (
    Constant,
    Distribution,
    Empirical,
    Gamma,
    Lognormal,
    Normal,
    Stalling,
    Uniform,
    presets,
    series,
)
from mockserver.latency.timing import (
    FREE,
    Engine,
    Occupancy,
    SlotGrant,
    draw_timing,
)


def test_a_constant_pace_is_arithmetic() -> None:
    profile = read_profile("network=10ms, queue=20ms, prefill=30ms, prefill_per_token=1ms, itl=5ms")
    timing = draw_timing(profile, steps=4, prompt_tokens=40, key=1)
    assert timing.schedule == pytest.approx((0.1, 0.105, 0.11, 0.115))
    assert (timing.queue, timing.prefill, timing.decode) == pytest.approx((0.02, 0.07, 0.015))


def test_a_given_ttft_is_when_the_first_token_comes() -> None:
    timing = draw_timing(read_profile("slow, ttft=200ms, queue=50ms"), 2, 1000, 1)
    assert timing.schedule == pytest.approx((0.2, 0.3))
    assert (timing.queue, timing.prefill) == pytest.approx((0.05, 0.15))


def test_with_latency_off_nothing_waits_and_nothing_is_zero() -> None:
    timing = instant(8)
    assert timing.schedule == ()
    assert timing.due([0, 3, 9]) == [0.0, 0.0, 0.0]
    assert min(timing.queue, timing.prefill, timing.decode) > 0


def test_frames_before_the_first_token_and_after_the_last_are_due_with_them() -> None:
    timing = draw_timing(preset_profile("fast"), 3, 1, 1)
    assert timing.due([-1, 0, 2, 7]) == [timing.schedule[0], timing.schedule[0], timing.schedule[2], timing.schedule[2]]


def test_the_first_token_comes_alone_and_those_of_a_chunk_with_the_last_of_them() -> None:
    timing = draw_timing(read_profile("ttft=100ms, itl=10ms, tokens_per_chunk=3"), 9, 1, 1)
    assert timing.schedule == pytest.approx((0.1, 0.13, 0.13, 0.13, 0.16, 0.16, 0.16, 0.18, 0.18))
    assert timing.decode == pytest.approx(0.08)


@pytest.mark.parametrize("steps", [1, 2, 6, 50])
def test_an_answer_in_chunks_takes_as_long_as_one_token_by_token(steps: int) -> None:
    whole, single = (
        draw_timing(read_profile(f"ttft=100ms, itl=10ms, tokens_per_chunk={chunk}"), steps, 1, 1) for chunk in (5, 1)
    )
    assert (whole.schedule[0], whole.schedule[-1]) == (single.schedule[0], single.schedule[-1])
    assert (whole.prefill, whole.decode) == (single.prefill, single.decode)


def test_chunks_vary_within_their_distribution_and_a_shorter_answer_has_the_first_of_them() -> None:
    profile = read_profile("ttft=100ms, itl=10ms, tokens_per_chunk=uniform(2, 5)")
    whole = draw_timing(profile, 400, 1, 1).schedule
    sizes = [whole.count(instant) for instant in dict.fromkeys(whole)]
    assert sizes[0] == 1
    assert set(sizes[1:-1]) == {2, 3, 4, 5}
    shorter = draw_timing(profile, 123, 1, 1).schedule
    complete = shorter.index(shorter[-1])
    assert complete > 115
    assert shorter[:complete] == whole[:complete]


def test_speed_divides_every_time() -> None:
    usual, faster = (
        draw_timing(read_profile(f"slow, queue=1s, jitter=0.3, speed={speed}"), 9, 50, 3) for speed in (1, 10)
    )
    assert faster.schedule == pytest.approx([instant / 10 for instant in usual.schedule])
    assert (faster.queue, faster.prefill, faster.decode) == pytest.approx(
        (usual.queue / 10, usual.prefill / 10, usual.decode / 10)
    )


def test_instant_is_as_fast_as_latency_off() -> None:
    assert draw_timing(preset_profile("instant"), 8, 100, 1) == instant(8)
    assert draw_timing(read_profile("instant, itl=1ms"), 3, 100, 1).schedule == pytest.approx((0, 0.001, 0.002))


@pytest.mark.parametrize("name", presets())
def test_every_preset_goes_forward_in_time_and_repeats_itself(name: str) -> None:
    timing = draw_timing(preset_profile(name), 500, 200, 7)
    assert list(timing.schedule) == sorted(timing.schedule)
    assert timing == draw_timing(preset_profile(name), 500, 200, 7)
    assert not timing.schedule or timing.schedule[0] >= timing.queue + timing.prefill - 1e-9


def test_a_shorter_answer_has_the_beginning_of_the_same_pace() -> None:
    profile = preset_profile("friendli")
    assert draw_timing(profile, 5, 9, 3).schedule == draw_timing(profile, 50, 9, 3).schedule[:5]


@pytest.mark.parametrize(
    "distribution, middle, average",
    [
        (Constant(0.1), 0.1, 0.1),
        (Uniform(0.1, 0.3), 0.2, 0.2),
        (Normal(0.5, 0.1), 0.5, 0.5),
        (Lognormal(0.2, 0.5), 0.2, 0.2266),
        (Gamma(2, 0.1), 0.168, 0.2),
        (Empirical((0.1, 0.2, 0.6)), 0.2, 0.3),
        (Stalling(Constant(0.1), 0.1, Constant(1.0)), 0.1, 0.2),
    ],
)
def test_a_long_series_has_the_distributions_median_and_mean(
    distribution: Distribution, middle: float, average: float
) -> None:
    values = series(distribution, 4096, Draws(5))
    assert median(values) == pytest.approx(middle, rel=0.02)
    assert mean(values) == pytest.approx(average, rel=0.03)


def test_no_duration_is_negative_and_bounds_hold() -> None:
    assert min(series(Normal(0.01, 1.0, most=2.0), 2000, Draws(1))) == 0.0
    assert max(series(Normal(0.01, 1.0, most=2.0), 2000, Draws(1))) == 2.0
    assert max(series(Lognormal(1.0, 2.0, most=3.0), 2000, Draws(1))) == 3.0


def test_thinking_delays_the_first_token_unless_its_time_is_told() -> None:
    quick = read_profile("prefill=100ms, itl=10ms")
    assert draw_timing(quick, 3, 0, 1, thinking=5).schedule == pytest.approx((0.15, 0.16, 0.17))
    assert draw_timing(quick, 3, 0, 1, thinking=5).prefill == pytest.approx(0.15)
    assert draw_timing(read_profile("ttft=100ms, itl=10ms"), 3, 0, 1, thinking=5).schedule == pytest.approx(
        (0.1, 0.11, 0.12)
    )


# What presets say of their speed. One says it of the engine before its stalls, one of an engine that only reads.
STATED = {name: re.search(r"([0-9.,]+) tokens/s", preset.summary) for name, preset in presets().items()}
SPECIAL = ("flaky-wifi", "ovms-encoder")


@pytest.mark.parametrize("name", [name for name, stated in STATED.items() if stated and name not in SPECIAL])
def test_a_preset_decodes_as_many_tokens_per_second_as_it_says(name: str) -> None:
    stated = STATED[name]
    assert stated
    decoded = sum(draw_timing(preset_profile(name), 2001, 10, key).decode for key in range(8))
    assert 8 * 2000 / decoded == pytest.approx(float(stated[1].replace(",", "")), rel=0.03)


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
        ("slots=3, waiting=1", 5.0, SlotGrant(5.0, 1)),
        ("slots=3, waiting=0", 5.0, None),
        ("slots=2, waiting=1", 5.0, None),
        ("slots=4, waiting=0", 5.0, FREE),
    ],
)
def test_a_newcomer_waits_until_enough_have_ended_or_is_refused(
    settings: str, now: float, found: SlotGrant | None
) -> None:
    assert Engine(RUNNING).next_slot(read_profile(settings), now) == found


def test_a_wait_moves_the_whole_answer_and_is_stated_as_time_in_the_queue() -> None:
    profile = read_profile("network=1s, queue=1s, prefill=2s, itl=1s, slots=1")
    alone = draw_timing(profile, 3, 0, 1)
    made, taken = Engine((Occupancy(10.0, 0.0, 1.0),)).take(alone, profile, 4.0, SlotGrant(6.0, 1))
    assert made == TokenTiming(queue=7.0, prefill=2.0, decode=2.0, schedule=(10.0, 11.0, 12.0))
    assert taken == Occupancy(end=16.0, start=12.0, first=14.0)


def test_gaps_are_stretched_while_others_are_busy_and_shrink_as_they_end() -> None:
    profile = read_profile("ttft=1s, itl=1s, slots=3, slowdown=3")
    # Both others are busy until 2 s after our first token (three times as slow), one until 6 s (twice as slow).
    others = (Occupancy(3.0, -9.0, -8.0), Occupancy(7.0, -9.0, -8.0))
    made, _ = Engine(others).take(draw_timing(profile, 6, 0, 1), profile, 0.0, FREE)
    assert made.schedule == pytest.approx((1.0, 3 + 2 / 3, 5 + 2 / 3, 7 + 1 / 3, 8 + 1 / 3, 9 + 1 / 3))
    assert made.decode == pytest.approx(made.schedule[-1] - made.schedule[0])


def test_one_with_no_other_around_is_as_fast_as_ever() -> None:
    profile = read_profile("ttft=1s, itl=normal(1s, 100ms), slots=3, slowdown=3, interference=1")
    alone = draw_timing(profile, 50, 0, 1)
    ended = (Occupancy(0.5, -9.0, -8.0),)
    made, _ = Engine(ended).take(alone, profile, 0.0, FREE)
    assert made.schedule == pytest.approx(alone.schedule)


@pytest.mark.parametrize("interference, last", [(0.0, 5.0), (0.5, 6.0), (1.0, 7.0)])
def test_a_share_of_anothers_prefill_is_added_to_the_gaps(interference: float, last: float) -> None:
    profile = read_profile(f"ttft=1s, itl=1s, slots=9, interference={interference}")
    # Prefills from 3 s on, until 5 s or until the whole share of it has been added.
    made, _ = Engine((Occupancy(99.0, 3.0, 5.0),)).take(draw_timing(profile, 5, 0, 1), profile, 0.0, FREE)
    assert made.schedule[-1] == pytest.approx(last)
    assert all(before <= after for before, after in pairwise(made.schedule))


def test_latency_off_knows_no_load() -> None:
    engine = Engine(RUNNING)
    assert engine.take(instant(5), read_profile("slots=1"), 5.0, FREE)[0] == instant(5)
    assert engine.busy(5.0) == (3, 0)


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

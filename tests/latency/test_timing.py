"""The pace of a generation: what the engine takes, in order, and the same for the same key."""

import re
from statistics import mean, median

import pytest

from mockserver.core.seeding import Draws
from mockserver.latency.distributions import (
    Constant,
    Distribution,
    Empirical,
    Gamma,
    Lognormal,
    Normal,
    Stalling,
    Uniform,
    series,
)
from mockserver.latency.parse_latency import preset_profile, read_profile
from mockserver.latency.profiles import presets
from mockserver.latency.timing import draw_timing, instant


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

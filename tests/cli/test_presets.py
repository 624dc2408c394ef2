"""Pictures of profiles: short enough for a terminal, and true to the numbers."""

import pytest

from mockserver.cli.presets import picture
from mockserver.latency.parse_latency import preset_profile, read_profile
from mockserver.latency.profiles import presets


@pytest.mark.parametrize("name", presets())
def test_every_preset_has_a_picture_of_two_lines_that_fit_a_terminal(name: str) -> None:
    first, gap = picture(preset_profile(name))
    assert first.startswith("first token ")
    assert gap.startswith("gap ")
    assert max(map(len, (first, gap))) <= 78
    assert len(f"{name}: {presets()[name].summary}") <= 80


def test_what_is_constant_is_one_bar_with_its_value() -> None:
    first, gap = (line.split(maxsplit=1) for line in picture(read_profile("ttft=50ms, itl=5ms")))
    assert first[1].split() == ["token", "█", "always", "50", "ms"]
    assert gap[1].split() == ["█", "always", "5", "ms"]


def test_the_axis_spans_the_distribution_and_the_highest_bar_is_where_most_is() -> None:
    _, gap = picture(read_profile("itl=uniform(10ms, 100ms)"))
    bars = gap[22:52]
    assert (gap[12:21].strip(), gap[53:62].strip()) == ("10.5 ms", "99.5 ms")
    assert gap.endswith("half in 55 ms")
    # On a logarithmic axis the last of equal shares is the widest.
    assert list(bars) == sorted(bars)
    assert bars[-1] == "█"


def test_stalls_stand_apart_with_nothing_between() -> None:
    _, gap = picture(read_profile("itl=normal(10ms, 1ms), stall=1s, stall_share=0.05"))
    assert gap[22:52].rstrip().count(" ") > 15
    assert gap[53:].startswith("1.01 s")


def test_chunks_are_drawn_by_the_gaps_between_them() -> None:
    _, gap = picture(read_profile("itl=10ms, tokens_per_chunk=5"))
    assert gap.endswith("always 50 ms")

"""Which requests trigger the fault of a rule: by count, by share, and by the time since it was armed."""

import pytest

from mockserver.faults.rules import Chance, is_open, triggers


def faulted(chance: Chance, requests: int, *, elapsed: float = 0.0, draw: float = 0.0) -> list[int]:
    """The numbers (from 1 on) of the requests that trigger the fault of a rule."""
    hit: list[int] = []
    for number in range(1, requests + 1):
        if triggers(chance, number, len(hit), elapsed, draw):
            hit.append(number)
    return hit


@pytest.mark.parametrize(
    "chance, hit",
    [
        (Chance(), [1, 2, 3, 4, 5, 6, 7]),
        (Chance(times=2), [1, 2]),
        (Chance(every=3), [1, 4, 7]),
        (Chance(skip=5), [6, 7]),
        (Chance(skip=1, every=2, times=2), [2, 4]),
        (Chance(times=0), []),
    ],
)
def test_counts_choose_requests_by_their_turn(chance: Chance, hit: list[int]) -> None:
    assert faulted(chance, 7) == hit


@pytest.mark.parametrize(
    "chance, elapsed, hit",
    [
        (Chance(seconds=60), 59.9, True),
        (Chance(seconds=60), 60.0, False),
        (Chance(start=10), 9.9, False),
        (Chance(start=10), 10.0, True),
        (Chance(start=10, seconds=30), 39.9, True),
        (Chance(start=10, seconds=30), 40.0, False),
        (Chance(seconds=0), 0.0, False),
    ],
)
def test_a_window_opens_with_its_start_and_is_closed_at_its_end(chance: Chance, elapsed: float, hit: bool) -> None:
    assert is_open(chance, elapsed) is hit


@pytest.mark.parametrize("draw, hit", [(0.0, True), (0.0999, True), (0.1, False), (0.9999, False)])
def test_a_share_hits_the_requests_whose_number_is_below_it(draw: float, hit: bool) -> None:
    assert triggers(Chance(share=0.1), 1, 0, 0.0, draw) is hit


def test_a_share_of_all_hits_every_request_and_one_of_none_hits_none() -> None:
    almost_one = 1 - 2.0**-53
    assert triggers(Chance(share=1.0), 1, 0, 0.0, almost_one)
    assert not triggers(Chance(share=0.0), 1, 0, 0.0, 0.0)


@pytest.mark.parametrize("share, share_end", [(0.0, 0.8), (0.8, 0.0), (0.5, 0.5)])
@pytest.mark.parametrize("part", [0.0, 0.25, 0.5, 0.999])
def test_a_ramp_moves_the_share_in_a_straight_line_over_the_window(share: float, share_end: float, part: float) -> None:
    chance = Chance(share=share, share_end=share_end, start=5, seconds=40)
    now = share + (share_end - share) * part
    hit = [triggers(chance, 1, 0, 5 + 40 * part, number / 100) for number in range(100)]
    assert hit == [number / 100 < now for number in range(100)]

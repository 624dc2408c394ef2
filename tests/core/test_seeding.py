"""Derived randomness: known values, so that no platform and no Python may differ."""

import string
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from mockserver.core.seeding import Draws, alphanumerics, derive, hex_digits, uuid4_text


def test_derived_numbers_are_what_they_always_were() -> None:
    assert (derive(42, "text", "a", 1), derive(-1, "text")) == (7412206851831972939, 3309923653500931686)
    assert alphanumerics(42, 12, "text") == "aFaebGX8NrJA"
    draws = Draws(0)
    # The published first outputs of splitmix64 from state 0.
    assert [draws.bits() for _ in range(3)] == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


@given(st.integers())
def test_numbers_drawn_several_at_once_are_those_drawn_one_by_one(start: int) -> None:
    one, several = Draws(start), Draws(start).numbers()
    assert [next(several) for _ in range(20)] == [one.bits() for _ in range(20)]


def test_each_part_and_the_seed_matter() -> None:
    assert len({derive(1, "a"), derive(2, "a"), derive(1, "b"), derive(1, "a", "b"), derive(1, "ab")}) == 5


def test_a_uuid_has_the_form_of_version_four() -> None:
    assert UUID(uuid4_text(7, "id")).version == 4
    assert len(hex_digits(7, 24, "id")) == 24


@given(st.integers(), st.integers(0, 600))
def test_letters_and_digits_are_as_many_as_asked_for_and_begin_alike(seed: int, count: int) -> None:
    drawn = alphanumerics(seed, count, "id")
    assert len(drawn) == count
    assert set(drawn) <= {*string.digits, *string.ascii_letters}
    assert alphanumerics(seed, 1_000, "id").startswith(drawn)


@given(st.integers(), st.integers(1, 10**9))
def test_draws_stay_within_their_bounds(start: int, bound: int) -> None:
    draws = Draws(start)
    assert 0 <= draws.below(bound) < bound
    assert 0.0 <= draws.unit() < 1.0

"""Several patterns at once: a text that matches all of some and none of others, within bounds of length."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mockserver.core.seeding import Draws
from mockserver.model.regex import find_match
from mockserver.model.regex.sampling import LONGEST

SEEDS = tuple(range(0, 4000, 1009))
PATTERNS = [
    r"^[A-Z]{2}\d{6}$", r"^\+?[1-9]\d{1,14}$", r"^[a-z0-9]+(?:-[a-z0-9]+)*$", r"^[\w.+-]+@[\w-]+\.[\w.-]+$", r"\bcat\b",
    r"^(a|aa)+$", r"^.{3,50}$", r"^(?!.*--)[a-z-]{5,9}$", r"^#(?:[0-9a-fA-F]{3}){1,2}$", r"(a?)^b", r"^$", r"\.pdf$",
    r"^(?=.*[A-Z])(?=.*\d)(?=.*[^\w\s]).{8,}$", r"^(([a-z])+.)+[A-Z]([a-z])+$", r"^(GET|POST)\s/[\w/]*$", "^é+[^é]$",
    r"^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$", r"^\x41\u0042[\t\]\\^-]$", r"^a{0}b{2,}?c*?$", r"x\Bx",
    r"^(?<year>\d{4})-(?<month>0[1-9]|1[0-2])$", "^[^a-z0-9]{3}$", r"^[\s\S]{2}$", r"^\D\W\S$", "x{", "]",
    r"^(['\"])\w+\1$", r"(?<=a)b", r"^(?<q>x|y)-\1$", r"(a)\1",
]  # fmt: skip
literals = st.sampled_from(["a", "b", "[ab]", "[^a]", ".", r"\d", r"\w", "ab", "-"])
regexes = st.recursive(
    literals,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{2,}"])).map(lambda p: f"(?:{p[0]}){p[1]}"),
    ),
    max_leaves=8,
)


looks = st.sampled_from(["^", r"\Z", r"\b", "(?=a)", "(?!b)", "(?<=a)", "(?<![ab])", "(?=.*b)", "(?!.*a)", "(?<!-)"])
looking = st.recursive(
    literals | looks,
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=4).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(literals, inner, st.sampled_from(["*", "+", "{2}"])).map(lambda row: f"(?:{row[0]}{row[1]}){row[2]}"),
    ),
    max_leaves=6,
)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_text_for_a_pattern_matches_it(pattern: str) -> None:
    python = re.sub(r"\(\?<(?=\w)", "(?P<", pattern)
    for key in range(20):
        text = find_match([pattern], Draws(key))
        assert text is not None
        assert re.search(python, text), text


@settings(max_examples=150)
@given(pattern=regexes, key=st.integers(0, 99), least=st.integers(0, 12))
def test_whatever_the_pattern_a_text_matches_all_of_it_and_is_long_enough(pattern: str, key: int, least: int) -> None:
    anchored = f"^(?:{pattern})$"
    text = find_match([anchored], Draws(key), least)
    if text is None:
        assert not any(re.fullmatch(pattern, f"{'a' * n}") for n in range(least, least + 4))
    else:
        assert re.fullmatch(pattern, text)
        assert len(text) >= least


@settings(max_examples=200)
@given(wanted=looking, other=looking, key=st.integers(0, 99), most=st.integers(0, 12))
def test_whatever_patterns_look_at_texts_are_as_they_say(wanted: str, other: str, key: int, most: int) -> None:
    matched = [bool(re.search(f"(?a:{pattern})", "")) for pattern in (wanted, other)]
    text = find_match([wanted], Draws(key), 0, most, [other])
    if text is None:
        assert matched != [True, False]
    else:
        assert [bool(re.search(f"(?a:{pattern})", text)) for pattern in (wanted, other)] == [True, False]
        assert len(text) <= most


def test_several_patterns_are_matched_at_once_and_forbidden_ones_are_not() -> None:
    for key in range(20):
        text = find_match(["^[a-m]+$", "[x-zb]", "c"], Draws(key), 4, 6, ["^b", "cc"], ["abca"])
        assert text is not None
        assert 4 <= len(text) <= 6
        assert set(text) <= set("abcdefghijklm") and {"b", "c"} <= set(text)  # noqa: PT018
        assert not text.startswith("b") and "cc" not in text and text != "abca"  # noqa: PT018


@pytest.mark.parametrize(
    "patterns, least, most, forbidden",
    [
        (["^a+$", "^b+$"], 0, None, []),
        (["^(ab)*$"], 3, 3, []),
        (["^[ab]$"], 0, None, ["a", "b"]),
        (["^a{5}$"], 0, 4, []),
        (["$a"], 0, None, []),
        (["(?=a)b"], 0, None, []),
        (["(?<=a)b", "^b"], 0, 1, []),
        ([r"(a)\1", "^b$"], 0, None, []),
        (["a"], 0, None, [r"(a)\1"]),
        (["a{200000}"], 0, None, []),
        (["(a"], 0, None, ["b"]),
        ([r"^(?!.*(.)\1)\d(?:([a-z]?\b|(?!-)[A-Z]v?){40}[\w.-]?(\B#){2}){1,3}\w+$"], 0, None, []),
    ],
)
def test_where_no_text_matches_or_can_be_found_there_is_none(
    patterns: list[str], least: int, most: int | None, forbidden: list[str]
) -> None:
    assert find_match(patterns, Draws(1), least, most, forbidden) is None


def test_every_text_of_a_small_language_is_found_when_the_others_are_excluded() -> None:
    found: list[str] = []
    while (text := find_match(["^[ab]{3}$"], Draws(3), others_than=found)) is not None:
        found.append(text)
    assert sorted(found) == sorted({f"{x}{y}{z}" for x in "ab" for y in "ab" for z in "ab"})


@pytest.mark.parametrize(
    "patterns, forbidden, others, least, most",
    [
        (["^[a-z]+$", "x", "^.{5}$"], [], [], 0, None),
        (["[A-Z]", "[a-z]", r"\d"], [], [], 4, 4),
        (["^[ab]$"], [], ["a"], 0, None),
        (["^[a-z]*$"], ["[aeiou]"], [], 3, 6),
        ([], ["[a-z]"], [], 5, 9),
        ([], [], ["", "a"], 0, 1),
        (["^a?b?$"], [], ["", "a", "b"], 0, None),
        ([r"\bcat\b", r"\bdog\b"], ["catdog"], [], 0, 30),
        ([r"(a|b)\1", "c"], ["b"], [], 0, None),
        (["ß", "^é"], [], [], 0, None),
        (["^(?:(?!ab)[a-c])+$"], ["^((?!b)[a-c])+$"], [], 20, 30),
        (["^(?:(?=aaa)a){2}[a-z]*$"], [], [], 0, 4),
        (["^(?=.{3000}$)[a-z]+$"], [], [], 0, None),
    ],
)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_text_may_have_to_match_several_patterns_and_not_others(
    patterns: list[str], forbidden: list[str], others: list[str], least: int, most: int | None, seed: int
) -> None:
    text = find_match(patterns, Draws(seed), least, most, forbidden, others)
    assert text is not None
    assert [pattern for pattern in patterns if not re.search(pattern, text)] == []
    assert [pattern for pattern in forbidden if re.search(pattern, text)] == []
    assert (text in others, least <= len(text) <= (LONGEST if most is None else most)) == (False, True)


def test_many_texts_of_a_large_language_differ_soon() -> None:
    for patterns, most_steps in ((["^[a-f]{5}$"], 0), (["^[a-z]{4,9}$", "[xyz]"], 300), ([], 300)):
        steps: list[int] = []
        found: list[str] = []
        for key in range(150):
            text = find_match(patterns, Draws(key), 0, 20, (), found, steps.append)
            assert text is not None
            found.append(text)
        assert len(set(found)) == 150
        assert all(re.search(pattern, text) for pattern in patterns for text in found)
        assert max(steps, default=0) <= most_steps


def test_no_text_is_found_where_the_only_one_is_excluded() -> None:
    assert find_match(["^a$"], Draws(0), 0, 8, others_than=["a"]) is None


class _TooLongError(Exception):
    """What whoever pays has to say."""


def test_who_pays_for_a_search_is_told_of_its_steps_and_may_end_it() -> None:
    paid: list[int] = []
    for patterns in (["^[a-z]{3}$"], ["^[a-z]{4}$", "^q", "z$"], ["^(a|b)*a(a|b){12}$", "^(a|b)*b(a|b){12}$"]):
        paid.append(0)

        def spend(steps: int) -> None:
            paid[-1] += steps

        find_match(patterns, Draws(1), 0, 100, spend=spend)
    assert paid[0] == 0
    assert paid[0] < paid[1] < 1000 < 5_000 < paid[2] < 200_000

    def refuse(steps: int) -> None:
        raise _TooLongError

    with pytest.raises(_TooLongError):
        find_match(["^(a|b)*a(a|b){12}$", "^(a|b)*b(a|b){12}$"], Draws(1), 0, 100, spend=refuse)


def test_what_a_search_costs_does_not_depend_on_what_was_asked_before() -> None:
    paid = []
    for _ in range(3):
        steps: list[int] = []
        find_match(["^(a|b)*a(a|b){7}$", "^b", "b$"], Draws(1), 0, 30, ["aaa", "bb"], spend=steps.append)
        paid.append(steps)
    assert paid[1:] == paid[:1] * 2


def test_searches_at_the_same_time_cost_and_find_what_they_do_alone() -> None:
    def search(key: int) -> tuple[str | None, list[int]]:
        steps: list[int] = []
        return find_match(["^(a|b)*a(a|b){9}$", "^b", "b$"], Draws(key), 0, 40, ["aaa"], spend=steps.append), steps

    alone = list(map(search, range(16)))
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(search, [*range(16)] * 4)) == alone * 4

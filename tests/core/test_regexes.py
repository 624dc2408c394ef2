"""Users' regular expressions: they match what Python's `re` matches, and every search ends."""

import re
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.core.regexes import TIME_BUDGET, Regex, RegexError, read_regex, renew_time_budget

HOSTILE = "a" * 5000 + "!"

# Regex, what it finds something in, what it finds nothing in. Much of it the package would understand otherwise.
MEANT = [
    ("(?i)^tell me", ["Tell me more"], ["I tell me"]),
    (r"(?P<day>\w+)day and (?P=day)day", ["Monday and Monday"], ["Monday and Sunday"]),
    (r"(?<!no )rain(?=s)", ["it rains"], ["no rains", "rain"]),
    (r"(?x) rain | snow  # [( and {i}", ["rain", "snow"], ["r ain", "{i}"]),
    ("(?#[)rain", ["rain"], ["[)"]),
    (r"^(a)\1(?#{i}[)0$", ["aa0"], ["a0"]),
    ("x{i}", ["x{i}"], ["x", "xy"]),
    ("x{e<=1}", ["x{e<=1}"], ["y"]),
    ("{name}", ["Hello {name}"], ["name"]),
    ("x{\u0663}", ["x{\u0663}"], ["xxx"]),
    (r"\(?x:", ["(x:", "x:"], ["("]),
    ("x{,2}$", ["xx", ""], []),
    ("[[:alpha:]]", ["a]", ":]"], ["z", "b]"]),
    ("^[a[]+$", ["a[["], ["b"]),
    ("^[a||b~~c&&d]+$", ["a|b", "~c&d"], ["-"]),
    ("^[--0]$", ["-", ".", "0"], ["1"]),
    (r"^[^]\-[]$", ["a"], ["]", "-", "["]),
    (r"^[\x41-C\]-]+$", ["ABC]-"], ["D"]),
    (r"\N{DIGIT ONE}{2}", ["11"], ["1"]),
    ("(?s)^.{20000,}$", ["\n" * 20_000], ["\n" * 19_999]),
]


@pytest.mark.parametrize("pattern, found, not_found", MEANT, ids=[pattern for pattern, *_ in MEANT])
def test_a_pattern_means_what_it_means_in_python(pattern: str, found: list[str], not_found: list[str]) -> None:
    compiled = read_regex(pattern)
    assert [text for text in found if compiled.search(text) is not True] == []
    assert [text for text in not_found if compiled.search(text) is not False] == []


_PARTS = r"a b { } [ ] - ^ ( ) | * + ? {2} {1,} {i} [a b] [:a:] \[ \d \- && ~~ -- (?: (?= (?i) (?# # \\ :"


@pytest.mark.filterwarnings("ignore:Possible:FutureWarning")
@given(st.lists(st.sampled_from(_PARTS.split()), max_size=8).map("".join), st.text("ab[]{}i-&:#1", max_size=5))
def test_what_python_takes_is_taken_and_finds_the_same_and_what_it_refuses_is_refused_in_its_words(
    pattern: str, text: str
) -> None:
    try:
        expected: object = re.compile(pattern).search(text) is not None
    except re.error as error:
        expected = str(error)
    try:
        found: object = read_regex(pattern).search(text)
    except RegexError as error:
        found = str(error)
    assert found == expected


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(?:.|a)*$!", r"(?:a?){30}a{30}$", r"^(([a-z])+.)+[A-Z]$"])
def test_a_search_that_would_not_end_is_given_up_and_not_begun_again(pattern: str) -> None:
    compiled = Regex(pattern)
    assert [compiled.search(HOSTILE), compiled.search(HOSTILE)] == [None, None]
    del compiled._search  # whoever searched again would fail
    assert compiled.search(HOSTILE) is None


def test_all_searches_for_a_request_have_the_time_of_one_together() -> None:
    patterns = [Regex(f"(a|aa|{number})+$") for number in range(20)]
    spent: list[float] = []
    for _ in range(2):
        renew_time_budget()
        began = process_time()
        assert [pattern.search(HOSTILE) for pattern in patterns] == [None] * 20
        spent.append(process_time() - began)
    assert spent[0] < 10 * TIME_BUDGET
    # What was given up is not begun again, by whichever of them a request is first searched with.
    assert spent[1] < TIME_BUDGET / 2
    # Whatever comes after them is undecided, and nothing is in the next request.
    assert Regex("ab+c").search("a" * 5000 + "abbc") is None
    renew_time_budget()
    assert Regex("ab+c").search("a" * 5000 + "abbc") is True


def test_what_had_less_time_in_one_request_has_all_of_it_in_another() -> None:
    slow, slower = Regex("(a|aa)+$"), Regex("(a|aa|b)+$")
    renew_time_budget()
    assert (slow.search(HOSTILE), slower.search(HOSTILE)) == (None, None)
    assert [*slower._given_up.values()] < [TIME_BUDGET]
    renew_time_budget()
    assert slower.search(HOSTILE) is None
    assert [*slower._given_up.values()] == [TIME_BUDGET]


def test_a_search_that_other_threads_have_cut_short_is_begun_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def cut_short(text: str, timeout: float) -> None:
        raise TimeoutError

    compiled = Regex("ab+c")
    with monkeypatch.context() as patch:
        patch.setattr(compiled, "_search", cut_short)
        assert compiled.search("abbc") is None
    assert compiled.search("abbc") is True


def test_a_text_that_is_no_unicode_is_searched_and_given_up_like_any_other() -> None:
    texts = ("\ud800a", "\ud800" + HOSTILE, "b\ud800")
    assert [*map(read_regex("(a|aa)+$").search, texts)] == [True, None, False]


def test_so_many_texts_are_remembered_and_no_more() -> None:
    compiled = Regex("(b|bb)+$")
    for number in range(1000):
        compiled._give_up(str(number), TIME_BUDGET)
    assert compiled.search("999") is None
    assert compiled.search("0b") is True
    assert len(compiled._given_up) <= 256


@pytest.mark.parametrize(
    "pattern, complaint",
    [
        ("(", "missing ), unterminated subpattern at position 0"),
        ("x{i}[a", "unterminated character set at position 4"),
        ("a*(?#lazy?)?", "multiple repeat at position 11"),
        ("a**", "multiple repeat at position 2"),
        (r"\p{L}", r"bad escape \p at position 0"),
        ("(?R)", "unknown extension ?R at position 1"),
        ("a(?i)", "global flags not at the start of the expression at position 1"),
        ("a{99999999999}", "the repetition number is too large"),
        (f"a{{{'9' * 4090}}}", "the repetition number is too large"),
        ("(" * 2000 + ")" * 2000, "it is nested too deeply"),
        ("a(?x: b )", "only a part of it is verbose, by (?x:...); put (?x) at its start instead"),
    ],
)
def test_what_is_no_pattern_is_refused_in_words(pattern: str, complaint: str) -> None:
    with pytest.raises(RegexError) as caught:
        read_regex(pattern)
    assert str(caught.value) == complaint


@pytest.mark.parametrize(
    "pattern",
    [
        "((a{3000}){3000}){3000}",
        "(a?){4000000000}",
        "(?=.*){1000000}",
        "(X)(?#c){300000}",
        "(?x)(ab) {100000}",
        "(?x)(?: # )\n a{600} ){600}",
        "()" * 2_000,
    ],
    ids=lambda pattern: pattern[:20],
)
def test_what_would_take_the_memory_of_the_machine_is_refused(pattern: str) -> None:
    with pytest.raises(RegexError, match="at most 50000 characters or 1250 groups may follow one another"):
        read_regex(pattern)


def test_a_group_of_alternatives_counts_as_one_group() -> None:
    assert read_regex("^(ab|cd){1000}$").search("abcd" * 500)


@pytest.mark.parametrize(
    "pattern, complaint",
    [
        ("a" * 4097, "it has 4097 characters, at most 4096 are possible; split it into several, joined by `any`"),
        ("|".join(map(str, range(12_000))), "at most 4096 are possible"),
        (r"(?i)" + r"[\x00-\U0010ffff]" * 3, "it ignores case, so at most 2 of its sets may have ranges beyond ASCII"),
        (r"(?mi:" + "[a-\uffff]" * 3 + ")", "it ignores case, so at most 2 of its sets may have ranges beyond ASCII"),
    ],
    ids=lambda text: text[:20],
)
def test_what_would_take_long_to_compile_is_refused(pattern: str, complaint: str) -> None:
    began = process_time()
    with pytest.raises(RegexError) as caught:
        read_regex(pattern)
    assert complaint in str(caught.value)
    assert process_time() - began < 0.1


def test_patterns_that_find_nothing_slowly_have_one_time_together_too() -> None:
    patterns = [read_regex(f"[^q]*q|{'|'.join(f'x{number}_{n}' for n in range(300))}") for number in range(40)]
    renew_time_budget()
    began = process_time()
    found = [pattern.search("x" * 100_000) for pattern in patterns]
    assert found[-1] is None
    assert process_time() - began < 10 * TIME_BUDGET


def test_groups_are_those_that_took_part_in_the_match() -> None:
    compiled = read_regex(r"(?P<word>\w+)(?P<sign>!)?(?P<end>\.)?")
    assert compiled.group_names == ("word", "sign", "end")
    assert compiled.groups("Hello. Bye!") == {"word": "Hello", "end": "."}
    assert compiled.groups("...") == {}


def test_groups_of_a_search_that_is_given_up_are_none() -> None:
    renew_time_budget()
    assert read_regex("(?P<all>(b|bb)+)$").groups("b" * 5000 + "c") == {}


# --- literals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pattern, literals",
    [
        ("question 17", ("question 17",)),
        (r"^Hello,? world\.$", (" world.",)),
        ("weather|forecast for", ("weather", "forecast for")),
        ("(?i)Weather in Oslo", ("weather in oslo",)),
        ("(?s)(?i)Weather", ("weather",)),
        (r"\bOslo\b", ("Oslo",)),
        (r"order \d+ of (?:today|now)", ("order ",)),
        ("abc*", ("ab",)),
        ("abc+d{0,3}e{2}fghi", ("fghi",)),
        ("x{i}", ("x{i}",)),
        ("weathered|weatherman in (?:Oslo|Bergen)", ("weather",)),
        ("weather|", ()),
        ("weather|.", ()),
        ("(weather)", ()),
        ("(?x) wea ther", ("weather",)),
        ("(?i)Wetter für", ()),
        ("a?b*", ()),
        (r"\x41\x42 or more", ("AB or more",)),
        (r"\u0041bc", ("Abc",)),
        (r"(.)\1 and more", (" and more",)),
    ],
)
def test_the_literals_of_a_pattern_are_outside_of_groups_and_quantifiers(
    pattern: str, literals: tuple[str, ...]
) -> None:
    assert read_regex(pattern)._literals == literals


def test_a_text_without_a_literal_is_not_searched_even_if_that_would_take_too_long() -> None:
    assert read_regex("(a|aa)+$").search(HOSTILE) is None
    assert read_regex("(a|aa)+ and more$").search(HOSTILE) is False


@pytest.mark.parametrize("text", ["WEATHER in Oslo", "the weather\u212a", "WEATHER\u0130"])
def test_case_is_ignored_in_any_text_if_a_pattern_says_so(text: str) -> None:
    assert read_regex("(?i)weather").search(text) is True


@pytest.mark.parametrize(
    "pattern, text",
    [
        (r"\x41", "A"),
        (r"\x41b+", "Abb"),
        (r"(?i)\u0041", "a"),
        (r"\101b", "Ab"),
        (r"(a)\1b", "aab"),
        ("ab{0,2}cd", "acd"),
    ],
)
def test_a_pattern_matches_whatever_its_escapes_and_quantifiers_stand_for(pattern: str, text: str) -> None:
    assert read_regex(pattern).search(text) is True

"""Texts that match patterns: common ones, hostile ones, and generated ones."""

import re
import tracemalloc
from itertools import islice

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from mockserver.core.seeding import Draws
from mockserver.model.regex import fault_in, find_match, tell_match, write_match
from mockserver.model.regex.sampling import LONGEST
from mockserver.model.regex.sizes import PatternError
from mockserver.model.regex.syntax import read_pattern

SEEDS = tuple(range(0, 4000, 331))

# Patterns without look-arounds and anchors, as people write them for constrained output.
EVERYDAY = {
    "date": r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])",
    "date by slashes": r"(0?[1-9]|[12][0-9]|3[01])/(0?[1-9]|1[012])/(19|20)\d\d",
    "time": r"([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?",
    "twelve hours": r"(1[0-2]|0?[1-9]):[0-5][0-9] ?([AaPp][Mm])",
    "timestamp": r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,6})?(Z|[+-]\d{2}:\d{2})",
    "duration": r"P(\d+D)?T(\d+H)?(\d+M)?(\d+S)?",
    "weekday": r"(Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day",
    "american phone": r"\(\d{3}\) \d{3}-\d{4}",
    "international phone": r"\+[1-9]\d{1,3}[ -]?\d{3}[ -]?\d{4,7}",
    "russian phone": r"\+7 \(\d{3}\) \d{3}-\d{2}-\d{2}",
    "german phone": r"0[1-9]\d{1,4}/\d{4,8}",
    "uuid": r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
    "any uuid": r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
    "ulid": r"[0-7][0-9A-HJKMNP-TV-Z]{25}",
    "object id": r"[a-f\d]{24}",
    "git commit": r"[0-9a-f]{7,40}",
    "ipv4": r"((25[0-5]|(2[0-4]|1\d|[1-9]|)\d)\.){3}(25[0-5]|(2[0-4]|1\d|[1-9]|)\d)",
    "ipv4 roughly": r"\d{1,3}(?:\.\d{1,3}){3}",
    "ipv6": r"([0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}",
    "network": r"(\d{1,3}\.){3}\d{1,3}/(3[0-2]|[12]?\d)",
    "hardware address": r"([0-9A-F]{2}[:-]){5}[0-9A-F]{2}",
    "port": r"6553[0-5]|655[0-2]\d|65[0-4]\d{2}|6[0-4]\d{3}|[1-5]\d{4}|[1-9]\d{0,3}",
    "host name": r"([a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?\.)+[a-zA-Z]{2,}",
    "url": r"https?://(www\.)?[-a-zA-Z0-9@:%._+~#=]{1,256}\.[a-zA-Z0-9()]{1,6}\b([-a-zA-Z0-9()@:%_+.~#?&/=]*)",
    "url path": r"(/[\w.~-]+)+/?",
    "query": r"\?\w+=\w+(&\w+=\w+)*",
    "email": r"[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}",
    "email by words": r"\w+([-+.']\w+)*@\w+([-.]\w+)*\.\w+([-.]\w+)*",
    "slug": r"[a-z0-9]+(?:-[a-z0-9]+)*",
    "handle": r"@[A-Za-z0-9_]{1,15}",
    "hashtag": r"#[A-Za-z]\w*",
    "user name": r"[a-z][a-z0-9_-]{2,15}",
    "semantic version": r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
    r"(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?",
    "version": r"v?\d+(\.\d+){1,3}(-(alpha|beta|rc)\.?\d*)?",
    "plate, german": r"[A-ZÄÖÜ]{1,3}-[A-Z]{1,2} [1-9]\d{0,3}[EH]?",
    "plate, british": r"[A-Z]{2}\d{2} ?[A-Z]{3}",
    "plate, russian": r"[АВЕКМНОРСТУХ]\d{3}[АВЕКМНОРСТУХ]{2}\d{2,3}",
    "iban": r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}",
    "german iban": r"DE\d{2}( ?\d{4}){4} ?\d{2}",
    "bic": r"[A-Z]{6}[A-Z0-9]{2}([A-Z0-9]{3})?",
    "card": r"(?:4\d{12}(?:\d{3})?|5[1-5]\d{14}|3[47]\d{13})",
    "card in groups": r"\d{4}([ -]?)\d{4}\1\d{4}\1\d{4}",
    "social security": r"\d{3}-\d{2}-\d{4}",
    "zip": r"\d{5}(-\d{4})?",
    "british postcode": r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}",
    "canadian postcode": r"[ABCEGHJ-NPRSTVXY]\d[A-Z] \d[A-Z]\d",
    "isbn": r"97[89]-\d-\d{2,5}-\d{2,6}-\d",
    "hex colour": r"#(?:[0-9a-fA-F]{3}){1,2}",
    "rgb colour": r"rgb\(\s*\d{1,3}\s*,\s*\d{1,3}\s*,\s*\d{1,3}\s*\)",
    "integer": r"-?(0|[1-9]\d*)",
    "decimal": r"[-+]?\d*\.?\d+",
    "scientific": r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?",
    "thousands": r"\d{1,3}(,\d{3})*(\.\d\d)?",
    "percentage": r"(100|[1-9]?\d)(\.\d+)?%",
    "price": r"[$€£]\d{1,3}(,\d{3})*\.\d{2}",
    "roman": r"M{0,3}(CM|CD|D?C{0,3})(XC|XL|L?X{0,3})(IX|IV|V?I{0,3})",
    "binary": r"0b[01]+",
    "hexadecimal": r"0x[\dA-Fa-f]+",
    "coordinates": r"-?\d{1,2}\.\d{4,6}, ?-?\d{1,3}\.\d{4,6}",
    "base64": r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?",
    "token": r"eyJ[\w-]+\.eyJ[\w-]+\.[\w-]+",
    "key": r"sk-[A-Za-z0-9]{20,48}",
    "identifier": r"[A-Za-z_$][\w$]*",
    "constant": r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*",
    "camel case": r"[a-z]+([A-Z][a-z]+)+",
    "file name": r"[\w,\s-]+\.[A-Za-z]{3}",
    "unix path": r"(/[^/\x00]+)+",
    "windows path": r"[A-Z]:\\(?:[^\\/:*?\"<>|\r\n]+\\)*[^\\/:*?\"<>|\r\n]*",
    "content type": r"(application|text|image)/[a-z0-9.+-]+(; ?charset=utf-8)?",
    "log line": r"\[(DEBUG|INFO|WARN|ERROR)\] \d{4}-\d\d-\d\d \d\d:\d\d:\d\d [\w.]+: .+",
    "flat json": r"\{\s*\"name\"\s*:\s*\"[^\"]+\"\s*,\s*\"age\"\s*:\s*\d{1,3}\s*\}",
    "json string": r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"',
    "json list": r"\[(\"\w+\"(, \"\w+\")*)?\]",
    "markdown heading": r"#{1,6} [^\n]+",
    "markdown link": r"\[[^\]]+\]\(https?://[^)\s]+\)",
    "markdown list": r"(- [A-Za-z ]+\n){3,5}",
    "markdown table": r"\|( [\w ]+ \|)+\n\|( ?-+ ?\|)+\n(\|( [\w ]+ \|)+\n?)+",
    "html tag": r"<([a-z]+)(\s+\w+=\"[^\"]*\")*>.*?</\1>",
    "csv": r"\w+(,\w+)*(\n\w+(,\w+)*)*",
    "chess move": r"([KQRBN]?[a-h]?[1-8]?x?[a-h][1-8](=[QRBN])?[+#]?|O-O(-O)?)",
    "answer": r"(yes|no|maybe)",
    "grade": r"[A-F][+-]?",
    "rating": r"Rating: [1-5]\. Reason: [A-Z][a-z ,]{20,80}\.",
    "thought": r"Thought: [^\n]{1,60}\nAction: (search|look up|finish)\[[^\]\n]{1,30}\]",
    "quoted": r"(?P<mark>['\"`])[^'\"`]*(?P=mark)",
    "lazy": r"a+?b*?c??d{2,3}?",
    "case": r"(?i:select) \w+ (?i)from \w+",
    "cyrillic": r"[А-ЯЁ][а-яё]+ [А-ЯЁ]\.",
    "escapes": r"\x41\u00e9\t\.\*\\\/\-",
}
# What only patterns of JSON Schemas may ask.
LOOKING = {
    "anchors": r"^[a-z]{2,5}$",
    "password": r"^(?=.*[A-Z])(?=.*[a-z])(?=.*\d)(?=.*[@$!%*?&])[A-Za-z\d@$!%*?&]{8,64}$",
    "not a word": r"^(?!admin$|root$)[a-z]{4,5}$",
    "not within": r"^(?!.*--)[a-z-]{3,10}$",
    "length ahead": r"^(?=.{5,10}$)[a-z]+(?:-[a-z]+)*$",
    "price behind": r"(?<=\$)\d+\.\d\d",
    "not behind": r"(?<!x)y",
    "up to a mark": r"((?!-->)[\s\S])*-->",
    "whole words": r"\bcat\b.*\bdog\b",
    "no letter twice": r"^(?:(\w)(?!.*\1)){4,8}$",
    "lines": r"(?m)^\d+$\n^end$",
    "condition": r"^(<)?\w+(?(1)>|!)$",
    "what may be empty, repeated": r"^(?:(?=a)b?|(?=b)b|a)*$",
    "what may be empty, so many times": r"^(?:(?:\d{0,3},?){0,10};?){0,10}$(?<=\d)",
    "python ends": r"\A\d+\Z",
}


@pytest.mark.parametrize("pattern", EVERYDAY.values(), ids=EVERYDAY)
def test_an_everyday_pattern_is_matched_from_end_to_end(pattern: str) -> None:
    texts = [write_match(pattern, Draws(seed)) for seed in SEEDS]
    assert [text for text in texts if not re.fullmatch(pattern.replace("(?i)", ""), text)] == []
    assert texts == [write_match(pattern, Draws(seed)) for seed in SEEDS]


@pytest.mark.parametrize("pattern", LOOKING.values(), ids=LOOKING)
def test_a_pattern_that_looks_around_is_found_in_its_texts(pattern: str) -> None:
    texts = [find_match([pattern], Draws(seed)) for seed in SEEDS]
    assert [text for text in texts if text is None or not re.search(pattern, text)] == []


@pytest.mark.parametrize(
    "pattern, python",
    [
        (r"^(?<x>a|b)\k<x>[^]\k{x}\z", r"(?s)^(?P<x>a|b)(?P=x).(?P=x)\Z"),
        (r"a(?i)[b-d](?s).|e(?-i)f(?m)$\n^", r"a[b-dB-D](?s:.)|[Ee]f\n"),
        (r"(?i)a(?-i)b(?i)c(?-i)(?<=C)", "[aA]bC"),
        (r"(?i)\W[^\Wa-z0-9]", r"[^a-zA-Z0-9_]_"),
        (r"[\w-.][a-\d][[&&x||y~~-]", r"[\w\-.][a\-\d][\[&x|y~\-]"),
        (r"\u{1F600}\ud83d\ude00[\ud83d\ude00-\u{1f602}]", "\U0001f600{2}[\U0001f600-\U0001f602]"),
        (r"\cJ[\cI]\x41\u0042\/[]x]\0", r"\n\tAB/[]x]\x00"),
        ("x{a}{[^]]y", "x\\{a}\\{[^]]y"),
    ],
)
def test_what_other_dialects_write_otherwise_is_read_as_they_mean_it(pattern: str, python: str) -> None:
    texts = [write_match(pattern, Draws(seed)) for seed in SEEDS]
    assert [text for text in texts if not re.fullmatch(python, text)] == []


@pytest.mark.parametrize(
    "pattern, text",
    [
        (r"\d+", "4091"),
        (r"\w+", "stone"),
        (r"[A-Z]{2}", "LA"),
        (r"[^\"]*", "anchor willow birch"),
        (r"[\s\S]{3,9}", "island an"),
        (r"#[0-9a-fA-F]{6}", "#4f152c"),
        (r"(?i)abc", "abc"),
        (r"[^\x00-\x7F]{2}", "гü"),
        ("", ""),
        ("[^]", "w"),
    ],
)
def test_texts_look_natural(pattern: str, text: str) -> None:
    assert write_match(pattern, Draws(0)) == text


@pytest.mark.parametrize(
    "name, text",
    [
        ("L", "aéж文"), ("Lu", "AÉЖ"), ("Uppercase_Letter", "AÉЖ"), ("lowercase", "aéж"), ("gc=Nd", "09"),
        ("General_Category=Zs", " \u00a0"), ("Script=Greek", "αΩ"), ("sc=Cyrillic", "Жж"), ("Emoji", "😀"),
        ("ASCII", "\x00a~"), ("script_extensions=han", "文"),
    ],
)  # fmt: skip
def test_a_property_holds_its_characters_however_its_name_is_spelled(name: str, text: str) -> None:
    for spelled in (name, name.lower(), name.upper()):
        found, others = (read_pattern(rf"\{mark}{{{spelled}}}") for mark in "pP")
        assert all(character in found.found and character not in others.found for character in text)


@pytest.mark.parametrize(
    "pattern, least, most",
    [
        (r"[a-z ]+", 50, 60),
        (r"^(ab){2,3}$", 6, 6),
        (r"abc", 10, 12),
        (r"^[a-z]+$", 0, 3),
        (r"^(foo|barbaz)$", 5, 9),
        (r"^(aa|bbb)+$", 7, 7),
        (r"(a|bb)*$", 3, 3),
        (r"^\d+(\.\d+)?$", 12, 12),
        (r"\S+ \S+", 5, 5),
        (r"^(?=.*\d)\w*$", 4, 4),
        (r"^.*$", 3000, 3000),
        (r"^[А-я]+$", 2, 2),
    ],
)
@pytest.mark.parametrize("seed", SEEDS[:4])
def test_a_text_keeps_to_its_bounds(pattern: str, least: int, most: int, seed: int) -> None:
    text = find_match([pattern], Draws(seed), least, most)
    assert text is not None
    assert (bool(re.search(pattern, text)), least <= len(text) <= most) == (True, True)


@pytest.mark.parametrize(
    "pattern, why",
    [
        ("(a", "missing ), unterminated subpattern"),
        ("a)", "unbalanced parenthesis"),
        ("*a", "nothing to repeat"),
        ("a**", "multiple repeat"),
        ("a{3,2}", "min repeat greater than max repeat"),
        ("[z-a]", "bad character range z-a"),
        ("[a", "unterminated character set"),
        ("\\", "bad escape (end of pattern)"),
        (r"\q", "bad escape \\q"),
        (r"(a)\2", "invalid group reference 2"),
        (r"(?P=x)", "unknown group name 'x'"),
        (r"\k<x>", "unknown group name 'x'"),
        (r"(?P<x>a)(?<x>b)", "redefinition of group name 'x' as group 2; was group 1"),
        (r"\p{Nonsense}", "unknown property Nonsense"),
        (r"\u{110000}", "bad escape \\U00110000"),
        (r"\xZZ", "incomplete escape \\x"),
        ("a++", "possessive quantifiers and atomic groups are not supported"),
        ("(?>a)", "possessive quantifiers and atomic groups are not supported"),
        ("(?x) a", "verbose patterns are not supported"),
        ("(" * 500, "nested too deeply"),
        ("a" * 20_001, "the pattern is longer than 20000 characters"),
        ("(" * 80 + ")" * 80, "nested too deeply"),
        ("a{20000}", "the pattern asks for at least 20000 characters, and 16384 are allowed"),
        ("a{9999999999999}", "the repetition number is too large"),
        (f"a{{1,{'9' * 5_000}}}", "the repetition number is too large"),
        (r"\p{Old-Italic}", "bad escape \\p"),
        ("((x?){6000}){6000}", "the pattern asks for more than 16384 characters"),
        (r"[^\s\S]", "no text matches the pattern"),
        (r"(?=a)b", "no text matches the pattern"),
        (r"a\bb", "no text matches the pattern"),
        (r"a^b", "no text matches the pattern"),
        (r"(?<=ab)c", "look-behinds of more than one character are not supported"),
        (r"\b" * 300, "the pattern looks around more than 1000 times"),
    ],
)
def test_a_pattern_that_cannot_be_obeyed_is_named(pattern: str, why: str) -> None:
    with pytest.raises(PatternError) as caught:
        write_match(pattern, Draws(0))
    assert (str(caught.value), fault_in(pattern)) == (why, why)


def test_no_pattern_is_kept_that_is_too_long_to_be_obeyed() -> None:
    tracemalloc.start()
    assert {fault_in("a" * 1_000_000 + str(number)) for number in range(5)} == {
        "the pattern is longer than 20000 characters"
    }
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 500_000


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+b",
        "(x|y|z){500}",
        "((((((((((a*)*)*)*)*)*)*)*)*)*)*",
        "(a+)+b|a{40}",
        "((a|b)*c|(a|b)*d){30}",
        "(?=.*zebra)(?=.*lion)(?=.*otter).*",
        "(.*)(.*)(.*)(.*)(.*)=x",
        "a{16384}",
        "(a?){2000}a{2000}",
        "(" * 50 + "a" + ")" * 50,
        "|".join(f"word{number}" for number in range(1500)),
        "".join(f"[{chr(0x4E00 + number)}a]?" for number in range(3000)),
    ],
)
def test_a_hostile_pattern_is_obeyed_all_the_same(pattern: str) -> None:
    assert len(write_match(pattern, Draws(1))) <= LONGEST


@pytest.mark.parametrize(
    "pattern, more",
    [
        (r"\d+", True),
        (r"[A-Z]{2}\d{3}", False),
        (r"(yes|no)", False),
        (r"a{2,50}", True),
        (r"(ab)*", True),
        (r"\w+\b!*", True),
        (r"(\w)\1*", False),
    ],
)
def test_a_match_goes_on_only_as_its_pattern_allows(pattern: str, more: bool) -> None:
    text, complete, *pieces = [
        "".join(phrase.texts) if phrase else None for phrase in islice(tell_match(pattern, 1), 20)
    ]
    assert text is not None and re.fullmatch(pattern, text) and complete is None  # noqa: PT018
    for piece in pieces:
        assert piece
        text += piece
        assert re.fullmatch(pattern, text)
    assert bool(pieces) == more


ATOMS = r"""
    a b c X Y Z 0 1 9 _ - : , @ é . \d \w \s \D \W \S \. \\ \n \x41 \u0416 [\s] [a-z] [A-Z0-9] [^a-z] [\w.-] [^\s\d]
    [0-9a-fA-F] []x] [^]x] [\]\-a] [+*?]
"""


def regexes() -> st.SearchStrategy[str]:
    """Patterns of the subset without look-arounds and anchors."""
    atoms = st.sampled_from(ATOMS.split())
    counts = st.sampled_from(["*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{0,2}", "{2,}", "{,2}", "{3,5}?"])

    def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        row = st.lists(inner, min_size=1, max_size=4).map("".join)
        choice = st.lists(row, min_size=2, max_size=3).map("|".join)
        group = st.tuples(st.sampled_from(["(", "(?:"]), row | choice).map(lambda pair: f"{pair[0]}{pair[1]})")
        return row | group | st.tuples(atoms | group, counts).map("".join).map(lambda text: f"(?:{text})")

    return st.recursive(atoms, larger, max_leaves=8)


@settings(max_examples=200)
@given(pattern=regexes(), seed=st.integers(0, 2**64 - 1))
def test_whatever_the_pattern_its_text_matches(pattern: str, seed: int) -> None:
    text = write_match(pattern, Draws(seed))
    assert re.fullmatch(pattern, text)
    assert text == write_match(pattern, Draws(seed))


@settings(max_examples=150)
@given(pattern=regexes(), seed=st.integers(0, 2**64 - 1), least=st.integers(0, 30), room=st.integers(0, 20))
def test_whatever_the_bounds_a_text_is_within_them(pattern: str, seed: int, least: int, room: int) -> None:
    wanted = read_pattern(pattern).shortest
    if wanted > least + room:
        assert find_match([pattern], Draws(seed), least, least + room) is None
        return
    # More can follow any match, so that there is a text for all other bounds.
    text = find_match([pattern], Draws(seed), least, least + room)
    assert text is not None
    assert (bool(re.search(pattern, text)), least <= len(text) <= least + room) == (True, True)


@settings(max_examples=200)
@given(pattern=st.text("ab01.*+?()[]{}|^$\\dwsbBAZ-,:!=<P>x\n", max_size=12), seed=st.integers(0, 99))
def test_whatever_is_read_as_a_pattern_is_one(pattern: str, seed: int) -> None:
    text = find_match([pattern], Draws(seed))
    if text is None:
        return
    try:
        compiled = re.compile(pattern)
    except (re.error, FutureWarning):
        return  # Python's patterns and JavaScript's differ
    assert compiled.search(text)


@pytest.mark.parametrize(
    "pattern",
    [
        # As zod says that a text is emoji.
        r"^(\p{Extended_Pictographic}|\p{Emoji_Component})+$",
        r"\p{Emoji}{3}",
        r"\p{Emoji_Presentation}+",
        r"\p{Emoji_Modifier_Base}\p{Emoji_Modifier}",
        r"\p{EPres}\p{ExtPict}\p{EMod}\p{EBase}\p{EComp}",
        r"[\p{Emoji}\p{Lu}]{4}",
        r"\P{Emoji_Component}{4}",
        r"[^\p{Emoji}\p{L}\s]{4}",
        r"[^\p{Extended_Pictographic}\x00-\x7F]{4}",
    ],
)
def test_emoji_are_those_that_unicode_has(pattern: str) -> None:
    for seed in SEEDS:
        text = write_match(pattern, Draws(seed))
        assert regex.fullmatch(pattern, text), text


def test_what_may_be_emoji_is_some() -> None:
    texts = {write_match(r"(\p{Extended_Pictographic}|\p{Emoji_Component})+", Draws(seed)) for seed in SEEDS}
    assert len(texts) > 4
    assert all(ord(character) > 0xFFFF for text in texts for character in text)

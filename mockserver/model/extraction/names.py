"""The names in a prompt, and which of them make a list.

Only a bounded part of the prompt is read.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from mockserver.model import languages
from mockserver.model.intent import STRETCH, detect_intent
from mockserver.model.terms import is_concept, terms

_CAPITAL = "[A-ZÀ-ÖØ-ÞĀĂĄĆČĎĐĖĘĚĞĢĪĮİĶĻŁŃŅŇŌŐŒŘŚŞŠŢŤŪŮŰŲŹŻŽА-ЯЁІЇЄҐ]"
# Two initials before a name, or one before two. A single one may as well be the letter of an item: "A. Paris B. Rome".
_INITIALS = rf"(?:(?:{_CAPITAL}\.[ ]?){{2,3}}(?={_CAPITAL}\w)|(?<=[ ]){_CAPITAL}\.[ ](?={_CAPITAL}\w+[ ]{_CAPITAL}\w))?"
_MIDDLE = rf"(?:(?:{_CAPITAL}\.[ ]){{2}}|(?![A-D]){_CAPITAL}\.[ ])"
_NAME = re.compile(
    rf"(?<![^\W_])(?:(?:Fort|Ft|Mount|Mt|Saint|St|Ste)\.?[ ])?{_INITIALS}"
    rf"{_CAPITAL}[\w'\u2019.-]*\w"
    rf"(?:[ ](?:(?:de|del|di|da|do|la|of|am|на)[ ]|{_MIDDLE})?{_CAPITAL}[\w'\u2019-]*\w)*"
    r"(?:,[ ][A-Z]{2}\b)?"
)
# Names in scripts without spaces between words: what precedes a word for the requested fact, apart from a day.
_DENSE_NAME = re.compile(
    r"(?:今天|明天|现在|現在|今日|明日|昨天|昨日)?"
    r"([一-鿿]{2,5}?|[ァ-ヿー]{2,12})(?=的|今天|明天|现在|現在|今日|明日|天气|天気|時間|时间|の|は|で)"
    r"|([가-힣]{2,8}?)(?:의|에서|에|은|는)?(?=\s*(?:날씨|시간|지금|현재))"
)
_ENDING = re.compile("['\u2019][a-zçğıöşü]{1,5}$")
_DAYS = frozenset(["今天", "明天", "现在", "現在", "今日", "明日", "昨天", "昨日", "오늘", "내일", "지금"])
# Imperatives, whose capital at the start of a sentence looks like a name; and the words that only follow an imperative:
# "Invent a person".
_ORDERS = frozenset((
    "add", "analyse", "analyze", "answer", "apply", "assign", "buy", "call", "cancel", "change", "check",
    "classify", "close", "collect", "compose", "consider", "contact", "convert", "correct", "correctly", "count",
    "create", "delete", "describe", "design", "draft", "extract", "fetch", "fill", "fix", "generate", "given",
    "identify", "imagine", "introduce", "invent", "invite", "list", "load", "make", "meet", "move", "notify",
    "open", "order", "parse", "plan", "play", "prepare", "produce", "provide", "publish", "put", "read",
    "recognise", "recognize", "record", "register", "remind", "remove", "rename", "reply", "respond", "return",
    "roll", "run", "save", "schedule", "search", "send", "set", "start", "stop", "store", "submit", "suggest",
    "summarise", "summarize", "switch", "tell", "translate", "turn", "update", "upload", "use", "write",
))  # fmt: skip
_ORDERED = re.compile(
    r"[ ](?:an?|some|any|me|us|my|our|your|ein(?:en?|er|em)?|mir|uns|une?|una|uno|uma?|des)[ ]", re.IGNORECASE
)
# Forms of answers, days and months, which are capitalized without being names.
_NOBODY = frozenset((
    "JSON", "YAML", "XML", "CSV", "HTML", "Markdown",
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
    "January", "February", "March", "July", "August", "September", "October", "November", "December",
))  # fmt: skip
# Months that are names of persons as well.
_DATED = re.compile(r"(?:April|May|June) \d")
# A part of an address, such as "Main St" or "New York", and addresses such as "123 Main St, Springfield, USA".
_PLACE = r"[A-ZÀ-Þ][\w.'’-]*(?: [A-ZÀ-Þ][\w.'’-]*){0,3}"
ADDRESS = re.compile(rf"\b\d{{1,5}}[A-Za-z]? {_PLACE}(?:, ?{_PLACE}(?: \d{{5}})?){{1,3}}")
# What may stand between the items of a list.
_BETWEEN = re.compile(
    r"\s*(?:[,;、，&]\s*)?(?:(?:and|or|и|или|und|oder|et|ou|y|e|o|ve|veya|та|і|або|和|と|및|vs\.?)\s+"
    r"(?:(?:in|at|for|в|во|для|à|en|a|em|у)\s+)?)?\s*",
    re.IGNORECASE,
)


class Name(NamedTuple):
    """A name in a prompt, with its position."""

    text: str
    start: int
    end: int


def names(topic: str, about: frozenset[str] = frozenset()) -> tuple[Name, ...]:
    """The names in a prompt, in order. Words about the request itself (`about`, as terms) and stopwords are none."""
    return _names(topic[:STRETCH], detect_intent(topic).language, about)


@lru_cache(maxsize=256)
def _names(stretch: str, language: str, about: frozenset[str]) -> tuple[Name, ...]:
    stopwords = languages.stopwords(language)
    found = [Name(_ENDING.sub("", m[0]), m.start(), m.end()) for m in _NAME.finditer(stretch)]
    found = [
        name
        for each in found
        if (name := _without_lead(each, stretch, stopwords) if opens(stretch, each.start) else each)
        and name.text not in _NOBODY
        and not _DATED.match(stretch, name.start)
        and not terms(name.text) & about
    ]
    # A word before a colon is a label ("Task: ..."), unless there are no other names.
    found = [name for name in found if stretch[name.end : name.end + 1] != ":"] or found
    if not found:
        dense = (Name(m[1] or m[2], m.start(), m.end()) for m in _DENSE_NAME.finditer(stretch))
        found = [name for name in dense if name.text not in _DAYS and not terms(name.text) & about]
    return tuple(found)


def between_names(topic: str) -> list[tuple[int, int]]:
    """The spans of the names in a prompt, and of what is between the names of a list, in order."""
    found = names(topic)
    gaps = [(one.end, other.start) for one, other in pairwise(found) if _joins(topic, one, other)]
    return sorted([*((name.start, name.end) for name in found), *gaps])


def addresses(topic: str) -> tuple[tuple[int, int], ...]:
    """Where the prompt has addresses."""
    return tuple(match.span() for match in ADDRESS.finditer(topic))


def listed(topic: str, found: Sequence[Name]) -> tuple[str, ...]:
    """The longest list of names: those separated by nothing but commas and conjunctions."""
    best: list[Name] = []
    run: list[Name] = []
    spans = addresses(topic[:STRETCH])
    for name in found:
        if any(start <= name.start < end for start, end in spans):
            continue  # "12 Main St, Paris, France" is one address
        run = [*run, name] if run and _joins(topic, run[-1], name) else [name]
        best = max(best, run, key=len)
    texts = tuple(dict.fromkeys(name.text for name in best))
    # "Paris, France" is one place.
    alone = len(texts) == 2 and topic[best[0].end : best[1].start].strip() == ","
    return texts if len(texts) > 1 and not alone else ()


def opens(topic: str, place: int) -> bool:
    """Whether a sentence begins at this place."""
    return topic[:place].rstrip("¿¡ \n\t")[-1:] in ("", ".", "!", "?", ":", "\n")


def _joins(topic: str, one: Name, other: Name) -> bool:
    """Whether what is between two names makes them items of a list."""
    gap = topic[one.end : other.start]
    return bool(gap.strip()) and _BETWEEN.fullmatch(gap) is not None


def _without_lead(name: Name, topic: str, stopwords: frozenset[str]) -> Name | None:
    """The name without leading words of its sentence such as `What`, `Compare`, `Book`; None if nothing is left."""
    words = list(re.finditer(r"\S+", name.text))
    while words and _leads(words[0][0], stopwords):
        words.pop(0)
    if not words or (len(words) == 1 and words[0].start() == 0 and _ORDERED.match(topic, name.end)):
        return None
    return Name(name.text[words[0].start() :], name.start + words[0].start(), name.end)


def _leads(word: str, stopwords: frozenset[str]) -> bool:
    """Whether a word is a question word or an imperative rather than part of a name."""
    lowered = word.lower()
    return lowered in stopwords or lowered in _ORDERS or any(map(is_concept, terms(word)))

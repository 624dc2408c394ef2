"""The few questions whose answers are known, those that people try first: "What is the capital of France?", "What is
2 + 2?", "What is 15% of 80?", "Who wrote Hamlet?", in English and Russian, if a prompt asks nothing else.

The patterns take some milliseconds to compile, so this module is imported with the first short prompt that may be such
a question (`_FACTUAL` in `subject.py`).
"""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal, DecimalException, localcontext
from functools import cache
from typing import NamedTuple

from mockserver.core.package_data import read_data

_POLITE = (
    r"(?:(?:hi|hello|please|tell me|can you tell me|could you tell me|quick question|question|q)[,:!]?\s{1,3}){0,3}"
)
_END = r"\s{0,3}[?.!]*\s{0,3}"
# The answer is to be given without a sentence around it.
_ALONE = re.compile(
    r"\b(?:(?:one|a single) word|only (?:with )?(?:the )?(?:name|city|number|result|answer|capital)"
    r"|(?:name|city|number|result|answer|capital) only|just (?:with )?(?:the|a) \w+"
    r"|одним словом|только (?:название|число|город|ответ))\b",
    re.IGNORECASE,
)
# What may follow the question: how to answer it.
_ORDER = (
    r"(?:(?:please |only |just )?"
    r"(?:answer|reply|respond|give|return|output|say|use|be|keep|ответь|отвечай|назови|дай)\w*\b"
    r"[^.!?\n]{0,60}[.!]?\s{0,3})"
)
# The same in front of the question.
_ORDER_BEFORE = re.compile(
    r"\A\s{0,3}(?:please )?(?:answer|reply|respond|ответь\w*)\b[^:.?!\n]{0,60}:\s{1,3}", re.IGNORECASE
)
_CAPITAL = re.compile(
    rf"\A\s{{0,3}}{_POLITE}(?:what(?:['’]s| is)|which city is|name|tell me)\s+(?:the\s+)?(?:name of the\s+)?capital"
    rf"(?:\s+city)?\s+of\s+(?P<article>the\s+)?(?P<country>[^?.!\n,]{{2,40}}|U\.[SK]\.){_END}(?P<order>{_ORDER}{{0,2}})\Z",
    re.IGNORECASE,
)
_STOLITSA = re.compile(
    rf"\A\s{{0,3}}(?:(?:какой город|какая|назови(?:те)?|скажи(?:те)?)\s+(?:является\s+)?)?столиц(?:а|ей|у)\s+"
    rf"(?P<country>[^?.!\n,]{{2,40}}){_END}(?P<order>{_ORDER}{{0,2}})\Z",
    re.IGNORECASE,
)
# "The capital of France is": to be completed.
_BEGUN = re.compile(
    r"\A\s{0,3}(?:[^.!?\n]{0,60}\s)?capital(?: city)? of (?P<article>the )?(?P<country>[^?.!\n,]{2,40}) is"
    r"(?: called)?\s{0,3}:?\s{0,3}(?P<order>)\Z",
    re.IGNORECASE,
)
_SUM = re.compile(
    rf"\A\s{{0,3}}{_POLITE}"
    r"(?:(?:what(?:['’]s| is| does)|calculate|compute|solve|how much is|сколько будет|вычисли|посчитай)"
    r"\s{1,3}|(?=[^?=]{3,40}[?=]))(?P<first>-?\d{1,15}(?:\.\d{1,10})?)\s{0,3}"
    r"(?P<sign>[-+*/×÷x^]|plus|minus|times|multiplied by|divided by|плюс|минус|умножить на|(?:раз)?делить на)\s{0,3}"
    rf"(?P<second>-?\d{{1,15}}(?:\.\d{{1,10}})?)(?:\s{{0,3}}=|\s+equal)?{_END}(?P<order>{_ORDER}{{0,2}})\Z",
    re.IGNORECASE,
)
_SHARE = re.compile(
    rf"\A\s{{0,3}}{_POLITE}"
    r"(?:(?:what(?:['’]s| is)|calculate|compute|find|how much is|сколько будет|вычисли|посчитай|найди)\s{1,3})?"
    r"(?P<share>\d{1,15}(?:\.\d{1,10})?)\s{0,3}(?P<percent>%|percent|per cent|процент\w{0,3})\s{1,3}"
    r"(?P<of>of|от)\s{1,3}"
    rf"(?P<whole>\d{{1,15}}(?:\.\d{{1,10}})?)(?:\s{{0,3}}=)?{_END}(?P<order>{_ORDER}{{0,2}})\Z",
    re.IGNORECASE,
)
_OPEN, _CLOSE = r"[\"'“‘«*_]{0,2}", r"[\"'”’»*_]{0,2}"
_KINDS = r"(?:(?:the\s+)?(?:play|novel|book|poem|epic|series|painting|opera|ballet|роман\w?|пьес\w|книг\w|поэм\w)\s+)?"
_AUTHOR = re.compile(
    rf"\A\s{{0,3}}{_POLITE}(?:who\s+(?P<did>wrote|painted|composed)|who(?:['’]s| is| was)\s+the\s+author\s+of"
    rf"|кто\s+(?:написал|автор))\s+{_KINDS}{_OPEN}(?P<title>[^?!\n\"“”«»*_]{{2,50}}?){_CLOSE}{_END}"
    rf"(?P<order>{_ORDER}{{0,2}})\Z",
    re.IGNORECASE,
)
_OPERATORS = {
    "plus": "+", "плюс": "+", "minus": "-", "минус": "-", "times": "*", "multiplied": "*", "умножить": "*", "×": "*",
    "x": "*", "divided": "/", "делить": "/", "разделить": "/", "÷": "/",
}  # fmt: skip
_DIGITS = 30
_IN_ENGLISH = (
    "The capital of {} is {}.",
    "{1} is the capital of {0}.",
    "{1}. It is the capital of {0}.",
    "It is {1}, the capital of {0}.",
)
_IN_RUSSIAN = ("Столица {} — {}.", "{1} — столица {0}.", "{1}. Это столица {0}.")
_COMPLETED = ("{1}.", "{1}, of course.")
_EQUATIONS = ("{} = {}.", "{} equals {}.", "The result of {} is {}.", "{1}.")
_EQUATIONS_IN_RUSSIAN = ("{} = {}.", "Ответ: {1}.")
_AUTHORS = ("{1} {2} {0}.", "{0} is by {1}.", "It was {1} who {2} {0}.", "{1}.")
_AUTHORS_IN_RUSSIAN = ("{1}.", "Автор — {1}.", "Это {1}.")
_RUSSIAN = re.compile("[а-я]", re.IGNORECASE)


class Fact(NamedTuple):
    """The answer to a question: by itself, and in sentences of which each gives it."""

    answer: str
    sentences: tuple[str, ...]


def known(text: str) -> Fact | None:
    """The answer to a text that is a question and nothing else, if it is known; the only sentence is the answer itself
    if that is what the text asks for."""
    lead = _ORDER_BEFORE.match(text)
    before = lead[0] if lead is not None else ""
    for pattern, read in _QUESTIONS:
        found = pattern.match(text.removeprefix(before))
        fact = None if found is None else read(found)
        if found is not None and fact is not None:
            return Fact(fact.answer, (fact.answer,)) if _ALONE.search(before + found["order"]) else fact
    return None


def _capital(found: re.Match[str]) -> Fact | None:
    city = _city(found["country"])
    country = (found["article"] or "").lower() + found["country"].strip()
    return None if city is None else _fact(city, country, _IN_ENGLISH)


def _begun(found: re.Match[str]) -> Fact | None:
    city = _city(found["country"])
    return None if city is None else _fact(city, "", _COMPLETED)


def _stolitsa(found: re.Match[str]) -> Fact | None:
    city = _city(found["country"])
    return None if city is None else _fact(city, found["country"].strip(), _IN_RUSSIAN)


def _sum(found: re.Match[str]) -> Fact | None:
    sign = found["sign"].lower().split()[0]
    sign = _OPERATORS.get(sign, sign)
    result = _result(Decimal(found["first"]), sign, Decimal(found["second"]))
    sentences = _EQUATIONS_IN_RUSSIAN if _RUSSIAN.search(found[0]) else _EQUATIONS
    return None if result is None else _fact(result, f"{found['first']} {sign} {found['second']}", sentences)


def _share(found: re.Match[str]) -> Fact | None:
    part = _result(Decimal(found["share"]) * Decimal(found["whole"]), "/", Decimal(100))
    sign = found["percent"] if found["percent"] == "%" else f" {found['percent']}"
    sentences = _EQUATIONS_IN_RUSSIAN if _RUSSIAN.search(found[0]) else _EQUATIONS
    return None if part is None else _fact(part, f"{found['share']}{sign} {found['of']} {found['whole']}", sentences)


def _author(found: re.Match[str]) -> Fact | None:
    work = _works().get(found["title"].strip().rstrip(".").casefold())
    if work is None or (found["did"] or work.did).lower() != work.did:
        return None
    sentences = _AUTHORS_IN_RUSSIAN if _RUSSIAN.search(found[0]) else _AUTHORS
    return Fact(work.author, tuple(each.format(work.title, work.author, work.did) for each in sentences))


def _fact(answer: str, asked: str, sentences: tuple[str, ...]) -> Fact:
    # "Washington, D.C." brings its own period.
    return Fact(answer, tuple(each.format(asked, answer).replace("..", ".") for each in sentences))


def _city(country: str) -> str | None:
    return _capitals().get(country.strip().casefold())


@cache
def _capitals() -> Mapping[str, str]:
    lines = read_data("mockserver.generation.prompts", "capitals.txt").decode().splitlines()
    rows = (line.split(": ") for line in lines if not line.startswith("#"))
    return {name.casefold(): city for names, city in rows for name in names.split(", ")}


class _Work(NamedTuple):
    """A work: what its author did, its title, and the author."""

    did: str
    title: str
    author: str


@cache
def _works() -> Mapping[str, _Work]:
    lines = read_data("mockserver.generation.prompts", "works.txt").decode().splitlines()
    rows = (line.split(": ") for line in lines if not line.startswith("#"))
    return {title.casefold(): _Work(did, title, author) for did, titles, author in rows for title in titles.split(", ")}


def _result(first: Decimal, sign: str, second: Decimal) -> str | None:
    """The result of an operation, rounded to six places; None if there is none, or one of too many digits."""
    with localcontext() as context:
        context.prec = _DIGITS
        try:
            result = _OPERATIONS[sign](first, second)
        except DecimalException:
            return None
    if not result.is_finite() or abs(result) >= 10**_DIGITS:
        return None
    return f"{result.normalize():f}" if result else "0"


_OPERATIONS: Mapping[str, Callable[[Decimal, Decimal], Decimal]] = {
    "+": lambda first, second: first + second,
    "-": lambda first, second: first - second,
    "*": lambda first, second: first * second,
    "/": lambda first, second: round(first / second, 6),
    "^": lambda first, second: first**second,
}
_QUESTIONS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Fact | None]], ...] = (
    (_CAPITAL, _capital),
    (_BEGUN, _begun),
    (_STOLITSA, _stolitsa),
    (_SUM, _sum),
    (_SHARE, _share),
    (_AUTHOR, _author),
)

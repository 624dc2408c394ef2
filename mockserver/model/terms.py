"""The terms, the names and the numbers of a text.

Terms are for comparison: stems of its words, and the concepts that they stand for. A stem is a word without common
endings; scripts without spaces between words give pairs of characters instead. `concepts.txt` lists words of several
languages that mean the same thing, so that a question in one language matches a description in another.

Names are found by their capitals, or by what stands beside them where there are none; some make a list. They are looked
for in a bounded part of a prompt.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import NamedTuple

from mockserver.core.caches import cache_short
from mockserver.model import languages
from mockserver.model.intent import STRETCH, detect_intent

_WORD = re.compile(r"[^\W\d_]+")
# Longer ones are read no further, and what is known of longer runs of letters is not remembered.
_LONGEST_WORD = 64
_CAMEL = re.compile(r"(?<=[a-z\d])(?=[A-Z])")
# Letters of scripts without spaces between words, or with particles attached to words: Han, katakana, Hangul.
_DENSE = re.compile(r"[一-鿿]+|[ァ-ヿ]+|[가-힣]+")
# "3 * 12", "11 plus 49", "15% of 80": an operation on two numbers. A hyphen or a slash without spaces is none.
_OPERATION = re.compile(
    r"(?<![\w.,])-?\d[\d,.]*+(?:\s{0,3}(?P<sign>[+*×÷^])\s{0,3}|\s{1,3}(?P<word>[-/x]|plus|minus|times|multiplied by|"
    r"divided by|to the power of)\s{1,3}|\s?(?:%|per ?cent) of\s{1,3})-?\d+(?:[.,]\d+)*",
    re.IGNORECASE,
)
_OPERATORS = {
    operator: frozenset(stems.split())
    for operators, stems in (
        ("+ plus", "add plus sum"),
        ("- minus", "subtract minus"),
        ("* × x times multiplied", "multipl times product"),
        ("÷ / divided", "divid"),
        ("^ to", "pow power exponenti"),
    )
    for operator in operators.split()
}
ARITHMETIC = "#calcul"

# The most common endings, longest first; at least three letters of a word are left.
_ENDINGS = re.compile(
    r"(?<=...)(?:"
    r"ations?|ators?|ating|ated|ates?|ings?|ies|ers?|ors?|ions?|ed|es|en|er|os|as|s|y|e|a|o|i"
    r"|иями|ами|ями|ого|его|ому|ему|ыми|ими|ией|иях|ах|ях|ам|ям|ом|ем|ой|ей|ый|ий|ая|яя|ое|ее|ую|юю|ые|ие|ов|ев"
    r"|ть|а|я|о|е|у|ю|ы|и|і|ї|ь|й"
    r"|lar[ıi]?|ler[ıi]?|[ıuü]"
    r")$"
)


class Calculation(NamedTuple):
    """An operation on two numbers in a text, and the stems of the words for it."""

    text: str
    names: frozenset[str]


class _Concepts(NamedTuple):
    """The concepts of whole words, of beginnings of words, and of texts of dense letters."""

    words: dict[str, tuple[str, ...]]
    beginnings: dict[str, tuple[str, ...]]
    dense: dict[str, tuple[str, ...]]


def terms(text: str, ignored: frozenset[str] = frozenset()) -> frozenset[str]:
    """The stems, pairs and concepts (which begin with #) of a text; names in snake or camel case are split into words.

    The `ignored` words, in lower case, add none.
    """
    found = {term for word in words_in(text) - ignored for term in _word_terms(word[:_LONGEST_WORD])}
    found.update(term for run in _DENSE.findall(text) for term in _dense_terms(run))
    for operation in operations(text):
        found.update(operation.names, (ARITHMETIC,))
    return frozenset(found)


def operations(text: str) -> list[Calculation]:
    """The operations on two numbers in a text: "3 * 12", "11 plus 49"."""
    found = _OPERATION.finditer(text) if any(map(str.isdigit, text)) else ()
    return [Calculation(m[0], _OPERATORS[(m["sign"] or m["word"] or "times").lower().split()[0]]) for m in found]


def is_operation(names: frozenset[str]) -> bool:
    """Whether one of some stems stands for an operation on numbers."""
    return any(not names.isdisjoint(own) for own in _OPERATORS.values())


def words_in(text: str) -> frozenset[str]:
    """The words of a text in lower case; names in snake or camel case are split into words."""
    return frozenset(word.lower() for word in _WORD.findall(_CAMEL.sub(" ", text)))


def place_of(words: str, text: str) -> int | None:
    """Where a text first contains the given words, in any case and not as part of longer words; None if it does not, or
    if they are endless."""
    # Most words are nowhere in the text, which a plain search tells a thousand times as fast as an expression.
    # `re` remembers each expression.
    if len(words) > STRETCH or words.casefold() not in _folded(text):
        return None
    found = re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text, re.IGNORECASE)
    return None if found is None else found.start()


@lru_cache(maxsize=1)
def _folded(text: str) -> str:
    return text.casefold()


def is_concept(term: str) -> bool:
    """Whether a term is a concept, not a stem."""
    return term.startswith("#")


def stem(word: str) -> str:
    """A word in lower case without a common ending."""
    return _ENDINGS.sub("", word.lower())


@lru_cache(maxsize=16_384)
def _word_terms(word: str) -> tuple[str, ...]:
    if len(word) < 2 or _DENSE.match(word):
        return ()
    concepts = _concepts()
    found = [*concepts.words.get(word, ())]
    for size in range(3, len(word) + 1):
        found += concepts.beginnings.get(word[:size], ())
    return (stem(word), *found)


@cache_short(4096, _LONGEST_WORD)
def _dense_terms(run: str) -> tuple[str, ...]:
    pairs = [run[start : start + 2] for start in range(len(run) - 1)]
    return (*pairs, *(name for text, names in _concepts().dense.items() if text in run for name in names))


@cache
def _concepts() -> _Concepts:
    found = _Concepts({}, {}, {})
    for line in languages.sections("concepts.txt")["concepts"]:
        # The first word gives the concept its name.
        name = f"#{line.split()[0].removesuffix('*')}"
        for word in line.split():
            kind = found.dense if _DENSE.match(word) else found.beginnings if word.endswith("*") else found.words
            key = word.removesuffix("*")
            kind[key] = (*kind.get(key, ()), name)
    return found


# --- names ------------------------------------------------------------------------------------------------------------

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


# --- numbers ----------------------------------------------------------------------------------------------------------

# A unit may follow at once, and so may the next sentence of a careless prompt ("30Extract it").
_NUMBER = re.compile(
    r"(?<![\w.,#-])-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?!(?!(?:km|cm|mm|mi|kg|lbs?|ml|[GMT]B|px)\b|[A-Z][a-z]{2})\w|[.,-]\d)"
    r"(?:[ \u00a0-]([^\W\d_]+))?"
)
# An international number, one with an area code in parentheses, or a local one whose groups are joined by hyphens, by
# dots, or after a leading zero by spaces.
_PHONE = re.compile(
    r"(?<![\w.,$€£+(#/-])(?:\+\d{1,3}[ .-]?(?:\(\d{1,5}\)[ .-]?)?\d{1,12}(?:[ .-]\d{2,5}){0,4}"
    r"|(?:\d{1,2}[ .-]?)?\(\d{3,5}\)[ -]?\d{2,4}(?:[ -]\d{2,4}){1,2}"
    r"|(?:\d-)?\d{3}-\d{3}-(?:\d{4}|\d\d-\d\d)|\d{3}-(?:\d{4}|\d\d-\d\d)|\d{3}\.\d{3}\.\d{4}"
    r"|0\d{1,4}(?: \d{2,8}){1,4})(?!\w|[.,/-]\d)"
)
_PHONE_DIGITS = range(7, 16)
# Units of what a parameter counts, where it is not named after them: the years of an age, the stars of a rating.
_UNITS_OF = {
    stem(name): frozenset(map(stem, units.split()))
    for names, units in (
        ("age", "year jahre jahren ans años anni anos лет год года років рік роки"),
        ("rating stars score", "star stars point points"),
        (
            "passengers guests people persons party travelers servings",
            "adult people person guest passenger traveler pax",
        ),
        ("temperature temp", "degrees celsius fahrenheit kelvin C F"),
    )
    for name in names.split()
}
# Words of numbers, as powers of ten; and parameters that take no number but one of their own.
_POWERS = {"thousand": 3, "million": 6, "billion": 9}
_SHARES = frozenset(map(stem, ("confidence", "probability", "likelihood", "certainty")))
_UNITLESS = frozenset(
    stem(word)
    for word in ("amount", "price", "cost", "sum", "total", "count", "quantity", "number", "limit", "value", "id")
)
_PRICES = frozenset(map(stem, ("price", "cost", "amount", "total", "fare", "budget", "fee", "salary", "usd", "eur")))
_CURRENCIES = frozenset("$€£¥₽₹")
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d(?: [^\W\d_]+)?")
_MONEY = frozenset(map(stem, ("usd", "eur", "gbp", "jpy", "rub", "dollars", "euros", "pounds", "yen", "rubles")))


def number_for(parameter: str, topic: str) -> Iterator[str]:
    """Numbers of the prompt that a parameter may mean: one whose unit is in its name, or is that of what it counts; or
    an only number.

    An only number with another unit suits a parameter without a unit of its own: an amount, a price, an id.
    """
    found = _numbers(topic[:STRETCH])
    words = set(map(stem, words_in(parameter)))
    units = words.union(*(_UNITS_OF[word] for word in words if word in _UNITS_OF))
    if words & _PRICES:
        yield from (_digits(match) for match in found if topic[: match.start()].rstrip()[-1:] in _CURRENCIES)
        units |= _MONEY
    if "year" in words:
        yield from (_digits(match) for match in found if _YEAR.fullmatch(match[0]))
    for match in found:
        if match[1] and stem(match[1]) in units:
            yield _digits(match)
    if len(found) == 1 and not words & _SHARES and (not _unit(found[0], topic) or words & _UNITLESS):
        yield _digits(found[0])


def numbers(topic: str) -> tuple[str, ...]:
    """All numbers of the prompt, in order."""
    return tuple(map(_digits, _numbers(topic[:STRETCH])))


def _unit(match: re.Match[str], topic: str) -> str:
    """The word after a number, unless it belongs to that or only goes on with the sentence, as "and" does."""
    word = match[1] or ""
    return "" if word in _POWERS or word.lower() in languages.stopwords(detect_intent(topic).language) else word


@lru_cache(maxsize=64)
def _numbers(stretch: str) -> tuple[re.Match[str], ...]:
    """The numbers but those of houses and telephones."""
    spans = addresses(stretch) + tuple(match.span() for match in phones(stretch))
    found = _NUMBER.finditer(stretch)
    return tuple(match for match in found if not any(start <= match.start() < end for start, end in spans))


def _digits(match: re.Match[str]) -> str:
    digits = match[0][: match.start(1) - match.start()].rstrip(" \u00a0-") if match[1] else match[0]
    digits, power = digits.replace(",", ""), _POWERS.get(match[1] or "")
    return digits if power is None or len(digits) > power else str(round(float(digits) * 10**power))


def phones(topic: str) -> Iterator[re.Match[str]]:
    """The telephone numbers that cannot be mistaken for other numbers."""
    return (match for match in _PHONE.finditer(topic) if sum(map(str.isdigit, match[0])) in _PHONE_DIGITS)

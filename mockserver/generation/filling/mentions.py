"""What a prompt explicitly mentions, verbatim: places and persons, quoted texts, numbers, dates, addresses.

Only a bounded part of the prompt is read. The results are candidates: whether one is used is decided by the schema that
it has to satisfy.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from mockserver.generation import corpus
from mockserver.generation.filling import statements
from mockserver.generation.prompts.brief import brief
from mockserver.generation.terms import is_concept, stem, terms, words_in

_STRETCH = 1200
_DESCRIPTION = 80
# How many characters before a name are looked at for a preposition.
_LEAD = 24
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
# Three backticks fence code and are no quotation marks.
_QUOTED = re.compile(r"(?:[\"“„«]|(?<!`)`)([^\"“”„«»`]{1,200})(?:[\"”“»]|`(?!`))|(?<!\w)'([^'\n]{2,200})'(?!\w)")
# A unit may follow at once, and so may the next sentence of a careless prompt ("30Extract it").
_NUMBER = re.compile(
    r"(?<![\w.,#-])-?\d+(?:\.\d+)?(?!(?!(?:km|cm|mm|mi|kg|lbs?|ml|[GMT]B|px)\b|[A-Z][a-z]{2})\w|[.,-]\d)"
    r"(?:[ \u00a0-]([^\W\d_]+))?"
)
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]++@[\w-]+(?:\.[\w-]+)+\b", re.ASCII)
_URL = re.compile(r"https?://[^\s\"'<>»”)]*[^\s\"'<>»”).,;:!?]")
_CODE = re.compile(r"(?<![\w-])#?(?=[A-Za-z-]*\d)[A-Za-z\d]+(?:-[A-Za-z\d]+)*\b", re.ASCII)
_FORMULA = re.compile(
    r"(?<![\d.(])(?:\(\s*+)*+-?\d[\d.]*+(?:[\s)]*+(?:\*\*|[-+*/×÷^%])\s*+(?:\(\s*+)*+-?\d[\d.]*+)+(?:\s*+\))*"
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
# What follows the subject of a sentence, and never an imperative.
_SPOKEN_OF = re.compile(r"[ ](?:is|was|has|had|and|lives|works|wants|likes)\b|,? (?:aged )?\d{1,3}(?:[ ,.]|$)")
# Forms of answers, days and months, which are capitalized without being names.
_NOBODY = frozenset((
    "JSON", "YAML", "XML", "CSV", "HTML", "Markdown",
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
    "January", "February", "March", "July", "August", "September", "October", "November", "December",
))  # fmt: skip
# Months that are names of persons as well.
_DATED = re.compile(r"(?:April|May|June) \d")
# The unit of an age.
_YEARS = frozenset(
    map(stem, ("year", "jahre", "jahren", "ans", "años", "anni", "anos", "лет", "год", "года", "років", "рік", "роки"))
)
_UNITLESS = frozenset(
    stem(word)
    for word in ("amount", "price", "cost", "sum", "total", "count", "quantity", "number", "limit", "value", "id")
)
_PRICES = frozenset(map(stem, ("price", "cost", "amount", "total", "fare", "budget", "fee", "salary", "usd", "eur")))
_RESULTS = frozenset(map(stem, ("answer", "result", "sum", "total", "product", "value")))
_CURRENCIES = frozenset("$€£¥₽₹")
# What may stand between the items of a list.
_BETWEEN = re.compile(
    r"\s*(?:[,;、，&]\s*)?(?:(?:and|or|и|или|und|oder|et|ou|y|e|o|ve|veya|та|і|або|和|と|및|vs\.?)\s+"
    r"(?:(?:in|at|for|в|во|для|à|en|a|em|у)\s+)?)?\s*",
    re.IGNORECASE,
)
_IN = re.compile(
    r"(?:\b(?:in|at|near|to|from|for|of|в|во|из|для|aus|nach|à|de|en|em|da|a|para|su|per|з|із)\s+(?:the\s+)?)$",
    re.IGNORECASE,
)
_BY = re.compile(r"(?:\b(?:by|from|von|de|di|por|от)\s+)$", re.IGNORECASE)
# What follows the title of a work: "Inception (2010)", "The Great Gatsby was written by F. Scott Fitzgerald".
_MADE = re.compile(
    r" \((?:1[5-9]|20)\d\d\)|,? (?:(?:is|was) )?(?:an? [a-z -]{3,40} )?"
    r"(?:(?:written|directed|composed|published|released|created|painted|sung|recorded) )?by (?=[A-ZА-Я])"
)
_FROM = re.compile(r"(?:\b(?:from|из|от|von|aus|de|desde|da|dal|з|із)\s+)$", re.IGNORECASE)
_TO = re.compile(r"(?:\b(?:to|в|до|nach|zu|à|vers|a|hasta|para|до)\s+)$", re.IGNORECASE)
_AFTER_FOR = re.compile(
    r"\b(?:for|about|on|regarding|о|об|про|über|nach|sobre|su|hakkında)\s+(?!\d)(.{3,120}?)(?:[.?!\n]|$)", re.IGNORECASE
)


class Name(NamedTuple):
    """A name in a prompt, with its position."""

    text: str
    start: int
    end: int


def names(topic: str, about: frozenset[str] = frozenset()) -> tuple[Name, ...]:
    """The names in a prompt, in order. Words about the request itself (`about`, as terms) and stopwords are none."""
    return _names(topic[:_STRETCH], brief(topic).language, about)


@lru_cache(maxsize=256)
def _names(stretch: str, language: str, about: frozenset[str]) -> tuple[Name, ...]:
    stopwords = corpus.stopwords(language)
    found = [Name(_ENDING.sub("", m[0]), m.start(), m.end()) for m in _NAME.finditer(stretch)]
    found = [
        name
        for each in found
        if (name := _without_lead(each, stretch, stopwords) if _opens(stretch, each.start) else each)
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


def listed(topic: str, found: Sequence[Name]) -> tuple[str, ...]:
    """The longest list of names: those separated by nothing but commas and conjunctions."""
    best: list[Name] = []
    run: list[Name] = []
    spans = statements.addresses(topic[:_STRETCH])
    for name in found:
        if any(start <= name.start < end for start, end in spans):
            continue  # "12 Main St, Paris, France" is one address
        run = [*run, name] if run and _joins(topic, run[-1], name) else [name]
        best = max(best, run, key=len)
    texts = tuple(dict.fromkeys(name.text for name in best))
    # "Paris, France" is one place.
    alone = len(texts) == 2 and topic[best[0].end : best[1].start].strip() == ","
    return texts if len(texts) > 1 and not alone else ()


def _joins(topic: str, one: Name, other: Name) -> bool:
    """Whether what is between two names makes them items of a list."""
    gap = topic[one.end : other.start]
    return bool(gap.strip()) and _BETWEEN.fullmatch(gap) is not None


def texts_for(parameter: str, topic: str, about: frozenset[str] = frozenset(), description: str = "") -> Iterator[str]:
    """Texts of the prompt that a parameter may mean, likeliest first.

    What it means depends on its name, or else on its description; if neither is clear, there are no texts.
    """
    stretch = topic[:_STRETCH]
    yield from statements.named_value(parameter.strip(), stretch)
    for _, read in _meant(parameter) or _meant(description[:_DESCRIPTION]):
        yield from read(stretch, about)


def is_clear(parameter: str, description: str) -> bool:
    """Whether a parameter's name or description tells which texts it means."""
    return bool(_meant(parameter) or _meant(description[:_DESCRIPTION]))


@lru_cache(maxsize=4096)
def _meant(text: str) -> tuple[tuple[frozenset[str], "_Read"], ...]:
    words = words_in(text)
    return tuple(row for row in _READINGS if words & row[0])


def number_for(parameter: str, topic: str) -> Iterator[str]:
    """Numbers of the prompt that a parameter may mean: one whose unit is in its name, or years for an age; or an only
    number.

    An only number with another unit suits a parameter without a unit of its own: an amount, a price, an id.
    """
    found = _numbers(topic[:_STRETCH])
    words = set(map(stem, words_in(parameter)))
    if words & _RESULTS:
        yield from _known(topic, frozenset())
    if words & _PRICES:
        yield from (_digits(match) for match in found if topic[: match.start()].rstrip()[-1:] in _CURRENCIES)
    for match in found:
        if match[1] and (stem(match[1]) in words or ("age" in words and stem(match[1]) in _YEARS)):
            yield _digits(match)
    if len(found) == 1 and (not _unit(found[0], topic) or words & _UNITLESS):
        yield _digits(found[0])


def numbers(topic: str) -> tuple[str, ...]:
    """All numbers of the prompt, in order."""
    return tuple(map(_digits, _numbers(topic[:_STRETCH])))


def _unit(match: re.Match[str], topic: str) -> str:
    """The word after a number, unless it only goes on with the sentence, as "and" does."""
    word = match[1] or ""
    return "" if word.lower() in corpus.stopwords(brief(topic).language) else word


@lru_cache(maxsize=64)
def _numbers(stretch: str) -> tuple[re.Match[str], ...]:
    """The numbers but those of houses and telephones."""
    spans = statements.addresses(stretch) + statements.phone_spans(stretch)
    found = _NUMBER.finditer(stretch)
    return tuple(match for match in found if not any(start <= match.start() < end for start, end in spans))


def _digits(match: re.Match[str]) -> str:
    return match[0][: match.start(1) - match.start()].rstrip(" \u00a0-") if match[1] else match[0]


def _opens(topic: str, place: int) -> bool:
    """Whether a sentence begins at this place."""
    return topic[:place].rstrip("¿¡ \n\t")[-1:] in ("", ".", "!", "?", ":", "\n")


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


def _quoted(topic: str, about: frozenset[str]) -> Iterator[str]:
    return (match[1] or match[2] for match in _QUOTED.finditer(topic))


def _named(topic: str, about: frozenset[str]) -> Iterator[str]:
    """The names. Single words that begin a sentence come last, since these are always capitalized, unless a verb such
    as "is" follows."""
    found = names(topic, about)
    inner = [
        name for name in found if " " in name.text or not _opens(topic, name.start) or _SPOKEN_OF.match(topic, name.end)
    ]
    return (name.text for name in (*inner, *(name for name in found if name not in inner)))


def _led_by(lead: re.Pattern[str]) -> "_Read":
    def read(topic: str, about: frozenset[str]) -> Iterator[str]:
        found = names(topic, about)
        return (name.text for name in found if lead.search(topic[max(name.start - _LEAD, 0) : name.start]))

    return read


def _works(topic: str, about: frozenset[str]) -> Iterator[str]:
    """Titles of works that are introduced by their year or maker, with their article."""
    for name in names(topic, about):
        if _MADE.match(topic, name.end):
            article = "The " if topic[: name.start].endswith("The ") else ""
            yield article + name.text


def _matches(pattern: re.Pattern[str]) -> "_Read":
    return lambda topic, about: (match[0].strip() for match in pattern.finditer(topic))


def _codes(topic: str, about: frozenset[str]) -> Iterator[str]:
    """Words with a digit in them (A-1234, #77), plain numbers last."""
    found = [match[0].removeprefix("#") for match in _CODE.finditer(topic)]
    return iter(sorted(found, key=str.isdigit))


def _known(topic: str, about: frozenset[str]) -> Iterator[str]:
    """The answer to the prompt, if it is a question whose answer is known."""
    if not brief(topic).facts:
        return iter(())
    from mockserver.generation.prompts.facts import known  # slow to import

    fact = known(topic)
    return iter(()) if fact is None else iter((fact.answer,))


def _asked(topic: str, about: frozenset[str]) -> Iterator[str]:
    """Search queries: what follows "for" or "about", then the subject, then the whole prompt."""
    yield from (match[1].strip() for match in _AFTER_FOR.finditer(topic))
    yield brief(topic).subject
    yield topic.strip()


_Read = Callable[[str, frozenset[str]], Iterator[str]]


def _meaning(words: str) -> frozenset[str]:
    return frozenset(words.split())


# The readings for words in a parameter's name or description, in the order in which they are tried.
_READINGS: tuple[tuple[frozenset[str], _Read], ...] = (
    (_meaning("city capital answer result response output"), _known),
    (_meaning("street"), statements.address_part("street")),
    (_meaning("city town"), statements.address_part("city")),
    (_meaning("state province region"), statements.address_part("state")),
    (_meaning("country"), statements.address_part("country")),
    (_meaning("address location"), statements.address),
    (_meaning("zip zipcode postal postcode"), statements.postcodes),
    (_meaning("from origin source departure start откуда"), _led_by(_FROM)),
    (_meaning("to destination target arrival end куда"), _led_by(_TO)),
    (_meaning("email mail recipient to address sender"), _matches(_EMAIL)),
    (_meaning("url link uri website page address"), _matches(_URL)),
    (_meaning("date day when start end from to until since checkin checkout дата"), _matches(_DATE)),
    (_meaning("date day when start end since checkin checkout дата"), statements.days),
    (_meaning("time hour at when start end alarm время"), statements.times),
    (_meaning("color colour цвет"), statements.colors),
    (_meaning("repo repository"), statements.repositories),
    (_meaning("from source base"), statements.unit(1)),
    (_meaning("to target into destination"), statements.unit(2)),
    (_meaning("from source origin"), statements.end_of_way(1)),
    (_meaning("to target destination"), statements.end_of_way(2)),
    (_meaning("path file filename filepath directory dir folder script src dest"), statements.paths),
    (_meaning("expression formula equation calculation выражение"), _matches(_FORMULA)),
    (_meaning("phone telephone mobile cell cellphone fax tel whatsapp телефон"), statements.phones),
    (_meaning("id code number reference order ticket key sku account invoice tracking"), _codes),
    (
        _meaning(
            "query q search text phrase message content body title subject sentence keyword keywords name term input "
            "question topic prompt note task запрос текст сообщение"
        ),
        _quoted,
    ),
    (_meaning("message text body content note"), statements.sayings),
    (_meaning("message text title task todo reminder note content subject name"), statements.reminders),
    (_meaning("title name subject"), statements.titles),
    (_meaning("title book movie film work song track album"), _works),
    (_meaning("text phrase sentence input word content message"), statements.translated),
    (_meaning("artist author writer creator composer director band"), _led_by(_BY)),
    (_meaning("title task todo item summary subject note reminder event"), statements.items),
    (_meaning("text document passage article content input sentence paragraph message"), statements.after_colon),
    (_meaning("name product item title"), statements.priced),
    (_meaning("name names person people user username customer recipient author guest pet"), statements.persons),
    (
        _meaning("city town location place country region area destination capital where город страна место"),
        _led_by(_IN),
    ),
    (
        _meaning(
            "city cities town towns location locations place places country countries region area destination capital "
            "where name names person people user customer company companies symbol ticker product artist author team "
            "recipient participants attendees members guests timezone zone song track album movie film "
            "book город города страна место"
        ),
        _named,
    ),
    (_meaning("room place location area zone"), statements.places),
    (_meaning("query q search keyword keywords term question topic prompt input subject запрос"), _asked),
)

"""What a prompt explicitly mentions, verbatim: names, quoted texts, numbers, dates, addresses.

Only a bounded part of the prompt is read. The results are candidates: whether one is used is decided by the schema that
it has to satisfy.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from mockserver.model import corpus
from mockserver.model.extraction import statements
from mockserver.model.extraction.names import names, opens
from mockserver.model.intent import STRETCH, detect_intent
from mockserver.model.terms import stem, words_in

_DESCRIPTION = 80
# How many characters before a name are looked at for a preposition.
_LEAD = 24
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
# What follows the subject of a sentence, and never an imperative.
_SPOKEN_OF = re.compile(r"[ ](?:is|was|has|had|and|lives|works|wants|likes)\b|,? (?:aged )?\d{1,3}(?:[ ,.]|$)")
# The unit of an age.
_YEARS = frozenset(
    map(stem, ("year", "jahre", "jahren", "ans", "años", "anni", "anos", "лет", "год", "года", "років", "рік", "роки"))
)
_UNITLESS = frozenset(
    stem(word)
    for word in ("amount", "price", "cost", "sum", "total", "count", "quantity", "number", "limit", "value", "id")
)
_PRICES = frozenset(map(stem, ("price", "cost", "amount", "total", "fare", "budget", "fee", "salary", "usd", "eur")))
_CURRENCIES = frozenset("$€£¥₽₹")
_IN = re.compile(
    r"(?:\b(?:in|at|near|to|from|for|of|в|во|из|для|aus|nach|à|de|en|em|da|a|para|su|per|з|із)\s+(?:the\s+)?)$",
    re.IGNORECASE,
)
_BY = re.compile(r"(?:\b(?:by|from|von|de|di|por|от)\s+)$", re.IGNORECASE)
_FROM = re.compile(r"(?:\b(?:from|из|от|von|aus|de|desde|da|dal|з|із)\s+)$", re.IGNORECASE)
_TO = re.compile(r"(?:\b(?:to|в|до|nach|zu|à|vers|a|hasta|para|до)\s+)$", re.IGNORECASE)
_AFTER_FOR = re.compile(
    r"\b(?:for|about|on|regarding|о|об|про|über|nach|sobre|su|hakkında)\s+(?!\d)(.{3,120}?)(?:[.?!\n]|$)", re.IGNORECASE
)


def texts_for(parameter: str, topic: str, about: frozenset[str] = frozenset(), description: str = "") -> Iterator[str]:
    """Texts of the prompt that a parameter may mean, likeliest first.

    What it means depends on its name, or else on its description; if neither is clear, there are no texts.
    """
    stretch = topic[:STRETCH]
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
    found = _numbers(topic[:STRETCH])
    words = set(map(stem, words_in(parameter)))
    if words & _PRICES:
        yield from (_digits(match) for match in found if topic[: match.start()].rstrip()[-1:] in _CURRENCIES)
    for match in found:
        if match[1] and (stem(match[1]) in words or ("age" in words and stem(match[1]) in _YEARS)):
            yield _digits(match)
    if len(found) == 1 and (not _unit(found[0], topic) or words & _UNITLESS):
        yield _digits(found[0])


def numbers(topic: str) -> tuple[str, ...]:
    """All numbers of the prompt, in order."""
    return tuple(map(_digits, _numbers(topic[:STRETCH])))


def _unit(match: re.Match[str], topic: str) -> str:
    """The word after a number, unless it only goes on with the sentence, as "and" does."""
    word = match[1] or ""
    return "" if word.lower() in corpus.stopwords(detect_intent(topic).language) else word


@lru_cache(maxsize=64)
def _numbers(stretch: str) -> tuple[re.Match[str], ...]:
    """The numbers but those of houses and telephones."""
    spans = statements.addresses(stretch) + statements.phone_spans(stretch)
    found = _NUMBER.finditer(stretch)
    return tuple(match for match in found if not any(start <= match.start() < end for start, end in spans))


def _digits(match: re.Match[str]) -> str:
    return match[0][: match.start(1) - match.start()].rstrip(" \u00a0-") if match[1] else match[0]


def _quoted(topic: str, about: frozenset[str]) -> Iterator[str]:
    return (match[1] or match[2] for match in _QUOTED.finditer(topic))


def _named(topic: str, about: frozenset[str]) -> Iterator[str]:
    """The names. Single words that begin a sentence come last, since these are always capitalized, unless a verb such
    as "is" follows."""
    found = names(topic, about)
    inner = [
        name for name in found if " " in name.text or not opens(topic, name.start) or _SPOKEN_OF.match(topic, name.end)
    ]
    return (name.text for name in (*inner, *(name for name in found if name not in inner)))


def _led_by(lead: re.Pattern[str]) -> "_Read":
    def read(topic: str, about: frozenset[str]) -> Iterator[str]:
        found = names(topic, about)
        return (name.text for name in found if lead.search(topic[max(name.start - _LEAD, 0) : name.start]))

    return read


def _matches(pattern: re.Pattern[str]) -> "_Read":
    return lambda topic, about: (match[0].strip() for match in pattern.finditer(topic))


def _codes(topic: str, about: frozenset[str]) -> Iterator[str]:
    """Words with a digit in them (A-1234, #77), plain numbers last."""
    found = [match[0].removeprefix("#") for match in _CODE.finditer(topic)]
    return iter(sorted(found, key=str.isdigit))


def _asked(topic: str, about: frozenset[str]) -> Iterator[str]:
    """Search queries: what follows "for" or "about", then the subject, then the whole prompt."""
    yield from (match[1].strip() for match in _AFTER_FOR.finditer(topic))
    yield detect_intent(topic).subject
    yield topic.strip()


_Read = Callable[[str, frozenset[str]], Iterator[str]]


def _meaning(words: str) -> frozenset[str]:
    return frozenset(words.split())


# The readings for words in a parameter's name or description, in the order in which they are tried.
_READINGS: tuple[tuple[frozenset[str], _Read], ...] = (
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

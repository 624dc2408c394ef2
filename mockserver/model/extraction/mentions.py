"""What a prompt mentions, verbatim: names, quoted texts, dates, addresses, times, paths, units, persons, and
texts that the usual phrases lead to.

Only a bounded part of the prompt is read. The results are candidates, likeliest first: whether one is used is decided
by the schema that it has to satisfy.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from mockserver.model import languages
from mockserver.model.extraction.assignments import NO_KEYS, UNQUOTED, named_value
from mockserver.model.extraction.moments import MONTH
from mockserver.model.intent import STRETCH, detect_intent
from mockserver.model.terms import ADDRESS, Name, names, opens, phones, words_in

# Reads texts from a prompt; some terms, those about the request itself, are no names.
_Read = Callable[[str, frozenset[str]], Iterator[str]]

_DESCRIPTION = 80
# How many characters before a name are looked at for a preposition.
_LEAD = 24
# Three backticks fence code and are no quotation marks.
_QUOTED = re.compile(r"(?:[\"“„«]|(?<!`)`)([^\"“”„«»`]{1,200})(?:[\"”“»]|`(?!`))|(?<!\w)'([^'\n]{2,200})'(?!\w)")
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]++@[\w-]+(?:\.[\w-]+)+\b", re.ASCII)
_URL = re.compile(r"https?://[^\s\"'<>»”)]*[^\s\"'<>»”).,;:!?]")
_CODE = re.compile(r"(?<![\w-])#?(?=[A-Za-z_-]*\d)[A-Za-z\d]+(?:[_-][A-Za-z\d]+)*\b", re.ASCII)
_FORMULA = re.compile(
    r"(?<![\d.(])(?:\(\s*+)*+-?\d[\d.]*+(?:[\s)]*+(?:\*\*|[-+*/×÷^%@#&|~])\s*+(?:\(\s*+)*+-?\d[\d.]*+)+(?:\s*+\))*"
)
# "the square root of 144", "15% of 80", "7 times 8"
_WORDED_FORMULA = re.compile(
    r"\b(?:(?:square|cube) root of -?\d[\d.]*\b"
    r"|\d[\d.]* ?(?:% of|plus|minus|times|multiplied by|divided by|to the power of) -?\d(?:[\d.]*\d)?"
    r"|\d[\d.]* (?:squared|cubed)\b)",
    re.IGNORECASE,
)
_STATE = re.compile(r"[A-Z]{2}(?: \d{5})?\Z")
_COUNTRIES = frozenset(("US", "UK", "EU", "UAE"))
_POSTCODE = re.compile(r"(?<![\w$€£.,-])\d{5}(?:-\d{4})?(?![\w%]|[.,]\d)")

_UNDIVIDED_PHONE = re.compile(r"(?<![\w.,$€£+(#/-])\d{10,11}(?!\w|[.,/-]\d)")
_TIME = re.compile(
    r"\b(?:\d{1,2}(?::\d\d)? ?[ap]\.?m\b\.?|(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d)?\b|noon\b|midnight\b)", re.I
)
_DAY = re.compile(
    rf"\b(?:{MONTH}\.? \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?|\d{{1,2}}(?:st|nd|rd|th)? {MONTH}\b(?:,? \d{{4}})?"
    r"|(?:(?:next|this|last) )?(?:mon|tues|wednes|thurs|fri|satur|sun)day|the day after tomorrow|today|tonight|tomorrow"
    r"|yesterday|послезавтра|сегодня|завтра|вчера)\b",
    re.IGNORECASE,
)

# A path that begins at a root or has folders, and a file name with an extension.
_PATH = re.compile(
    r"(?<![\w/\\.:@~-])(?:(?:~|\.{1,2})?/(?:[\w.-]+/)*[\w.-]*\w/?|[A-Za-z]:\\[\w.\\-]*\w|(?:[\w-]+/)+[\w-]+(?:\.\w{1,8})+"
    r"|[\w-]{1,60}(?:\.[\w-]{1,20}){0,3}\.[A-Za-z]\w{0,5})(?![\w@])"
)
_ABBREVIATION = re.compile(r"(?:[a-z]\.)+[a-z]\Z", re.IGNORECASE)

# "jason is 25 years old"
_AGED = re.compile(r"(?<![\w'’-])([a-zà-þ][\w'’-]+) is (?:now |about )?\d{1,3} (?:years? old|yo\b)")
# "a dog named rex"
_CALLED = re.compile(
    r"\b(?:my name is|named|called|(?:user ?)?name(?: is|:)|меня зовут|по имени)\s+"
    r"([^\W\d_][\w'’-]*(?: [A-ZА-Я][\w'’-]*){0,2})"
)
# "iPhone 15 Pro costs $999"
_PRICED = re.compile(
    r"(?<![\w-])((?!(?:[Tt]he|[Aa]n?|[Ii]t|[Tt]his|[Tt]hat) )[A-Za-z][\w+-]*(?: [A-Z\d][\w+-]*){0,4}) "
    r"(?:costs?|is priced at|sells for|retails for|for (?=[$€£]))"
)

# "Order 3 pizzas", "2 packs of Green Tea for 5.50 dollars"
_COUNTED = re.compile(
    r"(?:\b(?:order|buy|purchase)(?: me| us)? (?:an?|two|three|four|five|six|ten|a dozen)"
    r"|(?:\A|, |\band |\b(?:order|buy|purchase|add|get|take|want|need|sell|reserve)(?: me| us)? )\d{1,4}) "
    r"(?:(?:more|x) )?(?:[a-z]{2,12} of )?+"
    r"(?!(?:items?|units?|pieces?|products?|things?|examples?|results?|more|of|and|or|to|people|persons?|guests?|adults?|"
    r"nights?|times?|seconds?|minutes?|hours?|days?|weeks?|months?|years?|dollars?|euros?|percent|degrees?|tables?|flights?|"
    r"rooms?|seats?|tickets?|(?-i:[A-Z]{3}))\b)"
    r"([^\W\d_][\w'’-]*(?: (?!(?:for|at|to|from|on|in|by|with|and|or|please|each|per|as|of)\b)[^\W\d_][\w'’-]*){0,3})",
    re.IGNORECASE,
)
# "Is Lima in Peru?", "in Lyon, France"
_NAMED_PLACE = r"([A-ZÀ-Þ][\w'’-]{1,40}(?: [A-ZÀ-Þ][\w'’-]{1,40}){0,3})"
_WITHIN = re.compile(rf"\b(?:[Ii]s|[Ww]hether|[Ii]f|[Tt]hat) {_NAMED_PLACE} (?:is |located |lies )?in {_NAMED_PLACE}")
_CAPITAL = re.compile(rf"\b{_NAMED_PLACE},? (?:is |was )?the capital (?:city )?of {_NAMED_PLACE}")
# "Senior Engineer at Google"
_JOB = re.compile(r"(?<!\w)([A-ZÀ-Þ]\w+(?: [A-ZÀ-Þ]\w+){0,3}) (?:at|for) (?=[A-ZÀ-Þ])")
_IN_COUNTRY = re.compile(rf"\b{_NAMED_PLACE}(?:, | (?:is |located |lies )?in ){_NAMED_PLACE}")
# "in French", "translate it to Frisian"
_INTO_LANGUAGE = re.compile(
    r"(?:\b(?:in|into|to|auf|en|and)|,) ((?:[A-Z][a-z]+ )?(?:English|Spanish|French|German|Italian|Portuguese|Dutch|"
    r"Polish|Swedish|Norwegian|Danish|Finnish|Greek|Russian|Ukrainian|Czech|Slovak|Hungarian|Romanian|Bulgarian|Serbian|Croatian|"
    r"Turkish|Arabic|Hebrew|Persian|Hindi|Urdu|Bengali|Tamil|Thai|Vietnamese|Indonesian|Malay|Chinese|Mandarin|Cantonese|"
    r"Japanese|Korean|Swahili|Latin))\b"
)
_TRANSLATED_TO = re.compile(r"\b[Tt]ranslate\b[^\n]{1,200}? (?:in)?to ([A-Z]\w+)")

_COLOR = re.compile(
    r"\b(?:(?:dark|light|bright|pale|deep)[ -])?(?:black|white|red|green|blue|yellow|orange|purple|pink|brown|gr[ae]y|"
    r"gold|silver|violet|turquoise|beige|blonde?|crimson|navy|teal)\b",
    re.IGNORECASE,
)
# "5 km to miles", "100 USD in EUR".
_UNIT = (
    r"((?:(?:kilo|centi|milli)?met(?:er|re)|km|cm|mm|m|mile|mi|yard|yd|foot|feet|ft|inche?|(?:kilo|milli)?gram|kg|mg|g|pound|"
    r"lb|ounce|oz|ton|(?:milli)?lit(?:er|re)|ml|l|gallon|cup|celsius|fahrenheit|kelvin|hour|minute|second|day|week|mph|"
    r"dollar|euro|yen|ruble)s?|°?[CFK]|[A-Z]{3})"
)
_CONVERSION = re.compile(rf"(?<![\w.,])\d[\d.,]*+ ?(?:degrees )?{_UNIT} (?:to|in|into|as) (?:degrees )?{_UNIT}\b")

# "the kitchen lights", and "in the kitchen", which are no names
_ROOM = re.compile(
    r"\b(?:(?:living|dining|guest|laundry|meeting|conference|kids|bath|bed) ?room|kitchen|hallway|hall|garage|basement|"
    r"attic|cellar|nursery|study|office|porch|patio|balcony|garden)\b",
    re.IGNORECASE,
)
_WHERE = re.compile(r"\b(?:in|at|inside|into|for) (?:the|my|our) ([a-z]+(?: (?:room|floor|area|office|hall))?)\b")
_NO_PLACES = frozenset((
    "morning", "afternoon", "evening", "night", "day", "week", "month", "year", "world", "moment", "time", "end",
    "same", "future", "past", "first", "second", "last", "next", "following", "text", "sentence", "user", "name", "way",
    "most", "beginning", "meantime", "answer", "form", "format", "order", "case", "data", "message", "document", "tool",
))  # fmt: skip

# "a message saying hi"
_SAYING = re.compile(
    rf"\b(?:saying|(?:that|which) (?:says|reads)|to say|with the (?:text|message|body|content))(?: that)?:? {UNQUOTED}"
    r"([^\n]{1,300}?)(?=[.!?]?\s*(?:\n|$)|[.!?] )"
)
# The text after an order that ends in a colon, "Summarize this: ...". Without quotation marks before the colon, which
# would be a quoted text or JSON.
_AFTER_COLON = re.compile(rf"\A\s*+[^:\n\"{{}}]{{2,80}}?[^\W\d_][)]?: {{0,3}}\n?{UNQUOTED}(\S.*)\Z", re.DOTALL)
# "Create a task: Fix the login, high priority"
_ITEM = re.compile(
    rf"\b(?:task|to-?do|reminder|ticket|issue|event|meeting|item|note|story|bug)\b[^:\n.\"{{}}]{{0,20}}: {{0,3}}"
    rf"{UNQUOTED}([^\n.,;(]{{2,120}})",
    re.IGNORECASE,
)

# "Remind me to buy milk at 6 pm"
_REMINDED = re.compile(
    r"\bremind (?:me|us) (?:to|about|of) ([^\n]{2,120}?)(?= (?:at|on|in|by|before|after"
    r"|tomorrow|today|tonight|every|next)\b|[.,;!?]|\s*$)",
    re.IGNORECASE,
)
# "a note titled Shopping"
_TITLED = re.compile(
    rf"\b(?:titled|entitled|called|named|with (?:the )?title) {NO_KEYS}{UNQUOTED}([^\n]{{2,120}}?)"
    r"(?= (?:in|on|with|for|at|and|to|from|today|tonight|tomorrow|by)\b|[.,;!?]|\s*$)",
    re.IGNORECASE,
)
# "Add buy milk to my todo list"
_ADDED = re.compile(
    rf"\b(?:add|put) (?:the |an? )?{UNQUOTED}([^\n]{{2,80}}?) (?:to|on|in) (?:my|our|the) [\w -]{{0,20}}"
    r"(?:list|cart|basket|calendar|queue|playlist|agenda)\b",
    re.IGNORECASE,
)
# "Translate good morning to Spanish"
_TRANSLATED = re.compile(
    rf"\btranslate (?:the (?:text|phrase|sentence|word|following)s? )?{UNQUOTED}([^\n]{{1,200}}?) (?:in)?to [A-Z]",
    re.I,
)
# "because it was damaged"
_BECAUSE = re.compile(r"\b(?:because(?: of)?|due to) ([^\n.;!?]{2,120})", re.IGNORECASE)
# "some jazz"
_SOME = re.compile(r"\b(?:some|any|more) ([a-z]{3,20})\b")
# "with mushrooms and olives", "add milk, eggs and bread"
_MEMBER = r"(?!(?:the|an?|my|our)\b)[a-z][a-z-]{2,20}(?: [a-z][a-z-]{2,20})?"
_MEMBERS = re.compile(
    rf"(?i:\b(?:with|add|buy|order|include))(?: some| extra)? ({_MEMBER}(?:, {_MEMBER})*,? and {_MEMBER}?)\b"
)
# "from checking to savings"
_FROM_TO = re.compile(r"\bfrom (?:the |my )?([\w-]+)(?: account)? to (?:the |my )?([\w-]+)", re.IGNORECASE)
# "acme/web"
_REPOSITORY = re.compile(r"(?<![\w/.:-])[\w.-]+/[\w.-]*\w(?![\w/])")


# What follows the subject of a sentence, and never an imperative.
_SPOKEN_OF = re.compile(r"[ ](?:is|was|has|had|and|lives|works|wants|likes)\b|,? (?:aged )?\d{1,3}(?:[ ,.]|$)")


_QUESTION = re.compile(r"\s*(?:who|when|where|why|how)\b[^\n.!?]*\?\s*\Z", re.IGNORECASE)


def _lead(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?:\b(?:{words})\s+)$", re.IGNORECASE)


_IN = _lead("(?:in|at|near|to|from|for|of|в|во|из|для|aus|nach|à|de|en|em|da|a|para|su|per|з|із)(?: the)?")
_AT = _lead("at|for")
_ASSIGNED = _lead("assign(?:ed)?(?: (?:it|this))? to")
_BY = _lead("by|from|von|de|di|por|от")
_FROM = _lead("from|из|от|von|aus|de|desde|da|dal|з|із")
_TO = _lead("to|into|в|до|nach|zu|à|vers|a|hasta|para|до")
_AFTER_FOR = re.compile(
    r"\b(?:for|about|on|regarding|о|об|про|über|nach|sobre|su|hakkında)\s+(?!\d)(.{3,120}?)(?:[.?!\n]|$)", re.IGNORECASE
)


def texts_for(parameter: str, topic: str, about: frozenset[str] = frozenset(), description: str = "") -> Iterator[str]:
    """Texts of the prompt that a parameter may mean, likeliest first.

    What it means depends on its name, or else on its description; if neither is clear, there are no texts.
    """
    stretch = topic[:STRETCH]
    yield from named_value(parameter.strip(), stretch)
    for read in _meant(parameter[:_DESCRIPTION]) or _meant(description[:_DESCRIPTION]):
        yield from read(stretch, about)


def is_clear(parameter: str, description: str) -> bool:
    """Whether a parameter's name or description tells which texts it means."""
    return bool(_meant(parameter[:_DESCRIPTION]) or _meant(description[:_DESCRIPTION]))


@lru_cache(maxsize=4096)
def _meant(text: str) -> tuple[_Read, ...]:
    words = words_in(text)
    words = words.union(word.removesuffix("s") for word in words)
    words = words.union(f"{part}name" for part in ("first", "last") if {part, "name"} <= words)
    # A "departure date" is a date, wherever the departure is.
    words = words & _TIMES or words
    return tuple(read for meant, read in _READINGS if words & meant)


def _named(topic: str, about: frozenset[str]) -> Iterator[str]:
    """The names. Single words that begin a sentence come last, since these are always capitalized, unless a verb such
    as "is" follows."""

    def may_be_none(name: Name) -> bool:
        return " " not in name.text and opens(topic, name.start) and _SPOKEN_OF.match(topic, name.end) is None

    return (name.text for name in sorted(names(topic, about), key=may_be_none))


def _led_by(lead: re.Pattern[str]) -> _Read:
    def read(topic: str, about: frozenset[str]) -> Iterator[str]:
        found = names(topic, about)
        return (name.text for name in found if lead.search(topic[max(name.start - _LEAD, 0) : name.start]))

    return read


def _matches(pattern: re.Pattern[str], group: int = 0) -> _Read:
    return lambda topic, about: (match[group].strip() for match in pattern.finditer(topic))


def _address_part(name: str) -> _Read:
    """Reads the `street`, `city`, `state` or `country` of addresses."""

    def read(topic: str, about: frozenset[str]) -> Iterator[str]:
        for match in ADDRESS.finditer(topic):
            street, city, *rest = (part.strip() for part in match[0].split(","))
            parts = {"street": street, "city": city}
            if rest and _STATE.match(rest[0]) and rest[0] not in _COUNTRIES:
                parts["state"] = rest.pop(0)[:2]
            elif len(rest) > 1:
                parts["state"] = rest.pop(0)
            if rest:
                parts["country"] = rest[-1]
            if name in parts:
                yield parts[name]

    return read


def _name_part(place: int) -> _Read:
    """Reads the first or the last word of the names that have several."""
    return lambda topic, about: (words[place] for name in _named(topic, about) if len(words := name.split()) > 1)


def _all_phones(topic: str, about: frozenset[str]) -> Iterator[str]:
    """Telephone numbers: +44 20 7946 0958, (555) 123-4567; last those that are not divided into groups."""
    yield from (match[0] for match in phones(topic))
    yield from (match[0] for match in _UNDIVIDED_PHONE.finditer(topic))


def _persons(topic: str, about: frozenset[str]) -> Iterator[str]:
    """Those whom the prompt introduces by name, also in lower case: "jason is 25 years old", "a dog named rex"."""
    for pattern in (_CALLED, _AGED):
        yield from (match[1] for match in pattern.finditer(topic) if match[1].lower() not in languages.stopwords("en"))


def _paths(topic: str, about: frozenset[str]) -> Iterator[str]:
    return (match[0] for match in _PATH.finditer(topic) if not _ABBREVIATION.match(match[0]))


def _places(topic: str, about: frozenset[str]) -> Iterator[str]:
    return (match[1] for match in _WHERE.finditer(topic) if match[1] not in _NO_PLACES)


def _codes(topic: str, about: frozenset[str]) -> Iterator[str]:
    """Words with a digit in them (A-1234, #77), plain numbers last."""
    found = [match[0].removeprefix("#") for match in _CODE.finditer(topic)]
    return iter(sorted(found, key=str.isdigit))


def _members(topic: str, about: frozenset[str]) -> Iterator[str]:
    return (each for found in _MEMBERS.finditer(topic) for each in re.split(r",? and |, ", found[1]))


def _asked(topic: str, about: frozenset[str]) -> Iterator[str]:
    """Search queries: a question, or what follows "for" or "about", then the subject, then the whole prompt."""
    if _QUESTION.match(topic):
        yield topic.strip().rstrip("?")
    yield from (match[1].strip() for match in _AFTER_FOR.finditer(topic))
    yield detect_intent(topic).subject
    yield topic.strip()


# The readings for words in a parameter's name or description, in the order in which they are tried.
_ROWS: tuple[tuple[str, _Read], ...] = (
    ("firstname forename", _name_part(0)),
    ("lastname surname", _name_part(-1)),
    ("street", _address_part("street")),
    ("city town", _address_part("city")),
    ("state province region", _address_part("state")),
    ("country", _address_part("country")),
    ("city town capital", _matches(_CAPITAL, 1)),
    ("country", _matches(_CAPITAL, 2)),
    ("title job position role occupation profession", _matches(_JOB, 1)),
    ("company employer organization organisation", _led_by(_AT)),
    ("vendor supplier seller merchant sender", _led_by(_FROM)),
    ("city town", _matches(_WITHIN, 1)),
    ("country", _matches(_IN_COUNTRY, 2)),
    ("from origin source departure start откуда", _led_by(_FROM)),
    ("to destination target arrival end куда", _led_by(_TO)),
    ("language lang", _matches(_INTO_LANGUAGE, 1)),
    ("language lang", _matches(_TRANSLATED_TO, 1)),
    ("address location", _matches(ADDRESS)),
    ("zip zipcode postal postcode", _matches(_POSTCODE)),
    ("email mail recipient to address sender", _matches(_EMAIL)),
    ("url link uri website page address", _matches(_URL)),
    ("date day when start end from to until since check checkin checkout дата", _matches(_DATE)),
    ("date day when start end since check checkin checkout дата", _matches(_DAY)),
    ("time hour at when start end alarm время", _matches(_TIME)),
    ("color colour цвет", _matches(_COLOR)),
    ("repo repository", _matches(_REPOSITORY)),
    ("from source base", _matches(_CONVERSION, 1)),
    ("to target into destination", _matches(_CONVERSION, 2)),
    ("from source origin", _matches(_FROM_TO, 1)),
    ("to target destination", _matches(_FROM_TO, 2)),
    ("path file filename filepath directory dir folder script src dest", _paths),
    ("expression formula equation calculation выражение", _matches(_FORMULA)),
    ("expression formula equation calculation выражение", _matches(_WORDED_FORMULA)),
    ("phone telephone mobile cell cellphone fax tel whatsapp телефон", _all_phones),
    ("id code number reference order ticket key sku account invoice tracking", _codes),
    (
        "query q search text phrase message content body title subject sentence keyword keywords name term input "
        "question topic prompt note task запрос текст сообщение",
        lambda topic, about: (match[1] or match[2] for match in _QUOTED.finditer(topic)),
    ),
    ("message text body content note", _matches(_SAYING, 1)),
    ("message text title task todo reminder note content subject name", _matches(_REMINDED, 1)),
    ("title name subject", _matches(_TITLED, 1)),
    ("item task todo product title song name", _matches(_ADDED, 1)),
    ("text phrase sentence input word content message", _matches(_TRANSLATED, 1)),
    ("reason cause why justification explanation", _matches(_BECAUSE, 1)),
    ("genre style", _matches(_SOME, 1)),
    ("items toppings ingredients products things extras", _members),
    ("artist author writer creator composer director band", _led_by(_BY)),
    ("title task todo item summary subject note reminder event", _matches(_ITEM, 1)),
    ("text document passage article content input sentence paragraph message", _matches(_AFTER_COLON, 1)),
    ("name product item title", _matches(_PRICED, 1)),
    ("product item items goods food dish article", _matches(_COUNTED, 1)),
    ("name names person people user username customer recipient author guest pet", _persons),
    ("assignee owner responsible", _led_by(_ASSIGNED)),
    ("city town location place country region area destination capital where город страна место", _led_by(_IN)),
    (
        "city cities town towns location locations place places country countries region area destination capital "
        "where name names person people user customer company companies symbol ticker product artist author team "
        "vendor supplier seller merchant organization organisation employer publisher assignee owner responsible "
        "recipient participants attendees members guests timezone zone song track album movie film "
        "book hotel restaurant город города страна место",
        _named,
    ),
    ("room place location area zone", _places),
    ("room place location area zone", _matches(_ROOM)),
    # What is passed on to another agent is the whole request.
    ("input request task instruction instructions", lambda topic, about: iter((topic.strip(),))),
    ("query q search keyword keywords term question topic prompt subject запрос", _asked),
)
_TIMES = frozenset(("date", "day", "time", "hour", "дата", "время"))
_READINGS = tuple((frozenset(words.split()), read) for words, read in _ROWS)

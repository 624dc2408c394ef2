"""What a prompt states in the usual phrases: addresses, telephone numbers, times, days, paths, colors, units, persons,
texts after a colon, and whether something is so.

Each function reads a bounded part of the prompt and returns candidates, likeliest first, as those of `mentions.py` do
for names and numbers; whether one is used is decided by the schema that it has to satisfy.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from mockserver.model import corpus
from mockserver.model.terms import words_in

# A part of an address: "Main St", "New York".
_PLACE = r"[A-ZÀ-Þ][\w.'’-]*(?: [A-ZÀ-Þ][\w.'’-]*){0,3}"
_ADDRESS = re.compile(rf"\b\d{{1,5}}[A-Za-z]? {_PLACE}(?:, ?{_PLACE}(?: \d{{5}})?){{1,3}}")
_STATE = re.compile(r"[A-Z]{2}(?: \d{5})?\Z")
_COUNTRIES = frozenset(("US", "UK", "EU", "UAE"))
_POSTCODE = re.compile(r"(?<![\w$€£.,-])\d{5}(?:-\d{4})?(?![\w%]|[.,]\d)")

# An international number, one with an area code in parentheses, or a local one whose groups are joined by hyphens, by
# dots, or after a leading zero by spaces.
_PHONE = re.compile(
    r"(?<![\w.,$€£+(#/-])(?:\+\d{1,3}[ .-]?(?:\(\d{1,5}\)[ .-]?)?\d{1,12}(?:[ .-]\d{2,5}){0,4}"
    r"|(?:\d{1,2}[ .-]?)?\(\d{3,5}\)[ -]?\d{2,4}(?:[ -]\d{2,4}){1,2}"
    r"|(?:\d-)?\d{3}-\d{3}-(?:\d{4}|\d\d-\d\d)|\d{3}-(?:\d{4}|\d\d-\d\d)|\d{3}\.\d{3}\.\d{4}"
    r"|0\d{1,4}(?: \d{2,8}){1,4})(?!\w|[.,/-]\d)"
)
_UNDIVIDED_PHONE = re.compile(r"(?<![\w.,$€£+(#/-])\d{10,11}(?!\w|[.,/-]\d)")
_PHONE_DIGITS = range(7, 16)

_TIME = re.compile(
    r"\b(?:\d{1,2}(?::\d\d)? ?[ap]\.?m\b\.?|(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d)?\b|noon\b|midnight\b)", re.I
)
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)"
)
_DAY = re.compile(
    rf"\b(?:{_MONTH}\.? \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?|\d{{1,2}}(?:st|nd|rd|th)? {_MONTH}\b(?:,? \d{{4}})?"
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

_AGED = re.compile(r"(?<![\w'’-])([a-zà-þ][\w'’-]+) is (?:now |about )?\d{1,3} (?:years? old|yo\b)")
_CALLED = re.compile(
    r"\b(?:my name is|named|called|(?:user ?)?name(?: is|:)|меня зовут|по имени)\s+"
    r"([^\W\d_][\w'’-]*(?: [A-ZА-Я][\w'’-]*){0,2})"
)
_PRICED = re.compile(
    r"(?<![\w-])((?!(?:[Tt]he|[Aa]n?|[Ii]t|[Tt]his|[Tt]hat) )[A-Za-z][\w+-]*(?: [A-Z\d][\w+-]*){0,4}) "
    r"(?:costs?|is priced at|sells for|retails for|for (?=[$€£]))"
)

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

_WHERE = re.compile(r"\b(?:in|at|inside|into|for) (?:the|my|our) ([a-z]+(?: (?:room|floor|area|office|hall))?)\b")
_NO_PLACES = frozenset((
    "morning", "afternoon", "evening", "night", "day", "week", "month", "year", "world", "moment", "time", "end",
    "same", "future", "past", "first", "second", "last", "next", "following", "text", "sentence", "user", "name", "way",
    "most", "beginning", "meantime", "answer", "form", "format", "order", "case", "data", "message", "document", "tool",
))  # fmt: skip

_UNQUOTED = r"(?![\"'“„«`])"
# Keys of an object may be listed, as in "JSON with title and year".
_NO_KEYS = r"(?!(?:and|or)\b)"
_SAYING = re.compile(
    rf"\b(?:saying|(?:that|which) (?:says|reads)|to say|with the (?:text|message|body|content))(?: that)?:? {_UNQUOTED}"
    r"([^\n]{1,300}?)(?=[.!?]?\s*(?:\n|$)|[.!?] )"
)
# Without quotation marks before the colon, which would be a quoted text or JSON.
_AFTER_COLON = re.compile(rf"\A[^:\n\"{{}}]{{2,80}}?[^\W\d_][)]?: {{0,3}}\n?{_UNQUOTED}(\S.*)\Z", re.DOTALL)
_ITEM = re.compile(
    rf"\b(?:task|to-?do|reminder|ticket|issue|event|meeting|item|note|story|bug)\b[^:\n.\"{{}}]{{0,20}}: {{0,3}}"
    rf"{_UNQUOTED}([^\n.,;(]{{2,120}})",
    re.IGNORECASE,
)

_REMINDED = re.compile(
    r"\bremind (?:me|us) (?:to|about|of) ([^\n]{2,120}?)(?= (?:at|on|in|by|before|after"
    r"|tomorrow|today|tonight|every|next)\b"
    r"|[.,;!?]|\s*$)",
    re.IGNORECASE,
)
_TITLED = re.compile(
    rf"\b(?:titled|entitled|with (?:the )?title) {_NO_KEYS}{_UNQUOTED}([^\n]{{2,120}}?)"
    r"(?= (?:in|on|with|for|at|and|to)\b|[.,;!?]|\s*$)",
    re.IGNORECASE,
)
_TRANSLATED = re.compile(
    rf"\btranslate (?:the (?:text|phrase|sentence|word|following)s? )?{_UNQUOTED}([^\n]{{1,200}}?) (?:in)?to [A-Z]",
    re.I,
)
_FROM_TO = re.compile(r"\bfrom (?:the |my )?([\w-]+)(?: account)? to (?:the |my )?([\w-]+)", re.IGNORECASE)
_REPOSITORY = re.compile(r"(?<![\w/.:-])[\w.-]+/[\w.-]*\w(?![\w/])")

_Finder = Callable[[str, frozenset[str]], Iterator[str]]

# Words for what is so, and for what is not, by words of a property's name.
_STATES: tuple[tuple[frozenset[str], frozenset[str], frozenset[str]], ...] = tuple(
    (frozenset(names.split()), frozenset(so.split()), frozenset(not_so.split()))
    for names, so, not_so in (
        ("stock available availability", "available stock", "unavailable sold"),
        (
            "on enabled enable state active activate activated",
            "on enable enabled activate active",
            "off disable disabled deactivate inactive",
        ),
        ("open opened", "open opened", "closed close shut"),
        ("locked lock", "lock locked", "unlock unlocked"),
        ("married", "married", "single unmarried divorced"),
        ("urgent", "urgent urgently asap immediately", ""),
        ("done completed complete finished", "done completed finished", "pending unfinished incomplete"),
    )
)
_NEGATED = re.compile(
    r"\b(?:not|no|never|without|isn['’]t|aren['’]t|wasn['’]t|doesn['’]t|don['’]t|out of|no longer)((?: [^\W_]+){1,3})",
    re.IGNORECASE,
)

# "Generate three profiles": a number of things in the plural that are to be made.
_NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_WANTED = re.compile(
    r"\b(?:generate|create|list|give|make|provide|write|invent|suggest|propose|name|come up with|return|produce|show|"
    r"need|want|find|recommend|draft)\b(?: (?:me|us|a list of|exactly|at least|the|up))*"
    rf" (\d{{1,2}}|{'|'.join(_NUMBERS)}) "
    r"(?!(?:year|day|hour|minute|word|sentence|character|line|time)s?\b)"
    r"(?:[a-z][\w-]* ){0,3}?(?:[a-z][\w-]*s|people|children|men|women)\b",
    re.IGNORECASE,
)
_MOST_WANTED = 20


def addresses(topic: str) -> tuple[tuple[int, int], ...]:
    """Where the prompt has addresses such as "123 Main St, Springfield, USA"."""
    return tuple(match.span() for match in _ADDRESS.finditer(topic))


def address(topic: str, about: frozenset[str]) -> Iterator[str]:
    """Whole addresses."""
    return (match[0] for match in _ADDRESS.finditer(topic))


def address_part(name: str) -> _Finder:
    """Reads the `street`, `city`, `state` or `country` of addresses."""

    def find(topic: str, about: frozenset[str]) -> Iterator[str]:
        return (parts[name] for parts in map(_parts, address(topic, about)) if name in parts)

    return find


def _parts(text: str) -> dict[str, str]:
    street, city, *rest = (part.strip() for part in text.split(","))
    parts = {"street": street, "city": city}
    if rest and _STATE.match(rest[0]) and rest[0] not in _COUNTRIES:
        parts["state"] = rest.pop(0)[:2]
    elif len(rest) > 1:
        parts["state"] = rest.pop(0)
    return {**parts, "country": rest[-1]} if rest else parts


def postcodes(topic: str, about: frozenset[str]) -> Iterator[str]:
    """Numbers of five digits, as ZIP codes are."""
    return (match[0] for match in _POSTCODE.finditer(topic))


def phone_spans(topic: str) -> tuple[tuple[int, int], ...]:
    """Where the prompt has telephone numbers that cannot be mistaken for other numbers."""
    return tuple(match.span() for match in _PHONE.finditer(topic) if _is_phone(match[0]))


def phones(topic: str, about: frozenset[str]) -> Iterator[str]:
    """Telephone numbers: +44 20 7946 0958, (555) 123-4567; last those that are not divided into groups."""
    yield from (topic[start:end] for start, end in phone_spans(topic))
    yield from (match[0] for match in _UNDIVIDED_PHONE.finditer(topic))


def _is_phone(text: str) -> bool:
    return sum(map(str.isdigit, text)) in _PHONE_DIGITS


def times(topic: str, about: frozenset[str]) -> Iterator[str]:
    """Times of day: 7am, 15:30, noon."""
    return (match[0] for match in _TIME.finditer(topic))


def days(topic: str, about: frozenset[str]) -> Iterator[str]:
    """Dates in words: May 5, tomorrow, next Monday."""
    return (match[0] for match in _DAY.finditer(topic))


def paths(topic: str, about: frozenset[str]) -> Iterator[str]:
    """Paths and file names: /tmp, src/main.py, notes.txt."""
    return (match[0] for match in _PATH.finditer(topic) if not _ABBREVIATION.match(match[0]))


def colors(topic: str, about: frozenset[str]) -> Iterator[str]:
    """Names of colors."""
    return (match[0] for match in _COLOR.finditer(topic))


def unit(place: int) -> _Finder:
    """Reads the unit from which (1), or to which (2), an amount is to be converted."""
    return lambda topic, about: (match[place] for match in _CONVERSION.finditer(topic))


def persons(topic: str, about: frozenset[str]) -> Iterator[str]:
    """Those whom the prompt introduces by name, also in lower case: "jason is 25 years old", "a dog named rex"."""
    stopwords = corpus.stopwords("en")
    for pattern in (_CALLED, _AGED):
        yield from (match[1] for match in pattern.finditer(topic) if match[1].lower() not in stopwords)


def priced(topic: str, about: frozenset[str]) -> Iterator[str]:
    """What has a price: "iPhone 15 Pro costs $999"."""
    return (match[1] for match in _PRICED.finditer(topic))


def places(topic: str, about: frozenset[str]) -> Iterator[str]:
    """Places that are no names: "in the kitchen"."""
    return (match[1] for match in _WHERE.finditer(topic) if match[1] not in _NO_PLACES)


def sayings(topic: str, about: frozenset[str]) -> Iterator[str]:
    """What a message is to say: "a message saying hi"."""
    return (match[1].strip() for match in _SAYING.finditer(topic))


def items(topic: str, about: frozenset[str]) -> Iterator[str]:
    """What a task, an event or the like is: "Create a task: Fix the login, high priority"."""
    return (match[1].strip() for match in _ITEM.finditer(topic))


def reminders(topic: str, about: frozenset[str]) -> Iterator[str]:
    """What someone wants to be reminded of: "Remind me to buy milk at 6 pm"."""
    return (match[1] for match in _REMINDED.finditer(topic))


def titles(topic: str, about: frozenset[str]) -> Iterator[str]:
    """Titles without quotation marks: "a note titled Shopping"."""
    return (match[1] for match in _TITLED.finditer(topic))


def translated(topic: str, about: frozenset[str]) -> Iterator[str]:
    """What is to be translated: "Translate good morning to Spanish"."""
    return (match[1] for match in _TRANSLATED.finditer(topic))


def end_of_way(place: int) -> _Finder:
    """Reads where something comes from (1), or where it goes (2), by a word: "from checking to savings"."""
    return lambda topic, about: (match[place] for match in _FROM_TO.finditer(topic))


def repositories(topic: str, about: frozenset[str]) -> Iterator[str]:
    """Repositories with their owners: "acme/web"."""
    return (match[0] for match in _REPOSITORY.finditer(topic))


def named_value(name: str, topic: str) -> Iterator[str]:
    """What follows the name of a property: "with the subject Hello and the body See you"."""
    if (
        len(name) < 3
        or not name.isidentifier()
        or name.lower().replace("_", " ") not in topic.lower().replace("_", " ")
    ):
        return iter(())
    spelled = name.replace("_", "[_ ]")
    found = re.finditer(
        rf"\b(?:with|and) (?:the |an? )?{spelled}(?: of| is|:)? {_NO_KEYS}{_UNQUOTED}([^\n]{{1,120}}?)"
        r"(?= and (?:the|an?|with)\b|[.,;!?](?:\s|$)|\s*\n|\s*$)",
        topic,
        re.IGNORECASE,
    )
    return (match[1] for match in found)


def after_colon(topic: str, about: frozenset[str]) -> Iterator[str]:
    """The text after an order that ends in a colon: "Summarize this: ..."."""
    match = _AFTER_COLON.match(topic.strip())
    return iter(()) if match is None else iter((match[1].strip(),))


def truth(name: str, topic: str) -> bool | None:
    """Whether what a property is named after is so, as far as the prompt says it in words; None if it does not."""
    wanted = words_in(name)
    row = next((row for row in _STATES if row[0] & wanted), None)
    if row is None:
        return None
    _, so, not_so = row
    said, negated = _said(topic)
    if said & not_so:
        return bool(negated & not_so)
    return not negated & so if said & so else None


@lru_cache(maxsize=64)
def _said(topic: str) -> tuple[frozenset[str], frozenset[str]]:
    """The words of a prompt, and those of them that it negates."""
    negated = (words_in(match[1]) for match in _NEGATED.finditer(topic))
    return words_in(topic), frozenset().union(*negated)


def wanted_items(topic: str) -> int | None:
    """How many things a prompt asks to make: "Generate three profiles"; None if it names no number."""
    match = _WANTED.search(topic)
    if match is None:
        return None
    count = int(match[1]) if match[1].isdigit() else _NUMBERS.index(match[1].lower()) + 2
    return count if 0 < count <= _MOST_WANTED else None

"""Plausible values: what a property's name, or its description, says that it holds.

A name is read word by word (`customerEmail` and `customer_email` alike): two words together tell more than one, and the
last word more than those before it. Every maker takes a `Setting`.
"""

import re
from collections.abc import Callable
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

from mockserver.core.seeding import Draws
from mockserver.model import corpus
from mockserver.model.records import record


@cache
def words(table: str, language: str) -> tuple[str, ...]:
    """The words of a table in a language, or in English. Raises KeyError when there is no such table."""
    tables = _tables()
    return tables.get((table, language)) or tables[table, "en"]


@cache
def _tables() -> dict[tuple[str, str], tuple[str, ...]]:
    tables = {}
    for line in (files("mockserver.model.schema") / "words.txt").read_text("utf-8").splitlines():
        place, marked, alternatives = line.partition(": ")
        if marked and not line.startswith("#"):
            table, language = place.split()
            tables[table, language] = tuple(alternatives.split("|"))
    return tables


class Setting(NamedTuple):
    """Where a value stands: the name it has, what is said about it, and the language and subject of the answer."""

    draws: Draws
    name: str
    about: str
    language: str
    subject: str

    def word(self, table: str) -> str:
        """A word of a table, in the language."""
        return self.draws.pick(words(table, self.language))

    def english(self, table: str) -> str:
        """A word of a table that stays English, as in an address."""
        return self.draws.pick(words(table, "en"))


Maker = Callable[[Setting], str]

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_DOMAINS = ("example.com", "example.org", "example.net")
_DIGITS = "0123456789"
_HEX = "0123456789abcdef"
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"


def _table(name: str) -> Maker:
    return lambda setting: setting.word(name)


def _slug(setting: Setting) -> str:
    return f"{setting.english('tag')}-{setting.english('category')}".lower()


def _email(setting: Setting) -> str:
    person = f"{setting.english('first_name')}.{setting.english('last_name')}".lower()
    return f"{person}@{setting.draws.pick(_DOMAINS)}"


def _username(setting: Setting) -> str:
    return f"{setting.english('first_name').lower()}{10 + setting.draws.below(90)}"


def _host(setting: Setting) -> str:
    return f"{setting.english('category').lower()}.{setting.draws.pick(_DOMAINS)}"


def _url(setting: Setting) -> str:
    return f"https://www.{setting.draws.pick(_DOMAINS)}/{_slug(setting)}"


def _image(setting: Setting) -> str:
    return f"https://images.example.com/{_slug(setting)}.jpg"


def date(setting: Setting) -> str:
    """A day of the years 2023 to 2025."""
    draws = setting.draws
    return f"{2023 + draws.below(3)}-{1 + draws.below(12):02}-{1 + draws.below(28):02}"


def time(setting: Setting) -> str:
    """A time of day, in UTC."""
    return f"{7 + setting.draws.below(13):02}:{setting.draws.below(60):02}:{setting.draws.below(60):02}Z"


def moment(setting: Setting) -> str:
    """A day and its time, as RFC 3339 writes them."""
    return f"{date(setting)}T{time(setting)}"


def _clock(setting: Setting) -> str:
    return time(setting)[:5]


def uuid(setting: Setting, version: int = 4) -> str:
    """A random UUID that says it is of a version."""
    draws = setting.draws
    parts = [draws.spell(_HEX, count) for count in (8, 4, 3, 3, 12)]
    return f"{parts[0]}-{parts[1]}-{version}{parts[2]}-{draws.pick('89ab')}{parts[3]}-{parts[4]}"


def _identifier(setting: Setting) -> str:
    parts = name_parts(setting.name)
    prefix = parts[-2][:4] if len(parts) > 1 else "id"
    prefix = prefix if prefix.isascii() and prefix.isalpha() else "id"
    return f"{prefix}_{setting.draws.spell(_HEX, 8)}"


def _code(setting: Setting) -> str:
    return f"{setting.draws.spell(_LETTERS, 3)}-{setting.draws.spell(_DIGITS, 4)}"


def _phone(setting: Setting) -> str:
    draws = setting.draws
    return f"+{draws.pick(('1', '44', '49', '33', '34', '90'))} {200 + draws.below(700)} {draws.spell(_DIGITS, 7)}"


def _street(setting: Setting) -> str:
    number = 1 + setting.draws.below(180)
    street = setting.word("street")
    return f"{number} {street}" if setting.language in ("en", "fr") else f"{street} {number}"


def _record(part: str) -> Maker:
    return lambda setting: record(setting.draws.bits(), setting.language, part)


def _color_code(setting: Setting) -> str:
    return f"#{setting.draws.spell(_HEX, 6)}"


def _version(setting: Setting) -> str:
    return ".".join(str(setting.draws.below(9)) for _ in range(3))


def _path(setting: Setting) -> str:
    return f"/data/{setting.english('category').lower()}/{setting.english('file')}.json"


def _file_name(setting: Setting) -> str:
    return f"{setting.english('file')}-{2023 + setting.draws.below(3)}.pdf"


def ipv4(setting: Setting) -> str:
    """An address out of a range that is kept for documentation."""
    return f"192.0.2.{1 + setting.draws.below(254)}"


def _digest(setting: Setting) -> str:
    return setting.draws.spell(_HEX, 40)


def _number_text(setting: Setting) -> str:
    return setting.draws.spell("123456789", 5)


def _price_text(setting: Setting) -> str:
    return f"{5 + setting.draws.below(400)}.{setting.draws.below(100):02}"


def sentence(setting: Setting) -> str:
    """A sentence of the language's own."""
    return setting.draws.pick(corpus.language(setting.language)["body"])


def _paragraph(setting: Setting) -> str:
    space = "" if setting.language in ("zh", "ja") else " "
    about = setting.draws.pick(corpus.language(setting.language)["subject"]).replace("{subject}", setting.subject)
    return space.join([about, *(sentence(setting) for _ in range(1 + setting.draws.below(2)))])


def _on_subject(setting: Setting) -> str:
    return setting.draws.pick(corpus.language(setting.language)["subject"]).replace("{subject}", setting.subject)


def _title(setting: Setting) -> str:
    if setting.subject and setting.draws.below(2):
        return setting.subject[:1].upper() + setting.subject[1:]
    return setting.draws.pick(corpus.language(setting.language)["headings"])


def label(setting: Setting) -> str:
    """A few words of the language's own."""
    return setting.draws.pick(corpus.language(setting.language)["bullets"])


# Who makes what: the names that a property may have, parted by |.
_MAKER_ROWS: tuple[tuple[Maker, str], ...] = (
    (_email, "email|mail|e mail|email address"),
    (_username, "username|user name|login|handle|nickname|screen name"),
    (_table("first_name"), "first name|given name|middle name|firstname|forename"),
    (_table("last_name"), "last name|family name|lastname|surname"),
    (
        _record("name"),
        "full name|fullname|person|author|owner|customer|contact|assignee|employee|manager|recipient|sender|"
        "speaker|director|artist|patient|doctor|name",
    ),
    (
        _record("company"),
        "company name|business name|organization name|vendor name|supplier name|merchant name|bank name|"
        "company|organization|organisation|vendor|supplier|employer|publisher|merchant|manufacturer|seller|"
        "buyer",
    ),
    (_table("product"), "product name|item name|product|item"),
    (_table("city"), "city name|city|town|capital|location|destination|origin|place"),
    (_table("country"), "country|country name|nationality"),
    (_table("country_code"), "country code"),
    (_table("region"), "state|region|province|county"),
    (_street, "street|street address|address line|line 1|line 2"),
    (_record("address"), "address"),
    (ipv4, "ip address|ip"),
    (lambda s: ":".join(s.draws.spell(_HEX, 2) for _ in range(6)), "mac address"),
    (lambda s: s.draws.spell("123456789", 5), "zip|zip code|zipcode|postcode|postal code"),
    (_phone, "phone|phone number|telephone|mobile|fax|tel"),
    (_url, "url|uri|link|website|homepage|href|webpage"),
    (_host, "domain|hostname|host"),
    (_image, "image|image url|avatar|photo|picture|thumbnail|logo|icon"),
    (date, "date|birthday|birthdate|dob|deadline|day|due|on|start date|end date"),
    (
        moment,
        "created at|updated at|deleted at|at|timestamp|datetime|created|updated|modified|published|expires|"
        "start time|end time|date time|departure|arrival",
    ),
    (_clock, "time"),
    (_identifier, "id|identifier|key|ref"),
    (uuid, "uuid|guid"),
    (_code, "reference|sku|code|number|invoice number|order number|serial"),
    (lambda s: f"978{s.draws.spell(_DIGITS, 10)}", "isbn"),
    (_digest, "token|hash|checksum|sha|password|secret"),
    (_slug, "slug"),
    (_table("currency"), "currency|currency code"),
    (_table("language_name"), "language"),
    (_table("language_code"), "language code|lang"),
    (_table("locale"), "locale"),
    (_table("timezone"), "timezone|time zone"),
    (_table("color"), "color|colour"),
    (_color_code, "hex|hex color|color hex"),
    (_table("status"), "status"),
    (_table("level"), "priority|severity|level|difficulty|size"),
    (_table("sentiment"), "sentiment"),
    (_table("role"), "role"),
    (_table("gender"), "gender"),
    (_table("unit"), "unit|units"),
    (_table("kind"), "type|kind"),
    (_table("category"), "category|genre|topic|field|group"),
    (_table("tag"), "tag|tags|keyword|keywords|labels"),
    (_table("skill"), "skill|skills"),
    (_table("brand"), "brand"),
    (_table("job"), "job|job title|occupation|profession|position"),
    (_table("department"), "department|team"),
    (_table("weekday"), "weekday|day of week"),
    (_table("month"), "month"),
    (_table("dish"), "recipe|dish|recipe name"),
    (_table("ingredient"), "ingredient|ingredients"),
    (_table("weather"), "weather|condition"),
    (_version, "version"),
    (_path, "path|file path"),
    (_file_name, "file|filename|file name"),
    (_table("mime"), "mime|mime type|content type"),
    (_table("method"), "method"),
    (_number_text, "quantity"),
    (_price_text, "price|amount|cost|total"),
    (lambda s: s.draws.spell("23456", 2), "age"),
    (lambda s: str(2015 + s.draws.below(11)), "year"),
    (lambda s: f"{s.draws.below(60)}.{s.draws.spell(_DIGITS, 4)}", "latitude"),
    (lambda s: f"{s.draws.below(170)}.{s.draws.spell(_DIGITS, 4)}", "longitude"),
    (_title, "title|headline|heading|caption"),
    (lambda s: s.subject or _title(s), "subject"),
    (label, "label|step|steps|point|points|idea|goal|task|action"),
    (_paragraph, "summary|text|content|body|bio|abstract|reasoning|explanation|review"),
    (_on_subject, "description|answer|response|question"),
    (sentence, "message|comment|note|notes|reason|thought|feedback|instruction|instructions|details|conclusion"),
)
_MAKERS = {name: maker for maker, names in _MAKER_ROWS for name in names.split("|")}

# Nouns that a description may name, where the property's name says nothing.
_TOLD = (
    "email", "phone", "url", "city", "country", "currency", "address", "company", "uuid", "timestamp", "datetime",
    "date", "time", "username", "title", "sentence", "summary", "color", "language", "identifier", "code",
)  # fmt: skip


@lru_cache(maxsize=1024)
def name_parts(name: str) -> tuple[str, ...]:
    """The words of a name, in lower case."""
    return tuple(part.lower() for part in _PART.findall(name))


@lru_cache(maxsize=1024)
def maker_of(name: str, about: str) -> Maker | None:
    """Who makes texts for a property, by its name or else by what is said about it; None where neither tells."""
    parts = name_parts(name)
    found = _MAKERS.get(" ".join(parts)) or _MAKERS.get(" ".join(parts[-2:]))
    for part in reversed(parts):
        found = found or _MAKERS.get(part) or (_MAKERS.get(part[:-1]) if part.endswith("s") else None)
    if found is not None or not about:
        return found
    told = set(name_parts(about[:300]))
    return next((_MAKERS[noun] for noun in _TOLD if noun in told and noun in _MAKERS), None)


def free_text(setting: Setting, least: int, most: int | None) -> str:
    """A text of some length, in characters: words where there is room for any."""
    draws = setting.draws
    space = "" if setting.language in ("zh", "ja") else " "
    text = label(setting)
    while len(text) < least:
        text += space + (text if least > 4000 and len(text) < least // 2 else sentence(setting))
    if most is None or len(text) <= most:
        return text if least < 200 else text[: max(least, 200)].rstrip().ljust(least, "e")
    return _shortened(text, least, most) or draws.spell("abcdefghijklmnoprstuvw", most)


def _shortened(text: str, least: int, most: int) -> str:
    """The words of a text that there is room for, else as many of its letters."""
    cut = text[:most]
    whole = (cut.rpartition(" ")[0] if text[most : most + 1].isalnum() else cut).rstrip(" ,;:.-")
    return whole if len(whole) >= max(least, most // 2) else cut.strip().ljust(least, "e")

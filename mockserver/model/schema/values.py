"""Plausible values: what a property's name, or its description, says that it holds.

`values.txt` says it: a template for a text, a range for a number. A name is read word by word (`customerEmail` and
`customer_email` alike): two words together tell more than one, and the last word more than those before it.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache, lru_cache, partial
from typing import NamedTuple

from mockserver.core.seeding import Draws
from mockserver.model import languages
from mockserver.model.languages import record, sections


@cache
def table(section: str) -> Mapping[str, str]:
    """A section of `values.txt`: what stands behind each name."""
    rows = (line.partition(": ") for line in sections("schema/values.txt")[section])
    return {name: held for names, _, held in rows for name in names.split("|")}


@cache
def words(table: str, language: str) -> tuple[str, ...]:
    """The words of a table in a language, or in English. Raises KeyError when there is no such table."""
    tables = _tables()
    return tables.get(f"{table} {language}") or tables[f"{table} en"]


@cache
def _tables() -> Mapping[str, tuple[str, ...]]:
    rows = (line.partition(": ") for line in sections("schema/words.txt")["words"])
    return {place: tuple(alternatives.split("|")) for place, _, alternatives in rows}


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

    def sentence(self, section: str) -> str:
        """A sentence of the language's own."""
        return self.draws.pick(languages.sentences(self.language)[section]).replace("{subject}", self.subject)


# Makes a text for a place.
Maker = Callable[[Setting], str]

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_HEX = "0123456789abcdef"
_CHARACTERS = {"digits": "0123456789", "nonzero": "123456789", "hex": _HEX, "letters": "ABCDEFGHJKLMNPQRSTUVWXYZ"}
# The parts of a template; `values.txt` explains them.
_SLOT = re.compile(
    r"\{(?:(?P<itself>\{\w+\})|(?P<low>\d+)\.\.(?P<high>\d+):?(?P<form>\w*)|(?P<count>\d+)\*(?P<set>\w+)"
    r"|(?P<choice>[^{}]*\|[^{}]*)|(?P<mark>[=@#!-]?)(?P<name>[\w ]+))\}"
)


@cache
def made_by(template: str) -> Maker:
    """The maker of texts by a template."""
    slots = [_slot(slot) for slot in _SLOT.finditer(template)]
    if _SLOT.fullmatch(template):
        return slots[0]
    written = _SLOT.sub("%s", template)
    return lambda setting: written % tuple([slot(setting) for slot in slots])


def _slot(slot: re.Match[str]) -> Maker:
    name, low = slot["name"], slot["low"]
    if slot["itself"]:
        return lambda setting: slot["itself"]
    if low:
        count, form = int(slot["high"]) - int(low) + 1, slot["form"]
        return lambda setting: format(int(low) + setting.draws.below(count), form)
    if slot["count"]:
        characters = _CHARACTERS.get(slot["set"], slot["set"])
        return lambda setting: setting.draws.spell(characters, int(slot["count"]))
    if slot["choice"]:
        choices = slot["choice"].split("|")
        return lambda setting: setting.draws.pick(choices)
    match slot["mark"]:
        case "=":
            return lambda setting: setting.english(name)
        case "-":
            return lambda setting: setting.english(name).lower()
        case "@":
            return made_by(table("texts")[name])
        case "#":
            return lambda setting: record(setting.draws.bits(), setting.language, name)
        case "!":
            return _FUNCTIONS[name]
    return lambda setting: setting.word(name)


def _clock(setting: Setting) -> str:
    return made_by("{@time in utc}")(setting)[:5]


def _uuid(setting: Setting, version: int) -> str:
    """A random UUID that says it is of a version."""
    parts = [setting.draws.spell(_HEX, count) for count in (8, 4, 3, 3, 12)]
    return f"{parts[0]}-{parts[1]}-{version}{parts[2]}-{setting.draws.pick('89ab')}{parts[3]}-{parts[4]}"


def _identifier(setting: Setting) -> str:
    parts = name_parts(setting.name)
    prefix = parts[-2][:4] if len(parts) > 1 else "id"
    prefix = prefix if prefix.isascii() and prefix.isalpha() else "id"
    return f"{prefix}_{setting.draws.spell(_HEX, 8)}"


def _street(setting: Setting) -> str:
    number = 1 + setting.draws.below(180)
    street = setting.word("street")
    return f"{number} {street}" if setting.language in ("en", "fr") else f"{street} {number}"


def _paragraph(setting: Setting) -> str:
    space = "" if setting.language in ("zh", "ja") else " "
    about = setting.sentence("subject")
    return space.join([about, *(setting.sentence("body") for _ in range(1 + setting.draws.below(2)))])


def _title(setting: Setting) -> str:
    if setting.subject and setting.draws.below(2):
        return setting.subject[:1].upper() + setting.subject[1:]
    return setting.sentence("headings")


def _uri(setting: Setting) -> str:
    return made_by("{@image}" if "image" in setting.name else "{@url}")(setting)


def label(setting: Setting) -> str:
    """A few words of the language's own."""
    return setting.sentence("bullets")


_FUNCTIONS: Mapping[str, Maker] = {
    "clock": _clock,
    "identifier": _identifier,
    "street": _street,
    "paragraph": _paragraph,
    "title": _title,
    "subject": lambda setting: setting.subject or _title(setting),
    "on_subject": lambda setting: setting.sentence("subject"),
    "sentence": lambda setting: setting.sentence("body"),
    "bullets": label,
    "uri": _uri,
    **{f"uuid {version}": partial(_uuid, version=version) for version in range(1, 9)},
}

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
    parts, templates = name_parts(name), table("texts")
    found = templates.get(" ".join(parts)) or templates.get(" ".join(parts[-2:]))
    for part in reversed(parts):
        found = found or templates.get(part) or (templates.get(part[:-1]) if part.endswith("s") else None)
    if found is None and about:
        told = set(name_parts(about[:300]))
        found = next((templates[noun] for noun in _TOLD if noun in told), None)
    return None if found is None else made_by(found)


def free_text(setting: Setting, least: int, most: int | None) -> str:
    """A text of some length, in characters: words where there is room for any."""
    draws = setting.draws
    space = "" if setting.language in ("zh", "ja") else " "
    text = label(setting)
    while len(text) < least:
        text += space + (text if least > 4000 and len(text) < least // 2 else setting.sentence("body"))
    if most is None or len(text) <= most:
        return text if least < 200 else text[: max(least, 200)].rstrip().ljust(least, "e")
    return _shortened(text, least, most) or draws.spell("abcdefghijklmnoprstuvw", most)


def _shortened(text: str, least: int, most: int) -> str:
    """The words of a text that there is room for, else as many of its letters."""
    cut = text[:most]
    whole = (cut.rpartition(" ")[0] if text[most : most + 1].isalnum() else cut).rstrip(" ,;:.-")
    return whole if len(whole) >= max(least, most // 2) else cut.strip().ljust(least, "e")

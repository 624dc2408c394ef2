"""Texts for a schema: by format, by what a property is called, by pattern, of the length that is asked for.

`values.txt` says what a property's name, or its description, says that it holds: a template for a text, a range for a
number. A name is read word by word (`customerEmail` and `customer_email` alike): two words together tell more than one,
and the last word more than those before it.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from math import inf
from typing import NamedTuple

from mockserver.core.caches import cache_short
from mockserver.core.json_values import ValueSet
from mockserver.core.seeding import Draws
from mockserver.model import languages
from mockserver.model.languages import record, sections
from mockserver.model.regex import find_match
from mockserver.model.schema.documents import longest_searched
from mockserver.model.schema.merged_schema import MergedSchema

# No text is longer than this, in characters.
LONGEST = 400_000
# Times that something plausible is tried before a pattern is written from scratch, and times that this is done.
_PLAUSIBLE, _WRITTEN = 3, 16
# A search for a text costs a step of the solver for so many of its own, beyond those that are free; and so does a check
# of a text of so many characters against patterns, and four steps if it has twice as many.
_FREE, _DEAR, _CHECKED = 10_000, 80, 362
# Characters that may often stand in place of each other.
_ALIKE = ("0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
# Texts without a pattern are no longer than this unless they have to be.
_LONGEST_FREE = 400
# Texts that must be shorter are rather codes than words, in characters.
_NO_WORD = 4

Spend = Callable[[int], None]


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


def texts(way: MergedSchema, setting: Setting, spend: Spend, taken: ValueSet | None = None) -> Iterator[str]:
    """Texts that keep to a merged schema, the most plausible first; none if none is found.

    Some may be taken all the same. `spend` counts the steps it costs.
    """
    if not way.get("minLength", 0) <= min(way.get("maxLength", inf), LONGEST):
        return
    others = [text for text in taken or () if isinstance(text, str)]
    yield from filter(fits(way), _candidates(way, setting, spend, others))


def _candidates(way: MergedSchema, setting: Setting, spend: Spend, taken: Sequence[str]) -> Iterator[str]:
    """Texts that may keep to it."""
    least, most, draws = way.get("minLength", 0), way.get("maxLength"), setting.draws
    patterns, named_formats = way.all("pattern"), way.all("format")
    is_free = not (patterns or way.all("not_pattern"))
    samples = [sample for sample in way.all("samples") if isinstance(sample, str)]
    if samples and draws.below(2):
        yield draws.pick(samples)
    makers = [made_by(held) for name in named_formats if (held := table("formats").get(name))]
    named = None if makers else maker_of(setting.name, setting.about)
    if named and (patterns or (most is not None and most < _NO_WORD)):
        # A country of two letters is its code.
        makers = [maker_of(f"{setting.name} code", "") or named]
    for maker in (*makers, *([named] if named else [])):
        for _ in range(_PLAUSIBLE):
            text = maker(setting)
            yield _cut_to_fit(text, most) if maker is named and not patterns else text
    formats = [held for name in named_formats if (held := table("format_patterns").get(name))]
    if not is_free:
        yield from samples
    # Each alone too, in case there is no text for several together that can be found.
    for wanted in dict.fromkeys(((*formats, *patterns), patterns, *((pattern,) for pattern in patterns))):
        for attempt in range(_WRITTEN if wanted or not is_free else 0):
            # It was in vain, but costs less than other steps.
            spend(attempt % 2)
            # What is dear to exclude is excluded at last.
            excluded = (taken, way.all("not_pattern")) if attempt == _WRITTEN - 1 else ((), ())
            written = matching(wanted, draws, spend, *excluded, least, most)
            if written is None:
                break
            yield written
            if taken:
                # Another of its form.
                yield "".join([draws.pick(next((kind for kind in _ALIKE if c in kind), c)) for c in written])
    short = most if most is None or most <= _LONGEST_FREE else max(least, _LONGEST_FREE)
    for _ in range(_PLAUSIBLE):
        text = free_text(setting, least, short)
        yield text
    if taken:
        yield f"{text} {len(taken) + 1}"
    for _ in range(_PLAUSIBLE):
        yield draws.spell("abcdefgh0123456789", max(least, min(most or 8, 8)))
    if is_free:
        written = matching([], draws, spend, taken, (), least, most)
        yield from () if written is None else (written,)


def _cut_to_fit(text: str, most: int | None) -> str:
    """A plausible text that is too long, made fit where words allow it."""
    if most is None or len(text) <= most or (" " not in text and not any(ord(c) > 0x2FFF for c in text)):
        return text
    return text[:most].rstrip(" ,;:.-")


def matching(
    patterns: Sequence[str],
    draws: Draws,
    spend: Spend,
    others: Sequence[str] = (),
    no_patterns: Sequence[str] = (),
    least: int = 0,
    most: int | None = None,
) -> str | None:
    """A text that is not too long to be checked against the patterns; None if none is found."""
    longest = min(longest_searched((*patterns, *no_patterns)), LONGEST if most is None else most)

    def search(steps: int) -> None:
        spend(max(steps - _FREE, 0) // _DEAR)

    # To keep out two others takes about as long as a step.
    spend(len(others) // 2)
    text = find_match(patterns, draws, least, longest, no_patterns, others, search)
    spend((len(text or "") // _CHECKED) ** 2)
    return text


def fits(way: MergedSchema) -> Callable[[str], bool]:
    """Whether a text keeps to a merged schema, but for its formats, which are left to whoever asks for more."""
    patterns, no_patterns = way.all("pattern"), way.all("not_pattern")
    least, most = way.get("minLength", 0), way.get("maxLength", inf)
    if not (patterns or no_patterns):
        return lambda text: least <= len(text) <= most
    most = min(most, longest_searched((*patterns, *no_patterns)))
    searches = [(way.document.matcher(pattern), True) for pattern in patterns]
    searches += [(way.document.matcher(pattern), False) for pattern in no_patterns]
    return lambda text: least <= len(text) <= most and all(search(text) is wanted for search, wanted in searches)


# --- what names say --------------------------------------------------------------------------------------------------


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


_FUNCTIONS: Mapping[str, Maker] = {
    "clock": lambda setting: made_by("{@time in utc}")(setting)[:5],
    "identifier": _identifier,
    "street": _street,
    "paragraph": _paragraph,
    "title": _title,
    "subject": lambda setting: setting.subject or _title(setting),
    "on_subject": lambda setting: setting.sentence("subject"),
    "sentence": lambda setting: setting.sentence("body"),
    # A few words of the language's own.
    "bullets": lambda setting: setting.sentence("bullets"),
    "uri": lambda setting: made_by("{@image}" if "image" in setting.name else "{@url}")(setting),
    **{f"uuid {version}": partial(_uuid, version=version) for version in range(1, 9)},
}

_WORD = re.compile(r"\{(\w+)\}")
# What longer names say is not remembered.
_LONGEST_NAME = 200
# Nouns that a description may name, where the property's name says nothing.
_TOLD = (
    "email", "phone", "url", "city", "country", "currency", "address", "company", "uuid", "timestamp", "datetime",
    "date", "time", "username", "title", "sentence", "summary", "color", "language", "identifier", "code",
)  # fmt: skip


@cache_short(1024, _LONGEST_NAME)
def name_parts(name: str) -> tuple[str, ...]:
    """The words of a name, in lower case."""
    return tuple(part.lower() for part in _PART.findall(name))


def _template_of(name: str, about: str) -> str | None:
    parts, templates = name_parts(name), table("texts")
    found = templates.get(" ".join(parts)) or templates.get(" ".join(parts[-2:]))
    for part in reversed(parts):
        found = found or templates.get(part) or templates.get(part.removesuffix("s"))
        found = found or templates.get(part.removesuffix("es")) or templates.get(part.removesuffix("ies") + "y")
    if found is None and about:
        told = set(name_parts(about[:300]))
        found = next((templates[noun] for noun in _TOLD if noun in told), None)
    return found


@lru_cache(maxsize=1024)
def maker_of(name: str, about: str) -> Maker | None:
    """Who makes texts for a property, by its name or else by what is said about it; None where neither tells."""
    template = _template_of(name, about)
    return None if template is None else made_by(template)


def usual_words(name: str, language: str) -> tuple[str, ...]:
    """The words that a property is likely to have, such as animals, by its name; none if it has other texts."""
    kind = _usual_table(name)
    return words(kind, language) if kind else ()


@cache_short(1024, _LONGEST_NAME)
def _usual_table(name: str) -> str:
    alone = _WORD.fullmatch(_template_of(name, "") or "")
    return alone[1] if alone else ""


def free_text(setting: Setting, least: int, most: int | None) -> str:
    """A text of some length, in characters: words where there is room for any."""
    draws = setting.draws
    space = "" if setting.language in ("zh", "ja") else " "
    text = setting.sentence("bullets")
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

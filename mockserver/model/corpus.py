"""The project's own sentences, by language and section, and their tokens; names and addresses of people.

`corpus/<language>.txt` and `corpus/thoughts.txt` have sections of entries, one per line; `corpus/code.txt` has snippets
separated by `---`. Sentences are tokenised only once: an answer is put together from ready phrases.
"""

from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from mockserver.model import tokens

if TYPE_CHECKING:
    from faker import Faker

LANGUAGES = ("en", "ru", "de", "fr", "es", "it", "pt", "tr", "uk", "zh", "ja", "ko")

Sections = Mapping[str, tuple[str, ...]]


class Phrase(NamedTuple):
    """A text with its tokens; `texts` joined are the text."""

    ids: tuple[int, ...]
    texts: tuple[str, ...]


@cache
def language(name: str) -> Sections:
    """The sections of one language."""
    return sections(f"corpus/{name}.txt")


@cache
def stopwords(name: str) -> frozenset[str]:
    """The stopwords of a language: words that are in every text."""
    return frozenset(language(name).get("stopwords", ()))


@cache
def code() -> Sections:
    """Code snippets by programming language."""
    return {
        section: tuple(snippet.strip("\n") for snippet in "\n".join(lines).split("\n---"))
        for section, lines in sections("corpus/code.txt", keep_blank=True).items()
    }


def thoughts() -> Sections:
    """Sentences of reasoning, by section."""
    return sections("corpus/thoughts.txt")


@lru_cache(maxsize=8192)
def phrase(text: str) -> Phrase:
    """The phrase of a text that is used often; cached."""
    return fresh_phrase(text)


def fresh_phrase(text: str) -> Phrase:
    """The phrase of a text that is unlikely to be used again; not cached."""
    ids, texts = tokens.pieces(text)
    return Phrase(tuple(ids), tuple(texts))


@cache
def sections(path: str, *, keep_blank: bool = False) -> Sections:
    """The lines of a data file by the section they are in: "[name]" begins one, "#" a comment. A file is read once."""
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in (files("mockserver.model") / path).read_text("utf-8").splitlines():
        if line.startswith("[") and line.endswith("]") and line[1:-1].replace("_", "").isalpha():
            current = found.setdefault(line[1:-1], [])
        elif keep_blank or (line and not line.startswith("#")):
            current.append(line)
    return {section: tuple(lines) for section, lines in found.items()}


# Names, companies and addresses come from faker, whose data may change between versions. What is used here has not
# changed in any version that pyproject.toml allows, as a test holds. Korean addresses, which do change, are left out.
_LOCALES = {
    "en": "en_US", "ru": "ru_RU", "de": "de_DE", "fr": "fr_FR", "es": "es_ES", "it": "it_IT", "pt": "pt_BR",
    "tr": "tr_TR", "uk": "uk_UA", "zh": "zh_CN", "ja": "ja_JP", "ko": "ko_KR",
}  # fmt: skip
_PARTS = ("name", "company", "address")
_STABLE_PARTS = {"ko": ("name", "company")}
_one_at_a_time = Lock()


@cache
def _faker(locale: str) -> "Faker":
    from faker import Faker  # costs 60 ms, and few prompts need it

    return Faker(locale)


def record(key: int, language: str, part: str) -> str:
    """A `name`, `company` or `address` in the language, on one line; in English if that of the language may change."""
    stable = part in _STABLE_PARTS.get(language, _PARTS)
    page = _page(_LOCALES[language if stable else "en"], part, key % _PAGES)
    return page[key // _PAGES % len(page)]


# Seeding faker costs more than a record, so records are made and cached in pages.
_PAGES, _PAGE = 64, 8


@lru_cache(maxsize=1024)
def _page(locale: str, part: str, number: int) -> tuple[str, ...]:
    fake = _faker(locale)
    with _one_at_a_time:
        fake.seed_instance(number)
        return tuple(str(getattr(fake, part)()).replace("\n", ", ") for _ in range(_PAGE))

"""The languages of answers: the project's own sentences in each, names and addresses of people, and how to tell which
one a text is in.

`corpus/<language>.txt` and `corpus/thoughts.txt` have sections of entries, one per line; `corpus/code.txt` has snippets
separated by `---`.
"""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from faker import Faker

LANGUAGES = ("en", "ru", "de", "fr", "es", "it", "pt", "tr", "uk", "zh", "ja", "ko")

Sections = Mapping[str, tuple[str, ...]]


@cache
def sentences(name: str) -> Sections:
    """The sentences of a language, by section."""
    return sections(f"corpus/{name}.txt")


@cache
def stopwords(name: str) -> frozenset[str]:
    """The stopwords of a language: words that are in every text."""
    return frozenset(sentences(name).get("stopwords", ()))


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


# --- the language of a text -------------------------------------------------------------------------------------------

# Words so common that two of them identify a language written in Latin letters.
_MARKERS_OF: dict[str, frozenset[str]] = {
    name: frozenset(words.split())
    for name, words in {
        "de": "der die das und ist wie ein eine nicht mit für auf ich was warum bitte erkläre schreibe kann zu über",
        "fr": "le la les des est une que qui dans pour avec comment pourquoi quelle quel moi expliquez écris sur et",
        "es": "el la los las es una que para con cómo por qué cuál explica escribe sobre del y un",
        "it": "il lo gli è una che per con come perché quale spiega scrivi sulla della di un sono",
        "pt": "o os as é uma que para com como por qual explique escreva sobre do da não em um",
        "tr": "bir ve bu ne nasıl için ile nedir mı mi hakkında açıkla yaz en çok olan da de",
        "en": "the a an of and is are what how why to in for with write explain please me about can you",
    }.items()
}
# All of them, and those of English, which are no other language's: a text in ASCII with at least as many of these as of
# others is in English.
MARKERS = frozenset().union(*_MARKERS_OF.values())
ENGLISH_MARKERS = _MARKERS_OF["en"]
# Languages of other scripts: the pattern of their letters, and the minimum share of these in a text. The patterns are
# compiled with the first text beyond ASCII: together they would take a fiftieth of the server's start.
_SCRIPTS = (
    ("ko", "[가-힣]", 0.25),
    ("ja", "[ぁ-ヿ]", 0.1),
    ("zh", "[一-鿿]", 0.25),
    ("uk", "[іїєґІЇЄҐ]", 0.25),
    ("ru", "[а-яА-ЯёЁ]", 0.25),
)
_SMALL_CYRILLIC = "[а-я]"
# Letters that identify a language by themselves.
_LETTERS = {
    name: frozenset(letters)
    for name, letters in {"de": "äöüß", "fr": "èêàœù", "es": "ñ¿¡", "pt": "ãõ", "tr": "ışğ", "it": "ìò"}.items()
}
# Languages by the names that prompts have for them; in Russian by the beginnings: `на английском`, `по-английски`.
LANGUAGE_NAMES = {
    "english": "en", "russian": "ru", "german": "de", "french": "fr", "spanish": "es", "italian": "it",
    "portuguese": "pt", "turkish": "tr", "ukrainian": "uk", "chinese": "zh", "japanese": "ja", "korean": "ko",
}  # fmt: skip
LANGUAGE_STEMS = {
    "английск": "en", "русск": "ru", "немецк": "de", "французск": "fr", "испанск": "es", "итальянск": "it",
    "португальск": "pt", "турецк": "tr", "украинск": "uk", "китайск": "zh", "японск": "ja", "корейск": "ko",
}  # fmt: skip
_REQUESTED = re.compile(
    rf"\b(?:in|into|(?<=translate )to|translat\w+ [^.\n]{{1,80}}? to) ({'|'.join(LANGUAGE_NAMES)})\b"
    rf"|\b(?:на|по)[ -]({'|'.join(LANGUAGE_STEMS)})\w*(?: язык\w*)?",
    re.IGNORECASE,
)
# A word as it is written, with the apostrophes and hyphens within.
WORD = re.compile(r"[^\W_]+(?:['\u2019\-][^\W_]+)*")


def language_of(text: str, lowered: str, words: frozenset[str]) -> str:
    """The language that a text is written in, as its code: that of its script, else the one with the most markers, else
    `en`. `lowered` is the text in lower case, `words` its words."""
    ascii_only = text.isascii()
    script = None if ascii_only else _script(text)
    if script is not None:
        return script
    words = words & MARKERS
    if words and ("'" in text or "-" in text or not ascii_only):
        # The parts of compound words do not count.
        words &= set(WORD.findall(lowered))
    letters = frozenset() if ascii_only else frozenset(lowered)
    best, most = "en", max(len(words & ENGLISH_MARKERS), 1)
    for name, markers in _MARKERS_OF.items():
        score = len(words & markers)
        if letters and name in _LETTERS:
            score += 2 * len(letters & _LETTERS[name])
        if score > most:
            best, most = name, score
    return best


def requested_language(text: str) -> tuple[str, str] | None:
    """The language that a text asks for, and the text without these words; None if it asks for none."""
    requested = _REQUESTED.search(text)
    if requested is None:
        return None
    name = (requested[1] or requested[2]).lower()
    return LANGUAGE_NAMES.get(name) or LANGUAGE_STEMS[name], _REQUESTED.sub("", text)


def _script(text: str) -> str | None:
    """The language of a text in another script than Latin; None for any other text."""
    length = len(text.replace(" ", ""))
    for name, letters, share in _SCRIPTS:
        if re.search(letters, text) is None:
            continue
        if name == "uk" and re.search(_SMALL_CYRILLIC, text):
            return name
        if len(re.findall(letters, text)) > length * share:
            return name
    return None


# --- people ----------------------------------------------------------------------------------------------------------

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

"""The language of a prompt: the one that it is written in, and the one that it asks for."""

import re

# A word as it is written, with the apostrophes and hyphens within.
_WORD = re.compile(r"[^\W_]+(?:['\u2019\-][^\W_]+)*")

# Words so common that two of them identify a language written in Latin letters.
_MARKERS: dict[str, frozenset[str]] = {
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
_ANY_MARKER = frozenset().union(*_MARKERS.values())
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


def language_of(text: str, lowered: str, words: frozenset[str]) -> str:
    """The language that a text is written in, as its code: that of its script, else the one with the most markers, else
    `en`. `lowered` is the text in lower case, `words` its words."""
    ascii_only = text.isascii()
    script = None if ascii_only else _script(text)
    if script is not None:
        return script
    words = words & _ANY_MARKER
    if words and ("'" in text or "-" in text or not ascii_only):
        # The parts of compound words do not count.
        words &= set(_WORD.findall(lowered))
    if words <= _MARKERS["en"] and ascii_only:
        # Then no other language can have more markers.
        return "en"
    letters = frozenset() if ascii_only else frozenset(lowered)
    best, most = "en", max(len(words & _MARKERS["en"]), 1)
    for name, markers in _MARKERS.items():
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

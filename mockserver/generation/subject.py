"""What a prompt is about: its language, its subject, and the form of answer that it asks for.

All of it is read from a bounded stretch of the prompt, so that a prompt of a megabyte costs no more than a short one.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from mockserver.generation import corpus

_STRETCH = 1200
_SUBJECT_WORDS = 6

_WORD = re.compile(r"[^\W_]+(?:['\u2019\-][^\W_]+)*")
_SENTENCE_END = re.compile(r"[.!?\u2026\u3002\uff01\uff1f\n]+")

# Words so common that two of them give a language of Latin letters away.
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
_NAMED = {
    "english": "en", "russian": "ru", "german": "de", "french": "fr", "spanish": "es", "italian": "it",
    "portuguese": "pt", "turkish": "tr", "ukrainian": "uk", "chinese": "zh", "japanese": "ja", "korean": "ko",
}  # fmt: skip
# Languages of other letters: those letters, and the share of a text that they have at least.
_SCRIPTS = (
    ("ko", "[가-힣]", 0.25),
    ("ja", "[ぁ-ヿ]", 0.1),
    ("zh", "[一-鿿]", 0.25),
    ("uk", "[іїєґІЇЄҐ]", 0.25),
    ("ru", "[а-яА-ЯёЁ]", 0.25),
)
# Letters that give one of them away alone.
_LETTERS = {"de": "äöüß", "fr": "èêàœù", "es": "ñ¿¡", "pt": "ãõ", "tr": "ışğ", "it": "ìò"}
# Where the subject ends, or begins, in languages that part no words with blanks.
_SUBJECTS = {
    "ja": re.compile(r"(.{1,24}?)(?:について|とは|に関して|って|を|の?使い方)"),
    "ko": re.compile(r"(.{1,24}?)(?:에 대해|에 대하여|에 관해|이란|란 |은 |는 |을 |를 )"),
    "zh": re.compile(r"(?:介绍一下|介绍|解释一下|解释|什么是|谈谈|关于)(.{1,16}?)(?:的|[？?。，,]|$)"),
}
_ASKED_LANGUAGE = re.compile(rf"\bin ({'|'.join(_NAMED)})\b", re.IGNORECASE)
_ABOUT = re.compile(r"\b(?:about|regarding|concerning|об?|про|über|sobre|hakkında)\s+(\w.*)", re.IGNORECASE)
_GENERIC = {
    "en": "this topic", "ru": "этот вопрос", "de": "dieses Thema", "fr": "ce sujet", "es": "este tema",
    "it": "questo argomento", "pt": "este tema", "tr": "bu konu", "uk": "це питання", "zh": "这个话题",
    "ja": "このテーマ", "ko": "이 주제",
}  # fmt: skip

_GREETING = re.compile(
    r"^\W*(hello|hi|hey|good (morning|evening|afternoon)|привет|здравствуй(те)?|добр(ый|ое) \w+|hallo|guten \w+|"
    r"bonjour|salut|hola|ciao|buongiorno|olá|oi|merhaba|selam|вітаю|привіт|你好|こんにちは|안녕(하세요)?)\b.{0,14}$",
    re.IGNORECASE,
)
# What a prompt may ask for, most telling first: (form, pattern).
_FORMS = tuple(
    (form, re.compile(pattern, re.IGNORECASE))
    for form, pattern in (
        ("greeting", _GREETING.pattern),
        ("short", r"\b(one|single) word\b|\byes or no\b|одним словом|да или нет"),
        ("sentence", r"\b(one|single) sentence\b|одним предложением"),
        (
            "code",
            r"\b(code|function|script|snippet|program|sql|regex|algorithm|implement|python|javascript|typescript|"
            r"golang|rust|java|bash)\b|\b(код|функци\w+|скрипт\w*|программ\w+|алгоритм\w*)\b",
        ),
        (
            "people",
            r"\b(generate|invent|fake|sample|make up|random|give me|list|suggest)\b[^.?!\n]{0,40}"
            r"\b(names|people|users|customers|contacts|address(es)?|compan(y|ies)|employees)\b",
        ),
        (
            "long",
            r"\b(essay|article|long|detailed|in detail|in depth|story|report|comprehensive|thorough)\b|"
            r"подробн|эссе|стать[юяи]|рассказ|доклад|сочинени",
        ),
        (
            "list",
            r"\b(list|steps?|bullets?|ideas|tips|ways|examples|pros and cons|reasons|checklist)\b|"
            r"список|перечисл|шаг[иа]|пункт|идеи|советы|примеры|способ",
        ),
        (
            "brief",
            r"\b(brief(ly)?|short(ly)?|concise(ly)?|in a few words|tl;?dr|summar(y|ise|ize))\b|кратк|коротк|вкратце",
        ),
    )
)
_NUMBERS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}
_COUNTED = re.compile(r"\b(\d{1,4})[ -](words?|слов\w*|sentences?|предложени\w*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Brief:
    """What to write: language, subject, the form of the answer, its length in words and its number of items if named.

    `wanted` is what was read of the prompt, in lower case.
    """

    language: str
    subject: str
    form: str
    words: int | None = None
    items: int | None = None
    wanted: str = ""


def brief(topic: str) -> Brief:
    """Read the brief out of the part of a prompt that asks for something."""
    return _brief(topic if len(topic) <= _STRETCH else f"{topic[: _STRETCH // 2]}\n{topic[-_STRETCH // 2 :]}")


@lru_cache(maxsize=1024)
def _brief(stretch: str) -> Brief:
    own = _language(stretch)
    asked = _ASKED_LANGUAGE.search(stretch)
    language = _NAMED[asked[1].lower()] if asked else own
    subject = _subject(_ASKED_LANGUAGE.sub("", stretch), own) or _GENERIC[language]
    return Brief(language, subject, _form(stretch), _words(stretch), _number_of_items(stretch), stretch.lower())


def _language(text: str) -> str:
    length = len(text.replace(" ", ""))
    for name, pattern, share in _SCRIPTS:
        if len(re.findall(pattern, text)) > length * share:
            return name
        if name == "uk" and re.search(pattern, text) and re.search("[а-я]", text):
            return name
    words = set(_WORD.findall(text.lower()))
    letters = set(text.lower())
    scores = {
        name: len(words & markers) + 2 * len(letters & set(_LETTERS.get(name, "")))
        for name, markers in _MARKERS.items()
    }
    best = max(scores, key=lambda name: (scores[name], name == "en"))
    return best if scores[best] >= 2 else "en"


def _subject(text: str, language: str) -> str:
    """The first words of a sentence that are no function words, up to the next mark; empty when there are none."""
    marked = _SUBJECTS[language].search(text) if language in _SUBJECTS else None
    if marked:
        return _unbroken(marked[1].strip())
    stopwords = _stopwords(language)
    for sentence in _candidates(text):
        words = _without_lead(list(_WORD.finditer(_named(sentence))), stopwords)[:_SUBJECT_WORDS]
        while words and words[-1].group().lower() in stopwords:
            words.pop()
        if words:
            return _unbroken(words[0].string[words[0].start() : words[-1].end()])
    return ""


def _named(sentence: str) -> str:
    """What follows an "about", where a sentence has one and something follows."""
    about = _ABOUT.search(sentence)
    return about[1] if about else sentence


def _without_lead(words: list[re.Match[str]], stopwords: frozenset[str]) -> list[re.Match[str]]:
    """The words without the function words at their head, but with an English article."""
    kept = next((index for index, word in enumerate(words) if word.group().lower() not in stopwords), len(words))
    article = kept > 0 and words[kept - 1].group().lower() in ("the", "a", "an")
    return words[kept - 1 :] if article and kept < len(words) else words[kept:]


def _candidates(text: str) -> list[str]:
    """The sentences that may name the subject: the last question first, then from the beginning."""
    sentences = [part.strip() for part in _SENTENCE_END.split(text) if part.strip()]
    return sentences[-1:] + sentences[:-1] if text.rstrip().endswith("?") else sentences


def _unbroken(words: str) -> str:
    """The words up to the first inner punctuation."""
    return re.split(r"[,;:()\[\]{}\"«»`<>|]", words)[0].strip() or words


@lru_cache(maxsize=16)
def _stopwords(language: str) -> frozenset[str]:
    return frozenset(corpus.language(language).get("stopwords", ()))


def _form(text: str) -> str:
    return next((form for form, pattern in _FORMS if pattern.search(text)), "plain")


def _number_of_items(text: str) -> int | None:
    number = re.search(r"\b(\d{1,2}|" + "|".join(_NUMBERS) + r")\b", text, re.IGNORECASE)
    if number is None:
        return None
    return _NUMBERS.get(number[1].lower()) or max(int(number[1]), 1)


def _words(text: str) -> int | None:
    counted = _COUNTED.search(text)
    if not counted:
        return None
    number = int(counted[1])
    return number if counted[2].lower().startswith(("word", "слов")) else number * 14

"""Genres: the kinds of text that a prompt may ask for, such as code, a list or a letter.

Most prompts ask for nothing special, so a pattern is only tried if the prompt has one of the words without which it
cannot match.
"""

import re
from functools import cache
from typing import NamedTuple

from mockserver.generation.prompts.wording import Wording


class Genre(NamedTuple):
    """A kind of text, and the pattern of the prompts that ask for it.

    Every prompt that matches the pattern has one of the `words`, or one of the `stems` somewhere in it.
    """

    name: str
    pattern: str
    words: frozenset[str]
    stems: tuple[str, ...]

    def is_asked(self, text: str, wording: Wording) -> bool:
        """Whether a text with this wording asks for this genre."""
        return wording.may_have(self.words, self.stems) and _compiled(self.pattern).search(text) is not None


def _genre(name: str, pattern: str, words: str, stems: str = "") -> Genre:
    return Genre(name, pattern, frozenset(words.split()), tuple(stems.split()))


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # Compiled with the first prompt that may match: all together they would take a fiftieth of the server's start.
    return re.compile(pattern, re.IGNORECASE)


# The genres that a prompt may ask for, the most specific first.
GENRES = (
    _genre(
        "thanks",
        r"^\W*(?:(?:ok|okay|great|perfect|cool|super)\W+)?(?:many )?"
        r"(?:thanks|thank you|thx|cheers|спасибо|благодарю)\b[^?]{0,30}$",
        "thanks thank thx cheers спасибо благодарю",
    ),
    _genre(
        "introduction",
        r"^\W*(?:(?:hi|hello|hey|привет)\W+)?(?:so )?(?:who (?:are you|made you)|what(?:'s| is) your name|"
        r"what (?:are you|can you do(?: for me)?|(?:model|ai) are you)|introduce yourself|"
        r"are you (?:an? )?(?:ai|bot|robot|human|real)|кто ты|что ты (?:умеешь|такое)|как тебя зовут)\b.{0,20}$",
        "you your yourself ты тебя",
    ),
    _genre(
        "mood",
        r"^\W*(?:(?:hi|hello|hey|привет)\b\W+(?:there\W+)?)?(?:how (?:are you|is it going|do you do)|how's it going|"
        r"what's up|как (?:ты|дела|поживаешь))\b[^?]{0,20}\?*$",
        "you going up ты дела поживаешь",
    ),
    _genre(
        "greeting",
        r"^\W*(?:(?:please )?say |скажи )?"
        r"(hello|hi|hey|good (morning|evening|afternoon)|привет|здравствуй(те)?|добр(ый|ое) \w+|hallo|guten \w+|"
        r"bonjour|salut|hola|ciao|buongiorno|olá|oi|merhaba|selam|вітаю|привіт|你好|こんにちは|안녕(하세요)?)\b.{0,14}$",
        "hello hi hey good hallo guten bonjour salut hola ciao buongiorno olá oi merhaba selam "
        "你好 こんにちは 안녕 안녕하세요",
        "привет здравствуй добр вітаю привіт",
    ),
    _genre(
        "short",
        r"\b(one|single) word\b|\byes or no\b|одним словом|да или нет",
        "word no",
        "одним или",
    ),
    _genre("sentence", r"\b(one|single) sentence\b|одним предложением", "sentence", "предложением"),
    _genre(
        "translation",
        r"\btranslat(e|es|ing|ion)\b|\bübersetz(e|en|ung)?\b|\btradui(s|re|sez)\b|\btradu(ce|cir|ci|z|zir|zione)\b|"
        r"переве(ди|сти)|\bçevir\w*",
        "translate translates translating translation übersetz übersetze übersetzen übersetzung traduis traduire "
        "traduisez traduce traducir traduci traduz traduzir traduzione",
        "переве çevir",
    ),
    _genre(
        "letter",
        r"\b(?:write|draft|compose|prepare|create|generate|send|reply to)\b[^.?!\n]{0,40}?"
        r"\b(?:e-?mail|mail|letter)\b(?! address)|\b(?:напиши|составь|подготовь)\w*\b[^.?!\n]{0,40}?\bписьмо\b",
        "email mail letter письмо",
    ),
    _genre(
        "poem",
        r"\b(?:poems?|haikus?|verses?|sonnet|limerick|rhyme|lullaby)\b|\b(?:стих\w*|хокку|хайку|сонет|колыбельн\w+)\b",
        "poem poems haiku haikus verse verses sonnet limerick rhyme lullaby хокку хайку сонет",
        "стих колыбельн",
    ),
    _genre("joke", r"\bjokes?\b|\b(?:анекдот|шутк)\w*", "joke jokes", "анекдот шутк"),
    _genre(
        "code",
        r"\b(code|function|script|snippet|program|sql|regex|algorithm|implement)\b|"
        r"\b(?:in|using|with|some|an?|write) (?:python|javascript|typescript|golang|rust|java|bash)\b|\bin go\b|"
        r"\b(код|функци\w+|скрипт\w*|программ\w+|алгоритм\w*)\b|"
        r"\bна (?:python|питоне|javascript|typescript|go|rust|java)\b",
        "code function script snippet program sql regex algorithm implement python javascript typescript golang go "
        "rust java bash код питоне",
        "функци скрипт программ алгоритм",
    ),
    _genre(
        "names",
        r"\bnames?\b (?:ideas )?(?:for|of) (?!(?:people|persons|users|customers|contacts|employees))|"
        r"\bназвани\w+ (?:для|к)\b",
        "name names",
        "названи",
    ),
    _genre(
        "people",
        r"\b(generate|invent|fake|sample|make up|random|give me|list|suggest)\b[^.?!\n]{0,40}"
        r"\b(names|people|users|customers|contacts|address(es)?|compan(y|ies)|employees)\b",
        "names people users customers contacts address addresses company companies employees",
    ),
    _genre(
        "long",
        r"\b(essay|article|long|detailed|in detail|in depth|story|report|comprehensive|thorough)\b|"
        r"подробн|эссе|стать[юяи]|рассказ|доклад|сочинени",
        "essay article long detailed detail depth story report comprehensive thorough",
        "подробн эссе стать рассказ доклад сочинени",
    ),
    _genre(
        "list",
        r"\b(list|steps?|bullets?|ideas|tips|ways|examples|pros and cons|reasons|checklist)\b|"
        r"список|перечисл|шаг[иа]|пункт|идеи|советы|примеры|способ",
        "list step steps bullet bullets ideas tips ways examples pros reasons checklist",
        "список перечисл шаг пункт идеи советы примеры способ",
    ),
    _genre(
        "brief",
        r"\b(brief(ly)?|short(ly)?|concise(ly)?|in a few words|tl;?dr|summar(y|ise|ize))\b|кратк|коротк|вкратце",
        "brief briefly short shortly concise concisely few tldr tl summary summarise summarize",
        "кратк коротк вкратце",
    ),
)
# The words and stems of all genres: most prompts have none of them, and ask for none.
_ANY = frozenset().union(*(genre.words for genre in GENRES)), tuple(stem for genre in GENRES for stem in genre.stems)


def genre_of(text: str, wording: Wording) -> str:
    """The genre that a text with this wording asks for; `plain` if it asks for none."""
    if not wording.may_have(*_ANY):
        return "plain"
    return next((genre.name for genre in GENRES if genre.is_asked(text, wording)), "plain")

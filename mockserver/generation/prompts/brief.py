"""The brief of a prompt: its language, its subject, the genre of text that it asks for, and what it dictates.

Only a bounded part of the prompt is read, so that a prompt of a megabyte costs no more than a short one.

Most prompts ask for nothing special. So the words of a prompt are collected first, which is cheap, and a pattern is
only tried if the prompt has one of the words without which it cannot match.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from mockserver.generation.prompts.dialogues import last_turn
from mockserver.generation.prompts.genres import genre_of
from mockserver.generation.prompts.language import language_of, requested_language
from mockserver.generation.prompts.subject import subject_of
from mockserver.generation.prompts.wording import STRETCH, Wording, stretch_of, wording_of

# The subject of a prompt that names none, by language.
_GENERIC = {
    "en": "this topic", "ru": "этот вопрос", "de": "dieses Thema", "fr": "ce sujet", "es": "este tema",
    "it": "questo argomento", "pt": "este tema", "tr": "bu konu", "uk": "це питання", "zh": "这个话题",
    "ja": "このテーマ", "ko": "이 주제",
}  # fmt: skip
# Without one of these words, in lower case, a prompt dictates no answer and offers none to choose from.
_CUES = frozenset((
    "say", "reply", "respond", "answer", "return", "output", "print", "echo", "repeat", "write", "count", "rate",
    "classify", "label", "categorize", "categorise", "choose", "pick", "select", "sentiment", "one", "either", "yes",
    "true", "скажи", "скажите", "ответь", "ответьте", "повтори", "повторите", "напиши", "напишите", "выведи",
    "выведите", "посчитай", "посчитайте", "выбери", "выберите", "определи", "определите", "да",
))  # fmt: skip
# Without one of these words, or a sign between digits, a short prompt asks for no fact that is known.
_FACTUAL = frozenset((
    "capital", "столица", "столицу", "столицей", "plus", "minus", "times", "divided", "multiplied", "плюс", "минус",
    "умножить", "разделить", "делить", "x", "percent", "процент", "процента", "процентов", "wrote", "author", "painted",
    "composed", "написал", "автор",
))  # fmt: skip
_SIGNS = frozenset("+-*/×÷^%")
_LONGEST_QUESTION = 160
# Without one of these, a prompt gives no text to be summarized or translated.
_WORKING = (
    frozenset((
        "summary", "summaries", "summarise", "summarize", "summarised", "summarized", "summarises", "summarizes",
        "summarising", "summarizing", "condense", "tl", "tldr", "translate", "translates", "translated", "translating",
        "translation", "übersetz", "übersetze", "übersetzen", "übersetzung", "traduis", "traduire", "traduisez",
        "traduce", "traducir", "traduci", "traduz", "traduzir", "traduzione",
    )),
    ("изложи", "перескаж", "резюм", "суммир", "переве", "çevir"),
)  # fmt: skip
_NUMBERS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}
_NUMBER = re.compile(rf"\b(\d{{1,2}}|{'|'.join(_NUMBERS)})\b", re.IGNORECASE)
_COUNTED = re.compile(r"\b(\d{1,4})[ -](words?|слов\w*|sentences?|предложени\w*)", re.IGNORECASE)
_COUNTABLE = ("word", "sentence", "слов", "предложени")
_WORDS_PER_SENTENCE = 14


class Brief(NamedTuple):
    """What to write: language, subject, genre, and its length in words and number of items if stated.

    The subject is in the prompt's own words, and stands in the `sentence` if that is in English. `wanted` is the part
    of the prompt that was read, in lower case. If there are `sayings`, one of them is the answer; if there are `facts`,
    an answer begins with one of them. Only a prompt that `gives_material` may order to summarize or translate a text.
    """

    language: str
    subject: str
    genre: str
    words: int | None = None
    items: int | None = None
    wanted: str = ""
    sayings: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    sentence: str = ""
    gives_material: bool = False

    @property
    def noun_phrase(self) -> str:
        """The subject as it is named within a sentence in the answer's language."""
        if self.language != "en" or not self.sentence:
            # The sentences of other languages quote it.
            return self.subject
        # Texts that are only continued do not need it.
        from mockserver.generation.prompts.noun_phrases import noun_phrase

        return noun_phrase(self.sentence) or self.subject

    @property
    def names_subject(self) -> bool:
        """Whether the subject comes from the prompt; otherwise it is a generic one."""
        return self.subject != _GENERIC[self.language]


def brief(topic: str) -> Brief:
    """The brief of a topic, which is the part of a prompt that asks for something."""
    return _brief(stretch_of(last_turn(topic)) if len(topic) > STRETCH else topic)


@lru_cache(maxsize=1024)
def _brief(stretch: str) -> Brief:
    stretch = last_turn(stretch)
    lowered = stretch.lower()
    wording = wording_of(lowered)
    own = language_of(stretch, lowered, wording)
    language, rest = requested_language(stretch, wording) or (own, stretch)
    subject, sentence = subject_of(rest, own, wording) or (_GENERIC[language], "")
    genre = genre_of(stretch, wording)
    countable = any(map((wording.folded or lowered).__contains__, _COUNTABLE))
    words = _number_of_words(stretch) if countable else None
    sayings = _sayings(stretch) if wording.may_have(_CUES) else ()
    facts = _facts(stretch, wording) if len(stretch) <= _LONGEST_QUESTION and not sayings else ()
    items, material = _number_of_items(stretch, wording), wording.may_have(*_WORKING)
    return Brief(language, subject, genre, words, items, lowered, sayings, facts, sentence, material)


def _facts(stretch: str, wording: Wording) -> tuple[str, ...]:
    """The sentences that state the fact that a short prompt asks for; none if it asks for no fact that is known."""
    if not wording.may_have(_FACTUAL) and (_SIGNS.isdisjoint(stretch) or not any(map(str.isdigit, stretch))):
        return ()
    from mockserver.generation.prompts.facts import known  # slow to import

    fact = known(stretch)
    return () if fact is None else fact.sentences


def _sayings(stretch: str) -> tuple[str, ...]:
    """What the prompt dictates, or offers to choose from."""
    from mockserver.generation.prompts.dictation import sayings  # slow to import

    return sayings(stretch)


def _number_of_items(text: str, wording: Wording) -> int | None:
    """The first small number in a text, which may be that of the items asked for; None if it has none."""
    digits = any(word.isdecimal() for word in wording.words if len(word) <= 2)
    number = _NUMBER.search(text) if digits or wording.may_have(_NUMBERS) else None
    if number is None:
        return None
    return _NUMBERS.get(number[1].lower()) or max(int(number[1]), 1)


def _number_of_words(text: str) -> int | None:
    """The length that a text asks for, in words; None if it asks for none."""
    counted = _COUNTED.search(text)
    if not counted:
        return None
    number = int(counted[1])
    return number if counted[2].lower().startswith(("word", "слов")) else number * _WORDS_PER_SENTENCE

"""What a prompt is about: its language, its subject, and the genre of text that it asks for.

Only a bounded part of the prompt is read, so that a prompt of a megabyte costs no more than a short one.

Most prompts ask for nothing special. So the words of a prompt are collected first, which is cheap, and a pattern is
only tried if the prompt has one of the words without which it cannot match.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from mockserver.generation import corpus
from mockserver.generation.prompts.dialogues import last_turn
from mockserver.generation.prompts.genres import genre_of
from mockserver.generation.prompts.wording import Wording, wording_of

_STRETCH = 1200
_SUBJECT_WORDS = 6
_ARTICLES = ("the", "a", "an")

_WORD = re.compile(r"[^\W_]+(?:['\u2019\-][^\W_]+)*")
_JOINT = re.compile(r"['\u2019\-]")
_BREAK = re.compile(r"[,;:()\[\]{}\"«»`<>|]")
# A period within a word, or behind a title or an initial, ends no sentence: Node.js, ann@example.com, St. Petersburg.
_SENTENCE_END = re.compile(
    r"[.!?\u2026\u3002\uff01\uff1f\n]+"
    r"(?:(?<!\.)|(?![a-z0-9])(?<!\b(?:St|Dr|Mr|Ms)\.)(?<!\bMrs\.)(?<!\b[A-Z]\.))"
)

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
_NAMED = {
    "english": "en", "russian": "ru", "german": "de", "french": "fr", "spanish": "es", "italian": "it",
    "portuguese": "pt", "turkish": "tr", "ukrainian": "uk", "chinese": "zh", "japanese": "ja", "korean": "ko",
}  # fmt: skip
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
_LETTERS = {"de": "äöüß", "fr": "èêàœù", "es": "ñ¿¡", "pt": "ãõ", "tr": "ışğ", "it": "ìò"}
# What follows or precedes the subject, in languages whose words spaces do not separate.
_SUBJECTS = {
    "ja": r"(.{1,24}?)(?:について|とは|に関して|って|を|の?使い方)",
    "ko": r"(.{1,24}?)(?:에 대해|에 대하여|에 관해|이란|란 |은 |는 |을 |를 )",
    "zh": r"(?:介绍一下|介绍|解释一下|解释|什么是|谈谈|关于)(.{1,16}?)(?:的|[？?。，,]|$)",
}
# The same in Russian, by the beginnings of their names: `на английском`, `по-английски`.
_NAMED_IN_RUSSIAN = {
    "английск": "en", "русск": "ru", "немецк": "de", "французск": "fr", "испанск": "es", "итальянск": "it",
    "португальск": "pt", "турецк": "tr", "украинск": "uk", "китайск": "zh", "японск": "ja", "корейск": "ko",
}  # fmt: skip
_REQUESTED_LANGUAGE = re.compile(
    rf"\b(?:in|into|(?<=translate )to|translat\w+ [^.\n]{{1,80}}? to) ({'|'.join(_NAMED)})\b"
    rf"|\b(?:на|по)[ -]({'|'.join(_NAMED_IN_RUSSIAN)})\w*(?: язык\w*)?",
    re.IGNORECASE,
)
_ABOUT = re.compile(r"\b(?:about|regarding|concerning|об?|про|über|sobre|hakkında)\s+(\w.*)", re.IGNORECASE)
_ABOUT_WORDS = frozenset(["about", "regarding", "concerning", "о", "об", "про", "über", "sobre", "hakkinda"])
# Words that label the request itself in a prompt, as in `Current Task: ...`.
_LABELS = frozenset((
    "task", "question", "topic", "query", "prompt", "input", "request", "subject", "instruction", "instructions",
    "problem", "text", "title", "document", "message", "case", "example", "задача", "задание", "вопрос", "тема",
    "текст", "frage", "aufgabe", "thema", "sujet", "tema", "pregunta", "domanda", "soru", "konu",
))  # fmt: skip
# What numbers a prompt, as load tests do, or an item in it: `[req-17]`, `#4711`, `000123`, `2.`
_NUMBERING = re.compile(r"\W*(?:\[[^\]\n]{1,40}\]|#\d+|0\d+|\d{5,}|\(?\d{1,3}[.):])[\s:.)|-]+(?=\S)")
# Verbs that begin an order how to answer, as in `Answer in one sentence: ...`, which may have so many words.
_ANSWERING = frozenset(("answer", "respond", "reply", "ответь", "ответьте", "antworte", "réponds", "responde"))
_LONGEST_LABEL = 8
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
    "выведите", "посчитай", "посчитайте", "выбери", "выберите", "определи", "определите",
    "да",
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
        from mockserver.generation.prompts.noun_phrases import (
            noun_phrase,  # not needed for texts that are only continued
        )

        return noun_phrase(self.sentence) or self.subject

    @property
    def names_subject(self) -> bool:
        """Whether the subject comes from the prompt; otherwise it is a generic one."""
        return self.subject != _GENERIC[self.language]


def brief(topic: str) -> Brief:
    """The brief of a topic, which is the part of a prompt that asks for something."""
    if len(topic) > _STRETCH:
        topic = last_turn(topic)
    return _brief(topic if len(topic) <= _STRETCH else f"{topic[: _STRETCH // 2]}\n{topic[-_STRETCH // 2 :]}")


@lru_cache(maxsize=1024)
def _brief(stretch: str) -> Brief:
    stretch = last_turn(stretch)
    lowered = stretch.lower()
    wording = wording_of(lowered)
    own = _language(stretch, lowered, wording)
    language, rest = own, stretch
    if wording.may_have(_NAMED, (*_NAMED_IN_RUSSIAN,)) and (requested := _REQUESTED_LANGUAGE.search(stretch)):
        name = (requested[1] or requested[2]).lower()
        language, rest = _NAMED.get(name) or _NAMED_IN_RUSSIAN[name], _REQUESTED_LANGUAGE.sub("", stretch)
    subject, sentence = _subject(rest, own, wording) or (_GENERIC[language], "")
    genre = genre_of(stretch, wording)
    countable = any(map((wording.folded or lowered).__contains__, _COUNTABLE))
    words = _words(stretch) if countable else None
    sayings = _sayings(stretch) if wording.may_have(_CUES) else ()
    facts = _facts(stretch, wording) if len(stretch) <= _LONGEST_QUESTION and not sayings else ()
    items, material = _number_of_items(stretch, wording), wording.may_have(*_WORKING)
    return Brief(language, subject, genre, words, items, lowered, sayings, facts, sentence, material)


def _facts(stretch: str, wording: Wording) -> tuple[str, ...]:
    if not wording.may_have(_FACTUAL) and (_SIGNS.isdisjoint(stretch) or not any(map(str.isdigit, stretch))):
        return ()
    from mockserver.generation.prompts.facts import known  # slow to import

    fact = known(stretch)
    return () if fact is None else fact.sentences


def _sayings(stretch: str) -> tuple[str, ...]:
    from mockserver.generation.prompts.dictation import sayings  # slow to import

    return sayings(stretch)


def _language(text: str, lowered: str, wording: Wording) -> str:
    script = None if text.isascii() else _script(text)
    if script is not None:
        return script
    words = wording.words & _ANY_MARKER
    if words and (wording.folded or _JOINT.search(lowered)):
        # The parts of compound words do not count.
        words &= set(_WORD.findall(lowered))
    if words <= _MARKERS["en"] and not wording.folded:
        # Then no other language can have more markers.
        return "en"
    scores = {name: len(words & markers) for name, markers in _MARKERS.items()}
    if wording.folded:
        letters = set(lowered)
        for name, own in _LETTERS.items():
            scores[name] += 2 * len(letters & set(own))
    best = max(scores, key=lambda name: (scores[name], name == "en"))
    return best if scores[best] >= 2 else "en"


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


def _subject(text: str, language: str, wording: Wording) -> tuple[str, str] | None:
    """The subject: the first words of a sentence after function words, up to a punctuation mark; and the sentence, if
    it is in English. None if there is none."""
    marked = re.search(_SUBJECTS[language], text) if language in _SUBJECTS else None
    if marked:
        return _unbroken(marked[1].strip()), ""
    stopwords = corpus.stopwords(language)
    points = wording.may_have(_ABOUT_WORDS)
    for labelled in _candidates(text):
        if labelled.isdecimal() and labelled != text.strip():
            # The number of an item.
            continue
        sentence = _without_label(labelled)
        named = _named(sentence) if points else sentence
        words = _without_lead(named, stopwords)
        while words and words[-1].group().lower() in stopwords:
            words.pop()
        if words:
            subject = _unbroken(named[words[0].start() : words[-1].end()])
            return subject, sentence if language == "en" else ""
    return None


def _without_label(sentence: str) -> str:
    """A sentence without a number, or a label such as `Task:` or `Answer briefly:`, at its beginning; empty if it is
    only a label."""
    if not sentence[0].isalpha():
        sentence = _NUMBERING.sub("", sentence, 1)
    label, colon, rest = sentence.partition(":")
    words = label.split()
    if not colon or not words or len(words) > _LONGEST_LABEL:
        return sentence
    while len(words) > 1 and words[-1].strip("#").isdecimal():
        words.pop()
    if len(words) <= 2 and words[-1].strip("#*\"'{").lower() in _LABELS:
        return rest.strip(" \t*\"'")
    verb = words[1] if words[0].lower() == "please" and len(words) > 1 else words[0]
    return rest.strip() or sentence if verb.lower() in _ANSWERING else sentence


def _named(sentence: str) -> str:
    """What follows "about" in a sentence, if anything; else the sentence."""
    about = _ABOUT.search(sentence)
    return about[1] if about else sentence


def _without_lead(sentence: str, stopwords: frozenset[str]) -> list[re.Match[str]]:
    """The first words without leading function words, but with an English article."""
    words: list[re.Match[str]] = []
    lead = None
    for word in _WORD.finditer(sentence):
        if not words:
            lowered = word.group().lower()
            if lowered in stopwords:
                lead = word if lowered in _ARTICLES else None
                continue
            if lead is not None:
                words.append(lead)
        words.append(word)
        if len(words) >= _SUBJECT_WORDS:
            break
    return words


def _candidates(text: str) -> Iterator[str]:
    """The sentences that may name the subject: the last question first, then from the beginning."""
    if text.rstrip().endswith("?"):
        sentences = _sentences(_SENTENCE_END.split(text))
        yield from sentences[-1:] + sentences[:-1]
    else:
        # Usually the first one names it.
        first, *rest = _SENTENCE_END.split(text, 1)
        yield from _sentences([first])
        for remainder in rest:
            yield from _sentences(_SENTENCE_END.split(remainder))


def _sentences(parts: Iterable[str]) -> list[str]:
    return [sentence for part in parts if (sentence := part.strip())]


def _unbroken(words: str) -> str:
    """The words up to the first punctuation mark among them."""
    return _BREAK.split(words, 1)[0].strip() or words


def _number_of_items(text: str, wording: Wording) -> int | None:
    digits = any(word.isdecimal() for word in wording.words if len(word) <= 2)
    number = _NUMBER.search(text) if digits or wording.may_have(_NUMBERS) else None
    if number is None:
        return None
    return _NUMBERS.get(number[1].lower()) or max(int(number[1]), 1)


def _words(text: str) -> int | None:
    counted = _COUNTED.search(text)
    if not counted:
        return None
    number = int(counted[1])
    return number if counted[2].lower().startswith(("word", "слов")) else number * 14

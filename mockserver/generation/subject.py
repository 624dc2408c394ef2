"""What a prompt is about: its language, its subject, and the requested form of answer.

Only a bounded part of the prompt is read, so that a prompt of a megabyte costs no more than a short one.

Most prompts ask for nothing special. So the words of a prompt are collected first, which is cheap, and a pattern is
only tried if the prompt has one of the words without which it cannot match.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from mockserver.generation import corpus
from mockserver.generation.dialogues import last_turn

_STRETCH = 1200
_SUBJECT_WORDS = 6
_ARTICLES = ("the", "a", "an")

_WORD = re.compile(r"[^\W_]+(?:['\u2019\-][^\W_]+)*")
_PIECE = re.compile(r"[^\W_]+")
_JOINT = re.compile(r"['\u2019\-]")
# Replaces every ASCII character that is neither a letter nor a digit by a space.
_BLANKS = bytes(code if chr(code).isalnum() else ord(" ") for code in range(128)).ljust(256)
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
_REQUESTED_LANGUAGE = re.compile(rf"\bin ({'|'.join(_NAMED)})\b", re.IGNORECASE)
_ABOUT = re.compile(r"\b(?:about|regarding|concerning|об?|про|über|sobre|hakkında)\s+(\w.*)", re.IGNORECASE)
_ABOUT_WORDS = frozenset(["about", "regarding", "concerning", "о", "об", "про", "über", "sobre", "hakkinda"])
# Words that label the request itself in a prompt, as in `Current Task: ...`.
_LABELS = frozenset((
    "task", "question", "topic", "query", "prompt", "input", "request", "subject", "instruction", "instructions",
    "problem", "text", "title", "document", "задача", "задание", "вопрос", "тема", "текст", "frage", "aufgabe", "thema",
    "sujet", "tema", "pregunta", "domanda", "soru", "konu",
))  # fmt: skip
# Verbs that begin an order how to answer, as in `Answer in one sentence: ...`, which may have so many words.
_ANSWERING = frozenset(("answer", "respond", "reply", "ответь", "ответьте", "antworte", "réponds", "responde"))
_LONGEST_LABEL = 8
_GENERIC = {
    "en": "this topic", "ru": "этот вопрос", "de": "dieses Thema", "fr": "ce sujet", "es": "este tema",
    "it": "questo argomento", "pt": "este tema", "tr": "bu konu", "uk": "це питання", "zh": "这个话题",
    "ja": "このテーマ", "ko": "이 주제",
}  # fmt: skip


class _Form(NamedTuple):
    """A form of answer, and the pattern of the prompts that ask for it.

    Every prompt that matches the pattern has one of the `words`, or one of the `stems` somewhere in it.
    """

    name: str
    pattern: str
    words: frozenset[str]
    stems: tuple[str, ...]

    def is_asked(self, text: str, wording: "_Wording") -> bool:
        """Whether a text with this wording asks for this form."""
        return wording.may_have(self.words, self.stems) and _form_pattern(self.pattern).search(text) is not None


def _form_of(name: str, pattern: str, words: str, stems: str = "") -> _Form:
    return _Form(name, pattern, frozenset(words.split()), tuple(stems.split()))


@cache
def _form_pattern(pattern: str) -> re.Pattern[str]:
    # Compiled with the first prompt that may match: all together they would take a fiftieth of the server's start.
    return re.compile(pattern, re.IGNORECASE)


# The forms that a prompt may ask for, the most specific first.
_FORMS = (
    _form_of(
        "greeting",
        r"^\W*(?:(?:please )?say |скажи )?"
        r"(hello|hi|hey|good (morning|evening|afternoon)|привет|здравствуй(те)?|добр(ый|ое) \w+|hallo|guten \w+|"
        r"bonjour|salut|hola|ciao|buongiorno|olá|oi|merhaba|selam|вітаю|привіт|你好|こんにちは|안녕(하세요)?)\b.{0,14}$",
        "hello hi hey good hallo guten bonjour salut hola ciao buongiorno olá oi merhaba selam "
        "你好 こんにちは 안녕 안녕하세요",
        "привет здравствуй добр вітаю привіт",
    ),
    _form_of(
        "short",
        r"\b(one|single) word\b|\byes or no\b|одним словом|да или нет",
        "word no",
        "одним или",
    ),
    _form_of("sentence", r"\b(one|single) sentence\b|одним предложением", "sentence", "предложением"),
    _form_of(
        "code",
        r"\b(code|function|script|snippet|program|sql|regex|algorithm|implement|python|javascript|typescript|"
        r"golang|rust|java|bash)\b|\b(код|функци\w+|скрипт\w*|программ\w+|алгоритм\w*)\b",
        "code function script snippet program sql regex algorithm implement python javascript typescript golang rust "
        "java bash код",
        "функци скрипт программ алгоритм",
    ),
    _form_of(
        "people",
        r"\b(generate|invent|fake|sample|make up|random|give me|list|suggest)\b[^.?!\n]{0,40}"
        r"\b(names|people|users|customers|contacts|address(es)?|compan(y|ies)|employees)\b",
        "names people users customers contacts address addresses company companies employees",
    ),
    _form_of(
        "long",
        r"\b(essay|article|long|detailed|in detail|in depth|story|report|comprehensive|thorough)\b|"
        r"подробн|эссе|стать[юяи]|рассказ|доклад|сочинени",
        "essay article long detailed detail depth story report comprehensive thorough",
        "подробн эссе стать рассказ доклад сочинени",
    ),
    _form_of(
        "list",
        r"\b(list|steps?|bullets?|ideas|tips|ways|examples|pros and cons|reasons|checklist)\b|"
        r"список|перечисл|шаг[иа]|пункт|идеи|советы|примеры|способ",
        "list step steps bullet bullets ideas tips ways examples pros reasons checklist",
        "список перечисл шаг пункт идеи советы примеры способ",
    ),
    _form_of(
        "brief",
        r"\b(brief(ly)?|short(ly)?|concise(ly)?|in a few words|tl;?dr|summar(y|ise|ize))\b|кратк|коротк|вкратце",
        "brief briefly short shortly concise concisely few tldr tl summary summarise summarize",
        "кратк коротк вкратце",
    ),
)
# The words and stems of all forms: most prompts have none of them, and ask for no form.
_ANY_FORM = frozenset().union(*(form.words for form in _FORMS)), tuple(stem for form in _FORMS for stem in form.stems)
# Without one of these words, in lower case, a prompt dictates no answer and offers none to choose from.
_CUES = frozenset((
    "say", "reply", "respond", "answer", "return", "output", "print", "echo", "repeat", "write", "count", "classify",
    "label", "categorize", "categorise", "choose", "pick", "select", "sentiment", "one", "either", "yes", "true",
    "скажи", "скажите", "ответь", "ответьте", "повтори", "повторите", "напиши", "напишите", "выведи", "выведите",
    "посчитай", "посчитайте", "выбери", "выберите", "да",
))  # fmt: skip
# Without one of these words, or a sign between digits, a short prompt asks for no fact that is known.
_FACTUAL = frozenset((
    "capital", "столица", "столицу", "столицей", "plus", "minus", "times", "divided", "multiplied", "плюс", "минус",
    "умножить", "разделить", "делить", "x",
))  # fmt: skip
_SIGNS = frozenset("+-*/×÷^")
_LONGEST_QUESTION = 160
_NUMBERS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}
_NUMBER = re.compile(rf"\b(\d{{1,2}}|{'|'.join(_NUMBERS)})\b", re.IGNORECASE)
_COUNTED = re.compile(r"\b(\d{1,4})[ -](words?|слов\w*|sentences?|предложени\w*)", re.IGNORECASE)
_COUNTABLE = ("word", "sentence", "слов", "предложени")


class Brief(NamedTuple):
    """What to write: language, subject, form of answer, and its length in words and number of items if stated.

    `wanted` is the part of the prompt that was read, in lower case. If there are `sayings`, one of them is the answer;
    if there are `facts`, an answer begins with one of them.
    """

    language: str
    subject: str
    form: str
    words: int | None = None
    items: int | None = None
    wanted: str = ""
    sayings: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()

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
    wording = _wording(lowered)
    own = _language(stretch, lowered, wording)
    language, rest = own, stretch
    if wording.may_have(_NAMED) and (requested := _REQUESTED_LANGUAGE.search(stretch)):
        language, rest = _NAMED[requested[1].lower()], _REQUESTED_LANGUAGE.sub("", stretch)
    subject = _subject(rest, own, wording) or _GENERIC[language]
    form = "plain"
    if wording.may_have(*_ANY_FORM):
        form = next((form.name for form in _FORMS if form.is_asked(stretch, wording)), form)
    countable = any(map((wording.folded or lowered).__contains__, _COUNTABLE))
    words = _words(stretch) if countable else None
    sayings = _sayings(stretch) if wording.may_have(_CUES) else ()
    facts = _facts(stretch, wording) if len(stretch) <= _LONGEST_QUESTION and not sayings else ()
    return Brief(language, subject, form, words, _number_of_items(stretch, wording), lowered, sayings, facts)


def _facts(stretch: str, wording: "_Wording") -> tuple[str, ...]:
    if not wording.may_have(_FACTUAL) and (_SIGNS.isdisjoint(stretch) or not any(map(str.isdigit, stretch))):
        return ()
    from mockserver.generation.facts import known  # slow to import

    fact = known(stretch)
    return () if fact is None else fact.sentences


def _sayings(stretch: str) -> tuple[str, ...]:
    from mockserver.generation.dictation import sayings  # slow to import

    return sayings(stretch)


class _Wording(NamedTuple):
    """The words of a text in lower case, split at apostrophes and hyphens too.

    `folded` is the whole text, case-folded; empty for a text in ASCII.
    """

    words: frozenset[str]
    folded: str

    def may_have(self, words: Iterable[str], stems: tuple[str, ...] = ()) -> bool:
        """Whether the text has one of the words, or one of the stems (which are not ASCII) anywhere."""
        if not self.words.isdisjoint(words):
            return True
        return bool(self.folded) and any(stem in self.folded for stem in stems)


def _wording(lowered: str) -> _Wording:
    if lowered.isascii():
        return _Wording(frozenset(lowered.encode().translate(_BLANKS).decode().split()), "")
    # Patterns that ignore case also match letters that are not each other's lower case, such as the Turkish i.
    folded = lowered.casefold().replace("i\u0307", "i").replace("ı", "i")
    words = frozenset(_PIECE.findall(lowered))
    return _Wording(words if folded == lowered else words.union(_PIECE.findall(folded)), folded)


def _language(text: str, lowered: str, wording: _Wording) -> str:
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


def _subject(text: str, language: str, wording: _Wording) -> str:
    """The subject: the first words of a sentence after function words, up to a punctuation mark; empty if none."""
    marked = re.search(_SUBJECTS[language], text) if language in _SUBJECTS else None
    if marked:
        return _unbroken(marked[1].strip())
    stopwords = corpus.stopwords(language)
    points = wording.may_have(_ABOUT_WORDS)
    for labelled in _candidates(text):
        sentence = _without_label(labelled)
        named = _named(sentence) if points else sentence
        words = _without_lead(named, stopwords)
        while words and words[-1].group().lower() in stopwords:
            words.pop()
        if words:
            return _unbroken(named[words[0].start() : words[-1].end()])
    return ""


def _without_label(sentence: str) -> str:
    """A sentence without a label such as `Task:` or `Answer briefly:` at its beginning; empty if it is only a label."""
    label, colon, rest = sentence.partition(":")
    words = label.split()
    if not colon or not words or len(words) > _LONGEST_LABEL:
        return sentence
    if len(words) <= 2 and words[-1].strip("#*").lower() in _LABELS:
        return rest.strip()
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


def _number_of_items(text: str, wording: _Wording) -> int | None:
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

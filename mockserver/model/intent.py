"""What a prompt asks for: its language, its subject, the kind and length of answer, and answers that it dictates.

Only a bounded part of the prompt is read, so that a prompt of a megabyte costs no more than a short one. Its words are
collected once; a pattern is only tried if the prompt has one of the words without which it cannot match, and most
prompts have none of them.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from mockserver.model import languages
from mockserver.model.languages import (
    ENGLISH_MARKERS,
    LANGUAGE_NAMES,
    LANGUAGE_STEMS,
    MARKERS,
    WORD,
    language_of,
    requested_language,
)
from mockserver.model.literal_answers import literal_answers

# How many characters of a prompt are read for what it asks.
STRETCH = 1200

# The subject of a prompt that names none, by language.
_GENERIC = {
    "en": "this topic", "ru": "этот вопрос", "de": "dieses Thema", "fr": "ce sujet", "es": "este tema",
    "it": "questo argomento", "pt": "este tema", "tr": "bu konu", "uk": "це питання", "zh": "这个话题",
    "ja": "このテーマ", "ko": "이 주제",
}  # fmt: skip

# Without one of these words, in lower case, a prompt dictates no answer and offers none to choose from.
_LITERAL = frozenset((
    "say", "reply", "respond", "answer", "return", "output", "print", "echo", "repeat", "write", "count", "rate",
    "classify", "label", "categorize", "categorise", "choose", "pick", "select", "sentiment", "one", "either", "yes",
    "true", "only", "options", "labels", "categories", "classes", "choices", "intents", "random", "between", "скажи",
    "скажите", "ответь", "ответьте", "повтори", "повторите", "напиши", "напишите", "выведи", "выведите", "посчитай",
    "посчитайте", "выбери", "выберите", "определи", "определите", "да",
))  # fmt: skip

# The kinds of answer, the most specific first: the name, the words that may ask for it, and the pattern that decides.
_KINDS: tuple[tuple[str, frozenset[str], re.Pattern[str]], ...] = tuple(
    (name, frozenset(words.split()), re.compile(pattern, re.IGNORECASE))
    for name, words, pattern in (
        (
            "greeting",
            "hello hi hey hallo bonjour hola ciao olá merhaba привет здравствуйте вітаю 你好 こんにちは 안녕하세요",
            r"^\W*(?:(?:please )?say |скажи )?(?:hello|hi|hey|hallo|bonjour|hola|ciao|olá|merhaba|привет|здравствуйте|"
            r"вітаю|你好|こんにちは|안녕(?:하세요)?)\b.{0,14}$",
        ),
        (
            "word",
            "word no одним нет",
            r"\b(?:one|single) word\b|\byes or no\b|одним словом|да или нет",
        ),
        ("sentence", "sentence предложением", r"\b(?:one|single) sentence\b|одним предложением"),
        (
            "code",
            "code function script snippet program sql regex algorithm implement python javascript typescript golang go "
            "rust java bash код функцию функция скрипт программу алгоритм питоне",
            r"\b(?:code|function|script|snippet|program|sql|regex|algorithm|implement)\b|"
            r"\b(?:in|using|with|some|an?|write) (?:python|javascript|typescript|golang|rust|java|bash)\b|\bin go\b|"
            r"\b(?:код|функци[юя]|скрипт|программу|алгоритм)\b|"
            r"\bна (?:python|питоне|javascript|typescript|go|rust|java)\b",
        ),
        (
            "article",
            "essay article report headings detailed эссе статью доклад",
            r"\b(?:essay|article|report|headings|detailed)\b|\b(?:эссе|статью|доклад)\b",
        ),
        (
            "list",
            "list lists steps bullet bullets bulleted numbered ideas tips ways examples checklist items список "
            "перечисли шаги пункты идеи советы примеры способы",
            r"\b(?:lists?|steps|bullets?|bulleted|numbered|ideas|tips|ways|examples|checklist|items)\b|"
            r"\b(?:список|перечисли|шаги|пункты|идеи|советы|примеры|способы)\b",
        ),
        (
            "brief",
            "brief briefly short shortly concise concisely few кратко коротко вкратце",
            r"\b(?:brief(?:ly)?|short(?:ly)?|concise(?:ly)?|in a few words)\b|\b(?:кратко|коротко|вкратце)\b",
        ),
    )
)
NUMBERS = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11,
    "twelve": 12,
}  # fmt: skip
_COUNTABLE = frozenset(
    ["word", "words", "sentence", "sentences", "слов", "слова", "предложений", "предложения", "предложение"]
)
_ABOUT_WORDS = frozenset(
    ["about", "regarding", "concerning", "о", "об", "про", "über", "sobre", "hakkında", "hakkinda"]
)
# The form of an answer, after its subject: "Describe Oslo as JSON with its population".
_FORMATS = frozenset(("json", "yaml", "xml", "csv", "html", "markdown"))
# All words that may change more than the language of an answer.
_CUES = _LITERAL.union(NUMBERS, _COUNTABLE, _ABOUT_WORDS, _FORMATS, LANGUAGE_NAMES, *(words for _, words, _ in _KINDS))

_NUMBER = re.compile(rf"\b(\d{{1,2}}|{'|'.join(NUMBERS)})\b", re.IGNORECASE)
_COUNTED = re.compile(
    rf"\b(\d{{1,4}}|{'|'.join(NUMBERS)})[ -](words?\b|слов\w*|sentences?\b|предложени\w*)", re.IGNORECASE
)
_WORDS_PER_SENTENCE = 14

# A word of a text in any script.
_PIECE = re.compile(r"[^\W_]+")
# Replaces every ASCII character that is neither a letter nor a digit by a space.
_BLANKS = bytes(code if chr(code).isalnum() else ord(" ") for code in range(128)).ljust(256)


class Intent(NamedTuple):
    """What a prompt asks for.

    `language` is that of the answer. `kind` is the kind of answer, with its length in `words` or `sentences` if stated.
    If there are `literal_answers`, one of them is the answer. `wanted` is the part of the prompt that was read, in
    lower case. `about` is where its subject is: in a text, in a language, with these cues.
    """

    language: str
    about: tuple[str, str, frozenset[str]]
    kind: str = "plain"
    words: int | None = None
    sentences: int | None = None
    wanted: str = ""
    literal_answers: tuple[str, ...] = ()

    @property
    def named_subject(self) -> str:
        """The subject in the prompt's own words; empty if it names none."""
        return _subject_in(*self.about)

    @property
    def subject(self) -> str:
        """The same, or a generic one."""
        return _subject_in(*self.about) or _GENERIC[self.language]

    @property
    def length(self) -> int:
        """About how many words the prompt asks for; 0 if it does not say."""
        return self.words or (self.sentences or 0) * _WORDS_PER_SENTENCE

    @property
    def items(self) -> int | None:
        """The first small number in the prompt, which may be that of the items asked for; None if it has none."""
        number = _NUMBER.search(self.wanted)
        return None if number is None else _number(number[1])


def stretch_of(text: str) -> str:
    """A text as far as it is read: the beginning and the end of a long one."""
    return text if len(text) <= STRETCH else f"{text[: STRETCH // 2]}\n{text[-STRETCH // 2 :]}"


def detect_intent(topic: str) -> Intent:
    """What a topic asks for, which is the part of a prompt that asks for something."""
    return _detect(stretch_of(last_turn(topic)) if len(topic) > STRETCH else topic)


@lru_cache(maxsize=1024)
def _detect(stretch: str) -> Intent:
    stretch = last_turn(stretch)
    lowered = stretch.lower()
    # Words are split at apostrophes and hyphens too.
    if stretch.isascii():
        words = frozenset(lowered.encode().translate(_BLANKS).decode().split())
    else:
        words = frozenset(_PIECE.findall(lowered))
    marked = words & MARKERS
    is_english = stretch.isascii() and 2 * len(marked & ENGLISH_MARKERS) >= len(marked)
    language = own = "en" if is_english else language_of(stretch, lowered, words)
    cues = words & _CUES
    rest = stretch
    if not cues.isdisjoint(LANGUAGE_NAMES) or (own == "ru" and any(stem in lowered for stem in LANGUAGE_STEMS)):
        language, rest = requested_language(stretch) or (own, stretch)
    about = rest, own, cues
    if not cues:
        return Intent(language, about, wanted=lowered)
    literal = literal_answers(stretch) if not cues.isdisjoint(_LITERAL) else ()
    kind = _kind_of(stretch, cues)
    length, sentences = _length_of(stretch) if not cues.isdisjoint(_COUNTABLE) else (None, None)
    return Intent(language, about, kind, length, sentences, lowered, literal)


def _kind_of(text: str, cues: frozenset[str]) -> str:
    for name, words, pattern in _KINDS:
        if not cues.isdisjoint(words) and pattern.search(text):
            return name
    return "plain"


def _length_of(text: str) -> tuple[int | None, int | None]:
    """The length that a text asks for, in words or in sentences."""
    counted = _COUNTED.search(text)
    if counted is None:
        return None, None
    number = _number(counted[1])
    return (number, None) if counted[2].lower().startswith(("word", "слов")) else (None, number)


def _number(written: str) -> int:
    return NUMBERS.get(written.casefold()) or max(int(written), 1)


# The subject: the first words of a sentence that are more than a way to ask.

# How many words a subject has at most.
_SUBJECT_WORDS = 6
_ARTICLES = ("the", "a", "an")
_BREAK = re.compile(r"[,;:()\[\]{}\"«»`<>|]")
# A period within a word, or behind a title or an initial, ends no sentence: Node.js, ann@example.com, St. Petersburg.
_SENTENCE_END = re.compile(
    r"[.!?\u2026\u3002\uff01\uff1f\n]+"
    r"(?:(?<!\.)|(?![a-z0-9])(?<!\b(?:St|Dr|Mr|Ms)\.)(?<!\bMrs\.)(?<!\b[A-Z]\.))"
)
# What follows or precedes the subject, in languages whose words spaces do not separate.
_SUBJECTS = {
    "ja": re.compile(r"(.{1,24}?)(?:について|とは|に関して|って|を|の?使い方)"),
    "ko": re.compile(r"(.{1,24}?)(?:에 대해|에 대하여|에 관해|이란|란 |은 |는 |을 |를 )"),
    "zh": re.compile(r"(?:介绍一下|介绍|解释一下|解释|什么是|谈谈|关于)(.{1,16}?)(?:的|[？?。，,]|$)"),
}
_ABOUT = re.compile(r"\b(?:about|regarding|concerning|об?|про|über|sobre|hakkında)\s+(\w.*)", re.IGNORECASE)
# Words that label the request itself in a prompt, as in `Current Task: ...`.
_LABELS = frozenset((
    "task", "question", "topic", "query", "prompt", "input", "request", "subject", "instruction", "instructions",
    "problem", "text", "title", "document", "message", "case", "example", "задача", "задание", "вопрос", "тема",
    "текст", "frage", "aufgabe", "thema", "sujet", "tema", "pregunta", "domanda", "soru", "konu",
))  # fmt: skip
# What numbers a prompt, as load tests do, or an item in it: `[req-17]`, `#4711`, `000123`, `2.`
_NUMBERING = re.compile(r"\W{0,20}(?:\[[^\[\]\n]{1,40}\]|#\d++|0\d++|\d{5,}+|\(?\d{1,3}[.):])[\s:.)|-]+(?=\S)")
_FORMED = re.compile(
    rf"(?<=\w)\s+(?:as (?:(?:an?|valid|raw|plain|strict|compact)\s+){{0,2}}(?:{'|'.join(sorted(_FORMATS))})\b"
    rf"|in (?:valid )?(?:{'|'.join(sorted(_FORMATS))}) (?:format|form|with)\b).*",
    re.IGNORECASE | re.DOTALL,
)
# Verbs that begin an order how to answer, as in `Answer in one sentence: ...`, which may have so many words.
_ANSWERING = frozenset(("answer", "respond", "reply", "ответь", "ответьте", "antworte", "réponds", "responde"))
_LONGEST_LABEL = 8


@lru_cache(maxsize=1024)
def _subject_in(text: str, language: str, cues: frozenset[str]) -> str:
    """The first words of a sentence after function words, up to a punctuation mark; empty if there are none."""
    pattern = _SUBJECTS.get(language)
    marked = pattern.search(text) if pattern is not None else None
    if marked:
        return _unbroken(marked[1].strip())
    stopwords = languages.stopwords(language)
    points, formed = not cues.isdisjoint(_ABOUT_WORDS), not cues.isdisjoint(_FORMATS)
    text = text.strip()
    ahead = [text]
    if text.endswith("?"):
        # The last question first.
        every = [*filter(None, map(str.strip, _SENTENCE_END.split(text)))]
        ahead = every[-1:] + every[:-1]
    while ahead:
        # No more is split than is needed: the first sentence usually names the subject.
        first, *rest = _SENTENCE_END.split(ahead[0], maxsplit=1)
        ahead[:1] = rest
        labelled = first.strip()
        if not labelled or (labelled.isdecimal() and labelled != text):
            # The number of an item.
            continue
        sentence = labelled if labelled[0].isalpha() else _NUMBERING.sub("", labelled, 1)
        if ":" in sentence:
            sentence = _without_label(sentence)
        if formed:
            sentence = _FORMED.sub("", sentence, 1)
        about = _ABOUT.search(sentence) if points else None
        subject = _first_words(about[1] if about else sentence, stopwords)
        if subject:
            return subject
    return ""


def _without_label(sentence: str) -> str:
    """A sentence without a label such as `Task:` or `Answer briefly:` at its beginning; empty if it is only a label."""
    label, _, rest = sentence.partition(":")
    words = label.split()
    if not words or len(words) > _LONGEST_LABEL:
        return sentence
    while len(words) > 1 and words[-1].strip("#").isdecimal():
        words.pop()
    if len(words) <= 2 and words[-1].strip("#*\"'{").lower() in _LABELS:
        return rest.strip(" \t*\"'")
    verb = words[1] if words[0].lower() == "please" and len(words) > 1 else words[0]
    return rest.strip() or sentence if verb.lower() in _ANSWERING else sentence


def _first_words(sentence: str, stopwords: frozenset[str]) -> str:
    """The first words without leading function words, but with an English article."""
    found: list[re.Match[str]] = []
    lead = None
    for word in WORD.finditer(sentence):
        if not found:
            lowered = word[0].lower()
            if lowered in stopwords:
                lead = word if lowered in _ARTICLES else None
                continue
            if lead is not None:
                found.append(lead)
        found.append(word)
        if len(found) >= _SUBJECT_WORDS:
            break
    while found and found[-1][0].lower() in stopwords:
        found.pop()
    return _unbroken(sentence[found[0].start() : found[-1].end()]) if found else ""


def _unbroken(words: str) -> str:
    """The words up to the first punctuation mark among them."""
    return _BREAK.split(words, maxsplit=1)[0].strip() or words


# --- dialogues --------------------------------------------------------------------------------------------------------

# Chats formatted by a client or by a model's chat template, to be completed. Such a text ends where the model's turn
# begins, and its topic is the last turn addressed to the model.

# How many characters at the end of a text are searched for the label of the model's turn, and for the turn before it.
_TAIL = 120
_REACH = 8000

# These patterns are compiled with the first text that may be a dialogue, so that the server starts sooner.
# The marks of turns: plain labels, or those of the templates of ChatML, Llama 3, Gemma, Harmony, Phi and GLM, Llama 2
# and Mistral, and Alpaca.
_WORD_GIVEN = (
    r"(?:(?:^|\n)[ \t]*(?:A|Answer|Assistant|AI|Bot|Model|Ответ|Ассистент)[ \t]*:|[ \t]ASSISTANT:"
    r"|<\|im_start\|>assistant|<\|start_header_id\|>assistant<\|end_header_id\|>|<start_of_turn>model"
    r"|<\|start\|>assistant(?:<\|channel\|>final<\|message\|>)?|<[|｜]assistant[|｜]>|\[/INST\]"
    r"|(?:^|\n)###[ ]?(?:Response|Assistant):?)"
    r"\s*(?:<think>\s*(?:</think>\s*)?)?\Z"
)
_TURN = (
    r"(?:(?:^|\n)[ \t]*(?:Q|Question|User|Human|Вопрос|Пользователь)[ \t]*:|[ \t]USER:"
    r"|<\|im_start\|>user|<\|start_header_id\|>user<\|end_header_id\|>|<start_of_turn>user"
    r"|<\|start\|>user<\|message\|>|<[|｜]user[|｜]>|\[INST\](?:\s*<<SYS>>(?:(?!<</SYS>>).)*<</SYS>>)?"
    r"|(?:^|\n)###[ ]?(?:Instruction|Input|User):?)\s*"
)
# What templates write after a turn.
_TURN_END = r"<\|\w+\|>|<｜[^｜\n]{1,40}｜>|<end_of_turn>|</s>|\[/INST\]"
# The start of a dialogue that may end without a label for the model's turn, as LangChain formats messages.
_BEGUN = re.compile(r"\s{0,4}(?:System|Human|User|AI|Assistant|Пользователь):[ \t\n]", re.IGNORECASE)
_BEGINNING = 20
_LAST_SIGNS = (":", ">", "]", "assistant", "model", "Assistant", "Response")


def turn_label(text: str) -> re.Match[str] | None:
    """The label of the model's turn at the end of a dialogue, with the white space after it; None for other texts."""
    tail = text[-_TAIL:]
    return re.search(_WORD_GIVEN, tail, re.IGNORECASE) if tail.rstrip().endswith(_LAST_SIGNS) else None


def is_begun(text: str) -> bool:
    """Whether a text begins like a dialogue, which may have no label for the model's turn at its end."""
    return ":" in text[:_BEGINNING] and _BEGUN.match(text) is not None


def last_turn(text: str) -> str:
    """The last turn addressed to the model in a dialogue; any other text unchanged."""
    if not text[-_TAIL:].rstrip().endswith(_LAST_SIGNS) and ":" not in text[:_BEGINNING]:
        return text
    given = turn_label(text)
    if given is None and not is_begun(text):
        return text
    end = text[-_REACH:] if given is None else text[-_REACH - _TAIL : len(text) - len(given[0])]
    starts = [turn.end() for turn in re.finditer(_TURN, end, re.IGNORECASE | re.DOTALL)]
    turn = end[starts[-1] :] if starts else end
    return re.split(_TURN_END, turn, maxsplit=1)[0].strip() or text

"""The subject of a prompt: the first words of one of its sentences that are more than a way to ask."""

import re
from collections.abc import Iterable, Iterator

from mockserver.generation import corpus
from mockserver.generation.prompts.wording import WORD, Wording

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
    "ja": r"(.{1,24}?)(?:について|とは|に関して|って|を|の?使い方)",
    "ko": r"(.{1,24}?)(?:에 대해|에 대하여|에 관해|이란|란 |은 |는 |을 |를 )",
    "zh": r"(?:介绍一下|介绍|解释一下|解释|什么是|谈谈|关于)(.{1,16}?)(?:的|[？?。，,]|$)",
}
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
# The form of an answer, after its subject: "Describe Oslo as JSON with its population".
_FORMATS = frozenset(("json", "yaml", "xml", "csv", "html", "markdown"))
_FORMED = re.compile(
    rf"(?<=\w)\s+(?:as (?:(?:an?|valid|raw|plain|strict|compact)\s+){{0,2}}(?:{'|'.join(sorted(_FORMATS))})\b"
    rf"|in (?:valid )?(?:{'|'.join(sorted(_FORMATS))}) (?:format|form|with)\b).*",
    re.IGNORECASE | re.DOTALL,
)
# Verbs that begin an order how to answer, as in `Answer in one sentence: ...`, which may have so many words.
_ANSWERING = frozenset(("answer", "respond", "reply", "ответь", "ответьте", "antworte", "réponds", "responde"))
_LONGEST_LABEL = 8


def subject_of(text: str, language: str, wording: Wording) -> tuple[str, str] | None:
    """The subject: the first words of a sentence after function words, up to a punctuation mark; and the sentence, if
    it is in English. None if there is none."""
    marked = re.search(_SUBJECTS[language], text) if language in _SUBJECTS else None
    if marked:
        return _unbroken(marked[1].strip()), ""
    stopwords = corpus.stopwords(language)
    points, forms = wording.may_have(_ABOUT_WORDS), wording.may_have(_FORMATS)
    for labelled in _candidates(text):
        if labelled.isdecimal() and labelled != text.strip():
            # The number of an item.
            continue
        sentence = _without_label(labelled)
        if forms:
            sentence = _FORMED.sub("", sentence, 1)
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
    for word in WORD.finditer(sentence):
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

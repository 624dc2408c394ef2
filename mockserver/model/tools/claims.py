"""Claims of tools: the requests for which a tool's description says that it is to be called, in English, German,
French, Spanish and Russian.

"Call it on any arithmetic questions", "use this whenever the user greets you", "for all refund requests", "always call
this tool first". A prompt is claimed if it is about what the claim names: a question by any of its words, an order to
write something only by the words for what is to be written ("write a poem"), not by those for its subject ("about
birds"). Calculations and greetings are known by their form.
"""

import re
import unicodedata
from functools import cache, lru_cache
from typing import NamedTuple

from mockserver.model import corpus
from mockserver.model.intent import STRETCH
from mockserver.model.terms import ARITHMETIC, is_concept, operations, terms

# How many characters of a description are read, and the most terms of a claim of which one is enough.
_DESCRIPTION = 1000
_FEW = 3

_EVERY = (
    r"(?:any|all|every|each|alle[rnm]?|jede[rsnm]?|jegliche\w*|toutes?|tous|chaque|cualquier\w*|tod[oa]s?|cada|"
    r"люб\w+|все[хм]?|кажд\w+)"
)
_CALL = (
    r"(?:use|call|invoke|trigger|run|(?:be|is) (?:used|called|invoked)|nutzen?|benutzen?|verwenden?|aufrufen|rufe?|"
    r"utilis(?:e|ez|er)|appel(?:le|ez|er)|us[ae]r?|utili[zc][ae]r?|llam[ae]r?|invoca|использ\w+|вызыва\w+|вызов\w*|"
    r"вызвать|применя\w+)"
)
_WHEN = (
    r"(?:for|on|when(?:ever)?|if|to answer|as soon as|für|bei|wenn|sobald|falls|pour|lorsqu\w*|quand|si|en cas de|para|"
    r"cuando|siempre que|ante|для|при|когда|если|на)"
)
_REQUESTS = (
    r"(?:questions?|requests?|quer(?:y|ies)|inquir(?:y|ies)|messages?|problems?|tasks?|\w*frage[ns]?|\w*aufgaben?|"
    r"demandes?|problèmes?|preguntas?|consultas?|solicitud\w*|problemas?|вопрос\w*|запрос\w*|задач\w*)"
)
_ALWAYS = r"(?:always|must(?: always)?|immer|toujours|siempre|всегда)"
_CLAIM = re.compile(
    rf"\b{_CALL}\b[^.;!?\n]{{0,30}}?\b{_WHEN}\b(.*)|\b{_WHEN} {_EVERY}\b(.*)"
    rf"|\b{_EVERY}\b((?: [\w'’-]+){{0,4}} {_REQUESTS}.*)"
    rf"|\b{_WHEN}\b(.*?) (?:auf(?:ge)?rufen|verwende[nt]|(?:be)?nutz(?:en|t)|genutzt)\b",
    re.IGNORECASE,
)
_CLAIMS_ALL = re.compile(rf"\b{_ALWAYS} {_CALL} (?:this|it|das|dieses|cet|cette|esta|этот|эту)\b", re.IGNORECASE)
_UNIVERSAL = re.compile(rf"\b(?:{_EVERY}|{_ALWAYS})\b", re.IGNORECASE)
# Between sentences, and what a sentence leaves out.
_SENTENCE = re.compile(
    r"[.;!?\n]|,? \b(?:but|except|unless|not|never|aber|außer|nicht|nie|sauf|mais|jamais|pero|excepto|salvo|nunca|"
    r"но|кроме|не)\b[^.;!?\n]*",
    re.IGNORECASE,
)
# Words that say nothing of the kind of request.
_GENERIC = terms(
    "any all every each user customer someone person question request query inquiry message problem task input turn "
    "reply answer response tool function use call ask want say know need related concerning involving kind sort type "
    "topic subject matter information basic general first before always must "
    "jeder jedem anfragen aufgaben frage nutzer benutzer fragt aufrufen werkzeug "
    "toute toutes chaque question demande utilisateur concernant outil "
    "cualquier todas pregunta consulta solicitud usuario pregunte herramienta "
    "любых любого любые каждого вопрос вопросов запрос связанных пользователь спрашивает хочет инструмент"
)
_QUESTIONS = re.compile("question|frage|pregunta|вопрос", re.IGNORECASE)
_QUESTION = re.compile(
    r"\?|\A\W*(?:who|what|when|where|which|why|how|wer|was|wann|wo|warum|wie|qui|que|quand|où|pourquoi|comment|combien|"
    r"quién|qué|cuándo|dónde|cómo|кто|что|когда|где|почему|как|сколько)\b",
    re.IGNORECASE,
)
_GREETING = terms("greet greeting grüßt begrüßt begrüßung salue salutation saluda saludo приветствует приветствие")
_GREETS = re.compile(
    r"\W*(?:hello|hi|hey|good (?:morning|evening|afternoon|day)|hallo|guten (?:morgen|tag|abend)|bonjour|bonsoir|salut|"
    r"hola|buen(?:os|as) (?:d[ií]as|tardes|noches)|привет|здравствуй\w*|добр(?:ый|ое) (?:день|утро|вечер))\b",
    re.IGNORECASE,
)
# An order to write something, or to work on a text, and what its subject follows.
WRITES = re.compile(
    r"\W*(?:(?:please|bitte|por favor|пожалуйста|can you|could you|kannst du|peux-tu|puedes|можешь),? )*"
    r"(?:write|compose|draft|invent|translate|rephrase|rewrite|paraphrase|summari[sz]e|proofread|correct|schreib|dichte|"
    r"verfass|erfinde|übersetz|écri|rédige|invente|traduis|traduire|résume|escrib|redacta|inventa|tradu[cz]|resume|"
    r"напиши|сочини|придумай|переведи|перескажи|исправь)",
    re.IGNORECASE,
)
_SUBJECT = re.compile(r"\b(?:about|on|of|über|von|sur|sobre|acerca|de|о|об|про)\b|[:\"“„«']", re.IGNORECASE)
# Numbers joined by a sign that is no punctuation or by words, numbers whose result is asked for, words for results.
_CALCULATION = re.compile(
    r"\d#\d|\d ?(?:[^\w\s.,:;'\"’()\[\]{}/\\\-–—°%€$£!?#]|\*\*) ?-?\d"
    r"|\d ?(?:%|per ?cent|prozent|pour ?cent|por ciento|процент\w*) (?:of|von|de|от) "
    r"|(?:how much|what(?:['’]s| is| are)|calculate|compute|evaluate|solve|was (?:ist|sind|ergibt)|wie ?viel|berechne|"
    r"combien|calcule|cu[aá]nto|qué es|calcula|resuelve|сколько|посчитай|вычисли|чему равн)\w*\b[^\d\n]{0,30}"
    r"\d[\d.,]*[)]? ?(?:[-+/:%^x–−]|mod) ?[(-]*\d"
    r"|\d (?:plus|minus|times|over|mod(?:ulo)?|mal|durch|hoch|fois|moins|por|más|menos|entre|плюс|минус|"
    r"(?:multiplied|divided|dividido|multiplicado|geteilt|multipliziert|divisé|multiplié|умножить|разделить|делить) "
    r"(?:by|por|entre|durch|mit|par|на)|to the power of|elevado a|puissance|в степени) -?\d"
    r"|\b(?:sum|product|difference|add|subtract|multiply|divide|square root|factorial|sqrt|summe|produkt|differenz|"
    r"addiere|multipliziere|dividiere|\w*wurzel|somme|produit|différence|additionne|multiplie|divise|racine|suma|producto|"
    r"resta|multiplica|divide|ra[ií]z|сумм[ау]|произведение|разность|сложи|вычти|умножь|раздели|корень|факториал)\b"
    r"[^.!?\n]{0,30}\d",
    re.IGNORECASE,
)


class Claim(NamedTuple):
    """What a description claims: requests about some terms; without any, every request, or every one of `questions`."""

    terms: frozenset[str]
    questions: bool


def claim_on(description: str, topic: str) -> Claim | None:
    """The claim in a tool's description that a prompt meets; None if it meets none."""
    claims = _claims_of(description[:_DESCRIPTION])
    return next((claim for claim in claims if _covers(claim, topic[:STRETCH])), None)


@lru_cache(maxsize=1024)
def _claims_of(description: str) -> tuple[Claim, ...]:
    found = []
    arithmetic = terms(description) & {ARITHMETIC}
    if arithmetic and re.search(rf"\b{_EVERY}\b", description, re.IGNORECASE):
        found.append(Claim(arithmetic, False))
    for sentence in _SENTENCE.split(description):
        match = _CLAIM.search(sentence) or _CLAIMS_ALL.search(sentence)
        if match is not None:
            rest = next(filter(None, match.groups()), "")
            claimed = _terms_of(rest)
            if claimed or _UNIVERSAL.search(match[0]):
                found.append(Claim(claimed and claimed | arithmetic, _QUESTIONS.search(rest) is not None))
    return tuple(found)


def _covers(claim: Claim, topic: str) -> bool:
    if not claim.terms:
        return not claim.questions or _QUESTION.search(topic) is not None
    if ARITHMETIC in claim.terms and _calculates(topic):
        return True
    if not claim.terms.isdisjoint(_GREETING) and _GREETS.match(topic):
        return True
    own = _terms_of(_head(topic))
    shared = sum(any(_alike(term, other) for other in own) for term in claim.terms)
    return shared >= (1 if len(claim.terms) <= _FEW else 2)


def _calculates(topic: str) -> bool:
    """Whether a prompt asks for a calculation with numbers that it names."""
    return bool(operations(topic)) or _CALCULATION.search(topic) is not None


def _terms_of(text: str) -> frozenset[str]:
    return terms(text, common_words()) - _GENERIC


@cache
def common_words() -> frozenset[str]:
    """The stopwords of five languages."""
    return frozenset().union(*map(corpus.stopwords, ("en", "de", "fr", "es", "ru")))


def _head(topic: str) -> str:
    """A prompt without the subject of a text that it orders."""
    writes = WRITES.match(topic)
    subject = None if writes is None else _SUBJECT.search(topic, writes.end())
    return topic if subject is None else topic[: subject.start()]


def _alike(term: str, other: str) -> bool:
    """Whether two terms are one, or two forms of one word."""
    if term == other or is_concept(term) or is_concept(other):
        return term == other
    short, long = sorted((_plain(term), _plain(other)), key=len)
    return len(short) >= 4 and len(long) - len(short) <= 3 and long.startswith(short)


@lru_cache(maxsize=4096)
def _plain(term: str) -> str:
    """A stem without accents."""
    return "".join(letter for letter in unicodedata.normalize("NFD", term) if not unicodedata.combining(letter))

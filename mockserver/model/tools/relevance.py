"""The relevance of tools: which of them a prompt is about.

A prompt is about a tool if the last user message shares terms (stems of words, or the concepts they stand for in any
language of the corpus) with the tool's name, the first sentence of its description, or the names of its parameters. A
term of the name counts 3, a concept of the description 2, anything else 1; a tool needs 2. Words that describe nearly
every tool ("get", "data", "user") do not count. A tool whose name is in the prompt is relevant.

Several tools are, if each of them explains something in the prompt that those before it do not, or has the description
of one of them.

Which part of a prompt speaks of which tool is told by its clauses. A prompt is divided into sentences. One that speaks
of several tools is divided further, first at its conjunctions and then at its commas, but never within a name or a list
of names: "the weather in Oslo and Bergen, and the time in Tokyo". A clause that speaks of no tool continues the one
before it.

What a description claims are the requests for which it says that the tool is to be called, in English, German, French,
Spanish and Russian: "call it on any arithmetic questions", "use this whenever the user greets you", "always call this
tool first". A prompt is claimed if it is about what the claim names: a question by any of its words, an order to write
something only by the words for what is to be written ("write a poem"), not by those for its subject ("about birds").
Calculations and greetings are known by their form.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from mockserver.core.generation import Tool
from mockserver.model import languages
from mockserver.model.intent import STRETCH, detect_intent, stretch_of
from mockserver.model.terms import (
    ARITHMETIC,
    between_names,
    is_concept,
    is_operation,
    operations,
    place_of,
    terms,
    words_in,
)
from mockserver.model.tools import words

# The score that makes a tool relevant.
_NEEDED = 2
# How many characters are read of a description or a name, and of the names of parameters together.
_DESCRIPTION, _PARAMETERS = 200, 1000

_GENERIC, _WEAK, _ENGINES, _SEARCHING = (
    terms(" ".join(words(name))) for name in ("generic", "weak", "engines", "searching")
)
_VERBS = terms("get set use call return give provide specify")
# Stopwords of prompts that tell what a tool is for.
_TASKS = frozenset((
    "categorize", "classify", "convert", "define", "paraphrase", "rephrase", "rewrite", "summarise", "summarize",
    "translate",
))  # fmt: skip
# Where a prompt can be divided, the strongest division first.
_BREAKS = (
    re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n+"),
    re.compile(
        r"(?:[,;，]|(?<!\s))\s++(?:and|then|und|dann|et|puis|y|luego|e|poi|depois|ve|sonra|и|затем|а|та|і|потім)\s+|和|と|및|그리고",
        re.IGNORECASE,
    ),
    re.compile(r"[,，、]\s*"),
)

Span = tuple[int, int]


class Terms(NamedTuple):
    """The terms of a tool: those of its name, the `rest` of its description, and those of its parameters' names."""

    name: frozenset[str]
    rest: frozenset[str]
    parameters: frozenset[str]


class Relevance(NamedTuple):
    """How much a prompt is about a tool: the points of each term that both have."""

    tool: Tool
    points: Mapping[str, int]

    @property
    def score(self) -> int:
        """All points together."""
        return sum(self.points.values())


def relevant(tools: Sequence[Tool], topic: str) -> list[Tool]:
    """The tools that the prompt is about: the best match first, then those that explain other terms of the prompt."""
    order = [name for each in operations(topic[:STRETCH]) for name in each.names]
    scored = [relevance_of(tool, topic) for tool in tools]
    # Whoever names one of two tools with one description means that one.
    named = any(f"={each.tool.name}" in each.points and len(words_in(each.tool.name)) > 1 for each in scored)
    explained: set[str] = set()
    found: list[Tool] = []
    for each in sorted(scored, key=lambda each: (-each.score, _turn(each, order))):
        if sum(points for term, points in each.points.items() if term not in explained) >= _NEEDED:
            found.append(each.tool)
            explained |= each.points.keys()
        elif (
            each.score >= _NEEDED
            and not named
            and any(each.tool.description == tool.description != "" for tool in found)
        ):
            found.append(each.tool)
    return found


def relevance_of(tool: Tool, topic: str) -> Relevance:
    """The relevance of a tool for a prompt."""
    own = terms_of(tool)
    points = {
        term: _points(term, own)
        for term in _topic_terms(stretch_of(topic), detect_intent(topic).language)
        & (own.name | own.rest | own.parameters)
    }
    if place_of(tool.name, topic) is not None:
        points[f"={tool.name}"] = _NEEDED
    claim = claim_on(tool.description, topic)
    if claim is not None:
        points[f"claimed: {' '.join(sorted(claim.terms))}"] = _NEEDED
    return Relevance(tool, points)


def terms_of(tool: Tool) -> Terms:
    """The terms by which a tool is known."""
    parameters = " ".join(parameter_names(tool))[:_PARAMETERS]
    return _tool_terms(tool.name[:_DESCRIPTION], tool.description[:_DESCRIPTION], parameters)


def parameter_names(tool: Tool) -> tuple[str, ...]:
    """The names of a function's parameters; none if it has no schema of an object."""
    properties: Any = tool.parameters.get("properties") if isinstance(tool.parameters, Mapping) else None
    return tuple(map(str, properties)) if isinstance(properties, Mapping) else ()


def clauses_for(tools: Sequence[Tool], topic: str) -> list[str]:
    """The part of the prompt that speaks of each tool, by what distinguishes it from the others; else the whole prompt.

    Of a single tool only a question tells apart what is asked from what is merely stated.
    """
    points = [relevance_of(tool, topic).points.keys() for tool in tools]
    own = [frozenset(each - set().union(*(other for other in points if other is not each))) for each in points]
    found = _clauses_about(topic, own) if any(own) else [""] * len(own)
    single = len(tools) == 1
    return [topic if single and not text.endswith(("?", "？")) else text or topic for text in found]


def searches(tool: Tool) -> bool:
    """Whether a tool searches the web, by its name."""
    own = terms(tool.name)
    return tool.kind == "function" and own <= _ENGINES and not own.isdisjoint(_SEARCHING)


def _turn(each: Relevance, order: Sequence[str]) -> int:
    """When the first operation of a tool comes, if it has one."""
    return next((place for place, name in enumerate(order) if name in each.points), len(order))


def _points(term: str, own: Terms) -> int:
    if term in own.name:
        return 3
    # If a name has no terms of its own, the description counts more.
    return 2 if term in own.rest and (is_concept(term) or not own.name) else 1


@lru_cache(maxsize=256)
def _tool_terms(name: str, description: str, parameters: str) -> Terms:
    words = terms(name)
    own = words - _GENERIC - _WEAK or words - _GENERIC or words - _VERBS
    if words - _GENERIC <= _WEAK:
        own = words - _VERBS - _WEAK or own  # "create_user" is about users, though many tools are
    first_sentence = re.split(r"[.!?。！？\n]", description, maxsplit=1)[0]
    rest = terms(first_sentence, common_words() - _TASKS) - _GENERIC - _WEAK
    if is_operation(own):  # a tool that adds does not multiply, though both calculate
        own, rest = own - {ARITHMETIC}, rest - {ARITHMETIC}
    return Terms(own, rest - own, terms(parameters) - _GENERIC - _WEAK - own - rest)


@lru_cache(maxsize=256)
def _topic_terms(stretch: str, language: str) -> frozenset[str]:
    return terms(stretch, languages.stopwords(language) - _TASKS)


def _clauses_about(topic: str, subjects: Sequence[frozenset[str]]) -> list[str]:
    """For each subject (a tool, as terms), the clauses that speak of it alone, or else of others too; maybe empty."""
    stretch = topic[:STRETCH]
    alone: list[list[str]] = [[] for _ in subjects]
    shared: list[list[str]] = [[] for _ in subjects]
    latest: list[int] = []
    for clause in _clauses(stretch, (0, len(stretch)), subjects, between_names(stretch)):
        latest = _spoken_of(clause, subjects) or latest
        for subject in latest:
            (alone if len(latest) == 1 else shared)[subject].append(clause)
    return ["\n".join(own or others) for own, others in zip(alone, shared, strict=True)]


def _clauses(
    text: str, span: Span, subjects: Sequence[frozenset[str]], unbroken: Sequence[Span], level: int = 0
) -> Iterator[str]:
    """The clauses of a part of the text, in order; each speaks of one subject at most, unless it cannot be divided."""
    part = text[slice(*span)]
    if level == len(_BREAKS) or (level and len(_spoken_of(part, subjects)) < 2):
        yield part.strip()
        return
    start = span[0]
    for found in _BREAKS[level].finditer(text, *span):
        # Does it overlap one of the unbroken spans, which are in order?
        place = bisect_left(unbroken, (found.end(), 0)) - 1
        if place < 0 or unbroken[place][1] <= found.start():
            yield from _clauses(text, (start, found.start()), subjects, unbroken, level + 1)
            start = found.end()
    yield from _clauses(text, (start, span[1]), subjects, unbroken, level + 1)


def _spoken_of(clause: str, subjects: Sequence[frozenset[str]]) -> list[int]:
    """The subjects of a clause, by their places."""
    own = terms(clause)
    return [place for place, subject in enumerate(subjects) if own & subject]


# --- claims ----------------------------------------------------------------------------------------------------------

# How many characters of a description are read, and the most terms of a claim of which one is enough.
_CLAIMING = 1000
_FEW = 3

_EVERY = (
    r"(?:any|all|every|each|alle[rnm]?|jede[rsnm]?|jegliche\w*|toutes?|tous|chaque|cualquier\w*|tod[oa]s?|cada|"
    r"люб\w+|все[хм]?|кажд\w+)"
)
_CALL = (
    r"(?:use|useful|call|invoke|trigger|run|(?:be|is) (?:used|called|invoked)|nutzen?|benutzen?|verwenden?|aufrufen|"
    r"rufe?|utilis(?:e|ez|er)|appel(?:le|ez|er)|us[ae]r?|utili[zc][ae]r?|llam[ae]r?|invoca|использ\w+|вызыва\w+|вызов\w*|"
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
    rf"|\b{_REQUESTS} (?:about|regarding|concerning|zu[mr]?|über|sur|sobre|об?|про)\b(.*)"
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
_QUESTIONS = re.compile("question|frage|pregunta|вопрос", re.IGNORECASE)
_QUESTION = re.compile(
    r"\?|\A\W*(?:who|what|when|where|which|why|how|wer|was|wann|wo|warum|wie|qui|que|quand|où|pourquoi|comment|combien|"
    r"quién|qué|cuándo|dónde|cómo|кто|что|когда|где|почему|как|сколько)\b",
    re.IGNORECASE,
)
_OF_ANY_KIND, _GREETINGS = (terms(" ".join(words(name))) for name in ("generic_requests", "greetings"))
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


class ClaimedRequests(NamedTuple):
    """What a description claims: requests about some `terms`; without any, all of them, or all that are `questions`."""

    terms: frozenset[str]
    questions: bool


def claim_on(description: str, topic: str) -> ClaimedRequests | None:
    """The claim in a tool's description that a prompt meets; None if it meets none."""
    claims = _claims_of(description[:_CLAIMING])
    return next((claim for claim in claims if _covers(claim, topic[:STRETCH])), None)


@lru_cache(maxsize=1024)
def _claims_of(description: str) -> tuple[ClaimedRequests, ...]:
    found = []
    arithmetic = terms(description) & {ARITHMETIC}
    if arithmetic and re.search(rf"\b{_EVERY}\b", description, re.IGNORECASE):
        found.append(ClaimedRequests(arithmetic, False))
    for sentence in _SENTENCE.split(description):
        match = _CLAIM.search(sentence) or _CLAIMS_ALL.search(sentence)
        if match is not None:
            rest = next(filter(None, match.groups()), "")
            claimed = _terms_of(rest)
            if claimed or _UNIVERSAL.search(match[0]):
                found.append(ClaimedRequests(claimed and claimed | arithmetic, _QUESTIONS.search(rest) is not None))
    return tuple(found)


def _covers(claim: ClaimedRequests, topic: str) -> bool:
    if not claim.terms:
        return not claim.questions or _QUESTION.search(topic) is not None
    if ARITHMETIC in claim.terms and (operations(topic) or _CALCULATION.search(topic)):
        return True
    if not claim.terms.isdisjoint(_GREETINGS) and _GREETS.match(topic):
        return True
    own = _terms_of(_head(topic))
    shared = sum(any(_alike(term, other) for other in own) for term in claim.terms)
    return shared >= (1 if len(claim.terms) <= _FEW else 2)


def _terms_of(text: str) -> frozenset[str]:
    return terms(text, common_words()) - _OF_ANY_KIND


@cache
def common_words() -> frozenset[str]:
    """The stopwords of five languages."""
    return frozenset().union(*map(languages.stopwords, ("en", "de", "fr", "es", "ru")))


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

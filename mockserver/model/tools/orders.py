"""Orders to use tools, and bans on it, in English, German, French, Spanish and Russian.

An order is a clause whose verb is one for using tools and whose object is a word for tools, and in which nothing but a
way to ask goes before them: "please run the tool", "könntest du die Funktion aufrufen", "answer by using your tools".
Whoever asks, states or explains how a tool is used orders nothing ("how do I run the tool", "we use the tool"), and
neither does a quotation. A negation makes a ban of it.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mockserver.model.tools import words

_QUOTED = re.compile(r"[\"“„«`][^\"”“»`]*[\"”“»`]|(?<!\w)['‘][^'’\n]+['’](?!\w)")
_SENTENCE = re.compile(r"[^.!?\n…;]+[.!?…]?")
_CLAUSE = re.compile(r"(?P<colon>:)|[,–—¡¿()]|\s-\s")
# What is read as something else: a call of a tool as the tool, a wish as a request, courtesies as nothing.
_REWRITTEN = (
    (re.compile(r"\b(tool|function)[- ]call"), r"\1"),
    (re.compile(r"\bчтобы (ты|вы) (\w+?)л[аи]?\b"), r"\1 \2ть"),
    (re.compile(r"\bdass (du|sie) (.+?\w{3})s?t\b(?=\W*\Z)"), r"\1 \2en"),
    (
        re.compile(
            r"\b(?:i(?:['’]d| would)|it (?:would|['’]d)) (?:appreciate it|be (?:glad|good|grateful|great|nice)) if\b"
        ),
        "",
    ),
    (re.compile(r", ?(?:please|bitte|s['’]il (?:te|vous) pla[iî]t|stp|por favor|пожалуйста),?(?= )"), ""),
)
_TOOLS = re.compile(
    r"tools?|functions?|werkzeuge?[ns]?|funktion(?:en)?|outils?|fonctions?|herramientas?|"
    r"funci[oó]n(?:es)?|инструмент\w{0,3}|функци\w{1,3}"
)
# The endings of Russian adjectives, which may stand between a verb and its object as the words for that do.
_ADJECTIVES = ("ый", "ий", "ой", "ую", "юю", "ым", "им", "ые", "ие", "ых", "их", "ыми", "ими")
_VERBS, _PARTICIPLES, _BETWEEN, _EVERY = map(words, ("verbs", "participles", "between", "every"))
_ASKING, _ASKED, _ASKERS, _NEGATIONS = map(words, ("asking", "asked", "askers", "negations"))
_WITHOUT, _JOINING, _TELLING, _BEFORE_NO_ORDER = map(words, ("without", "joining", "telling", "before_no_order"))
_PREFIX = _ASKING | _ASKED | _ASKERS | _VERBS
# Whoever tells a text to work on with it does not order what that text orders.
_WORK_ON_TEXT = re.compile(
    r"\W*(?:please |bitte )?(?:translate|explain|repeat|say|spell|paraphrase|rephrase|rewrite|summari[sz]e|proofread|"
    r"correct|write|define|übersetz|erklär|wiederhol|sag|schreib|traduis|explique|répète|dis|écris|traduce|repite|"
    r"escribe|переведи|объясни|повтори|скажи|напиши|исправь)",
    re.IGNORECASE,
)


_SAID = re.compile(r"\b(?:says?|said|reads?|states?|wrote|sagt|steht|dit|dice|говорит|написано)\b")
# What stands for tools of which an earlier sentence speaks.
_PRONOUNS = ("it", "them", "его", "её", "их")


class Order(NamedTuple):
    """An order to use a tool, the one with a certain word in its name if `word` is not empty, or `every` tool."""

    word: str = ""
    every: bool = False


def order_in(text: str) -> Order | None:
    """The order to use tools in a text; None if it has none."""
    for clause, asks, place in _objects(text):
        found = _ordering(clause, asks, place)
        if found is not None:
            return found
    return None


def forbids(text: str) -> bool:
    """Whether a text forbids to use tools."""
    for clause, asks, place in _objects(text):
        start = _start(clause, place)
        near = {*clause[max(start - 4, 0) : place + 3]}
        if near & (_VERBS | _PARTICIPLES) and near & (_WITHOUT if asks else _NEGATIONS):
            return True
        if start and clause[start - 1] in _WITHOUT:
            return True
    return False


def _objects(text: str) -> Iterator[tuple[list[str], bool, int]]:
    """The clauses that speak of tools: the words of each, whether its sentence asks, and the place of the word for
    tools."""
    text = text.lower()
    if _TOOLS.search(text) is None:
        return
    text = _QUOTED.sub(" «» ", text)
    for spelling, plain in _REWRITTEN:
        text = spelling.sub(plain, text)
    worked_on, generated_items = _WORK_ON_TEXT.match(text) is not None, False
    for sentence in _SENTENCE.findall(text):
        for part in _clauses(sentence, worked_on):
            clause = re.findall(r"\w+", part)
            for place, word in enumerate(clause):
                if _TOOLS.fullmatch(word) or (generated_items and word in _PRONOUNS):
                    yield clause, sentence.endswith("?"), place
        generated_items = generated_items or _TOOLS.search(sentence) is not None


def _clauses(sentence: str, worked_on: bool) -> Iterator[str]:
    start = 0
    for sign in _CLAUSE.finditer(sentence):
        yield sentence[start : sign.start()]
        start = sign.end()
        if sign["colon"] and (worked_on or _SAID.search(sentence, 0, sign.start())):
            return
    yield sentence[start:]


def _start(clause: Sequence[str], place: int) -> int:
    """Where the object begins whose last word is at a place."""
    while place and (clause[place - 1] in _BETWEEN or clause[place - 1].endswith(_ADJECTIVES)):
        place -= 1
    return place


def _ordering(clause: Sequence[str], asks: bool, place: int) -> Order | None:
    """The order in a clause, with the word for tools at a place; None if it is none."""
    start = _start(clause, place)
    named = ""
    if start and clause[start - 1] not in _VERBS and clause[start - 1] not in _PARTICIPLES and start == place:
        named, start = clause[start - 1], _start(clause, start - 1)
    if not _NEGATIONS.isdisjoint(clause):
        return None
    order = Order(named, not _EVERY.isdisjoint(clause[start:place]))
    verb = start - 1
    while verb > 0 and clause[verb] in _ASKING and clause[verb] not in _VERBS:
        verb -= 1
    if verb >= 0 and clause[verb] in _PARTICIPLES:
        asked = not _ASKED.isdisjoint(clause[:verb]) and _asks_for(clause[:verb], asks)
        told = not asks and clause[0] not in _TELLING and (verb == 0 or clause[verb - 1] not in _BEFORE_NO_ORDER)
        return order if asked or told else None
    behind = next((word for word in clause[place + 1 : place + 4] if word not in _ASKING), "")
    if verb >= 0 and clause[verb] in _VERBS:
        before = clause[:verb]
    elif behind in _VERBS and (behind.endswith("en") or not behind.isascii() or "let" in clause[:start]):
        before = clause[:start]
    else:
        return None
    if clause[0] not in _TELLING and not _PREFIX.issuperset(before):
        joint = max((at for at, word in enumerate(before) if word in _JOINING), default=-1)
        before = before[joint + 1 :]
    return order if _asks_for(before, asks) else None


def _asks_for(before: Sequence[str], asks: bool) -> bool:
    """Whether the words before a verb are a way to ask for it."""
    if not _PREFIX.issuperset(before):
        return False
    asked = not _ASKED.isdisjoint(before)
    return asked or (not asks and _ASKERS.isdisjoint(before))

"""Orders to use tools, and bans on it, in English, German, French, Spanish and Russian.

An order is a clause whose verb is one for using tools and whose object is a word for tools, and in which nothing but a
way to ask goes before them: "please run the tool", "könntest du die Funktion aufrufen", "answer by using your tools".
Whoever asks, states or explains how a tool is used orders nothing ("how do I run the tool", "we use the tool"), and
neither does a quotation. A negation makes a ban of it.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_QUOTED = re.compile(r"[\"“„«`][^\"”“»`]*[\"”“»`]|(?<!\w)['‘][^'’\n]+['’](?!\w)")
_SENTENCE = re.compile(r"[^.!?\n…;]+[.!?…]?")
_CLAUSE = re.compile(r"(?P<colon>:)|[,–—¡¿()]|\s-\s")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _forms(stems: str, endings: str) -> Iterator[str]:
    return (stem + ending.strip("-") for stem in stems.split() for ending in endings.split())


# The verbs, in the forms that order, and the infinitives.
_VERBS = frozenset((
    *_words("use call run try trigger launch start test employ apply perform do make fire issue"),
    *_forms("utiliz utilis invok execut activat engag exercis leverag", "e"),
    *_words("rufen aufrufen aufzurufen führen ausführen auszuführen einsetzen einzusetzen anwenden ausprobieren nimm"),
    *_forms("nutz benutz verwend ruf führ start aktivier setz wend lös test probier", "- e en"),
    *_forms("utilis appell appel invoqu lanc exécut execut activ déclench démarr test employ essay", "e es ez er"),
    *_words("laufen emploie essaie tourner fais faites faire sers servez servir"),
    *_forms("us utiliz llam invoc ejecut lanz activ emple prueb prob inici dispar", "a as ar e es en"),
    *_forms("utilic invoqu lanc", "e es en"),
    *_words("corre corra correr haz haga hacer"),
    *_forms("использу вызыва запуска применя выполня активиру задейству протестиру испробу попробу сдела", "й йте"),
    *_forms("вызов запуст примен выполн исполн", "и ите"),
    *_forms("использова вызва запусти примени выполни исполни активирова задействова сдела", "ть"),
    *_words("воспользуйся воспользуйтесь воспользоваться обратись обратитесь обратиться"),
))  # fmt: skip
# Participles, and what means the same: "using the tool", "with the help of the tool".
_PARTICIPLES = frozenset((
    *_words("help means via hilfe mithilfe aide ayuda помощью"),
    *_words("using calling running invoking executing utilizing utilising employing applying triggering making"),
    *_words("utilisant appelant lançant usando utilizando llamando ejecutando"),
    *_words("используя вызывая вызвав использовав применяя применив"),
))  # fmt: skip
# What is read as something else: a call of a tool as the tool, a wish as a request, courtesies as nothing.
_REWRITTEN = (
    (re.compile(r"\b(tool|function)[- ]call"), r"\1"),
    (re.compile(r"\bчтобы (ты|вы) (\w+?)л[аи]?\b"), r"\1 \2ть"),
    (re.compile(r", ?(?:please|bitte|s['’]il (?:te|vous) pla[iî]t|stp|por favor|пожалуйста),?(?= )"), ""),
)
_TOOLS = re.compile(
    r"tools?|functions?|werkzeuge?[ns]?|funktion(?:en)?|outils?|fonctions?|herramientas?|"
    r"funci[oó]n(?:es)?|инструмент\w{0,3}|функци\w{1,3}"
)
# What stands between the verb and its object, before the object, or behind it.
_BETWEEN = _words(
    "the a an any whichever whatever all both each every either one of your my our this that these those provided "
    "available given supplied listed offered attached same following appropriate right relevant suitable single up off "
    "das dein deine deinen den dem die der ein eine einen diese dieses diesen alle beide passende passenden "
    "verfügbare verfügbaren bereitgestellte bereitgestellten vorhandene "
    "le la les l un une des du de d cet cette ces ton tes votre vos tous toutes deux appel usage toi vous à "
    "el los las una esta esa estas tu tus su sus alguna ambas todas al uso llamada "
    "эту этот этим эти этой этими свои свой свою своими данный данную данным нужный нужную любой любую любые один одну "
    "одним из оба обе все всеми к этому вызов"
)
# The endings of Russian adjectives.
_ADJECTIVES = ("ый", "ий", "ой", "ую", "юю", "ым", "им", "ые", "ие", "ых", "их", "ыми", "ими")
_EVERY = _words("both all each every alle beide tous toutes deux ambas todas оба обе все всеми")
# What may go before the verb: ways to ask, among which are those that name who is asked, and those who ask.
_ASKING = _words(
    "please kindly mind make simply just now then and go ahead so first next finally also let lets s us to must should "
    "have need can could would will may want like ask tell expect order time try sure free proceed by again d ok well "
    "bitte jetzt nun dann und einfach zuerst mal doch sollst musst solltest müssen sollten möchte dass "
    "maintenant puis ensuite et abord lass dois devez il faut aimerais voudrais souhaite merci de que qu en te plaît "
    "plait plais donc ahora luego y por favor hay entonces debes ya pido "
    "пожалуйста сейчас теперь затем потом и просто сначала давай давайте нужно надо необходимо следует прошу должен "
    "должны же"
)
_ASKED = _words(
    "you du kannst könntest würdest willst sie können könnten würden tu vous veuillez peux pourrais pouvez pourriez "
    "veux voulez puedes podrías puede podría quieres quiero necesito "
    "tienes можешь можете мог могли бы ты вы тебя вас"
)
_ASKER = _words("i me we ich wir je j nous yo я мы мне нам хочу")
_PREFIX = _ASKING | _ASKED | _ASKER | _VERBS
_NEGATIONS = _words(
    "not don doesn mustn shouldn never avoid no without nicht kein keine keinen keinerlei niemals nie ohne ne n pas "
    "jamais aucun aucune sans nunca jamás sin evita ningún ninguna не без никогда никаких никакие никакую"
)
_WITHOUT = _words("without no ohne sans sin без")
# The words before a participle that orders nothing: "when using the tool".
_NO_ORDERS = _words("when while before after from for of about than is are am was were m re s been be keep stop al")
# Whoever tells a text to work on with it does not order what that text orders.
_WORK_ON_TEXT = re.compile(
    r"\W*(?:please |bitte )?(?:translate|explain|repeat|say|spell|paraphrase|rephrase|rewrite|summari[sz]e|proofread|"
    r"correct|write|define|übersetz|erklär|wiederhol|sag|schreib|traduis|explique|répète|dis|écris|traduce|repite|"
    r"escribe|переведи|объясни|повтори|скажи|напиши|исправь)",
    re.IGNORECASE,
)
# Clauses are joined by these, unless the sentence tells or asks what somebody does.
_JOINED = _words("and then und dann et puis y luego и затем")
_TELLING = _words(
    "i we they he she it what how why when where which who if ich wir wie was warum wann wer wenn je nous "
    "il elle comment pourquoi quand qui si yo él ella cómo qué quién cuándo я мы он она они как что почему когда кто "
    "если"
)  # fmt: skip


class Order(NamedTuple):
    """An order to use a tool, the one with a certain word in its name if `word` is not empty, or `every` tool."""

    word: str = ""
    every: bool = False


def order_in(text: str) -> Order | None:
    """The order to use tools in a text; None if it has none."""
    for words, asks, place in _objects(text):
        found = _ordering(words, asks, place)
        if found is not None:
            return found
    return None


def forbids(text: str) -> bool:
    """Whether a text forbids to use tools."""
    for words, asks, place in _objects(text):
        start = _start(words, place)
        near = {*words[max(start - 4, 0) : place + 3]}
        if near & (_VERBS | _PARTICIPLES) and near & (_WITHOUT if asks else _NEGATIONS):
            return True
        if start and words[start - 1] in _WITHOUT:
            return True
    return False


def _objects(text: str) -> Iterator[tuple[list[str], bool, int]]:
    """The clauses of a text that speak of tools: their words, whether they ask, and the place of the word for tools."""
    text = _QUOTED.sub(" «» ", text.lower())
    for spelling, plain in _REWRITTEN:
        text = spelling.sub(plain, text)
    if _TOOLS.search(text) is None:
        return
    worked_on = _WORK_ON_TEXT.match(text) is not None
    for sentence in _SENTENCE.findall(text):
        for clause in _clauses(sentence, worked_on):
            words = re.findall(r"\w+", clause)
            for place, word in enumerate(words):
                if _TOOLS.fullmatch(word):
                    yield words, sentence.endswith("?"), place


def _clauses(sentence: str, worked_on: bool) -> Iterator[str]:
    start = 0
    for sign in _CLAUSE.finditer(sentence):
        yield sentence[start : sign.start()]
        start = sign.end()
        if worked_on and sign["colon"]:
            return
    yield sentence[start:]


def _start(words: Sequence[str], place: int) -> int:
    """Where the object begins whose last word is at a place."""
    while place and (words[place - 1] in _BETWEEN or words[place - 1].endswith(_ADJECTIVES)):
        place -= 1
    return place


def _ordering(words: Sequence[str], asks: bool, place: int) -> Order | None:
    """The order in a clause, with the word for tools at a place; None if it is none."""
    start = _start(words, place)
    named = ""
    if start and words[start - 1] not in _VERBS and words[start - 1] not in _PARTICIPLES and start == place:
        named, start = words[start - 1], _start(words, start - 1)
    if not _NEGATIONS.isdisjoint(words):
        return None
    order = Order(named, not _EVERY.isdisjoint(words[start:place]))
    verb = start - 1
    while verb > 0 and words[verb] in _ASKING and words[verb] not in _VERBS:
        verb -= 1
    if verb >= 0 and words[verb] in _PARTICIPLES:
        asked = not _ASKED.isdisjoint(words[:verb]) and _asks_for(words[:verb], asks)
        told = not asks and words[0] not in _TELLING and _gerund_orders(words, verb)
        return order if asked or told else None
    behind = next((word for word in words[place + 1 : place + 4] if word not in _ASKING), "")
    if verb >= 0 and words[verb] in _VERBS:
        before = words[:verb]
    elif behind in _VERBS:
        before = words[:start]
    else:
        return None
    if words[0] not in _TELLING:
        joint = max((at for at, word in enumerate(before) if word in _JOINED), default=-1)
        before = before[joint + 1 :]
    return order if _asks_for(before, asks) else None


def _gerund_orders(words: Sequence[str], verb: int) -> bool:
    """Whether a participle goes with an order, as in "answer using the tool"."""
    return verb == 0 or words[verb - 1] not in _NO_ORDERS


def _asks_for(before: Sequence[str], asks: bool) -> bool:
    """Whether the words before a verb are a way to ask for it."""
    if not _PREFIX.issuperset(before):
        return False
    asked = not _ASKED.isdisjoint(before)
    return asked or (not asks and _ASKER.isdisjoint(before))

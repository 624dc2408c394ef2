"""Which of several sentiments a text expresses, as far as its words tell: praise ("I loved it"), blame ("a terrible
film"), or neither."""

import re
from collections.abc import Iterable, Iterator

from mockserver.generation.prompts.wording import STRETCH

# How many words after a negation are negated.
_REACH = 3

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_POSITIVE = re.compile(r"pos\Z|positiv|позитив|положит", re.IGNORECASE)
_NEGATIVE = re.compile(r"neg\Z|negativ|негатив|отрицат", re.IGNORECASE)
_NEUTRAL = re.compile(r"neu\Z|neutral|нейтрал", re.IGNORECASE)
_MIXED = re.compile(r"mixed|смешан", re.IGNORECASE)

_PRAISE = re.compile(
    r"(?:lov(?:e[ds]?|ing|ely)|great|excellent|amaz(?:ed|ing)|awesome|fantastic|wonderful(?:ly)?|good|perfect(?:ly)?|"
    r"happy|delight(?:ed|ful)|pleas(?:ed|ant)|enjoy(?:ed|able|ing)?|brilliant|superb|beautiful(?:ly)?|recommend(?:ed)?|"
    r"impress(?:ed|ive)|satisfied|glad|thrilled|favou?rite|outstanding|delicious|incredible|friendly|liked|"
    r"отличн\w+|прекрасн\w+|замечательн\w+|люблю|понравил\w+|нравится|хорош\w+|великолепн\w+|доволен|довольн\w+|"
    r"рекомендую|восхитительн\w+|супер)",
    re.IGNORECASE,
)
_BLAME = re.compile(
    r"(?:hat(?:e[ds]?|ing)|terribl[ey]|awful(?:ly)?|horribl[ey]|bad(?:ly)?|worst|worse|poor(?:ly)?|disappoint(?:ed|ing|ment)|"
    r"broken?|useless|waste[ds]?|boring|rude|angry|upset|annoy(?:ed|ing)|frustrat(?:ed|ing)|defective|disgusting|"
    r"ugly|unhappy|unhelpful|dislike[ds]?|lousy|sucks|dreadful|mediocre|"
    r"ужасн\w+|плох\w+|отвратительн\w+|ненавижу|худш\w+|разочарован\w*|разочаровал\w*|бесполезн\w+|скучн\w+|"
    r"сломал\w+|кошмар\w*|недоволен|недовольн\w+)",
    re.IGNORECASE,
)
_NEGATION = re.compile(r"(?:not|no|never|hardly|nothing|не|ничего|никогда)\Z|\w+n['’]t\Z", re.IGNORECASE)


def sentiment(labels: Iterable[object], text: str, *, may_hold_nothing: bool = False) -> str | None:
    """The label that fits a text, if there is one for praise and one for blame among them.

    A text without praise and blame is neutral, unless it may hold nothing but instructions; then there is no label.
    """
    known = [label for label in labels if isinstance(label, str)]
    positive, negative = _labelled(_POSITIVE, known), _labelled(_NEGATIVE, known)
    if positive is None or negative is None:
        return None
    names = {label.lower() for label in known}
    stretch = text[-STRETCH:]
    judged = list(_judged(_behind(names, stretch), names)) or list(_judged(stretch, names))
    praise, blame = judged.count(True), judged.count(False)
    if praise != blame:
        return positive if praise > blame else negative
    neutral, mixed = _labelled(_NEUTRAL, known), _labelled(_MIXED, known)
    if praise:
        return mixed or neutral
    return None if may_hold_nothing else neutral


def _behind(names: set[str], text: str) -> str:
    """What follows the last mention of a label: the text to judge, behind instructions and labelled examples."""
    lowered = text.lower()
    return text[max(lowered.rfind(name) + len(name) if name in lowered else 0 for name in names) :]


def _labelled(meaning: re.Pattern[str], labels: list[str]) -> str | None:
    return next((label for label in labels if meaning.match(label)), None)


def _judged(text: str, labels: set[str]) -> Iterator[bool]:
    """True for each word of praise, False for each of blame; the reverse shortly after a negation."""
    negated = 0
    for match in _WORD.finditer(text):
        word = match[0]
        if _NEGATION.match(word):
            negated = _REACH + 1
        elif word.lower() not in labels and (praised := _judgement(word)) is not None:
            yield praised is not (negated > 0)
        negated = max(negated - 1, 0)


def _judgement(word: str) -> bool | None:
    if _PRAISE.fullmatch(word):
        return True
    return False if _BLAME.fullmatch(word) else None

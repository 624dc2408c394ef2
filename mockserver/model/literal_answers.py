"""Dictated answers: those that a prompt contains verbatim ("Say this is a test", "Reply with exactly: OK"), and those
from which it lets the model choose ("Answer yes or no", "Classify it as spam or ham", "one of: a, b, c").

Applications ask for them if they process the answer: a health check, a label, a decision. Only explicit orders are
followed; a prompt that asks for a text *about* something gets one.

Which of several sentiments a text expresses is told by its words of praise ("I loved it") and of blame ("terrible").
"""

import re
from collections.abc import Iterable, Iterator, Sequence

# The most numbers that are counted, and the most answers to choose from.
_FURTHEST = 1000
_MOST_CHOICES = 100
# The length of a short message, in characters.
_SHORT = 120

# An order begins its sentence, or follows another one.
_BEGIN = (
    r"(?:^|[.!?;]\s{0,4}|\n[ \t]{0,8}|\bthen )"
    r"(?:(?:please|now|just|only|simply|always|kindly|you must|you should|пожалуйста),? )*"
)
_SAY = (
    r"(?:say|reply|respond|answer|return|output|print|echo|repeat|write|скажи(?:те)?|ответь(?:те)?|повтори(?:те)?|"
    r"напиши(?:те)?|выведи(?:те)?)(?: again)?"
)
_EXACTLY = (
    r"(?:,? (?:with|by|only|just|exactly|simply|back|verbatim|this|these|the|a|single|one per line|one|two|three|four|"
    r"five|\d{1,2}|following|words?|text|phrase|sentence|string|number|letter|character|line|token|message|saying|"
    r"after me|and nothing else|nothing (?:but|except|other than)|только|ровно|точно|одним|слово|словом|фразу|за мной|"
    r"следующее))*"
)
_END = (
    r"(?=[ \t]*(?:$|[.!?\n]|,? (?:and|but) (?:nothing|no|do not|don't|only)\b|,? (?:nothing else|only|exactly|verbatim|"
    r"back|once|please|without|и ничего|и больше|пожалуйста)\b))"
)
_QUOTED = re.compile(
    rf"{_BEGIN}{_SAY}{_EXACTLY}:?\s*(?:\"([^\"\n]{{1,500}})\"|'((?:[^'\n]|'(?=\w)){{1,500}})'|`([^`\n]{{1,500}})`|"
    rf"“([^”\n]{{1,500}})”|«([^»\n]{{1,500}})»){_END}",
    re.IGNORECASE,
)
# After a colon, the rest of the line is dictated.
_AFTER_COLON = re.compile(
    rf"{_BEGIN}(?:(?:say|echo|repeat|повтори(?:те)?|скажи(?:те)?){_EXACTLY}"
    rf"|{_SAY} (?:(?:with|только) )?(?:exactly|only|just|verbatim|ровно|точно|только){_EXACTLY}"
    rf"|{_SAY} with{_EXACTLY}"
    rf"|{_SAY}(?: back)? the following(?: (?:text|phrase|sentence|string|message|line|words?)| exactly| verbatim"
    r"| unchanged| as (?:it )?is){1,3}):\s{0,2}(\S[^\n]{0,1000})",
    re.IGNORECASE,
)
# A word without quotes: after "word" or the like; or one in capitals, or one that health checks often ask for.
_WORD = re.compile(
    rf"{_BEGIN}{_SAY}{_EXACTLY} (?:word|number|letter|token|string|слово|словом) "
    rf"(?!(?:and|but|only|alone|itself)\b)([^\W_][\w'+-]*|\d[\d.,]*){_END}",
    re.IGNORECASE,
)
_USUAL = re.compile(
    rf"{_BEGIN}{_SAY}{_EXACTLY} (?-i:([A-Z][A-Z0-9_]+)|([Oo]kay|[Oo]k|[Yy]es|[Nn]o|[Pp]ong|[Rr]eady|[Dd]one|"
    rf"[Aa]cknowledged|[Дд]а|[Нн]ет|[Гг]отово)){_END}",
    re.IGNORECASE,
)
# Forms of answers, not dictated words.
_FORMS = frozenset((
    "JSON", "JSONL", "XML", "YAML", "TOML", "HTML", "CSV", "TSV", "SQL", "CSS", "ASCII", "MARKDOWN", "LATEX", "CODE",
    "URL", "UUID", "ISO", "HTTP",
))  # fmt: skip
# "Say this is a test": the whole message, short and without words that describe an answer.
_SAY_IT = re.compile(r"\s*(?:please )?say (?:that )?([^\n\"'`“«:?]{2,80}?)[.!]?\s*\Z", re.IGNORECASE)
_HOW = re.compile(
    r"\A(?:hi|hey|hello)\b|\b(?:something|anything|nothing|everything|what|whatever|how|why|who|when|where|which|"
    r"about|in|to|more|less|like|as|it|if|sorry|words?|sentences?|times|one|some|a few|joke)\b",
    re.IGNORECASE,
)
_COUNT = re.compile(
    r"\b(?:count|посчитай(?:те)?)(?: out loud| aloud| up)? (?:from |от )?"
    r"(?:(\d{1,4}) ?(?:to|till|until|through|-|до) ?)?(?:up )?(?:to |till |until |до )?(\d{1,4})\b"
    r"(?! (?:words|letters|characters|sentences|things|items))",
    re.IGNORECASE,
)

_CHOICE = r"(?:\"[^\"\n]{1,60}\"|'[^'\n]{1,60}'|`[^`\n]{1,60}`|[\w+#&-]+(?: [\w+#&-]+){0,2}?)"
_OR = r"(?:or|или)"
# Only as many spaces as people write: unbounded, a page of them would take seconds.
_GAP = r"\s{0,3}"
_CHOICES = rf"({_CHOICE}(?:{_GAP}[,/|]{_GAP}{_CHOICE})*{_GAP}(?:,?{_GAP}\b{_OR}\b|,|/|\|){_GAP}{_CHOICE})"
_CHOICE_ALONE = re.compile(rf"{_CHOICES}(?=\s{{0,3}}(?:$|[.;\n]))", re.IGNORECASE)
_STOP = r"(?=\s{0,3}(?:$|[.!?;:()\]\n]|,? (?:and|on|only|without|depending|based|for|in|with|by|nothing|please)\b))"
_NAMED = r"(?:these|the|following|labels|categories|classes|words|options|values|answers)"
_BEFORE_CHOICES = (
    # "Answer yes or no", "reply with either A or B only", "print only the single character Y or N".
    rf"(?:{_BEGIN}|, |\band ){_SAY}"
    r"(?: (?:me|with|only|just|either|simply|the|an?(?= single)|one|single|words?|letter|character|number|label|option|"
    r"exactly|только))*",
    # "... as positive, negative or neutral", "into one of: spam, ham".
    r"\b(?:classif|label|categori[sz]e|sentiment|tag|mark|rate)\w*\b[^.\n]{0,120}?\b(?:as|into|is)"
    rf"(?: (?:either|one of(?: {_NAMED})*|the {_NAMED}))*",
    # "one of: a, b, c", "one of the following: ...".
    rf"\b(?:one|either) of(?: {_NAMED})*",
    r"\b(?:choose|pick|select|выбери(?:те)?)(?: (?:one|between|from|of|a|the|either))*",
)
_CHOOSING = (
    *(re.compile(rf"{before}:? [(\[]?{_CHOICES}[)\]]?{_STOP}", re.IGNORECASE) for before in _BEFORE_CHOICES),
    # "Yes or no?", "Is it so? (yes/no)"
    re.compile(
        rf"(?:^|[.!?:(]\s{{0,3}}|\n[ \t]{{0,8}})(?:please )?((?:yes|true|да)(?: {_OR} | ?/ ?)(?:no|false|нет)){_STOP}",
        re.IGNORECASE,
    ),
    # "Choose between approve and reject"
    re.compile(
        rf"\b(?:choose|pick|select|decide|выбери(?:те)?)(?: only)?(?: one)? (?:between|между) (?!\d)({_CHOICE}) "
        rf"(?:and|и) ({_CHOICE}){_STOP}",
        re.IGNORECASE,
    ),
)
# "Options: sports, politics, tech", where one of them is asked for.
_OPTIONS = re.compile(
    rf"\b(?:options|choices|labels|categories|classes|intents|topics)(?: are)?: ?[(\[]?{_CHOICES}[)\]]?{_STOP}",
    re.IGNORECASE,
)
_ONE_WANTED = re.compile(
    r"\b(?:which|classif\w+|categori[sz]e|label|choose|pick|select|assign|determine|decide"
    r"|(?:only|just|exactly) (?:one|the (?:name|label|category|option|choice|class)))\b",
    re.IGNORECASE,
)
# "Answer with one of the categories:" above a list, whose items may be explained after a colon. BAML adds a heading in
# between.
_LISTED = re.compile(
    r"\b(?:answer|respond|reply|return|output|classif\w*|categori[sz]\w*|label|choose|pick|select)\b[^\n]{0,120}?"
    r"\b(?:one|any|either) of"
    r"(?: (?:the|these|those|valid|possible|allowed|following|labels|categories|classes|words|options|values|answers|"
    r"topics|intents))+[ \t]{0,4}:[ \t]{0,4}\n{1,3}"
    r"(?:[^\n-][^\n]{0,60}\n-{3,}\n)?((?:[ \t]{0,8}(?:[-*•]|\d{1,2}[.)])[ \t][^\n]{1,200}(?:\n|$)){2,40})",
    re.IGNORECASE,
)
_ITEM = re.compile(r"^[ \t]*(?:[-*•]|\d{1,2}[.)])[ \t]([^\n:]+)", re.MULTILINE)
# "Answer as an int", the wording of BAML.
_KIND = re.compile(
    rf"{_BEGIN}(?:answer|respond|reply|return)(?: with| as)? an? (bool|int|float)(?:ean|eger)?{_END}", re.IGNORECASE
)
_KINDS = {
    "bool": ("true", "false"),
    "int": tuple(map(str, range(1, 41))),
    "float": tuple(str(n / 8) for n in range(41)),
}
# "Classify the sentiment", without labels to choose from.
_SENTIMENT = re.compile(
    r"\b(?:classify|determine|analy[sz]e|detect|identify|what(?:'s| is))\b[^.?!\n]{0,60}?\bsentiment\b(?! analysis)"
    r"|\bопредели\w*\b[^.?!\n]{0,60}?\bтональность",
    re.IGNORECASE,
)
_SENTIMENTS = ("Positive", "Negative", "Neutral")
# "Respond with only a number", beside "from 1 to 10".
_NUMBER = re.compile(
    rf"{_BEGIN}{_SAY}(?: (?:me|with|only|just|simply|exactly|the|an?|single|one|your|whole))* "
    rf"(?:number|integer|digit|score|rating|grade){_END}"
    rf"|{_BEGIN}(?:give|tell|pick|choose|generate)(?: me)? an?(?: random| whole)? (?:number|integer)"
    rf"(?:(?= (?:between|from)\b)|{_END})",
    re.IGNORECASE,
)
# "Answer with the letter of the right option only", and the options.
_LETTER = re.compile(
    rf"{_BEGIN}{_SAY}(?: (?:with|only|just|simply|the|a|single|one|correct|right))* letter\b", re.IGNORECASE
)
_OPTION = re.compile(r"(?:^|[\s(])([A-J])[).:][ \t]", re.MULTILINE)
_SCALE = re.compile(
    r"\b(?:from|between|scale of|range of) (\d{1,3}) ?(?:to|and|-|–) ?(\d{1,3})\b|\b(\d{1,2})-(\d{1,3})\b",
    re.IGNORECASE,
)
# The verdicts of judges: `"[[A]]" if assistant A is better`, `"Rating: [[5]]"`.
_IN_BRACKETS = re.compile(r"[\"'`]\[\[([A-Z])\]\][\"'`]")
_RATING = re.compile(r"((?:rating|score): ?)\[\[(?:rating|score|\d{1,3})\]\]|\[\[(?:rating|score)\]\]", re.IGNORECASE)
_PARTED = re.compile(rf"{_GAP}(?:,?{_GAP}\b{_OR}\b|[,/|]){_GAP}", re.IGNORECASE)
_ANSWERS = frozenset(("yes", "no", "true", "false", "да", "нет"))
# Words that may follow "or" without beginning an answer.
_NO_CHOICES = frozenset((
    "more", "less", "so", "not", "fewer", "the", "a", "an", "it", "them", "other", "another", "both", "otherwise",
    "else", "to",
))  # fmt: skip


def literal_answers(text: str) -> tuple[str, ...]:
    """The answer that a prompt dictates, or the several from which it asks for one; empty for most prompts."""
    dictated = _dictated(text)
    if dictated:
        return (dictated,)
    kind = _KIND.search(text)
    if kind is not None:
        return _KINDS[kind[1].lower()]
    choices = _verdicts(text) or _listed(text) or _choices(text) or _lettered(text) or _rates(text)
    choices = choices or (_SENTIMENTS if _SENTIMENT.search(text) else ())
    felt = sentiment(choices, text, may_hold_nothing=True)
    return choices if felt is None else (felt,)


def sentence_to_say(text: str) -> str | None:
    """The sentence that a short message dictates without quotes or a colon ("Say this is a test"), or None."""
    match = _SAY_IT.match(text) if len(text) <= _SHORT else None
    if match is None or _HOW.search(match[1]):
        return None
    words = match[1].strip()
    # A full stop if there are several words.
    return words[0].upper() + words[1:] + ("." if " " in words else "")


# "Only output the SQL query", and the first of the tables that it is about.
_ONLY_SQL = re.compile(
    r"\b(?:only|just)\b[^.\n]{0,40}\bSQL\b"
    r"|\bSQL\b[^.\n]{0,40}\b(?:only|nothing else|no explanations?|without (?:any )?explanations?)\b",
    re.IGNORECASE,
)
_TABLE = re.compile(r"\bCREATE TABLE (?:IF NOT EXISTS )?[\"`\[]?(\w{1,60})", re.IGNORECASE)
# `Reply TERMINATE when the task is done`: what agents end their answers with.
_CLOSING = re.compile(
    r"\b(?:reply|respond|answer|say|output|return|write|print|end|finish|conclude|include|append|add|send)\b"
    r"(?: (?:your|the|a|an|only|just|exactly|single|word|phrase|message|messages|response|reply|with|by|to|out)){0,9}"
    r" [\"'`*]{0,3}(?-i:([A-Z][A-Z_]{4,40}[A-Z]))\b(?P<rest>[^.\n]{0,160})",
    re.IGNORECASE,
)
_DONE = re.compile(
    r"\b(?:done|complete[ds]?|finish(?:ed)?|(?:in|at) the end|solved|accomplished|satisf\w+|addressed|resolved|over)\b",
    re.IGNORECASE,
)
_UNDONE = re.compile(r"\b(?:not|n['’]t|no|cannot|unless|until|unable|without)\b", re.IGNORECASE)
# How many characters at the end of a text are searched for it.
_CLOSING_SEARCHED = 4000


def closing_word(text: str) -> str | None:
    """The word in capitals with which a text orders to end once all is done; None for most texts."""
    for order in _CLOSING.finditer(text[-_CLOSING_SEARCHED:]):
        if order[1] not in _FORMS and _DONE.search(order["rest"]) and not _UNDONE.search(order["rest"]):
            return order[1]
    return None


def _dictated(text: str) -> str | None:
    table = _TABLE.search(text) if "SQL" in text else None
    if table is not None and _ONLY_SQL.search(text):
        return f"SELECT * FROM {table[1]} LIMIT 10;"
    quoted = _QUOTED.search(text)
    if quoted is not None:
        return next(part for part in quoted.groups() if part is not None).strip() or None
    counted = _COUNT.search(text)
    if counted is not None:
        return _numbers(int(counted[1] or 1), int(counted[2]))
    word = _WORD.search(text)
    if word is not None:
        return word[1]
    usual = _USUAL.search(text)
    if usual is not None and usual[1] not in _FORMS:
        return usual[1] or usual[2]
    rest = _AFTER_COLON.search(text)
    # A question is not dictated but to be answered, and a choice is to be made.
    if rest is None or rest[1].rstrip().endswith("?") or _CHOICE_ALONE.match(rest[1]):
        return None
    return "\n".join(rest[1].split()) if "one per line" in rest[0].lower() else rest[1].strip()


def _verdicts(text: str) -> tuple[str, ...]:
    """The verdicts in double brackets from which a judge chooses."""
    if "[[" not in text:
        return ()
    letters = dict.fromkeys(_IN_BRACKETS.findall(text))
    if len(letters) > 1:
        return tuple(f"[[{letter}]]" for letter in letters)
    # The last form is that of an example, which says more than the first.
    label = next((found[1] or "" for found in reversed([*_RATING.finditer(text)])), None)
    return () if label is None else tuple(f"{label}[[{number}]]" for number in _scale(text) or range(1, 11))


def _lettered(text: str) -> tuple[str, ...]:
    """The letters of the options, if the answer shall be one of them alone."""
    if not _LETTER.search(text):
        return ()
    letters = tuple(dict.fromkeys(_OPTION.findall(text)))
    return letters if letters[:2] == ("A", "B") else ()


def _rates(text: str) -> tuple[str, ...]:
    """The numbers of a scale, if the answer shall be one of them alone; for a random one, up to a hundred."""
    asked = _NUMBER.search(text)
    usual = range(1, _MOST_CHOICES + 1) if asked and "random" in asked[0] else ()
    return tuple(map(str, _scale(text) or usual)) if asked else ()


def _scale(text: str) -> Sequence[int]:
    found = _SCALE.search(text)
    if found is None:
        return ()
    least, most = sorted(int(bound) for bound in found.groups() if bound)
    return range(least, min(most, least + _MOST_CHOICES) + 1)


def _numbers(first: int, last: int) -> str | None:
    if abs(last - first) >= _FURTHEST:
        return None
    step = 1 if last >= first else -1
    return ", ".join(map(str, range(first, last + step, step)))


def _listed(text: str) -> tuple[str, ...]:
    """The answers in a list from which a prompt asks for one."""
    found = _LISTED.search(text)
    items = _ITEM.findall(found[1]) if found else []
    return tuple(dict.fromkeys(item.strip().strip("\"'`*") for item in items))


def _choices(text: str) -> tuple[str, ...]:
    """The answers from which a prompt asks for one: those that it names last."""
    found: Sequence[str] = ()
    place = -1
    for pattern in (*_CHOOSING, _OPTIONS) if _ONE_WANTED.search(text) else _CHOOSING:
        for named in pattern.finditer(text):
            choices = [part.strip().strip("\"'`") for group in named.groups() for part in _PARTED.split(group)]
            real = all(len(choice) == 1 or choice.partition(" ")[0] not in _NO_CHOICES for choice in choices)
            if named.start() > place and 1 < len(choices) <= _MOST_CHOICES and real:
                found, place = choices, named.start()
    if found and found[0].lower() in _ANSWERS and found[0].istitle():
        # In "Yes or no?" only the start of the sentence is capitalized.
        found = [choice.capitalize() if choice in _ANSWERS else choice for choice in found]
    return tuple(dict.fromkeys(found))


# How many characters of a text are judged, and how many words after a negation are negated.
_JUDGED = 1200
_REACH = 3

_SPELLED = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
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
    stretch = text[-_JUDGED:]
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
    for match in _SPELLED.finditer(text):
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

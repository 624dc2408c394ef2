"""What an English sentence asks about, as a noun phrase that fits into any sentence of an answer.

`How do I center a div?` becomes `centering a div`, `Explain how tides form` becomes `how tides form`, `I want to cancel
my plan` becomes `canceling your plan`. A question that has no such form is quoted. There is no grammar behind this,
only patterns: what none of them knows is taken for a noun phrase already.
"""

import re
from functools import cache, lru_cache

# How many words a phrase has at most, and a clause or a quoted question.
_LONGEST, _LONGEST_QUESTION = 10, 14

# The larger patterns are compiled with the first sentence that needs them, and most of them are only tried on sentences
# that begin, or end, with a certain word.
# What may precede a request without being part of it.
_COURTEOUS = frozenset((
    "hi", "hello", "hey", "ok", "okay", "so", "well", "now", "also", "and", "but", "then", "please", "kindly", "just",
    "actually", "quickly", "briefly", "first", "thanks", "thank", "dear", "i", "quick", "in", "as", "based", "given",
    "according", "using",
))  # fmt: skip
_COURTESY = (
    r"(?:(?:hi|hello|hey|ok|okay|so|well|now|also|and|but|then|please|kindly|just|actually|quickly|briefly|first|"
    r"thanks|thank you|dear \w+|i have (?:a|one|another) question|quick question|"
    r"(?:based on|given|according to|using) (?:\w+ ){0,6}\w+(?=,)|in (?:\w+ ){0,4}\w+(?=,)|"
    r"as an? (?:\w+ ){0,3}\w+(?=,))\b[ ,!:;.\u2014-]*)+"
)
# What may follow it, in so many characters, and its last words.
_LONGEST_TAIL = 60
_TAIL = (
    r"(?:[ ,;]{1,3}(?:please|thanks|thank you|in (?:great |more |some )?(?:detail|depth)|step by step|briefly|"
    r"(?:for|to) (?:me|us|beginners|a (?:child|beginner|five[- ]year[- ]old))|as an expert|"
    r"in (?:simple|plain|layman's|your own) (?:terms|words|english)|"
    r"in (?:\w+ ){0,2}(?:words?|sentences?|paragraphs?|bullet points?|lines?|steps?))){1,4}$"
)
_LAST_OF_TAIL = frozenset((
    "please", "thanks", "you", "detail", "depth", "step", "briefly", "me", "us", "beginners", "child", "beginner",
    "old", "five-year-old", "year-old", "expert", "terms", "word", "words", "english", "sentence", "sentences",
    "paragraph", "paragraphs", "point", "points", "line", "lines", "steps",
))  # fmt: skip
# What asks for something to be done; a verb follows, or after `with` a noun phrase.
_WISHFUL = frozenset((
    "can", "could", "would", "will", "i", "i'd", "i'm", "we", "help", "let's", "let", "try", "the", "what", "what's",
    "how",
))  # fmt: skip
_WISH = (
    r"(?:(?:can|could|would|will) you (?:please |kindly |also |just )*"
    r"|i(?:'d| would) (?:really )?(?:like|love) (?:you )?to "
    r"|(?:i|we)(?: also| really)? (?:want|need|have|wish|hope|plan|try) (?:you )?to "
    r"|i(?:'m| am) (?:trying|looking|going|planning|about) to "
    r"|help (?:me|us) (?:to |with )?|let's |let us |try to "
    r"|(?:what(?:'s| is) )?the (?:best|right|easiest|fastest) way to "
    r"|how (?:do|can|should|would|could|might|did) (?:i|we|you|one|they|people|someone|somebody) (?:best )?"
    r"|how to )"
)
# What asks for a thing.
_WANTING = frozenset(("i", "i'd", "i'm", "we", "do", "is", "are"))
_WANT = (
    r"(?:i(?:'d| would) like|(?:i|we) (?:also )?(?:want|need)|i(?:'m| am) looking for|do you have|is there|are there) "
    r"(?:some |any )?"
)
_ABOUT = (" about ", " regarding ", " concerning ")
# Verbs whose object is what is asked about.
_ORDERS = frozenset((
    "analyse", "analyze", "answer", "ask", "brainstorm", "calculate", "check", "choose", "classify", "compare",
    "compose", "compute", "convert", "count", "create", "define", "describe", "design", "detail", "develop", "discuss",
    "draft", "draw", "elaborate", "enumerate", "estimate", "evaluate", "explain", "explore", "extract", "find",
    "generate", "get", "give", "identify", "illustrate", "imagine", "introduce", "invent", "know", "learn", "list",
    "make", "mention", "name", "offer", "outline", "paraphrase", "plan", "present", "produce", "propose", "provide",
    "rate", "read", "recommend", "rephrase", "report", "review", "rewrite", "say", "share", "show", "sketch", "solve",
    "speak", "state", "suggest", "summarise", "summarize", "talk", "teach", "tell", "translate", "understand", "write",
))  # fmt: skip
# Verbs of tasks: to do them is what is asked about.
_TASKS = frozenset((
    "add", "build", "change", "clean", "configure", "cook", "correct", "debug", "deploy", "edit", "fix", "implement",
    "improve", "install", "merge", "optimise", "optimize", "organise", "organize", "parse", "proofread", "refactor",
    "remove", "replace", "run", "schedule", "simplify", "sort", "test", "update", "validate",
))  # fmt: skip
# Those that may be nouns as well are verbs in front of these words.
_NOUNS_TOO = _TASKS | {
    "answer", "check", "design", "detail", "draft", "draw", "estimate", "find", "name", "offer", "outline", "plan",
    "present", "produce", "rate", "report", "review", "share", "sketch", "state", "talk",
}  # fmt: skip
_OBJECTS = frozenset((
    "a", "an", "the", "this", "that", "these", "those", "my", "your", "our", "their", "his", "her", "its", "it", "all",
    "any", "some", "each", "every", "me", "us", "out", "one", "two", "three", "four", "five", "ten", "several",
))  # fmt: skip
_AFTER_ORDER = r"(?: (?:me|us|him|her|them|to me|to us|for me|for us)\b)?(?: (?:on|of)\b)?\s*"
_AUXILIARIES = frozenset((
    "is", "are", "was", "were", "am", "do", "does", "did", "can", "could", "will", "would", "should", "shall", "may",
    "might", "must", "has", "have", "had", "isn't", "aren't", "wasn't", "weren't", "don't", "doesn't", "didn't",
    "can't", "couldn't", "won't", "wouldn't", "shouldn't", "hasn't", "haven't", "hadn't",
))  # fmt: skip
_INTERROGATIVES = frozenset(
    ("what", "what's", "how", "why", "who", "who's", "whose", "which", "where", "when", "whether")
)
# `What is X`, `who is X`: X is asked about.
_IDENTITY = r"(?:what|who)(?:'s| is| are| was| were) (?!you\b)(.+)"
_IDENTITY_CLAUSE = r"(?:what|who) (.+?) (?:is|are|was|were|means?)$"
# Adjectives behind `what is`, as in `What is wrong with my code?`
_STATES = frozenset(("wrong", "new", "next", "missing", "going", "happening", "different", "special", "up", "so"))
_LIKE = r"(.+?) like\b(.*)"
# Questions that become clauses by a change of their order: `Where is Oslo`, `How old is the moon`, `Why do cats purr`.
_PLACE = r"(where|when|how \w+) (is|are|was|were) (?!it\b)(.+?(?<!ed)(?<!en)(?<!born)(?<!built)(?<!made)(?<!held))"
_HABIT = r"(why|how|when|where) do (.+)"
_WORKING = r"how does (.+) work"
_PERSONS = frozenset(("i", "i'm", "i've", "i'd", "we", "it", "it's", "he", "she", "they", "you", "there"))
_POINTING = frozenset(("this", "that", "these", "those"))
_MARK = re.compile(r" ?[,;:()\[\]{}\"«»`<>|\u2014]")
# Conjunctions at which a phrase ends.
_CONJUNCTIONS = frozenset(("because", "but", "if", "so", "-"))
# Words before which a long phrase is cut, and with which none ends.
_JOINTS = frozenset((
    "about", "after", "against", "and", "as", "asking", "at", "before", "between", "by", "during", "for", "from", "in",
    "into", "of", "on", "or", "over", "since", "that", "to", "under", "using", "when", "where", "which", "while", "who",
    "with", "without",
))  # fmt: skip
_ARTICLES = frozenset(("a", "an", "the", "my", "your", "our", "this", "these", "some"))
_NO_END = _JOINTS | _ARTICLES
_OTHER_PERSON = {
    "my": "your", "our": "your", "me": "you", "us": "you", "myself": "yourself", "mine": "yours", "your": "my",
    "yours": "mine", "yourself": "myself", "i": "you", "i'm": "you are", "i've": "you have", "we": "you",
}  # fmt: skip
# A letter with its addressee, in front of what it is about.
_LETTER = (
    r"(?:(?:an?|the) )?(?:[\w-]+ ){0,3}?(?:e-?mail|mail|letter|письмо)\b(?: (?:to|for) (?:(?:my|your|the|an?|our) )?"
    r"[\w@.-]+(?: [A-Z]\w+)*)?(?: (?:asking for|asking|to ask for|requesting|for|about|regarding|that|on|to))? ?"
)
# Verbs whose last consonant is doubled although they have more than one syllable.
_DOUBLING = frozenset((
    "admit", "begin", "commit", "control", "debug", "defer", "forget", "format", "input", "occur", "output", "permit",
    "prefer", "program", "refer", "regret", "rerun", "reset", "setup", "submit", "transfer", "unplug", "unzip", "upset",
))  # fmt: skip
_SHORT_VERB = re.compile(r"[^aeiou]*(?:[aeiou]|qui|qua)[bdfgklmnprtvz]")


@lru_cache(maxsize=256)
def noun_phrase(sentence: str) -> str:
    """What a sentence asks about, as a noun phrase; empty if nothing is left of it."""
    text = " ".join(sentence.replace("\u2019", "'").split()).rstrip(".!?\u2026 ")
    courtesy = _match(_COURTESY, text) if _first(text).rstrip(",!:;.") in _COURTEOUS else None
    text = text[courtesy.end() :] if courtesy else text
    if text.rpartition(" ")[2].lower() in _LAST_OF_TAIL:
        tail = _compiled(_TAIL).search(text, max(len(text) - _LONGEST_TAIL, 0))
        text = text[: tail.start()] if tail else text
    return _asked(text)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _match(pattern: str, text: str) -> re.Match[str] | None:
    return _compiled(pattern).match(text)


def _first(text: str) -> str:
    """The first word of a text, in lower case."""
    return text.partition(" ")[0].lower()


def _behind_about(text: str) -> str:
    """What follows `about` in a text, if anything but a number; else the text."""
    lowered = f" {text.lower()}"
    for sign in _ABOUT:
        _, found, _ = lowered.partition(sign)
        start = lowered.find(sign) + len(sign) - 1
        if found and text[start:] and not text[start].isdecimal():
            return text[start:]
    return text


def _asked(text: str) -> str:
    text = _behind_about(text)
    wish = None
    while _first(text) in _WISHFUL and (again := _match(_WISH, text)):
        wish, text = again, text[again.end() :]
    if wish is not None:
        return _phrase(text) if wish[0].lower().endswith("with ") else _done(text)
    want = _match(_WANT, text) if _first(text) in _WANTING else None
    if want is not None:
        return _phrase(text[want.end() :])
    first = _first(text)
    if first in _INTERROGATIVES:
        return _question(text)
    if first in _ORDERS or first in _TASKS:
        return _done(text) if _is_verb(text, first) else _phrase(text)
    if first in _AUXILIARIES:
        return _quoted(text)
    return _stated(text)


def _done(text: str) -> str:
    """What a request is about that begins with a verb in the infinitive."""
    verb, _, rest = text.partition(" ")
    if verb.lower() in _ORDERS:
        return _ordered(text)
    return _phrase(f"{gerund(verb.lower())} {rest}") if verb.isalpha() else _phrase(text)


def _ordered(text: str) -> str:
    """What an order is about: the object of its verb."""
    _, _, rest = text.partition(" ")
    after = _match(_AFTER_ORDER, " " + rest)
    rest = (" " + rest)[after.end() if after else 0 :].strip()
    first, _, more = rest.partition(" ")
    if first.lower() == "to" and more:
        return _done(more)
    if first.lower() == "how" and more.lower().startswith("to "):
        return _done(more[3:])
    if first.lower() in _INTERROGATIVES:
        clause = _match(_IDENTITY_CLAUSE, rest)
        return _phrase(clause[1]) if clause else _clause(rest)
    return _stated(rest) or _phrase(text)


def _question(text: str) -> str:
    """What a question is about: the thing that it asks for, or the question as a clause; else it is quoted."""
    identity = _compiled(_IDENTITY).fullmatch(text)
    if identity is not None:
        asked = identity[1]
        first = _first(asked)
        if first in _STATES:
            return _clause(f"what is {asked}")
        like = _compiled(_LIKE).fullmatch(asked)
        return _phrase(like[1] + like[2] if like else asked)
    place = _compiled(_PLACE).fullmatch(text)
    if place is not None:
        return _clause(f"{place[1]} {place[3]} {place[2]}")
    habit = _compiled(_HABIT).fullmatch(text)
    if habit is not None:
        return _clause(f"{habit[1]} {habit[2]}")
    working = _compiled(_WORKING).fullmatch(text)
    if working is not None:
        return _clause(f"how {working[1]} works")
    return _quoted(text) if _is_inverted(text.lower().split()) else _clause(text)


def _is_inverted(words: list[str]) -> bool:
    """Whether the words of a question have another order than those of a clause."""
    first, second, third = (*words, "", "")[:3]
    if first in ("who", "which"):
        return second in ("do", "did", "does") or third == "you"
    if first == "what" or second in ("many", "much"):
        return second in _AUXILIARIES or third in _AUXILIARIES or not {"do", "does", "did"}.isdisjoint(words)
    return second in _AUXILIARIES or first.endswith("'s")


def _is_verb(text: str, first: str) -> bool:
    """Whether the first word of a text is a verb, rather than a noun."""
    following = text.lower().split(maxsplit=2)[1:2]
    return first not in _NOUNS_TOO or (following != [] and (following[0] in _OBJECTS or following[0].isdecimal()))


def _stated(text: str) -> str:
    """What a statement or a heading is about."""
    words = text.split()
    first, second = (*[word.lower() for word in words[:2]], "", "")[:2]
    if first in _PERSONS or (first in _POINTING and second in _AUXILIARIES):
        return _quoted(text, "")
    place = next((n for n, word in enumerate(words[1:8], 1) if word.lower() in _AUXILIARIES), 0)
    return _phrase(" ".join(words[:place]) if place else text)


def _clause(text: str) -> str:
    """A clause that begins with an interrogative."""
    words = _MARK.split(text, 1)[0].split()
    if len(words) > _LONGEST_QUESTION:
        return _quoted(text)
    return _turned([words[0].lower(), *words[1:]])


def _quoted(text: str, what: str = "the question ") -> str:
    words = text.replace('"', "'").split()
    more = "\u2026" if len(words) > _LONGEST_QUESTION else "?" if what else ""
    return f'{what}"{" ".join(words[:_LONGEST_QUESTION])}{more}"'


def _phrase(text: str) -> str:
    """A noun phrase of bounded length."""
    words = _MARK.split(text.strip(), 1)[0].split() or text.split()
    end = next((place for place, word in enumerate(words) if place and word in _CONJUNCTIONS), len(words))
    if end > _LONGEST:
        joints = (place for place in range(_LONGEST, 1, -1) if words[place].lower() in _JOINTS)
        end = next(joints, _LONGEST)
    while end > 1 and words[end - 1].lower() in _NO_END:
        end -= 1
    words = words[:end]
    if words and words[0].lower() in _ARTICLES:
        words[0] = words[0].lower()
    return _turned(words).rstrip(".!?")


def _turned(words: list[str]) -> str:
    """The words as the one who answers says them: with `your` for `my`, and the reverse."""
    return " ".join([_OTHER_PERSON.get(word.lower(), word) for word in words])


def matter_of_letter(phrase: str) -> str:
    """What a letter is about, from the noun phrase of the order to write it; empty if that does not say."""
    letter = _match(_LETTER, phrase)
    return phrase[letter.end() :] if letter else phrase


def gerund(verb: str) -> str:
    """A verb's form in -ing, from its infinitive in lower case."""
    if verb == "be" or verb.endswith(("ee", "oe", "ye")):
        return f"{verb}ing"
    if verb.endswith("ie"):
        return f"{verb[:-2]}ying"
    if verb.endswith("e"):
        return f"{verb[:-1]}ing"
    doubles = verb in _DOUBLING or _SHORT_VERB.fullmatch(verb) is not None
    return f"{verb}{verb[-1]}ing" if doubles else f"{verb}ing"

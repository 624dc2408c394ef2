"""The objects that prompts sketch: `{"name": string, "tags": string[]}`, which is no JSON, and keys that are listed."""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from mockserver.generation.sections import field_schema

# How long a sketch may be, in characters and in levels; how many keys are taken from a list, from how long a line, and
# after how many words that announce one.
_LENGTH = 4000
_DEEPEST = 20
_MOST_KEYS = 50
_LINE = 1000
_TRIED = 20

_TYPE_WORDS: Mapping[str, re.Pattern[str]] = {
    "boolean": re.compile(r"\b(?:bool|boolean|true|false)s?\b|\bлогич|\bбулев"),
    "integer": re.compile(r"\b(?:int|integer|whole number)s?\b|\bцел(?:ое|ых)\b|^-?\d+$"),
    "number": re.compile(r"\b(?:number|float|double|decimal)s?\b|\bчис(?:ло|ел)\b|^-?\d+\.\d+$"),
}
_TYPE_NAMES = re.compile(r"(?:str|string|text|int|integer|number|float|double|bool|boolean)", re.IGNORECASE)
_LIST = re.compile(r"\b(?:list|array)s?\b|\b(?:список|массив)\b|\[[^\[\]]*\]")
_CHOICES = re.compile(r"[\w-]+(?:\s*\|\s*[\w-]+)+")
_ONE_OF = re.compile(r"""\bone of:?\s*[(\[]?((?:["'`]?[\w-]+["'`]?(?:\s*[,/|]\s*(?:or\s+)?|\s+or\s+))+["'`]?[\w-]+)""")
_WORD = re.compile(r"[\w-]+")
# The bounds of a number, and not how many there are of something.
_RANGE = re.compile(
    r"(-?\d{1,9}(?:\.\d{1,9})?)\s*(?:-|–|\.\.|to|and)\s*(-?\d{1,9}(?:\.\d{1,9})?)(?!\d|\.\d)"
    r"(?!\s*(?:digit|decimal|char|letter|word|sentence|line|paragraph|item|element|entr|number|int|float|string|text))"
)
_QUOTED_CHOICES = re.compile(r"""["']([^"'|]+)["']""")
_NUMBER_KEYS = re.compile(r"(?:^|_)(age|count|price|year|score|confidence|rating|quantity|population|total|amount)$")

# A comment, a text, a mark, or a word.
_TOKENS = re.compile(r"""//[^\n]*|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[{}\[\]:,;]|[^\s{}\[\]:,;"']+""")
_KEY = re.compile(r"""["']?([^\W\d][\w -]{0,40}?)["']?\??""")
_MARKS = frozenset("{}[]:,;")

# After what keys are listed. A single one says so: "the key points" of a matter are none.
_CUE = re.compile(
    r"(?:\b(?:keys|fields|properties|attributes|ключ\w{0,3}|пол(?:е|я|ями|ей|ем)|свойств\w{0,3})\b|字段|键"
    r"|\b(?:Feldern?|Schlüsseln?|Eigenschaften|champs|clés|propriétés|campos|claves|propiedades|chaves|campi|chiavi)\b"
    r"|\bwith (?:the|a|one|a single) (?:key|field|property|attribute)\b"
    r"|\b(?:key|field|property|attribute)(?=\s+(?:called|named)\b|\s*[:\"'`])"
    # Where the line has a word for keys, these come after it.
    r"|(?P<holder>\b(?:JSON|objects?),? (?:with|containing|that (?:has|contains))\b)"
    r"(?![^\n]{0,200}\b(?:keys?|fields?|propert|attribute))"
    # The list itself follows, and can be nothing else: a name with brackets behind it, or names in quotes.
    r"|\bJSON(?: object| format)?:(?=\s*(?:[\"'`]|[^\W\d][\w-]{0,40} ?\([^()\n]*\)))"
    r"|\b(?:structure|schema|format|shape):(?=\s*\n\s*(?:[-*•\"'`]|\d+[.)])))"
    r"(?:\s|:|\b(?:called|named|are|is|be|must|should|exactly|only|the|these|following|such|as|like|follows)\b)*",
    re.IGNORECASE,
)
# Where a single bare word is a key: "the fields are required" names none.
_ONE_WILL_DO = re.compile(r":|\b(?:called|named|key|field|property|attribute)\b", re.IGNORECASE)
_IDENTIFIER = r"[^\W\d][\w-]{0,40}"
_QUOTED = re.compile(rf"""["'`]({_IDENTIFIER})["'`]([^"'`\n.]*)""")
_QUOTED_BEFORE = re.compile(r"""["'`](?=\s+(?:keys?|fields?|propert(?:y|ies)|attributes?)\b)""", re.IGNORECASE)
_QUOTED_LIST = re.compile(
    rf"""(?:["'`]{_IDENTIFIER}["'`](?:\s*,\s*(?:and\s+)?|\s+and\s+)){{0,{_MOST_KEYS - 1}}}["'`]{_IDENTIFIER}["'`]\Z"""
)
_IN_BRACKETS = re.compile(r"\([^()\n]*\)")
_QUOTE = re.compile(r"""["'`]""")
_BARE = re.compile(rf"({_IDENTIFIER})(?:\s*\(([^()\n]*)\)|\s*:\s*([^\n,;.]*))?")
# What holds keys is said to hold them and nothing more: the sentence ends with the last of them.
_HELD = re.compile(rf"(?:(?:the|an?|his|her|its|their) )?{_BARE.pattern}")
_SENTENCE_END = re.compile(r"\s*(?:[.!?;:)]|$|\n)")
_AND = r"(?:and|or|и|und|et|y|e)"
_NEXT = re.compile(rf"\s*(?:[,;、，]\s*(?:{_AND}\s+)?|(?:{_AND}|&)\s+)")
_BULLET = re.compile(rf"""\s*(?:[-*•]|\d+[.)])\s+[*"'`]*({_IDENTIFIER})[*"'`]*[^\S\n]*(?:[(:–—-]([^\n]*))?(?=\n|$)""")
_QUOTED_LINE = re.compile(rf"""\s*["'`]({_IDENTIFIER})["'`][^\S\n]*(?:[(:–—-]([^\n]*))?(?=\n|$)""")
_NO_KEYS = frozenset((
    "and", "or", "the", "with", "a", "an", "of", "as", "in", "to", "is", "are", "that", "which", "for", "from",
    "should", "must", "value", "values", "nothing", "no", "not", "do", "please", "then", "where", "return", "only",
    "each", "both", "without", "и", "или",
))  # fmt: skip


def sketched_object(text: str, place: int) -> dict[str, Any] | None:
    """The schema of the object that is sketched from a brace on; None where there is none."""
    return _object(_Tokens(text[place : place + _LENGTH]), 0)


def like_text(text: str) -> dict[str, Any]:
    """The schema of a text in an example: a type where it names one, one of several that stand between bars, or what
    DSPy says of it."""
    field = field_schema(text)
    if field is not None:
        return field
    if _TYPE_NAMES.fullmatch(text):
        return _typed(text)
    if _CHOICES.fullmatch(text):
        return {"enum": [choice.strip() for choice in text.split("|")]}
    return {"type": "string"}


def named_keys(text: str) -> dict[str, Any]:
    """The schemas of the keys that a prompt names: `with keys name and age`, `fields:` above a list, `a "b" field`."""
    before = {name: _noted(name, "") for name in _keys_before(text)}
    if before:
        return before
    listed = (_keys_after(cue) for cue in islice(_CUE.finditer(text), _TRIED))
    return next(filter(None, listed), {})


# --- sketches ----------------------------------------------------------------------------------------------------


class _Tokens:
    """The tokens of a text, with a look at the next one."""

    def __init__(self, text: str) -> None:
        found = (match[0] for match in _TOKENS.finditer(text))
        self._rest = (token for token in found if not token.startswith("//"))
        self.next = next(self._rest, "")

    def take(self) -> str:
        token, self.next = self.next, next(self._rest, "")
        return token


def _object(tokens: _Tokens, depth: int) -> dict[str, Any] | None:
    tokens.take()
    named: dict[str, Any] = {}
    while tokens.next != "}":
        key = _KEY.fullmatch(tokens.take())
        if key is None or tokens.take() != ":":
            return None
        value = _value(tokens, depth + 1)
        if value is None:
            return None
        named[key[1]] = value
        if tokens.next in (",", ";"):
            tokens.take()
    tokens.take()
    return {"type": "object", "properties": named, "required": list(named)} if named else None


def _value(tokens: _Tokens, depth: int) -> dict[str, Any] | None:
    if depth > _DEEPEST:
        return None
    if tokens.next == "{":
        found = _object(tokens, depth)
        # `{...}[]`
        return _array_of(found) if found and tokens.next == "[" and _array(tokens, depth) else found
    if tokens.next == "[":
        return _array(tokens, depth)
    taken = []
    while tokens.next and tokens.next not in _MARKS:
        taken.append(tokens.take())
    words = " ".join(taken)
    if not taken:
        return None
    if tokens.next == "[":
        # `list[str]`, `string[]`
        array = _array(tokens, depth)
        return array if _LIST.search(words.lower()) else array and _array_of(_schema_of_value(words))
    return _schema_of_value(words)


def _array(tokens: _Tokens, depth: int) -> dict[str, Any] | None:
    tokens.take()
    items: dict[str, Any] | None = {"type": "string"}
    if tokens.next != "]":
        items = _value(tokens, depth + 1)
    while tokens.next in (",", "...", "…"):
        tokens.take()
        if tokens.next not in ("]", "...", "…") and _value(tokens, depth + 1) is None:
            return None
    return _array_of(items) if items and tokens.take() == "]" else None


def _array_of(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": 1}


def _schema_of_value(text: str) -> dict[str, Any]:
    """The schema of what stands for a value: a text like those of an example, texts between bars, or words."""
    choices = _QUOTED_CHOICES.findall(text)
    if len(choices) > 1:
        return {"enum": choices}
    quoted = re.fullmatch(r"""["'](.*)["']""", text)
    return like_text(quoted[1]) if quoted else _typed(text)


def _typed(note: str) -> dict[str, Any]:
    """The schema that some words ask for; texts where they do not say."""
    words = note.lower()
    if _LIST.search(words):
        return _array_of(_typed(_LIST.sub(" ", words)))
    if _RANGE.fullmatch(words.strip()):
        return _bounded({"type": "number" if "." in words.replace("..", "") else "integer"}, words)
    kind = next((name for name, said in _TYPE_WORDS.items() if said.search(words)), "string")
    return _bounded({"type": kind}, words)


def _bounded(schema: dict[str, Any], words: str) -> dict[str, Any]:
    """The schema of a number with the bounds that the words set it."""
    found = _RANGE.search(words) if schema["type"] in ("integer", "number") else None
    if found is None:
        return schema
    least, most = (float(bound) if "." in bound else int(bound) for bound in found.groups())
    return schema | {"minimum": least, "maximum": most} if least <= most else schema


# --- lists of keys -----------------------------------------------------------------------------------------------


def _keys_before(text: str) -> Iterator[str]:
    """The keys that stand in quotes before a word for them."""
    for found in islice(_QUOTED_BEFORE.finditer(text), _TRIED):
        listed = _QUOTED_LIST.search(text[max(found.end() - _LINE, 0) : found.end()])
        yield from (name for name, _ in _QUOTED.findall(listed[0] if listed else ""))


def _keys_after(cue: re.Match[str]) -> dict[str, Any]:
    """The keys that are listed after their cue: line by line, in quotes, or as bare words."""
    text, place = cue.string, cue.end()
    line_start = text.rfind("\n", 0, place) + 1
    if not text[line_start:place].strip():
        for line in (_BULLET, _QUOTED_LINE):
            if line.match(text, line_start):
                return dict(_by_lines(text, line_start, line))
    if text[place : place + 1] in ('"', "'", "`"):
        return dict(_quoted(text[place : place + _LINE].partition("\n")[0]))
    if cue["holder"]:
        return _held(text, place)
    bare = {name: schema for name, schema, _ in _bare(text, place, _BARE)}
    return bare if len(bare) > 1 or _ONE_WILL_DO.search(cue[0]) else {}


def _held(text: str, place: int) -> dict[str, Any]:
    """The keys, two at least, that something is said to hold."""
    listed = [*_bare(text, place, _HELD)]
    ends = len(listed) > 1 and _SENTENCE_END.match(text, listed[-1][2])
    return {name: schema for name, schema, _ in listed} if ends else {}


def _by_lines(text: str, place: int, line: re.Pattern[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    for _ in range(_MOST_KEYS):
        found = line.match(text, place)
        if found is None:
            return
        yield found[1], _noted(found[1], found[2] or "")
        place = found.end()


def _quoted(line: str) -> Iterator[tuple[str, dict[str, Any]]]:
    # What brackets hold describes a key, and names none.
    plain = _IN_BRACKETS.sub(lambda found: _QUOTE.sub(" ", found[0]), line)
    for name, note in _QUOTED.findall(plain.partition(". ")[0])[:_MOST_KEYS]:
        yield name, _noted(name, note)


def _bare(text: str, place: int, key: re.Pattern[str]) -> Iterator[tuple[str, dict[str, Any], int]]:
    """The keys of a row of bare words: each with its schema, and the place where it ends."""
    for _ in range(_MOST_KEYS):
        found = key.match(text, place)
        if found is None or found[1].lower() in _NO_KEYS:
            return
        yield found[1], _noted(found[1], found[2] or found[3] or ""), found.end()
        more = _NEXT.match(text, found.end())
        if more is None:
            return
        place = more.end()


def _noted(name: str, note: str) -> dict[str, Any]:
    """The schema of a key: by what is said of it, else by its name."""
    choices = _ONE_OF.search(note)
    if choices is not None:
        return {"enum": [word for word in _WORD.findall(choices[1]) if word != "or"]}
    if _CHOICES.fullmatch(note.strip()):
        return like_text(note.strip())
    schema = _typed(note)
    if schema == {"type": "string"} and _NUMBER_KEYS.search(name.lower()):
        return _bounded({"type": "number"}, note.lower())
    return schema

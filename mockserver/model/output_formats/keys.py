"""What prompts say of the keys of objects: their names (`with keys name and age`, `fields:` above a list, `a "b"
field`), and their values: which words they may be, between which numbers they lie, and how many there are.

Prompts for judges are written so: `The "verdict" key should be either "yes" or "no"`, `"score": an integer between 0
and 10`, `The number of verdicts must equal that of the statements`, and a list of these.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from mockserver.model.extraction.narrowed import with_items
from mockserver.model.output_formats.frameworks import field_schema
from mockserver.model.schema import array_of, compact, schema_fault

_TYPE_WORDS: Mapping[str, re.Pattern[str]] = {
    "boolean": re.compile(r"\b(?:bool|boolean|true|false)s?\b|\bлогич|\bбулев"),
    "integer": re.compile(r"\b(?:int|integer|whole number)s?\b|\bцел(?:ое|ых)\b|^-?\d+$"),
    "number": re.compile(r"\b(?:number|float|double|decimal)s?\b|\bчис(?:ло|ел)\b|^-?\d+\.\d+$"),
}
_TYPE_NAMES = re.compile(r"(?:str|string|text|int|integer|number|float|double|bool|boolean)", re.IGNORECASE)
LIST = re.compile(r"\b(?:list|array)s?\b|\b(?:список|массив)\b|\[[^\[\]]*\]")
CHOICES = re.compile(r"[\w-]+(?:\s*\|\s*[\w-]+)+")
# The bounds of a number, not of a count of something.
RANGE = re.compile(
    r"(-?\d{1,9}(?:\.\d{1,9})?)\s*(?:-|–|\.\.|to|and)\s*(-?\d{1,9}(?:\.\d{1,9})?)(?!\d|\.\d)"
    r"(?!\s*(?:digit|decimal|char|letter|word|sentence|line|paragraph|item|element|entr|number|int|float|string|text))"
)


def like_text(text: str) -> dict[str, Any]:
    """The schema of a string in an example: the type that it names, one of several choices separated by bars, or what a
    note of DSPy states."""
    field = field_schema(text)
    if field is not None:
        return field
    if _TYPE_NAMES.fullmatch(text):
        return typed(text)
    if CHOICES.fullmatch(text):
        return {"enum": [choice.strip() for choice in text.split("|")]}
    return {"type": "string"}


def typed(note: str) -> dict[str, Any]:
    """The schema that words describe; that of a string by default."""
    words = note.lower()
    if LIST.search(words):
        return array_of(typed(LIST.sub(" ", words)))
    if RANGE.fullmatch(words.strip()):
        return bounded({"type": "number" if "." in words.replace("..", "") else "integer"}, words)
    kind = next((name for name, pattern in _TYPE_WORDS.items() if pattern.search(words)), "string")
    return bounded({"type": kind}, words)


def bounded(schema: dict[str, Any], words: str) -> dict[str, Any]:
    """The schema, if it is that of a number, with the bounds in the words."""
    found = RANGE.search(words) if schema["type"] in ("integer", "number") else None
    if found is None:
        return schema
    least, most = (float(bound) if "." in bound else int(bound) for bound in found.groups())
    return schema | {"minimum": least, "maximum": most} if least <= most else schema


# Limits of the keys in a list, of a line in characters, and of the cues that are tried.
_MOST_KEYS = 50
_LINE = 1000
_TRIED = 20

_ONE_OF = re.compile(r"""\bone of:?\s*[(\[]?((?:["'`]?[\w-]+["'`]?(?:\s*[,/|]\s*(?:or\s+)?|\s+or\s+))+["'`]?[\w-]+)""")
_WORD = re.compile(r"[\w-]+")
_NUMBER_KEYS = re.compile(r"(?:^|_)(age|count|price|year|score|confidence|rating|quantity|population|total|amount)$")
_BOOLEAN_KEYS = re.compile(
    r"(?:is|has|can|was|in_stock)(?:$|_|(?=[A-Z]))|.*(?:^|_)(?:enabled|active|available|valid|verified)$"
)

# Cues for lists of keys. A cue for a single key must be explicit: "the key points" announce none.
_CUE = re.compile(
    r"(?:\b(?:keys|fields|properties|attributes|ключ\w{0,3}|пол(?:е|я|ями|ей|ем)|свойств\w{0,3})\b|字段|键"
    r"|\b(?:Feldern?|Schlüsseln?|Eigenschaften|champs|clés|propriétés|campos|claves|propiedades|chaves|campi|chiavi)\b"
    r"|\bwith (?:the|a|one|a single) (?:key|field|property|attribute)\b"
    r"|\b(?:key|field|property|attribute)(?=\s+(?:called|named)\b|\s*[:\"'`])"
    # "a JSON object for a person with", "two users, each with", "extract the name and the age as JSON"; if the line has
    # a word for keys, these follow that word instead.
    r"|(?P<holder>\b(?:JSON|objects?|each)(?: (?:of|for|about|describing|representing) [^\n.,:;\"'`{]{1,40}?)?,?"
    r" (?:with|containing|including|that (?:has|have|contains?|includes?))\b"
    r"|\b(?:extract|return|give|provide|output|get|find|list)(?: me| us)?\b"
    r"(?=[^\n.:]{3,160}\b(?:as|in|into|to) (?:an? )?(?:valid )?JSON\b))"
    r"(?![^\n]{0,200}\b(?:keys?|fields?|propert|attribute))"
    # Something that can only be the list must follow: a name with brackets after it, or names in quotes.
    r"|\bJSON(?: object| format)?:(?=\s*(?:[\"'`]|[^\W\d][\w-]{0,40} ?\([^()\n]*\)))"
    r"|\b(?:structure|schema|format|shape):(?=\s*\n\s*(?:[-*•\"'`]|\d+[.)])))"
    r"(?:\s|:|\b(?:called|named|are|is|be|must|should|exactly|only|the|these|following|such|as|like|follows)\b)*",
    re.IGNORECASE,
)
# Cues after which a single bare word is a key: "the fields are required" names none.
_ONE_WILL_DO = re.compile(r":|\b(?:called|named|key|field|property|attribute)\b", re.IGNORECASE)
_IDENTIFIER = r"[^\W\d][\w-]{0,40}"
_QUOTED = re.compile(rf"""["'`]({_IDENTIFIER})["'`]([^"'`\n.]*)""")
_QUOTED_BEFORE = re.compile(r"""["'`](?=\s+(?:keys?|fields?|propert(?:y|ies)|attributes?)\b)""", re.IGNORECASE)
_SAID_AFTER = re.compile(
    r"\s+(?:key|field|property|attribute),? (?:(?:which|that) (?:is|are|holds|contains)|as|mapping to|containing|"
    r"whose value is) ([^.\n]{1,100})",
    re.IGNORECASE,
)
_QUOTED_LIST = re.compile(
    rf"""(?:["'`]{_IDENTIFIER}["'`](?:\s*,\s*(?:and\s+)?|\s+and\s+)){{0,{_MOST_KEYS - 1}}}["'`]{_IDENTIFIER}["'`]\Z"""
)
_IN_BRACKETS = re.compile(r"\([^()\n]*\)")
_QUOTE = re.compile(r"""["'`]""")
_BARE = re.compile(rf"({_IDENTIFIER})(?:\s*\(([^()\n]*)\)|\s*:\s*([^\n,;.]*))?")
# Keys after "object with" or the like: the sentence must end with the last of them, or say what they are of.
_HELD = re.compile(rf"(?:(?:the|an?|his|her|its|their|each) )?(?:\w{{1,30}}['’]s )?{_BARE.pattern}")
_LIST_END = re.compile(
    r"\s*(?:[.!?;:)]|$|\n|,? (?:of|for|from|about|in|on|as|based|given|describing|mentioned|where|if|when)\b)"
)
_AND = r"(?:and|or|и|und|et|y|e)"
_NEXT = re.compile(rf"\s*(?:[,;、，]\s*(?:{_AND}\s+)?|(?:{_AND}|&)\s+)")
_BULLET = re.compile(rf"""\s*(?:[-*•]|\d+[.)])\s+[*"'`]*({_IDENTIFIER})[*"'`]*[^\S\n]*(?:[(:–—-]([^\n]*))?(?=\n|$)""")
_QUOTED_LINE = re.compile(rf"""\s*["'`]({_IDENTIFIER})["'`][^\S\n]*(?:[(:–—-]([^\n]*))?(?=\n|$)""")
_NO_KEYS = frozenset((
    "and", "or", "the", "with", "a", "an", "of", "as", "in", "to", "is", "are", "that", "which", "for", "from",
    "should", "must", "value", "values", "nothing", "no", "not", "do", "please", "then", "where", "return", "only",
    "each", "both", "without", "и", "или",
))  # fmt: skip


def keys_announced(text: str) -> dict[str, str]:
    """The keys that a prompt names in quotes before a word for keys, with what it says of each right after that."""
    announced: dict[str, str] = {}
    for name, note in _keys_before(text):
        announced[name] = announced.get(name) or note
    return announced


def named_keys(text: str, holder: str = "") -> dict[str, Any]:
    """The schemas of keys named in a prompt: `with keys name and age`, `fields:` above a list, `a "b" field`.

    Those of a `holder` are the keys of the objects in it.
    """
    before = {name: _noted(name, note) for name, note in keys_announced(text).items() if name != holder}
    if before:
        return before
    listed = (_keys_after(cue) for cue in islice(_CUE.finditer(text), _TRIED))
    return next((keys for keys in listed if keys and holder not in keys), {})


def _keys_before(text: str) -> Iterator[tuple[str, str]]:
    """The quoted keys before a word for keys, and what is said of a single one: `a "tags" key, which is a list`."""
    for found in islice(_QUOTED_BEFORE.finditer(text), _TRIED):
        listed = _QUOTED_LIST.search(text[max(found.end() - _LINE, 0) : found.end()])
        names = [name for name, _ in _QUOTED.findall(listed[0] if listed else "")]
        said = _SAID_AFTER.match(text, found.end()) if len(names) == 1 else None
        yield from ((name, said[1] if said else "") for name in names)


def _keys_after(cue: re.Match[str]) -> dict[str, Any]:
    """The keys listed after a cue: line by line, in quotes, or as bare words."""
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
    """The keys of an "object with" keys, at least two; empty unless their list ends with them."""
    listed = [*_bare(text, place, _HELD)]
    ends = len(listed) > 1 and _LIST_END.match(text, listed[-1][2])
    return {name: schema for name, schema, _ in listed} if ends else {}


def _by_lines(text: str, place: int, line: re.Pattern[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    for _ in range(_MOST_KEYS):
        found = line.match(text, place)
        if found is None:
            return
        yield found[1], _noted(found[1], found[2] or "")
        place = found.end()


def _quoted(line: str) -> Iterator[tuple[str, dict[str, Any]]]:
    # Quotes in brackets describe a key and are no names.
    plain = _IN_BRACKETS.sub(lambda found: _QUOTE.sub(" ", found[0]), line)
    for name, note in _QUOTED.findall(plain.partition(". ")[0])[:_MOST_KEYS]:
        yield name, _noted(name, note)


def _bare(text: str, place: int, key: re.Pattern[str]) -> Iterator[tuple[str, dict[str, Any], int]]:
    """The keys of a list of bare words: each with its schema and the position of its end."""
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
    """The schema of a key: from its note, else from its name."""
    choices = _ONE_OF.search(note)
    if choices is not None:
        return {"enum": [word for word in _WORD.findall(choices[1]) if word != "or"]}
    if CHOICES.fullmatch(note.strip()):
        return like_text(note.strip())
    schema = typed(note)
    if schema == {"type": "string"} and not note.strip() and _BOOLEAN_KEYS.match(name):
        return {"type": "boolean"}
    if schema == {"type": "string"} and _NUMBER_KEYS.search(name.lower()):
        return bounded({"type": "number"}, note.lower())
    return schema


# How many sentences about keys are read, how deep a schema is searched for the keys, and the longest list, in
# characters and in items.
_MOST_SAID = 50
_DEEPEST = 20
_LONGEST_LIST = 8000
_MOST_ITEMS = 50

# Choices and ranges are searched first, because they are rare; then the name of the key in what is before them.
_BEFORE = 160
_KEY_NAME = (
    r"""(?<![\w"'`])["'`]{0,2}([^\W\d][\w-]{0,40})["'`]{0,2}(?:[^\S\n]+(?:keys?|fields?|values?|property|attribute))?"""
)
_CHOICE = r"""(?:["'`][\w-]{1,30}["'`]|\b(?:\d{1,3}|[A-Z])\b)(?:[^\S\n]?\([^()\n]{0,80}\))?"""
_LISTED_CHOICES = re.compile(rf"{_CHOICE}(?:(?:[^\S\n]*[,/][^\S\n]*(?:or[^\S\n]+)?|[^\S\n]+or[^\S\n]+){_CHOICE})+")
_CHOSEN = re.compile(
    rf"{_KEY_NAME}[^\S\n]+"
    r"(?:(?:should|must|can|may|will|shall|has|have|is|are|to|be|that|which|outputs?|takes?|contains?|only|strictly|"
    r"either|always|exactly|one|single|letters?|words?|numbers?|of|an?|the|values?|set|equal|from|among|following)\b[,:]?[^\S\n]+){1,10}\Z",
    re.IGNORECASE,
)
_RANGED = re.compile(
    rf"{_KEY_NAME}(?:[^\S\n]*[:(]|[^\S\n]+(?:should|must|is|as|from|between)\b)[^\n{{}},;)]{{0,100}}\Z", re.IGNORECASE
)
_CHOSEN_WORD = re.compile(r"""["'`]([\w-]+)["'`]|\b(\d{1,3})\b|\b([A-Z])\b""")
_WHOLE = re.compile(r"\b(?:int|integer|whole number)\b")
# "1 if it is supported, 0 otherwise"
_BINARY = re.compile(
    r"\b([01]) (?:if|for|when)\b[^.\n]{0,200}?(?!\1)[01] (?:if|for|when|otherwise|else)\b|\b0 ?(?:/|or|,) ?1\b"
)

# A sentence that demands as many items as a list has, or as many as it says.
_AS_MANY = re.compile(
    r"\b(?:number|length|count|amount) of [\"'`]?\w+[\"'`]?[^.\n]{0,60}\b(?:equals?|same|match(?:es)?)\b"
    r"(?:[^\S\n]+to)?(?:[^\S\n]+(\d{1,2})\b)?|\bone \w+ (?:per|for (?:each|every)) \w+",
    re.IGNORECASE,
)
_LIST_LINE = re.compile(r"(?m)^\[(.*)\][^\S\n]*$")
_LISTED_TEXT = re.compile(r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*\"""")

# The keys of a schema that says no more of a value than its type.
_PLAIN = frozenset(("type", "title", "description"))


class _Said(NamedTuple):
    """What a prompt says of keys, by their names in lower case: words or numbers to choose from, ranges of numbers."""

    choices: Mapping[str, list[str | int]]
    ranges: Mapping[str, str]


def restricted(schema: Any, text: str) -> Any:
    """A schema whose values are as a text says besides; the schema itself if it says nothing of them, or nothing could
    be like that."""
    choices = {name: _words(found) for name, _, found in _keyed(_LISTED_CHOICES, _CHOSEN, text)}
    ranges = {name: f"{before}{found}".lower() for name, before, found in _keyed(RANGE, _RANGED, text)}
    # One of the descriptions in it may be that of a 0 or 1.
    if choices or ranges or _BINARY.search(compact(schema)) is not None:
        changed = _restricted(schema, _Said(choices, ranges), 0)
        # What is the same stays the same object, by which others remember it.
        schema = schema if changed == schema or schema_fault(changed) else changed
    return with_items(schema, _demanded(text))


def _words(choices: str) -> list[str | int]:
    found = _CHOSEN_WORD.findall(_IN_BRACKETS.sub("", choices))
    return [word or letter or int(number) for word, number, letter in found]


def _keyed(said: re.Pattern[str], key: re.Pattern[str], text: str) -> Iterator[tuple[str, str, str]]:
    """The names of keys, in lower case, the words behind each, and what these words say of its values."""
    for found in islice(said.finditer(text), _MOST_SAID):
        before = text[max(found.start() - _BEFORE, 0) : found.start()].rpartition("\n")[2]
        named = key.search(before)
        if named is not None:
            yield named[1].lower(), named[0][named.end(1) - named.start() :], found[0]


def _restricted(schema: Any, said: _Said, depth: int) -> Any:
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return schema
    changed = dict(schema)
    for keyword in ("$defs", "definitions"):
        if isinstance(schema.get(keyword), Mapping):
            changed[keyword] = {name: _restricted(part, said, depth + 1) for name, part in schema[keyword].items()}
    if isinstance(schema.get("items"), Mapping):
        changed["items"] = _restricted(schema["items"], said, depth + 1)
    parts = schema.get("properties")
    if isinstance(parts, Mapping):
        changed["properties"] = {name: _spoken_of(str(name).lower(), part, said, depth) for name, part in parts.items()}
    return changed


def _spoken_of(name: str, part: Any, said: _Said, depth: int) -> Any:
    """The schema of a property, as far as its key is spoken of; of a list, that of its items."""
    if isinstance(part, Mapping) and part.get("type") == "array" and name in said.choices:
        return {**part, "items": _with_said(name, part.get("items"), said)}
    return _restricted(_with_said(name, part, said), said, depth + 1)


def _with_said(name: str, part: Any, said: _Said) -> Any:
    """The schema of a text or a number about which nothing else is known, with what is said of it."""
    if not isinstance(part, Mapping) or not part.keys() <= _PLAIN:
        return part
    fitting = {"string": str, "integer": int, "number": int}.get(str(part.get("type")))
    choices = said.choices.get(name, ())
    if fitting is not None and choices and all(isinstance(choice, fitting) for choice in choices):
        return {**part, "enum": choices}
    if fitting is int and name in said.ranges:
        kind = {"type": "integer"} if _WHOLE.search(said.ranges[name]) else {}
        return bounded({**part, **kind}, said.ranges[name])
    if part.get("type") == "integer" and _BINARY.search(str(part.get("description", ""))):
        return {**part, "enum": [0, 1]}
    return part


def _demanded(text: str) -> int | None:
    """The number of items that a text demands; None if it demands none, or as many as a list that it lacks."""
    found = _AS_MANY.search(text)
    if found is None:
        return None
    if found[1]:
        return min(int(found[1]), _MOST_ITEMS) or None
    listed = next(reversed([*_LIST_LINE.finditer(text[-_LONGEST_LIST:])]), None)
    count = sum(1 for _ in _LISTED_TEXT.finditer(listed[1])) if listed else 0
    return min(count, _MOST_ITEMS) or None

"""Objects that prompts describe: by a schema, an example, a sketch, or the names of their keys."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from math import isfinite
from typing import Any

from mockserver.core.generation import Prompt
from mockserver.model.output_formats.keys import (
    LIST,
    keys_announced,
    like_text,
    named_keys,
    restricted,
    typed,
)
from mockserver.model.schema import array_of, as_part, object_of, schema_fault

# Limits of a sketch, in characters and in levels, and of an example, in levels.
_LENGTH = 4000
_DEEPEST = 20

_QUOTED_CHOICES = re.compile(r"""["']([^"'|]+)["']""")
# A comment, a string, a mark, or a word.
_TOKENS = re.compile(r"""//[^\n]*|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[{}\[\]:,;]|[^\s{}\[\]:,;"']+""")
_KEY = re.compile(r"""["']?([^\W\d][\w -]{0,40}?)["']?\??""")
_MARKS = frozenset("{}[]:,;")


def sketched_object(text: str, place: int) -> dict[str, Any] | None:
    """The schema of the object that is sketched from a brace on; None if there is none."""
    return _object(_Tokens(text[place : place + _LENGTH]), 0)


class _Tokens:
    """The tokens of a text, with a lookahead of one (`next`)."""

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
    return object_of(named) if named else None


def _value(tokens: _Tokens, depth: int) -> dict[str, Any] | None:
    if depth > _DEEPEST:
        return None
    if tokens.next == "{":
        found = _object(tokens, depth)
        # `{...}[]`
        return array_of(found) if found and tokens.next == "[" and _array(tokens, depth) else found
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
        return array if LIST.search(words.lower()) else array and array_of(_schema_of_value(words))
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
    return array_of(items) if items and tokens.take() == "]" else None


def _schema_of_value(text: str) -> dict[str, Any]:
    """The schema of a placeholder for a value: a string as in an example, quoted choices, or words."""
    choices = _QUOTED_CHOICES.findall(text)
    if len(choices) > 1:
        return {"enum": choices}
    quoted = re.fullmatch(r"""["'](.*)["']""", text)
    # `<list_of_strings>` is written in words, too.
    return like_text(quoted[1]) if quoted else typed(text.replace("_", " ") if text.startswith("<") else text)


# How many characters of a text are searched, and how many pairs are taken.
SEARCHED = 20_000
_MOST = 50

# A value in quotes, or one without brackets, which would be code, up to what ends it.
_VALUE = r""""[^"\n]{0,200}"|'[^'\n]{0,200}'|[^\s,;=&"'(){}\[\]<>][^,;\n=&(){}\[\]<>]{0,200}?"""
_END = r"(?=\s*(?:[,;\n]|\.?\s*$|\.\s|\s(?:and|и)\s+\w+\s?=))"
_PAIR = re.compile(rf"(?<![\w.$?&])([^\W\d]\w{{0,40}})\s?=\s?({_VALUE}){_END}")
# What is between two pairs of a list.
_BETWEEN = re.compile(r"\s*[,;\n]\s*(?:(?:and|и)\s+)?|\s+(?:and|и)\s+")


def stated_pairs(text: str) -> Mapping[str, Any]:
    """The values that a text states by `name=value`, if it lists at least two such pairs; the first list counts.

    Numbers, true, false and null have their JSON types; all other values are strings.
    """
    found: dict[str, Any] = {}
    end = None
    for pair in _PAIR.finditer(text[:SEARCHED]) if "=" in text else ():
        if end is not None and not _BETWEEN.fullmatch(text, end, pair.start()):
            if len(found) > 1:
                break
            found = {}
        found[pair[1]] = _pair_value(pair[2])
        end = pair.end()
        if len(found) == _MOST:
            break
    return found if len(found) > 1 else {}


def _pair_value(written: str) -> Any:
    if written[0] in "\"'":
        return written[1:-1]
    try:
        value = json.loads(written)
    except ValueError:
        return written
    return value if value is None or isfinite(value) else written


# How many braces are tried.
_TRIED = 8

# The strings and constants of a Python dict, as which some prompts contain a schema.
_PYTHON = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'((?:[^'\\]|\\.)*)'|\b(True|False|None)\b")
_PYTHON_WORDS = {"True": "true", "False": "false", "None": "null"}
_LONGEST_DICT = 8000
# What is said of a key whose value is a list of objects.
_OBJECTS = re.compile(
    r"(?:an? )?(?:list|array) of (?:(?:JSON )?(?:objects|dicts|dictionaries)|JSONs?)\b", re.IGNORECASE
)
# A line with a text as its only value: what is before the text, the text, and what is behind it.
_TEXT_LINE = re.compile(r"""(?m)^([ \t]*(?:"[^"\n]*"[ \t]*:[ \t]*)?")(?!.*"[ \t]*:)(.*)("[ \t]*(?:,[ \t]*)?)$""")

# Members of an object that make it a schema.
_KEYWORDS = frozenset(("type", "$ref", "enum", "const", "anyOf", "oneOf", "allOf", "properties", "items"))
_LITERALS: Mapping[type, str] = {bool: "boolean", int: "integer", float: "number"}


def described_object(prompt: Prompt) -> Any:
    """The schema of the object that a prompt describes; None if it describes none."""
    text = prompt.text[-SEARCHED:]
    announced = keys_announced(text)
    holder = next((name for name, note in announced.items() if _OBJECTS.match(note)), "")
    objects = filter(
        lambda each: each.get("type", "object") == "object" and not schema_fault(each), _object_schemas(text)
    )
    schema = _fitting(objects, announced)
    if schema is None:
        stated = {name: {"const": value} for name, value in stated_pairs(prompt.topic).items()}
        named = named_keys(text, holder) or named_keys(text) or stated
        schema = object_of(named) if named else None
    if holder and schema is not None and holder not in schema.get("properties", ()):
        # "with a 'grades' key as a list of objects": only one of these is described.
        schema = object_of({holder: array_of(as_part(schema))})
    return restricted(schema, text)


def _fitting(schemas: Iterator[Any], announced: Mapping[str, str]) -> Any:
    """The first schema that has one of the announced keys, else the first: prompts contain other objects, too."""
    first = None
    for schema in schemas:
        if not announced or not announced.keys().isdisjoint(schema.get("properties", ())):
            return schema
        first = first or schema
    return first


def _object_schemas(text: str) -> Iterator[dict[str, Any]]:
    """The schemas of the objects in a text: literal schemas, examples, and sketches of objects that are not JSON."""
    decoder, place = json.JSONDecoder(), -1
    for _ in range(_TRIED):
        place = text.find("{", place + 1)
        if place < 0:
            return
        written, end = text[place : place + _LONGEST_DICT], place + 1
        found, schema = None, None
        try:
            found, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            # A Python dict, or an example whose texts have quotes in them that are not escaped.
            mended = _PYTHON.sub(_as_json, written) if written.startswith("{'") else _TEXT_LINE.sub(_unquoted, written)
            with suppress(ValueError, RecursionError):
                found, _ = decoder.raw_decode(mended) if mended != written else (None, 0)
            schema = None if found else sketched_object(text, place)
        place = end - 1
        if isinstance(found, dict) and found:
            # The object itself if it is a schema, else the schema of similar objects.
            schema = found if _is_schema(found) else _like(found)
        if schema is not None:
            yield schema


def _unquoted(line: re.Match[str]) -> str:
    return line[1] + line[2].replace('"', "'") + line[3]


def _as_json(found: re.Match[str]) -> str:
    text, word = found.groups()
    if word:
        return _PYTHON_WORDS[word]
    return found[0] if text is None else json.dumps(text.replace("\\'", "'"))


def _is_schema(found: Mapping[str, Any]) -> bool:
    """Whether an object is a schema, and no example that has a member `properties`."""
    parts = found.get("properties")
    if not isinstance(parts, dict):
        return isinstance(found.get("$ref"), str)
    stated = any(isinstance(part, dict) and not _KEYWORDS.isdisjoint(part) for part in parts.values())
    return all(isinstance(part, dict | bool) for part in parts.values()) and (stated or found.get("type") == "object")


def _like(value: Any, depth: int = 0) -> Any:
    """The schema of values similar to this one."""
    if isinstance(value, dict) and depth < _DEEPEST:
        return object_of({name: _like(part, depth + 1) for name, part in value.items()})
    if isinstance(value, list):
        return array_of(_like(value[0], depth + 1) if value else {"type": "string"})
    return like_text(value) if isinstance(value, str) else {"type": _LITERALS.get(type(value), "string")}

"""Notes on values in prompts: the schemas that words and examples describe, such as `integer, 1 to 5` or `a|b`."""

import re
from collections.abc import Mapping
from typing import Any

from mockserver.generation.output_formats.sections import field_schema

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


def array_of(items: dict[str, Any]) -> dict[str, Any]:
    """The schema of a list of such items, at least one."""
    return {"type": "array", "items": items, "minItems": 1}

"""Objects sketched in prompts, which are not JSON: `{"name": string, "tags": string[]}`."""

import re
from typing import Any

from mockserver.generation.output_formats.notes import LIST, array_of, like_text, typed

# Limits of a sketch, in characters and in levels.
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
    return {"type": "object", "properties": named, "required": list(named)} if named else None


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
